"""Anti-roll bar: two half bars with a torsion spring between them, on drop links to both sides of an axle."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rtmbs.model import Revolute, TorsionSpring
from rtmbs.model.checks import Array

if TYPE_CHECKING:
    from rtmbs.model import Model

CHASSIS = "chassis"


@dataclass(frozen=True)
class AntiRollBar:
    """Anti-roll bar: two half bars about the y axis of the chassis with a torsion spring between them.

    The left half carries the right one. Each ends at (arm, +-half_width, 0) from ``origin``. A massless drop link leads
    from there by ``drop`` in z to the part it is attached to. For small roll the torque is stiffness times the
    difference of the travels over ``arm``.

    Parameters
    ----------
    origin : ndarray
        Middle of the bar (3,) in the chassis frame [m].
    half_width : float
        Distance of a drop link from the middle along y [m].
    arm : float
        Distance of the drop link from the axis along x [m].
    drop : float
        Distance of the part from the end of the arm along z [m].
    stiffness : float
        Torsional stiffness of the whole bar [N m/rad].
    damping : float, default 0.0
        Torsional damping [N m s/rad].
    mass : float, default 1.0
        Mass of one half, with its centre at half of the half width [kg].
    moments : tuple[float, float, float], default (0.1, 0.002, 0.1)
        Moments of inertia of one half about its centre, chassis axes [kg m^2].
    part : str, default "lower_arm"
        Part of the suspension that the drop links are attached to.
    """

    origin: Array  # middle of the bar, chassis frame [m]
    half_width: float  # [m]
    arm: float  # from the axis to the drop link, along x [m]
    drop: float  # from the end of the arm to the part, along z [m]
    stiffness: float  # of the whole bar [N m/rad]
    damping: float = 0.0  # [N m s/rad]
    mass: float = 1.0  # of one half, centre at half of the half width [kg]
    moments: tuple[float, float, float] = (0.1, 0.002, 0.1)  # of one half about its centre, chassis axes [kg m2]
    part: str = "lower_arm"


def add_anti_roll_bar(model: "Model", axle: str, bar: AntiRollBar, frame: Array, ends: list[str]) -> None:
    """Add an anti-roll bar to axle "f" or "r" with its drop links on two bodies, left and right.

    ``frame`` is the chassis frame in the world at design [m].
    """
    middle = frame + bar.origin
    halves = {}
    for side, sign in (("l", 1.0), ("r", -1.0)):
        halves[side] = f"half_bar_{axle}{side}"
        place = middle + np.array([0.0, 0.5 * sign * bar.half_width, 0.0])
        model.add_body(halves[side], mass=bar.mass, inertia=bar.moments, position=place)
    support = middle + np.array([0.0, 0.5 * bar.half_width, 0.0])
    model.add_joint(f"bar_support_{axle}", Revolute((0.0, 1.0, 0.0)), CHASSIS, halves["l"], point=support)
    twist = f"bar_twist_{axle}"
    model.add_joint(twist, Revolute((0.0, 1.0, 0.0)), halves["l"], halves["r"], point=middle)
    spring = TorsionSpring(stiffness=bar.stiffness, damping=bar.damping)
    model.add_force(f"anti_roll_bar_{axle}", spring, joint=twist)
    for body, side, sign in zip(ends, "lr", (1.0, -1.0), strict=True):
        end = middle + np.array([bar.arm, sign * bar.half_width, 0.0])
        name = f"drop_link_{axle}{side}"
        model.add_marker(f"{name}.a", halves[side], end)
        model.add_marker(f"{name}.b", body, end + np.array([0.0, 0.0, bar.drop]))
        model.add_rod(name, (f"{name}.a", f"{name}.b"))
