"""Methods of time integration by name; the contract tests step every one of them."""

from collections.abc import Callable

from rtmbs.integrators.adams_bashforth import AdamsBashforth
from rtmbs.integrators.method import Method
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal
from rtmbs.integrators.runge_kutta import RungeKutta
from rtmbs.integrators.variational_midpoint import VariationalMidpoint

METHODS: dict[str, Callable[[], Method]] = {
    "penalty-trapezoidal": PenaltyTrapezoidal,
    "variational-midpoint": VariationalMidpoint,
    "runge-kutta": RungeKutta,
    "adams-bashforth": AdamsBashforth,
}


def name_of(method: Method) -> str:
    """Return the name under which a method is registered, or that of its class."""
    names = [name for name, one in METHODS.items() if type(method) is one]
    return names[0] if names else type(method).__name__
