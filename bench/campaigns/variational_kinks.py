"""Force laws with kinks and jumps: what runs of the variational midpoint rule with a tolerance keep.

Random planar mechanisms with clearances, stops, saturated friction, tables, drag by the square of the rate and cables,
against equations of their own by DOP853 at 1e-12. The reference stops at every zero of the switching functions and goes
on with the other branch. Some runs have an Event at a switching function too, whose action changes nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from bench.campaigns.campaign import Campaign, Tally
from bench.campaigns.own_mechanisms import GROUND, Both, error_of, planar_model
from rtmbs import At, Event, Simulation, VariationalMidpoint
from rtmbs.errors import RtmbsError
from rtmbs.library.force_laws import Curve

LAWS = "clearance", "stop", "friction", "table", "drag", "cable"
KINDS = "rotor", "chain", "crank_rocker", "slider_crank"
RATES = -1.0, 2.0  # powers of ten [rad/s]
TURNS = 3.0, 12.0  # angle of the fastest part in a run [rad]
TOLERANCES = -8.0, -3.0  # powers of ten
ALLOWED = 3.0  # tolerances
SAMPLES = 8
RTOL = 1e-12
FINE, FINEST = 0.1, 0.005  # [rad] that the fastest part turns in the longest step of the reference: zeros may come in
# pairs between two steps; a case that seems to fail is compared with the finest
MOST_STEPS, MOST_SWITCHES = 40_000, 2_000

Array = NDArray[np.float64]


@dataclass
class Piecewise:
    """A force between two bodies: its value, its switching functions, and what rtmbs is given."""

    zeros: list[Callable[[float, float], float]]  # of x and xd: an angle and its rate, or a length and its rate
    value: Callable[[float, float], float]
    law: Callable[[Any, Any, Any], Any]


def piecewise(rng: np.random.Generator, name: str, size: float, rate: float) -> Piecewise:
    """Return a random law of a name; ``size`` [N m] is that of its values at ``rate`` [rad/s]."""
    a = float(rng.uniform(-0.6, 0.6))
    if name == "clearance":
        b = a + float(rng.uniform(0.1, 0.3))
        return Piecewise(
            [lambda z, zd: np.sin(z) - b, lambda z, zd: np.sin(z) - a],
            lambda z, zd: -size * np.cos(z) * (max(np.sin(z) - b, 0.0) + min(np.sin(z) - a, 0.0)),
            lambda t, k, p: -size * np.cos(k.z) * (np.maximum(np.sin(k.z) - b, 0.0) + np.minimum(np.sin(k.z) - a, 0.0)),
        )
    if name == "stop":
        c = float(rng.uniform(0.0, 0.5)) * size / rate
        return Piecewise(
            [lambda z, zd: np.cos(z) - a],
            lambda z, zd: -(size * (np.cos(z) - a) + c * zd) * (np.cos(z) > a),
            lambda t, k, p: np.where(np.cos(k.z) > a, -(size * (np.cos(k.z) - a) + c * k.zd), 0.0),
        )
    if name == "friction":
        v = rate * float(10.0 ** rng.uniform(-1.5, 0.0))
        return Piecewise(
            [lambda z, zd: zd - v, lambda z, zd: zd + v],
            lambda z, zd: -size * min(max(zd / v, -1.0), 1.0),
            lambda t, k, p: -size * np.clip(k.zd / v, -1.0, 1.0),
        )
    if name == "table":
        knots = np.sort(rng.uniform(-0.9, 0.9, 6))
        values = size * rng.uniform(-1.0, 1.0, 6)
        table = Curve(knots, values, "linear", "hold")
        return Piecewise(
            [lambda z, zd, knot=knot: np.sin(z) - knot for knot in knots],  # type: ignore[misc]
            lambda z, zd: float(np.interp(np.sin(z), knots, values)),
            lambda t, k, p: table(np.sin(k.z)),
        )
    return Piecewise(
        [lambda z, zd: zd],
        lambda z, zd: -size / rate**2 * zd * abs(zd),
        lambda t, k, p: -size / rate**2 * k.zd * np.abs(k.zd),
    )


def cable(rng: np.random.Generator, both: Both, rate: float) -> Piecewise:
    """Add a cable from ground to the last body, which pulls only."""
    last = len(both.places) - 1
    at = both.places[last] + rng.uniform(-0.3, 0.3, 2)
    ground = both.places[last] + rng.uniform(-1.0, 1.0, 2)
    length = float(np.linalg.norm(at - ground) * rng.uniform(0.8, 1.3)) + 0.05
    stiff = both.own.mass[last] * (rate * float(rng.uniform(0.3, 3.0))) ** 2
    both.model.add_marker("cable_a", "ground", (*ground, 0.0))
    both.model.add_marker("cable_b", f"b{last}", (*at, 0.0))
    law = Piecewise(
        [lambda r, rd: r - length],
        lambda r, rd: stiff * max(r - length, 0.0),
        lambda t, k, p: stiff * np.maximum(np.sqrt(np.dot(k.r, k.r)) - length, 0.0),
    )
    both.model.add_force("law", law.law, between=("cable_a", "cable_b"))
    both.own.lines.append((GROUND, both.local(GROUND, ground), last, both.local(last, at), law.value))
    return law


@dataclass
class Switched:
    """Own equations with one piecewise force, integrated from zero to zero of its switching functions."""

    both: Both
    force: Piecewise
    pair: tuple[int, int]  # bodies of the joint with the law
    cable: bool

    def reading(self, q: Array, v: Array) -> tuple[float, float]:
        """Return what the law reads: angle and rate of the joint, or length of the cable and its rate."""
        own = self.both.own
        if self.cable:
            return own.line(q, v, *own.lines[0][:4])[:2]
        a, b = self.pair
        return tuple(float(x[3 * b + 2] - (x[3 * a + 2] if a != GROUND else 0.0)) for x in (q, v))  # type: ignore[return-value]

    def motion(self, q: Array, v: Array, times: Array, longest: float) -> Array:
        """Return coordinates (k, n) at ``times``."""
        n, own = len(q), self.both.own
        signs = [1.0 if g(*self.reading(q, v)) > 0.0 else -1.0 for g in self.force.zeros]

        def rates(t: float, y: Array) -> Array:
            return np.concatenate((y[n:], own.acceleration(t, y[:n], y[n:])))

        size = np.concatenate((np.ones(n), np.full(n, max(1.0, float(np.abs(v).max())))))
        t, y, found = 0.0, np.concatenate((q, v)), list[Array]()
        for _ in range(MOST_SWITCHES):
            events = [self.event(g, sign, n) for g, sign in zip(self.force.zeros, signs, strict=True)]
            due = times[times > t]
            part = solve_ivp(
                rates, (t, float(times[-1])), y, method="DOP853", rtol=RTOL, atol=RTOL * size, t_eval=due,
                max_step=longest, events=events,
            )  # fmt: skip
            found += [column[:n] for column in np.reshape(part.y, (2 * n, -1)).T]
            if part.status == 0:
                return np.array(found)
            k = next(k for k, one in enumerate(part.t_events) if len(one))
            t, y = float(part.t_events[k][0]), part.y_events[k][0]
            signs[k] = -signs[k]
        raise ArithmeticError("the reference switches without end")

    def event(self, zero: Callable[[float, float], float], sign: float, n: int) -> Callable[[float, Array], float]:
        """Return the event of SciPy where a switching function leaves its present sign."""

        def crossing(t: float, y: Array) -> float:
            return float(zero(*self.reading(y[:n], y[n:])))

        crossing.terminal, crossing.direction = True, -sign  # type: ignore[attr-defined]
        return crossing


def drawn(rng: np.random.Generator, name: str, kind: str, rate: float) -> Switched:
    """Return a random mechanism with a law, and its own equations."""
    both = planar_model(rng, kind, rate, 9.81 * min(rate, 1.0) ** 2)
    if name == "cable":
        return Switched(both, cable(rng, both, rate), (GROUND, 0), True)
    k = int(rng.integers(len(both.own.pins)))
    while f"j{k}" not in both.model.joints or both.model.joints[f"j{k}"].cut:
        k = int(rng.integers(len(both.own.pins)))
    a, _, b, _ = both.own.pins[k]
    size = float(np.mean(both.own.inertia)) * rate**2 * float(10.0 ** rng.uniform(-1.0, 1.0))
    force = piecewise(rng, name, size, rate)
    both.model.add_force("law", force.law, joint=f"j{k}")
    both.own.torques.append((a, b, lambda t, z, zd: force.value(z, zd)))
    return Switched(both, force, (a, b), False)


def exact_of(found: Array, bodies: int) -> dict[str, tuple[Array, Array]]:
    """Return places and rotations of coordinates (k, 3 bodies)."""
    out = {}
    for k in range(bodies):
        x, y, phi = found[:, 3 * k : 3 * k + 3].T
        o, i, c, s = np.zeros_like(x), np.ones_like(x), np.cos(phi), np.sin(phi)
        out[f"b{k}"] = np.array([x, y, o]).T, np.array([[c, -s, o], [s, c, o], [o, o, i]]).transpose(2, 0, 1)
    return out


def case_of(seed: int) -> tuple[float, str, bool]:
    """Return the error in tolerances of one random run, what describes it, and whether it is told by a warning.

    NaN: it ended in words.
    """
    rng = np.random.default_rng((seed, 3308))
    name, kind = LAWS[seed % len(LAWS)], KINDS[(seed // len(LAWS)) % len(KINDS)]
    rate, tolerance = float(10.0 ** rng.uniform(*RATES)), float(10.0 ** rng.uniform(*TOLERANCES))
    case = drawn(rng, name, kind, rate)
    span = float(rng.uniform(*TURNS)) / rate
    system = case.both.model.compile()
    sim = Simulation(system, span * float(10.0 ** rng.uniform(-4.0, -1.0)), VariationalMidpoint())
    times = span * np.arange(1, SAMPLES + 1) / SAMPLES
    what = f"{name}, {kind}, {rate:.3g} rad/s, {span:.3g} s, tolerance {tolerance:.1e}"
    begun = case.both.begin(sim)
    when = None
    if rng.random() < 0.3 and name in ("clearance", "stop"):
        dof = system.forces["law"].dofs[0]
        when = Event(lambda s: float(case.force.zeros[0](s.z[dof], 0.0)), action=lambda sim: None, name="switch")
    try:
        result = sim.run(span, tolerance=tolerance, record=At(times), most_steps=MOST_STEPS, when=when)
    except RtmbsError as error:
        return float("nan"), f"{what}: {error}", True
    kept = np.searchsorted(result.t, times - 1e-9 * span)
    error = np.inf
    for turn in (FINE, FINEST):
        if error > ALLOWED:
            exact = exact_of(case.motion(*begun, times, turn / rate), len(case.both.places))
            error = error_of(result, exact, system.length, kept) / tolerance  # type: ignore[arg-type]
    told = any("kink of force laws" in text or "errors grow in this motion" in text for text in result.warnings)
    return error, f"{what}: {error:.2f} tolerances, {result.steps}, {dict(result.warnings)}", told  # type: ignore[attr-defined]


def run(cases: int, seed: int) -> Tally:
    """Run every case."""
    tally, words, told = Tally(), 0, 0
    for k in range(seed, seed + cases):
        error, what, warned = case_of(k)
        if error != error:
            words += 1
            tally.survive()
            continue
        told += warned
        what_of = "errors that grow, told," if warned else f"a {LAWS[k % len(LAWS)]}"
        tally.largest(f"error with {what_of} in tolerances", error)
        if error <= ALLOWED or warned:
            tally.survive()
        else:
            tally.fail(f"seed {k}: {what}")
    tally.largest("share that ended in words", words / cases)
    tally.largest("share told by a warning", told / cases)
    return tally


CAMPAIGN = Campaign(
    "variational kinks",
    "a run with a tolerance over kinks and jumps of force laws is at most three tolerances off, or says so",
    full=600,
    bounded=24,
    run=run,
)
