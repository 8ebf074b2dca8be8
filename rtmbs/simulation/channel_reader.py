"""Channels of one State by name: coordinates, points and rotations by one kernel call, others as a Result has them.

A list of names is prepared at its first call, and kept.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter, is_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.names import selected
from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.integrators.settings import StateArrays
from rtmbs.jit.compile_progress import announced
from rtmbs.jit.compiled import entry_for
from rtmbs.numerics.rotations.quaternions import quaternions
from rtmbs.results.catalogue import sources
from rtmbs.results.channel import Source
from rtmbs.results.sample_kernels import ATTITUDE, COORDINATE, PLACE, TURN, read_instant
from rtmbs.results.samples import OF_STATE, Evaluation, Samples
from rtmbs.semirecursive.workspace import Workspace, workspace
from rtmbs.state import State, is_usual
from rtmbs.system.system import System
from rtmbs.system.tables import Tables

Array = NDArray[np.float64]
NO_ENERGY = np.zeros((0, 2))
LOOKED_AT = ("z", "zd", "zdd", "R0", "u")
READ = attrgetter(*LOOKED_AT)  # what the kernel looks at


class KernelChannel(NamedTuple):
    """A channel that the kernel reads."""

    kind: int
    order: int  # 0 value, 1 rate, 2 acceleration
    dof: int
    point: Array  # (3,) dof axes [m]; of an orientation the Rodrigues parameters of the body in its dof


class ReadPlan(NamedTuple):
    """A list of channels, prepared."""

    rows: NDArray[np.int64]  # (k, 4) of ``read_instant``
    points: Array  # (k, 3)
    others: tuple[tuple[str, slice], ...]  # channels that a Result works out, and where their numbers go
    size: int


class StateChannels(NamedTuple):
    """Every channel of one State."""

    samples: Samples  # the state that channels are worked out of, overwritten by the next
    resampled: Evaluation
    channels: dict[str, Source]


class ChannelReader:
    """Reader of channels of one State after the other; scratch is allocated once."""

    def __init__(self, system: System, tables: Tables, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.system, self.tables = system, tables
        self.shapes, self.looked_at = shapes, [(name, shapes[name]) for name in LOOKED_AT]
        self.ws: Workspace = workspace(tables)
        self.plans: dict[tuple[str, ...], ReadPlan] = {}
        self.kernel: Callable[..., Any] | None = None
        self.quick: dict[str, KernelChannel] | None = None
        self.known: list[tuple[tuple[Any, ...], StateArrays]] = []
        self.all_channels: StateChannels | None = None

    def value(self, name: Any, state: State) -> Any:
        """Return one channel, a number or an array (components,), or several by name. Raises UnknownNameError."""
        values = self.sources(state)
        if (several := selected("channel", name, values)) is not None:
            return {each: self.value(each, state) for each in several}
        if not isinstance(name, str) or name not in values:
            raise unknown_name("channel", name, values)
        found = values[name].channel(name).values[0]
        return float(found) if found.ndim == 0 else np.array(found)

    def values(self, names: Sequence[str], state: State) -> Array:
        """Return the numbers of several channels, one after the other (k,). Raises UnknownNameError, InputError."""
        try:
            plan = self.plans.get(key := tuple(names))
        except TypeError:  # no list, or one that holds what nothing can be looked up by
            plan = None
        if plan is None:
            key = checked_names(names)
            plan = self.plans[key] = self.plan(key, state)
        out = np.empty(plan.size)
        if len(plan.rows):
            self.call(plan, state, out)
        if plan.others:
            values = self.sources(state)
            for name, place in plan.others:
                out[place] = values[name].channel(name).values[0]
        return out

    def call(self, plan: ReadPlan, state: State, out: Array) -> None:
        """Let the kernel write its part of ``out``."""
        arrays = self.kernel_state(state)
        arguments = (self.tables, plan.rows, plan.points, arrays, state.u, self.ws, out)
        if self.kernel is None:
            with announced():
                self.kernel = entry_for(read_instant, arguments)
        self.kernel(*arguments)

    def kernel_state(self, state: State) -> StateArrays:
        """Return the arrays of a state as the kernel takes them; those of the last two states are known."""
        found = READ(state)
        for known, arrays in self.known:
            if all(map(is_, found, known)):
                return arrays
        for name, shape in self.looked_at:
            if not is_usual(getattr(state, name), shape):
                state.validate({name: shape}, {})
        arrays = StateArrays(state.z, state.zd, state.zdd, state.lam, state.R0, NO_ENERGY)
        self.known = [*self.known[-1:], (READ(state), arrays)]
        return arrays

    def sources(self, state: State) -> dict[str, Source]:
        """Return every channel of a state; none is worked out yet. Raises StateError for what a step refuses.

        The channels are those of the next state too, when they are next asked for.
        """
        state.validate(self.shapes, {})
        if self.all_channels is None:  # an interrupt leaves the whole of it, or nothing
            samples = Samples(np.array([state.t]), *(getattr(state, name)[None].copy() for name in OF_STATE))
            resampled = Evaluation(self.system, self.tables, samples)
            self.all_channels = StateChannels(samples, resampled, sources(self.system, resampled))
            return self.all_channels.channels
        samples, resampled, channels = self.all_channels
        samples.t[0] = state.t
        for name in OF_STATE:
            getattr(samples, name)[0] = getattr(state, name)
        resampled.forget()
        return channels

    def plan(self, names: tuple[str, ...], state: State) -> ReadPlan:
        """Return the plan of a list of channels."""
        offered = self.sources(state)
        if self.quick is None:
            self.quick = {name: one for name, one in kernel_channels(self.system) if name in offered}
        rows: list[tuple[int, ...]] = []
        points, others, first = [], [], 0
        for name in names:
            if name not in offered:
                raise unknown_name("channel", name, offered)
            size = max(len(offered[name].axes), 1)
            if (one := self.quick.get(name)) is not None:
                rows.append((one.kind, one.order, one.dof, first))
                points.append(one.point)
            else:
                others.append((name, slice(first, first + size)))
            first += size
        table = np.array(rows, np.int64).reshape(len(rows), 4)
        return ReadPlan(table, np.array(points, np.float64).reshape(len(rows), 3), tuple(others), first)


def checked_names(names: Any) -> tuple[str, ...]:
    """Return a list of channels as a key; InputError for anything else."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InputError(f"read takes a list of channels such as ['crank.position'], not {shown(names)}")
    for name in (key := tuple(names)):
        if not isinstance(name, str):
            raise InputError(f"read takes names of channels; {shown(name)} is none")
    return key


def kernel_channels(system: System) -> Iterator[tuple[str, KernelChannel]]:
    """Yield the channels that the kernel reads: tree coordinates, points and rotations of moving bodies, markers."""
    none = np.zeros(3)
    for info in system.joints.values():
        for k, coordinate in enumerate(info.coordinates if info.in_tree else ()):
            for order, suffix in enumerate(("", "_rate", "_acceleration")):
                one = KernelChannel(COORDINATE, order, info.dofs[k], none)
                yield f"{info.name}.{coordinate}{suffix}", one
                if suffix and len(info.coordinates) == 1:
                    yield f"{info.name}.{suffix[1:]}", one
    moving = {name: body for name, body in system.bodies.items() if body.dof >= 0}
    for name, body in moving.items():
        yield from point_channels(name, body.dof, body.position)
        center = body.position + body.rotation @ body.center_of_mass
        yield f"{name}.mass_center", KernelChannel(PLACE, 0, body.dof, center)
        yield f"{name}.angular_velocity", KernelChannel(TURN, 1, body.dof, none)
        yield f"{name}.angular_acceleration", KernelChannel(TURN, 2, body.dof, none)
        yield f"{name}.orientation", KernelChannel(ATTITUDE, 0, body.dof, modified_rodrigues(body.rotation))
    for name, marker in system.markers.items():
        if marker.dof >= 0:
            yield from point_channels(name, marker.dof, marker.position)


def modified_rodrigues(R: Array) -> Array:
    """Return the modified Rodrigues parameters (3,) of a rotation (3, 3): the vector of its quaternion over 1 + w."""
    q = quaternions(R[None])[0]
    return np.asarray(q[1:] / (1.0 + q[0]))


def point_channels(name: str, dof: int, point: Array) -> Iterator[tuple[str, KernelChannel]]:
    """Yield position, velocity and acceleration of a point (3,) in axes of its dof."""
    for order, what in enumerate(("position", "velocity", "acceleration")):
        yield f"{name}.{what}", KernelChannel(PLACE, order, dof, point)
