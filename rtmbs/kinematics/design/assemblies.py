"""All assemblies of any mechanism: poses that hold joints and drivers at one time, found from random starts."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, StartError, shown
from rtmbs.kinematics.analysis import Analysis
from rtmbs.kinematics.assembly import assemble
from rtmbs.kinematics.coordinates import SIZE
from rtmbs.numerics.rotations.quaternions import rotations

Array = NDArray[np.float64]

SAME = 1e-6  # of the size of the mechanism, or rad: poses that are one
SPREAD = 1.5  # of random starts, in sizes of the mechanism and radians


class Assembly(NamedTuple):
    """One assembly.

    Parameters
    ----------
    positions : dict[str, ndarray]
        Origin of every body (3,) [m].
    orientations : dict[str, ndarray]
        Axes of every body (3, 3), to world axes.
    coordinates : ndarray
        All unknowns, as ``Analysis.assemble`` returns them.
    found : int
        How many of the starts led here.
    """

    positions: dict[str, Array]
    orientations: dict[str, Array]
    coordinates: Array
    found: int


def assemblies(analysis: Analysis, t: float = 0.0, starts: int = 200, seed: int = 0) -> list[Assembly]:
    """Return the assemblies of a mechanism that its drivers hold, found from random poses of its bodies.

    Parameters
    ----------
    analysis : Analysis
        The mechanism; joints and drivers must hold every body.
    t : float, default 0.0
        Time [s].
    starts : int, default 200
        Number of random starts. More of them find assemblies that few starts lead to.
    seed : int, default 0
        Seed of the random numbers.

    Returns
    -------
    list[Assembly]
        Assemblies, the one that most starts lead to first.

    Raises
    ------
    InputError
        For a mechanism that is free, and for no starts.
    """
    if not (isinstance(starts, int) and starts >= 1):
        raise InputError(f"starts is {shown(starts)}; it must be a whole number from 1 on")
    equations, programs = analysis.equations, analysis.programs
    free = analysis.run_at([t]).report.mobility.degrees_of_freedom
    if free:
        raise InputError(
            f"{analysis.model.name!r} has {free} free directions; drive them before you ask for assemblies"
        )
    f = equations.drivers_at(np.array([t]))[0, 0]
    rng, found = np.random.default_rng(seed), list[tuple[Array, int]]()
    for k in range(starts):
        start = equations.start.copy()
        if k:
            start[SIZE:] += SPREAD * equations.sizes()[SIZE:] * rng.standard_normal(equations.n - SIZE)
        try:
            q, _ = assemble(programs, start, f, analysis.tolerance, analysis.contradiction)
        except StartError:
            continue
        for place, (known, count) in enumerate(found):
            if apart(q, known, len(equations.bodies), equations.length) < SAME:
                found[place] = (known, count + 1)
                break
        else:
            found.append((q, 1))
    return [posed(q, equations.bodies, count) for q, count in sorted(found, key=lambda one: -one[1])]


def apart(q: Array, other: Array, bodies: int, length: float) -> float:
    """Return the largest distance of two poses: in sizes of the mechanism, and of entries of rotations."""
    a, b = (x[: SIZE * bodies].reshape(bodies, SIZE) for x in (q, other))
    moved = np.abs(a[:, :3] - b[:, :3]).max() / length
    return float(max(moved, np.abs(rotations(a[:, 3:]) - rotations(b[:, 3:])).max()))


def posed(q: Array, names: list[str], count: int) -> Assembly:
    """Return unknowns as the poses of bodies."""
    rows = q[: SIZE * len(names)].reshape(-1, SIZE)
    axes = rotations(rows[:, 3:])
    places = {name: rows[k, :3].copy() for k, name in enumerate(names)}
    return Assembly(places, {name: axes[k] for k, name in enumerate(names)}, q, count)
