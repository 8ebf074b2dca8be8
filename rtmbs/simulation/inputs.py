"""Inputs by name: numbers that the user may change between steps, functions of time, and sampled controllers.

A controller is a function or a state space that reads channels and holds inputs from sample to sample. Sample k is
taken at t_k = t_0 + k T, and its values are applied at t_k + delay and held (zero-order hold). Both happen where a step
begins: a State of time t_k is the one before the sample. Every step begins or ends at these times, so the inputs are
smooth within steps and the order of the method stays.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf, isfinite
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.contact.bearing import LOAD
from rtmbs.core.names import StrictAttributes
from rtmbs.errors import InputError, RtmbsError, shown, unknown_name
from rtmbs.forces.register import BY_WORD
from rtmbs.integrators.checks import is_number
from rtmbs.model.checks import as_floats
from rtmbs.simulation.access import CHANGE, LOOK, callback_rights
from rtmbs.simulation.jumps import FINITE
from rtmbs.simulation.renewed_forces import is_of_patch
from rtmbs.state import State
from rtmbs.system.system import System
from rtmbs.system.tables import DISTANCE, REVOLUTE

Array = NDArray[np.float64]


class InputStore(Protocol):
    """Owner of the State whose inputs these are: the store of a Simulation."""

    @property
    def state(self) -> State: ...
    @property
    def h(self) -> float: ...

    def read_input(self, place: slice) -> Array:
        """Return the numbers of one input."""

    def write_input(self, place: slice, numbers: Array) -> None:
        """Change one input of the present State."""

    def ramp_inputs(self, ends: dict[int, tuple[slice, Array]]) -> None:
        """Let several inputs be these numbers at the end of the next step, by their first slots."""

    def gap_by_input(self, place: slice, numbers: Array) -> tuple[str, float, float]:
        """Return the equation that an input opens most, its violation over its size, and that of now."""

    def write_number(self, slot: int, number: float) -> None:
        """Change an input of one number."""

    def check_change(self, called: str) -> None:
        """Refuse a change of inputs where a function of the user may not make it."""


class Inputs(StrictAttributes, Mapping[str, Any]):
    """``inputs["motor.torque"] = 3.0`` takes effect at once: the accelerations of the present instant jump with it.

    The input then holds its value. ``inputs.ramp("motor.torque")`` says otherwise: a value that is set from then on is
    the one at the end of the next step, and the input goes there in a straight line. A smooth signal that is written
    before every step is then of order two, as a function of time is. With holds, the value at the middle of the step
    is of order two. ``inputs.hold("motor.torque")`` goes back.

    The values belong to the store's State. The store is asked every time, so that a step commits by one assignment.
    """

    _remedy = "; an input is set by its name in brackets: sim.inputs['force.{name}'] = ..."
    _system: System
    _store: InputStore
    _timed: set[int]  # slots of functions of time
    _driven: set[int]  # first slots of drivers
    _constraining: set[int]  # slots of parameters of constraints of the user
    _ramped: set[int]  # first slots of the inputs whose values are those at the end of the next step
    _numbers: dict[str, slice]  # inputs of one number that the user may set
    _held: dict[str, int]  # slots of those that hold and may have any sign
    _nonnegative: set[int]  # slots of numbers that must be zero or more, such as coefficients of friction
    _ordered: dict[int, tuple[str, str]]  # slots of numbers that must be below another, or above it, with both names
    _places: dict[str, slice]  # inputs that were set, which the user may set

    def __init__(self, system: System, store: InputStore) -> None:
        self._system, self._store = system, store
        self._timed = set()
        for signal in system.signals:
            self._timed.update(range(signal.slot, signal.slot + signal.size))
        self._places = {}
        self._driven = driver_slots(system)
        self._constraining = set(system.tables.conditions.slot.tolist())
        self._ramped = set(self._driven)
        self._nonnegative, self._ordered = set(), {}
        for info in system.forces.values():
            for word in info.nonnegative:
                if (name := f"{info.name}.{word}") in system.inputs:
                    self._nonnegative.add(system.inputs[name].start)
            for pair in info.ordered:
                low, high = (f"{info.name}.{word}" for word in pair)
                if low in system.inputs and high in system.inputs:
                    self._ordered |= {system.inputs[name].start: (low, high) for name in (low, high)}
        for name in system.contact_sets:
            if (word := f"{name}.friction") in system.inputs:
                self._nonnegative.add(system.inputs[word].start)
        self._numbers = {}
        for name, place in system.inputs.items():
            own = place.stop == place.start + 1 and place.start not in self._timed | self._constraining
            if own and name.removesuffix(f".{LOAD}") not in system.bearings and not is_of_patch(system, name):
                self._numbers[name] = place
        self._let_ramp(self._ramped)

    def _let_ramp(self, ramped: set[int]) -> None:
        """Let inputs with these first slots be ramped, and no others."""
        self._ramped, bound = ramped, ramped | self._nonnegative | self._ordered.keys()
        self._held = {name: place.start for name, place in self._numbers.items() if place.start not in bound}

    def ramp(self, *names: str) -> None:
        """Let values of these inputs be those at the end of the next step, reached in a straight line from now on.

        A run with a tolerance, which chooses its steps, takes such a value at once. A State holds the value of its own
        time: a value that was set and not yet stepped to is neither saved nor restored.
        Raises UnknownNameError, and InputError for a function of time and for a parameter of a constraint.
        """
        self._store.check_change("inputs.ramp")
        ramped = set(self._ramped)
        for name, place in [(name, self._settable(name)) for name in names]:
            if place.start in self._constraining:
                raise InputError(
                    f"input {name!r} is a parameter of a constraint, whose rate is not known; let the function of the "
                    "constraint depend on t"
                )
            ramped.add(place.start)
        self._let_ramp(ramped)

    def hold(self, *names: str) -> None:
        """Let values of these inputs take effect at once; raises as ``ramp`` does."""
        self._store.check_change("inputs.hold")
        ramped = set(self._ramped)
        for name, place in [(name, self._settable(name)) for name in names]:
            if place.start in self._driven:
                raise InputError(f"input {name!r} is a driver, whose motion cannot jump; it holds at a step's end only")
            ramped.discard(place.start)
        self._let_ramp(ramped)

    def _of(self, store: InputStore) -> "Inputs":
        """Return the inputs of another store of the same System, held and ramped as these."""
        other = Inputs(self._system, store)
        other._let_ramp(set(self._ramped))
        return other

    def _settable(self, name: str) -> slice:
        """Return the place of an input that the user may set; raises UnknownNameError, InputError."""
        try:
            return self._places[name]
        except (KeyError, TypeError):
            place = self._checked_place(name)
        self._places[name] = place
        return place

    def _checked_place(self, name: str) -> slice:
        """Return the place of an input that was not set before."""
        place = self._place(name)
        if self._timed & set(range(place.start, place.stop)):
            raise InputError(f"input {name!r} is a function of time; give the force an rtmbs.Input to set it by hand")
        if (lock := name.rpartition(".")[0]) in self._system.locks:
            raise InputError(
                f"input {name!r} belongs to a lock, which holds the present pose; write sim.set('{lock}.locked', True)"
            )
        if name.removesuffix(f".{LOAD}") in self._system.bearings and name.endswith(f".{LOAD}"):
            raise InputError(f"input {name!r} follows the reaction of its joint and cannot be set; set its coefficient")
        if is_of_patch(self._system, name):
            raise InputError(f"input {name!r} is of the patch of two shapes, which every step renews; it cannot be set")
        return place

    def __getitem__(self, name: str) -> float | Array:
        place = self._place(name)
        values = self._store.read_input(place)
        return float(values[0]) if len(values) == 1 else values.copy().reshape(self._system.shapes.get(name, -1))

    def __setitem__(self, name: str, value: Any) -> None:
        if isinstance(value, float) and type(name) is str and isfinite(value):  # NumPy's numbers too
            if name in self._held:
                self._store.write_number(self._held[name], value)  # at a tenth of the time
                return
            if name in self._numbers:
                slot = self._numbers[name].start
                if value < 0.0 and slot in self._nonnegative:
                    raise InputError(f"input {name!r} is {value:g}; it must be zero or more")
                if slot in self._ordered:
                    self._check_order(name, slot, value)
                if slot in self._ramped:
                    self._store.ramp_inputs({slot: (self._numbers[name], np.array([value]))})
                else:
                    self._store.write_number(slot, value)
                return
        self._store.check_change("inputs[...] =")
        place = self._settable(name)
        size = place.stop - place.start
        wanted = f"input {name!r} takes {size} number{'s' if size > 1 else ''}"
        try:
            numbers = as_floats(value).reshape(-1)
        except ValueError:
            raise InputError(f"{wanted}, got {shown(value)}") from None
        if numbers.size != size:
            raise InputError(f"{wanted}, got {numbers.size}")
        if not all(map(isfinite, numbers.tolist())):
            raise InputError(f"input {name!r} must be finite, got {shown(value)}")
        if place.start in self._nonnegative and np.min(numbers) < 0.0:
            raise InputError(f"input {name!r} is {shown(value)}; it must be zero or more")
        if place.start in self._ordered:
            self._check_order(name, place.start, float(numbers[0]))
        if place.start in self._constraining:
            check_closed_by(name, self._store, place, numbers)
        if place.start in self._driven:
            check_motion(name, self._store.state.u[place], numbers, self._store.h, self._system.length)
        if place.start in self._ramped:
            self._store.ramp_inputs({place.start: (place, numbers)})
        else:
            self._store.write_input(place, numbers)

    def _check_order(self, name: str, slot: int, value: float) -> None:
        """Refuse a limit that would not leave its lower one below its upper one: InputError."""
        low, high = self._ordered[slot]
        other = float(np.ravel(self[high if name == low else low])[0])
        if (value >= other) if name == low else (value <= other):
            below, above = (value, other) if name == low else (other, value)
            raise InputError(
                f"input {low!r} would be {below:g} and {high!r} {above:g}; {low.rpartition('.')[2]} must be below "
                f"{high.rpartition('.')[2]}, so set {(high if name == low else low)!r} first to move both"
            )

    def ramp_to(self, values: Mapping[str, float]) -> None:
        """Set several ramped inputs of one number each for the end of the next step, at the time of one.

        The effect is that of ``inputs[name] = value`` for each of them. Raises UnknownNameError, InputError likewise.
        """
        if not isinstance(values, Mapping):
            raise InputError(f"inputs.ramp_to takes values by names of inputs, got {shown(values)}")
        ends: dict[int, tuple[slice, Array]] = {}
        for name, value in values.items():
            place = self._numbers.get(name)
            quick = place is not None and place.start in self._ramped and isinstance(value, float) and isfinite(value)
            bound = place is not None and (place.start in self._nonnegative or place.start in self._ordered)
            if place is None or not quick or bound:
                self[name] = value  # which refuses it, or has another effect
            else:
                ends[place.start] = place, np.array([value])
        if ends:
            self._store.ramp_inputs(ends)

    def __repr__(self) -> str:
        return f"Inputs({dict(self)})"

    def __contains__(self, name: object) -> bool:
        return name in self._system.inputs

    def __iter__(self) -> Iterator[str]:
        return iter(self._system.inputs)

    def __len__(self) -> int:
        return len(self._system.inputs)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def _place(self, name: str) -> slice:
        try:
            return self._system.inputs[name]
        except (KeyError, TypeError):  # or a name that nothing can be looked up by
            raise unknown_name("input", name, self._system.inputs) from None


def driver_slots(system: System) -> set[int]:
    """Return the first slots of drivers, coordinates and distances; those of functions of time among them."""
    closures = system.tables.closures
    distances = closures.slot[(closures.kind == DISTANCE) & (closures.slot >= 0)]
    return {*system.tables.drivers.slot.tolist(), *distances.tolist()}


def check_motion(name: str, before: Array, after: Array, h: float, length: float) -> None:
    """Refuse a motion (3,) at the end of a step of ``h`` [s] that rates do not lead to: InputError."""
    (f, fd, fdd), (g, gd, gdd) = before.tolist(), after.tolist()
    allowed = 0.5 * h * max(abs(fd), abs(gd)) + h * h * max(abs(fdd), abs(gdd)) + FINITE * min(length, 1.0)
    if abs(g - f - 0.5 * h * (fd + gd)) > allowed or abs(gd - fd - 0.5 * h * (fdd + gdd)) > allowed / h:
        raise InputError(
            f"input {name!r} goes from ({f:g}, {fd:g}, {fdd:g}) to ({g:g}, {gd:g}, {gdd:g}) in a step of {h:g} s, "
            "which no finite force can follow; give value, rate and acceleration of a smooth motion at its end"
        )


def check_closed_by(name: str, store: InputStore, place: slice, numbers: Array) -> None:
    """Refuse a parameter of a constraint that opens it at the present pose: InputError."""
    row, gap, before = store.gap_by_input(place, numbers)
    if not gap <= max(FINITE, 2.0 * before):
        raise InputError(
            f"input {name!r} opens {row!r} by {gap:.3g} of its size, which no finite force can close; let the function "
            "of the constraint depend on t, or build the Model with the other value"
        )


def point_of(point: Any) -> Array:
    """Return a point (3,) that the user gives in body axes [m]; InputError for anything else."""
    try:
        place = as_floats(point)
    except ValueError:
        place = np.zeros(0)
    if place.shape != (3,) or not np.all(np.isfinite(place)):
        raise InputError(f"point is {shown(point)}; it must be three numbers in body axes")
    return place


TURNING = {"stiffness": "N m/rad", "damping": "N m s/rad", "angle": "rad", "load": "N m", "torque": "N m"}
SLIDING = {"stiffness": "N/m", "damping": "N s/m", "angle": "m", "load": "N", "force": "N"}


def input_unit(system: System, name: str) -> str:
    """Return the unit of an input, "" when nothing tells it."""
    owner, _, word = name.rpartition(".")
    if owner in system.forces:
        force = system.forces[owner]
        if force.kind != "joint":
            return BY_WORD[force.kind].units.get(word, "") if force.kind in BY_WORD else ""
        dof = system.tables.joint_forces.dof[force.row]
        return (TURNING if system.tables.dofs.kind[dof] == REVOLUTE else SLIDING).get(word, "")
    return "m/s^2" if name == "gravity" else ""


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
