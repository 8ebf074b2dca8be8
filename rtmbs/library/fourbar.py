"""The multiple four-bar of n_y x n_z parallelograms: the paper's Table 1.

Source: the benchmark of the implicit semi-recursive method with automatic differentiation. The paper fixes bars of
1 m and 1 kg, (1 + 2 n_y) n_z bodies and n_z degrees of freedom, and prints neither gravity, inertia, initial angle nor
how the n_z rows are joined. Two readings fit every count, and both are built; the choice is ours.

Bars are slender and uniform: 1/12 kg m^2 transverse, 1e-4 kg m^2 axial. Planes are parallel to YZ, all revolutes turn
about X, gravity is 9.81 m/s^2 along -Z. A rod of angle phi reaches from its base to base + (0, sin phi, -cos phi),
couplers lie along +Y. In the reference pose all rods hang straight down, so that coordinates of pins are angles phi.
"""

import math
from typing import Literal

from rtmbs.errors import InputError
from rtmbs.library.shapes import add_bar
from rtmbs.model import Body, Model, Revolute

GRAVITY = (0.0, 0.0, -9.81)
X = (1.0, 0.0, 0.0)
PIN = Revolute(axis=X)
SPACING = 0.2  # [m] between the planes of the parallel layout
LAYOUTS = ("stacked", "parallel")
CLOSURES: dict[str, Literal["line", "point"] | None] = {"line": "line", "point": "point", "revolute": None}

Point = tuple[float, float, float]
Node = tuple[Body, Point]  # a body and the point of it where a rod hangs


def fourbar(
    ny: int = 1,
    nz: int = 1,
    layout: str = "stacked",
    closure: str = "revolute",
    angle: float = math.radians(30.0),
    rate: float = 0.1,
) -> Model:
    """Return n_y four-bars in series along Y, n_z times.

    Names: ``rod_k_j`` and ``coupler_k_j`` with row k = 1 .. n_z; ``pin_k_j`` hangs rod j, ``hinge_k_j`` begins coupler
    j, ``cut_k_j`` joins the end of coupler j to the end of rod j + 1. ``pin_k_0`` are the pinned coordinates.

    Parameters
    ----------
    ny : int, default 1
        Four-bars of a row.
    nz : int, default 1
        Rows.
    layout : {"stacked", "parallel"}
        One frame of n_z storeys, each hanging on the nodes of the one above; or n_z frames side by side along X, all on
        ground.
    closure : {"revolute", "point", "line"}
        How the cut pins are closed: by 5, 3 or 2 equations.
    angle : float, default pi/6
        Angle of all rods at the start [rad].
    rate : float, default 0.1
        Rate of the first rod of the first row at the start [rad/s]; the other rows are at rest.

    Returns
    -------
    Model
        The four-bars.
    """
    _check(ny, nz, layout, closure)
    model = Model(f"fourbar {layout} {ny} x {nz}", gravity=GRAVITY)
    nodes = _ground_nodes(model, ny, 0.0)
    for k in range(1, nz + 1):
        if layout == "parallel":
            nodes = _ground_nodes(model, ny, SPACING * (k - 1))
        nodes = _add_row(model, k, nodes, closure)
        _set_start(model, k, ny, angle, rate if k == 1 else 0.0)
    return model


def _ground_nodes(model: Model, ny: int, x: float) -> list[Node]:
    return [(model.ground, (x, float(j), 0.0)) for j in range(ny + 1)]


def _add_row(model: Model, k: int, nodes: list[Node], closure: str) -> list[Node]:
    """Hang a row of rods on ``nodes``, join their ends by couplers, and return the nodes of the next row."""
    ends: list[Node] = []
    for j, (above, base) in enumerate(nodes):
        end = _below(base)
        rod = add_bar(model, f"rod_{k}_{j}", base, end)
        model.add_joint(f"pin_{k}_{j}", PIN, above, rod, point=base)
        ends.append((rod, end))

    below: list[Node] = []
    previous = ends[0][0]
    for j in range(len(nodes) - 1):
        start, end = ends[j][1], ends[j + 1][1]
        coupler = add_bar(model, f"coupler_{k}_{j}", start, end)
        model.add_joint(f"hinge_{k}_{j}", PIN, previous, coupler, point=start)
        closed = CLOSURES[closure]
        model.add_joint(f"cut_{k}_{j}", PIN, coupler, ends[j + 1][0], point=end, cut=True, closure=closed)
        below += [(coupler, start), (coupler, end)] if j == 0 else [(coupler, end)]
        previous = coupler
    return below


def _below(base: Point) -> Point:
    return (base[0], base[1], base[2] - 1.0)


def _set_start(model: Model, k: int, ny: int, angle: float, rate: float) -> None:
    """Pin the first rod of row k; the values of the others are where the search for a consistent start begins."""
    model.set_initial(f"pin_{k}_0", position=angle, rate=rate, pin=True)
    for j in range(1, ny + 1):
        model.set_initial(f"pin_{k}_{j}", position=angle, rate=rate, pin=False)
    model.set_initial(f"hinge_{k}_0", position=-angle, rate=-rate, pin=False)


def _check(ny: int, nz: int, layout: str, closure: str) -> None:
    for name, value in (("ny", ny), ("nz", nz)):
        if not (isinstance(value, int) and value >= 1):
            raise InputError(f"fourbar: {name} is {value!r}; it must be a whole number of at least 1")
    for name, chosen, valid in (("layout", layout, LAYOUTS), ("closure", closure, tuple(CLOSURES))):
        if chosen not in valid:
            raise InputError(f"fourbar: {name} is {chosen!r}; it must be one of {', '.join(valid)}")
