"""State: coordinates, rates, multipliers, inputs and memory of a method at one instant; its file, its row of memory.

Arrays of a State may be parts of one row, so that one copy copies all but the inputs.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.bounds import BEYOND, LONGEST, SHORTEST, are_rotations
from rtmbs.core.files import DamagedFile, read_archive, write_archive
from rtmbs.core.notebook import folded_html, number_text, title_html
from rtmbs.errors import StateError, shown, with_count

FORMAT = 4
FLOAT = np.dtype(np.float64)
KINDS = {str: "U", int: "i", float: "f", bool: "b"}  # numpy's letter of a field that is no array
COORDINATE_HEAD = ("number", "value [rad, m]", "rate [rad/s, m/s]", "acceleration [rad/s^2, m/s^2]")
GIVEN = "given"
BEFORE = "before."  # before the name of an array of ``Before``, in a file and in messages
MEMORY = "memory."  # before the name of what a method remembers, in a file and in messages
Array = NDArray[np.float64]


class Before(NamedTuple):
    """What inputs that were changed since the last step have moved; the next step begins with it. Never written to.

    Parameters
    ----------
    u : ndarray
        (nu,) inputs.
    zdd : ndarray
        (n,) accelerations.
    lam : ndarray
        (m,) multipliers.
    sd : ndarray
        (ns,) rates of force states.
    """

    u: Array
    zdd: Array
    lam: Array
    sd: Array


@dataclass(slots=True, repr=False, eq=False)
class State:
    """Coordinates, rates, accelerations, multipliers, rotations, inputs and force states of one instant.

    Saving a State, loading it and going on gives the same numbers bit for bit. To change positions, rates or inputs,
    change a copy and hand it to ``Simulation.restore``, which solves for the accelerations. The live ``sim.state`` may
    be written into as well: the next step then begins a new balance of energy, but does not close loops. An array of it
    that was kept from before the last step is not looked at: rates written there are scaled back to the energy of the
    loop.

    Parameters
    ----------
    fingerprint : str
        Fingerprint of the System it belongs to.
    t_ref : float
        Time of k = 0 [s].
    k : int
        Steps since t_ref.
    h : float
        Step [s].
    z : ndarray
        (n,) [rad or m].
    zd : ndarray
        (n,).
    zdd : ndarray
        (n,).
    lam : ndarray
        (m,) multipliers of the loop equations [N or N m].
    R0 : ndarray
        (nr, 3, 3) reference rotations of spherical and floating joints.
    u : ndarray
        (nu,) inputs.
    memory : dict[str, ndarray], optional
        By name: what the method keeps from step to step.
    s : ndarray, optional
        (ns,) states of force laws.
    sd : ndarray, optional
        (ns,) their rates.
    given : tuple[object, ...] or str, optional
        Motion, inputs and time that accelerations and rates of force states belong to, as ``basis`` gives them, when a
        Simulation gave the State out. A restore solves for them where these were changed since.
    before : Before, optional
        Inputs, accelerations, multipliers and rates of force states before inputs were changed since the last step;
        None where none were. Balances in ``memory`` are those of these inputs.
    """

    fingerprint: str  # of the System it belongs to
    t_ref: float  # time of k = 0 [s]
    k: int  # steps since t_ref
    h: float  # step [s]
    z: Array  # (n,) [rad or m]
    zd: Array  # (n,)
    zdd: Array  # (n,)
    lam: Array  # (m,) multipliers of the loop equations [N or N m]
    R0: Array  # (nr, 3, 3) reference rotations of spherical and floating joints
    u: Array  # (nu,) inputs
    memory: dict[str, Array] = field(default_factory=dict)  # by name: what the method keeps from step to step
    s: Array = field(default_factory=lambda: np.zeros(0))  # (ns,) states of force laws
    sd: Array = field(default_factory=lambda: np.zeros(0))  # (ns,) their rates
    given: Any = None  # see ``basis``, or its digest from a file; None: unknown
    before: Before | None = None

    def __repr__(self) -> str:
        sizes = {"coordinate": np.size(self.z), "multiplier": np.size(self.lam), "input": np.size(self.u)}
        sizes |= {"force state": np.size(self.s)}
        parts = ", ".join(with_count(size, what) for what, size in sizes.items() if size)
        return f"State(t = {self.t:g} s, step {self.k} of h = {self.h:g} s: {parts})"

    def __eq__(self, other: object) -> bool:
        """Return whether both hold the same numbers, whatever they were given out for."""
        if not isinstance(other, State):
            return NotImplemented
        mine, theirs = ([*parts(one), *parts_before(one)] for one in (self, other))
        return len(mine) == len(theirs) and all(
            name == same and np.array_equal(value, its)
            for (name, _, value), (same, _, its) in zip(mine, theirs, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        """Return the numbers as tables for notebooks; a State does not know the names of its coordinates."""
        numbers = zip(self.z, self.zd, self.zdd, strict=True)
        coordinates = [(str(k), *(number_text(one) for one in row)) for k, row in enumerate(numbers)]
        multipliers = [(str(k), number_text(one)) for k, one in enumerate(self.lam)]
        states = [
            (str(k), number_text(s), number_text(sd)) for k, (s, sd) in enumerate(zip(self.s, self.sd, strict=True))
        ]
        return "\n".join(
            [
                title_html(repr(self)),
                folded_html("coordinates", COORDINATE_HEAD, coordinates),
                folded_html("multipliers", ("number", "value"), multipliers),
                folded_html("force states", ("number", "value", "rate [1/s]"), states),
            ]
        )

    @property
    def t(self) -> float:
        """Time [s], t_ref + k h: no sum of rounded steps."""
        return self.t_ref + self.k * self.h

    def validate(self, shapes: Mapping[str, tuple[int, ...]], memory: Mapping[str, tuple[int, ...]]) -> None:
        """Convert the arrays named in ``shapes``, and those in ``memory``, to the layout of kernels.

        The user may have put others here.

        Parameters
        ----------
        shapes : Mapping[str, tuple[int, ...]]
            Shapes of the arrays by name.
        memory : Mapping[str, tuple[int, ...]]
            Shapes of the arrays in ``memory`` by name.

        Raises
        ------
        StateError
            For one that holds no numbers or has another shape.
        """
        for name, shape in shapes.items():
            values: Any = getattr(self, name)
            if not is_usual(values, shape):
                setattr(self, name, as_usual(name, values, shape))
        mine = remembered(self)
        for name, shape in memory.items():
            values = mine.get(name)
            if not is_usual(values, shape):
                mine[name] = as_usual(MEMORY + name, values, shape)

    def motion(self) -> tuple[object, ...]:
        """Return positions, rates and force states as bytes that compare at once; no array equals nothing.

        Returns
        -------
        tuple[object, ...]
            Positions, rates and force states as bytes that compare at once; what is no array equals nothing.
        """
        values: tuple[Any, ...] = (self.z, self.zd, self.R0, self.s)
        return tuple(value.tobytes() if isinstance(value, np.ndarray) else object() for value in values)

    def basis(self) -> tuple[object, ...]:
        """Return motion and inputs as bytes, and the time, that the accelerations of the State belong to.

        Returns
        -------
        tuple[object, ...]
            Values that compare at once; what is no array equals nothing.
        """
        return (*self.motion(), self.u.tobytes() if isinstance(self.u, np.ndarray) else object(), self.t)

    @property
    def outdated(self) -> bool:
        """True when motion, inputs or time were changed since a Simulation gave the State out."""
        if isinstance(self.given, str):
            return self.given != digest(self.basis())
        return isinstance(self.given, tuple) and self.given != self.basis()

    def copy(self) -> Self:
        """Return a State that shares no memory with this one; StateError when ``memory`` is no dictionary.

        Returns
        -------
        State
            State that shares no memory with this one; StateError when ``memory`` is no dictionary.
        """
        values = copies({f.name: getattr(self, f.name) for f in fields(self)})
        return type(self)(**{**values, "memory": copies(remembered(self))})

    def save(self, path: str | Path) -> None:
        """Write the state to an ``npz`` file without pickle; an older file stays until the new one is whole.

        Parameters
        ----------
        path : str or Path
            Path of the file.

        Raises
        ------
        StateError
            Naming an entry that no state can have.
        OSError
            When the file cannot be written.
        """
        entries = [
            (name, entry(name, kind, stored(name, value, kind), "this state"))
            for name, kind, value in (*parts(self), *parts_before(self))
        ]
        if isinstance(self.given, str | tuple):
            entries.append((GIVEN, self.given if isinstance(self.given, str) else digest(self.given)))
        write_archive(path, FORMAT, entries)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a state file.

        Parameters
        ----------
        path : str or Path
            Path of the file.

        Returns
        -------
        State
            The saved state.

        Raises
        ------
        StateError
            Naming the file and the entry when it is no state file, truncated, changed by a byte, of another format or
            holds a number that is not finite.
        """
        file = f"state file {str(path)!r}"
        try:
            data = read_archive(path, FORMAT, "state file")
        except DamagedFile as error:
            raise StateError(f"{file} {error}") from error.__cause__
        plain = [f for f in fields(cls) if f.name not in APART]
        if missing := [f.name for f in plain if f.name not in data]:
            raise StateError(f"{file} lacks {', '.join(missing)}; save it again with State.save")
        names = [name for name in data if name.startswith(MEMORY)]
        memory = {name.removeprefix(MEMORY): entry(name, Array, data[name], file) for name in names}
        given = entry(GIVEN, str, data[GIVEN], file) if GIVEN in data else None  # files of rtmbs 0.2.0 lack it
        state = cls(**{f.name: entry(f.name, f.type, data[f.name], file) for f in plain}, memory=memory, given=given)
        if all(BEFORE + name in data for name in Before._fields):
            state.before = Before(
                *(entry(name, Array, data[name], file) for name in map(BEFORE.__add__, Before._fields))
            )
        return state

    def check_fit(self, other: "State", what: str) -> None:
        """Refuse a state that cannot go on where ``other`` stands.

        Parameters
        ----------
        other : State
            State to compare with.
        what : str
            Name of the State in the message.

        Raises
        ------
        StateError
            Naming ``what`` and the entry.
        """
        if not isinstance(self.fingerprint, str) or self.fingerprint != other.fingerprint:
            raise StateError(
                f"{what}: it belongs to another model, or to this one with other functions of time (their code is "
                "compared, so another version of Python counts as well)"
            )
        if remembered(self).keys() != other.memory.keys():
            mine, wanted = (", ".join(map(str, one)) or "nothing" for one in (self.memory, other.memory))
            raise StateError(f"{what}: another method left it: it remembers {mine}, and the method needs {wanted}")
        if not isinstance(self.before, Before | None):
            raise StateError(f"{what}: before is {type(self.before).__name__}; the model needs what its State had")
        theirs = {name: value for name, _, value in parts(other)}
        for name, kind, value in list(parts(self)):
            numbers, shape = stored(name, value, kind), np.shape(theirs[name])
            if name != "fingerprint" and numbers.shape != shape:
                raise StateError(f"{what}: {name} has shape {numbers.shape}, the model needs {shape}")
            kept = entry(name, kind, numbers, what)
            if name.startswith(MEMORY):
                self.memory[name.removeprefix(MEMORY)] = kept
            else:
                setattr(self, name, kept)
        for name, kind, value in parts_before(self):
            kept, shape = (
                entry(name, kind, stored(name, value, kind), what),
                np.shape(theirs[name.removeprefix(BEFORE)]),
            )
            if kept.shape != shape:
                raise StateError(f"{what}: {name} has shape {kept.shape}, the model needs {shape}")
        self.check_values(what)

    def check_values(self, what: str) -> None:
        """Refuse numbers that no step can have left behind.

        Parameters
        ----------
        what : str
            Name of the State in the message.

        Raises
        ------
        StateError
            Naming ``what`` and the entry.
        """
        check_time(self, what)
        if self.k < 0:
            raise StateError(f"{what}: k is {self.k}; steps are counted from 0")
        for name in NUMBERS:
            if np.any(np.abs(getattr(self, name)) > BEYOND):
                raise StateError(f"{what}: {name} holds a number beyond {BEYOND:g}; no step leaves one")
        if not np.all(are_rotations(self.R0)):
            raise StateError(f"{what}: R0 holds a matrix that is no rotation; R^T R must be 1, and its determinant 1")


APART = ("memory", GIVEN, "before")  # fields that are no array or number of their own
NUMBERS = tuple(f.name for f in fields(State) if f.type == Array and f.name != "R0")  # any in range


def check_time(state: State, what: str) -> None:
    """Refuse a step out of range, and a time that is not finite or too large for the step to change it.

    Raises StateError naming ``what``.
    """
    h = state.h
    try:
        t, following = state.t_ref + state.k * h, state.t_ref + (state.k + 1) * h
        sound = SHORTEST <= h <= LONGEST and t < following < math.inf
    except (TypeError, OverflowError):
        raise StateError(f"{what}: its time is {shown(state.t_ref)} + {shown(state.k)} {shown(h)}, no number") from None
    if sound:
        return
    if not (math.isfinite(h) and h > 0.0):
        raise StateError(f"{what}: h is {h!r}; it must be a positive number")
    if not SHORTEST <= h <= LONGEST:
        raise StateError(f"{what}: h is {h!r} s; it must lie between {SHORTEST:g} and {LONGEST:g} s")
    if not math.isfinite(t):
        raise StateError(f"{what}: its time t_ref + k h is {t!r}; it must be finite")
    raise StateError(f"{what}: its time is {t!r} s, where a step of {h!r} s is lost in rounding; make t_ref smaller")


def parts(state: State) -> Iterator[tuple[str, Any, Any]]:
    """Yield (name, type, value) of every field, and of every array that the method remembers."""
    for f in fields(state):
        if f.name not in APART:
            yield f.name, f.type, getattr(state, f.name)
    for name, value in remembered(state).items():
        yield MEMORY + str(name), Array, value


def parts_before(state: State) -> Iterator[tuple[str, Any, Any]]:
    """Yield (name, type, value) of every array of ``before``."""
    if isinstance(state.before, Before):
        for name, value in state.before._asdict().items():
            yield BEFORE + name, Array, value


def digest(basis: tuple[object, ...]) -> str:
    """Return the digest of a basis for files."""
    whole = hashlib.blake2b(digest_size=16)
    for part in basis:
        whole.update(part if isinstance(part, bytes) else repr(part).encode())
    return whole.hexdigest()


def remembered(state: State) -> dict[str, Any]:
    """Return the memory of the method; raises StateError when it is no dictionary."""
    if not isinstance(state.memory, dict):
        raise StateError(f"memory of the state is {shown(state.memory)}; it must be a dictionary of arrays by name")
    return state.memory


def copies(values: dict[str, Any]) -> dict[str, Any]:
    """Return the same names with arrays of their own."""
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in values.items()}


def is_usual(values: Any, shape: tuple[int, ...]) -> bool:
    """Return whether an array has the layout that kernels need."""
    usual = isinstance(values, np.ndarray) and values.dtype is FLOAT and values.shape == shape
    return usual and values.flags.carray


def as_usual(name: str, values: Any, shape: tuple[int, ...]) -> Array:
    """Return ``values`` in the layout that kernels need; raises StateError naming it."""
    try:
        numbers = np.array(values, np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise StateError(f"{name} of the state is {shown(values)}; the step needs {shape} numbers") from None
    if numbers.shape != shape:
        raise StateError(f"{name} of the state has shape {numbers.shape}; the step needs {shape}")
    return numbers


def stored(name: str, value: Any, kind: Any) -> np.ndarray[Any, Any]:
    """Return a field as the array that a file holds: numbers, also of a list or of another type."""
    if type(value) is kind or (type(value) is np.ndarray and value.dtype is FLOAT):
        return np.array(value)
    floats = kind not in KINDS or (kind is float and isinstance(value, int))
    try:
        return np.array(value, np.float64) if floats else np.asarray(value)
    except Exception:  # noqa: BLE001 - a ragged list, an integer beyond all floats, whatever a user's object raises
        raise StateError(f"{name} of the state is {shown(value)}; it must hold numbers") from None


def entry(name: str, kind: Any, value: np.ndarray[Any, Any], where: str) -> Any:
    """Return one entry of a state, a scalar as Python's own; raises StateError naming ``where`` and the entry."""
    letter = KINDS.get(kind, "f")
    if value.dtype.kind != letter or (letter == "f" and value.dtype != np.float64):
        raise StateError(f"{where}: {name} is of type {value.dtype}; save it again with State.save")
    if letter == "f" and not np.all(np.isfinite(value)):
        raise StateError(f"{where}: {name} holds a number that is not finite")
    if kind not in KINDS:
        return value
    if value.shape != ():
        raise StateError(f"{where}: {name} has shape {value.shape}, one value is needed; save it again with State.save")
    return value.item()


motion_arrays = attrgetter("z", "zd", "zdd", "lam", "R0", "s", "sd")  # what a step writes, but memory
ALIGNED = 2  # numbers: an array in a row begins where memory of its own would
NUMBER = 8  # bytes of a number


MOTION = 4  # first entries of ``State.basis``: what ``State.motion`` returns


def copied(state: State) -> State:
    """Return a copy as ``State.copy`` does, without its checks: a step has left the arrays."""
    s, memory = state, {name: value.copy() for name, value in state.memory.items()}
    motion = s.z.copy(), s.zd.copy(), s.zdd.copy(), s.lam.copy(), s.R0.copy(), s.u.copy()
    return State(s.fingerprint, s.t_ref, s.k, s.h, *motion, memory, s.s.copy(), s.sd.copy(), before=s.before)


def row_arrays(state: State) -> tuple[Any, ...]:
    """Return the arrays that stand in the row of a State, in their order."""
    return (*motion_arrays(state), *remembered(state).values())


def kernel_arrays(state: State) -> tuple[Any, ...]:
    """Return all arrays of a State that kernels take, as they are; the inputs last."""
    return (*row_arrays(state), state.u)


def row_layout(arrays: Iterable[Array]) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return the layout of arrays in a row of numbers: start, end and shape of each."""
    found, start = [], 0
    for array in arrays:
        found.append((start, start + array.size, array.shape))
        start += -(-array.size // ALIGNED) * ALIGNED
    return found


def state_pair(state: State) -> tuple[State, State]:
    """Return a State and a spare one for the next step, each in a row of its own."""
    state.given = None  # from now on ``StateStore`` looks at what is written into it
    spare = state.copy()
    pack_row(state)
    pack_row(spare)
    return state, spare


def pack_row(state: State) -> None:
    """Move the arrays of a State that a step writes into one row, with the same numbers.

    An entry that is no array of numbers leaves the State as it is.
    """
    arrays = row_arrays(state)
    for array in arrays:
        if not (isinstance(array, np.ndarray) and array.dtype == np.float64):
            return
    where = row_layout(arrays)
    row = np.zeros(where[-1][1])
    parts = [row[start:end].reshape(shape) for start, end, shape in where]
    for part, array in zip(parts, arrays, strict=True):
        part[...] = array
    state.z, state.zd, state.zdd, state.lam, state.R0, state.s, state.sd, *memory = parts
    state.memory = dict(zip(state.memory, memory, strict=True))


def row_of(state: State) -> Array | None:
    """Return the row that the arrays of a state are parts of; None when one of them is not in its place."""
    arrays = row_arrays(state)
    row = arrays[0].base
    if row is None or any(array.base is not row or not array.flags.c_contiguous for array in arrays):
        return None
    where, first = row_layout(arrays), address(row)
    there = all(
        not array.size or address(array) == first + NUMBER * start
        for array, (start, _, _) in zip(arrays, where, strict=True)
    )
    return row if there and row.size == where[-1][1] else None


def address(array: Array) -> int:
    """Return where the numbers of an array begin in memory."""
    return int(array.ctypes.data)
