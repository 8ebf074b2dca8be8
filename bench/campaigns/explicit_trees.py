"""Compiled explicit methods on random trees against Newton and Euler in Cartesian coordinates.

Trees have joints of every type along skew axes, uneven masses, branches, springs and dampers between bodies. Runs of h,
h/2 and h/4 by Runge-Kutta, velocity Verlet and semi-implicit Euler: each has its order in positions, velocities and
accelerations. Mechanisms without dampers keep their energy to the error of the method. The readable steps agree with
the compiled ones to rounding. A case whose second run is further off than FAR is counted and not judged.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.spatial_mechanisms import exact_channels
from bench.measures.random_mechanisms import add_tree
from rtmbs import At, Simulation
from rtmbs.methods import RungeKutta, SemiImplicitEuler, VelocityVerlet

QUANTITIES = "position", "velocity", "acceleration"
METHODS: tuple[Any, ...] = (RungeKutta, VelocityVerlet, SemiImplicitEuler)
TURN = 0.02  # of the fastest coordinate at the start in the longest step, in typical sizes
STEPS, SAMPLES = 64, 4  # of the longest step in a run
RTOL = 1e-12
ROUNDING = 1e-8  # of the size: errors below it show no order
FAR = 2e-3  # for order two; its root for order one
SLACK = 0.2  # below the order of the method
SAME = 1e-9  # of the sizes: readable and compiled runs

Array = NDArray[np.float64]


def drawn(seed: int) -> tuple[rtmbs.Model, bool]:
    """Return a random tree, and whether it has dampers."""
    rng = np.random.default_rng((seed, 3907))
    model = rtmbs.Model("tree", gravity=tuple(9.81 * rng.normal(size=3) / 2.0))
    add_tree(rng, model, int(rng.integers(1, 7)))
    names, damped = [name for name in model.bodies if name != "ground"], bool(rng.random() < 0.5)
    for k in range(int(rng.integers(0, 3))):
        one, other = rng.choice(names), rng.choice(["ground", *names])
        if one == other:
            continue
        ends = [model.add_marker(f"m {k} {end}", end, 2.0 * rng.normal(size=3)) for end in (one, other)]
        damping = float(rng.uniform(0.0, 1.0)) if damped else 0.0
        spring = rtmbs.SpringDamper(stiffness=float(rng.uniform(1.0, 20.0)), damping=damping)
        model.add_force(f"spring {k}", spring, between=tuple(ends))
    for joint in model.joints.values():
        size = {"coordinates": len(joint.type.coordinates), "quaternion": 3}.get(joint.type.start, 0)
        if size:
            rate = rng.normal(size=size)
            model.set_initial(joint, rate=rate if size > 1 else float(rate[0]))
    return model, damped


def run_errors(sim: Simulation, exact: dict[str, Array], times: Array) -> dict[str, float]:
    """Return the largest error of every quantity in a run, over its largest value."""
    result, found = sim.run(float(times[-1]), record=At(times)), {}
    for name in QUANTITIES:
        channels = [channel for channel in exact if channel.endswith(f".{name}")]
        size = max(float(np.abs(exact[channel]).max()) for channel in channels)
        errors = [float(np.abs(result[c][-len(times) :] - exact[c]).max()) for c in channels]
        found[name] = max(errors) / max(size, 1e-300)
    return found


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with the methods on one tree."""
    model, damped = drawn(seed)
    system, wrong = model.compile(), []
    start = Simulation(system, 1e-3)
    pace = float(np.abs(start.state.zd / system.typical).max())
    pace = max(pace, float(np.sqrt(np.abs(start.state.zdd / system.typical).max())))
    h = TURN / pace
    times = h * STEPS * np.arange(1, SAMPLES + 1) / SAMPLES
    exact = exact_channels(model, Simulation(system, h, RungeKutta()), times, RTOL)
    for kind in METHODS:
        order, name = kind().order, kind.__name__
        runs = []
        for parts in (1, 2, 4):
            sim = Simulation(system, h / parts, kind())
            runs.append(run_errors(sim, exact, times))
        if max(runs[1].values()) > (FAR if order > 1 else FAR**0.5):
            tally.largest(f"not judged, {name}", tally.worst.get(f"not judged, {name}", 0.0) + 1.0)
            continue
        for quantity in QUANTITIES:
            if runs[2][quantity] > ROUNDING:
                found = float(np.log2(runs[1][quantity] / runs[2][quantity]))
                tally.largest(f"below the order of {name}", order - found)
                if found < order - SLACK:
                    wrong.append(f"{name}: order {found:.2f} of {quantity}")
        readable = Simulation(system, h, kind(fused=False))
        fused = Simulation(system, h, kind())
        readable.run(8 * h)
        fused.run(8 * h)
        apart = max(
            float(np.abs(getattr(readable.state, q) - getattr(fused.state, q)).max(initial=0.0))
            / max(float(np.abs(getattr(fused.state, q)).max(initial=0.0)), 1e-300)
            for q in ("z", "zd", "zdd")
        )
        tally.largest("readable and compiled", apart)
        if apart > SAME:
            wrong.append(f"{name}: compiled and readable runs differ by {apart:.1e}")
    if not damped:
        wrong += lost_energy(system, h, tally)
    return "; ".join(wrong)


def lost_energy(system: Any, h: float, tally: Tally) -> list[str]:
    """Return the methods whose energy is not kept to their order: halving h divides its largest error by 2^order."""
    wrong = []
    for kind in (RungeKutta, VelocityVerlet):
        errors = []
        for parts in (1, 2):
            sim = Simulation(system, h / parts, kind())
            found = sim.run(h * STEPS, channels=["energy.kinetic", "energy.total"])
            size = float(np.abs(found["energy.kinetic"]).max())
            errors.append(float(np.abs(found["energy.total"] - found["energy.total"][0]).max()) / size)
        tally.largest(f"energy of {kind.__name__} at h, over the kinetic one", errors[0])
        if errors[0] < FAR and errors[1] > 1e-10 and np.log2(errors[0] / errors[1]) < kind().order - 2.0 * SLACK:
            wrong.append(f"{kind.__name__}: energy off by {errors[0]:.1e}, and {errors[1]:.1e} with h/2")
    return wrong


def run(cases: int, seed: int) -> Tally:
    """Try every tree."""
    return each(judged, cases, seed)


CAMPAIGN = Campaign(
    "explicit trees",
    "compiled Runge-Kutta, Verlet and Euler steps of random trees have their orders against equations of their own",
    full=500,
    bounded=3,
    run=run,
)
