"""Arrays of a rollout: inputs and channels of all copies, in NumPy or any library that has DLPack."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.integrators.checks import whole
from rtmbs.results.sample_kernels import NUMBERS
from rtmbs.simulation.channel_reader import KernelChannel, kernel_channels
from rtmbs.simulation.inputs import driver_slots
from rtmbs.simulation.simulation import Simulation
from rtmbs.system.system import System

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


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
