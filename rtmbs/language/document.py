"""What a model file says: a Model, and what to do with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from rtmbs.model import Model


class Place(NamedTuple):
    """Where something stands in a model file."""

    file: str  # as the user named it
    line: int  # from 1
    column: int  # from 1


@dataclass(frozen=True)
class Analysis:
    """What SYSTEM asks for. Everything that a file does not say is None, and the analysis takes its own default."""

    kind: Literal["kinematic", "dynamic", "static"] = "kinematic"
    t0: float = 0.0  # starting time [s]
    t1: float = 1.0  # ending time [s]
    dt: float = 0.01  # print interval: one row of the result each [s]
    h: float | None = None  # step of a dynamic analysis [s]; None: dt
    assembly_tolerance: float | None = None  # largest gap that assembly may close [m, or 1 between unit vectors]
    lu_tolerance: float | None = None  # smallest pivot, relative to the largest entry
    method: Literal["min_norm", "freeze"] | None = None  # of an under-constrained mechanism (METHODS 4)
    pivot: Literal["row", "full"] | None = None  # of method "freeze"
    weights: Literal["size", "mass"] | None = None  # of method "min_norm"
    singular: Literal["pass", "stop"] | None = None  # at a singular pose


@dataclass(frozen=True)
class Document:
    """A model file, read.

    ``model`` holds everything: bodies, triads as markers (``marker.axes`` has f, g, h as its columns, body axes),
    joints, rods, forces, initial values, and all drivers (``model.drivers``, see ``rtmbs.model.Driver``). A body
    without a mass has mass 0: a kinematic analysis needs none.

    Joints between triads become joints of ``rtmbs.model``: translational is Prismatic, the others keep their name.
    Their ``axes_a`` and ``axes_b`` have the h axis of either triad as the third column (exactly, also where the
    reference pose does not fit); a universal joint has axis_a = h of the first triad and axis_b = h of the second.
    Coordinates are zero at the reference pose, also those that slide.

    Profiles of drivers answer (f, fd, fdd) at t; those written as expressions are plain NumPy underneath: ``value(t)``
    takes a recorder's number, an array or a complex number too.
    """

    path: str
    model: Model
    analysis: Analysis
    places: Mapping[str, Place] = field(default_factory=dict)  # by ``kind name``, such as ``body crank``; ``system``
