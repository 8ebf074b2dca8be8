"""Load of a bearing that its friction is in proportion to: from the reaction of the joint (METHODS 8.6).

This file loads no force laws, for every System looks for bearings.
"""

from dataclasses import dataclass

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Array, Numbers, number
from rtmbs.model.joints import Cylindrical, Joint, Prismatic, Revolute, Spherical

CONTACT = "Contact"  # kind of a rigid contact, whose reaction is its normal force
LOAD = "load"  # input of a friction that follows its joint


@dataclass(frozen=True)
class Bearing:
    """Bearing of a joint: friction is the coefficient times its load.

    The reaction is [F, M] at the joint point, F_a and M_a along the axis, F_r and M_b across it:

        Revolute      load = r F_r + r_t |F_a| + 2 r M_b / l       [N m]
        Prismatic     load = F_r + 2 M_b / l + |M_a| / r           [N]
        Cylindrical   load = F_r + 2 M_b / l                       [N]
        Spherical     load = r F                                   [N m]

    A moment across a bearing of length l is borne by two forces at its ends; without a length it does not count.

    Parameters
    ----------
    joint : str
        Name of the joint.
    kind : str
        Type of the joint.
    axis : ndarray
        Axis (3,) of the joint in body axes of its second body.
    radius : float
        r [m]: radius of the pin or ball; of a slide, half the width that bears M_a, 0 for none.
    thrust_radius : float
        r_t [m]: mean radius of the face that bears F_a.
    length : float
        l [m]: length of the bearing, 0 where M_b does not count.
    """

    joint: str
    kind: str
    axis: tuple[float, float, float]
    radius: float
    thrust_radius: float
    length: float

    def load(self, wrench: Array, turn: Array) -> float:
        """Return the load [N or N m] of a reaction [F, M] (6,) in world axes; ``turn`` (3, 3) is that of body b."""
        axis = turn @ np.array(self.axis)
        force, moment = wrench[:3], wrench[3:]
        if self.kind in (Spherical.__name__, CONTACT):
            return (self.radius if self.kind != CONTACT else 1.0) * float(np.linalg.norm(force))
        along, twist = float(force @ axis), float(moment @ axis)
        across = float(np.linalg.norm(force - along * axis))
        bending = 2.0 * float(np.linalg.norm(moment - twist * axis)) / self.length if self.length else 0.0
        if self.kind == Revolute.__name__:
            return self.radius * (across + bending) + self.thrust_radius * abs(along)
        twisted = abs(twist) / self.radius if self.radius and self.kind == Prismatic.__name__ else 0.0
        return across + bending + twisted


NEEDS_RADIUS = (Revolute, Cylindrical, Spherical)


def make_bearing(what: str, joint: Joint, radius: Numbers, thrust_radius: Numbers, length: Numbers) -> Bearing:
    """Return a checked bearing; ``what`` begins the sentence of an error."""
    kind = joint.type
    if not isinstance(kind, Revolute | Prismatic | Cylindrical | Spherical):
        raise ModelError(
            f"{what}: joint {joint.name!r} is {type(kind).__name__}; with coefficient= it must be Revolute, Prismatic, "
            "Cylindrical or Spherical"
        )
    if radius is None and isinstance(kind, NEEDS_RADIUS):
        raise ModelError(f"{what}: joint {joint.name!r} is {type(kind).__name__}; give radius= of its bearing")
    sizes = {}
    for key, value in (("radius", radius), ("thrust_radius", thrust_radius), ("length", length)):
        sizes[key] = 0.0 if value is None else number(value, f"{what}: {key}")
        if value is not None and sizes[key] <= 0.0:
            raise ModelError(f"{what}: {key} is {sizes[key]:g}; it must be above zero")
    thrust = sizes["radius"] if thrust_radius is None else sizes["thrust_radius"]
    dofs = kind.dofs()
    local = joint.axes_b @ dofs[0].axis if not isinstance(kind, Spherical) else np.zeros(3)
    x, y, z = (float(one) for one in local)
    return Bearing(joint.name, type(kind).__name__, (x, y, z), sizes["radius"], thrust, sizes["length"])
