"""Typical sizes of coordinates and rates, in whatever units they are: what a violation or a step is small against."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.contract import ConstrainedSystem

Array = NDArray[np.float64]

SMALL = 1e-3  # of the largest coordinate: a smaller one is near zero by chance, and tells no size
NOTHING = 1e-12  # of any unit: coordinates that all are smaller are zero but for rounding
STILL, REST = 1e-5, 0.1  # of the sizes in a second: rates that all are smaller are rest, and their size there
SHIFT = 1e-3  # of the largest coordinate: a move over which Phi_q is compared
SHARE = 1e-3  # of the largest row: what of its rounding another row may have
SHORTEST = 1e-9  # of any unit: coordinates that all are smaller are moved by SHIFT of this


def sizes_of(x: Array) -> Array:
    """Return the size of each of some numbers (n,): its own, or the largest for one near zero; 1 where all are zero."""
    own = np.abs(x)
    largest = float(own.max(initial=0.0))
    if largest <= NOTHING:
        return np.ones(len(x))
    return np.where(own >= SMALL * largest, own, largest)


def coordinate_sizes(system: ConstrainedSystem, q: Array, t: float, Phi_q: Array) -> Array:
    """Return typical sizes (n,) of coordinates at a state.

    Coordinates may all be near zero by chance, as angles at the reference pose are. So none counts as smaller than the
    move over which Phi_q turns by as much as it is, or 1 where that is more.
    """
    sizes = sizes_of(q)
    largest = float(np.abs(q).max(initial=0.0))
    if largest >= 1.0 or not Phi_q.size:
        return sizes
    move = SHIFT * max(largest, SHORTEST)
    there = q + move * np.cos(1.0 + np.arange(system.n))
    change = np.abs(np.asarray(system.constraint_jacobian(there, t)) - Phi_q).max(axis=1)
    rows = np.abs(Phi_q).max(axis=1)
    turning = change > 0.0
    curved = float((move * rows[turning] / change[turning]).min(initial=1.0))
    return sizes if curved <= largest else np.maximum(sizes, curved)


def rate_sizes(sizes: Array, v: Array, M: Array, F: Array) -> Array:
    """Return typical sizes (n,) of rates: their own or those that forces make over the sizes; else the sizes in 1 s."""
    inertia = np.abs(np.diag(M))
    pull = np.divide(np.abs(F), inertia, out=np.zeros(len(v)), where=inertia > 0.0)
    own = np.maximum(np.abs(v), np.sqrt(pull * sizes))
    return sizes if own.max(initial=0.0) <= NOTHING else sizes_of(own)


def start_rate_sizes(sizes: Array, v: Array, M: Array, F: Array) -> Array:
    """Return typical sizes (n,) of rates that a start is judged by: ``rate_sizes``, and at rest a tenth a second.

    At rest, rates and forces are what rounding and earlier motions left, and tell no size.
    """
    inertia = np.abs(np.diag(M))
    pull = np.divide(np.abs(F), inertia, out=np.zeros(len(v)), where=inertia > 0.0)
    if np.all(np.maximum(np.abs(v), pull) <= STILL * sizes):
        return REST * sizes
    return rate_sizes(sizes, v, M, F)


def row_sizes(Phi_q: Array, sizes: Array, more: Array | float = 0.0) -> Array:
    """Return the size of each row (m,) that changes of these sizes make, and a share of the largest row's."""
    own = np.abs(Phi_q) @ sizes + np.abs(more)
    return np.asarray(own + SHARE * own.max(initial=0.0))
