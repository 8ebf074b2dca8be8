"""What the user may choose about a Simulation, checked and turned into the Settings of a step."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.integrators.registry import INTEGRATORS
from rtmbs.integrators.settings import MAX_ITERATIONS, REFACTOR, TANGENT_TERMS, Settings
from rtmbs.integrators.tries import MOST_TRIES
from rtmbs.limits.bounds import LONGEST, SHORTEST
from rtmbs.system.origins import travelling
from rtmbs.system.system import System

Array = NDArray[np.float64]

PENALTY = 1e6  # dimensionless c (METHODS 1.6)
SWEEPS_SCALED, SWEEPS_FIXED = 3, 10  # projection sweeps at most, METHODS 1.12
SWEEP_BOUND = 1e-9
RELATIVE = 1e-6
LOOP_TOLERANCE = 1e-3
MOST_HALVINGS = 20
MOST_THREADS = 256
FREED = 5e-3  # sqrt(c) times the largest correction behind which an older factor may serve (METHODS 1.10)


@dataclass(frozen=True)
class Options:
    """The options of ``Simulation``, which says what they mean; one out of range raises InputError."""

    penalty: float | None
    alpha: float | None
    tol: float
    tangent_terms: str
    max_iterations: int
    fixed_iterations: bool
    refactor: str
    projection_weight: str
    project_velocities: bool
    project_accelerations: bool
    hold_energy: bool
    integrator: str
    jacobian: str  # checked by whoever makes the source
    fused: bool
    threads: int = 1
    tries: int = MOST_TRIES

    def __post_init__(self) -> None:
        if self.penalty is not None and self.alpha is not None:
            raise InputError(
                f"penalty = {shown(self.penalty)} and alpha = {shown(self.alpha)} exclude each other; give one of them"
            )
        positive(tol=self.tol, **({"penalty": self.c} if self.alpha is None else {"alpha": self.alpha}))
        whole("max_iterations", self.max_iterations, 1, MAX_ITERATIONS)
        whole("threads", self.threads, 1, MOST_THREADS)
        whole("tries", self.tries, 0, MOST_TRIES)
        one_of("tangent_terms", self.tangent_terms, TANGENT_TERMS)
        one_of("refactor", self.refactor, REFACTOR)
        one_of("integrator", self.integrator, INTEGRATORS)
        one_of("projection_weight", self.projection_weight, ("tangent", "mass"))
        switches(
            fixed_iterations=self.fixed_iterations, fused=self.fused, project_velocities=self.project_velocities,
            project_accelerations=self.project_accelerations, hold_energy=self.hold_energy,
        )  # fmt: skip

    @property
    def c(self) -> float | None:
        """Dimensionless penalty, None when ``alpha`` is given."""
        if self.alpha is not None:
            return None
        return PENALTY if self.penalty is None else self.penalty

    def changed(self, changes: dict[str, Any]) -> "Options":
        """Return these options with some of them changed; a penalty takes the place of an alpha and the reverse."""
        names = [f.name for f in fields(self)]
        for name in changes:
            if name not in names:
                raise unknown_name("option", name, names)
        other = {"penalty": "alpha", "alpha": "penalty"}
        gone = {other[name]: None for name in changes if name in other and changes[name] is not None}
        return replace(self, **{**gone, **changes})

    def settings(self, system: System, h: float, alpha: Array, masses: Array) -> Settings:
        """Return the Settings of a step of ``h``; penalty factors ``alpha`` (m,), effective ``masses`` (m,) of rows."""
        rotation = system.row_is_rotation
        held = alpha * h * h / 4.0 / np.maximum(masses, np.finfo(float).tiny)  # c of every row
        return Settings(
            h=float(h),
            relative=RELATIVE,
            max_iterations=int(self.max_iterations),
            fixed_iterations=bool(self.fixed_iterations),
            tries=int(self.tries),
            refactor=REFACTOR.index(self.refactor),
            reuse_below=FREED / math.sqrt(max(float(np.max(held, initial=0.0)), 1.0)),
            max_sweeps=SWEEPS_SCALED if self.alpha is None else SWEEPS_FIXED,
            sweep_bound=SWEEP_BOUND,
            tangent_terms=TANGENT_TERMS.index(self.tangent_terms),
            project_velocities=bool(self.project_velocities),
            project_accelerations=bool(self.project_accelerations),
            hold_energy=bool(self.hold_energy and self.project_velocities and self.alpha is None),
            mass_weight=self.projection_weight == "mass",
            loop_tolerance=LOOP_TOLERANCE,
            absolute=self.tol * system.typical,
            typical=system.typical,
            pace=np.where(travelling(system.tables), np.inf, system.typical),
            rotation=rotation,
            scale=np.where(rotation, 1.0, system.length),
            mass=masses,
            first=first_rows(system),
            held=float(np.max(held, initial=0.0)),
        )


def first_rows(system: System) -> NDArray[np.bool_]:
    """Return (m,) which rows begin a closure; a driven coordinate is one by itself."""
    closure = system.closure_of_row
    return np.asarray((np.diff(closure, prepend=-2) != 0) | (closure < 0))


def is_number(value: Any) -> bool:
    """True for a finite real number; a switch is none, and an integer beyond all floats is not finite."""
    try:
        return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)
    except OverflowError:
        return False


def positive(**values: Any) -> None:
    """Raise InputError for the first value that is not a finite positive number."""
    for name, value in values.items():
        if not (is_number(value) and value > 0):
            raise InputError(f"{name} is {shown(value)}; it must be a positive number")


def whole(name: str, value: Any, least: int, most: int) -> None:
    """Raise InputError for a value that is not a whole number in these bounds."""
    if isinstance(value, bool) or not (isinstance(value, Integral) and least <= int(value) <= most):
        raise InputError(f"{name} is {shown(value)}; it must be a whole number from {least} to {most}")


def step_size(h: float) -> None:
    """Raise InputError for a step whose square no number holds."""
    positive(h=h)
    if not SHORTEST <= h <= LONGEST:
        raise InputError(f"h is {shown(h)} s; it must lie between {SHORTEST:g} and {LONGEST:g} s")


def switches(**values: Any) -> None:
    """Raise InputError for the first value that is neither True nor False: "off" would switch on."""
    for name, value in values.items():
        if not isinstance(value, bool | np.bool_):
            raise InputError(f"{name} is {shown(value)}; it must be True or False")


def one_of(option: str, value: str, valid: Iterable[str]) -> None:
    """Raise an error that lists the valid words of an option."""
    if not (isinstance(value, str) and value in valid):
        raise unknown_name(option, value, valid)
