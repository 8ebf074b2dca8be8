"""Tape of the equations of a variational midpoint step: G(y, x, p) = 0, and its impulses anew (METHODS 6.11).

The blocks are those of ``step_tape``. The increment has the multipliers of the first end, the projection of rates those
of the last end. No Newton matrix enters the equations, and no energy is kept.
"""

# Traced arrays pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.contract import PENALTY
from rtmbs.simulation.simulation import Simulation
from rtmbs.studies.sensitivities.projections import Ends, Projections, spread
from rtmbs.studies.sensitivities.saddles import dense_entries, solved
from rtmbs.studies.sensitivities.step_tape import (
    SOFT,
    SOLUTION,
    XP,
    JacobianProgram,
    StepTape,
    VectorLayout,
    Weights,
    page,
    page_terms,
)
from rtmbs.studies.sensitivities.variations import Variations
from rtmbs.system.system import System
from rtmbs.system.tables import Tables

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


class MidpointTape(StepTape):
    """Recorder of the equations of variational midpoint steps of ``h`` [s]."""

    usual = ("fixed_iterations",)
    split_multipliers = False
    follows_penalties = False

    def __init__(self, system: System, tables: Tables, variations: Variations, h: float, redundant: bool) -> None:
        super().__init__(system, tables, variations, h, redundant)
        n, m, ns, turns = self.n, self.m, self.ns, 3 * self.nr
        self.nc = 0
        self.y = VectorLayout(
            guessed=0, dz=0, ds=0, first=0, made=0, inc=n, s=ns, push=m, v=n, sv=0, mu=m, scale=0, zd=n, kept=0,
            ended=ns, zdd=n, sa=0, nu=m, turn=turns, sd=ns,
        )  # fmt: skip
        self.x = VectorLayout(z=n, zd=n, zdd=n, kept=0, s=ns, sd=ns)
        nu, pairs = len(system.u0), len(variations.pairs)
        self.known = VectorLayout(u=nu, R0=9 * self.nr, alpha=m, turned=turns, drift=pairs, before=nu, early=pairs)
        self.inputs = VectorLayout(y=self.y.size, x=self.x.size, p=variations.count)
        self.iterates = VectorLayout()

    @staticmethod
    def penalties(sim: Simulation) -> Array:
        """Return c m (m,): they decide no more than how redundant rows are told apart."""
        return np.asarray((sim.method.c or PENALTY) * sim.equations.masses)

    def weights(self, alpha: Array) -> Weights:
        """Return the weights of loop equations in the blocks of a step; no states stand in the projections."""
        return Weights(alpha / self.h, alpha / self.h, alpha, self.n)

    def made(self, jacobians: Integers) -> Integers:
        """Return the solution for every step: no Newton matrix enters the equations."""
        return np.full_like(jacobians, SOLUTION)

    def middle(self, x, inc):
        """Return half of an increment, z in the middle of the step, and the rates there."""
        half = 0.5 * inc
        return half, x["z"] * self.plain + half, inc / self.h

    def first_inputs(self, p, known):
        """Return the inputs (nu,) with which the step begins."""
        before = known | {"u": known["before"], "drift": known["early"]}
        return self.variations.applied(XP, self.tables, before, p)[1]

    def forces(self, row, s, z, zd, ways):
        """Return dT/dz + Q (n,), force laws at the states ``s``, those that Python calls on their ways."""
        found = page.lagrange_force(XP, *self.with_states(row, s), z[None], zd[None])[0]
        return found + self.called.forces(row, z, zd, ways) if self.called else found

    def momenta(self, row, z, zd):
        """Return M zd (n,)."""
        return page.momenta(XP, row[0], row[2], z[None], zd[None])[0]

    def turned_by(self, function, y, x):
        """Return ``function``, one of those of page.py, of a momentum x (n,) and the vector y (n,) of a turn."""
        return function(XP, self.tables, y[None], x[None])[0]

    def equations(self, case, q, flat, iterates=None):
        """Return G (ny,) at (y, x, p), or at (y, x) with parameters as they are: see METHODS 6.11 for each line."""
        parts, known = self.inputs.split(q), self.known.split(flat)
        y, x = self.y.split(parts["y"]), self.x.split(parts["x"])
        p = parts["p"] if len(q) == self.inputs.size else np.zeros(self.variations.count)
        tables, u, R0, alpha, z0 = self.context(x["z"], p, known)
        begin = self.first_inputs(p, known)
        first, row, between = (tables, begin, R0), (tables, u, R0), (tables, 0.5 * (begin + u), R0)
        half, z, rates = self.middle(x, y["inc"])
        soft, end = SOFT / alpha, z0 + y["inc"]
        start = self.momenta(first, z0, x["zd"]) - self.loops(first, y["push"], z0)
        force = self.forces(between, y["s"], z, rates, case.here)
        found = [self.turned_by(page.undone, half, self.momenta(between, z, rates)) - 0.5 * self.h * force]
        found[0] = found[0] - self.turned_by(page.half_turned, half, start)
        found += self.state_rows(
            lambda: y["s"] - x["s"] - 0.5 * self.h * self.rates(between, y["s"], z, rates),
        )
        found += self.rows(lambda: page_terms.closures(XP, *row, end[None])[0] - self.h * soft * y["push"])
        carried = self.turned_by(page.turned_back, y["inc"], start)
        carried = carried + self.h * self.turned_by(page.turned_back, half, force)
        found.append(self.momenta(row, end, y["v"]) + self.loops(row, y["mu"], end) - carried)
        found += self.rows(lambda: page_terms.closure_velocities(XP, *row, end[None], y["v"][None])[0] - soft * y["mu"])
        found.append(y["zd"] - y["v"])
        found += self.state_rows(lambda: y["ended"] - 2.0 * y["s"] + x["s"])
        found += self.balanced(row, y, end, soft, case.then)
        if self.nr:
            found.append(y["turn"] - self.turning(x["z"], y["inc"], known["turned"]))
        return XP.concatenate(found + self.state_rows(lambda: y["sd"] - self.rates(row, y["ended"], end, y["zd"])))

    def balanced(self, row, y, end, soft, ways):
        """Return the residuals of the equations of motion at the end, in a list."""
        rates = y["zd"][None], y["zdd"][None]
        found = [self.force(row, y["ended"], end, y["zd"], y["zdd"], ways) + self.loops(row, y["nu"], end)]
        return found + self.rows(
            lambda: page_terms.closure_accelerations(XP, *row, end[None], *rates)[0] - soft * y["nu"]
        )


class MidpointImpulses(Projections):
    """Impulses of both ends of recorded midpoint steps, which the recorder does not keep."""

    tape: MidpointTape

    def of(self, x: Array, inc: Array, end: Ends, made: Integers, known: Array) -> tuple[dict[str, Array], Integers]:
        """Return the unknowns of steps (K, ...), and the ways (K, 3 laws) of called laws: none, at the end, between.

        ``push`` and ``mu`` solve equations that are linear in them. What these equations miss beside the impulses are
        changes of rates and accelerations. ``off`` is that of the rates in the middle.
        """
        tape, n, m, count = self.tape, self.tape.n, self.tape.m, len(x)
        s = 0.5 * (x[:, tape.x["s"]] + end.s)
        given = np.hstack((x, inc, s, end.zd, end.zdd, end.lam, end.s, known))
        found = {"s": s, "push": np.zeros((count, m)), "mu": np.zeros((count, m)), "nu": end.lam}
        off = np.zeros((count, n))
        found |= {"v": end.zd.copy(), "zdd": end.zdd.copy(), "off": off}
        ways = self.ways_of(x, inc, end, known)
        for kind in np.unique(ways, axis=0):
            own = np.flatnonzero(np.all(ways == kind, axis=1))
            self.solve(found, own, self.linear(tuple(kind.tolist())), np.ascontiguousarray(given[own]))
        empty = {name: np.zeros((count, 0)) for name in ("guessed", "dz", "ds", "first", "made", "sv", "sa")}
        return found | empty, ways

    def solve(self, found: dict[str, Array], own: Integers, program: JacobianProgram, given: Array) -> None:
        """Solve for the rows ``own`` of the unknowns."""
        tape, n, m = self.tape, self.tape.n, self.tape.m
        size, count, rest = n + m, len(given), 4 * n + 2 * m
        out = program.rows(np.zeros((count, size)), given)
        J = spread(program, out[:, rest:], rest, size)
        at = VectorLayout(first=n, rates=n, carried=n, Phid=m, force=n, Phidd=m)
        missed = at.split(out[:, :rest].T)
        S, right = np.zeros((count, size, size)), np.zeros((count, size, 1))
        S[:, :n], right[:, :n, 0] = J[:, at["first"]], -missed["first"].T
        S[:, n:, :n] = np.swapaxes(S[:, :n, n:], 1, 2)
        S[:, n:, n:] = -np.diag(SOFT / self.alpha)
        change = solved(dense_entries(S), n, self.alpha, tape.redundant, right)[:, :, 0]
        found["off"][own], found["push"][own] = change[:, :n], change[:, n:]
        carried = missed["rates"].T + np.einsum("kij,kj->ki", J[:, at["carried"], n:], change[:, n:])
        S[:, :n], S[:, n:, :n] = J[:, at["rates"]], J[:, at["Phid"], :n]
        right = -np.stack(
            (np.hstack((carried, missed["Phid"].T)), np.hstack((missed["force"].T, missed["Phidd"].T))), 2
        )
        change = solved(dense_entries(S), n, self.alpha, tape.redundant, right)
        found["v"][own] += change[:, :n, 0]
        found["zdd"][own] += change[:, :n, 1]
        found["mu"][own], found["nu"][own] = change[:, n:, 0], found["nu"][own] + change[:, n:, 1]

    def linear(self, ways: tuple[int, ...]) -> JacobianProgram:
        """Return the program of the residual of recorded steps, and its derivatives by rates and impulses."""
        tape, laws = self.tape, len(self.tape.called.laws)
        n, m, ns = tape.n, tape.m, tape.ns
        given = VectorLayout(x=tape.x.size, inc=n, s=ns, zd=n, zdd=n, lam=m, ended=ns, known=tape.known.size)

        def found(q, flat):
            parts, w, push = given.split(flat), q[:n], q[n:]
            x = tape.x.split(parts["x"])
            row, known, none = self.row(x, parts["known"], w)
            tables, u, R0 = row
            begin = tape.first_inputs(none, known)
            first, between = (tables, begin, R0), (tables, 0.5 * (begin + u), R0)
            z0, (half, z, rates) = x["z"] * tape.plain, tape.middle(x, parts["inc"])
            end, zd = z0 + parts["inc"], parts["zd"] + w
            p0, pushed = tape.momenta(first, z0, x["zd"]), tape.loops(first, push, z0) + 0.0 * w
            force = tape.forces(between, parts["s"], z, rates, ways[2 * laws :])
            own = tape.turned_by(page.undone, half, tape.momenta(between, z, rates)) - 0.5 * tape.h * force
            own = own - tape.turned_by(page.half_turned, half, p0 - pushed) + tape.momenta(between, z, w)
            kept = tape.turned_by(page.turned_back, parts["inc"], p0)
            kept = kept + tape.h * tape.turned_by(page.turned_back, half, force)
            out = [own, tape.momenta(row, end, zd) + tape.loops(row, push, end) - kept]
            out.append(tape.turned_by(page.turned_back, parts["inc"], pushed))
            out += tape.rows(lambda: page_terms.closure_velocities(XP, *row, end[None], zd[None])[0])
            last = {"ended": parts["ended"], "zd": parts["zd"], "zdd": parts["zdd"], "nu": parts["lam"]}
            return XP.concatenate(out + tape.balanced(row, last, end, np.zeros(m), ways[laws : 2 * laws]))

        return tape.program(("impulses", ways), found, n + m, given.size)

    def ways_of(self, x: Array, inc: Array, end: Ends, known: Array) -> Integers:
        """Return the branches (K, 3 laws) of called laws: none of a predictor, those at the end, those between."""
        tape, between = self.tape, known.copy()
        between[:, tape.known["u"]] = 0.5 * (known[:, tape.known["before"]] + known[:, tape.known["u"]])
        last = tape.ways(x, inc, end.zd, known)
        middle = tape.ways(x, 0.5 * inc, inc / tape.h, np.ascontiguousarray(between))
        return np.hstack((np.full(last.shape, -1), last, middle))
