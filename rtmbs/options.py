"""Options of a Simulation: checked once, and turned into the numbers that steer a step."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from rtmbs.errors import InputError, unknown_name
from rtmbs.integrators.registry import INTEGRATORS, TRAPEZOIDAL
from rtmbs.integrators.settings import MAX_ITERATIONS, TANGENT_TERMS, Settings
from rtmbs.system.system import System

PENALTY = 1e6  # dimensionless c (METHODS 1.6)
SWEEPS_SCALED, SWEEPS_FIXED = 3, 10  # projection sweeps at most, METHODS 1.12
SWEEP_BOUND = 1e-9
RELATIVE = 1e-6
LOOP_TOLERANCE = 1e-3
SHORTEST, LONGEST = 1e-100, 1e100  # steps [s]: their squares are still numbers


@dataclass(frozen=True)
class Options:
    """How a Simulation steps, but for h, which belongs to its State; ``Simulation`` says what each one means."""

    penalty: float | None = None  # None beside an alpha, and PENALTY when neither is given
    alpha: float | None = None
    tol: float = 1e-9
    jacobian: str = "structured"
    tangent_terms: str = "inertia"
    max_iterations: int = 8
    fixed_iterations: bool = False
    projection_weight: str = "tangent"
    project_velocities: bool = True
    project_accelerations: bool = True
    integrator: str = TRAPEZOIDAL
    fused: bool = True

    def checked(self) -> Self:
        """Return these options with the default penalty where it is used; InputError for one out of range.

        The words of ``jacobian`` are known to whoever makes the source.
        """
        if self.penalty is not None and self.alpha is not None:
            raise InputError(
                f"penalty = {self.penalty!r} and alpha = {self.alpha!r} exclude each other; give one of them"
            )
        made = replace(self, penalty=PENALTY) if self.penalty is None and self.alpha is None else self
        positive(tol=made.tol, **({"penalty": made.penalty} if made.alpha is None else {"alpha": made.alpha}))
        whole("max_iterations", made.max_iterations, 1, MAX_ITERATIONS)
        one_of("tangent_terms", made.tangent_terms, TANGENT_TERMS)
        one_of("integrator", made.integrator, INTEGRATORS)
        one_of("projection_weight", made.projection_weight, ("tangent", "mass"))
        return made

    def changed(self, changes: dict[str, Any]) -> Self:
        """Return these options with some of them changed; a penalty takes the place of an alpha and the reverse."""
        names = [f.name for f in fields(self)]
        for name in changes:
            if name not in names:
                raise unknown_name("option", name, names)
        other = {"penalty": "alpha", "alpha": "penalty"}
        gone = {other[name]: None for name in changes if name in other and changes[name] is not None}
        return replace(self, **{**gone, **changes}).checked()

    def settings(self, system: System, h: float) -> Settings:
        """Return the numbers that steer a step of ``system``."""
        rotation = system.row_is_rotation
        return Settings(
            h=float(h),
            relative=RELATIVE,
            max_iterations=int(self.max_iterations),
            fixed_iterations=bool(self.fixed_iterations),
            max_sweeps=SWEEPS_SCALED if self.alpha is None else SWEEPS_FIXED,
            sweep_bound=SWEEP_BOUND,
            tangent_terms=TANGENT_TERMS.index(self.tangent_terms),
            project_velocities=bool(self.project_velocities),
            project_accelerations=bool(self.project_accelerations),
            mass_weight=self.projection_weight == "mass",
            loop_tolerance=LOOP_TOLERANCE,
            absolute=self.tol * system.typical,
            typical=system.typical,
            rotation=rotation,
            scale=np.where(rotation, 1.0, system.length),
        )


def is_number(value: Any) -> bool:
    """True for a finite real number."""
    return isinstance(value, Real) and math.isfinite(value)


def positive(**values: Any) -> None:
    """Raise InputError for the first value that is not a finite positive number."""
    for name, value in values.items():
        if not (is_number(value) and value > 0):
            raise InputError(f"{name} is {value!r}; it must be a positive number")


def whole(name: str, value: Any, least: int, most: int) -> None:
    """Raise InputError for a value that is not a whole number in these bounds."""
    if not (isinstance(value, Integral) and least <= int(value) <= most):
        raise InputError(f"{name} is {value!r}; it must be a whole number from {least} to {most}")


def step_size(h: float) -> None:
    """Raise InputError for a step whose square no number holds."""
    positive(h=h)
    if not SHORTEST <= h <= LONGEST:
        raise InputError(f"h is {h!r} s; it must lie between {SHORTEST:g} and {LONGEST:g} s")


def one_of(option: str, value: str, valid: Iterable[str]) -> None:
    """Raise an error that lists the valid words of an option."""
    if value not in valid:
        raise unknown_name(option, value, valid)
