"""What a kind of force between two frames answers: its verbs as kernels, and what is said about it in Python.

An element of a kind acts through a *connector*: a wrench F on dof b and -F on dof a, about the origin of their part.
Kernels take the tables whole, the number ``k`` of the element, and the workspace with evaluated positions and
velocities.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.model.body import Body
from rtmbs.model.forces import Force, ForceLaw
from rtmbs.model.markers import Marker

Array = NDArray[np.float64]
WORLD = "world"
XYZ = ("x", "y", "z")


class End(NamedTuple):
    """Where one end of an element sits."""

    dof: int  # -1 ground
    point: Array  # (3,) dof axes [m]
    axes: Array  # (3, 3) axes of the marker or of the body to dof axes

    @property
    def frame(self) -> Array:
        """[axes | point] (3, 4)."""
        return np.column_stack((self.axes, self.point))


class Site(Protocol):
    """What a builder may ask for while a System is compiled."""

    def marker(self, marker: Marker) -> End:
        """Return where a marker sits."""

    def body(self, body: Body, point: Array) -> End:
        """Return where a point (3,) in body axes sits, with the body's axes."""

    def connect(self, a: int, b: int) -> int:
        """Return the number of a new connector between dofs ``a`` and ``b``."""

    def parameters(self, force: Force, length: float = 0.0, unit: str = "") -> int:
        """Give a force its slots, one after the other, and return the first."""


class Verbs(NamedTuple):
    """The kernels of a kind."""

    table: Any  # (tables) -> its table, which has a column ``connector``
    wrench: Any  # (tables, k, u, ws) -> F on dof b
    variation: Any  # (tables, k, side, X, dV, u, ws) -> change of F when the end ``side`` (-1: a, +1: b) moves by the
    # twist X and its velocity by dV
    energy: Any  # (tables, k, u, ws) -> elastic energy, potential of constant loads, and what is not zero where
    # it does work that no potential tells


class Measure(NamedTuple):
    """A channel of an element, out of the numbers that ``measure`` writes."""

    name: str
    unit: str  # of every component, or one for each separated by ", "
    first: int  # of its numbers
    axes: tuple[str, ...] = ()  # labels of the components; empty for one number
    frame: str = ""  # whose axes the components are taken in


class Line(NamedTuple):
    """An element drawn from end to end."""

    shape: str  # coil, bar, or block: a cube at a, and a bar to b
    point_a: Array  # (3,) dof axes [m]
    point_b: Array  # (3,)
    axes: Array = np.eye(3)  # (3, 3) of a block to dof axes of a


class Arrow(NamedTuple):
    """An element drawn as the arrow of the force in ``u[slot : slot + 3]``, which acts on b."""

    point: Array  # (3,) dof axes [m]
    axes: Array  # (3, 3) axes of the force to dof axes; used when it follows the body
    follows: bool
    slot: int


class Kind(NamedTuple):
    """One kind of force between two frames."""

    name: str  # of its table in ``Tables.forces``
    word: str  # of one element, ``ForceInfo.kind``
    table: type  # a struct of columns, a row an element, with ``connector`` and ``slot`` among them
    size: int  # slots of an element
    units: dict[str, str]  # of its parameters by name
    verbs: Verbs
    build: Callable[[Sequence[Force], Site], Any]  # -> its table
    page: Any  # (xp, tables, u, A, r, V) -> F (B, k, 6), by the rules of ``semirecursive/page.py``
    measured: int  # how many numbers ``measure`` writes
    measure: Any  # kernel (tables, k, u, ws, out): those numbers
    channels: Callable[[Any, int], tuple[Measure, ...]]  # (table, row) -> its channels
    drawing: Callable[[Any, int], Line | Arrow]  # (table, row) -> how it is drawn
    refusal: Callable[[Any, int, Any, Any, float], str] = lambda *_: ""  # (table, row, connectors, ws, length) -> why
    # the start cannot be; nothing when it can


def ends_of(force: Force, site: Site) -> tuple[End, End]:
    """Return both ends of a force between two markers."""
    assert force.between is not None
    a, b = (site.marker(marker) for marker in force.between)
    return a, b


def table_of(law: ForceLaw) -> str:
    """Return the name of the kind that a law is an element of."""
    return law.table or {"between": "springs", "body": "wrenches", "joint": "joint_forces"}[law.attaches]


def stacked(rows: Sequence[Any], *shape: int) -> Array:
    """Return a column of floats (k, *shape), also of no rows."""
    return np.array(rows, np.float64).reshape(len(rows), *shape)


def integers(rows: Sequence[int]) -> NDArray[np.int64]:
    """Return a column of integers (k,)."""
    return np.array(rows, np.int64)
