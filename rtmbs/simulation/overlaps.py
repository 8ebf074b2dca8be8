"""Warning of bodies that overlap at the start so deeply that their contact throws them apart."""

from typing import Any

import numpy as np

from rtmbs.errors import warn
from rtmbs.results.contact_channels import touch_motion
from rtmbs.results.evaluation import Evaluation
from rtmbs.results.samples import one_sample
from rtmbs.system.tables import GRAVITY_SLOT

HEAVY = 10.0  # weights of all bodies: a larger force of contact at the start
ROUNDING = 1e-9  # of the characteristic length: a smaller overlap without gravity is none


def warn_of_overlaps(sim: Any) -> None:
    """Warn of the contact with the largest force of its spring at the start where that is no weight."""
    system, worst, push, depth = sim.system, "", 0.0, 0.0
    resampled = None
    for info in system.forces.values():
        if not info.contact:
            continue
        if resampled is None:
            resampled = Evaluation(system, sim.equations.tables, one_sample(sim.state))
        deep = -float(touch_motion(resampled, info).gap[0])
        if deep > 0.0 and (force := float(info.contact.normal(deep, 0.0))) > push:
            worst, push, depth = info.name, force, deep
    if not worst:
        return
    gravity = float(np.linalg.norm(sim.state.u[GRAVITY_SLOT : GRAVITY_SLOT + 3]))
    weight = sum(info.mass for info in system.bodies.values()) * gravity
    if push > HEAVY * weight and depth > ROUNDING * system.length:
        size = f", {push / weight:.3g} times the weight of all bodies" if weight else ""
        warn(
            f"contact {worst!r} begins {depth:.3g} m deep with {push:.3g} N{size}: it throws the bodies apart; let "
            "them start apart, or nearer to rest"
        )
