"""Defects of a synthesised four-bar: positions on two branches, on two circuits, or passed in another order.

A circuit holds all positions that the linkage reaches without being taken apart. A branch is the part of a circuit on
which the transmission angle keeps its sign; between two branches the crank cannot drive the linkage.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs.errors import InputError
from rtmbs.kinematics.design.closure import crank_limits, gaps
from rtmbs.kinematics.design.four_bar import FourBar

Array = NDArray[np.float64]

WHOLE = 2.0 * np.pi
ROUNDING = 1e-9  # of a circuit: positions nearer to each other than this are in either order


class Defects(NamedTuple):
    """Defects of a four-bar at wanted positions.

    Parameters
    ----------
    branch : bool
        Whether the crank cannot drive the linkage through all positions, for they lie on two branches.
    circuit : bool
        Whether the linkage is to be taken apart between two positions.
    order : bool
        Whether the positions are passed in another order than the wanted one, with the crank in either sense.
    """

    branch: bool
    circuit: bool
    order: bool

    def __str__(self) -> str:
        names = [f"{name} defect" for name, has in zip(self._fields, self, strict=True) if has]
        return ", ".join(names) or "no defect"


def defects(bar: FourBar, crank: ArrayLike, branches: ArrayLike | None = None) -> Defects:
    """Return the defects of a four-bar at positions in their wanted order.

    Parameters
    ----------
    bar : FourBar
        The four-bar.
    crank : array_like
        Crank angles (K,) of the positions, from the line of the ground pivots [rad].
    branches : array_like, optional
        Branch (K,), 1 or -1, of every position; that of the four-bar unless given.

    Returns
    -------
    Defects
        Branch, circuit and order defect.

    Raises
    ------
    InputError
        For lists of different lengths, and for a position where the linkage does not close.

    Examples
    --------
    >>> from rtmbs.kinematics.design import FourBar, defects
    >>> bar = FourBar(8.0, 2.0, 7.0, 5.0)
    >>> print(defects(bar, [0.1, 0.5, 0.9]), "/", defects(bar, [0.1, 0.9, 0.5, 1.2]))
    no defect / order defect
    """
    angles = np.atleast_1d(np.asarray(crank, np.float64))
    sides = np.full(len(angles), bar.branch) if branches is None else np.sign(np.asarray(branches, np.float64))
    if angles.ndim != 1 or sides.shape != angles.shape or not np.all(np.abs(sides) == 1):
        raise InputError(
            f"crank and branches have shapes {angles.shape} and {sides.shape}; they must be lists of equal length, "
            "branches of 1 and -1"
        )
    if not np.all(np.isfinite(bar.angles(angles)[0])):
        raise InputError("the four-bar does not close at all crank angles; they must be positions that it reaches")
    circuit, place, length = places(bar, angles, sides)
    two_branches = len(set(sides.tolist())) > 1
    two_circuits = len(set(circuit.tolist())) > 1
    return Defects(two_branches, two_circuits, not two_circuits and disordered(place, length, two_branches))


def places(bar: FourBar, crank: Array, sides: Array) -> tuple[Array, Array, float]:
    """Return the circuit of every position, its place on the circuit, and the length of a circuit that closes.

    A crank that turns leads around a circuit by its angle. Another one goes from one limit to the other on one branch,
    places 0 to 1, and back on the other, 1 to 2. The length is infinite where a branch alone is no closed way.
    """
    if bar.crank_turns:
        return sides, crank % WHOLE, WHOLE
    p0, q0 = gaps(*bar.lengths)
    low, high = crank_limits(bar.lengths)
    turn = np.angle(np.exp(1j * crank))
    if q0 >= 0.0:  # through the ground line at angle 0
        begin, span, circuit = -high, 2.0 * high, np.zeros(len(turn))
    elif p0 >= 0.0:  # through pi
        begin, span, circuit = low, WHOLE - 2.0 * low, np.zeros(len(turn))
        turn = crank % WHOLE
    else:  # two ranges, one on each side of the ground line
        circuit, turn = np.sign(turn), np.abs(turn)
        begin, span = low, high - low
    share = (turn - begin) / span
    return circuit, np.where(sides > 0, share, 2.0 - share), 2.0


def disordered(place: Array, length: float, through_limits: bool) -> bool:
    """Return whether places on a circuit are passed in their order in neither sense."""
    if length == WHOLE or through_limits:
        ways = [np.diff(place) % length, np.diff(-place) % length]
        return all(float(np.sum(way)) > length * (1.0 + ROUNDING) for way in ways)
    steps = np.diff(place)  # on one branch between limits, where the crank turns back
    return not (bool(np.all(steps >= -ROUNDING)) or bool(np.all(steps <= ROUNDING)))
