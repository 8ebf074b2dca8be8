"""Recursion on several ranks over random mechanisms, divided at bodies, against the dense augmented solve.

Trees and loops of 3 to 14 bodies with skew axes and uneven masses, on fixed and free bases, with springs, bushings,
laws and wrenches between any two bodies. The number of ranks is 2 to 6, above that of the branches in most cases.
Errors are those of sqrt(M_ii) a_i, in terms of the largest.
"""

from typing import Any

import numpy as np

import rtmbs
from bench.campaigns.campaign import Campaign, Tally
from bench.measures.forced import PARAMETERS, Units, add_body, begun, consistent, ends, example, scaled
from bench.measures.threaded_ranks import on_ranks
from rtmbs.errors import InputError
from rtmbs.formulations import FormulationError, JointCoordinates
from rtmbs.formulations.augmented_system import solve_parts
from rtmbs.formulations.contract import terms_at
from rtmbs.recursive.motion import RankSteps

KINDS = ("Revolute", "Universal", "Spherical", "Prismatic", "Cylindrical", "Planar", "Screw", "Line", "Floating")
CUTS = ("Spherical", "Revolute", "Universal", "Line")
EXACT = 1e-8  # Phi M^-1 Phi^T loses twice the digits of Phi, and ranks take no round of correction


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` mechanisms from ``seed`` on."""
    tally = Tally()
    counts = dict.fromkeys(("without a state", "divided at bodies", "springs parted", "with rotations", "refused"), 0)
    for case in range(seed, seed + cases):
        model, unit, ranks = mechanism(case)
        try:
            system = JointCoordinates(model.compile())
            q, v = consistent(system, unit, case, 0.3 * unit.time)
            right, _ = solve_parts(terms_at(system, q, v, 0.3 * unit.time))
        except FormulationError:
            counts["without a state"] += 1
            tally.survive()
            continue
        try:
            error, steps = compared(system, q, v, 0.3 * unit.time, ranks, right)
        except InputError as refused:
            if "parts at most" not in str(refused):
                raise
            counts["refused"] += 1
            tally.survive()
            continue
        counts["divided at bodies"] += bool(steps.split.segments)
        counts["springs parted"] += len(steps.part.posts) > len(steps.split.segments)
        counts["with rotations"] += bool(len(system.R0))
        tally.largest("error", error)
        if error <= EXACT:
            tally.survive()
        else:
            tally.fail(f"seed {case}: {ranks} ranks, error {error:.2g}")
    for name, count in counts.items():
        tally.largest(name, count)
    return tally


def compared(system: JointCoordinates, q: Any, v: Any, t: float, ranks: int, right: Any) -> tuple[float, RankSteps]:
    """Return the relative error of the accelerations on so many ranks, and the steps of the first."""
    compiled = system.equations.compiled
    z, zd = q, system.joint_rates(q, v)

    def work(exchange: Any) -> RankSteps:
        steps = RankSteps(compiled, exchange)
        steps.begin(z, zd, t, system.R0)
        steps.evaluate(t)
        return steps

    found, all_steps = np.zeros(len(z)), on_ranks(ranks, work)
    for one in all_steps:
        found[one.part.coordinates] = one.part.scratch.zdd[one.part.places]
    a = np.linalg.solve(system.vectors.turning(q), found - system.vectors.rate_terms(q, v))
    M = terms_at(system, q, v, t).M
    root = np.sqrt(np.maximum(np.diag(M), 1e-14 * np.diag(M).max()))
    return float(np.abs(root * (a - right)).max() / np.abs(root * right).max()), all_steps[0]


def mechanism(seed: int) -> tuple[rtmbs.Model, Units, int]:
    """Return a random mechanism, its units and a number of ranks."""
    rng = np.random.default_rng((seed, 71))
    unit = Units(rng)
    model, base = begun(rng, f"shared {seed}", unit, free=bool(rng.random() < 0.3))
    names = [base]
    bushy = rng.random() < 0.5
    for k in range(rng.integers(3, 15)):
        name = f"body {k}"
        add_body(rng, model, unit, name)
        above = str(rng.choice(names)) if bushy else names[-1]
        kind = example(rng, str(rng.choice(KINDS)) if k else "Revolute")
        model.add_joint(f"joint {k}", kind, above, name, point=unit.length * rng.normal(size=3))
        names.append(name)
    for k in range(rng.integers(0, 3)):
        a, b = rng.permutation(len(names))[:2]
        kind = example(rng, str(rng.choice(CUTS)))
        model.add_joint(f"cut {k}", kind, names[a], names[b], point=unit.length * rng.normal(size=3), cut=True)
    add_forces(rng, model, unit, names)
    return model, unit, int(rng.integers(2, 7))


def add_forces(rng: Any, model: rtmbs.Model, unit: Units, names: list[str]) -> None:
    """Add forces between any two bodies, and torsion springs."""

    def pair(name: str) -> Any:
        a, b = rng.permutation(len(names))[:2]
        return ends(rng, model, unit, name, names[a], names[b])

    def six(t: Any, kinematics: Any, parameters: Any) -> Any:
        v, w = kinematics.v * unit.time / unit.length, kinematics.w * unit.time
        return -unit.force * parameters["c"] * v, unit.torque * (kinematics.R[:, 0] - parameters["c"] * w)

    stiffness = unit.force / unit.length
    for k in range(rng.integers(1, 5)):
        spring = rtmbs.SpringDamper(2.0 * stiffness, 0.3 * stiffness * unit.time)
        model.add_force(f"spring {k}", spring, between=pair(f"spring {k}"))
    A = rng.normal(size=(6, 6)) / np.outer(unit.screw, unit.screw) * unit.torque
    model.add_force("bushing", rtmbs.Bushing(0.3 * A, 0.1 * unit.time * A.T), between=pair("bushing"))
    model.add_force("six", six, between=pair("six"), parameters=PARAMETERS)
    push = rtmbs.Wrench(lambda t: unit.force * np.array([np.sin(t / unit.time), 1.0, 0.5]), (0.0, 0.0, 0.0))
    model.add_force("push", push, body=names[-1], point=unit.length * rng.normal(size=3))
    places = [(one, name) for one in model.joints.values() if not one.cut for name in one.type.coordinates]
    for k, (joint, name) in enumerate(places[::2]):
        number = joint.type.coordinates.index(name)
        spring = rtmbs.TorsionSpring(*scaled(unit, joint.type, number, rng))
        model.add_force(f"torsion {k}", spring, joint=(joint, name))
    if places and rng.random() < 0.5:
        size = unit.of(places[-1][1])
        model.add_driver("drive", lambda t: (0.1 * size, 0.0, 0.2 * size / unit.time**2), joint=places[-1])


CAMPAIGN = Campaign(
    name="shared_recursion",
    claim="ranks that share a mechanism, divided at bodies and springs, find the accelerations of the augmented system",
    full=300,
    bounded=30,
    run=run,
)
