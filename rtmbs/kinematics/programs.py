"""Programs of Phi and its derivatives, compiled from one recorded tape."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rtmbs.ad.derivative_tapes import gradient_tape, sparse_jacobian, tangent_tape
from rtmbs.ad.evaluator import ProgramRunner
from rtmbs.ad.operations import INPUT
from rtmbs.ad.tape import Tape
from rtmbs.ad.trace import record
from rtmbs.kinematics.equations import KinematicEquations

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

KINDS = VALUES, BY_DRIVERS, SECOND, BEND = (  # of evaluations of the tape, as they are counted
    "values and Jacobian",
    "derivatives by drivers",
    "second derivatives",
    "least velocity",
)


class SparseProgram(NamedTuple):
    """Program of the entries of a matrix, after the values of the function where it has these."""

    run: ProgramRunner
    row: Integers
    column: Integers


class Programs:
    """Programs from the tape of Phi(q, f): q (n,) are unknowns, f (nf,) drivers and counted turns.

    Along a motion x = (q, f): Phi_q qd + Phi_f fd = 0 and Phi_q qdd + Phi_f fdd + (Phi_x xd)_x xd = 0, where
    Phi_f fd = Phi_t, and the last term and Phi_f fdd are (Phi_q qd)_q qd + 2 Phi_qt qd + Phi_tt.
    """

    def __init__(self, equations: KinematicEquations) -> None:
        self.n, self.m, self.nf = equations.n, equations.m, equations.nf
        self.drivers = len(equations.profiles)
        self.equations = equations
        self.tape: Tape = recorded(equations.phi, self.n, self.nf)
        self.calls = dict.fromkeys(KINDS, 0)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes for pickle without machine code: programs are made anew at their first use."""
        made = {name for name, value in vars(type(self)).items() if isinstance(value, cached_property)}
        return {name: value for name, value in vars(self).items() if name not in made}

    @cached_property
    def values(self) -> SparseProgram:
        """Phi, then the entries of Phi_q."""
        return sparse_program(self.tape, values=True)

    @cached_property
    def by_drivers(self) -> SparseProgram:
        """The entries of Phi_f, columns of the drivers only; its independents are f, its parameters q."""
        found = sparse_jacobian(swapped(self.tape))
        return SparseProgram(ProgramRunner(found.tape), found.row.astype(np.int64), found.column.astype(np.int64))

    @cached_property
    def second(self) -> ProgramRunner:
        """(Phi_x v)_x v (m,) with independents x = (q, f) and v twice as parameters."""
        return ProgramRunner(tangent_tape(tangent_tape(whole(self.tape))))

    @cached_property
    def bend(self) -> ProgramRunner:
        """(lam . Phi)_xx v (n + nf,) with independents x = (q, f) and parameters lam (m,), v (n + nf,)."""
        return ProgramRunner(tangent_tape(gradient_tape(whole(self.tape))))

    @cached_property
    def turned(self) -> ProgramRunner:
        """The angles whose turns are counted, by q with parameters f."""
        return ProgramRunner(recorded(self.equations.turned, self.n, self.nf))

    # ---- readable forms: one call each

    def phi(self, q: Array, f: Array) -> Array:
        """Return Phi (m,)."""
        self.calls[VALUES] += 1
        return self.values.run(q, f)[: self.m].copy()

    def jacobian(self, q: Array, f: Array) -> csr_array:
        """Return Phi_q (m, n)."""
        self.calls[VALUES] += 1
        program = self.values
        entries = program.run(q, f)[self.m :].copy()
        return csr_array((entries, (program.row, program.column)), shape=(self.m, self.n))

    def by_time(self, q: Array, f: Array, rate: Array) -> Array:
        """Return Phi_f rate (m,): Phi_t for the rates of the drivers."""
        self.calls[BY_DRIVERS] += 1
        program, result = self.by_drivers, np.zeros(self.m)
        np.add.at(result, program.row, program.run(f, q) * rate[program.column])
        return result

    def acceleration_side(self, q: Array, qd: Array, drivers: Array) -> Array:
        """Return -(Phi_q qd)_q qd - 2 Phi_qt qd - Phi_tt (m,) for f, fd, fdd (3, nf)."""
        self.calls[SECOND] += 1
        v = np.concatenate((qd, drivers[1]))
        curved = self.second(np.concatenate((q, drivers[0])), np.concatenate((v, v))).copy()
        return -curved - self.by_time(q, drivers[0], drivers[2])

    def bent(self, q: Array, qd: Array, drivers: Array, lam: Array) -> Array:
        """Return d(Phi_q^T)/dt lam (n,)."""
        self.calls[BEND] += 1
        x, v = np.concatenate((q, drivers[0])), np.concatenate((qd, drivers[1]))
        return self.bend(x, np.concatenate((lam, v)))[: self.n].copy()

    def turns(self, q: Array, f: Array) -> Array:
        """Return f with the turns counted at q."""
        f = f.copy()
        if self.nf > self.drivers:
            f[self.drivers :] = self.turned(q, f)
        return f


def recorded(function: Callable[[Any, Any], Any], n: int, k: int) -> Tape:
    """Record a function of q and f, also when there is no f."""
    if k:
        return record(function, n, k=k)
    return record(lambda q: function(q, np.zeros(0)), n)


def sparse_program(known: Tape, values: bool) -> SparseProgram:
    """Return the sparse Jacobian of a tape, ready to run."""
    found = sparse_jacobian(known, values)
    return SparseProgram(ProgramRunner(found.tape), found.row.astype(np.int64), found.column.astype(np.int64))


def whole(known: Tape) -> Tape:
    """Return the tape with its parameters as independents too."""
    return replace(known, n=known.n + known.k, k=0)


def swapped(known: Tape) -> Tape:
    """Return the tape with parameters as independents and independents as parameters."""
    leaf = known.op == INPUT
    number = known.a[leaf]
    a = known.a.copy()
    a[leaf] = np.where(number < known.n, number + known.k, number - known.n)
    return replace(known, a=a, n=known.k, k=known.n)
