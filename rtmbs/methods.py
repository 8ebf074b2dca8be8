"""Methods of time integration by name, with their capabilities.

    Simulation(system, h=1e-3, method=rtmbs.methods.HHT(alpha=-0.1))
    Simulation(system, h=1e-3, method=rtmbs.methods.RungeKutta(rtmbs.methods.GILL, formulation=NullSpace()))

``METHODS`` holds the classes by name. ``table`` prints them beside their capabilities. A class and the module that it
stands in are loaded when they are first used.
"""

import importlib
import re
from collections.abc import Iterable
from enum import Enum
from typing import Any

from rtmbs.core.names import Register, checked
from rtmbs.errors import InputError


class Capability(Enum):
    """Capability of a method of time integration. ``value`` is the sentence for the user."""

    FORCE_STATES = "integrates the first-order states of force laws"
    LOOPS = "takes closed loops and drivers"
    REDUNDANT = "takes redundant loop equations"
    SAME_BYTES = "goes on from a saved State with the same bytes"
    REFINED = "has an order in h, so that rtmbs.refined extrapolates its runs"
    RAMPS = "takes inputs that move along a step: ramps, and drivers by Input"
    CHUNKS = "takes many steps in one compiled call"
    BATCH = "steps many copies of a mechanism in one compiled call, rtmbs.Batch"
    THREADS = "steps parts of a mechanism that share nothing but ground on threads of their own"
    WARM_UP = "takes steps that never count when a Simulation is made, so that the first one is as fast as others"
    EVENTS = "has events within its steps, sim.run(..., when=...)"
    TOLERANCE = "chooses its steps by the tolerance of a run"
    SENSITIVITY = "has exact derivatives of its runs, rtmbs.sensitivity"
    OWN_EQUATIONS = "integrates a system of the user's own equations, rtmbs.dae.integrate"


PLACES = {  # name: (module, class)
    "penalty-trapezoidal": ("integrators.penalty_trapezoidal", "PenaltyTrapezoidal"),
    "variational-midpoint": ("integrators.variational_midpoint", "VariationalMidpoint"),
    "trbdf2": ("integrators.trbdf2", "TRBDF2"),
    "runge-kutta": ("dae.runge_kutta", "RungeKutta"),
    "velocity-verlet": ("integrators.explicit", "VelocityVerlet"),
    "semi-implicit-euler": ("integrators.explicit", "SemiImplicitEuler"),
    "adams-bashforth": ("integrators.explicit", "AdamsBashforth"),
    "adams-bashforth-moulton": ("dae.adams_bashforth_moulton", "AdamsBashforthMoulton"),
    "solve-ivp": ("dae.solve_ivp", "SolveIVP"),
    "tangent-space": ("dae.tangent_space", "TangentSpace"),
    "odae": ("dae.odae", "ODAE"),
    "haug-yen": ("dae.tangent_space", "HaugYen"),
    "fuehrer-leimkuhler": ("dae.odae", "FuehrerLeimkuhler"),
    "index-3-lagrangian": ("dae.index3_lagrangian", "Index3Lagrangian"),
    "generalised-alpha": ("dae.newmark", "GeneralisedAlpha"),
    "hht": ("dae.newmark", "HHT"),
    "half-explicit": ("dae.runge_kutta", "HalfExplicit"),
    "radau-ggl": ("dae.radau_ggl", "RadauGGL"),
    "cvode": ("dae.sundials", "CVODE"),
    "ida": ("dae.sundials", "IDA"),
}
TABLES = ("DORMAND_PRINCE", "EULER", "GILL", "HEUN", "KUTTA", "RK4", "TABLEAUX", "THREE_EIGHTHS", "Tableau")
METHODS: Register[Any] = Register("method", "rtmbs", PLACES)

HOMES = {kind: module for module, kind in PLACES.values()} | dict.fromkeys(TABLES, "integrators.tableaux")
HOMES |= {"Method": "integrators.contract"}
__all__ = sorted([*HOMES, "METHODS", "Capability", "capabilities_of", "methods_with", "table"])


def __getattr__(name: str) -> Any:
    """Return a class of a method, or a table of Butcher, when it is first used."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = checked(getattr(importlib.import_module(f"rtmbs.{HOMES[name]}"), name))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return list(__all__)


def name_of(method: Any) -> str:
    """Return the name that a method is registered by, or that of its class."""
    kind = type(method)
    home = kind.__module__.removeprefix("rtmbs."), kind.__name__
    known = (*PLACES.items(), *METHODS.added.items())
    return next((name for name, place in known if place in (home, kind)), kind.__name__)


def add_method(kind: type[Any]) -> None:
    """Add a method of the user to ``METHODS``: ``BackwardEuler`` as ``backward-euler``."""
    METHODS.add(re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower(), kind)


def capabilities_of(method: Any) -> frozenset[Capability]:
    """Return the capabilities of a method, or of a class of methods.

    >>> Capability.RAMPS in capabilities_of(METHODS["runge-kutta"])
    False
    """
    return frozenset(getattr(method, "capabilities", ()))


def methods_with(capability: Capability) -> list[str]:
    """Return the names of the classes of methods that have a capability, in the order of ``METHODS``."""
    return [METHODS.class_name(name) for name in METHODS if capability in capabilities_of(METHODS[name])]


def demand(method: Any, capability: Capability, asked: str) -> None:
    """Raise InputError unless the method has a capability; ``asked`` names the request in the message.

    The sentence names the method, the capability and the methods that have it.
    """
    if capability not in capabilities_of(method):
        others = ", ".join(methods_with(capability))
        raise InputError(
            f"{asked} needs a method that {capability.value}; {type(method).__name__} does not: take {others}"
        )


def table(names: Iterable[str] = ()) -> str:
    """Return the methods beside their capabilities as a table in Markdown; all of them unless ``names`` are given."""
    heads = [one.name.lower().replace("_", " ") for one in Capability]
    lines = ["| method | " + " | ".join(heads) + " |", "|---" * (1 + len(heads)) + "|"]
    for name in names or METHODS:
        can = capabilities_of(METHODS[name])
        cells = " | ".join("yes" if one in can else "" for one in Capability)
        lines.append(f"| `{METHODS.class_name(name)}` | {cells} |")
    return "\n".join(lines)
