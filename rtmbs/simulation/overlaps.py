"""Warning of bodies that overlap at the start so deeply that their contact throws them apart."""

from typing import Any

import numpy as np

from rtmbs.errors import warn
from rtmbs.results.force_channels import touch_motion
from rtmbs.results.samples import Evaluation, one_sample
from rtmbs.system.tables import GRAVITY_SLOT

MOVES = 1e-3  # of an acceleration [m/s^2, rad/s^2]: below it something else holds the bodies where they are


def warn_of_overlaps(sim: Any) -> None:
    """Warn of the contact with the largest energy of its spring at the start, where that throws the bodies.

    It does where it could lift all bodies by the characteristic length, or give them a speed of a length a second, and
    where they do move.
    """
    system, state, worst, most, depth = sim.system, sim._store.present(), "", 0.0, 0.0
    resampled = None
    for info in system.forces.values():
        if not info.contact:
            continue
        if resampled is None:
            resampled = Evaluation(system, sim.equations.tables, one_sample(state))
        deep = -float(touch_motion(resampled, info).gap[0])
        normal = info.contact.normal
        energy = deep * float(normal(deep, 0.0)) / (normal.exponent + 1.0) if deep > 0.0 else 0.0
        if energy > most:
            worst, most, depth = info.name, energy, deep
    for g, name in enumerate(system.contact_sets):
        from rtmbs.simulation.contact_sets import touching_at

        deep = float(touching_at(sim.equations, state, g).penetrations.max(initial=0.0))
        stiffness, exponent = sim.equations.tables.sets.law[g, :2].tolist()
        energy = stiffness * deep ** (exponent + 1.0) / (exponent + 1.0)
        if energy > most:
            worst, most, depth = name, energy, deep
    if not worst:
        return
    mass = sum(info.mass for info in system.bodies.values())
    gravity = float(np.linalg.norm(state.u[GRAVITY_SLOT : GRAVITY_SLOT + 3]))
    harmless = mass * max(gravity * system.length, 0.5 * system.length**2)
    if most > harmless and np.abs(state.zdd).max(initial=0.0) > MOVES:
        warn(
            f"contact {worst!r} begins {depth:.3g} m deep, with {most:.3g} J in its spring: it throws the bodies apart;"
            " let them start apart, or nearer to rest"
        )
