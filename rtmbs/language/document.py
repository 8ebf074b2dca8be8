"""Contents of a model file: a Model and an Analysis, with places in the text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from rtmbs.model import Model


class Place(NamedTuple):
    """Place in a model file.

    Parameters
    ----------
    file : str
        Path as the user named it.
    line : int
        Line, counted from 1.
    column : int
        Column, counted from 1.
    """

    file: str  # as the user named it
    line: int  # from 1
    column: int  # from 1


@dataclass(frozen=True)
class Analysis:
    """Analysis of the SYSTEM statement of a model file; None takes the default.

    Parameters
    ----------
    kind : {"kinematic", "dynamic", "static"}, default "kinematic"
        Kind of analysis.
    t0 : float, default 0.0
        Starting time [s].
    t1 : float, default 1.0
        Ending time [s].
    dt : float, default 0.01
        Print interval: one row of the result each [s].
    h : float, optional
        Step of a dynamic analysis [s]; None: dt.
    assembly_tolerance : float, optional
        Largest gap that assembly may close [m, or 1 between unit vectors].
    lu_tolerance : float, optional
        Smallest pivot, relative to the largest entry.
    method : {"min_norm", "freeze"} or None, optional
        Method for an under-constrained mechanism (METHODS 4).
    pivot : {"row", "full"} or None, optional
        Pivoting of method ``"freeze"``.
    weights : {"size", "mass"} or None, optional
        Weights of method ``"min_norm"``.
    singular : {"pass", "stop"} or None, optional
        Behaviour at a singular pose.
    recursion : {"rk4", "bdf"} or None, optional
        Method of time of a dynamic run by the recursion over bodies (METHODS 3).
    ranks : int, optional
        Number of ranks that share such a run.
    alpha : float, optional
        Baumgarte's gain of the rate of the violation in such a run [1/s].
    beta : float, optional
        Baumgarte's gain of the violation in such a run [1/s].
    rtol : float, optional
        Relative tolerance of ``"bdf"``.
    atol : float, optional
        Absolute tolerance of ``"bdf"``.
    """

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
    recursion: Literal["rk4", "bdf"] | None = None  # method of time of the recursion over bodies
    ranks: int | None = None  # that share such a run
    alpha: float | None = None  # Baumgarte's gains of such a run [1/s]
    beta: float | None = None
    rtol: float | None = None  # of "bdf"
    atol: float | None = None


@dataclass(frozen=True)
class Document:
    """Model and analysis of a model file.

    ``model`` holds everything: bodies, triads as markers (``marker.axes`` has f, g, h as its columns, body axes),
    joints, rods, forces, initial values, and all drivers (``model.drivers``, see ``rtmbs.model.Driver``). A body
    without a mass has mass 0: a kinematic analysis needs none.

    Joints between triads become joints of ``rtmbs.model``: translational is Prismatic, the others keep their name.
    Their ``axes_a`` and ``axes_b`` have the h axis of either triad as the third column (exactly, also where the
    reference pose does not fit); a universal joint has axis_a = h of the first triad and axis_b = h of the second.
    Coordinates are zero at the reference pose, also those that slide.

    Profiles of drivers answer (f, fd, fdd) at t; those written as expressions are plain NumPy underneath: ``value(t)``
    takes a recorder's number, an array or a complex number too.

    Parameters
    ----------
    path : str
        Path of the file.
    model : Model
        Model of the mechanism.
    analysis : Analysis
        Analysis that the file asks for.
    places : Mapping[str, Place], optional
        Places by kind and name, such as ``body crank``.
    constraints : tuple, optional
        Constraints for a kinematic analysis alone, as ``rtmbs.kinematics.Analysis`` takes them.
    measures : Mapping[str, Mapping[str, object]], optional
        Measured quantities by name, each a target as ``Model.add_driver`` takes it.
    constants : Mapping[str, float], optional
        Constants of the file that are one number, by name.
    arrays : Mapping[str, Sequence[float]], optional
        Constants of the file that are arrays, by name.
    """

    path: str
    model: Model
    analysis: Analysis
    places: Mapping[str, Place] = field(default_factory=dict)  # by ``kind name``, such as ``body crank``; ``system``
    constraints: tuple[Any, ...] = ()
    measures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    constants: Mapping[str, float] = field(default_factory=dict)
    arrays: Mapping[str, Sequence[float]] = field(default_factory=dict)
