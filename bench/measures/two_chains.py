"""Random closed chains of Bae and Haug's kind: two chains from one base body, closed by a cut joint at their tips.

Chains of (2, 2) to (25, 25) bodies on a fixed or a free base; skew axes, odd units, masses over two decades, a
spring-damper, a motor and a force law. A second cut joint may say again what the first one says.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import rtmbs
from bench.measures.forced import Units, add_body, begun, example
from rtmbs.formulations import FormulationError, JointCoordinates, consistent_state

Array = NDArray[np.float64]

SIZES = ((2, 2), (3, 4), (5, 5), (8, 9), (14, 12), (25, 25))
KINDS = ("Revolute", "Prismatic", "Universal", "Spherical", "Cylindrical")
CUTS = {"Spherical": 3, "Revolute": 5, "Universal": 4, "Cylindrical": 4}  # rows
REPEATED = ("Spherical", "Revolute", "Universal")  # which hold a point, as a ball joint does
T = 0.3  # [units of time]
SPREAD = 0.4  # of coordinates about the pose in which the loop closes, shared by the chain
DRAWS = 10
REGULAR = 1e-4  # least singular value of the scaled loop equations that counts, in terms of the largest


def two_chains(seed: int) -> tuple[rtmbs.Model, Units, dict[str, Any]]:
    """Return a mechanism, its units, and what was drawn: bodies of the chains, free base, cut joint, repeated rows."""
    rng = np.random.default_rng((seed, 43))
    unit = Units(rng)
    sizes, free = SIZES[seed % len(SIZES)], bool(rng.random() < 0.5)
    cut = str(rng.choice(list(CUTS)))
    repeated = cut in REPEATED and bool(rng.random() < 0.5)
    model, base = begun(rng, f"two chains {seed}", unit, free)
    tips = [add_chain(rng, model, unit, f"{side} ", base, count) for side, count in zip("ab", sizes, strict=True)]
    point = unit.length * rng.normal(size=3)
    model.add_joint("cut", example(rng, cut), *tips, point=point, cut=True)
    if repeated:
        model.add_joint("again", rtmbs.Spherical(), *tips, point=point, cut=True)
    add_forces(rng, model, unit, tips)
    return model, unit, {"sizes": sizes, "free": free, "cut": cut, "repeated": repeated}


def add_chain(rng: Any, model: rtmbs.Model, unit: Units, name: str, base: str, count: int) -> str:
    """Add ``count`` bodies one after the other; return the last."""
    last, kinds = base, [str(kind) for kind in rng.choice(KINDS, count)]
    if count < 5:
        kinds[:2] = "Spherical", "Universal"  # so that a short loop moves
    for k, kind in enumerate(kinds):
        body = f"{name}{k}"
        add_body(rng, model, unit, body)
        ends = (last, body) if rng.random() < 0.6 else (body, last)
        model.add_joint(f"{name}joint {k}", example(rng, kind), *ends, point=unit.length * rng.normal(size=3))
        last = body
    return last


def add_forces(rng: Any, model: rtmbs.Model, unit: Units, tips: list[str]) -> None:
    """Add a spring-damper between the chains, one to ground, and a law that pushes a tip."""
    stiff, damp = unit.force / unit.length, unit.force * unit.time / unit.length
    eyes = [model.add_marker(f"eye {tip}", tip, unit.length * rng.normal(size=3)) for tip in tips]
    post = model.add_marker("post", "ground", unit.length * rng.normal(size=3))
    for k, ends in enumerate(((eyes[0], eyes[1]), (post, eyes[0]))):
        rates = stiff * rng.uniform(0.5, 5.0), damp * rng.uniform(0.1, 1.0)
        model.add_force(f"spring {k}", rtmbs.SpringDamper(*rates, 0.7 * unit.length), between=ends)

    def push(t: Any, kinematics: Any, parameters: Any) -> Any:
        v = kinematics.v
        return -parameters["c"] * v * (1.0 + 0.1 * np.dot(v, v) / parameters["fast"]), 0.0 * v

    known = {"c": damp, "fast": (unit.length / unit.time) ** 2}
    model.add_force("push", push, body=tips[1], point=unit.length * rng.normal(size=3), parameters=known)


def state_of(system: JointCoordinates, unit: Units, seed: int) -> tuple[Array, Array]:
    """Return random q and v (n,) that close the loop, away from singular poses.

    Raises FormulationError when none of some draws does.
    """
    rng = np.random.default_rng((seed, 47))
    start, size = system.equations.compiled.z0, coordinate_sizes(system, unit)
    for _ in range(DRAWS):
        q = start + SPREAD / np.sqrt(system.n) * size * rng.normal(size=system.n)
        v = size / unit.time / np.sqrt(system.n) * rng.normal(size=system.n)
        try:
            q, v = consistent_state(system, q, v, T * unit.time)
        except FormulationError:
            continue
        scaled = system.constraint_jacobian(q, T * unit.time) / np.sqrt(np.diag(system.mass(q, T * unit.time)))
        lengths = np.linalg.norm(scaled, axis=1)
        sigma = np.linalg.svd(scaled / lengths[:, None], compute_uv=False)
        kept = sigma[sigma > 1e-9]
        if np.abs(q / size).max() < 10.0 and kept.min() > REGULAR:
            return q, v
    raise FormulationError(f"no regular state of two chains {seed} in {DRAWS} draws")


def coordinate_sizes(system: JointCoordinates, unit: Units) -> Array:
    """Return one radian, or one unit of length, for every coordinate (n,)."""
    slide = system.equations.tables.dofs.kind == 1
    return np.where(slide, unit.length, 1.0)
