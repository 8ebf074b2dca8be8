"""``Instance``: all that the steps of one mechanism read and write, as one struct, and mechanism files that hold it.

A native host holds an Instance in one piece of memory. Its constant tables are those of the System, its scratch that of
the equations, and its state is one contiguous block. A mechanism file has it in relocatable form: a row of words of
eight bytes, little-endian: a header (magic, version of the format, digest of the layout, size, checksum, counts), the
extents of every array, a flag whether it has content, numbers of the struct, ports, text, and the content of the arrays
one after the other. The library knows the layout, so a file holds no address and no place of an array. Everything else
is checked when it is loaded: ``c/runtime.c`` and ``c/check.c``.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rtmbs.ad import operations
from rtmbs.ad.program import SUM, memory_of
from rtmbs.errors import InputError
from rtmbs.export.channels import Port, Ports, TimeProgram
from rtmbs.export.signal_kernels import ROWS
from rtmbs.forces.register import BY_WORD, KINDS
from rtmbs.integrators.penalty_trapezoidal import MOST_PROJECTIONS
from rtmbs.integrators.settings import MAX_ITERATIONS, MOST_TRIES, STATS_SIZE, arrays_of
from rtmbs.jit.struct import struct, words_of
from rtmbs.results.samples import body_graph
from rtmbs.semirecursive.workspace import workspace
from rtmbs.simulation.simulation import Simulation
from rtmbs.simulation.step_checks import half_turns_of
from rtmbs.state import Before

Array = Any  # numba types by value; the shapes stand on the fields
STATE_FIELDS = ("z", "zd", "zdd", "lam", "R0", "energy", "s", "sd", "u", "target", "begun_u")


@struct
class Outputs(NamedTuple):
    """What is read of a state: rows of ``entry_kernels.read_outputs``."""

    plan: Array  # (rows, 4) int64 of ``results.sample_kernels.read_instant``
    points: Array  # (rows, 3) of the same
    reactions: Array  # (joints, 4) int64: row of the wrenches, dof of the second body, ground row, first number
    signs: Array  # (joints,) float64: 1, or -1 where the tree walks the other way
    ends: Array  # (joints, 3) joint point, dof axes [m]
    picked: Array  # (picks, 4) int64: kind of number, row, column, number of ``values``
    energies: Array  # (3,) scratch: kinetic, weight, elastic
    missed: Array  # (3, m) scratch: Phi, Phid, Phidd
    wrenches: Array  # (nb + nl, 6) scratch
    springs: Array  # (springs, measured) scratch
    given: Array  # (wrenches, measured) scratch
    bushings: Array  # (bushings, measured) scratch
    law_forces: Array  # (no,) scratch
    values: Array  # (outputs,) what was read


@struct
class Signals(NamedTuple):
    """Functions of time: k values of f functions."""

    program: Any  # ad.Program of one independent, the time
    memory: Array  # (slots,) scratch
    parameter: Array  # (p,)
    slot: Array  # (k,) int64: input slot of each value
    pointer: Array  # (f + 1,) int64: first value of each function
    driver: Array  # (f,) int64: 1 for value, rate and acceleration of a driver
    watched: Array  # (f,) int64: 1 where jumps are not declared, so the kernel looks for them
    jump_pointer: Array  # (f + 1,) int64: first declared jump of each function
    jump_time: Array  # (jumps,) ascending for each function [s]
    size: float  # typical value of a driver [m or rad]
    instant: Array  # (1,) scratch: a time [s]
    value: Array  # (k,) scratch
    around: Array  # (ROWS, k) scratch of ``signal_kernels``


@struct
class Instance(NamedTuple):
    """One mechanism in motion."""

    tables: Any
    lu: Any
    work: Any
    settings: Any
    ws: Any
    graph: Any
    z: Array  # (n,) the present state, as in ``integrators.settings.StateArrays``
    zd: Array  # (n,)
    zdd: Array  # (n,)
    lam: Array  # (m,)
    R0: Array  # (nr, 3, 3)
    energy: Array  # (n, 2)
    s: Array  # (ns,)
    sd: Array  # (ns,)
    u: Array  # (nu,) inputs now
    target: Array  # (nu,) inputs at the end of the next step
    begun_u: Array  # (nu,) inputs that accelerations, multipliers, sd and balances are those of
    seen_zdd: Array  # (n,) what is read: accelerations, multipliers and sd of the inputs now
    seen_lam: Array  # (m,)
    seen_sd: Array  # (ns,)
    alpha: Array  # (m,) penalty factors
    next_z: Array  # (1, n) the state at the end of a step
    next_zd: Array  # (1, n)
    next_zdd: Array  # (1, n)
    next_lam: Array  # (1, m)
    next_R0: Array  # (1, nr, 3, 3)
    next_energy: Array  # (1, n, 2)
    next_s: Array  # (1, ns)
    next_sd: Array  # (1, ns)
    next_u: Array  # (1, nu)
    stats: Array  # (1, STATS_SIZE)
    clock: Array  # (2,) time at the start and at the end of a step [s]
    after: Array  # (nu,) scratch: inputs at the end of a step, behind its jumps
    signals: Signals
    penalty: float  # dimensionless c of which alpha is made; 0 where alpha is given
    freedom: int  # degrees of freedom near the start
    turns: Array  # (bushings, 3) rotation vectors of the bushings at the start of a step [rad]
    turning: Array  # (bushings,) int64: 1 where the rotation of a bushing moves a force of it
    outputs: Outputs


def instance_of(sim: Simulation, ports: Ports) -> Instance:
    """Return the Instance of a Simulation at its present state; arrays are its own.

    Parameters
    ----------
    sim : Simulation
        Simulation by ``PenaltyTrapezoidal`` with the fused step.
    ports : Ports
        Inputs, outputs and functions of time.

    Returns
    -------
    Instance
        Arrays of the mechanism.
    """
    equations, present = sim.equations, sim.snapshot()
    before = present.before or Before(present.u, present.zdd, present.lam, present.sd)
    state = replace(present, zdd=before.zdd.copy(), lam=before.lam.copy(), sd=before.sd.copy(), before=None)
    tables, n, m = equations.tables, equations.n, equations.m
    work = sim.method.start(equations, state)
    ns, nu, nr = len(state.s), len(state.u), len(state.R0)
    graph, forces = body_graph(sim.system), tables.forces
    measured = [np.zeros((len(getattr(forces, kind.name).connector), kind.measured)) for kind in KINDS]
    outputs = Outputs(
        plan=ports.plan, points=ports.points, reactions=ports.reactions, signs=ports.signs, ends=ports.ends,
        picked=ports.picked, energies=np.zeros(3), missed=np.zeros((3, m)),
        wrenches=np.zeros((len(graph.dof) + len(graph.connector_a), 6)), springs=measured[0], given=measured[1],
        bushings=measured[2], law_forces=np.zeros(len(tables.laws.row)), values=np.zeros(ports.size),
    )  # fmt: skip
    return Instance(
        tables=tables, lu=equations.lu, work=type(equations.work)(*(np.zeros_like(part) for part in equations.work)),
        settings=work.settings, ws=workspace(tables), graph=graph,
        z=state.z, zd=state.zd, zdd=state.zdd, lam=state.lam, R0=state.R0, energy=arrays_of(state).energy,
        s=state.s, sd=state.sd, u=state.u, target=state.u.copy(), begun_u=before.u.copy(), seen_zdd=np.zeros(n),
        seen_lam=np.zeros(m), seen_sd=np.zeros(ns), alpha=sim.method.penalties_of(state),
        next_z=np.zeros((1, n)), next_zd=np.zeros((1, n)), next_zdd=np.zeros((1, n)), next_lam=np.zeros((1, m)),
        next_R0=np.zeros((1, nr, 3, 3)), next_energy=np.zeros((1, n, 2)), next_s=np.zeros((1, ns)),
        next_sd=np.zeros((1, ns)), next_u=np.zeros((1, nu)), stats=np.zeros((1, STATS_SIZE)),
        clock=np.zeros(2), after=np.zeros(nu),
        signals=signals_of(sim, ports.time), penalty=float(sim.method.c or 0.0),
        freedom=int(sim.start_report.degrees_of_freedom_nearby),
        turns=np.zeros((len(measured[2]), 3)), turning=turning_bushings(sim), outputs=outputs,
    )  # fmt: skip


def signals_of(sim: Simulation, time: TimeProgram) -> Signals:
    """Return the functions of time of a Simulation."""
    found, jumps = sim.system.signals, [signal.jumps or () for signal in sim.system.signals]
    count = len(time.slot)
    return Signals(
        program=time.program, memory=memory_of(time.program), parameter=time.parameter, slot=time.slot,
        pointer=np.cumsum([0, *(signal.size for signal in found)], dtype=np.int64),
        driver=np.array([signal.driver for signal in found], np.int64),
        watched=np.array([signal.jumps is None for signal in found], np.int64),
        jump_pointer=np.cumsum([0, *map(len, jumps)], dtype=np.int64),
        jump_time=np.array([one for times in jumps for one in times], np.float64),
        size=min(float(sim.system.length), 1.0), instant=np.zeros(1), value=np.zeros(count),
        around=np.zeros((ROWS, count)),
    )  # fmt: skip


def turning_bushings(sim: Simulation) -> Array:
    """Return 1 for the bushings of which a rotation moves a force, else 0, (bushings,) int64."""
    check = half_turns_of(sim.system, sim.equations.tables)
    names = check.names if check else []
    return np.array([check.acts(k, sim.state.u) for k in range(len(names))] if check else [], np.int64)


MAGIC, FORMAT, WORD, HEADER = b"RTMBS\0MF", 1, 8, 16
PARAMETER, INPUT, OUTPUT = range(3)
CONSTANT, SCRATCH, STATE = "CONSTANT", "SCRATCH", "STATE"
WRITTEN = ("ws.", "work.", "next_", "seen_")  # scratch: what begins so, or is listed below
SCRATCHES = (
    "stats", "clock", "after", "signals.memory", "signals.instant", "signals.value", "signals.around",
    "turns", "outputs.energies", "outputs.missed",
    "outputs.wrenches", "outputs.springs", "outputs.given", "outputs.bushings", "outputs.law_forces", "outputs.values",
)  # fmt: skip
LETTERS = {"f": "f", "i": "i", "u": "u", "b": "b"}
OFFSET, PRIME, MASK, SHIFT = 0xCBF29CE484222325, 0x100000001B3, 2**64 - 1, 29  # of the checksum
COUNTED = 4  # word of the checksum


CONSTANTS = {  # of kernels, as checks of files in C need them
    "OP_TRUTH": operations.TRUTH, "OP_SELECT": operations.SELECT, "OP_SUM": SUM, "STATS_SIZE": STATS_SIZE,
    "MAX_ITERATIONS": MAX_ITERATIONS, "MOST_TRIES": MOST_TRIES, "MOST_PROJECTIONS": MOST_PROJECTIONS,
    "SPRING_NUMBERS": BY_WORD["spring"].measured, "GIVEN_NUMBERS": BY_WORD["wrench"].measured,
    "BUSHING_NUMBERS": BY_WORD["bushing"].measured, "SIGNAL_ROWS": ROWS,
}  # fmt: skip


class Leaf(NamedTuple):
    """An array or a number of a struct."""

    name: str
    word: int  # first word in the memory of the struct
    value: Any

    @property
    def storage(self) -> str:
        """Return where the library keeps the array."""
        if self.name in STATE_FIELDS:
            return STATE
        return SCRATCH if self.name.startswith(WRITTEN) or self.name in SCRATCHES else CONSTANT


def leaves(value: Any, prefix: str = "", word: int = 0) -> Iterator[Leaf]:
    """Yield arrays and numbers of a struct in the order of its memory."""
    for name, part in zip(value._fields, value, strict=True):
        if isinstance(part, tuple):
            yield from leaves(part, f"{prefix}{name}.", word)
        else:
            yield Leaf(prefix + name, word, part)
        word += len(words_of(part))


def layout_header(example: Instance, version: str) -> str:
    """Return ``layout.h``: places of arrays and numbers in the memory of an Instance.

    Parameters
    ----------
    example : Instance
        Any Instance: the layout is the same for all.
    version : str
        Version of rtmbs.

    Returns
    -------
    str
        Text of a C header.
    """
    found = list(leaves(example))
    arrays = [leaf for leaf in found if isinstance(leaf.value, np.ndarray)]
    numbers = [leaf for leaf in found if not isinstance(leaf.value, np.ndarray)]
    names = [leaf.name.replace(".", "_") for leaf in arrays]
    rows = [
        f"    {{{leaf.word}, {leaf.value.dtype.itemsize}, {leaf.value.ndim}, {leaf.storage}, "
        f"'{LETTERS[leaf.value.dtype.kind]}', \"{leaf.name}\"}}, \\"
        for leaf in arrays
    ]
    words = len(words_of(example))
    return "\n".join(
        [
            "/* Made by rtmbs.export.instance for the kernels beside it. */",
            f'#define RTMBS_VERSION "{version}"',
            f"#define LAYOUT 0x{layout_digest(example):016x}u",
            f"enum {{ WORD_COUNT = {words}, LEAF_COUNT = {len(arrays)}, SCALAR_COUNT = {len(numbers)} }};",
            "enum {", *(f"    {name} = {value}," for name, value in CONSTANTS.items()), "};",
            "enum {", *(f"    L_{name}," for name in names), "};",
            "enum {", *(f"    W_{leaf.name.replace('.', '_')} = {leaf.word}," for leaf in numbers), "};",
            "static const int RTMBS_SCALARS[] = {", *(f"    {leaf.word}," for leaf in numbers), "};",
            "#define RTMBS_LEAF_ROWS \\", *rows, "", "",
        ]
    )  # fmt: skip


def layout_digest(example: Instance) -> int:
    """Return a digest of names and types of all arrays and numbers."""
    lines = []
    for leaf in leaves(example):
        kind = f"{leaf.value.dtype} {leaf.value.ndim}" if isinstance(leaf.value, np.ndarray) else "number"
        lines.append(f"{leaf.name} {leaf.word} {leaf.storage} {kind}")
    return int.from_bytes(hashlib.sha256("\n".join(lines).encode()).digest()[:8], "little")


def mechanism_bytes(instance: Instance, ports: Ports, name: str, token: str, start: float) -> bytes:
    """Return a mechanism file.

    Parameters
    ----------
    instance : Instance
        Arrays of the mechanism at its start.
    ports : Ports
        Inputs and outputs.
    name : str
        Name of the model.
    token : str
        Identity of the FMU.
    start : float
        Time of the start [s].

    Returns
    -------
    bytes
        Content of the file.

    Raises
    ------
    InputError
        For an Instance of a big-endian machine.
    """
    if np.dtype(np.int64).newbyteorder("=").str[0] == ">" or np.dtype(np.int64).str[0] == ">":
        raise InputError("mechanism files are little-endian; export on a little-endian machine")
    extents, flags, numbers, content = [], [], [], []
    for leaf in leaves(instance):
        if not isinstance(leaf.value, np.ndarray):
            numbers += words_of(leaf.value)
            continue
        extents += leaf.value.shape
        flags.append(int(bool(leaf.value.size and np.any(leaf.value != 0))))
        if flags[-1]:
            content.append(padded(np.ascontiguousarray(leaf.value).tobytes()))
    text, places = text_of([name, token, *(part for port in all_ports(ports) for part in (port.name, port.unit))])
    records = [record(port, places, INPUT if port.input else PARAMETER) for port in ports.settable]
    records += [record(port, places, OUTPUT) for port in ports.outputs]
    body = words(extents) + words(flags) + words(numbers) + b"".join(records) + text + b"".join(content)
    head = [FORMAT, layout_digest(instance), HEADER * WORD + len(body), 0, len(extents), len(flags), len(numbers)]
    head += [len(records), len(text), len(b"".join(content)), float_word(start), int(len(ports.time.slot) > 0)]
    head += [places[name], places[token], 0]
    data = bytearray(MAGIC + words(head) + body)
    data[COUNTED * WORD : (COUNTED + 1) * WORD] = checksum(bytes(data)).to_bytes(WORD, "little")
    return bytes(data)


def all_ports(ports: Ports) -> tuple[Port, ...]:
    """Return inputs and parameters, then outputs."""
    return (*ports.settable, *ports.outputs)


def record(port: Port, places: dict[str, int], kind: int) -> bytes:
    """Return a port as its six words."""
    return words([places[port.name], places[port.unit], port.place, kind, int(port.ramp), float_word(port.start)])


def words(numbers: Any) -> bytes:
    """Return whole numbers as words of eight bytes; those from 2**63 on keep their bits."""
    return b"".join((int(number) & MASK).to_bytes(WORD, "little") for number in numbers)


def float_word(number: float) -> int:
    """Return the bits of a float as a whole number."""
    return int(np.float64(number).view(np.int64))


def padded(data: bytes) -> bytes:
    """Return bytes with zeros up to a whole number of words."""
    return data + bytes(-len(data) % WORD)


def text_of(parts: list[str]) -> tuple[bytes, dict[str, int]]:
    """Return strings one after the other, each ended by a zero byte, and the place of each."""
    text, places = b"", {}
    for part in parts:
        if part not in places:
            places[part] = len(text)
            text += part.encode() + b"\0"
    return padded(text + b"\0"), places


def checksum(data: bytes) -> int:
    """Return the checksum of a file of which the word of the checksum is zero."""
    total = OFFSET
    for word in np.frombuffer(data, np.uint64).tolist():
        total = (total ^ word) * PRIME & MASK
        total ^= total >> SHIFT
    return total
