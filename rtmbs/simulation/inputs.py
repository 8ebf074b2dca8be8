"""Inputs by name: numbers that the user may change between steps, functions of time, and their units."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.contact.bearing import LOAD
from rtmbs.core.names import StrictAttributes
from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.forces.register import BY_WORD
from rtmbs.model.checks import as_floats
from rtmbs.simulation.jumps import FINITE
from rtmbs.simulation.renewed_contacts import is_of_patch
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
    _nonnegative: set[int]  # slots of numbers that must be zero or more, such as coefficients of friction
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
        self._nonnegative = set()
        for info in system.forces.values():
            for word in info.nonnegative:
                if (name := f"{info.name}.{word}") in system.inputs:
                    self._nonnegative.add(system.inputs[name].start)
        for name in system.contact_sets:
            if (word := f"{name}.friction") in system.inputs:
                self._nonnegative.add(system.inputs[word].start)
        self._numbers = {}
        for name, place in system.inputs.items():
            own = place.stop == place.start + 1 and place.start not in self._timed | self._constraining
            if own and name.removesuffix(f".{LOAD}") not in system.bearings and not is_of_patch(system, name):
                self._numbers[name] = place

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
        self._ramped = ramped

    def hold(self, *names: str) -> None:
        """Let values of these inputs take effect at once; raises as ``ramp`` does."""
        self._store.check_change("inputs.hold")
        ramped = set(self._ramped)
        for name, place in [(name, self._settable(name)) for name in names]:
            if place.start in self._driven:
                raise InputError(f"input {name!r} is a driver, whose motion cannot jump; it holds at a step's end only")
            ramped.discard(place.start)
        self._ramped = ramped

    def _of(self, store: InputStore) -> "Inputs":
        """Return the inputs of another store of the same System, held and ramped as these."""
        other = Inputs(self._system, store)
        other._ramped = set(self._ramped)
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
        if type(value) is float and isfinite(value) and type(name) is str and name in self._numbers:
            slot = self._numbers[name].start
            if value < 0.0 and slot in self._nonnegative:
                raise InputError(f"input {name!r} is {value:g}; it must be zero or more")
            if slot in self._ramped:
                self._store.ramp_inputs({slot: (self._numbers[name], np.array([value]))})
            else:
                self._store.write_number(slot, value)  # at a tenth of the time
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
        if place.start in self._constraining:
            check_closed_by(name, self._store, place, numbers)
        if place.start in self._driven:
            check_motion(name, self._store.state.u[place], numbers, self._store.h, self._system.length)
        if place.start in self._ramped:
            self._store.ramp_inputs({place.start: (place, numbers)})
        else:
            self._store.write_input(place, numbers)

    def ramp_to(self, values: Mapping[str, float]) -> None:
        """Set several ramped inputs of one number each for the end of the next step, at the time of one.

        The effect is that of ``inputs[name] = value`` for each of them. Raises UnknownNameError, InputError likewise.
        """
        if not isinstance(values, Mapping):
            raise InputError(f"inputs.ramp_to takes values by names of inputs, got {shown(values)}")
        ends: dict[int, tuple[slice, Array]] = {}
        for name, value in values.items():
            place = self._numbers.get(name)
            quick = place is not None and place.start in self._ramped and type(value) is float and isfinite(value)
            if place is None or not quick or (value < 0.0 and place.start in self._nonnegative):
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
