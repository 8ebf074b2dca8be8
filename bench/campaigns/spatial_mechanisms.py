"""Random mechanisms in space with exact channels: skew axes, all joints, floating bases, closed loops, couplers.

The mechanisms are those of ``momentum``, and some have a coupler between the arm and a joint of the loop. The reference
is Newton and Euler in Cartesian coordinates (``bench.measures.spatial``).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import rtmbs
from bench.campaigns import momentum
from bench.campaigns.rotations import pose_at_start
from bench.measures.spatial import spatial_motion
from rtmbs import At, Model, Simulation

COUPLED = 0.3  # share of the mechanisms with a coupler
HELD = 1e-9  # of the fastest rate: a coordinate that a loop holds
WITH_COORDINATES = "Revolute", "Prismatic", "Cylindrical", "Universal"

Array = NDArray[np.float64]


class Spatial(NamedTuple):
    """A mechanism, and what describes it."""

    model: Model
    text: str
    rate: float  # of its fastest part at the start, in typical sizes [1/s]


def drawn(seed: int) -> Spatial:
    """Return a random mechanism."""
    model, kind, _ = momentum.mechanism(seed)
    rng = np.random.default_rng((seed, 3309))
    joints = [one for one in model.joints.values() if one.name.startswith("j")]
    able = [one.name for one in joints if type(one.type).__name__ in WITH_COORDINATES]
    text = f"{kind}, {', '.join(type(one.type).__name__ for one in joints)}"
    if able and rng.random() < COUPLED:
        first = model.joints[able[0]]
        end = first if len(first.type.coordinates) == 1 else (first, first.type.coordinates[-1])
        ratio = float(rng.uniform(0.5, 2.0))
        if not stands(seed, f"{first.name}.{first.type.coordinates[-1]}"):
            model.add_coupler("coupler", {"shoulder": 1.0, end: ratio})
            text += ", coupled"
    start = Simulation(model.compile(), 1e-3).state
    system = model.compile()
    return Spatial(model, text, float(np.abs(start.zd / system.typical).max()))


def stands(seed: int, coordinate: str) -> bool:
    """Return whether the loop holds a coordinate: a shoulder with a given rate could not be coupled to it."""
    system = momentum.mechanism(seed)[0].compile()
    rates = np.abs(Simulation(system, 1e-3).state.zd) / system.typical
    return bool(rates[system.coordinate_names.index(coordinate)] <= HELD * rates.max())


def exact_channels(model: Model, start: Simulation, times: Array, rtol: float) -> dict[str, Array]:
    """Return channels (k, 3) of all bodies at ``times`` [s] behind where a Simulation starts."""
    first = Simulation(start.system, start.h, start.method).run(start.h, record=At([start.h]))
    found, out = spatial_motion(model, pose_at_start(model, first), times, rtol), {}
    for k, name in enumerate(one for one in model.bodies if one != model.ground.name):
        arm = -np.asarray(model.bodies[name].center_of_mass)
        A, w = (np.array([getattr(pose, part)[k] for pose, _ in found]) for part in ("A", "w"))
        x, v = (np.array([getattr(pose, part)[k] for pose, _ in found]) for part in ("x", "v"))
        a, wd = np.split(np.array([seconds[k] for _, seconds in found]), 2, axis=1)
        bend = np.cross(wd, arm) + np.cross(w, np.cross(w, arm))
        parts = {
            "position": x + turned(A, np.broadcast_to(arm, w.shape)),
            "velocity": v + turned(A, np.cross(w, arm)),
            "acceleration": a + turned(A, bend),
            "angular_velocity": turned(A, w),
            "angular_acceleration": turned(A, wd),
        }
        out |= {f"{name}.{part}": values for part, values in parts.items()}
    return out


def turned(A: Array, x: Array) -> Array:
    """Return A x for rotations (k, 3, 3) and vectors (k, 3)."""
    return np.asarray(np.einsum("kij,kj->ki", A, x))


def no_pulls(times: Array) -> Array:
    """Return no reactions: the reference in space does not share them out."""
    return np.zeros((len(times), 0, 2))


def simulation(spatial: Spatial, h: float, method: rtmbs.integrators.contract.Method) -> Simulation:
    """Return a Simulation of the mechanism."""
    return Simulation(spatial.model.compile(), h, method)
