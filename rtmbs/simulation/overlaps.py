"""Warning of bodies that overlap at the start so deeply that their contact throws them apart."""

from typing import Any

import numpy as np

from rtmbs.errors import warn
from rtmbs.system.tables import GRAVITY_SLOT

HEAVY = 10.0  # weights of all bodies: a larger force of contact at the start
ROUNDING = 1e-9  # of the characteristic length: a smaller overlap without gravity is none


def warn_of_overlaps(sim: Any) -> None:
    """Warn of the contact with the largest normal force at the start where that is no weight."""
    system = sim.system
    forces = {name: float(sim[f"{name}.normal_force"]) for name, info in system.forces.items() if info.contact}
    if not forces:
        return
    worst = max(forces, key=lambda name: forces[name])
    push, depth = forces[worst], float(sim[f"{worst}.penetration"])
    gravity = float(np.linalg.norm(sim.state.u[GRAVITY_SLOT : GRAVITY_SLOT + 3]))
    weight = sum(info.mass for info in system.bodies.values()) * gravity
    if push > HEAVY * weight and depth > ROUNDING * system.length:
        size = f", {push / weight:.3g} times the weight of all bodies" if weight else ""
        warn(
            f"contact {worst!r} begins {depth:.3g} m deep with {push:.3g} N{size}: it throws the bodies apart; let "
            "them start apart, or nearer to rest"
        )
