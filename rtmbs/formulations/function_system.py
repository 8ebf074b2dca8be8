"""A system of functions given by the user; derivatives of Phi come from one recording (``rtmbs.ad``)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad import recorder, tangent_tape
from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.function_sources import takes_namespace
from rtmbs.ad.trace import record
from rtmbs.errors import InputError, shown

Array = NDArray[np.float64]


class FunctionSystem:
    """A ConstrainedSystem from functions ``mass(q, t)``, ``force(q, v, t)`` and ``constraints(q, t)``.

    ``mass`` returns (n, n), ``force`` (n,), ``constraints`` (m,), in the units of the user. ``constraints`` is written
    in NumPy and is recorded once; it may take an argument ``xp``, the namespace of the recorder. Source: METHODS 2.

    Parameters
    ----------
    n : int
        Number of coordinates.
    m : int
        Number of constraints.
    mass : Callable[[ndarray, float], ndarray]
        Function ``mass(q, t)`` that returns the mass matrix (n, n).
    force : Callable[[ndarray, ndarray, float], ndarray]
        Function ``force(q, v, t)`` that returns the forces (n,).
    constraints : Callable[..., object]
        Function ``constraints(q, t)`` in plain NumPy that returns the constraints (m,).
    coordinate_names : Sequence[str], optional
        Names of the coordinates for error messages.
    row_names : Sequence[str], optional
        Names of the constraints for error messages.

    Raises
    ------
    InputError
        For sizes, and the errors of ``rtmbs.ad`` for a function that no tape can hold.

    Examples
    --------
    >>> import numpy as np
    >>> mass, force = (lambda q, t: np.eye(2)), (lambda q, v, t: np.array([0.0, -9.81]))
    >>> pendulum = FunctionSystem(2, 1, mass, force, lambda q, t: [q[0] ** 2 + q[1] ** 2 - 1])
    """

    def __init__(
        self,
        n: int,
        m: int,
        mass: Callable[[Array, float], Array],
        force: Callable[[Array, Array, float], Array],
        constraints: Callable[..., Any],
        *,
        coordinate_names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
    ) -> None:
        for name, size in (("n", n), ("m", m)):
            if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < (name == "n"):
                raise InputError(f"{name} of a FunctionSystem is {shown(size)}; a whole number is wanted")
        for what, names, size in (("coordinate_names", coordinate_names, n), ("row_names", row_names, m)):
            if names is not None and len(names) != size:
                raise InputError(f"{what} of a FunctionSystem has {len(names)} names; {size} are wanted")
        for what, function in (("mass", mass), ("force", force), ("constraints", constraints)):
            if not callable(function):
                raise InputError(f"{what} of a FunctionSystem is a {type(function).__name__}; a function is wanted")
        self.n, self.m = int(n), int(m)
        self.mass, self.force = mass, force
        self.coordinate_names = None if coordinate_names is None else list(coordinate_names)
        self.row_names = None if row_names is None else list(row_names)
        if self.m:
            self._record(constraints)

    def _record(self, constraints: Callable[..., Any]) -> None:
        """Record Phi of x = (q, t), and its second derivative along two directions."""
        n, options = self.n, {"xp": recorder} if takes_namespace(constraints) else {}

        def phi(x: Any) -> Any:
            found = constraints(x[:n], x[n], **options)
            size = np.shape(found)[0] if np.ndim(found) else 1
            if np.ndim(found) > 1 or size != self.m:
                raise InputError(f"constraints(q, t) returned an array {np.shape(found)}; ({self.m},) is wanted")
            return found

        tape = record(phi, n + 1, self.m)
        self._phi = Evaluator(tape)
        self._second = Evaluator(tangent_tape(tangent_tape(tape)))

    def constraints(self, q: Array, t: float) -> Array:
        """Return Phi (m,)."""
        return self._phi.value(np.append(q, t)) if self.m else np.zeros(0)

    def constraint_jacobian(self, q: Array, t: float) -> Array:
        """Return Phi_q (m, n)."""
        return self._phi.jacobian(np.append(q, t))[:, : self.n] if self.m else np.zeros((0, self.n))

    def constraint_rate_terms(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Return Phi_t and gamma (m,): gamma is less the second derivative of Phi along (v, 1) twice."""
        if not self.m:
            return np.zeros(0), np.zeros(0)
        x, direction = np.append(q, t), np.append(v, 1.0)
        Phi_t = self._phi.jacobian(x)[:, self.n]
        return Phi_t, -self._second.value(x, np.concatenate((direction, direction)))
