"""IFToMM benchmark A05: the stiff flyball governor, springs of 8e5 N/m on a shaft that turns freely."""

import math

from rtmbs.library.shapes import add_bar
from rtmbs.model import Body, Fixed, Model, Prismatic, Revolute, SpringDamper

Y, Z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
HALF_WIDTH = 0.05  # [m] of the slider; the rods are hinged that far from the shaft axis
STIFFNESS, DAMPING, FREE_LENGTH = 8e5, 4e4, 0.5  # [N/m], [N s/m], [m]

ROD_MASS = 0.3  # [kg] 1 x 0.01 x 0.01 m at 3000 kg/m^3
ROD_AXIAL = ROD_MASS * (0.01**2 + 0.01**2) / 12.0
ROD_TRANSVERSE = ROD_MASS * (1.0 + 0.01**2) / 12.0
SLIDER_MASS = 3.0  # [kg] a cube of 0.1 m
SLIDER_MOMENT = SLIDER_MASS * 2.0 * 0.1**2 / 12.0
BALL_MASS = 5.0  # [kg] point masses at the rod tips


def governor(height: float = 0.5, angle: float = math.radians(30.0), rate: float = 2.0 * math.pi) -> Model:
    """Return the governor with gravity 9.81 m/s^2 along -Z.

    height: of the slider's centre [m].  angle: of the rods below the horizontal [rad].  rate: of the shaft about Z
    [rad/s]. Each spring leads from the slider (+-0.05, 0) to the middle of a rod.

    Names: ``shaft``, ``slider``, ``rod_right``, ``rod_left``, ``ball_right``, ``ball_left``; joints ``bearing``,
    ``slide`` (its displacement is the slider's height minus ``height``), ``hinge_right``, ``hinge_left``.
    s(0.1) = 0.52383648, s(0.5) = 0.74324942, s(1) = 0.50142092 m with the default start.
    """
    model = Model("flyball governor", gravity=(0.0, 0.0, -9.81))
    add_bar(model, "shaft", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), ROD_MASS, axial=ROD_AXIAL, transverse=ROD_TRANSVERSE)
    model.add_joint("bearing", Revolute(axis=Z), model.ground, "shaft", point=(0.0, 0.0, 0.0))
    model.set_initial("bearing", position=0.0, rate=rate)
    slider = model.add_body("slider", mass=SLIDER_MASS, inertia=(SLIDER_MOMENT,) * 3, position=(0.0, 0.0, height))
    model.add_joint("slide", Prismatic(axis=Z), "shaft", slider, point=(0.0, 0.0, height))
    for side, sign in (("right", 1.0), ("left", -1.0)):
        _add_arm(model, side, sign, angle, slider, height)
    return model


def _add_arm(model: Model, side: str, sign: float, angle: float, slider: Body, height: float) -> None:
    """Hinge a rod with its ball on the shaft's top and tie its middle to the slider."""
    hinge = (sign * HALF_WIDTH, 0.0, 1.0)
    reach, drop = sign * math.cos(angle), math.sin(angle)
    middle = (hinge[0] + reach / 2.0, 0.0, 1.0 - drop / 2.0)
    tip = (hinge[0] + reach, 0.0, 1.0 - drop)
    rod = add_bar(model, f"rod_{side}", hinge, tip, ROD_MASS, axial=ROD_AXIAL, transverse=ROD_TRANSVERSE)
    ball = model.add_body(f"ball_{side}", mass=BALL_MASS, inertia=(0.0, 0.0, 0.0), position=tip)
    model.add_joint(f"hinge_{side}", Revolute(axis=Y), "shaft", rod, point=hinge)
    model.add_joint(f"weld_{side}", Fixed(), rod, ball, point=tip)
    start = model.add_marker(f"spring_foot_{side}", slider, point=(sign * HALF_WIDTH, 0.0, height))
    end = model.add_marker(f"spring_head_{side}", rod, point=middle)
    model.add_force(f"spring_{side}", SpringDamper(STIFFNESS, DAMPING, FREE_LENGTH), between=(start, end))
