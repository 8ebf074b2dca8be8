"""Interface of a kind of force between two frames: its kernels, channels and drawing.

An element of a kind acts through a *connector*: a wrench F on dof b and -F on dof a, about the origin of their part.
Kernels take the tables whole, the number ``k`` of the element, and the workspace with evaluated positions and
velocities.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.model.body import Body, Marker
from rtmbs.model.forces import Force, ForceLaw

Array = NDArray[np.float64]
WORLD = "world"
XYZ = ("x", "y", "z")


class ConnectorEnd(NamedTuple):
    """One end of an element: its dof, point and axes."""

    dof: int  # -1 ground
    point: Array  # (3,) dof axes [m]
    axes: Array  # (3, 3) axes of the marker or of the body to dof axes

    @property
    def frame(self) -> Array:
        """[axes | point] (3, 4)."""
        return np.column_stack((self.axes, self.point))


class BuildContext(Protocol):
    """Services for the builder of a table while a System is compiled."""

    def marker(self, marker: Marker) -> ConnectorEnd:
        """Return the end at a marker."""

    def body(self, body: Body, point: Array) -> ConnectorEnd:
        """Return the end at a point (3,) in body axes, with the axes of the body."""

    def connect(self, a: int, b: int) -> int:
        """Return the number of a new connector between dofs ``a`` and ``b``."""

    def parameters(self, force: Force, length: float = 0.0, unit: str = "") -> int:
        """Reserve the input slots of a force, one after the other, and return the first."""


class ForceKernels(NamedTuple):
    """Kernels of a kind of force."""

    table: Any  # (tables) -> its table, which has a column ``connector``
    wrench: Any  # (tables, k, u, ws) -> F on dof b
    variation: Any  # (tables, k, side, X, dV, u, ws) -> change of F when the end ``side`` (-1: a, +1: b) moves by the
    # twist X and its velocity by dV
    energy: Any  # (tables, k, u, ws) -> elastic energy, potential of constant loads, and what is not zero where
    # it does work that no potential tells
    acts: Any = None  # (tables, k, ws) -> False where F is zero and stays so: nothing for the tangent; None: always


class Measure(NamedTuple):
    """Channel of an element: name, unit and place among the numbers that ``measure`` writes."""

    name: str
    unit: str  # of every component, or one for each separated by ", "
    first: int  # of its numbers
    axes: tuple[str, ...] = ()  # labels of the components; empty for one number
    frame: str = ""  # whose axes the components are taken in


class DrawnLine(NamedTuple):
    """Drawing of an element from end to end."""

    shape: str  # coil, bar, or block: a cube at a, and a bar to b
    point_a: Array  # (3,) dof axes [m]
    point_b: Array  # (3,)
    axes: Array = np.eye(3)  # (3, 3) of a block to dof axes of a


class DrawnArrow(NamedTuple):
    """Drawing of an element as the arrow of the force in ``u[slot : slot + 3]``, which acts on b."""

    point: Array  # (3,) dof axes [m]
    axes: Array  # (3, 3) axes of the force to dof axes; used when it follows the body
    follows: bool
    slot: int


class ForceKind(NamedTuple):
    """Kind of force between two frames."""

    name: str  # of its table in ``Tables.forces``
    word: str  # of one element, ``ForceInfo.kind``
    table: type  # a struct of columns, a row an element, with ``connector`` and ``slot`` among them
    size: int  # slots of an element
    units: dict[str, str]  # of its parameters by name
    kernels: ForceKernels
    build: Callable[[Sequence[Force], BuildContext], Any]  # -> its table
    page: Any  # (xp, tables, u, A, r, V) -> F (B, k, 6), by the rules of ``semirecursive/page.py``
    measured: int  # how many numbers ``measure`` writes
    measure: Any  # kernel (tables, k, u, ws, out): those numbers
    channels: Callable[[Any, int], tuple[Measure, ...]]  # (table, row) -> its channels
    drawing: Callable[[Any, int], DrawnLine | DrawnArrow]  # (table, row) -> how it is drawn
    refusal: Callable[[Any, int, Any, Any, float], str] = lambda *_: ""  # (table, row, connectors, ws, length) -> why
    # the start cannot be; nothing when it can


def ends_of(force: Force, site: BuildContext) -> tuple[ConnectorEnd, ConnectorEnd]:
    """Return both ends of a force between two markers."""
    assert force.between is not None
    a, b = (site.marker(marker) for marker in force.between)
    return a, b


def table_of(law: ForceLaw) -> str:
    """Return the name of the table that holds elements of a law."""
    return law.table or {"between": "springs", "body": "wrenches", "joint": "joint_forces"}[law.attaches]


def stacked(rows: Sequence[Any], *shape: int) -> Array:
    """Return a column of floats (k, *shape), k may be zero."""
    return np.array(rows, np.float64).reshape(len(rows), *shape)


def integers(rows: Sequence[int]) -> NDArray[np.int64]:
    """Return a column of integers (k,)."""
    return np.array(rows, np.int64)
