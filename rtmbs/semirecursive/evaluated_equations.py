"""Equations of motion of a System, evaluated, assembled and factored at a state; each call ends in compiled kernels.

``equations.SemiRecursiveEquations`` adds what methods of time ask beyond that: starts, fused steps and diagnoses.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.contract import NotFinite, SingularTangent, Sizes, Turned
from rtmbs.integrators.settings import OWN, PAPER, StateArrays
from rtmbs.numerics.linear.solver import DenseSolver, LinearSolver, Unsolved
from rtmbs.numerics.linear.sparse_solver import SparseMatrix, SparseSolver
from rtmbs.semirecursive.balance import hold_energies
from rtmbs.semirecursive.closure_jacobian import apply_Phi_z, apply_through, pull_back, pull_back_through
from rtmbs.semirecursive.closures import closure_accelerations, closure_velocities, evaluate_closures
from rtmbs.semirecursive.contact_set_tangent import coupling
from rtmbs.semirecursive.evaluation import assemble_mass_metric, assemble_tangent, evaluate_residual
from rtmbs.semirecursive.force_kernels import call_laws, differentiate_laws, reevaluate_laws, spring_energy
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.semirecursive.passes import (
    add_correction,
    commit_rotations,
    forward_accelerations,
    forward_positions,
    forward_velocities,
    gravity_energy,
    kinetic_energy,
    take_rate_columns,
)
from rtmbs.semirecursive.touch_begin import rebegin_bristles
from rtmbs.semirecursive.workspace import Workspace, workspace
from rtmbs.system.components import ComponentSums, transport_slides
from rtmbs.system.input_slots import evaluate_signals, not_finite_inputs
from rtmbs.system.pattern import uncondensed
from rtmbs.system.system import System
from rtmbs.system.tables import Balance, Tables

Array = NDArray[np.float64]


class EvaluatedEquations:
    """Equations of motion of a System in joint coordinates at a state.

    Attributes ``u`` (inputs, set between steps), ``alpha`` (penalty factors), ``masses`` (effective masses of the loop
    equations, which the start finds) and ``threads`` belong to the caller.
    """

    def __init__(self, system: System, source: Any = None) -> None:
        self.n, self.m, self.states = len(system.tables.dofs.kind), len(system.row_names), len(system.s0)
        self.u: Array = system.u0.copy()
        self.alpha: Array = np.zeros(self.m)
        self.masses: Array = np.ones(self.m)
        self.threads = 1
        self.assembly_offset: Array = system.tables.closures.assembly_offset.copy()  # the System never changes, the
        # start may measure an assembly offset
        self.balance: Balance = system.tables.balance  # likewise: the start may find that loops hold nothing
        self.weakest = -1  # coordinate of the pivot that failed, when the last factor did
        self.compiled = system
        self.allocate(system)
        self.source = source

    @property
    def source(self) -> Any:
        """Source of K and C, None for the closed form; any other gives matrices (n, n), so that none is condensed."""
        return self._source

    @source.setter
    def source(self, source: Any) -> None:
        self._source = source
        wanted = self.compiled if source is None else uncondensed(self.compiled)
        if wanted.lu is not self.lu:
            self.allocate(wanted)

    def allocate(self, system: System) -> None:
        """Work with the tables and the pattern of ``system``, and scratch of their size."""
        self.take_tables(system)
        self.ws: Workspace = workspace(system.tables)
        hold_states(system.s0, self.ws)
        n, m, s = (self.n,), (self.m,), (self.states,)
        self._shapes = {
            "z": n, "zd": n, "zdd": n, "lam": m, "R0": system.R0.shape, "u": system.u0.shape, "s": s, "sd": s,
        }  # fmt: skip
        sparse = SparseSolver(system.lu)
        self.matrix, self.lu, self.work = sparse.matrix, sparse.lu, sparse.work
        self.coupled = False  # whether pairs of contact sets join members beside the last factor
        self.solvers: tuple[LinearSolver, ...] = sparse, DenseSolver()
        self.solver: LinearSolver = sparse

    def take_tables(self, system: System) -> None:
        """Let the tables be those of ``system``, with the assembly offset and the balance of these equations."""
        self.system, closures = system, system.tables.closures._replace(assembly_offset=self.assembly_offset)
        self._sizes: Sizes | None = None
        self._parts: ComponentSums | None = None
        self.tables: Tables = system.tables._replace(closures=closures, balance=self.balance)

    def take_balance(self, balance: Balance) -> None:
        """Let these components keep a balance of energy."""
        self.balance = balance
        self.take_tables(self.system)

    def replace_system(self, system: System) -> None:
        """Go on with a System of the same coordinates and equations whose forces act elsewhere (``system.attach``)."""
        self.compiled = system
        if system.lu is self.lu:
            self.take_tables(system)
        else:
            self.allocate(system)

    # ---- evaluation -------------------------------------------------------------------------------------------------

    def residual(self, z: Array, zd: Array, zdd: Array, R0: Array) -> Array:
        """Return M zdd - Q + Phi_z^T alpha Phi (n,) (Eq. 10), and remember the state."""
        self.evaluate(z, zd, zdd, R0)
        return self.ws.residual.copy()

    def evaluate(self, z: Array, zd: Array, zdd: Array, R0: Array) -> None:
        """Evaluate everything at a state into the scratch, and remember the state."""
        ws = self.ws
        ws.z[:], ws.zd[:], ws.zdd[:] = z, zd, zdd
        call_laws(self.system, self.tables, R0, self.u, ws)
        evaluate_residual(self.tables, R0, self.u, self.alpha, ws)

    def close(self, z: Array, R0: Array) -> Array:
        """Return Phi (m,) at z, and remember Phi_z."""
        self.ws.z[:], self.ws.rate_share[0] = z, 0.0
        forward_positions(self.tables, R0, self.ws.z, self.ws)
        evaluate_closures(self.tables, self.ws.z, self.u, self.ws)
        return self.ws.Phi.copy()

    def closure_velocities(self, zd: Array) -> Array:
        """Return Phid = Phi_z zd + Phi_t (m,) at the closed state."""
        closure_velocities(self.tables, zd, self.u, self.ws)
        return self.ws.Phid.copy()

    def closure_accelerations(self, zd: Array, zdd: Array) -> Array:
        """Return Phidd (m,) at the closed state."""
        forward_velocities(self.tables.dofs, zd, self.ws)
        forward_accelerations(self.tables.dofs, zd, zdd, self.u, self.ws)
        closure_accelerations(self.tables, zd, zdd, self.u, self.ws)
        return self.ws.Phidd.copy()

    def apply_Phi_z(self, x: Array) -> Array:
        """Return Phi_z x (m,)."""
        out = np.zeros(self.m)
        apply_Phi_z(self.tables, self.ws, x, out)
        return out

    def apply_factored(self, x: Array) -> Array:
        """Return Phi_z x (m,) with the Phi_z inside the last factor."""
        out = np.zeros(self.m)
        apply_through(self.tables, self.ws.Phi_z_factored, x, out)
        return out

    def pull_back(self, x: Array) -> Array:
        """Return Phi_z^T x (n,)."""
        out = np.zeros(self.n)
        pull_back(self.tables, self.ws, x, 1.0, out)
        return out

    @property
    def long_loops(self) -> bool:
        """True when closures over long branches are condensed (``system.condensed_closures``)."""
        return len(self.tables.condensed.closure) > 0

    @property
    def may_bend(self) -> bool:
        """True when slopes of force laws change with the motion (``system.System.may_bend``)."""
        return self.system.may_bend

    @property
    def stiffness(self) -> float:
        """Largest share of applied forces in the diagonal of the last Newton matrix; 1 when a source made it."""
        return float(self.ws.stiff[0]) if self.source is None else 1.0

    def closure_jacobian(self) -> Array:
        """Return the dense Phi_z (m, n) at the closed state; for assembly and tests."""
        return dense_closure_jacobian(self.tables, self.ws.Phi_z, self.m, self.n)

    def energies(self, z: Array, zd: Array, R0: Array) -> tuple[float, float, float]:
        """Return kinetic energy, gravity energy, elastic energy [J]."""
        self.residual(z, zd, np.zeros(self.n), R0)
        return (
            float(kinetic_energy(self.ws)),
            float(gravity_energy(self.tables, self.ws, self.u)),
            float(spring_energy(self.tables, z, self.u, self.ws)),
        )

    def component_energies(self, z: Array, zd: Array, R0: Array) -> tuple[Array, Array]:
        """Return the energy of each component that keeps a balance, and the size of its parts (n,) [J].

        At its first dof; 0 elsewhere.
        """
        still = np.zeros(self.n)
        self.residual(z, zd, still, R0)
        none, energy = np.zeros((self.n, 2)), np.zeros((self.n, 2))
        hold_energies(self.tables, self.u, 1.0, zd, still, none, zd.copy(), still, energy, self.ws)
        potential = self.ws.potential
        return energy[:, OWN], energy[:, OWN] - potential + np.abs(potential)

    def hold_energies(self, held: bool, h: float, old: StateArrays, new: StateArrays) -> float:
        """Give new.zd the speed that balances the energy of the step, and fill new.energy (METHODS 1.7)."""
        new.energy[:] = 0.0
        if not held or not len(self.tables.balance.first):
            return 0.0
        ws = self.ws
        forward_velocities(self.tables.dofs, new.zd, ws)
        ws.z[:], ws.increment[:] = new.z, new.z - old.z
        before, after = (old.zd, old.zdd, old.energy), (new.zd, new.zdd, new.energy)
        return float(hold_energies(self.tables, self.u, h, *before, *after, ws))

    # ---- contract of methods ----------------------------------------------------------------------------------------

    @property
    def sizes(self) -> Sizes:
        """Sizes of coordinates and loop equations."""
        if self._sizes is None:
            self._sizes = sizes_of(self.system)
        return self._sizes

    @property
    def parts(self) -> ComponentSums:
        """Components that share nothing but ground."""
        if self._parts is None:
            self._parts = ComponentSums.of(self.system)
        return self._parts

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the arrays of a State."""
        return self._shapes

    @property
    def binds_rates(self) -> bool:
        """True when some rows bind rates and no positions: rolling contacts and knife edges."""
        return len(self.tables.contacts.rate_row) > 0

    @property
    def timed(self) -> bool:
        """True when there are functions of time."""
        return bool(self.system.signals)

    def at(self, t: float) -> None:
        """Let functions of time be those of ``t`` [s]; raises whatever a function of the user does."""
        if self.timed:
            self.u = self.u.copy()
            evaluate_signals(self.system, t, self.u)

    def not_finite_inputs(self) -> tuple[str, ...]:
        """Return the names of inputs that are no number in range."""
        return not_finite_inputs(self.system, self.u)

    def follow_states(self, base: Array, share: float) -> None:
        """Let force states be ``base + share ds/dt`` in what is evaluated from now on.

        Phi of rows that bind rates alone is then ``share`` times Psi, until ``close`` (METHODS 1.41).
        """
        self.ws.rate_share[0] = share
        if len(base):
            self.ws.state_base[:], self.ws.state_half[0] = base, share

    def keep_states(self, new: StateArrays, old: StateArrays | None = None, h: float = 0.0) -> None:
        """Write force states and their rates at ``new.z`` and ``new.zd``, the state last closed, to ``new``.

        Bristles of contacts that begin within a step of ``h`` [s] from ``old`` grow from there on.
        """
        if len(new.s):
            forward_velocities(self.tables.dofs, new.zd, self.ws)
            reevaluate_laws(self.tables, new.z, new.zd, self.u, self.ws)
            new.s[:], new.sd[:] = self.ws.s, self.ws.state_rate
            if old is not None and (self.ws.begin_input.shape[1] or len(self.tables.sets.dof)):
                rebegin_bristles(self.tables, h, old, new, self.u, self.ws)

    def coordinate_rates(self, z: Array, zd: Array) -> Array:
        """Return dz/dt (n,): zd, but T^-1(delta) omega of rotation dofs (METHODS 1.16)."""
        rates = np.zeros(self.n)
        add_correction(self.tables.dofs, z, zd, rates)
        return rates

    # ---- tangent and factor -----------------------------------------------------------------------------------------

    def assemble(
        self, mass: float, velocity: float, position: float, terms: int = PAPER, old: StateArrays | None = None
    ) -> Array:
        """Return (mass M + velocity C) T^-1 + position (K + Phi_z^T alpha Phi_z + terms) as a dense matrix (n, n).

        K by small turns in body axes where there are rotation dofs; T is the identity at the state of a step boundary.
        At the state last given to ``residual``; ``terms`` indexes ``settings.TANGENT_TERMS``; ``old`` holds zdd_n and
        lam_n for ``lagged``.
        """
        self.fill(mass, velocity, position, terms, old)
        return np.asarray(self.matrix)

    def fill(self, mass: float, velocity: float, position: float, terms: int, old: StateArrays | None) -> None:
        """Assemble the closed form into the values of the sparse matrix."""
        state = old if old is not None else self.state_arrays()
        u, alpha, values = self.u, self.alpha, self.matrix.values
        differentiate_laws(self.system, self.tables, u, self.ws)
        assemble_tangent(self.tables, terms, mass, velocity, position, u, alpha, state, self.ws, values)

    def state_arrays(self) -> StateArrays:
        """Return the arrays of the state last evaluated, multipliers alpha Phi."""
        ws = self.ws
        return StateArrays(ws.z, ws.zd, ws.zdd, ws.impulse, np.zeros((0, 3, 3)), np.zeros((self.n, 2)))

    def mass_values(self) -> SparseMatrix:
        """Return M at the state last evaluated, in the matrix of the solver."""
        assemble_mass_metric(self.tables, 0.0, self.alpha, self.ws, self.matrix.values)
        return self.matrix

    def mass_matrix(self) -> Array:
        """Return M (n, n) at the state last evaluated."""
        return np.asarray(self.mass_values())

    def force(self, z: Array, zd: Array, R0: Array) -> Array:
        """Return Q(z, zd) (n,), velocity terms included (Eq. 8)."""
        self.residual(z, zd, np.zeros(self.n), R0)
        return np.asarray(-self.ws.tau)

    def factor(self, velocity: float, position: float, terms: int, old: StateArrays) -> None:
        """Factor M + velocity C + position (K + Phi_z^T alpha Phi_z + terms) at the remembered state.

        Raises SingularTangent, NotFinite.
        """
        self.ws.Phi_z_factored[:] = self.ws.Phi_z
        if self.source is None:
            self.fill(1.0, velocity, position, terms, old)
        else:
            self.fill_from_source(velocity, position, terms, old)
        self.factor_matrix()
        self.coupled = bool(self.ws.set_share[2])

    def fill_from_source(self, velocity: float, position: float, terms: int, old: StateArrays) -> None:
        """Take K and C from ``source``; M, penalties and the terms beyond -dQ/dz from the closed form."""
        fill_from_source(self, velocity, position, terms, old)

    def factor_mass_metric(self, position: float) -> None:
        """Factor M + position Phi_z^T alpha Phi_z at the closed state; raises SingularTangent, NotFinite."""
        self.ws.Phi_z_factored[:] = self.ws.Phi_z
        assemble_mass_metric(self.tables, position, self.alpha, self.ws, self.matrix.values)
        self.factor_matrix()

    def factor_matrix(self) -> None:
        """Factor the assembled matrix with ``solver``; raises SingularTangent, NotFinite."""
        self.weakest, self.coupled = -1, False
        if not self.matrix.finite:
            raise NotFinite("the Newton matrix holds a number that is not finite")
        if bad := self.solver.factor(self.matrix):
            unnamed = bad > self.n  # a condensed unknown
            self.weakest = int(np.argmax(np.abs(self.ws.residual))) if unnamed else bad - 1
            raise SingularTangent(f"pivot {self.weakest} ({self.system.coordinate_names[self.weakest]}) is too small")

    def solve(self, b: Array, refined: bool = False) -> Array:
        """Solve with the last factor (n,), and what contact sets add beside it.

        ``refined`` may raise SingularTangent, NotFinite.
        """
        try:
            x = self.solver.solve(b, refined)
        except Unsolved as fault:
            if not np.all(np.isfinite(b)):
                raise NotFinite("the residual holds a number that is not finite") from None
            raise SingularTangent(str(fault)) from None
        return solve_coupled(self, x) if self.coupled and np.all(np.isfinite(x)) else x

    def multipliers(self, dz: Array) -> Array:
        """Return alpha (Phi + Phi_z dz) (m,) at the state last given to ``residual``, with the Phi_z in the factor."""
        return np.asarray(self.alpha * (self.ws.Phi + self.apply_factored(dz)))

    def solve_for_impulse(self, impulse: Array) -> Array:
        """Return -A^-1 Phi_z^T impulse (n,) with the last factor A and the Phi_z inside it."""
        pulled = np.zeros(self.n)
        pull_back_through(self.tables, self.ws.Phi_z_factored, impulse, -1.0, pulled)
        return self.solver.solve(pulled)

    def imbalance(self, state: StateArrays) -> Array:
        """Return M zdd - Q + Phi_z^T lam (n,) at a finished state, and remember the state."""
        self.evaluate(state.z, state.zd, state.zdd, state.R0)
        return np.asarray(self.ws.tau + self.pull_back(state.lam))

    def corrected(self, increment: Array, dz: Array) -> Array:
        """Return the increment (n,) after the correction ``dz`` found at the remembered state."""
        moved = increment.copy()
        add_correction(self.tables.dofs, self.ws.z, dz, moved)
        return moved

    def commit(self, state: Turned) -> None:
        """Let the reference rotations of a finished state take in its rotation dofs, in place."""
        commit_rotations(self.tables.dofs, state.z, state.R0)


# ---- contact sets beside the factor (METHODS 8.10) -------------------------------------------------------------------

MOST_DIRECTIONS = 200  # of one round of GMRES
MOST_ROUNDS = 5
ENOUGH = 1e-12  # of the right-hand side: what GMRES leaves, in typical sizes


def solve_coupled(equations: EvaluatedEquations, first: Array) -> Array:
    """Return (P + E)^-1 b (n,) for P^-1 b, with P the last factor; no numbers where GMRES does not end."""
    from scipy.sparse.linalg import LinearOperator, gmres

    typical, out = equations.sizes.typical, np.zeros(equations.n)

    def apply(x: Array) -> Array:
        coupling(equations.tables, x * typical, equations.ws, out)
        return np.asarray(x + equations.solver.solve(out) / typical)

    whole = LinearOperator((equations.n, equations.n), apply, dtype=np.float64)
    restart = min(equations.n, MOST_DIRECTIONS)
    x, missed = gmres(whole, first / typical, rtol=ENOUGH, restart=restart, maxiter=MOST_ROUNDS)
    return np.asarray(x * typical) if missed == 0 else np.full(equations.n, np.nan)


# ---- sizes for tolerances -------------------------------------------------------------------------------------------


def sizes_of(system: System) -> Sizes:
    """Return the sizes that tolerances of a step are relative to."""
    closure, rotation = system.closure_of_row, system.row_is_rotation
    return Sizes(
        length=system.length,
        typical=system.typical,
        pace=np.where(transport_slides(system.tables), np.inf, system.typical),
        rotation=rotation,
        scale=np.where(rotation, 1.0, system.length),
        first=np.asarray((np.diff(closure, prepend=-2) != 0) | (closure < 0)),  # a driven coordinate is one
    )


# ---- dense Jacobian of the loops -------------------------------------------------------------------------------------


def dense_closure_jacobian(tables: Tables, flat: Array, m: int, n: int) -> Array:
    """Return the dense Phi_z (m, n) from its flat blocks, one a closure."""
    closures, connectors, drivers = tables.closures, tables.connectors, tables.drivers
    out = np.zeros((m, n))
    for closure in range(len(closures.point_a)):
        rows = slice(closures.row_pointer[closure], closures.row_pointer[closure + 1])
        connector = closures.connector[closure]
        dofs = connectors.dof[connectors.pointer[connector] : connectors.pointer[connector + 1]]
        block = flat[closures.entry_pointer[closure] : closures.entry_pointer[closure + 1]]
        out[rows, dofs] = block.reshape(rows.stop - rows.start, len(dofs))
    out[len(closures.kind) + np.arange(len(drivers.dof)), drivers.dof] = 1.0
    return out


# ---- Newton matrix of other sources of K and C ----------------------------------------------------------------------


def fill_from_source(
    equations: EvaluatedEquations, velocity: float, position: float, terms: int, old: StateArrays
) -> None:
    """Take K and C from the source; M, penalties and the terms beyond -dQ/dz from the closed form.

    A source holds the states of force laws as they are; what states that follow add is one of the terms beyond.
    """
    ws, u, values = equations.ws, equations.u, equations.matrix.values
    K, C = equations.source(ws.z, ws.zd, old.R0, np.concatenate((u, ws.s)))
    C = np.array(C, order="C")  # columns change in place, and a source may keep what it returned
    take_rate_columns(equations.tables.dofs, ws.z, C)
    equations.fill(1.0, velocity, position, terms, old)
    everything = values.copy()
    evaluate_laws_with_held_states(equations)
    no_alpha = np.zeros(equations.m)
    assemble_tangent(equations.tables, PAPER, 0.0, velocity, position, u, no_alpha, old, ws, values)
    values[:] = everything - values
    equations.matrix.add(velocity * C + position * K)


def evaluate_laws_with_held_states(equations: EvaluatedEquations) -> None:
    """Let wrenches and derivatives of force laws be those at the states last solved for, held as they are."""
    ws = equations.ws
    if len(ws.s):
        base, half = ws.state_base.copy(), float(ws.state_half[0])
        hold_states(ws.s.copy(), ws)
        reevaluate_laws(equations.tables, ws.z, ws.zd, equations.u, ws)
        ws.state_base[:], ws.state_half[0] = base, half
