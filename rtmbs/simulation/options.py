"""Options of a Simulation: the method, the source of K and C, and threads."""

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.integrators.checks import whole
from rtmbs.integrators.contract import Method
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal
from rtmbs.methods import Capability, demand

MOST_HALVINGS = 20
MOST_THREADS = 256


@dataclass(frozen=True)
class Options:
    """A method with its options, a source of K and C, and threads; one out of range raises InputError."""

    method: Method
    jacobian: str  # checked where the source is made
    threads: int = 1

    def __post_init__(self) -> None:
        answers = all(hasattr(self.method, name) for name in ("order", "start", "advance", "remember"))
        if isinstance(self.method, type) or not answers:
            raise InputError(f"method is {shown(self.method)}; it must be an object such as rtmbs.PenaltyTrapezoidal()")
        whole("threads", self.threads, 1, MOST_THREADS)
        if self.threads > 1:
            demand(self.method, Capability.THREADS, f"threads = {self.threads}")

    def changed(self, changes: dict[str, Any]) -> "Options":
        """Return these options with some of them changed: those of a Simulation, and those of its method."""
        own = [f.name for f in fields(self)]
        of_method = [f.name for f in fields(self.method)]  # type: ignore[arg-type]
        for name in changes:
            if name not in own and name not in of_method:
                raise unknown_name("option", name, [*own, *of_method])
        mine = {name: value for name, value in changes.items() if name in own}
        others = {name: value for name, value in changes.items() if name not in own}
        wanted = replace(self, **mine)
        return replace(wanted, method=wanted.method.changed(others)) if others else wanted

    def value(self, name: str) -> Any:
        """Return an option by its name, of a Simulation or of its method."""
        return getattr(self, name) if name in ("method", "jacobian", "threads") else getattr(self.method, name)


def by_name(**options: Any) -> dict[str, Any]:
    """Return what ``Simulation`` takes for options by name, those of its method among them.

        Simulation(system, **by_name(h=1e-3, jacobian="trace", penalty=1e7))

    Without ``method`` they are those of PenaltyTrapezoidal. Raises InputError for a value out of range, TypeError for
    a name that the method does not know.
    """
    own: dict[str, Any] = {
        name: options.pop(name) for name in ("h", "method", "jacobian", "assembly_offset", "threads") if name in options
    }
    if options:
        method = own.get("method", PenaltyTrapezoidal())
        if isinstance(method, type) or not is_dataclass(method):
            raise InputError(f"method is {shown(method)}; it must be an object such as rtmbs.PenaltyTrapezoidal()")
        own["method"] = replace(method, **options)  # type: ignore[type-var]
    return own
