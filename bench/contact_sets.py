"""Balls in a funnel as a contact set: time of a step, by the number of balls, beside MuJoCo at the same penetration.

    python -m bench.contact_sets [10] [100] [1000]
    python -m bench.contact_sets order
    python -m bench.contact_sets rest [100] [1000]

The balls stand in square layers between four planes at 45 degrees, a hair apart, and fall together. Both programs have
the same masses, laws of friction, start and step. MuJoCo has the stiffness at which its contacts are as deep as those
of rtmbs, and the faster one of its solvers Newton and CG. Times are processor times, median of runs of STEPS steps in
turns in one process. MuJoCo needs ``pip install mujoco``; without it its columns are empty.

With ``order`` two uneven balls hit each other aslant, in both orders of a set and as a declared pair.

With ``rest`` the balls fall, hit each other and come to rest, in phases of their own. MuJoCo has the stiffness at which
its contacts are as deep at the end.
"""

import sys
import time
from collections.abc import Callable
from itertools import product

import numpy as np

import rtmbs
from bench.contact_peers import BALL, SPRING, WALLS, G, H, mujoco_steps, numbers
from rtmbs import contact

STEPS, TURNS, BEGIN = 20, 3, 250  # steps of a run, runs, and steps before them
APART, MASS, FRICTION, DISSIPATION = 2.02 * BALL, 0.5, 0.3, 2.0  # [m], [kg], 1, [s/m]
SOLVERS, FEW = ("Newton", "CG"), 100  # the first one for few balls alone: it is the slower one


def places(count: int) -> np.ndarray:
    """Return the places (count, 3) of balls in layers of 1, 9, 25, ... between the planes [m]."""
    found, layer = list[tuple[float, float, float]](), 0
    while len(found) < count:
        row = APART * np.arange(-layer, layer + 1)
        found += [(x, y, np.sqrt(2.0) * BALL + 1e-3 + APART * layer) for x, y in product(row, row)]
        layer += 1
    return np.array(found[:count]) + 1e-2 * BALL * np.random.default_rng(5).uniform(-0.5, 0.5, (count, 3))


def funnel_set(count: int) -> tuple[rtmbs.Model, str]:
    """Return balls in a funnel as a contact set, and in MJCF."""
    model, members = rtmbs.Model("funnel", gravity=(0, 0, -G)), list[object]()
    bodies = "".join(f'<geom type="plane" size="9 9 1" zaxis="{numbers(one)}"/>' for one in WALLS)
    members += [("ground", contact.Plane(normal=one)) for one in WALLS]
    inertia = 0.4 * MASS * BALL**2
    for k, place in enumerate(places(count)):
        model.add_body(f"b{k}", mass=MASS, inertia=(inertia,) * 3, position=place, shape=rtmbs.Sphere(BALL))
        model.add_joint(f"free {k}", rtmbs.Floating(), "ground", f"b{k}", point=place)
        members.append(f"b{k}")
        bodies += f'<body pos="{numbers(place)}"><freejoint/><geom type="sphere" size="{BALL}" mass="{MASS}"/></body>'
    model.add_contacts(
        "balls", members, stiffness=SPRING, exponent=1.0, dissipation=DISSIPATION, friction=FRICTION  # type: ignore[arg-type]
    )  # fmt: skip
    return model, bodies


def seconds(call: Callable[[], object]) -> float:
    """Return the processor time of a call."""
    begun = time.process_time()
    call()
    return time.process_time() - begun


def row(count: int, stiffness: float, peer: bool) -> tuple[str, float]:
    """Return the row of a number of balls, and the stiffness that MuJoCo had."""
    model, bodies = funnel_set(count)
    sim = rtmbs.Simulation(model.compile(), H, method=rtmbs.TRBDF2())
    still = rtmbs.Every(1.0)
    sim.run(BEGIN * H, record=still)
    own = [seconds(lambda: sim.run(sim.t + STEPS * H, record=still)) / STEPS for _ in range(TURNS)]
    found = rtmbs.touching(sim, "balls")
    depth, time_own = float(np.mean(found.penetrations)), float(np.median(own))
    said = (
        f"| {count} | {len(found.penetrations)} | {depth:.1e} | {1e3 * time_own:.2f} | {1e6 * time_own / count:.0f} |"
    )
    if not peer:
        return said + " | | |", stiffness
    theirs, other = [], 0.0
    solvers = SOLVERS if count <= FEW else SOLVERS[1:]
    for solver in solvers:
        for _ in range(10 if count <= FEW else 3):
            steps, deep, _ = mujoco_steps(bodies, stiffness, FRICTION, solver)
            steps(BEGIN)
            other = deep()
            if abs(other / depth - 1.0) < 0.1:
                break
            stiffness *= other / depth
        theirs.append(min(seconds(lambda steps=steps: steps(STEPS)) / STEPS for _ in range(TURNS)))
    best = min(theirs)
    name = solvers[int(np.argmin(theirs))]
    return said + f" {other:.1e} | {1e3 * best:.2f} ({name}) | {time_own / best:.1f} |", stiffness


UNEVEN = (("a", 0.05, 0.5, (1.0, 0.3, 0, 0, 0, 0)), ("b", 0.03, 0.2, (0,) * 6))  # name, radius, mass, rates


def aslant(members: str, stiffness: float, declared: bool) -> tuple[np.ndarray, float]:
    """Return velocity and spins (9,) behind the impact of two uneven balls, and the largest penetration [m]."""
    model, law = rtmbs.Model("two", gravity=(0, 0, 0)), {"exponent": 1.0, "dissipation": 0.5, "friction": FRICTION}
    for name, radius, mass, rates in UNEVEN:
        at, inertia = ((-1.0 if name == "a" else 1.0) * (radius + 1e-5), 0.0, 0.0), 0.4 * mass * radius**2
        model.add_body(name, mass=mass, inertia=(inertia,) * 3, position=at, shape=rtmbs.Sphere(radius))
        model.add_joint(f"free {name}", rtmbs.Floating(), "ground", name, point=at)
        model.set_initial(f"free {name}", rate=rates, pin=False)
    if declared:
        model.add_contact("touch", *members, stiffness=stiffness, **law)  # type: ignore[arg-type]
    else:
        model.add_contacts("touch", list(members), stiffness=stiffness, **law)  # type: ignore[arg-type]
    slow, deepest = float(np.sqrt(0.14 / stiffness)), 0.0  # 1 / w of the reduced mass
    sim = rtmbs.Simulation(model.compile(), 3e-3 * slow, method=rtmbs.TRBDF2())
    while sim.t < 3.5 * slow:
        sim.step()
        if not declared:
            deepest = max(deepest, *rtmbs.touching(sim, "touch").penetrations, 0.0)
    return np.concatenate([sim[one] for one in ("b.velocity", "a.angular_velocity", "b.angular_velocity")]), deepest


def orders() -> None:
    """Print how far both orders of a set are from a declared pair, by the penetration."""
    print("| largest penetration over the smaller radius | spins, order a b | order b a |")
    print("|---|---|---|")
    for stiffness in (1e4, 1e5, 1e6, 1e7):
        wanted, _ = aslant("ab", stiffness, True)
        (one, deep), (other, _) = aslant("ab", stiffness, False), aslant("ba", stiffness, False)
        beside = [float(np.max(np.abs((x - wanted)[[5, 8]] / wanted[[5, 8]]))) for x in (one, other)]
        print(f"| {deep / UNEVEN[1][1]:.1e} | {beside[0]:.1e} | {beside[1]:.1e} |", flush=True)


PHASES = (("fall and first impacts", 0.1), ("impacts", 0.4), ("coming to rest", 1.0), ("rest", 1.2))  # ends [s]


def phases_of(steps: Callable[[float], object], deep: Callable[[], float]) -> list[tuple[float, float]]:
    """Return the time of a step [ms] and the mean penetration at the end [m] of every phase."""
    found, begun = [], 0.0
    for _, end in PHASES:
        spent = seconds(lambda end=end: steps(end))  # type: ignore[misc]
        found.append((1e3 * spent * H / (end - begun), deep()))
        print(f"to {end:g} s: {spent:.0f} s of processor time", file=sys.stderr, flush=True)
        begun = end
    return found


def rests(count: int, stiffness: float, peer: bool) -> float:
    """Print the phases of a number of balls; returns the stiffness that MuJoCo had."""
    model, bodies = funnel_set(count)
    sim = rtmbs.Simulation(model.compile(), H, method=rtmbs.TRBDF2())
    sim.step()

    def fastest() -> float:
        return max(float(np.linalg.norm(sim[f"b{k}.velocity"])) for k in range(count))

    speeds = list[float]()

    def deep() -> float:
        speeds.append(fastest())
        return float(np.mean(rtmbs.touching(sim, "balls").penetrations))

    own = phases_of(lambda end: sim.run(end, record=rtmbs.Every(10.0)), deep)
    theirs = [(np.nan, np.nan)] * len(PHASES)
    for _ in range(3 if peer else 0):
        steps, depth, _ = mujoco_steps(bodies, stiffness, FRICTION, SOLVERS[int(count > FEW)])
        done = [0.0]

        def until(end: float, steps: Callable[[int], None] = steps, done: list[float] = done) -> None:
            steps(round((end - done[0]) / H))
            done[0] = end

        theirs = phases_of(until, depth)
        if abs(theirs[-1][1] / own[-1][1] - 1.0) < 0.1:
            break
        stiffness *= theirs[-1][1] / own[-1][1]
    for (name, _), mine, other, speed in zip(PHASES, own, theirs, speeds, strict=True):
        print(
            f"| {count} | {name} | {mine[1]:.1e} | {speed:.1e} | {mine[0]:.1f} | {other[1]:.1e} | {other[0]:.1f} |",
            flush=True,
        )
    return stiffness


def main(arguments: list[str]) -> int:
    """Print the table of the numbers of balls given, that of the order of members, or that of phases."""
    if arguments == ["order"]:
        orders()
        return 0
    try:
        import mujoco  # noqa: F401

        peer = True
    except ImportError:
        peer = False
    stiffness = 2.0 * SPRING / MASS
    if arguments[:1] == ["rest"]:
        print("| balls | phase | depth rtmbs [m] | fastest [m/s] | rtmbs [ms] | depth MuJoCo [m] | MuJoCo [ms] |")
        print("|---|---|---|---|---|---|---|")
        for count in [int(one) for one in arguments[1:]] or [100, 1000]:
            stiffness = rests(count, stiffness, peer)
        return 0
    print("| balls | touching | depth rtmbs [m] | rtmbs [ms] | a ball [us] | depth MuJoCo [m] | MuJoCo [ms] | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for count in [int(one) for one in arguments] or [10, 100, 1000]:
        said, stiffness = row(count, stiffness, peer)
        print(said, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
