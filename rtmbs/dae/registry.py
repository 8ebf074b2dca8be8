"""Methods by name: one line each. A line and its file are all that a method has."""

import importlib
from collections.abc import Iterator, Mapping

from rtmbs.dae.contract import Method
from rtmbs.errors import unknown_name

PLACES = {  # name: (module, class)
    "runge-kutta": ("runge_kutta", "RungeKutta"),
    "adams-bashforth-moulton": ("adams_bashforth_moulton", "AdamsBashforthMoulton"),
    "solve-ivp": ("solve_ivp", "SolveIVP"),
    "tangent-space": ("tangent_space", "TangentSpace"),
    "odae": ("odae", "ODAE"),
    "penalty-trapezoidal": ("penalty_trapezoidal", "PenaltyTrapezoidal"),
    "index-3-lagrangian": ("index3_lagrangian", "Index3Lagrangian"),
    "generalised-alpha": ("generalised_alpha", "GeneralisedAlpha"),
    "hht": ("hht", "HHT"),
    "half-explicit": ("half_explicit", "HalfExplicit"),
    "radau-ggl": ("radau_ggl", "RadauGGL"),
    "cvode": ("cvode", "CVODE"),
    "ida": ("ida", "IDA"),
}


class Register(Mapping[str, type[Method]]):
    """The classes of ``PLACES``, loaded when they are asked for."""

    def __getitem__(self, name: str) -> type[Method]:
        if name not in PLACES:
            raise unknown_name("method", name, PLACES)
        module, kind = PLACES[name]
        found: type[Method] = getattr(importlib.import_module(f"rtmbs.dae.{module}"), kind)
        return found

    def __contains__(self, name: object) -> bool:
        return name in PLACES

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


METHODS = Register()
