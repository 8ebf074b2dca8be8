"""Copies of a batch: arrays of the caller, numbers of each copy, rows of states, and threads that step slices of them.

Inputs and channels come in NumPy or any library that has DLPack. Numbers of tables and settings that differ between
copies lie in one row a copy, and the tables of a thread look at it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.batch.kernels import (
    Bench,
    CopyRun,
    CopyStates,
    ExplicitRoom,
    MidpointRoom,
    Room,
    TRBDF2Room,
    follow_copies,
    follow_copies_explicit,
    step_copies,
    step_copies_explicit,
    step_copies_midpoint,
    step_copies_trbdf2,
)
from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.integrators.checks import whole
from rtmbs.integrators.settings import STATS_SIZE, Settings, StateArrays, kept_by
from rtmbs.jit.compile_progress import announced
from rtmbs.jit.compiled import entry_for
from rtmbs.jit.intrinsics import seconds_per_tick
from rtmbs.numerics.linear.sparse_lu import workspace as factor_workspace
from rtmbs.results.sample_kernels import NUMBERS
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.explicit_step import explicit_scratch
from rtmbs.semirecursive.machine_code import LONGEST_CALL
from rtmbs.semirecursive.midpoint_step import Scratch, scratch_for
from rtmbs.semirecursive.trbdf2_step import stage_scratch
from rtmbs.semirecursive.workspace import workspace
from rtmbs.simulation.channel_reader import KernelChannel, kernel_channels
from rtmbs.simulation.inputs import driver_slots
from rtmbs.simulation.simulation import Simulation
from rtmbs.state import State
from rtmbs.system.dof_layout import Lump, merge_inertias
from rtmbs.system.system import BodyInfo, System
from rtmbs.system.tables import Tables

Array = NDArray[np.float64]
Path = tuple[str, ...]
OF_SETTINGS = ("absolute", "typical", "pace", "scale", "mass")  # arrays of numbers
FOUND = ("balance", "component"), ("balance", "first")  # what the start finds


class Field(NamedTuple):
    """An array of the tables, or of the settings, and its place in the row."""

    path: Path  # ("settings", name) of settings
    shape: tuple[int, ...]
    place: slice


class OwnLayout(NamedTuple):
    """Layout of the numbers that differ between copies."""

    fields: tuple[Field, ...]
    size: int

    def row(self, tables: Tables, settings: Settings, out: Array) -> None:
        """Write the numbers of one copy to ``out`` (size,)."""
        for field in self.fields:
            out[field.place] = value_at(tables, settings, field.path).reshape(-1)

    def looking_at(self, tables: Tables, settings: Settings, row: Array) -> tuple[Tables, Settings]:
        """Return tables and settings whose arrays that differ are parts of ``row`` (size,)."""
        for path, shape, place in self.fields:
            part = row[place].reshape(shape)
            if path[0] == "settings":
                of_settings: dict[str, Any] = {path[1]: part}
                settings = settings._replace(**of_settings)
            else:
                tables = replaced(tables, path, part)
        return tables, settings


NO_LAYOUT = OwnLayout((), 0)


def value_at(tables: Tables, settings: Settings, path: Path) -> Array:
    """Return the array at a path."""
    value: Any = settings if path[0] == "settings" else tables
    for name in path[path[0] == "settings" :]:
        value = getattr(value, name)
    return np.asarray(value)


def replaced(table: Any, path: Path, value: Array) -> Any:
    """Return nested tables with another array at a path."""
    inner = value if len(path) == 1 else replaced(getattr(table, path[0]), path[1:], value)
    return table._replace(**{path[0]: inner})


def leaves(table: Any, path: Path = ()) -> Iterator[tuple[Path, Array]]:
    """Yield the path and the array of every field of nested tables."""
    for name in table._fields:
        value = getattr(table, name)
        if hasattr(value, "_fields"):
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name), np.asarray(value)


def layout_of(base: tuple[Tables, Settings], others: Sequence[tuple[Tables, Settings]]) -> OwnLayout:
    """Return the layout of what differs in ``others`` from ``base``: arrays of floats of equal shapes."""
    differs: dict[Path, tuple[int, ...]] = {}
    ours = dict(leaves(base[0]))
    for tables, settings in others:
        for path, value in leaves(tables):
            if value is ours[path] or path in differs or value.dtype.kind != "f":
                continue
            if not np.array_equal(value, ours[path]):
                differs[path] = value.shape
        for name in OF_SETTINGS:
            value = getattr(settings, name)
            if ("settings", name) not in differs and not np.array_equal(value, getattr(base[1], name)):
                differs["settings", name] = np.shape(value)
    return layout(differs)


def layout(shapes: dict[Path, tuple[int, ...]]) -> OwnLayout:
    """Return the layout of arrays of these shapes, one after the other."""
    fields, first = [], 0
    for path, shape in shapes.items():
        size = int(np.prod(shape))
        fields.append(Field(path, shape, slice(first, first + size)))
        first += size
    return OwnLayout(tuple(fields), first)


def check_same_structure(base: System, other: System, k: int) -> None:
    """Refuse a System whose tree, equations, inputs or force laws are not those of the first one: InputError."""
    ours, theirs = dict(leaves(base.tables)), dict(leaves(other.tables))
    same = ours.keys() == theirs.keys() and base.coordinate_names == other.coordinate_names
    same = same and base.row_names == other.row_names and list(base.inputs) == list(other.inputs)
    same = same and base.u0.shape == other.u0.shape and not (base.called or other.called)
    same = same and [one[:2] for one in base.signals] == [one[:2] for one in other.signals]
    for path, value in ours.items() if same else ():
        one = theirs[path]
        equal = value.shape == one.shape and (value.dtype.kind == "f" or np.array_equal(value, one))
        same = same and equal and ("program" not in path or np.array_equal(value, one))
    if not same:
        raise InputError(
            f"system {k} of the Batch is another mechanism than the first: copies differ in masses, points and inputs "
            "only; build the same bodies, joints and forces, and mark the joints that are cut"
        )


# ---- masses ---------------------------------------------------------------------------------------------------------


def with_mass(body: BodyInfo, mass: float, inertia: Array | None) -> BodyInfo:
    """Return a body with another mass [kg] and inertia (3, 3); one that is not given grows with the mass."""
    if inertia is None:
        inertia = body.inertia * (mass / body.mass if body.mass > 0.0 else 1.0)
    return body._replace(mass=mass, inertia=inertia)


def merged(tables: Tables, bodies: Mapping[str, BodyInfo], dof: int) -> Tables:
    """Return tables in which a dof carries the masses of ``bodies`` that are welded to it, as ``compile`` does."""
    lumps = [lump_of(body) for body in bodies.values() if body.dof == dof]
    whole, dofs = merge_inertias(lumps), tables.dofs
    mass, center, inertia = dofs.mass.copy(), dofs.mass_center.copy(), dofs.inertia.copy()
    mass[dof], center[dof], inertia[dof] = whole.mass, whole.center, whole.inertia
    return tables._replace(dofs=dofs._replace(mass=mass, mass_center=center, inertia=inertia))


def lump_of(body: BodyInfo) -> Lump:
    """Return the mass of a body in axes of its dof."""
    turned = body.rotation @ body.inertia @ body.rotation.T
    return Lump(body.mass, body.rotation @ body.center_of_mass + body.position, 0.5 * (turned + turned.T))


Integers = NDArray[np.int64]

NEVER, NO_LIMIT = False, 2**62
ENERGY = "energy"
ROWS = ("z", "zd", "zdd", "lam", "R0", "energy", "s", "sd", "u")  # of ``CopyStates``, that a State has


class CopyKernel(NamedTuple):
    """Kernels of a step rule, and the scratch that they take."""

    step: Callable[..., Any]
    follow: Callable[..., Any]
    room: Callable[[SemiRecursiveEquations, Any], Any]


def midpoint_scratch(equations: SemiRecursiveEquations) -> Scratch:
    """Return the scratch of a step in momenta."""
    return scratch_for(len(equations.ws.Phi_z), len(equations.u), equations.n, equations.m)


def trbdf2_room(equations: SemiRecursiveEquations, work: Any) -> TRBDF2Room:
    """Return the scratch of TR-BDF2."""
    stage = stage_scratch(len(equations.u), equations.n, equations.states)
    return TRBDF2Room(midpoint_scratch(equations), stage)


def explicit_room(equations: SemiRecursiveEquations, work: Any) -> ExplicitRoom:
    """Return the rule and the scratch of explicit steps."""
    return ExplicitRoom(work.rule, explicit_scratch(equations.n, equations.states, len(work.rule.b)))


COPY_KERNELS = {  # by the name of the compiled step of a method
    "penalty-trapezoidal": CopyKernel(step_copies, follow_copies, lambda equations, work: Room(np.zeros(0))),
    "variational-midpoint": CopyKernel(
        step_copies_midpoint, follow_copies, lambda equations, work: MidpointRoom(midpoint_scratch(equations))
    ),
    "trbdf2": CopyKernel(step_copies_trbdf2, follow_copies, trbdf2_room),
    "explicit": CopyKernel(step_copies_explicit, follow_copies_explicit, explicit_room),
}


def copies_of(state: State, n: int, m: int) -> CopyStates:
    """Return ``n`` rows with the numbers of one State; loop weights are zero."""
    arrays = {name: kept_by(state) if name == ENERGY else getattr(state, name) for name in ROWS}
    rows = {name: np.repeat(value[None], n, axis=0) for name, value in arrays.items()}
    return CopyStates(**rows, alpha=np.zeros((n, m)), weight=np.zeros((n, m)), own=np.zeros((n, 0)))


def write_row(copies: CopyStates, i: int, state: State) -> None:
    """Write a State to row ``i``."""
    for name in ROWS:
        getattr(copies, name)[i] = kept_by(state) if name == ENERGY else getattr(state, name)


class Worker:
    """Tables, factor and scratch of one thread."""

    def __init__(self, equations: SemiRecursiveEquations, step: str, work: Any, layout: OwnLayout) -> None:
        self.kernel, self.layout = COPY_KERNELS[step], layout
        self.given, self.lu = equations.tables, equations.lu
        self.ws, self.work = workspace(equations.tables), factor_workspace(equations.lu)
        self.room = self.kernel.room(equations, work)
        self.entry: Callable[..., Any] | None = None
        self.follow_entry: Callable[..., Any] | None = None
        self.bench: Bench | None = None

    def bench_for(self, copies: CopyStates) -> Bench:
        """Return the scratch row for these copies."""
        if self.bench is None or len(self.bench.own) != copies.own.shape[1]:
            rows = {name: np.zeros((1, *getattr(copies, name).shape[1:])) for name in ROWS}
            self.bench = Bench(**rows, stats=np.zeros((1, STATS_SIZE)), own=np.zeros(copies.own.shape[1]))
        return self.bench

    def step(self, settings: Settings, copies: CopyStates, run: CopyRun, which: Integers) -> int:
        """Step the copies ``which``; returns how many of them were looked at before the time was over."""
        bench, budget = self.bench_for(copies), round(LONGEST_CALL / seconds_per_tick())
        tables, settings = self.layout.looking_at(self.given, settings, bench.own)
        arguments = (
            tables, self.lu, self.work, settings, self.ws, self.room, copies, run, bench, which, NEVER, NO_LIMIT,
            budget,
        )  # fmt: skip
        if self.entry is None:
            with announced():
                self.entry = entry_for(self.kernel.step, arguments)
        return int(self.entry(*arguments))

    def follow(self, settings: Settings, copies: CopyStates, which: Integers, failed: Integers) -> None:
        """Let accelerations of the copies ``which`` follow their inputs; ``failed`` (n,) is 1 where they did not."""
        bench = self.bench_for(copies)
        tables, settings = self.layout.looking_at(self.given, settings, bench.own)
        arguments = tables, self.lu, self.work, settings, self.ws, self.room, copies, bench, which, failed, NEVER
        if self.follow_entry is None:
            with announced():
                self.follow_entry = entry_for(self.kernel.follow, arguments)
        self.follow_entry(*arguments)


class Workers:
    """Threads that share the copies among them; every copy is stepped by one, so their number changes no byte."""

    def __init__(
        self, equations: SemiRecursiveEquations, step: str, work: Any, threads: int, layout: OwnLayout = NO_LAYOUT
    ) -> None:
        self.threads = threads
        self.members = [Worker(equations, step, work, layout) for _ in range(threads)]
        self.pool = ThreadPoolExecutor(threads - 1, "rtmbs-batch") if threads > 1 else None

    def step(self, settings: Settings, copies: CopyStates, run: CopyRun, which: Integers) -> None:
        """Step the copies ``which`` until every thread is through with its part, or its time is over."""
        shares = [one for one in np.array_split(which, len(self.members)) if len(one)]
        calls = list(zip(self.members, shares, strict=False))
        self.members[0].bench_for(copies)
        if self.pool is None or len(calls) < 2:
            for worker, share in calls:
                worker.step(settings, copies, run, share)
            return
        others = [self.pool.submit(worker.step, settings, copies, run, share) for worker, share in calls[1:]]
        try:
            calls[0][0].step(settings, copies, run, calls[0][1])
        finally:  # an interrupt waits for the others, which write to the same arrays
            wait(others)
        for other in others:
            other.result()


def state_row(copies: CopyStates, i: int) -> StateArrays:
    """Return the arrays of row ``i``, shared."""
    return StateArrays(*(getattr(copies, name)[i] for name in ROWS[:-1]))


def whole_numbers(values: Sequence[int] | Integers) -> Integers:
    """Return whole numbers as an array."""
    return np.ascontiguousarray(values, np.int64)


def from_library(values: Any) -> Any:
    """Return an array of a library with DLPack as one of NumPy that shares its memory; anything else as it is."""
    return np.from_dlpack(values) if hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray) else values


def as_numbers(values: Any, shape: tuple[int, ...], what: str) -> Array:
    """Return values of the caller as numbers, broadcast to a shape; they may be NaN. InputError for anything else."""
    try:
        numbers = np.asarray(from_library(values), np.float64)
    except (TypeError, ValueError, OverflowError, BufferError, RuntimeError):
        raise InputError(f"{what} is {shown(values)}; it must be an array of numbers of shape {shape}") from None
    try:
        return np.broadcast_to(numbers, shape)
    except ValueError:
        raise InputError(f"{what} has shape {numbers.shape}; the shape {shape} is needed") from None


def room_of(out: Any, shape: tuple[int, ...]) -> Array:
    """Return the memory of ``out``, an array of the caller that is written to; new memory when it is None."""
    if out is None:
        return np.zeros(shape)
    try:
        room: Any = out if isinstance(out, np.ndarray) else np.from_dlpack(out)
    except (TypeError, AttributeError, ValueError, BufferError, RuntimeError):
        raise InputError(f"out is {shown(out)}; it must be an array of NumPy, or one with DLPack") from None
    fits = room.dtype == np.float64 and room.shape == shape and room.flags.c_contiguous
    if not (fits and room.flags.writeable):
        raise InputError(
            f"out is an array {room.dtype} of shape {room.shape}; it must be float64, contiguous and writeable, of "
            f"shape {shape}"
        )
    return np.asarray(room)


def one_step(sim: Simulation, n: int, name: str, value: Any) -> Array:
    """Return the numbers (n, 1, size) of an input for one step of ``n`` copies."""
    place = settable(sim, name)
    size = place.stop - place.start
    shape = (n,) if size == 1 and np.ndim(value) < 2 else (n, size)
    return as_numbers(value, shape, f"input {name!r}").reshape(n, 1, size)


def inputs_of(
    sim: Simulation, n: int, inputs: Any, names: Sequence[str] | None, steps: int | None
) -> tuple[Array, Integers]:
    """Return the inputs of every step (n, steps, numbers), and their slots."""
    if steps is not None:
        whole("steps", steps, 1, 2**31)
    if isinstance(inputs, Mapping):
        parts = [(settable(sim, name), name, from_library(value)) for name, value in inputs.items()]
    else:
        parts = parts_of(sim, n, inputs, names)
    for *_, value in parts:
        many = np.shape(value)[1] if np.ndim(value) > 1 else 1
        if steps is None or (steps == 1 and many > 1):
            steps = many
    if steps is None:
        raise InputError("rollout has no inputs that tell the number of steps; give steps=")
    given = [np.zeros((n, steps, 0))]
    for place, name, value in parts:
        size = place.stop - place.start
        wanted = (n, steps) if size == 1 and np.ndim(value) < 3 else (n, steps, size)
        given.append(as_numbers(value, wanted, f"input {name!r}").reshape(n, steps, size))
    slots = [np.zeros(0, np.int64), *(np.arange(place.start, place.stop) for place, _, _ in parts)]
    return np.ascontiguousarray(np.concatenate(given, axis=2)), np.concatenate(slots).astype(np.int64)


def parts_of(sim: Simulation, n: int, inputs: Any, names: Sequence[str] | None) -> list[tuple[slice, str, Any]]:
    """Return place, name and numbers of each of several inputs in one array."""
    if names is None or isinstance(names, str):
        raise InputError("inputs come in one array, and names= lists which inputs they are, as ['force.cart']")
    places = [settable(sim, name) for name in names]
    size = sum(place.stop - place.start for place in places)
    numbers = np.asarray(from_library(inputs))
    if numbers.ndim != 3 or numbers.shape[2] != size:
        raise InputError(f"inputs have shape {numbers.shape}; the shape ({n}, steps, {size}) is needed")
    found, first = [], 0
    for name, place in zip(names, places, strict=True):
        found.append((place, name, numbers[:, :, first : first + place.stop - place.start]))
        first += place.stop - place.start
    return found


def settable(sim: Simulation, name: str) -> slice:
    """Return the place of an input that holds over a step."""
    system, inputs = sim.system, sim.inputs
    if not isinstance(name, str) or name not in system.inputs:
        raise unknown_name("input", name, system.inputs)
    place = inputs._settable(name)
    if place.start in driver_slots(system) or place.start in inputs._constraining:
        raise InputError(
            f"input {name!r} moves along a step, or is a parameter of a constraint; a Batch takes inputs that hold"
        )
    return place


def plan_of(sim: Simulation, systems: Sequence[System], channels: tuple[str, ...]) -> tuple[Integers, Array, int]:
    """Return the rows, points and size of a list of channels for the kernel."""
    known = dict(kernel_channels(sim.system))
    rows, points, size = [], [], 0
    for name in channels:
        if name not in known:
            sim[name]  # raises UnknownNameError for one that does not exist
            raise InputError(
                f"channel {name!r} is worked out in Python; a rollout writes coordinates of joints in the tree and "
                "motions of points; read it from batch.simulation(copy) after the rollout"
            )
        one: KernelChannel = known[name]
        rows.append((one.kind, one.order, one.dof, size))
        points.append(one.point)
        size += NUMBERS[one.kind]
    found = np.array(rows, np.int64).reshape(-1, 4), np.array(points, np.float64).reshape(1, -1, 3), size
    if len(systems) > 1 and len(channels):
        found = found[0], points_of(systems, channels), size
    return found


def points_of(systems: Sequence[System], channels: Sequence[str]) -> Array:
    """Return the points (n, rows, 3) of channels on the mechanism of each copy, dof axes [m]."""
    found = []
    for system in systems:
        known = dict(kernel_channels(system))
        found.append([known[name].point for name in channels])
    return np.array(found, np.float64)
