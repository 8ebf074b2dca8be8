"""Contact of two convex shapes as force laws of up to four points, the patch where the shapes touch (METHODS 8.8).

Each point is a law between the middles of the shapes. Its inputs say where the point is on both shapes, and they are
renewed before a step wherever the shapes have moved. Within a step a face and a corner have their exact distance.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rtmbs.contact.convex_shapes import Convex, convex_of
from rtmbs.contact.friction import DryFriction, inner
from rtmbs.contact.normal_force import NormalForce
from rtmbs.contact.pairs import Touch, TouchLaw
from rtmbs.contact.patch import MOST
from rtmbs.errors import InputError, ModelError
from rtmbs.model.checks import Array
from rtmbs.model.laws import Kinematics

NORMAL, FIRST, SECOND, ON_B, APART = "normal", "point_a", "point_b", "normal_on_b", "gap_offset"  # inputs of a point
OF_PATCH = NORMAL, FIRST, SECOND, ON_B, APART
NOWHERE = {NORMAL: (0.0, 0.0, 1.0), FIRST: (0.0, 0.0, 0.0), SECOND: (0.0, 0.0, 0.0), ON_B: 0.0}
FAR = 1e3  # of the size of both shapes: the gap of a point that is not in use


@dataclass(frozen=True, eq=False)
class ConvexPair:
    """Two convex shapes of two bodies that may touch.

    Parameters
    ----------
    name : str
        Name of the contact.
    a : Convex
        First shape.
    b : Convex
        Second shape.
    """

    name: str
    a: Convex
    b: Convex

    @property
    def size(self) -> float:
        """Length that the shapes are as large as [m]."""
        return min(self.a.reach, self.b.reach)


@dataclass(frozen=True)
class PatchPoint(TouchLaw):
    """Point ``number`` of the patch of a pair of convex shapes."""

    pair: ConvexPair
    number: int
    normal: NormalForce
    friction: DryFriction | None

    def touch_with(self, kinematics: Kinematics, parameters: Any) -> Touch:
        """Return where the point lies; ``parameters`` are the inputs of the law."""
        p, R, r = parameters, kinematics.R, kinematics.r
        given, first, second = p[NORMAL], p[FIRST], p[SECOND]
        share = p[ON_B]
        n = [(1.0 - share) * given[k] + share * inner(R[k], given) for k in range(3)]
        arm = [inner(R[k], second) for k in range(3)]
        gap = inner(n, [r[k] + arm[k] - first[k] for k in range(3)]) + p[APART]
        return Touch(n, gap, arm)


def convex_pair(
    what: str, name: str, a: tuple[Any, Any], b: tuple[Any, Any], normal: NormalForce, friction: DryFriction | None
) -> tuple[tuple[Any, Array, Array], tuple[Any, Array, Array], list[PatchPoint]]:
    """Return the places (body, point, axes) of two convex shapes and the laws of their points.

    Raises ModelError where the package is missing that finds nearest points.
    """
    try:
        import coal  # noqa: F401
    except ImportError:
        raise ModelError(
            f"{what}: a {type(a[1]).__name__} and a {type(b[1]).__name__} touch by the package coal; install "
            "rtmbs[contact]"
        ) from None
    (one, point_a, axes_a), (other, point_b, axes_b) = convex_of(what, a[1]), convex_of(what, b[1])
    pair = ConvexPair(name, one, other)
    laws = [PatchPoint(pair, k, normal, friction) for k in range(MOST)]
    return (a[0], point_a, np.asarray(axes_a)), (b[0], point_b, np.asarray(axes_b)), laws


def point_inputs(law: PatchPoint) -> dict[str, Any]:
    """Return the inputs of a point that is not in use."""
    return NOWHERE | {APART: FAR * (law.pair.a.reach + law.pair.b.reach)}


def is_of_patch(forces: Mapping[str, Any], name: str) -> bool:
    """Return whether an input of this name is renewed with the patch of a contact."""
    force, _, own = name.rpartition(".")
    return own in OF_PATCH and force in forces and isinstance(forces[force].contact, PatchPoint)


def refuse_convex(forces: Mapping[str, Any], what: str) -> None:
    """Refuse contacts of convex shapes where ``what`` renews no patches: InputError."""
    for info in forces.values():
        if isinstance(info.contact, PatchPoint):
            raise InputError(
                f"{what} renews no patches, so contact {info.contact.pair.name!r} would never change; it must be one "
                "of shapes with a closed form, or a run of a Simulation with steps of h"
            )
