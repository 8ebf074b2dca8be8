"""Mechanisms with dry friction, smoothed within a rate: what a Newton iteration jumps over."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rtmbs import Model, Prismatic, Revolute, TorsionSpring
from rtmbs.library.force_laws import stribeck_friction
from rtmbs.library.linkages import add_bar
from rtmbs.model.forces import Kinematics

FRICTION = 0.3  # coefficient
RADIUS = 0.3  # of the wheel [m]


def dry(torque: float, smoothing: float) -> dict[str, float]:
    """Return the parameters of Coulomb friction of so much [N m or N]."""
    return {"static": torque, "sliding": torque, "stribeck_rate": 1.0, "viscous": 0.0, "smoothing": smoothing}


def slider(smoothing: float, stiffness: float = 20.0) -> Model:
    """A block of 1 kg on a rail at 1 m/s, with a spring [N/m] and friction; ``smoothing`` in m/s."""
    model = Model("slider with friction")
    model.add_body("block", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", Prismatic((1, 0, 0)), "ground", "block")
    model.set_initial("rail", position=0.0, rate=1.0)
    model.add_force("spring", TorsionSpring(stiffness), joint="rail")
    model.add_force("friction", stribeck_friction, joint="rail", parameters=dry(FRICTION * 9.81, smoothing))
    return model


def tyre(t: float, kinematics: Kinematics, parameters: Mapping[str, Any]) -> Any:
    """Coulomb friction of a wheel that rolls along x and turns about y, at its lowest point."""
    slip = kinematics.v[0] - parameters["radius"] * kinematics.w[1]
    pull = -parameters["friction"] * parameters["load"] * np.tanh(slip / parameters["smoothing"])
    return np.stack((pull, 0.0, 0.0)), np.stack((0.0, -parameters["radius"] * pull, 0.0))


def wheel(smoothing: float) -> Model:
    """A wheel of 10 kg that is set down sliding at 2 m/s, then rolls against a spring; ``smoothing`` in m/s of slip."""
    model = Model("wheel with friction")
    model.add_body("carrier", mass=1.0, inertia=(0.1, 0.1, 0.1))
    model.add_body("wheel", mass=10.0, inertia=(0.3, 0.45, 0.3))
    model.add_joint("rail", Prismatic((1, 0, 0)), "ground", "carrier")
    model.add_joint("hub", Revolute((0, 1, 0)), "carrier", "wheel")
    model.set_initial("rail", position=0.0, rate=2.0)
    model.set_initial("hub", position=0.0, rate=0.0)
    model.add_force("spring", TorsionSpring(300.0), joint="rail")
    values = {"radius": RADIUS, "friction": FRICTION, "load": 11.0 * 9.81, "smoothing": smoothing}
    model.add_force("tyre", tyre, body="wheel", parameters=values)
    return model


def chain(smoothing: float, links: int = 5) -> Model:
    """Links that fall about each other with friction in every hinge, which stops them; ``smoothing`` in rad/s."""
    model = Model("chain with friction")
    for k in range(links):
        start, end = (0.0, 0.2 * k, 0.0), (0.0, 0.2 * (k + 1), 0.0)
        add_bar(model, f"link {k}", start, end, 0.5)
        model.add_joint(f"hinge {k}", Revolute((1, 0, 0)), f"link {k - 1}" if k else "ground", f"link {k}", point=start)
        values = dry(0.1 * (links - k), smoothing)
        model.add_force(f"friction {k}", stribeck_friction, joint=f"hinge {k}", parameters=values)
    return model
