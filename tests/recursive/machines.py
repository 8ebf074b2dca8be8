"""Mechanisms whose branches ranks can share."""

import numpy as np

import rtmbs
from bench.measures.forced import Units, add_body, begun, example
from rtmbs.formulations import JointCoordinates, consistent_state


def branched(seed, branches=2, length=3, free=False, driven=False):
    """Return chains of skew joints from one base, each with its tip on the next one's by a cut joint."""
    rng = np.random.default_rng((seed, 59))
    unit = Units(np.random.default_rng((seed, 61)))
    model, base = begun(rng, f"branched {seed}", unit, free)
    kinds = ("Spherical", "Universal", "Revolute", "Cylindrical", "Prismatic")
    tips = []
    for branch in range(branches):
        last = base
        for k in range(length):
            body = f"{branch} {k}"
            add_body(rng, model, unit, body)
            where = unit.length * rng.normal(size=3)
            model.add_joint(f"joint {body}", example(rng, kinds[k % len(kinds)]), last, body, point=where)
            last = body
        eyes = model.add_marker(f"eye {branch}", last, unit.length * rng.normal(size=3))
        stiff = unit.force / unit.length
        post = model.add_marker(f"post {branch}", base, unit.length * rng.normal(size=3))
        model.add_force(
            f"spring {branch}", rtmbs.SpringDamper(stiff, 0.3 * stiff * unit.time, unit.length), between=(post, eyes)
        )
        tips.append(last)
    for k in range(branches - 1):
        kind = ("Spherical", "Revolute")[k % 2]
        where = unit.length * rng.normal(size=3)
        model.add_joint(f"cut {k}", example(rng, kind), tips[k], tips[k + 1], point=where, cut=True)
    if driven:
        model.add_driver("drive", lambda t: (0.1 * t, 0.1, 0.0), joint=f"joint 0 {length - 1}")
    return model, unit


def start_of(model, unit, seed=0, t=0.0):
    """Return the compiled system, coordinates and rates that satisfy its loops."""
    system = JointCoordinates(model.compile())
    rng = np.random.default_rng(seed)
    size = np.where(system.equations.tables.dofs.kind == 1, unit.length, 1.0)
    v = 0.5 * size / unit.time * rng.normal(size=system.n)
    q, v = consistent_state(system, system.equations.compiled.z0, v, t)
    return system.equations.compiled, q, v
