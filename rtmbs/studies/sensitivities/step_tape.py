"""Tape of the equations of a penalty trapezoidal step: G(y, x, p) = 0 (METHODS 1.37).

x is the state before the step, y what the step finds, p the parameters, as deviations from their values. Recording
gives every derivative of G by y, x and p, also that of the Newton matrix that the projections use.
"""

# Traced arrays pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad.derivative_tapes import gradient_tape, linked_jacobian, sparse_jacobian, tangent_tape
from rtmbs.ad.interpret import interpreted
from rtmbs.ad.program import Program, lowered
from rtmbs.ad.simd_programs import SimdProgram
from rtmbs.ad.tape import Tape
from rtmbs.ad.trace import record
from rtmbs.ad.traced import recorder
from rtmbs.numerics.rotations.plain import exponential, inverse_jacobian, product
from rtmbs.results.samples import Samples
from rtmbs.semirecursive import page as untyped_page
from rtmbs.semirecursive import page_elements as untyped_arrays
from rtmbs.semirecursive.balance import AT_REST
from rtmbs.semirecursive.page_elements import state_count
from rtmbs.simulation.simulation import Simulation
from rtmbs.studies.sensitivities import page_terms as untyped_page_terms
from rtmbs.studies.sensitivities.page_terms import PythonLaws, Ways
from rtmbs.studies.sensitivities.variations import Variations
from rtmbs.system.system import System
from rtmbs.system.tables import Tables

Array = NDArray[np.float64]
page: Any = untyped_page
page_terms: Any = untyped_page_terms
arrays: Any = untyped_arrays
XP = arrays.recursive(recorder)

SOLUTION = 3  # place of a Newton matrix: the iterate where a step ends
SOFT = 1e-5  # compliance of independent loops in a projection, of 1 / (q4 alpha): nearly dependent ones stay solvable
TURN_TERMS = 5  # of T^-1 of a step's turn: rounding only up to 0.3 rad


class VectorLayout:
    """Named slices of one flat array."""

    def __init__(self, **sizes: int) -> None:
        self.places, first = {}, 0
        for name, size in sizes.items():
            self.places[name] = slice(first, first + size)
            first += size
        self.size = first

    def __getitem__(self, name: str) -> slice:
        return self.places[name]

    def split(self, x: Any) -> dict[str, Any]:
        """Return the parts of an array."""
        return {name: x[place] for name, place in self.places.items()}


class JacobianProgram(NamedTuple):
    """Program for rows of values and Jacobian entries, with the places of the entries."""

    place: NDArray[np.int64]  # of an entry in the flat dense matrix
    rows: SimdProgram
    columns: int  # of the matrix


class LinkedProgram(NamedTuple):
    """Program for rows of values, Jacobian entries and links, with their places; see ``LinkedJacobian``."""

    row: NDArray[np.int32]  # (e,) unknown, or behind these a vertex that stays
    column: NDArray[np.int32]  # (e,) independent, or behind these a vertex that stays
    rows: SimdProgram
    columns: int  # independents


@dataclass(frozen=True)
class StepCase:
    """Key of the equations of a step: where the factor was made, which balances held."""

    made: int  # Newton matrices: the last is that of the predictor (1), of the iterate behind it (2), of the solution
    held: tuple[bool, ...]  # of each component of the balance
    guessed: Ways = ()  # ways of the called laws at the predictor, where its matrix is made
    then: Ways = ()  # at the iterate behind the first correction, likewise
    here: Ways = ()  # at the solution


class Weights(NamedTuple):
    """Weights of loop equations in the blocks of a step, inverse compliances of redundant rows."""

    correction: Array  # (m,)
    increment: Array  # (m,)
    projection: Array  # (m,)
    projected: int  # unknowns of a projection beside its multipliers


class StepTape:
    """Recorder of the equations of penalty trapezoidal steps of ``h`` [s], one tape a case."""

    # options of the method whose usual value the equations hold for
    usual: ClassVar[tuple[str, ...]] = (
        "tangent_terms", "projection_metric", "project_velocities", "project_accelerations", "fixed_iterations",
    )  # fmt: skip
    split_multipliers: ClassVar[bool] = True  # those of a state are push + nu, else nu alone
    follows_penalties: ClassVar[bool] = True  # penalty factors enter the equations

    def __init__(self, system: System, tables: Tables, variations: Variations, h: float, redundant: bool) -> None:
        nu, m, nr = len(system.u0), system.m, len(system.R0)
        self.called, self.slopes = PythonLaws(system), dict[Ways, Program]()
        self.tables, self.h, self.variations, self.redundant = tables, h, variations, redundant
        self.q4 = 0.25 * h * h
        n, nc, turns, np_ = len(tables.dofs.kind), len(tables.balance.first), 3 * nr, variations.count
        ns = int(state_count(tables))
        self.n, self.m, self.nc, self.nr, self.ns = n, m, nc, nr, ns
        self.first = np.flatnonzero(tables.dofs.reference >= 0)
        self.y = VectorLayout(
            guessed=ns, dz=n, ds=ns, first=m, made=ns, inc=n, s=ns, push=m, v=n, sv=ns, mu=m, scale=nc, zd=n, kept=nc,
            ended=ns, zdd=n, sa=ns, nu=m, turn=turns, sd=ns,
        )  # fmt: skip
        self.x = VectorLayout(z=n, zd=n, zdd=n, kept=nc, s=ns, sd=ns)
        self.known = VectorLayout(u=nu, R0=9 * nr, alpha=m, turned=turns, drift=len(variations.pairs))
        self.inputs = VectorLayout(y=self.y.size, x=self.x.size, p=np_)
        self.iterates = VectorLayout(z=n, zd=n, zdd=n, guessed=n, guessed_zd=n, guessed_zdd=n)
        self.programs: dict[Hashable, JacobianProgram] = {}
        self.pulls: dict[StepCase, SimdProgram] = {}
        self.kept_blocks: dict[Hashable, Any] = {}  # solvers of ``steps``
        self.grouped: dict[Hashable, Any] = {}  # programs of ``steps``
        self.values = np.zeros((0, 0))
        self.plain = np.ones(n, np.bool_)
        for k in range(3):
            self.plain[self.first + k] = False

    @staticmethod
    def penalties(sim: Simulation) -> Array:
        """Return the penalty factors (m,) of the steps of a Simulation."""
        return np.asarray(sim.method.penalties_of(sim.state))

    def weights(self, alpha: Array) -> Weights:
        """Return the weights of loop equations in the blocks of a step, for penalty factors (m,)."""
        return Weights(alpha, alpha, self.q4 * alpha, self.n + self.ns)

    def made(self, jacobians: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where the last of so many Newton matrices belongs: predictor (1), behind it (2), solution (3)."""
        return np.minimum(jacobians, SOLUTION)

    def multipliers(self, y: dict[str, Any]) -> Any:
        """Return the multipliers (m,) of the state behind a step, from its unknowns."""
        return y["push"] + y["nu"] if self.split_multipliers else y["nu"]

    def known_rows(self, samples: Samples, alpha: Array, turned: Array) -> Array:
        """Return known data (K, nk) of the steps between samples (K + 1) that turn by ``turned`` (K, 3 nr)."""
        count = len(turned)
        rows = {
            "u": samples.u[1:], "R0": samples.R0[:-1].reshape(count, -1), "alpha": np.tile(alpha, (count, 1)),
            "turned": turned, "drift": self.variations.drift(samples.t[1:]),
            "before": samples.u[:-1], "early": self.variations.drift(samples.t[:-1]),
        }  # fmt: skip
        return np.hstack([rows[name] for name in self.known.places])

    def values_of(self, count: int, size: int) -> Array:
        """Return memory (count, size) for the values of steps, that of the steps before where it fits."""
        if self.values.shape != (count, size):
            self.values = np.empty((count, size))
        return self.values

    @property
    def independents(self) -> VectorLayout:
        """Columns of the Jacobian of a step: y, x, the iterates, and p at last."""
        return VectorLayout(y=self.y.size, x=self.x.size, iterates=self.iterates.size, p=self.variations.count)

    def entries(self, case: StepCase, by_parameters: bool) -> LinkedProgram:
        """Return the Jacobian of G by (y, x, iterates, p), or without p, ready to run.

        Iterates are linear in y and x. Entries by them are fewer than those by all that they are made of. Equations
        behind the increment have products with entries by iterates alone: there links may take their place.
        """
        tape, by, of = self.recorded(case, by_parameters)
        found = linked_jacobian(tape, by, of)
        return LinkedProgram(found.row, found.column, SimdProgram(lowered(found.tape)), len(by))

    def recorded(self, case: StepCase, by_parameters: bool) -> tuple[Tape, NDArray[np.bool_], NDArray[np.bool_]]:
        """Return G of (y, x, iterates, p), or without p, and the independents and outputs that links may join."""
        columns = self.independents

        def equations(q, known):
            parts = columns.split(q)
            own = (parts["y"], parts["x"], *((parts["p"],) if by_parameters else ()))
            return self.equations(case, XP.concatenate(own), known, self.iterates.split(parts["iterates"]))

        size = columns.size if by_parameters else columns["p"].start
        by, of = np.zeros(size, np.bool_), np.arange(self.y.size) >= self.y["v"].start
        by[columns["iterates"]] = True
        return record(equations, size, k=self.known.size, xp=recorder), by, of

    def iterates_at(self, point: Array) -> Array:
        """Return the iterates (K, 6 n) at the solutions and at the predictors of steps, of their points."""
        if not self.iterates.size:
            return np.zeros((len(point), 0))
        x, inc, h = self.x.split(point[:, self.inputs["x"]].T), point[:, self.y["inc"]].T, self.h
        z, rows = x["z"] * self.plain[:, None], []
        for one in (inc, self.predicted(x)):
            rows += [z + one, 2.0 / h * one - x["zd"], 4.0 / h**2 * one - 4.0 / h * x["zd"] - x["zdd"]]
        return np.asarray(np.concatenate(rows).T)

    def parameter_adjoint(self, case: StepCase) -> SimdProgram:
        """Return the program of w . dG/dp (np,), given y and x, known data, and w (ny,)."""
        if case not in self.pulls:
            given = VectorLayout(point=self.inputs["p"].start, known=self.known.size)

            def equations(p, flat):
                parts = given.split(flat)
                return self.equations(case, XP.concatenate((parts["point"], p)), parts["known"])

            tape = record(equations, self.variations.count, k=given.size, xp=recorder)
            self.pulls[case] = SimdProgram(lowered(gradient_tape(tape)))
        return self.pulls[case]

    def program(self, key: Hashable, function: Any, n: int, k: int) -> JacobianProgram:
        """Return the values and the Jacobian of a function of n numbers with k parameters, recorded once."""
        if key not in self.programs:
            sparse = sparse_jacobian(record(function, n, k=k, xp=recorder), values=True)
            place = sparse.row.astype(np.int64) * n + sparse.column
            self.programs[key] = JacobianProgram(place, SimdProgram(lowered(sparse.tape)), n)
        return self.programs[key]

    @cached_property
    def balances(self) -> SimdProgram:
        """Program of the residuals of kept energies (4 nc,), continued and begun anew.

        Behind them stand the kinetic energy beyond that of a component at rest, and the kinetic energy.
        """

        def found(q, flat):
            parts, known = self.inputs.split(q), self.known.split(flat)
            y, x = self.y.split(parts["y"]), self.x.split(parts["x"])
            tables, u, R0, _, _ = self.context(x["z"], parts["p"], known)
            worked, rest, moving = self.energies(tables, u, R0, self.iterate(y["inc"], x), x, y["v"])
            least = AT_REST * page_terms.exchange(XP, tables, u, R0, self.iterate(y["inc"], x)[0][None])[0]
            return XP.concatenate((y["kept"] - x["kept"] - worked, y["kept"] - moving - rest, moving - least, moving))

        return SimdProgram(lowered(record(found, self.inputs.size, k=self.known.size, xp=recorder)))

    # ---- parts ------------------------------------------------------------------------------------------------------

    def context(self, z, p, known):
        """Return tables, u, R0 and alpha at the deviations, R0 turned by z of rotation dofs, and z without them."""
        tables, u, alpha = self.variations.applied(recorder, self.tables, known, p)
        R0 = known["R0"].reshape(self.nr, 3, 3)
        return tables, u, self.turned(R0, z), alpha, z * self.plain

    def turned(self, R0, z):
        """Return R0 exp(theta~) (nr, 3, 3), theta the rotation dofs of z (n,)."""
        if not self.nr:
            return np.zeros((0, 3, 3))
        return product(XP, R0, exponential(XP, self.vectors(z)[None])[0])

    def vectors(self, z):
        """Return the rotation vectors (nr, 3) of z (n,)."""
        axis = self.tables.dofs.axis
        return sum(z[self.first + k][:, None] * axis[self.first + k] for k in range(3))

    def components(self, vectors):
        """Return vectors (nr, 3) along the axes of their dofs, as (n,) with zeros elsewhere."""
        axis, out = self.tables.dofs.axis, [None] * self.n
        for e, i in enumerate(self.first):
            for k in range(3):
                out[i + k] = XP.sum(vectors[e] * axis[i + k])
        zero = 0.0 * XP.sum(vectors)
        return XP.stack([zero if one is None else one for one in out])

    def unturned(self, delta, w):
        """Return T^-1(delta) w (n,) of rotation dofs: the change of delta by small turns w in body axes."""
        if not self.nr:
            return w
        x = self.vectors(w)
        turned = inverse_jacobian(XP, self.vectors(delta), x, terms=TURN_TERMS)
        return w * self.plain + self.components(turned)

    def force(self, row, s, z, zd, zdd, ways):
        """Return M zdd - Q (n,), force laws at the states ``s``, those that Python calls on their ways."""
        found = page.inverse_dynamics(XP, *self.with_states(row, s), z[None], zd[None], zdd[None])[0]
        return found - self.called.forces(row, z, zd, ways) if self.called else found

    @cached_property
    def law_inputs(self) -> SimdProgram:
        """Program of the inputs of called laws at an increment and rates, given x: independents inc, zd and x."""
        given = VectorLayout(inc=self.n, zd=self.n, x=self.x.size)

        def found(q, flat):
            parts, known = given.split(q), self.known.split(flat)
            x = self.x.split(parts["x"])
            R0 = self.turned(known["R0"].reshape(self.nr, 3, 3), x["z"])
            z = x["z"] * self.plain + parts["inc"]
            return XP.concatenate(self.called.inputs(self.tables, R0, z, parts["zd"]))

        return SimdProgram(lowered(record(found, given.size, k=self.known.size, xp=recorder)))

    def ways(self, x: Array, inc: Array, zd: Array, known: Array) -> NDArray[np.int64]:
        """Return the branches (K, laws) of the called laws at increments and rates (K, n) behind states x (K, nx)."""
        looked = self.law_inputs(np.hstack((inc, zd, x)), known) if self.called else np.zeros((len(x), 0))
        return self.called.ways(looked, known[:, self.known["u"]])

    def rates(self, row, s, z, zd):
        """Return the rates (ns,) of the states of force laws."""
        return page.state_rates(XP, *self.with_states(row, s), z[None], zd[None])[0]

    def with_states(self, row, s):
        """Return tables, inputs extended by the states of force laws, and R0."""
        tables, u, R0 = row
        return tables, XP.concatenate((u, s)) if self.ns else u, R0

    def state_residual(self, row, s, x, z, zd):
        """Return the residual (ns,) of the integration rule for force states."""
        return s - x["s"] - 0.5 * self.h * (x["sd"] + self.rates(row, s, z, zd))

    def state_rows(self, values):
        """Return the values of all state equations in a list, empty without states."""
        return [values()] if self.ns else []

    def slope(self, ways: Ways) -> Program:
        """Return the program of the derivative of M zdd - Q, and of rates of states, along changes of z, zd, zdd, s."""
        if ways not in self.slopes:
            self.slopes[ways] = self.new_slope(ways)
        return self.slopes[ways]

    def new_slope(self, ways: Ways) -> Program:
        """Record the program of a slope."""
        rest = VectorLayout(
            z0=self.n, p=self.variations.count, **{k: s.stop - s.start for k, s in self.known.places.items()}
        )
        into = VectorLayout(z=self.n, zd=self.n, zdd=self.n, s=self.ns)

        def force(q, parameters):
            known, at = rest.split(parameters), into.split(q)
            row = self.context(known["z0"], known["p"], known)[:3]
            found = [self.force(row, at["s"], at["z"], at["zd"], at["zdd"], ways)]
            return XP.concatenate(found + self.state_rows(lambda: self.rates(row, at["s"], at["z"], at["zd"])))

        return lowered(tangent_tape(record(force, into.size, self.n + self.ns, k=rest.size, xp=recorder)))

    def newton(self, at, w, z0, p, known):
        """Return A w (n + ns,), A the Newton matrix without penalties at an iterate (z, zd, zdd, delta, s, ways)."""
        q4, h, n = self.q4, self.h, self.n
        way, own = self.unturned(at[3], w[:n]), w[n:]
        point = XP.concatenate((at[0], at[1], at[2], at[4]))
        along = XP.concatenate((q4 * way, 0.5 * h * way, way, own))
        parameters = XP.concatenate([z0, p, *known.values(), along])
        found = interpreted(recorder, self.slope(at[5]), point[None], parameters, slice(None))[0]
        return XP.concatenate((found[:n], own - 0.5 * h * found[n:])) if self.ns else found

    def iterate(self, inc, x):
        """Return z, zd, zdd and delta of an increment (Eqs. 13 and 14)."""
        h = self.h
        z = x["z"] * self.plain + inc
        return z, 2.0 / h * inc - x["zd"], 4.0 / h**2 * inc - 4.0 / h * x["zd"] - x["zdd"], inc

    # ---- the step ---------------------------------------------------------------------------------------------------

    def equations(self, case, q, flat, iterates=None):
        """Return G (ny,) at (y, x, p), or at (y, x) with parameters as they are: see METHODS 1.37 for each line.

        ``iterates`` at the solution and at the predictor count as independents where they are given.
        """
        parts, known = self.inputs.split(q), self.known.split(flat)
        y, x = self.y.split(parts["y"]), self.x.split(parts["x"])
        p = parts["p"] if len(q) == self.inputs.size else np.zeros(self.variations.count)
        tables, u, R0, alpha, _ = self.context(x["z"], p, known)
        row = (tables, u, R0)
        here, guess = self.iterates_of(x, y["inc"], iterates)
        z, zd, zdd, _ = here
        at, first = self.factored(case, row, alpha, x, p, known, y, (here, guess))
        soft = SOFT / (self.q4 * alpha)

        def projected(w, s, lam):
            return self.with_reactions(row, self.newton(at, XP.concatenate((w, s)), x["z"], p, known), lam, at[0])

        scale, balance = self.balance(case, tables, u, R0, here, x, y)
        found = [*first, self.force(row, y["s"], z, zd, zdd, case.here) + self.loops(row, y["push"], z)]
        found += self.state_rows(lambda: self.state_residual(row, y["s"], x, z, zd))
        found += self.rows(lambda: page_terms.closures(XP, *row, z[None])[0] - y["push"] / alpha)
        found.append(projected(y["v"] - zd, y["sv"], y["mu"]))
        found += self.rows(lambda: page_terms.closure_velocities(XP, *row, z[None], y["v"][None])[0] - soft * y["mu"])
        found += [*scale, y["zd"] - self.scales(y["scale"], y["v"]) * y["v"], *balance]
        found += self.state_rows(lambda: self.state_residual(row, y["ended"], x, z, y["zd"]))
        found.append(projected(y["zdd"] - zdd, y["sa"], y["nu"]))
        rates = y["zd"][None], y["zdd"][None]
        found += self.rows(lambda: page_terms.closure_accelerations(XP, *row, z[None], *rates)[0] - soft * y["nu"])
        if self.nr:
            found.append(y["turn"] - self.turning(x["z"], y["inc"], known["turned"]))
        return XP.concatenate(found + self.state_rows(lambda: y["sd"] + x["sd"] - 2.0 / self.h * (y["ended"] - x["s"])))

    def loops(self, row, lam, z):
        """Return Phi_z^T lam (n,)."""
        return page_terms.loop_force(XP, *row, lam[None], z[None])[0] if self.m else 0.0

    def with_reactions(self, row, forces, lam, z):
        """Return forces (n + ns,) with Phi_z^T lam added to those on coordinates."""
        if not self.m:
            return forces
        moved = forces[: self.n] + self.loops(row, lam, z)
        return XP.concatenate((moved, forces[self.n :])) if self.ns else moved

    def rows(self, values):
        """Return the values of all loop equations in a list, empty without loops."""
        return [values()] if self.m else []

    def predicted(self, x):
        """Return the increment of constant accelerations (n,)."""
        return self.h * x["zd"] + 0.5 * self.h * self.h * x["zdd"]

    def iterates_of(self, x, inc, iterates):
        """Return z, zd, zdd and delta at the solution and at the predictor, made of x where no iterates are given."""
        found = self.iterate(inc, x), self.iterate(self.predicted(x), x)
        if iterates is None:
            return found
        parts = list(iterates.values())
        return (*parts[:3], found[0][3]), (*parts[3:], found[1][3])

    def factored(self, case, row, alpha, x, p, known, y, iterates):
        """Return the iterate of the last Newton matrix, and the equations of the correction after it."""
        here, guess = iterates[0], (*iterates[1], y["guessed"], case.guessed)
        z, zd, zdd = guess[:3]
        nothing = [1.0 * y["dz"], *self.state_rows(lambda: 1.0 * y["ds"]), *self.rows(lambda: 1.0 * y["first"])]
        unmade = self.state_rows(lambda: 1.0 * y["made"])
        if case.made > 2:
            unguessed = self.state_rows(lambda: 1.0 * y["guessed"])
            return (*here, y["s"], case.here), [*unguessed, *nothing, *unmade]
        first = self.state_rows(lambda: self.state_residual(row, y["guessed"], x, z, zd))
        if case.made == 1:
            return guess, [*first, *nothing, *unmade]
        corrected = self.newton(guess, XP.concatenate((y["dz"], y["ds"])), x["z"], p, known)
        pushed = self.force(row, y["guessed"], z, zd, zdd, case.guessed) + self.loops(row, y["first"], z)
        none = self.state_rows(lambda: 0.0 * y["ds"])
        first.append(corrected + XP.concatenate([self.q4 * pushed, *none]))
        first += self.rows(lambda: self.linearised_closures(row, z, y["dz"]) - y["first"] / alpha)
        then = self.iterate(guess[3] + self.unturned(guess[3], y["dz"]), x)
        first += self.state_rows(lambda: self.state_residual(row, y["made"], x, then[0], then[1]))
        return (*then, y["made"], case.then), first

    def linearised_closures(self, row, z, dz):
        """Return Phi + Phi_z dz (m,)."""
        J = page_terms.closure_jacobian(XP, *row, z[None])[0]
        return page_terms.closures(XP, *row, z[None])[0] + XP.sum(J * dz[None, :], axis=-1)

    def balance(self, case, tables, u, R0, here, x, y):
        """Return the residuals of the factors of the rates, and those of kept energies, each in a list."""
        if not self.nc:
            return [], []
        worked, rest, moving = self.energies(tables, u, R0, here, x, y["v"])
        scales, found = [], []
        for c, held in enumerate(case.held):
            wanted = x["kept"][c] + worked[c] if held else moving[c] + rest[c]
            scales.append(y["scale"][c] - (XP.sqrt((wanted - rest[c]) / moving[c]) if held else 1.0))
            found.append(y["kept"][c] - wanted)
        return [XP.stack(scales)], [XP.stack(found)]

    def scales(self, scale, v):
        """Return the factor (n,) of each rate v (n,), of those of the components (nc,); 1 outside of them."""
        if not self.nc:
            return 1.0
        factor = [0.0 * v[0] + 1.0] * self.n
        for own, mask in zip(scale, page_terms.members(self.tables), strict=True):
            factor = [own if inside else one for inside, one in zip(mask, factor, strict=True)]
        return XP.stack(factor)

    def energies(self, tables, u, R0, here, x, v):
        """Return work of dampers, energies beside the kinetic one, and the kinetic one (k,), v (n,) before scaling."""
        z, _, zdd, inc = here
        change = page_terms.change_of_acceleration(XP, tables.dofs, self.h, x["zdd"][None], v[None], zdd[None])
        beyond = self.h / 12.0 * page_terms.kinetic(XP, tables, R0, z[None], v[None], change)[0]
        rest = page_terms.potential(XP, tables, u, R0, z[None])[0] + beyond
        worked = page_terms.damped(XP, tables, u, self.h, inc[None], (v - x["zd"])[None])[0]
        return worked, rest, 0.5 * page_terms.kinetic(XP, tables, R0, z[None], v[None], v[None])[0]

    def turning(self, before, inc, turned):
        """Return the small turns (3 nr,) of the reference rotations after the step, along the axes of their dofs."""
        back = exponential(XP, -self.axes_sum(turned)[None])[0]
        E = product(XP, product(XP, back, exponential(XP, self.vectors(before)[None])[0]),
                    exponential(XP, self.vectors(inc)[None])[0])  # fmt: skip
        skew = 0.5 * XP.stack((E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]), axis=-1)
        axis = self.tables.dofs.axis
        own = [XP.sum(skew[e] * axis[i + k]) for e, i in enumerate(self.first) for k in range(3)]
        return XP.stack(own)

    def axes_sum(self, components):
        """Return vectors (nr, 3) of components (3 nr,) along the axes of their dofs."""
        axis = self.tables.dofs.axis
        return XP.stack([sum(components[3 * e + k] * axis[i + k] for k in range(3)) for e, i in enumerate(self.first)])
