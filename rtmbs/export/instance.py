"""``Instance``: everything that the steps of one mechanism read and write, as one struct for the entry kernels.

A native host holds an Instance in one piece of memory. Its constant tables are those of the System, its scratch that of
the equations, and its state is one contiguous block. ``mechanism_file`` writes it.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rtmbs.ad.program import memory_of
from rtmbs.export.channels import Ports
from rtmbs.export.signal_kernels import ROWS
from rtmbs.export.time_functions import TimeProgram
from rtmbs.forces.register import KINDS
from rtmbs.integrators.settings import STATS_SIZE, arrays_of
from rtmbs.jit.struct import struct
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
