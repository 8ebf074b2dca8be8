"""The multiple four-bar for programs of any kind: bars where they are at the start, the pins between them, the loops.

All lies in planes parallel to YZ and turns about X, gravity is 9.81 m/s^2 along -Z. The layouts are those of
``rtmbs.library.linkages``; a test holds the two together.
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GROUND = -1
GRAVITY = 9.81  # [m/s^2] along -Z
LENGTH, MASS, TRANSVERSE, AXIAL = 1.0, 1.0, 1.0 / 12.0, 1e-4  # of every bar [m, kg, kg m^2, kg m^2]
SPACING = 0.2  # [m] along X between the frames of the parallel layout
HANGING = -0.5 * math.pi  # turn of a bar that hangs straight down
LAYOUTS = ("stacked", "parallel")


@dataclass(frozen=True)
class Bar:
    """A uniform bar at the start. Its frame stands at its beginning; the bar is the Y axis of it, turned about X."""

    name: str
    start: Array  # (3,) [m]
    turn: float  # from +Y towards +Z [rad]
    velocity: Array  # (3,) of the beginning [m/s]
    rate: float  # [rad/s]

    def direction(self) -> Array:
        """Return the unit vector along the bar (3,)."""
        return np.array([0.0, math.cos(self.turn), math.sin(self.turn)])

    def point(self, along: float) -> Array:
        """Return the point ``along`` metres from the beginning (3,)."""
        return np.asarray(self.start + along * self.direction())

    def point_velocity(self, along: float) -> Array:
        """Return the velocity of that point (3,)."""
        across = np.array([0.0, -math.sin(self.turn), math.cos(self.turn)])
        return np.asarray(self.velocity + along * self.rate * across)


@dataclass(frozen=True)
class Pin:
    """A revolute about X that holds a point of bar ``a``, or of ground, to a point of bar ``b``."""

    name: str
    a: int  # GROUND or the index of a bar
    b: int
    along_a: float  # from the beginning of the bar [m]; of no use on ground
    along_b: float
    point: Array  # (3,) at the start [m]


@dataclass
class Mechanism:
    """Bar i hangs on the tree by ``tree[i]``, at its beginning; ``loops`` close the parallelograms."""

    ny: int
    nz: int
    layout: str
    bars: list[Bar] = field(default_factory=list)
    tree: list[Pin] = field(default_factory=list)
    loops: list[Pin] = field(default_factory=list)
    first_rods: list[int] = field(default_factory=list)  # of every row

    def relative_turn(self, pin: Pin) -> float:
        """Return the turn of bar b from bar a, or from ground, at the start [rad]."""
        above = 0.0 if pin.a == GROUND else self.bars[pin.a].turn
        return self.bars[pin.b].turn - above

    def relative_rate(self, pin: Pin) -> float:
        """Return the rate of that turn at the start [rad/s]."""
        above = 0.0 if pin.a == GROUND else self.bars[pin.a].rate
        return self.bars[pin.b].rate - above


def build(layout: str, ny: int = 4, nz: int = 40, angle: float = math.radians(30.0), rate: float = 0.1) -> Mechanism:
    """Return n_y four-bars in series, n_z times; all rods at ``angle``, those of the first row at ``rate``."""
    if layout not in LAYOUTS:
        raise ValueError(f"layout is {layout!r}; it must be one of {', '.join(LAYOUTS)}")
    mechanism = Mechanism(ny, nz, layout)
    moved = np.zeros(3)  # velocity of the nodes of the row above
    nodes = ground_nodes(ny, 0.0)
    for k in range(1, nz + 1):
        if layout == "parallel":
            nodes, moved = ground_nodes(ny, SPACING * (k - 1)), np.zeros(3)
        nodes, moved = add_row(mechanism, k, nodes, moved, angle, rate if k == 1 else 0.0)
    return mechanism


def windows() -> Mechanism:
    """Return IFToMM benchmark A02 with two windows: posts upright, v(B0) = 1 m/s."""
    return build("stacked", 2, 1, angle=math.pi, rate=-1.0)


def pendulum() -> Mechanism:
    """Return a bar on a pin, released at rest when level: benchmark A01 but for the mass, which is spread out here."""
    mechanism = build("parallel", 1, 1, angle=0.5 * math.pi, rate=0.0)
    return replace(mechanism, bars=mechanism.bars[:1], tree=mechanism.tree[:1], loops=[])


T_SMALL = 10.0  # [s]
SMALL = {"A01": (pendulum, 1e-3), "A02": (windows, 2.5e-3)}  # and their steps [s]


Node = tuple[int, float, Array]  # bar or GROUND, how far along it, the point at the start


def ground_nodes(ny: int, x: float) -> list[Node]:
    return [(GROUND, 0.0, np.array([x, float(j), 0.0])) for j in range(ny + 1)]


def add_row(
    mechanism: Mechanism, k: int, nodes: list[Node], moved: Array, angle: float, rate: float
) -> tuple[list[Node], Array]:
    """Hang a row of rods on ``nodes``, join their ends by couplers; return the nodes below and their velocity."""
    bars = mechanism.bars
    rods: list[int] = []
    for j, node in enumerate(nodes):
        rods.append(add_bar(mechanism, f"rod_{k}_{j}", f"pin_{k}_{j}", node, HANGING + angle, moved, rate))
    mechanism.first_rods.append(rods[0])
    carried = bars[rods[0]].point_velocity(LENGTH)

    below: list[Node] = []
    previous = rods[0]
    for j in range(len(nodes) - 1):
        start, end = bars[rods[j]].point(LENGTH), bars[rods[j + 1]].point(LENGTH)
        coupler = add_bar(mechanism, f"coupler_{k}_{j}", f"hinge_{k}_{j}", (previous, LENGTH, start), 0.0, carried, 0.0)
        mechanism.loops.append(Pin(f"cut_{k}_{j}", coupler, rods[j + 1], LENGTH, LENGTH, end))
        below += [(coupler, 0.0, start), (coupler, LENGTH, end)] if j == 0 else [(coupler, LENGTH, end)]
        previous = coupler
    return below, carried


def add_bar(mechanism: Mechanism, name: str, pin: str, node: Node, turn: float, velocity: Array, rate: float) -> int:
    """Add a bar that begins at ``node``, with its pin of the tree, and return its index."""
    above, along, point = node
    mechanism.bars.append(Bar(name, point, turn, velocity, rate))
    mechanism.tree.append(Pin(pin, above, len(mechanism.bars) - 1, along, 0.0, point))
    return len(mechanism.bars) - 1


@dataclass(frozen=True)
class Outcome:
    """What a run returns: seconds of the steps alone, and where the bars are at its end."""

    seconds: float
    starts: Array  # (bars, 3) beginnings [m]
    directions: Array  # (bars, 3) unit vectors along the bars


def first_angles(mechanism: Mechanism, outcome: Outcome) -> Array:
    """Return the angle of the first rod of every row from the vertical (n_z,) [rad]."""
    along = outcome.directions[mechanism.first_rods]
    return np.asarray(np.arctan2(along[:, 1], -along[:, 2]))


def largest_gap(mechanism: Mechanism, outcome: Outcome, pins: list[Pin]) -> float:
    """Return the largest distance between the two points that a pin should hold together [m]."""

    def place(bar: int, along: float, point: Array) -> Array:
        return point if bar == GROUND else np.asarray(outcome.starts[bar] + along * outcome.directions[bar])

    gaps = (place(p.a, p.along_a, p.point) - place(p.b, p.along_b, p.point) for p in pins)
    return max(float(np.linalg.norm(gap)) for gap in gaps)
