"""Brakes, clutches, bump stops and dry friction, set or met while running, by every method of time integration.

Planar trees and loops at 1 ms, against own equations with the same force by SciPy's Radau. A result that is CONVERGED
and has no warning must be right. Otherwise the run is refused, or told by a sentence with the name of a coordinate or a
force. Steps are taken in one run, in runs of a few steps, one by one, or from a restored State. ``TRBDF2`` must be
right in every case but bump stops, whose impacts are forces that jump or contacts shorter than a step.
"""

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.own_mechanisms import GROUND, Both, chain, direction, four_bar, mass_of, slider
from bench.campaigns.own_planar import Planar
from rtmbs import METHODS, Simulation
from rtmbs.errors import RtmbsError

FORCES = "brake", "clutch", "bump stop", "friction"
WAYS = "one run", "pieces", "steps", "restart"
SUNDIALS = "cvode", "ida"
OPTIONS = {"solve-ivp": {"solver": "Radau"}}  # its default is explicit: 1e7 steps a second beside a brake of 1e9
ALWAYS = "trbdf2", "penalty-trapezoidal", "variational-midpoint"
H = 1e-3  # [s]
BEFORE, AFTER = 20, 120  # steps before the force is there, and behind that
RATE = 0.0, 1.3  # logarithms of the fastest rates at the start [rad/s]
BOUND = 4.0  # of h times the fastest rate: error of an angle that is right; forces that jump inside a step cost one h
FLOOR = 1e-3  # [rad] the same for slow mechanisms
RATES = 0.05  # of the fastest rate: error of a rate at the end that is right
TOLERANCES = 1e-9, 1e-7, 1e-6
MOST_EVALUATIONS = 15_000  # of a reference

Array = NDArray[np.float64]


@dataclass
class Case:
    """A mechanism with a stiff force on one joint."""

    both: Both
    joint: str
    a: int  # bodies of the joint
    b: int
    torque: Callable[[float, float, float], float]  # of time, relative angle and rate
    engage: Callable[[Simulation], None]
    rate: float
    text: str


def drawn(rng: np.random.Generator, force: str) -> Case:
    """Return a random mechanism with a force of a kind."""
    rate = float(10.0 ** rng.uniform(*RATE))
    both = Both("stiff", 9.81)
    if force == "clutch":
        shafts(both, rng, rate)
    else:
        (chain, four_bar, slider)[int(rng.integers(3))](both, rng, rate, "chain")
    count = len(both.own.pins)
    k = 1 if force == "clutch" else 0 if force == "bump stop" else int(rng.integers(count))
    a, _, b, _ = both.own.pins[k]
    model, joint = both.model, f"j{k}"
    if force in ("brake", "clutch"):
        c = float(10.0 ** rng.uniform(3.0, 9.0))
        model.add_force("force", rtmbs.TorsionSpring(stiffness=0.0, damping=0.0), joint=joint)

        def engage(sim: Simulation) -> None:
            sim.inputs["force.damping"] = c

        return Case(both, joint, a, b, lambda t, z, zd: -c * zd, engage, rate, f"{force} of {c:.2g} N m s/rad")
    return lawful(rng, force, both, joint, (a, b), rate)


def lawful(rng: np.random.Generator, force: str, both: Both, joint: str, ends: tuple[int, int], rate: float) -> Case:
    """Return a mechanism with a bump stop or dry friction on one joint."""
    mass = sum(both.own.mass)
    if force == "friction":
        most, smooth = mass * float(rng.uniform(0.5, 20.0)), float(10.0 ** rng.uniform(-6.0, -2.0))

        def law(t: Any, kinematics: Any, p: Any) -> Any:
            return -p["most"] * np.tanh(kinematics.zd / p["smooth"])

        both.model.add_force("force", law, joint=joint, parameters={"most": 0.0, "smooth": smooth})

        def engage(sim: Simulation) -> None:
            sim.inputs["force.most"] = most

        def torque(t: float, z: float, zd: float) -> float:
            return -most * float(np.tanh(zd / smooth))

        return Case(both, joint, *ends, torque, engage, rate, f"friction of {most:.2g} N m, smoothing {smooth:.1e}")
    k, c = float(10.0 ** rng.uniform(3.0, 8.0)), float(10.0 ** rng.uniform(1.0, 6.0))
    stop = float(rng.uniform(1.2, 3.0)) * BEFORE * H * rate

    def stopped(t: Any, kinematics: Any, p: Any) -> Any:
        depth = kinematics.z - p["stop"]
        if depth <= 0.0:
            return 0.0 * depth
        return -np.maximum(p["k"] * depth + p["c"] * kinematics.zd, 0.0)

    both.model.add_force("force", stopped, joint=joint, parameters={"k": k, "c": c, "stop": stop})

    def against(t: float, z: float, zd: float) -> float:
        return 0.0 if z <= stop else -max(k * (z - stop) + c * zd, 0.0)

    text = f"bump stop of {k:.2g} N m/rad, {c:.2g} N m s/rad"
    return Case(both, joint, *ends, against, lambda sim: None, rate, text)


def shafts(both: Both, rng: np.random.Generator, rate: float) -> None:
    """Add two bodies that turn about one axis, the second on the first."""
    before = GROUND
    for k in range(2):
        body = both.body(*mass_of(rng), 0.3 * direction(rng))
        both.pin(f"j{k}", before, body, np.zeros(2))
        both.model.set_initial(f"j{k}", rate=rate * float(rng.uniform(-1.0, 1.0)))
        before = body


class TooMany(ArithmeticError):
    """The reference took more evaluations than a case is worth."""


def reference(case: Case, q: Array, v: Array, times: Array) -> tuple[Array, Array] | None:
    """Return angles and rates (k, bodies) at ``times`` [s] behind coordinates and rates at zero; None without any.

    Rounding of a damper of 1e9 forbids the smallest tolerances.
    """
    own = case.both.own
    own.torques.append((case.a, case.b, case.torque))
    try:
        for tolerance in TOLERANCES:
            with suppress(TooMany):
                return integrated(own, q, v, times, tolerance)
    finally:
        own.torques.pop()
    return None


def integrated(own: Planar, q: Array, v: Array, times: Array, tolerance: float) -> tuple[Array, Array]:
    """Return angles and rates (k, bodies) at ``times`` by SciPy's Radau; raises TooMany."""
    n, spent = len(q), 0

    def rate(t: float, y: Array) -> Array:
        nonlocal spent
        spent += 1
        if spent > MOST_EVALUATIONS:
            raise TooMany
        return np.concatenate((y[n:], own.acceleration(t, y[:n], y[n:])))

    def slopes(t: float, y: Array) -> Array:
        """Differences of SciPy lose their steps beside a damper of 1e9."""
        steps = np.diag(1e-7 * np.maximum(np.abs(y), 1e-3))
        return np.column_stack([(rate(t, y + d) - rate(t, y - d)) / (2.0 * d.max()) for d in steps])

    found = solve_ivp(
        rate, (0.0, float(times[-1])), np.concatenate((q, v)), method="Radau", rtol=tolerance, atol=tolerance,
        t_eval=times, max_step=5.0 * H, jac=slopes,
    )  # fmt: skip
    if not found.success:
        raise TooMany
    return found.y[2:n:3].T, found.y[n + 2 :: 3].T


def angles(sim: Simulation, case: Case) -> tuple[Array, Array]:
    """Return angles and rates (bodies,) of a Simulation, measured from the start of the reference."""
    q, v = case.both.begin(sim)
    return q[2::3], v[2::3]


def taken(sim: Simulation, way: str, tell: list[str]) -> None:
    """Take the steps behind the force in a ``way``; what is told goes to ``tell``."""
    if way == "steps":
        for _ in range(AFTER):
            report = sim.step()
            if not report.outcome.accepted:
                raise RtmbsError(f"the step ended as {report.outcome.name}")
            if report.outcome is not rtmbs.Outcome.CONVERGED:
                tell.append(report.outcome.name)
        return
    pieces = {"pieces": 40, "restart": 2}.get(way, 1)
    for _ in range(pieces):
        result = sim.run(sim.t + AFTER // pieces * sim.h, at_most=2)
        tell += [name for name in result.outcomes if name != "CONVERGED"] + list(result.warnings)
        if way == "restart":
            sim.restore(sim.state.copy())


def attempted(
    system: Any, start: Any, name: str, way: str, engage: Callable[[Simulation], None]
) -> tuple[Simulation | None, list[str]]:
    """Return a Simulation by a method behind all steps, None where it is refused, and what was told."""
    tell: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            sim = Simulation(system, H, METHODS[name](**OPTIONS.get(name, {})))
            sim.restore(state_for(sim, start))
            engage(sim)
            taken(sim, way, tell)
        except RtmbsError:
            return None, tell
    return sim, tell + [str(one.message) for one in caught]


def tried(case: Case, system: Any, start: Any, name: str, way: str, exact: tuple[Array, Array]) -> tuple[str, float]:
    """Return how a method ended, "right", "told", "refused" or what is wrong, and its error over its bound."""
    sim, tell = attempted(system, start, name, way, case.engage)
    if sim is None:
        return "refused", 0.0
    found, rates = angles(sim, case)
    fastest = max(case.rate, float(np.abs(exact[1]).max()))
    turned = np.abs((found - exact[0][-1] + np.pi) % (2.0 * np.pi) - np.pi).max()
    share = max(
        float(turned) / (BOUND * H * fastest + FLOOR),
        float(np.abs(rates - exact[1][-1]).max()) / (RATES * fastest + FLOOR),
    )
    if share <= 1.0:
        return "right", share
    return ("told" if tell else f"{name}, {way}: {share:.1f} times its bound, and nobody is told"), share


def state_for(sim: Simulation, start: Any) -> Any:
    """Return the State of a Simulation with the motion of ``start``."""
    state = sim.state.copy()
    for name in ("z", "zd", "zdd", "lam", "R0"):
        getattr(state, name)[:] = getattr(start, name)
    return state


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with one mechanism."""
    rng = np.random.default_rng((seed, 3302))
    force = FORCES[seed % len(FORCES)]
    case = drawn(rng, force)
    system = case.both.model.compile()
    sim = Simulation(system, H, rtmbs.TRBDF2())
    sim.run(BEFORE * H)
    start = sim.state.copy()
    exact = reference(case, *case.both.begin(sim), H * np.arange(1, AFTER + 1))
    if exact is None:
        tally.largest("cases without a reference", tally.worst.get("cases without a reference", 0.0) + 1.0)
        return ""
    others = [name for name in METHODS if name not in ALWAYS and (name not in SUNDIALS or find_spec("sksundae"))]
    wrong: list[str] = []
    for name in (*ALWAYS, others[seed % len(others)]):
        way = WAYS[int(rng.integers(len(WAYS)))]
        ended, share = tried(case, system, start, name, way, exact)
        kind = ended if ended in ("right", "told", "refused") else "silent"
        tally.largest(f"{kind}: {name}", tally.worst.get(f"{kind}: {name}", 0.0) + 1.0)
        if kind == "right":
            tally.largest(f"error over bound, {name if name in ALWAYS else 'others'}", share)
        if kind == "silent":
            wrong.append(ended)
        if name == "trbdf2" and kind != "right" and force != "bump stop":
            wrong.append(f"TRBDF2 ended as {ended}")
    return f"{case.text}, {case.rate:.3g} rad/s: {'; '.join(wrong)}" if wrong else ""


def run(cases: int, seed: int) -> Tally:
    """Try every mechanism by three methods and one of the others."""
    return each(judged, cases, seed)


CAMPAIGN = Campaign(
    "stiff damping",
    "brakes, clutches, bump stops and friction are damped right by TRBDF2, and by every other method right, refused or"
    " told",
    full=400,
    bounded=12,
    run=run,
)
