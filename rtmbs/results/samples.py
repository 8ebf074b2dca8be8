"""Samples of a run: the states that a Recorder keeps, and their evaluation at first use.

Samples evaluated at their first use: frames, wrenches, closures, forces and energies for channels.

Raw samples of a run: the states that a Recorder keeps and channels are evaluated from.

Graph of the bodies of a model, rigidly joined ones apart: parents, and the bodies that each connector joins.

Dofs merge welded bodies; the reaction in a weld needs them apart again.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from rtmbs.forces.kind import ForceKind
from rtmbs.integrators.report import doubtful_steps
from rtmbs.integrators.settings import Chunk
from rtmbs.jit.struct import struct
from rtmbs.results.channel import Array
from rtmbs.results.sample_kernels import (
    REPLAY,
    resample_closures,
    resample_coordinate_forces,
    resample_energies,
    resample_frames,
    resample_law_forces,
    resample_wrenches,
)
from rtmbs.semirecursive.force_kernels import call_laws
from rtmbs.semirecursive.workspace import workspace
from rtmbs.state import State
from rtmbs.system.components import WORLD
from rtmbs.system.system import System
from rtmbs.system.tables import GRAVITY_SLOT, Tables


@struct
class Samples(NamedTuple):
    """States at S instants."""

    t: Array  # (S,) [s]
    z: Array  # (S, n) [rad or m]
    zd: Array  # (S, n)
    zdd: Array  # (S, n)
    lam: Array  # (S, m) [N or N m]
    R0: Array  # (S, nr, 3, 3) reference rotations
    u: Array  # (S, nu) inputs
    s: Array = np.zeros((0, 0))  # (S, ns) states of force laws
    doubtful: Array = np.zeros(0)  # (S,) 1 where the step that led here ended other than CONVERGED; (0,) unknown


OF_STATE = Samples._fields[1:-1]  # what a State has too


def samples_of(t: Array, chunk: Chunk) -> Samples:
    """Return a chunk of a run at the times ``t`` (S,) as samples; shares memory with them."""
    kept = {name: getattr(chunk, name) for name in OF_STATE}
    return Samples(t=t, **kept, doubtful=doubtful_steps(chunk.stats))


def one_sample(state: State) -> Samples:
    """Return a state as a single sample; shares memory with it."""
    return Samples(np.array([state.t]), *(getattr(state, name)[None] for name in OF_STATE))


def select_samples(samples: Samples, which: Any) -> Samples:
    """Return some samples, by their numbers or a slice."""
    doubtful = samples.doubtful[which] if len(samples.doubtful) else samples.doubtful
    return Samples(**{name: getattr(samples, name)[which] for name in ("t", *OF_STATE)}, doubtful=doubtful)


@struct
class BodyGraph(NamedTuple):
    """Bodies without ground, parents before children, and the connectors of the System; -1 is ground."""

    dof: Array  # (nb,) int64: the dof that carries the body, -1 for one welded to ground
    center: Array  # (nb, 3) mass centre, dof axes [m]
    mass: Array  # (nb,) [kg]
    inertia: Array  # (nb, 3, 3) about the mass centre, dof axes [kg m^2]
    parent: Array  # (nb,) int64
    connector_a: Array  # (nl,) int64: body that a closure or a force acts on with -F
    connector_b: Array  # (nl,) int64: body it acts on with F


_graphs: WeakKeyDictionary[System, BodyGraph] = WeakKeyDictionary()


def body_graph(system: System) -> BodyGraph:
    """Return the graph of a System, built once."""
    if system not in _graphs:
        _graphs[system] = build_graph(system)
    return _graphs[system]


def body_numbers(system: System) -> dict[str, int]:
    """Return the number of every body in the graph; ground has -1."""
    topology = system.topology
    return {topology.bodies[0]: -1} | {topology.bodies[one.child]: k for k, one in enumerate(topology.tree)}


def entered_from(system: System, joint: str) -> tuple[int, bool]:
    """Return the body (graph number) that the tree enters through ``joint``, and whether it walks from b to a."""
    topology = system.topology
    for k, branch in enumerate(topology.tree):
        if topology.edges[branch.edge].name == joint:
            return k, branch.reversed
    raise KeyError(joint)


def build_graph(system: System) -> BodyGraph:
    """Return the graph of a System."""
    number, topology = body_numbers(system), system.topology
    infos = [system.bodies[topology.bodies[branch.child]] for branch in topology.tree]
    parents = [number[topology.bodies[branch.parent]] for branch in topology.tree]
    closed = zip(system.tables.closures.connector.tolist(), system.closure_names, strict=True)
    ends = {connector: closure_ends(system, name) for connector, name in closed}
    ends |= {force.connector: (force.a, force.b) for force in system.forces.values() if force.connector >= 0}
    pairs = [ends[connector] for connector in range(len(ends))]
    nb = len(infos)
    return BodyGraph(
        dof=np.array([info.dof for info in infos], np.int64),
        center=np.reshape([info.position + info.rotation @ info.center_of_mass for info in infos], (nb, 3)),
        mass=np.array([info.mass for info in infos], np.float64),
        inertia=np.reshape([info.rotation @ info.inertia @ info.rotation.T for info in infos], (nb, 3, 3)),
        parent=np.array(parents, np.int64),
        connector_a=np.array([number[a] for a, _ in pairs], np.int64),
        connector_b=np.array([number[b] for _, b in pairs], np.int64),
    )


def closure_ends(system: System, name: str) -> tuple[str, str]:
    """Return the bodies that a closure joins. An auxiliary body is massless: what acts on it acts on the body it hangs
    on, a.
    """
    if name in system.joints:
        return system.joints[name].a, system.joints[name].b
    bodies = system.topology.bodies
    connector = next((connector for connector in system.topology.connectors if connector.name == name), None)
    if connector is None:  # a coupler acts inside joints
        return bodies[0], bodies[0]
    return bodies[connector.a], bodies[connector.b]


BLOCK_BYTES = 64_000_000  # memory of one block of evaluated rows
FRAME = 27  # numbers a dof: A (9), r (3), V (6), acc (6), o (3)


class DofMotion(NamedTuple):
    """Frame and motion of one dof over all samples, world axes at the origin of its part."""

    A: Array  # (S, 3, 3) dof axes to world
    r: Array  # (S, 3) from that origin [m]
    V: Array  # (S, 6) [v, omega]
    acc: Array  # (S, 6) plain derivative of V, ground accelerating with -g
    o: Array  # (S, 3) that origin [m]
    g: Array  # (S, 3) gravity


class Evaluation:
    """Samples of one System evaluated on demand and kept, a block of rows at a time.

    It has a workspace of its own, so nothing that a simulation uses changes. Several that are asked in turn may share
    ``ws``: nothing stays in it from one question to the next.
    """

    def __init__(
        self, system: System, tables: Tables, samples: Samples, block_bytes: int = BLOCK_BYTES, ws: Any = None
    ) -> None:
        self.system, self.tables, self.samples = system, tables, samples
        self.n, self.m = samples.z.shape[1], samples.lam.shape[1]
        self.block_bytes = block_bytes
        if ws is not None:
            self.ws = ws
        self.rank_held = False  # states of self-stress are those of a closed pose nearby, for derivatives
        self.drivers_given = False  # forces of drivers are given, and not shared
        self.shared: dict[bool, Any] = {}  # what shared reactions add (``shared_reactions``)
        self.coordinates: dict[str, Any] = {}  # what cut joints measure, by joint
        self.touches: dict[str, Any] = {}  # nearest points of two shapes, by contact
        self.last_body: tuple[Any, Any] | None = None  # motion of the body that was asked for last
        self._measured: dict[str, Array] = {}
        self._frames = RowBlocks(self.n, FRAME, len(samples.t), self._evaluate_frames, block_bytes)

    @cached_property
    def ws(self) -> Any:
        """The workspace, made at the first evaluation: many results serve coordinates only."""
        return workspace(self.tables)

    def forget(self) -> None:
        """Drop all evaluations, because the samples were overwritten."""
        self._frames.blocks.clear()
        self._measured.clear()
        self.coordinates.clear()
        self.touches.clear()
        self.shared.clear()
        self.last_body = None
        for name in ("closures", "energies", "law_forces", "_wrenches"):
            self.__dict__.pop(name, None)

    @cached_property
    def graph(self) -> BodyGraph:
        """The bodies as the user drew them."""
        return body_graph(self.system)

    def motion(self, dof: int) -> DofMotion:
        """Return the motion of a dof; a negative one is ground, as seen from the origin of that row."""
        g = self.samples.u[:, GRAVITY_SLOT : GRAVITY_SLOT + 3]
        S = len(g)
        if dof < 0:
            still = np.zeros((S, 6))
            A = np.broadcast_to(np.eye(3), (S, 3, 3))
            seeing = np.flatnonzero(self.tables.origins.row == dof)
            o = self.motion(int(seeing[0])).o if dof < WORLD else still[:, :3]
            return DofMotion(A, -o, still, np.concatenate((-g, still[:, 3:]), axis=1), o, g)
        row = self._frames.row(dof)
        return DofMotion(row[:, :9].reshape(S, 3, 3), row[:, 9:12], row[:, 12:18], row[:, 18:24], row[:, 24:], g)

    def row(self, dof: int) -> int:
        """Return the row of ground that the part of a dof sees."""
        return int(self.tables.origins.row[dof]) if dof >= 0 else dof

    def body_wrench(self, body: int) -> Array:
        """Return the wrench on a body of the graph from its parent (S, 6), at its part's origin [N, N m]."""
        return self._wrenches.row(body)

    def connector_wrench(self, connector: int) -> Array:
        """Return the wrench of a connector on its body b (S, 6), at the origin of its part [N, N m]."""
        return self._wrenches.row(len(self.graph.dof) + connector)

    def all_wrenches(self) -> Array:
        """Return ``body_wrench`` of all bodies of the graph, then ``connector_wrench`` of all connectors (S, k, 6)."""
        return self._wrenches.all()

    def all_frames(self) -> Array:
        """Return A (9), r (3), V (6), acc (6) and o (3) of all dofs, as ``motion`` has them (S, n, 27)."""
        return self._frames.all()

    @cached_property
    def closures(self) -> Array:
        """Phi, Phid, Phidd (3, S, m) [m or 1, ...]."""
        out = np.zeros((3, len(self.samples.t), self.m))
        resample_closures(self.tables, self.samples, self.ws, out)
        return out

    @cached_property
    def energies(self) -> Array:
        """Kinetic, gravity, elastic (3, S) [J]."""
        out = np.zeros((3, len(self.samples.t)))
        resample_energies(self.tables, self.samples, self.ws, out)
        return out

    def measured(self, kind: ForceKind) -> Array:
        """Return the measured quantities of the elements of a kind of force (S, elements, numbers)."""
        if kind.name not in self._measured:
            elements = len(getattr(self.tables.forces, kind.name).connector)
            out = np.zeros((len(self.samples.t), elements, kind.measured))
            REPLAY[kind.name](self.tables, self.samples, self.ws, out)
            self._measured[kind.name] = out
        return self._measured[kind.name]

    @cached_property
    def law_forces(self) -> Array:
        """Generalised forces (S, no) of the force laws on joints [N m, N]."""
        out = np.zeros((len(self.samples.t), len(self.tables.laws.row)))
        for samples, part in self._evaluated(out):
            resample_law_forces(self.tables, samples, self.ws, part)
        return out

    def some(self, block: slice) -> "Evaluation":
        """Return some of the samples, with the workspace of these."""
        samples = Samples(*(array[block] for array in self.samples))
        part = Evaluation(self.system, self.tables, samples, self.block_bytes, self.ws)
        part.rank_held, part.drivers_given = self.rank_held, self.drivers_given
        return part

    def with_multipliers(self, lam: Array) -> "Evaluation":
        """Return the same samples with other multipliers ``lam`` (S, m)."""
        return Evaluation(self.system, self.tables, self.samples._replace(lam=lam), self.block_bytes, self.ws)

    def coordinate_forces(self, closure: int) -> Array:
        """Return the forces of a coupler on its coordinates, -Phi_z^T lam (S, k) [N m, N]."""
        connectors = self.tables.connectors
        out = np.zeros((len(self.samples.t), int(connectors.pointer[closure + 1] - connectors.pointer[closure])))
        resample_coordinate_forces(self.tables, self.samples, self.ws, closure, out)
        return out

    def _evaluated(self, out: Array) -> Iterator[tuple[Samples, Array]]:
        """Yield samples with their rows of ``out``: all at once, or one by one with the called laws evaluated."""
        if not self.system.called:
            yield self.samples, out
            return
        for s in range(len(self.samples.t)):
            sample = Samples(*(array[s : s + 1] for array in self.samples))
            self.ws.z[:], self.ws.zd[:] = sample.z[0], sample.zd[0]
            call_laws(self.system, self.tables, sample.R0[0], sample.u[0], self.ws)
            yield sample, out[s : s + 1]

    @cached_property
    def _wrenches(self) -> "RowBlocks":
        rows = len(self.graph.dof) + len(self.graph.connector_a)
        return RowBlocks(rows, 6, len(self.samples.t), self._evaluate_wrenches, self.block_bytes)

    def _evaluate_wrenches(self, first: int, out: Array) -> None:
        scratch = np.zeros((len(self.graph.dof) + len(self.graph.connector_a), 6))
        for samples, part in self._evaluated(out):
            resample_wrenches(self.tables, self.graph, samples, self.ws, scratch, first, part)

    def _evaluate_frames(self, first: int, out: Array) -> None:
        resample_frames(self.tables, self.samples, self.ws, first, out)


class RowBlocks:
    """Rows (S, width) evaluated over all samples in blocks: each block at its first use, and kept."""

    def __init__(
        self, rows: int, width: int, samples: int, evaluate: Callable[[int, Array], Any], block_bytes: int
    ) -> None:
        self.rows, self.width, self.samples, self.evaluate = rows, width, samples, evaluate
        self.size = max(1, block_bytes // max(8 * width * samples, 1))  # rows a block
        self.blocks: dict[int, Array] = {}

    def all(self) -> Array:
        """Return all rows (S, rows, width)."""
        for first in range(0, self.rows, self.size):
            self.row(first)
        return np.concatenate(
            [np.zeros((self.samples, 0, self.width)), *(self.blocks[k] for k in sorted(self.blocks))], axis=1
        )

    def row(self, k: int) -> Array:
        """Return row ``k`` (S, width)."""
        block, place = divmod(k, self.size)
        if block not in self.blocks:
            first = block * self.size
            out = np.zeros((self.samples, min(self.size, self.rows - first), self.width))
            self.evaluate(first, out)
            self.blocks[block] = out
        return self.blocks[block][:, place]
