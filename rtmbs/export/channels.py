"""Inputs and outputs of an exported mechanism by name: slots, units and rows of the entry kernels; functions of time.

Functions of time become one recorded program for the native library: no Python runs there.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad import Program, lowered, record_branches
from rtmbs.errors import InputError, TraceError, UnsupportedFunctionError, unknown_name
from rtmbs.export.entry_kernels import (
    BUSHING,
    ENERGY,
    GIVEN,
    JOINT_FORCE,
    LAW_FORCE,
    LAW_STATE,
    LAW_WRENCH,
    MISSED,
    MULTIPLIER,
    SPRING,
)
from rtmbs.forces.register import BY_WORD
from rtmbs.model.profiles import ConstantRate, Sine, SmoothStep, Spline, Staircase
from rtmbs.results.catalogue import ENERGIES
from rtmbs.results.channel import Source, units_of
from rtmbs.results.reactions import JointReactions, SharedReactions, shared_reactions
from rtmbs.results.samples import Evaluation, one_sample
from rtmbs.simulation.channel_reader import kernel_channels
from rtmbs.simulation.inputs import driver_slots, input_unit
from rtmbs.simulation.simulation import Simulation
from rtmbs.system.input_slots import BESIDE, signal_values
from rtmbs.system.law_tables import no_program
from rtmbs.system.system import Signal, System

Array = NDArray[np.float64]
TRIED = (0.0, 0.11, 0.37, 0.83, 1.7, 12.9)  # [s] times at which a recorded function is compared with the function
MOST_TRIED = 100  # jumps, beside which it is compared as well
AGREES = 1e-9  # relative: rounding of sums in another order


class TimeProgram(NamedTuple):
    """All functions of time of a System as one program."""

    program: Program  # of one independent, the time
    slot: NDArray[np.int64]  # (k,) input slot of each output
    parameter: Array  # (p,) numbers of known profiles, which a recorder must not multiply with each other


class Traceable(NamedTuple):
    """A function of time that a recorder can call: f(t, p) -> ``size`` values."""

    function: Callable[[Any, Any], Sequence[Any]]
    parameter: tuple[float, ...] = ()
    tried: tuple[float, ...] = ()  # further times of comparison [s]


def recorded_signals(signals: Sequence[Signal]) -> TimeProgram:
    """Return all functions of time as one program.

    Parameters
    ----------
    signals : Sequence[Signal]
        Functions of time of a System.

    Returns
    -------
    TimeProgram
        Program, slots and parameters.

    Raises
    ------
    InputError
        For a function that cannot be recorded, with its name.
    """
    if not signals:
        return TimeProgram(no_program(), np.zeros(0, np.int64), np.zeros(0))
    functions = [traceable(signal) for signal in signals]
    for signal, one in zip(signals, functions, strict=True):
        check_recorded(signal, one)
    counts = np.cumsum([0, *(len(one.parameter) for one in functions)])

    def all_values(x: Any, p: Any = None) -> Any:
        parts = [
            one.function(x[0], None if p is None else p[first : first + len(one.parameter)])
            for one, first in zip(functions, counts, strict=False)
        ]
        return np.concatenate([np.stack(list(part)) for part in parts])

    size = sum(signal.size for signal in signals)
    tape, _ = record_branches(all_values, 1, size, k=int(counts[-1]))
    slots = [slot for signal in signals for slot in range(signal.slot, signal.slot + signal.size)]
    parameter = np.array([number for one in functions for number in one.parameter], np.float64)
    return TimeProgram(lowered(tape), np.array(slots, np.int64), parameter)


def traceable(signal: Signal) -> Traceable:
    """Return the function of a signal as one that takes a traced time and returns ``size`` values."""
    function = getattr(signal.function, "function", signal.function)
    if function is float:
        return Traceable(lambda t, _: (1.0 * t,))
    if isinstance(function, Sine):
        return Traceable(sine, (function.amplitude, function.frequency_rad_s, function.phase, function.offset))
    if isinstance(function, SmoothStep):
        span, rise = function.t1 - function.t0, function.end - function.start
        return Traceable(smooth_step, (function.t0, span, function.start, rise))
    if isinstance(function, ConstantRate):
        return Traceable(lambda t, p: (p[0] + p[1] * t, p[1] + 0.0 * t, 0.0 * t), (function.start, function.rate))
    if isinstance(function, Staircase):
        return staircase(np.asarray(function.t, np.float64), np.asarray(function.values, np.float64))
    if isinstance(function, Spline):
        return spline(function.checked("Spline"))
    if signal.size == 1:
        return Traceable(lambda t, _: (1.0 * np.reshape(function(t), ()),))
    return Traceable(lambda t, _: [part + 0.0 * t for part in function(t)])


def sine(t: Any, p: Any) -> Sequence[Any]:
    """Return value, rate and acceleration of a ``Sine``, as it does itself."""
    amplitude, w, phase, offset = p[0], p[1], p[2], p[3]
    wave = amplitude * np.sin(w * t + phase)
    return offset + wave, amplitude * w * np.cos(w * t + phase), -w * w * wave


def smooth_step(t: Any, p: Any) -> Sequence[Any]:
    """Return value, rate and acceleration of a ``SmoothStep``, as it does itself."""
    t0, span, start, rise = p[0], p[1], p[2], p[3]
    s = np.minimum(np.maximum((t - t0) / span, 0.0), 1.0)
    f = s * s * s * (10.0 + s * (6.0 * s - 15.0))
    rest = s * (1.0 - s)
    fd, fdd = 30.0 * (rest * rest), 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s)
    return start + rise * f, rise * fd / span, rise * fdd / (span * span)


def beside(jumps: Sequence[float]) -> list[float]:
    """Return times just before and behind some jumps [s]."""
    return [t + side * BESIDE * max(1.0, abs(t)) for t in jumps[:MOST_TRIED] for side in (-1.0, 1.0)]


def staircase(times: Array, values: Array) -> Traceable:
    """Return a ``Staircase`` as selections of its values by its times."""
    count, rows = len(times), values.reshape(len(times), -1)
    size = rows.shape[1]

    def held(t: Any, p: Any) -> Sequence[Any]:
        parts = []
        for c in range(size):
            value = p[count + c] + 0.0 * t
            for k in range(1, count):
                value = np.where(t >= p[k], p[count + k * size + c], value)
            parts.append(value)
        return parts

    return Traceable(held, (*times.tolist(), *rows.ravel().tolist()))


def spline(profile: Spline) -> Traceable:
    """Return value, rate and acceleration of a ``Spline``: the coefficients of a piece are selected by its times."""
    times, coefficients = np.asarray(profile.t, np.float64), np.asarray(profile.coefficients, np.float64)
    count, pieces = len(times), len(times) - 1

    def motion(t: Any, p: Any) -> Sequence[Any]:
        inside = np.minimum(np.maximum(t, p[0]), p[count - 1])
        places = [0, *(count + row * pieces for row in range(4))]
        start, a, b, c, d = (p[place] + 0.0 * t for place in places)
        for k in range(1, pieces):
            later = inside >= p[k]
            start, a, b, c, d = (
                np.where(later, p[place + k], value) for place, value in zip(places, (start, a, b, c, d), strict=True)
            )
        s = inside - start
        f, fd = d + s * (c + s * (b + s * a)), c + s * (2.0 * b + 3.0 * s * a)
        fdd = np.where(t < p[0], 0.0, np.where(t > p[count - 1], 0.0, 2.0 * b + 6.0 * s * a))
        return f + fd * (t - inside), fd, fdd

    middles = 0.5 * (times[1:] + times[:-1])
    tried = (*middles[: MOST_TRIED // 2], *middles[-MOST_TRIED // 2 :], times[0] - 1.0, times[-1] + 1.0)
    return Traceable(motion, (*times.tolist(), *coefficients.ravel().tolist()), tuple(map(float, tried)))


def check_recorded(signal: Signal, one: Traceable) -> None:
    """Refuse a function of time that cannot be recorded, or that is another when recorded: InputError."""
    way_out = "write it with numpy, or make it an rtmbs.Input, which the host sets"
    try:
        numbers = np.array(one.parameter)
        record_branches(lambda x: np.stack(list(one.function(x[0], numbers))), 1, signal.size)
    except (TraceError, UnsupportedFunctionError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the function of time {signal.name!r} cannot be recorded ({error}); {way_out}") from error
    for t in (*TRIED, *one.tried, *beside(signal.jumps or ())):
        wanted = signal_values(signal, t)
        found = np.array([float(value) for value in one.function(np.float64(t), numbers)])
        size = np.maximum(np.abs(wanted), 1e-3)
        if not np.all(np.abs(found - wanted) <= AGREES * size) or not math.isfinite(float(np.sum(found))):
            raise InputError(
                f"the function of time {signal.name!r} returns {wanted.tolist()} at t = {t:g} s and "
                f"{found.tolist()} when it is recorded; {way_out}"
            )


Integers = NDArray[np.int64]
MEASURED = {"spring": SPRING, "wrench": GIVEN, "bushing": BUSHING}  # by the word of a kind of force
MOTION = ("value", "rate", "acceleration")  # of a driver that the host sets
Pick = tuple[int, int, int]  # kind, row, column


class Port(NamedTuple):
    """One number that a host sets or reads."""

    name: str
    unit: str
    place: int  # slot of an input, number of an output
    start: float
    ramp: bool = False  # the value is the one at the end of the next step
    input: bool = False  # chosen as an input; the others are parameters


class Ports(NamedTuple):
    """Everything that a host sets or reads, and the rows of the kernels that serve it."""

    settable: tuple[Port, ...]
    outputs: tuple[Port, ...]
    plan: Integers
    points: Array
    reactions: Integers
    signs: Array
    ends: Array
    picked: Integers
    size: int
    time: TimeProgram


def ports_of(sim: Simulation, inputs: Sequence[str], outputs: Sequence[str]) -> Ports:
    """Return the ports of a Simulation for the given names.

    Parameters
    ----------
    sim : Simulation
        Simulation of the mechanism at its start.
    inputs : Sequence[str]
        Names of inputs; the others become parameters.
    outputs : Sequence[str]
        Names of channels, or of components such as ``block.position[x]``.

    Returns
    -------
    Ports
        Ports with the rows of the entry kernels.

    Raises
    ------
    UnknownNameError
        For an unknown input or channel, with the nearest names.
    InputError
        For a channel that only Python evaluates, and for a function of time that cannot be recorded.
    """
    time = recorded_signals(sim.system.signals)
    settable = tuple(settable_ports(sim, inputs))
    rows = OutputRows(sim)
    for name in outputs:
        rows.add(name)
    return Ports(settable=settable, outputs=tuple(rows.ports), size=rows.size, time=time, **rows.tables_of_rows())


def settable_ports(sim: Simulation, chosen: Sequence[str]) -> Iterator[Port]:
    """Yield every number that a host may set, one by one; those of parameters of constraints are fixed."""
    system, state = sim.system, sim.state
    timed = {slot for signal in system.signals for slot in range(signal.slot, signal.slot + signal.size)}
    fixed, driven = set(system.tables.conditions.slot.tolist()), driver_slots(system)
    free = {name: place for name, place in system.inputs.items() if place.start not in timed | fixed}
    for name in chosen:
        if name not in free:
            if name in system.inputs:
                raise InputError(
                    f"input {name!r} is a function of time or a parameter of a constraint, which a host cannot set; "
                    "give the element an rtmbs.Input"
                )
            raise unknown_name("input", name, free)
    for name, place in free.items():
        ramp, count = place.start in driven, place.stop - place.start
        labels = MOTION if ramp and count == len(MOTION) else tuple(str(k) for k in range(count))
        for k, label in enumerate(labels):
            full = name if count == 1 else f"{name}[{label}]"
            start = float(state.u[place.start + k])
            yield Port(full, input_unit(system, name), place.start + k, start, ramp, name in chosen)


class OutputRows:
    """Rows of ``entry_kernels.read_outputs`` under construction."""

    def __init__(self, sim: Simulation) -> None:
        self.sim, self.system, self.tables = sim, sim.system, sim.equations.tables
        self.offered: dict[str, Source] = sim._channels().sources(sim.state)
        self.quick = dict(kernel_channels(self.system))
        self.picks = dict(picks(self.system, self.tables))
        self.ports: list[Port] = []
        self.first: dict[str, int] = {}  # number of each channel
        self.size = 0
        self.plan: list[tuple[int, ...]] = []
        self.points: list[Array] = []
        self.reactions: list[tuple[int, ...]] = []
        self.signs: list[float] = []
        self.ends: list[Array] = []
        self.picked: list[tuple[int, ...]] = []

    def add(self, name: str) -> None:
        """Add a channel, all of its components, or the one component that the name says."""
        channel, axis = (name, "") if name in self.offered else split(name)
        if channel not in self.offered or (axis and axis not in self.offered[channel].axes):
            raise unknown_name("channel", name, [*self.offered, *components(self.offered, channel)])
        source, first = self.offered[channel], self.first.get(channel, -1)
        if first < 0:
            first = self.first[channel] = self.size
            self.add_rows(channel, first)
            self.size += max(len(source.axes), 1)
        values, known = np.ravel(self.sim[channel]), {port.name for port in self.ports}
        axes, units = source.axes or ("",), units_of(source.axes, source.unit)
        for k, (label, unit) in enumerate(zip(axes, units, strict=True)):
            whole = f"{channel}[{label}]" if label else channel
            if axis in ("", label) and whole not in known:
                self.ports.append(Port(whole, unit, first + k, float(values[k])))

    def add_rows(self, channel: str, first: int) -> None:
        """Add the rows of all components of a channel."""
        if (one := self.quick.get(channel)) is not None:
            self.plan.append((one.kind, one.order, one.dof, first))
            self.points.append(one.point)
        elif channel in self.picks:
            kind, row, _ = self.picks[channel][0]
            if kind == MULTIPLIER and row in self.shared.force:
                raise InputError(not_unique(channel))
            self.picked += [(*pick, first + k) for k, pick in enumerate(self.picks[channel])]
        elif channel.removesuffix(".reaction") in self.system.joints:
            self.add_reaction(channel.removesuffix(".reaction"), first)
        else:
            raise InputError(
                f"channel {channel!r} is evaluated in Python only, so no native library has it; export positions, "
                "velocities, accelerations, orientations of bodies, coordinates of the tree, reactions, forces, "
                "energies or violations"
            )

    @cached_property
    def shared(self) -> SharedReactions:
        """Return what balance leaves free at the present state."""
        return shared_reactions(Evaluation(self.system, self.tables, one_sample(self.sim.state)))

    def add_reaction(self, joint: str, first: int) -> None:
        """Add the reaction of a joint; one that balance leaves free is refused."""
        if joint in self.shared.wrench:
            raise InputError(not_unique(f"{joint}.reaction"))
        places = JointReactions(self.system, self.tables)
        k = places._names.index(joint)
        ground = -1
        if places._dof[k] < 0 and places._seeing[k] >= 0:
            ground = int(self.tables.origins.row[places._seeing[k]])
        self.reactions.append((int(places._row[k]), int(places._dof[k]), ground, first))
        self.signs.append(float(places._sign[k, 0]))
        self.ends.append(places._point[k])

    def tables_of_rows(self) -> dict[str, Any]:
        """Return the rows as arrays by the names of ``Ports``."""
        return {
            "plan": np.array(self.plan, np.int64).reshape(-1, 4),
            "points": np.array(self.points, np.float64).reshape(-1, 3),
            "reactions": np.array(self.reactions, np.int64).reshape(-1, 4),
            "signs": np.array(self.signs, np.float64),
            "ends": np.array(self.ends, np.float64).reshape(-1, 3),
            "picked": np.array(self.picked, np.int64).reshape(-1, 4),
        }


def not_unique(channel: str) -> str:
    """Return the sentence about a force that loops hold more than once."""
    return f"channel {channel!r} is not unique, for loops hold it more than once; export another force"


def split(name: str) -> tuple[str, str]:
    """Return channel and axis of ``channel[axis]``; no axis for another name."""
    channel, _, axis = name.removesuffix("]").rpartition("[") if name.endswith("]") else (name, "", "")
    return (channel, axis) if channel else (name, "")


def components(offered: dict[str, Source], channel: str) -> list[str]:
    """Return the names of the components of a channel; none of an unknown one."""
    return [f"{channel}[{axis}]" for axis in offered[channel].axes] if channel in offered else []


def picks(system: System, tables: Any) -> Iterator[tuple[str, list[Pick]]]:
    """Yield the channels that ``entry_kernels.picked`` knows, with kind, row and column of every component."""
    for k, name in enumerate((*ENERGIES, "total")):
        yield f"energy.{name}", [(ENERGY, k, 0)]
    rows: dict[str, list[int]] = {}
    for row, closure in enumerate(system.closure_of_row):
        owner = system.closure_names[closure] if closure >= 0 else system.row_names[row]
        rows.setdefault(owner, []).append(row)
    for name, own in rows.items():
        for order, what in enumerate(("violation", "violation_rate", "violation_acceleration")):
            yield f"{name}.{what}", [(MISSED, row, order) for row in own]
    for row in range(len(tables.closures.kind), system.m):
        yield f"{system.row_names[row]}.force", [(MULTIPLIER, row, 0)]
    for info in system.forces.values():
        if info.kind in MEASURED:
            kind = BY_WORD[info.kind]
            for one in kind.channels(getattr(tables.forces, kind.name), info.row):
                count = max(len(one.axes), 1)
                yield f"{info.name}.{one.name}", [(MEASURED[info.kind], info.row, one.first + k) for k in range(count)]
        elif info.kind == "joint":
            for what in ("torque", "force"):
                yield f"{info.name}.{what}", [(JOINT_FORCE, info.row, 0)]
        elif info.kind == "law":
            for first, what in ((0, "force"), (3, "torque")):
                yield f"{info.name}.{what}", [(LAW_WRENCH, info.row, first + k) for k in range(3)]
        elif info.kind == "joint law":
            yield f"{info.name}.force", [(LAW_FORCE, info.row + k, 0) for k in range(len(info.dofs))]
    for k, state in enumerate(system.states):
        yield f"{state.force}.{state.name}", [(LAW_STATE, k, 0)]
