"""Sampled controllers: functions or state spaces that read channels and hold inputs from sample to sample.

Sample k is taken at t_k = t_0 + k T, and its values are applied at t_k + delay and held (zero-order hold). Both happen
where a step begins: a State of time t_k is the one before the sample. Every step begins or ends at these times, so the
inputs are smooth within steps and the order of the method stays.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, RtmbsError, shown
from rtmbs.integrators.checks import is_number
from rtmbs.model.checks import as_floats
from rtmbs.simulation.access import CHANGE, LOOK, callback_rights

Array = NDArray[np.float64]
Values = Mapping[str, Any]  # numbers by input

NEAR = 1e-9  # of a period: times so near to each other are one
ON_GRID = 1e-9  # of a step, likewise
MOST_KEPT = 100_000  # samples of a controller


@dataclass(frozen=True)
class DiscreteStateSpace:
    """x_{k+1} = A x_k + B y_k, u_k = C x_k + D y_k with y of channels and u of inputs."""

    A: Array
    B: Array
    C: Array
    D: Array
    channels: tuple[str, ...]
    inputs: tuple[str, ...]

    def __call__(self, sim: Any, x: Array) -> tuple[Values, Array]:
        """Return the inputs and the next x."""
        y = sim.read(self.channels)
        if len(y) != self.D.shape[1]:
            raise InputError(
                f"channels {list(self.channels)} have {len(y)} numbers; the state space takes {self.D.shape[1]}"
            )
        return dict(zip(self.inputs, (self.C @ x + self.D @ y).tolist(), strict=True)), self.A @ x + self.B @ y


@dataclass(frozen=True)
class Function:
    """A function of the Simulation that returns inputs by name; it keeps nothing from sample to sample."""

    call: Callable[[Any], Values]

    def __call__(self, sim: Any, x: Array) -> tuple[Values, Array]:
        """Return the inputs and x as it is."""
        return self.call(sim), x


@dataclass
class Sample:
    """What one sample began with, and the inputs that it returned."""

    x: Array
    values: Values


@dataclass
class Controller:
    """A controller with its samples so far; ``Simulation.add_controller`` returns it.

    Parameters
    ----------
    name : str
        Name in messages.
    law : Function or DiscreteStateSpace
        What a sample calls.
    period : float
        Time from sample to sample [s].
    delay : float
        Time from a sample to its effect [s].
    start : float
        Time of the first sample [s].
    x : ndarray
        State at the next sample; empty for functions.
    taken : int
        Samples so far.
    applied : int
        Samples that have taken effect.
    samples : deque
        The last samples, for delays and for going back to a State.
    """

    name: str
    law: Any
    period: float
    delay: float
    start: float
    x: Array
    taken: int = 0
    applied: int = 0
    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=MOST_KEPT))

    def copy(self) -> "Controller":
        """Return a controller with samples of its own."""
        return replace(self, samples=self.samples.copy())

    @property
    def next_time(self) -> float:
        """Time at which it samples or takes effect next [s]."""
        sample = self.start + self.taken * self.period
        return min(sample, self.effect_time(self.applied)) if self.applied < self.taken else sample

    def effect_time(self, k: int) -> float:
        """Return the time at which sample ``k`` takes effect [s]."""
        return self.start + k * self.period + self.delay

    def sample(self, k: int) -> Sample:
        """Return sample ``k``; InputError when it was never taken, or is not kept any more."""
        place = k - self.taken
        if not -len(self.samples) <= place < 0:
            raise InputError(
                f"controller {self.name!r} keeps its last {len(self.samples)} of {self.taken} samples, and sample {k} "
                "is asked for; restore a state that this Simulation has passed, not too long ago"
            )
        return self.samples[place]

    def go_back(self, t: float) -> None:
        """Forget the samples at and behind ``t`` [s]; InputError where those before it are not known."""
        count = max(ceil((t - self.start) / self.period - NEAR), 0)
        if count != self.taken:
            self.x = self.sample(count).x if len(self.x) or count > self.taken else self.x
        effects = ceil((t - self.start - self.delay) / self.period - NEAR)
        self.applied = min(max(effects, 0), count)
        if self.applied < count:
            self.sample(self.applied)
        for _ in range(min(self.taken - count, len(self.samples))):
            self.samples.pop()
        self.taken = count

    def act(self, sim: Any, t: float) -> None:
        """Sample and apply what is due at ``t`` [s]."""
        near = NEAR * self.period
        if self.start + self.taken * self.period <= t + near:
            with callback_rights(sim, LOOK, f"controller {self.name!r}"):
                values, after = self.sampled(sim, t)
            self.samples.append(Sample(self.x, values))
            self.x, self.taken = after, self.taken + 1
        due = max((k for k in range(self.applied, self.taken) if self.effect_time(k) <= t + near), default=-1)
        if due >= 0:
            self.applied = due + 1
            with callback_rights(sim, CHANGE, f"controller {self.name!r}"):
                for name, value in self.sample(due).values.items():
                    sim.inputs[name] = value

    def sampled(self, sim: Any, t: float) -> tuple[Values, Array]:
        """Return what the law returns; InputError for anything but inputs by name."""
        what = f"controller {self.name!r} at t = {t:g} s"
        try:
            values, after = self.law(sim, self.x)
        except RtmbsError:
            raise
        except Exception as error:
            raise InputError(f"{what} raised {type(error).__name__}: {error}") from error
        if not isinstance(values, Mapping):
            raise InputError(f"{what} returned {shown(values)}; it must return a dict of numbers by input")
        return dict(values), after


class Controllers:
    """The controllers of a Simulation."""

    def __init__(self, all_of_them: Iterable[Controller] = ()) -> None:
        self.all = list(all_of_them)

    def copy(self) -> "Controllers":
        """Return controllers with samples of their own."""
        return Controllers(one.copy() for one in self.all)

    def next_time(self) -> float:
        """Return when the next one acts [s]."""
        return min((one.next_time for one in self.all), default=inf)

    def act(self, sim: Any) -> None:
        """Let those that are due at the present time sample and take effect, in the order in which they were added."""
        t = sim.t
        for one in self.all:
            if t >= one.next_time - NEAR * one.period:
                one.act(sim, t)

    def go_back(self, t: float) -> None:
        """Let all be as they were before anything happened at ``t`` [s]."""
        for one in self.all:
            one.go_back(t)

    def free_steps(self, state: Any, most: int) -> int:
        """Return how many steps of a State, ``most`` at most, end before or where the next one acts."""
        ahead = (self.next_time() - state.t) / state.h
        return most if ahead >= most else int(ahead + ON_GRID)

    def on_grid(self, state: Any) -> bool:
        """True when all samples and effects lie at ends of steps."""
        times = [
            number
            for one in self.all
            for number in ((one.start - state.t) / state.h, one.period / state.h, one.delay / state.h)
        ]
        return all(abs(number - round(number)) <= ON_GRID * max(abs(number), 1.0) for number in times)

    def check_inside(self, state: Any) -> None:
        """Refuse a single step across a time at which a controller acts: InputError."""
        if self.next_time() < state.t + state.h * (1.0 - ON_GRID):
            one = min(self.all, key=lambda other: other.next_time)
            raise InputError(
                f"controller {one.name!r} acts at t = {one.next_time:.9g} s, within the step of {state.h:g} s; take "
                "a step that divides its period and its delay, or run, which takes such a step in parts"
            )

    def times(self, t: float, t_end: float) -> list[float]:
        """Return the times behind ``t`` and before ``t_end`` [s] at which one acts, ascending."""
        found: set[float] = set()
        for one in self.all:
            for first in {one.start, one.start + one.delay}:
                k = max(ceil((t - first) / one.period - NEAR), 0)
                count = max(ceil((t_end - first) / one.period - NEAR) - k, 0)
                found.update((first + one.period * np.arange(k, k + count)).tolist())
        near = NEAR * min(one.period for one in self.all)
        ordered = sorted(time for time in found if t + near < time < t_end - near)
        return [time for k, time in enumerate(ordered) if not k or time - ordered[k - 1] > near]


# ---- laws ------------------------------------------------------------------------------------------------------------


def controller_of(
    sim: Any, law: Any, period: Any, delay: Any, channels: Sequence[str], inputs: Sequence[str], name: str
) -> Controller:
    """Return the controller of a function or a state space; InputError for what is neither, or out of range."""
    given: Any = getattr(law, "dt", None)
    if period is None and is_number(given) and float(given) > 0.0:
        period = float(given)
    if not (is_number(period) and period > 0.0):
        raise InputError(f"period is {shown(period)}; it must be a time above zero in seconds")
    if not (is_number(delay) and delay >= 0.0):
        raise InputError(f"delay is {shown(delay)}; it must be a time in seconds, zero or more")
    called = name or str(getattr(law, "__name__", type(law).__name__))
    if all(hasattr(law, key) for key in "ABCD"):
        space = state_space(law, float(period), channels, inputs)
        sim.read(space.channels)
        for one in space.inputs:
            sim.inputs[one]  # an unknown name is refused now
        return Controller(called, space, float(period), float(delay), sim.t, np.zeros(len(space.A)))
    if hasattr(law, "num") and hasattr(law, "den"):
        raise InputError(
            "controller is a transfer function; it must be a state space, such as control.ss(law) or law.to_ss()"
        )
    if not callable(law):
        raise InputError(f"controller is {shown(law)}; it must be a function of the Simulation or a state space")
    if channels or inputs:
        raise InputError("channels and inputs go with a state space; a function reads and names them itself")
    return Controller(called, Function(law), float(period), float(delay), sim.t, np.zeros(0))


def state_space(law: Any, period: float, channels: Sequence[str], inputs: Sequence[str]) -> DiscreteStateSpace:
    """Return the discrete state space of python-control or SciPy; a continuous one is sampled by zero-order hold."""
    A, B, C, D = (np.atleast_2d(as_floats(getattr(law, key))) for key in "ABCD")
    dt: Any = getattr(law, "dt", None)
    continuous = dt is None or (is_number(dt) and dt == 0 and not isinstance(dt, bool))
    if continuous:
        from scipy.signal import cont2discrete

        A, B, C, D, _ = cont2discrete((A, B, C, D), period, method="zoh")
    elif dt is not True and abs(float(dt) - period) > NEAR * period:
        raise InputError(f"the state space has the period {dt!r} s and the controller {period!r} s; they must agree")
    if isinstance(channels, str) or isinstance(inputs, str) or len(inputs) != D.shape[0] or not channels:
        raise InputError(
            f"the state space has {D.shape[1]} inputs and {D.shape[0]} outputs: channels= must list those that it "
            "reads, and inputs= one input of the Simulation for each output"
        )
    return DiscreteStateSpace(A, B, C, D, tuple(channels), tuple(inputs))
