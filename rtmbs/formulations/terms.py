"""All that a formulation asks of a system at a state, evaluated once and checked."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown
from rtmbs.formulations.contract import ConstrainedSystem

Array = NDArray[np.float64]

UNSYMMETRIC = 1e-8  # of the largest entry of M
WEIGHTLESS = 1e-20  # of the largest diagonal entry of M: rounding squared, as of an Euler parameter along itself


class Terms(NamedTuple):
    """M a + Phi_q^T lam = F with Phi_q a = gamma at one state."""

    system: ConstrainedSystem
    v: Array  # (n,)
    M: Array  # (n, n)
    F: Array  # (n,)
    Phi_q: Array  # (m, n)
    Phi_t: Array  # (m,)
    gamma: Array  # (m,)


def terms_at(system: ConstrainedSystem, q: Array, v: Array, t: float) -> Terms:
    """Return the terms at a state; raises InputError naming what has a wrong shape or is not finite."""
    n, m = system.n, system.m
    q, v, t = given("q", q, n), given("v", v, n), instant(t)
    F = answered("force(q, v, t)", system.force(q, v, t), (n,))  # first: a system may keep what M needs
    M = answered("mass(q, t)", system.mass(q, t), (n, n))
    if n and np.abs(M - M.T).max() > UNSYMMETRIC * np.abs(M).max():
        i, j = (int(k) for k in np.unravel_index(np.argmax(np.abs(M - M.T)), M.shape))
        raise InputError(
            f"mass(q, t) is not symmetric: entry ({i}, {j}) is {M[i, j]:g}, and entry ({j}, {i}) is {M[j, i]:g}"
        )
    Phi_q = answered("constraint_jacobian(q, t)", system.constraint_jacobian(q, t), (m, n))
    Phi_t, gamma = rate_terms(system, q, v, t)
    return Terms(system, v, M, F, Phi_q, Phi_t, gamma)


def rate_terms(system: ConstrainedSystem, q: Array, v: Array, t: float) -> tuple[Array, Array]:
    """Return Phi_t and gamma (m,), checked."""
    found = system.constraint_rate_terms(q, v, t)
    if not isinstance(found, tuple) or len(found) != 2:
        raise InputError(f"constraint_rate_terms(q, v, t) returned {shown(found)}; Phi_t and gamma are wanted")
    names = "Phi_t of constraint_rate_terms(q, v, t)", "gamma of constraint_rate_terms(q, v, t)"
    Phi_t, gamma = (answered(name, part, (system.m,)) for name, part in zip(names, found, strict=True))
    return Phi_t, gamma


def inertias(terms: Terms) -> tuple[Array, NDArray[np.bool_]]:
    """Return the diagonal of M (n,), and where it is more than rounding."""
    diagonal = np.diag(terms.M).copy()
    return diagonal, diagonal > WEIGHTLESS * diagonal.max(initial=0.0)


def given(name: str, x: Array, n: int) -> Array:
    """Return the user's array (n,) as finite floats."""
    try:
        x = np.array(x, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} is an array ({n},) of numbers, not {shown(x)}") from None
    if x.shape != (n,):
        raise InputError(f"{name} is an array ({n},), not {x.shape}")
    if not np.all(np.isfinite(x)):
        i = int(np.argmin(np.isfinite(x)))
        raise InputError(f"{name}[{i}] is {x[i]}; a finite number is wanted")
    return x


def instant(t: float) -> float:
    """Return the time as a finite number [s]."""
    try:
        number = float(t)
    except (TypeError, ValueError):
        raise InputError(f"t is a number of seconds, not {shown(t)}") from None
    if not np.isfinite(number):
        raise InputError(f"t is {number}; a finite number of seconds is wanted")
    return number


def answered(call: str, x: Array, shape: tuple[int, ...]) -> Array:
    """Return what a system answered as finite floats of the shape that the contract asks for."""
    try:
        x = np.asarray(x, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{call} returned {shown(x)}; an array {shape} of numbers is wanted") from None
    if x.shape != shape:
        raise InputError(f"{call} returned an array {x.shape}; {shape} is wanted")
    if not np.all(np.isfinite(x)):
        i = tuple(int(k) for k in np.unravel_index(int(np.argmin(np.isfinite(x))), shape))
        raise InputError(f"{call} returned {x[i]} at {i}; finite numbers are wanted")
    return x


def coordinate_name(system: ConstrainedSystem, i: int) -> str:
    """Return the name of a coordinate, or its number."""
    names = getattr(system, "coordinate_names", None)
    return f"coordinate {i} ({names[i]})" if names is not None else f"coordinate {i}"


def row_names(system: ConstrainedSystem, rows: NDArray[np.int64], most: int = 6) -> str:
    """Return the names of rows of Phi for a sentence."""
    names = getattr(system, "row_names", None)
    listed = ", ".join(f"{i} ({names[i]})" if names is not None else f"{i}" for i in sorted(rows.tolist())[:most])
    more = f" and {len(rows) - most} more" if len(rows) > most else ""
    return f"{'row' if len(rows) == 1 else 'rows'} {listed}{more}"


@dataclass(frozen=True)
class Positive:
    """An option that is a finite number above zero, and the sentence for one that is not."""

    name: str
    unit: str = ""

    def check(self, value: float) -> None:
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not number or not 0.0 < float(value) < np.inf:
            unit = f" {self.unit}" if self.unit else ""
            raise InputError(f"{self.name} is {shown(value)}; a finite number above 0{unit} is wanted")
