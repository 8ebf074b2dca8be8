"""Contact sets: balls and planes of many bodies, of which all pairs may touch (METHODS 8.10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rtmbs.contact.elements import HERTZ, TANGENTIAL, USUAL_DEPTH, Side, sides
from rtmbs.contact.friction import DryFriction, checked_friction
from rtmbs.contact.normal_force import NormalForce, checked_normal_force
from rtmbs.contact.plane import Plane
from rtmbs.errors import ModelError, shown
from rtmbs.model.body import Body
from rtmbs.model.checks import Numbers, number
from rtmbs.model.description import ForceModel
from rtmbs.model.shapes import Sphere

USUAL_PAIRS = 6  # near pairs a ball: a dense heap of equal balls has three that touch


@dataclass(frozen=True, eq=False)
class ContactSet:
    """Balls and planes of which all pairs may touch; ``Model.add_contacts`` makes and checks it.

    Parameters
    ----------
    name : str
        Name of the set.
    planes : tuple
        Pairs (body, plane).
    balls : tuple
        Pairs (body, sphere).
    normal : NormalForce
        Law of the normal force of every pair.
    friction : DryFriction or None
        Its dry friction.
    coefficient : float
        Coefficient of friction at the start.
    most : int
        Most pairs that may be near at one time.
    """

    name: str
    planes: tuple[tuple[Body, Plane], ...]
    balls: tuple[tuple[Body, Sphere], ...]
    normal: NormalForce
    friction: DryFriction | None
    coefficient: float
    most: int


def make_contact_set(
    model: ForceModel,
    name: str,
    given: Sequence[Side],
    *,
    stiffness: Numbers,
    exponent: Numbers,
    dissipation: Numbers,
    friction: Numbers,
    tangential_stiffness: Numbers | None,
    damping_time: Numbers,
    static_ratio: Numbers,
    stribeck_speed: Numbers,
    most: int | None,
) -> ContactSet:
    """Return a checked contact set; see ``Model.add_contacts``."""
    what = f"contacts {name!r}"
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ModelError(f"{what}: members are {shown(given)}; give a list of bodies, or of (body, shape)")
    found = [one for member in given for one in sides(model, what, member)]
    planes = tuple((body, shape) for body, shape in found if isinstance(shape, Plane))
    balls = tuple((body, shape) for body, shape in found if isinstance(shape, Sphere))
    other = next(((body, shape) for body, shape in found if not isinstance(shape, Plane | Sphere)), None)
    if other is not None:
        raise ModelError(
            f"{what}: {type(other[1]).__name__} of {other[0].name!r} is no member; members are Sphere and "
            "rtmbs.contact.Plane; add_contact takes a pair of other shapes"
        )
    if len({body for body, _ in found}) < 2 or not balls:
        raise ModelError(f"{what}: nothing can touch; give balls of two bodies, or balls and a plane of another body")
    mu = number(friction, f"{what}: friction")
    if mu < 0.0:
        raise ModelError(f"{what}: friction is {mu:g}; it must be zero or more")
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise ModelError(f"{what}: most is {shown(most)}; it must be a whole number, 1 or more")
    normal = checked_normal_force(what, stiffness, HERTZ if exponent is None else exponent, dissipation)
    bristle = None
    if mu > 0.0:
        stiff: Any = normal.slope(USUAL_DEPTH) * TANGENTIAL if tangential_stiffness is None else tangential_stiffness
        bristle = checked_friction(what, "tangential_stiffness", stiff, damping_time, static_ratio, stribeck_speed)
    possible = len(balls) * (len(balls) - 1) // 2 + len(balls) * len(planes)
    room = min(possible, USUAL_PAIRS * len(balls)) if most is None else min(most, possible)
    return ContactSet(name, planes, balls, normal, bristle, mu, room)
