"""Contact of two convex shapes as force laws of up to four points, the patch where the shapes touch (METHODS 8.8).

Each point is a law between the middles of the shapes. Its inputs say where the point is on both shapes, and they are
renewed before a step wherever the shapes have moved. Within a step a face and a corner have their exact distance.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rtmbs.contact.convex_shapes import MOST, Convex, Features, Polytope, Round, convex_of, nearest
from rtmbs.contact.friction import DryFriction
from rtmbs.contact.normal_force import NormalForce
from rtmbs.contact.pairs import Touch, TouchLaw
from rtmbs.errors import InputError, ModelError
from rtmbs.model.checks import Array
from rtmbs.model.forces import Kinematics

NORMAL, ON_B, FIRST, SECOND, EDGE_A, EDGE_B, ROUND_A, ROUND_B, FREE, APART = OF_PATCH = (
    "normal", "normal_on_b", "point_a", "point_b", "edge_a", "edge_b", "round_a", "round_b", "normal_is_free",
    "gap_offset",
)  # fmt: skip
ORIGIN = (0.0, 0.0, 0.0)
NOWHERE: dict[str, Any] = dict.fromkeys(OF_PATCH, 0.0) | dict.fromkeys((FIRST, SECOND, EDGE_A, EDGE_B), ORIGIN)
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
    a_leads : bool, default True
        Whether points lie on the face of a where a face of b parts the shapes as well; the same for both orders.
    """

    name: str
    a: Convex
    b: Convex
    a_leads: bool = True

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
    either_first: ClassVar[bool] = True

    def touch_with(self, kinematics: Kinematics, parameters: Any) -> Touch:
        """Return where the point lies; ``parameters`` are the inputs of the law."""
        R, used = kinematics.R, inputs_of(self.pair)
        r, axes = [kinematics.r[k] for k in range(3)], [[R[i, j] for j in range(3)] for i in range(3)]
        given = [parameters[key] if key in used else NOWHERE[key] for key in OF_PATCH[:-1]]
        touch = nearest(self.pair.a, self.pair.b, Features(*given), r, axes).midway()
        return touch._replace(gap=touch.gap + parameters[APART])


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
    pair = ConvexPair(name, one, other, leading(a[0]) < leading(b[0]))
    laws = [PatchPoint(pair, k, normal, friction) for k in range(MOST)]
    return (a[0], point_a, np.asarray(axes_a)), (b[0], point_b, np.asarray(axes_b)), laws


def leading(body: Any) -> tuple[bool, str]:
    """Return what orders the bodies of a contact, whichever is its first side: ground, then by name."""
    return body.name != "ground", body.name


def inputs_of(pair: ConvexPair) -> list[str]:
    """Return the inputs that a point of a pair of shapes needs."""
    left_out = set()
    for shape, edge, rounded in ((pair.a, EDGE_A, ROUND_A), (pair.b, EDGE_B, ROUND_B)):
        left_out |= {edge} if isinstance(shape, Round) else {rounded} if isinstance(shape, Polytope) else set()
    if isinstance(pair.a, Polytope) and isinstance(pair.b, Polytope):
        left_out.add(FREE)
    return [key for key in OF_PATCH if key not in left_out]


def without_input(key: str) -> Any:
    """Return what a point has for an input that its shapes do not need."""
    return np.array(NOWHERE[key]) if isinstance(NOWHERE[key], tuple) else NOWHERE[key]


def point_inputs(law: PatchPoint) -> dict[str, Any]:
    """Return the inputs of a point that is not in use."""
    start = NOWHERE | {NORMAL: (0.0, 0.0, 1.0), APART: FAR * (law.pair.a.reach + law.pair.b.reach)}
    return {key: start[key] for key in inputs_of(law.pair)}


def refuse_convex(forces: Mapping[str, Any], what: str) -> None:
    """Refuse contacts of convex shapes where ``what`` renews no patches: InputError."""
    for info in forces.values():
        if isinstance(info.contact, PatchPoint):
            raise InputError(
                f"{what} renews no patches, so contact {info.contact.pair.name!r} would never change; it must be one "
                "of shapes with a closed form, or a run of a Simulation with steps of h"
            )
