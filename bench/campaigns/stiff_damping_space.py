"""Brakes, clutches, bump stops and dry friction in space, with skew axes, by every method of time integration.

Chains of skew hinges, and closed loops of two hinges and two balls, at 1 ms. The reference is own equations by SciPy's
Radau (``own_linkages``). As in ``stiff_damping``: right, told with a sentence, or refused; never silent.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.own_linkages import GROUND, Linkage, Pair, Part, TooMany, Torque
from bench.campaigns.own_spatial import matrix
from bench.campaigns.stiff_damping import (
    AFTER,
    ALWAYS,
    BEFORE,
    BOUND,
    FLOOR,
    FORCES,
    RATE,
    RATES,
    SUNDIALS,
    WAYS,
    H,
    attempted,
)
from rtmbs import METHODS, Simulation

TOLERANCES = 1e-7, 1e-5
MOST_EVALUATIONS = 3_000  # of a reference, at each tolerance
STRONGEST = 1e6  # [N m s/rad] of a damper of a reference: a load of 1,000 N m turns it by 1e-4 rad in a case
REACH = 0.3, 0.8  # [m] of crank and rocker of a loop

Array = NDArray[np.float64]


@dataclass
class Case:
    """A linkage with a stiff force on one hinge."""

    model: rtmbs.Model
    own: Linkage
    rate: float
    hinge: int = 0
    torque: Torque = lambda z, zd: 0.0 * z
    engage: Callable[[Simulation], None] = lambda sim: None
    text: str = ""


def drawn(rng: np.random.Generator, force: str) -> Case:
    """Return a random linkage with a force of a kind."""
    case = empty(rng)
    hinges = (chain if force == "clutch" or rng.random() < 0.5 else loop)(case, rng)
    if force == "clutch":
        hinges = hinges[1:]  # between two bodies that move
    case.hinge = hinges[0] if force == "bump stop" else hinges[int(rng.integers(len(hinges)))]
    if force in ("brake", "clutch"):
        brake(case, float(10.0 ** rng.uniform(3.0, 9.0)))
    elif force == "friction":
        friction(case, rng)
    else:
        bump(case, rng)
    case.text = f"{force} {case.text}, {len(case.own.parts)} bodies"
    return case


def empty(rng: np.random.Generator) -> Case:
    """Return a case without bodies, in random gravity."""
    gravity = 9.81 * direction(rng)
    return Case(rtmbs.Model("linkage", gravity=tuple(gravity)), Linkage(gravity), float(10.0 ** rng.uniform(*RATE)))


def direction(rng: np.random.Generator) -> Array:
    """Return a random unit vector."""
    x = rng.normal(size=3)
    return np.asarray(x / np.linalg.norm(x))


def body(case: Case, rng: np.random.Generator, place: Array) -> int:
    """Add a body of random points of mass to both; its number."""
    points, mass = 0.2 * rng.normal(size=(6, 3)), float(10.0 ** rng.uniform(-1.0, 1.0))
    points -= points.mean(axis=0)
    inertia = mass / 6.0 * (np.sum(points**2) * np.eye(3) - points.T @ points)
    k = len(case.own.parts)
    case.model.add_body(f"b{k}", mass=mass, inertia=inertia, position=tuple(place))
    case.own.parts.append(Part(mass, inertia, place))
    return k


def pair(case: Case, a: int, b: int, point: Array, axis: Array | None, cut: bool = False) -> int:
    """Add a ball or a hinge to both; its number."""
    k = len(case.own.pairs)
    joint = rtmbs.Spherical() if axis is None else rtmbs.Revolute(axis=tuple(axis))
    names = ["ground" if one == GROUND else f"b{one}" for one in (a, b)]
    case.model.add_joint(f"j{k}", joint, *names, point=tuple(point), cut=cut)
    case.own.pairs.append(Pair(a, b, point, axis))
    return k


def chain(case: Case, rng: np.random.Generator) -> list[int]:
    """Add two or three bodies on skew hinges; the hinges."""
    before, end, hinges = GROUND, np.zeros(3), []
    for _ in range(int(rng.integers(2, 4))):
        onward = 0.5 * direction(rng)
        k = body(case, rng, end + 0.5 * onward + 0.2 * direction(rng))
        hinges.append(pair(case, before, k, end, direction(rng)))
        turning = case.rate * float(rng.uniform(-1.0, 1.0)) if hinges[1:] else case.rate
        case.model.set_initial(f"j{hinges[-1]}", rate=turning)
        before, end = k, end + onward
    return hinges


def loop(case: Case, rng: np.random.Generator) -> list[int]:
    """Add crank and rocker on skew hinges, and a coupler between balls at their ends; the hinges."""
    axes, far = (direction(rng), direction(rng)), direction(rng)
    tips = [at + reach * across(axis, rng) for at, reach, axis in zip((np.zeros(3), far), REACH, axes, strict=True)]
    crank, rocker, coupler = (
        body(case, rng, middle + 0.1 * direction(rng))
        for middle in (0.5 * tips[0], 0.5 * (far + tips[1]), 0.5 * (tips[0] + tips[1]))
    )
    hinges = [pair(case, GROUND, crank, np.zeros(3), axes[0])]
    pair(case, crank, coupler, tips[0], None)
    hinges.append(pair(case, GROUND, rocker, far, axes[1]))
    pair(case, coupler, rocker, tips[1], None, cut=True)
    case.model.set_initial("j0", rate=case.rate)
    return hinges


def across(axis: Array, rng: np.random.Generator) -> Array:
    """Return a random unit vector across an axis."""
    x = np.cross(axis, direction(rng))
    return np.asarray(x / np.linalg.norm(x))


def brake(case: Case, c: float) -> None:
    """Add a damper that is set while running."""
    case.model.add_force("force", rtmbs.TorsionSpring(stiffness=0.0, damping=0.0), joint=f"j{case.hinge}")

    def engage(sim: Simulation) -> None:
        sim.inputs["force.damping"] = c

    held = min(c, STRONGEST)  # beyond, rounding of the rate leaves noise, and the hinge stands as well
    case.torque, case.engage, case.text = (lambda z, zd: -held * zd), engage, f"of {c:.2g} N m s/rad"


def friction(case: Case, rng: np.random.Generator) -> None:
    """Add dry friction that is set while running."""
    most = sum(part.mass for part in case.own.parts) * float(rng.uniform(0.5, 20.0))
    smooth = float(10.0 ** rng.uniform(-6.0, -2.0))

    def law(t: Any, kinematics: Any, p: Any) -> Any:
        return -p["most"] * np.tanh(kinematics.zd / p["smooth"])

    case.model.add_force("force", law, joint=f"j{case.hinge}", parameters={"most": 0.0, "smooth": smooth})

    def engage(sim: Simulation) -> None:
        sim.inputs["force.most"] = most

    case.torque, case.engage = (lambda z, zd: -most * np.tanh(zd / smooth)), engage
    case.text = f"of {most:.2g} N m, smoothing {smooth:.1e}"


def bump(case: Case, rng: np.random.Generator) -> None:
    """Add a stop that the hinge meets soon; its angle is that from the reference pose."""
    k, c = float(10.0 ** rng.uniform(3.0, 8.0)), float(10.0 ** rng.uniform(1.0, 6.0))
    stop = float(rng.uniform(1.2, 3.0)) * BEFORE * H * case.rate

    def law(t: Any, kinematics: Any, p: Any) -> Any:
        depth = kinematics.z - p["stop"]
        if depth <= 0.0:
            return 0.0 * depth
        return -np.maximum(p["k"] * depth + p["c"] * kinematics.zd, 0.0)

    case.model.add_force("force", law, joint=f"j{case.hinge}", parameters={"k": k, "c": c, "stop": stop})
    case.torque = lambda z, zd: np.where(z <= stop, 0.0, -np.maximum(k * (z - stop) + c * zd, 0.0))
    case.text = f"of {k:.2g} N m/rad, {c:.2g} N m s/rad"


# ---- judgement ------------------------------------------------------------------------------------------------------


def bodies_of(sim: Simulation, count: int) -> Array:
    """Return the bodies (n, 13) where a Simulation stands."""
    names = "position", "velocity", "orientation", "angular_velocity"
    return np.array([np.concatenate([sim[f"b{k}.{name}"] for name in names]) for k in range(count)])


def reference(case: Case, sim: Simulation) -> Array | None:
    """Return the bodies (n, 13) AFTER steps on, by own equations; None where they cost too much."""
    start, z = bodies_of(sim, len(case.own.parts)), float(sim[f"j{case.hinge}.angle"])
    law = case.torque
    case.own.torques = [(case.hinge, lambda turned, zd: law(z + turned, zd))]
    times = H * np.arange(1, AFTER + 1)
    for tolerance in TOLERANCES:
        try:
            return np.asarray(case.own.motion(start, times, tolerance, MOST_EVALUATIONS, 5.0 * H)[-1])
        except TooMany:
            continue
    return None


def share_of(case: Case, sim: Simulation, exact: Array) -> float:
    """Return the error of turns and angular velocities, of their bounds."""
    found, worst = bodies_of(sim, len(exact)), 0.0
    fastest = max(case.rate, float(np.abs(exact[:, 10:]).max()))
    for one, right in zip(found, exact, strict=True):
        R = matrix(one[6:10]).T @ matrix(right[6:10] / np.linalg.norm(right[6:10]))
        turned = float(np.linalg.norm([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]))
        turned = float(np.arctan2(turned, np.trace(R) - 1.0))
        spin = float(np.abs(one[10:] - right[10:]).max())
        worst = max(worst, turned / (BOUND * H * fastest + FLOOR), spin / (RATES * fastest + FLOOR))
    return worst


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with one linkage."""
    rng = np.random.default_rng((seed, 3303))
    force = FORCES[seed % len(FORCES)]
    case = drawn(rng, force)
    system = case.model.compile()
    sim = Simulation(system, H, rtmbs.TRBDF2())
    sim.run(BEFORE * H)
    start, exact = sim.state.copy(), reference(case, sim)
    if exact is None:
        tally.largest("cases without a reference", tally.worst.get("cases without a reference", 0.0) + 1.0)
        return ""
    others = [name for name in METHODS if name not in ALWAYS and (name not in SUNDIALS or find_spec("sksundae"))]
    wrong: list[str] = []
    for name in (*ALWAYS, others[seed % len(others)]):
        way = WAYS[int(rng.integers(len(WAYS)))]
        end, told = attempted(system, start, name, way, case.engage)
        share = np.inf if end is None else share_of(case, end, exact)
        kind = "refused" if end is None else "right" if share <= 1.0 else "told" if told else "silent"
        tally.largest(f"{kind}: {name}", tally.worst.get(f"{kind}: {name}", 0.0) + 1.0)
        if kind == "right":
            tally.largest(f"error over bound, {name if name in ALWAYS else 'others'}", share)
        if kind == "silent":
            wrong.append(f"{name}, {way}: {share:.1f} times its bound, and nobody is told")
        if name == "trbdf2" and kind != "right" and force != "bump stop":
            wrong.append(f"TRBDF2 ended as {kind}, {share:.1f} times its bound")
    return f"{case.text}, {case.rate:.3g} rad/s: {'; '.join(wrong)}" if wrong else ""


def run(cases: int, seed: int) -> Tally:
    """Try every linkage by three methods and one of the others."""
    return each(judged, cases, seed)


CAMPAIGN = Campaign(
    "stiff damping in space",
    "brakes, clutches, bump stops and friction about skew axes are damped right by TRBDF2, and by every other method"
    " right, refused or told",
    full=300,
    bounded=8,
    run=run,
)
