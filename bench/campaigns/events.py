"""Random programs of events against an exact simulation.

One or two masses on rails fly freely, so that event functions are polynomials of time, or a mass swings on a spring.
Three to six functions with random directions and priorities, several with the same zeros, some that graze; actions set
one rate or both, places, forces, or restore a state; some stop the run. The reference isolates the roots of each
polynomial between those of its derivative, in extended precision. The log, its times and the last state are compared; a
reference whose events accumulate, or cause each other without end, wants an EventError, and no other may have one.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.exact_events import Flight, Function, Reference, Swing
from rtmbs.errors import InputError
from rtmbs.simulation.events import EventError

SPAN = 1.0  # [s]
TOLERANCE = 1e-4  # of the runs
FREE = 1e-9  # [s] allowed error of the time of an event in free flight, where steps have none
STATE = 1e-11  # allowed error of a function there: of the time, where it crosses slowly
LIMIT = 5e-7  # [s] of the time at which events accumulate, extrapolated as of a geometric row
NEAR = 1e-6  # [s] before that time
SHIFT = 1e-15  # of a function: what rounding shifts a crossing, and all events behind it, over its slope
FASTEST = 10.0  # [m/s^2] the largest acceleration: a shifted crossing has another rate, which an action may scale
SCALING = ("bounce", "restore")  # actions that scale rates, and with them all times behind the event
SWINGS = 20.0  # tolerances, of the value of a function at the time of an event on a spring
STIFFNESS, LENGTH = 40.0, 10.0  # [N/m, m]


@cache
def system(freedoms: int, spring: bool) -> Any:
    """Return masses of 1 kg, each on a rail of its own with a motor, on a spring if wanted."""
    model = rtmbs.Model(f"masses {freedoms}", gravity=(0.0, 0.0, 0.0))
    for k in range(freedoms):
        model.add_body(f"b{k}", mass=1.0, inertia=(1.0, 1.0, 1.0))
        model.add_joint(f"j{k}", rtmbs.Prismatic((0, 0, 1)), "ground", f"b{k}")
        model.add_force(f"push{k}", rtmbs.Motor(rtmbs.Input(0.0)), joint=f"j{k}")
        if spring:  # along the rail, so that its pull is linear
            far, near = model.add_marker("far", "ground", point=(0, 0, -LENGTH)), model.add_marker("near", "b0")
            model.add_force("spring", rtmbs.SpringDamper(stiffness=STIFFNESS, length=LENGTH), between=(far, near))
        model.set_initial(f"j{k}", position=0.0, rate=0.0)
    return model.compile()


def function(rng: np.random.Generator, freedoms: int, spring: bool) -> Function:
    """Return an event function: level of a place or rate, time, a window of places, or both places."""
    kinds = (
        ["place", "place", "rate", "time"] if spring else ["place", "place", "rate", "time", "window", "both", "gap"]
    )
    kind = str(rng.choice(kinds))
    if freedoms == 1 and kind in ("both", "gap"):
        kind = "window"
    one = int(rng.integers(freedoms))
    level, other = rng.uniform(-1.0, 1.0), rng.uniform(-1.0, 1.0)
    if kind == "time":
        level = rng.uniform(0.1, SPAN)
    if kind == "window":
        other = 10.0 ** rng.uniform(-4.0, -0.5)
    return Function(kind, one, float(level), float(other), float(rng.choice([1.0, -1.0, 2.0, -0.3])))


def functions(rng: np.random.Generator, start: Any, spring: bool) -> list[Function]:
    """Return some functions; a few share their zeros with others, a few graze the highest place of the first flight."""
    freedoms = len(start[0])
    chosen = [function(rng, freedoms, spring) for _ in range(int(rng.integers(2, 5)))]
    for _ in range(int(rng.integers(0, 3))):
        chosen.append(chosen[int(rng.integers(len(chosen)))]._replace(factor=float(rng.choice([1.0, -1.0, 3.0]))))
    z, v, a = (one[0] for one in start)
    if not spring and v * a < 0.0 and rng.random() < 0.4:
        short = np.sign(v) * rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-9.0, -2.0)
        chosen.append(Function("place", 0, float(z - 0.5 * v * v / a + short), 0.0, 1.0))
    return chosen


def action(rng: np.random.Generator, freedoms: int, spring: bool) -> tuple[str, int, float, float] | None:
    """Return what an event does: its kind, the mass, and one or two numbers; None: nothing."""
    kinds = ["none", "bounce", "bounce", "rate", "rates", "restore"] + ([] if spring else ["force", "place", "stop"])
    kind = str(rng.choice(kinds))
    numbers = rng.uniform(-2.0, 2.0, 2)
    if kind == "bounce":
        numbers[0] = rng.choice([0.3, 0.5, 0.8, 1.0])
    return None if kind == "none" else (kind, int(rng.integers(freedoms)), float(numbers[0]), float(numbers[1]))


def acting(done: tuple[str, int, float, float]) -> Callable[[Any], None] | None:
    """Return an action for rtmbs."""
    kind, k, x, y = done

    def act(sim: Any) -> None:
        if kind == "bounce":
            sim.set(f"j{k}.rate", -x * float(sim.state.zd[k]))
        elif kind == "rate":
            sim.set(f"j{k}.rate", x)
        elif kind == "rates":
            for j, value in enumerate((x, y)[: len(sim.state.z)]):
                sim.set(f"j{j}.rate", value)
        elif kind == "restore":
            state = sim.state.copy()
            state.zd *= x
            sim.restore(state)
        elif kind == "force":
            sim.inputs[f"push{k}.force"] = 5.0 * x
        elif kind == "place":
            sim.set(f"j{k}.displacement", x)

    return None if kind == "stop" else act


class Program(NamedTuple):
    """A random program of events: masses at their start, event functions, actions and rules."""

    spring: bool
    z: Any  # (masses,) [m]
    v: Any  # (masses,) [m/s]
    a: Any  # (masses,) [m/s^2]
    watched: list[Function]
    done: list[tuple[str, int, float, float] | None]
    rules: list[tuple[int, float]]  # direction and priority

    def reference(self) -> Reference:
        """Return the exact run."""
        motion: Flight | Swing = (
            Swing(self.z, self.v, float(np.sqrt(STIFFNESS))) if self.spring else Flight(self.z, self.v, self.a)
        )
        reference = Reference(motion, self.watched, self.done, self.rules, SPAN)
        reference.run()
        return reference

    def simulation(self, h: float, method: Any = None) -> rtmbs.Simulation:
        """Return a Simulation at the start."""
        sim = rtmbs.Simulation(system(len(self.z), self.spring), h, method)
        for k in range(len(self.z)):
            sim.set(f"j{k}.displacement", float(self.z[k]))
            sim.set(f"j{k}.rate", float(self.v[k]))
            sim.inputs[f"push{k}.force"] = float(self.a[k])
        return sim

    def events(self) -> list[rtmbs.Event]:
        """Return the events for rtmbs."""
        return [
            rtmbs.Event(
                one.of_instant,
                acting(what) if what else None,
                direction,
                bool(what) and what[0] == "stop",
                f"e{k}",
                priority,
            )
            for k, (one, what, (direction, priority)) in enumerate(
                zip(self.watched, self.done, self.rules, strict=True)
            )
        ]


def program(case: int) -> Program:
    """Return the program of a seed."""
    rng = np.random.default_rng((case, 77))
    spring = bool(rng.random() < 0.07)
    freedoms = 1 if spring else int(rng.integers(1, 3))
    z, v = rng.uniform(-1.0, 1.0, freedoms), rng.uniform(-3.0, 3.0, freedoms)
    a = np.zeros(1) if spring else rng.choice([-9.81, -4.0, 0.0, 3.0], freedoms)
    watched = functions(rng, (z, v, a), spring)
    done = [action(rng, freedoms, spring) for _ in watched]
    rules = [(int(rng.integers(-1, 2)), float(rng.integers(0, 3))) for _ in watched]
    if not spring and rng.random() < 0.2:  # a ball that comes to rest on a floor
        a[0] = -9.81
        watched.append(Function("place", 0, float(z[0] - 10.0 ** rng.uniform(-3.0, 0.0)), 0.0, 1.0))
        done.append(("bounce", 0, float(rng.uniform(0.02, 0.6)), 0.0))
        rules.append((int(rng.integers(-1, 1)), 0.0))
    return Program(spring, z, v, a, watched, done, rules)


def judged(case: int, tally: Tally) -> str:
    """Return what is wrong with one program, or nothing."""
    one = program(case)
    reference = one.reference()
    sim = one.simulation(1e-2)
    try:
        result, error = sim.run(reference.end, tolerance=TOLERANCE, when=one.events()), None
    except EventError as raised:
        result, error = raised.result, raised
    except InputError as raised:  # actions that double rates, over and over
        if "most_steps" not in str(raised):
            raise
        tally.largest("runs of too many steps", tally.worst.get("runs of too many steps", 0) + 1)
        return ""
    log = [(int(one.event.called[1:]), one.t) for one in result.events]
    tally.largest("events of a run", len(log))
    return compared(tally, reference, log, error, sim, one.spring)


def compared(
    tally: Tally, reference: Reference, log: Any, error: EventError | None, sim: Any, spring: bool, wider: float = 1.0
) -> str:
    """Return what is wrong with a log beside that of the reference, or nothing; ``wider`` times bounds."""
    tally.largest("runs " + reference.ended, tally.worst.get("runs " + reference.ended, 0) + 1)
    wanted = reference.log
    if reference.ended == "in doubt":  # rounding decides: up to there
        wanted = [one for one in wanted if one[1] < reference.t - (1e-2 if spring else 1e-6)]
        log = log[: len(wanted)]
    elif reference.ended in ("accumulating", "in a chain"):
        if error is None:
            return f"no EventError although {reference.ended} at {reference.t:.9g} s"
        off = float(abs(error.t - reference.t))
        tally.largest(f"{'springs' if spring else 'free flight'}: error of the time of accumulation, s", off)
        if not off <= (
            SWINGS * TOLERANCE if spring else wider * LIMIT
        ):  # rates and slopes on the spring are of order one
            return f"{reference.ended} at {reference.t:.12g} s, told {error.t:.12g} s"
        if reference.ended == "in a chain":
            return (
                ""
                if log[: len(wanted)] and [k for k, _ in log[:20]] == [k for k, _ in wanted[:20]]
                else "chain differs"
            )
        shorter = sum(t < reference.t - NEAR for _, t in wanted)  # nearer to it, gaps are of the size of rounding
        log, wanted = log[:shorter], wanted[:shorter]
    elif error is not None:
        return f"unwanted {error}"
    if [k for k, _ in log] != [k for k, _ in wanted]:
        first = next(
            (i for i, (x, y) in enumerate(zip(log, wanted, strict=False)) if x[0] != y[0]), min(len(log), len(wanted))
        )
        return (
            f"event {first}: {log[first : first + 2]}, wanted {wanted[first : first + 2]} of {len(log)}, {len(wanted)}"
        )
    slopes = reference.slopes
    flattest, scaled = np.inf, 0.0  # the flattest crossing, and the relative error of rates that its action kept
    for k, ((which, t), (_, right)) in enumerate(zip(log, wanted, strict=True)):
        off = abs(t - right)
        if spring:
            off *= slopes[k] / TOLERANCE / (k + 1)
            tally.largest("springs: error of an event, tolerances", off)
        elif slopes[k] > 1e-4:
            tally.largest("free flight: error of the time of an event, s", off)
            off = min(off, FREE * off * slopes[k] / STATE, max(0.0, off - SHIFT / flattest - scaled * right))
        else:
            tally.largest("grazing: error of the time of an event times its slope", off * slopes[k])
            off *= slopes[k] * 1e4
        flattest = min(flattest, max(slopes[k], 1e-300))
        if reference.actions[which] and reference.actions[which][0] in SCALING:
            scaled = max(scaled, FASTEST * SHIFT / flattest**2)
        if not off <= (SWINGS if spring else wider * FREE):
            return f"event {k} at {t:.15g}, wanted {right:.15g}, slope {slopes[k]:.2g}"
    if reference.ended in ("at the end", "by a stop") and not spring:
        z, v, _ = reference.motion.at(0.0)
        wide = np.maximum(1.0, np.abs(np.array([*z, *v], dtype=float)))
        off = float(np.max(np.abs(np.array([*(sim.state.z - z), *(sim.state.zd - v)], dtype=float)) / wide))
        tally.largest("free flight: error of the last state", off)
        return "" if off < wider * 1e-7 + FASTEST * scaled else f"last state off by {off:.2g}"
    return ""


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` programs from ``seed`` on."""
    return each(judged, cases, seed)


CAMPAIGN = Campaign("events", "random programs of events are those of an exact simulation", 5000, 60, run)
