"""Functions of time. Those of drivers answer (f, fd, fdd) at t, so that velocities and accelerations are exact.

A function of time may say when it jumps: ``jumps``, times in seconds, is an attribute of any function, of forces as of
drivers (``torque.jumps = (0.5,)``). Of a driver only fdd may jump. ``simulation/jumps.py`` watches the others.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Array, Numbers, number, numbers, shape_of

Motion = tuple[float, float, float]

TRIALS, STEP = (0.11, 0.37, 0.83, 1.7), 1e-5  # [s] times at which derivatives are compared with differences, and theirs
WRONG, ROUNDING = 1e-3, 1e-13  # relative error that is none of differences; of a value, what a number cannot tell


@runtime_checkable
class Profile(Protocol):
    """Profile of a driver: the value at ``t`` [s] with its first and second derivative."""

    def __call__(self, t: float) -> Motion: ...


@dataclass(frozen=True)
class Numeric:
    """A profile whose fields are numbers."""

    jumps: ClassVar[tuple[float, ...]] = ()  # none

    def checked(self, what: str) -> Self:
        """Return this profile with floats; refuse numbers that are not finite.

        Parameters
        ----------
        what : str
            Name of the profile in the message.

        Returns
        -------
        ConstantRate
            This profile with floats; refuse what is not a finite number.
        """
        return replace(self, **{name: number(value, f"{what}: {name}") for name, value in vars(self).items()})


@dataclass(frozen=True)
class ConstantRate(Numeric):
    """Profile of constant rate: f = start + rate t.

    Parameters
    ----------
    rate : float
        Rate [rad/s or m/s].
    start : float, default 0.0
        Value at t = 0 [rad or m].
    """

    rate: float
    start: float = 0.0

    def __call__(self, t: float) -> Motion:
        return self.start + self.rate * t, self.rate, 0.0


@dataclass(frozen=True)
class Sine(Numeric):
    """Sine profile: f = offset + amplitude sin(w t + phase).

    Parameters
    ----------
    amplitude : float
        Amplitude [rad or m].
    frequency_rad_s : float
        Angular frequency w [rad/s].
    phase : float, default 0.0
        Phase [rad].
    offset : float, default 0.0
        Mean value [rad or m].
    """

    amplitude: float
    frequency_rad_s: float
    phase: float = 0.0
    offset: float = 0.0

    def __call__(self, t: float) -> Motion:
        w = self.frequency_rad_s
        wave = self.amplitude * math.sin(w * t + self.phase)
        return self.offset + wave, self.amplitude * w * math.cos(w * t + self.phase), -w * w * wave


@dataclass(frozen=True)
class SmoothStep(Numeric):
    """Smooth step from ``start`` before t0 to ``end`` after t1 by 10 s^3 - 15 s^4 + 6 s^5.

    Rate and acceleration do not jump.

    Parameters
    ----------
    t0 : float
        Begin of the transition [s].
    t1 : float
        End of the transition [s].
    start : float
        Value before t0.
    end : float
        Value after t1.
    """

    t0: float
    t1: float
    start: float
    end: float

    def checked(self, what: str) -> Self:
        known = super().checked(what)
        if known.t1 <= known.t0:
            raise ModelError(f"{what}: t1 is {known.t1} and t0 is {known.t0}; t1 must be later")
        return known

    def __call__(self, t: float) -> Motion:
        span, rise = self.t1 - self.t0, self.end - self.start
        s = min(max((t - self.t0) / span, 0.0), 1.0)
        f = s * s * s * (10.0 + s * (6.0 * s - 15.0))
        fd = 30.0 * (s * (1.0 - s)) ** 2
        fdd = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s)
        return self.start + rise * f, rise * fd / span, rise * fdd / (span * span)


@dataclass(frozen=True, eq=False)
class Spline:
    """The natural cubic spline through a table; outside the table it goes on straight, so it is twice smooth.

    It swings beyond values that change abruptly, as any cubic does. Take ``SmoothStep`` for a step, or a law with a
    monotone ``library.force_laws.Curve``; give the table some constant values at its end for a profile that stays.

    Parameters
    ----------
    t : array_like
        Times (k,) [s], ascending.
    values : array_like
        Values (k,) [rad or m].
    coefficients : ndarray, optional
        Cubic first, (4, k - 1).
    """

    t: Numbers  # (k,) increasing times [s]
    values: Numbers  # (k,)
    coefficients: Array = field(default_factory=lambda: np.zeros((4, 0)), repr=False)  # cubic first, (4, k - 1)
    jumps: ClassVar[tuple[float, ...]] = ()  # none

    def __post_init__(self) -> None:
        if not self.coefficients.size:
            self.table("Spline")

    def checked(self, what: str) -> Self:
        """Return this profile with floats; refuse values that are not finite numbers.

        Parameters
        ----------
        what : str
            Name of the profile in the message.

        Returns
        -------
        Spline
            This profile.
        """
        times, values = self.table(what)
        return replace(self, t=times, values=values, coefficients=natural_spline(times, values))

    def table(self, what: str) -> tuple[Array, Array]:
        """Return times and values (k,) of a checked table.

        Parameters
        ----------
        what : str
            Name of the profile in the message.

        Returns
        -------
        tuple[ndarray, ndarray]
            Times [s] and values, both (k,).

        Raises
        ------
        ModelError
            For fewer than two times, times that do not increase, or numbers that are not finite.
        """
        shape = shape_of(self.t, f"{what}: t", "it must be a list of times")
        size = math.prod(shape)
        if size < 2:
            raise ModelError(f"{what}: t has {size} values; a spline needs at least two")
        times, values = numbers(self.t, f"{what}: t", (size,)), numbers(self.values, f"{what}: values", (size,))
        if not np.all(np.diff(times) > 0.0):
            late = int(np.argmin(np.diff(times) > 0.0))
            raise ModelError(
                f"{what}: t[{late + 1}] = {times[late + 1]} does not follow t[{late}] = {times[late]}; "
                "times must increase"
            )
        return times, values

    def __call__(self, t: float) -> Motion:
        if not self.coefficients.size:
            return self.checked("Spline")(t)
        inside = min(max(t, self.t[0]), self.t[-1])
        k = min(int(np.searchsorted(self.t, inside, side="right")) - 1, len(self.t) - 2)
        s = inside - self.t[k]
        a, b, c, d = (float(value) for value in self.coefficients[:, k])
        f, fd = d + s * (c + s * (b + s * a)), c + s * (2.0 * b + 3.0 * s * a)
        fdd = 2.0 * b + 6.0 * s * a if inside == t else 0.0
        return float(f + fd * (t - inside)), float(fd), float(fdd)


def natural_spline(t: Array, values: Array) -> Array:
    """Return the coefficients (4, k - 1), cubic first, of the spline with no curvature at its ends."""
    from scipy.interpolate import CubicSpline  # scipy costs 0.4 s, and few models have a table

    if len(t) == 2:  # scipy's natural spline wants three points
        zero = np.zeros(1)
        return np.array([zero, zero, np.diff(values) / np.diff(t), values[:1]])
    return np.asarray(CubicSpline(t, values, bc_type="natural").c)


@dataclass(frozen=True)
class Function:
    """The user's own f(t) with its first and second derivative; ``jumps`` are the times at which fdd jumps [s].

    Parameters
    ----------
    f : Callable[[float], float]
        Value f(t).
    fd : Callable[[float], float]
        First derivative.
    fdd : Callable[[float], float]
        Second derivative.
    jumps : array_like, optional
        None: not declared.
    """

    f: Callable[[float], float]
    fd: Callable[[float], float]
    fdd: Callable[[float], float]
    jumps: Numbers | None = None  # None: not declared

    def checked(self, what: str) -> Self:
        """Return this profile with floats; refuse values that are not finite numbers.

        Parameters
        ----------
        what : str
            Name of the profile in the message.

        Returns
        -------
        Function
            This profile.

        Raises
        ------
        ModelError
            For an ``f``, ``fd`` or ``fdd`` that is no function.
        """
        for name in ("f", "fd", "fdd"):
            if not callable(getattr(self, name)):
                raise ModelError(f"{what}: {name} is {shown(getattr(self, name))}; it must be a function of t")
        if check_derivative(self.f, self.fd, "fd", "f", what):
            check_derivative(self.fd, self.fdd, "fdd", "fd", what)
        if self.jumps is None:
            return self
        size = math.prod(shape_of(self.jumps, f"{what}: jumps", "it must be a list of times"))
        return replace(self, jumps=numbers(self.jumps, f"{what}: jumps", (size,)))

    def __call__(self, t: float) -> Motion:
        return self.f(t), self.fd(t), self.fdd(t)


def check_derivative(f: Callable[[float], float], fd: Callable[[float], float], name: str, of: str, what: str) -> bool:
    """Refuse a derivative that is wrong at nearly all trial times; at single ones a function may jump.

    Returns False where a function raises or is not finite: the compiler or the run says so.
    """
    wrong = []
    for t in TRIALS:
        try:
            before, after, slope = float(f(t - STEP)), float(f(t + STEP)), float(fd(t))
        except Exception:  # noqa: BLE001 - whatever a function of the user raises
            return False
        found, size = (after - before) / (2.0 * STEP), max(abs(before), abs(after))
        if not all(map(math.isfinite, (found, slope))):
            return False
        if abs(found - slope) > WRONG * max(abs(found), abs(slope)) + ROUNDING * size / STEP:
            wrong.append((t, slope, found))
    if len(wrong) >= len(TRIALS) - 1:
        t, slope, found = wrong[0]
        raise ModelError(
            f"{what}: {name} is not the derivative of {of}: {name}({t:g}) is {slope:.6g}, and differences of {of} give "
            f"{found:.6g}; write f, df/dt and d2f/dt2"
        )
    return True


@dataclass(frozen=True, eq=False)
class Staircase:
    """Staircase of a force: holds ``values[k]`` from ``t[k]`` on, ``values[0]`` before; ``jumps`` has its steps.

    ``values`` are numbers (k,) for a motor, or vectors (k, 3) for a force or a torque.

    Parameters
    ----------
    t : array_like
        Times (k,) [s], ascending.
    values : array_like
        Values (k,) or vectors (k, 3).
    """

    t: Numbers  # (k,) increasing times [s]
    values: Numbers  # (k,) or (k, 3)

    def __post_init__(self) -> None:
        self.table("Staircase")

    def checked(self, what: str) -> Self:
        """Return this staircase with arrays.

        Parameters
        ----------
        what : str
            Name of the profile in the message.

        Returns
        -------
        Staircase
            This staircase with arrays.
        """
        times, values = self.table(what)
        return replace(self, t=times, values=values)

    def table(self, what: str) -> tuple[Array, Array]:
        """Return times (k,) and values; refuse times that do not increase, and a wrong number of values.

        Parameters
        ----------
        what : str
            Name of the profile in the message.

        Returns
        -------
        tuple[ndarray, ndarray]
            Times (k,) [s], and values (k,) or (k, 3).

        Raises
        ------
        ModelError
            For no times, times that do not increase, or a wrong count of values.
        """
        size = math.prod(shape_of(self.t, f"{what}: t", "it must be a list of times"))
        if size == 0:
            raise ModelError(f"{what}: t is empty; a staircase needs at least one time")
        vectors = len(shape_of(self.values, f"{what}: values", "it must be a list of numbers or of vectors")) == 2
        times = numbers(self.t, f"{what}: t", (size,))
        values = numbers(self.values, f"{what}: values", (size, 3) if vectors else (size,))
        if not np.all(np.diff(times) > 0.0):
            raise ModelError(f"{what}: t is {shown(self.t)}; times must increase")
        return times, values

    @property
    def jumps(self) -> Array:
        """Times of its steps (k - 1,) [s]."""
        return np.asarray(self.t, np.float64)[1:]

    def __call__(self, t: float) -> Any:
        """Return the value held at ``t``."""
        return self.values[max(int(np.searchsorted(self.t, t, side="right")) - 1, 0)]


@dataclass(frozen=True)
class Given:
    """Motion that the user sets while running, by the name of the driver: value, rate, acceleration at a step's end."""

    start: Numbers  # (3,) until then
    jumps: ClassVar[tuple[float, ...]] = ()

    def __call__(self, t: float) -> Motion:
        f, fd, fdd = self.start
        return f, fd, fdd


def given_motion(value: Any, what: str) -> Given:
    """Return the profile of a driver by ``Input(value)``: (value, rate, acceleration), or a value at rest."""
    size = math.prod(shape_of(value, f"{what}: default", "it must be a value, or value, rate and acceleration"))
    start = numbers(value, f"{what}: default", (3,)) if size != 1 else np.array([number(value, what), 0.0, 0.0])
    return Given(tuple(start.tolist()))


def checked_profile(profile: Any, what: str) -> Profile:
    """Return ``profile`` with its numbers checked; anything that answers (f, fd, fdd) at t will do."""
    if hasattr(profile, "checked") and not isinstance(profile, type):
        profile = profile.checked(what)
    if not callable(profile) or isinstance(profile, type):
        raise ModelError(f"{what}: {shown(profile)} is not a profile; write one such as ConstantRate(rate=1.0)")
    return profile


PROFILES: dict[str, type] = {kind.__name__: kind for kind in (ConstantRate, Sine, SmoothStep, Spline, Function)}
