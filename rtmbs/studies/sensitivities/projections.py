"""Reconstruction of the corrections and projections of recorded steps, which the recorder does not keep."""

# Traced arrays pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.semirecursive.passes import add_correction
from rtmbs.studies.sensitivities.page_terms import Ways, kinds_of
from rtmbs.studies.sensitivities.saddles import Entries, entries_of, solved
from rtmbs.studies.sensitivities.step_tape import SOFT, XP, JacobianProgram, StepTape, VectorLayout, page_terms

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
ROUGH = 1e-9  # of a state: changes that small and no smaller than half the one before are rounding
ROUNDS = 25  # of Newton's iteration for states of force laws, as in a step (METHODS 1.32)


class Ends(NamedTuple):
    """Recorded ends of steps, a row a step."""

    zd: Array  # (K, n)
    zdd: Array  # (K, n)
    lam: Array  # (K, m)
    s: Array  # (K, ns)


class Projections:
    """Solver of the linear equations of corrections and projections, for rows of steps."""

    def __init__(self, tape: StepTape, alpha: Array) -> None:
        self.tape, self.alpha = tape, alpha

    # ---- programs ---------------------------------------------------------------------------------------------------

    def matrix(self, ways: Ways, whole: bool) -> JacobianProgram:
        """Return the program of [A, Phi_z^T] at an iterate, given x, its increment and states.

        ``whole`` asks for Phi_z below it too, and for q4 (M zdd - Q) and Phi. ``ways`` are those of the called laws.
        """
        tape = self.tape
        n, m, ns = tape.n, tape.m, tape.ns
        given = VectorLayout(x=tape.x.size, inc=n, s=ns, known=tape.known.size)

        def found(q, flat):
            parts = given.split(flat)
            w, mu, x = q[: n + ns], q[n + ns :], tape.x.split(parts["x"])
            row, known, none = self.row(x, parts["known"], w)
            at = *tape.iterate(parts["inc"], x), parts["s"], ways
            out = [tape.with_reactions(row, tape.newton(at, w, x["z"], none, known), mu, at[0])]
            if not whole:
                return XP.concatenate(out)
            out += tape.rows(
                lambda: XP.sum(page_terms.closure_jacobian(XP, *row, at[0][None])[0] * w[None, :n], axis=-1)
            )
            out.append(tape.q4 * tape.force(row, at[4], at[0], at[1], at[2], ways))
            out += tape.state_rows(lambda: 0.0 * w[n:])
            out += tape.rows(lambda: page_terms.closures(XP, *row, at[0][None])[0])
            return XP.concatenate(out)

        return tape.program(("matrix", ways, whole), found, n + ns + m, given.size)

    @property
    def rates(self) -> JacobianProgram:
        """Program of rates of force states and their derivatives by states, given x, an increment and zd."""
        tape = self.tape
        given = VectorLayout(x=tape.x.size, inc=tape.n, zd=tape.n, known=tape.known.size)

        def found(s, flat):
            parts = given.split(flat)
            x = tape.x.split(parts["x"])
            row, _, _ = self.row(x, parts["known"], s)
            return tape.rates(row, s, tape.iterate(parts["inc"], x)[0], parts["zd"])

        return tape.program("rates", found, tape.ns, given.size)

    @property
    def ending(self) -> JacobianProgram:
        """Program of Phi_z at the end of a step, and Phid and Phidd before projections, given x, increment and zd."""
        tape = self.tape
        n = tape.n

        def found(w, flat):
            x, rest = tape.x.split(flat[: tape.x.size]), flat[tape.x.size :]
            row, _, _ = self.row(x, rest[2 * n :], w)
            z, zd, zdd, _ = tape.iterate(rest[:n], x)
            J = page_terms.closure_jacobian(XP, *row, z[None])[0]
            out = [XP.sum(J * w[None, :], axis=-1), page_terms.closure_velocities(XP, *row, z[None], zd[None])[0]]
            out.append(page_terms.closure_accelerations(XP, *row, z[None], rest[n : 2 * n][None], zdd[None])[0])
            return XP.concatenate(out)

        return tape.program("ending", found, n, tape.x.size + 2 * n + tape.known.size)

    def row(self, x, flat, traced):
        """Return tables, u and R0, known data by name, and parameters without deviation."""
        known, count = self.tape.known.split(flat), self.tape.variations.count
        none = XP.stack([0.0 * traced[0]] * count) if count else np.zeros(0)
        tables, u, R0, _, _ = self.tape.context(x["z"], none, known)
        return (tables, u, R0), known, none

    # ---- steps ------------------------------------------------------------------------------------------------------

    def of(self, x: Array, inc: Array, end: Ends, made: Integers, known: Array) -> tuple[dict[str, Array], Integers]:
        """Return the unknowns of steps (K, ...) from recorded positions ``inc`` and their ends.

        Behind it stand the ways (K, 3 laws) of called laws at the predictor, behind the first correction and at last,
        -1 where no equation looks. ``off`` (K, n) are rates that further equations miss: none here.
        """
        tape, parts = self.tape, {name: x[:, place] for name, place in self.tape.x.places.items()}
        h, count = tape.h, len(x)
        zd, zdd = 2.0 / h * inc - parts["zd"], 4.0 / h**2 * inc - 4.0 / h * parts["zd"] - parts["zdd"]
        at = np.where((made <= 2)[:, None], h * parts["zd"] + 0.5 * h * h * parts["zdd"], inc)
        names = ("guessed", "dz", "ds", "first", "made", "s", "sv", "sa", "mu", "nu")
        sizes = (tape.y[name] for name in names)
        found = {name: np.zeros((count, one.stop - one.start)) for name, one in zip(names, sizes, strict=True)}
        found |= {"v": zd, "zdd": zdd, "s": self.states(x, inc, known)}
        s = found["s"].copy()
        early, twice = np.flatnonzero(made <= 2), np.flatnonzero(made == 2)
        ways = np.full((3, count, len(tape.called.laws)), -1)
        if tape.called:
            ways[0, early], ways[2] = self.ways(x[early], at[early], known[early]), self.ways(x, inc, known)
        if tape.ns:
            found["guessed"][early] = s[early] = self.states(x[early], at[early], known[early])
        if len(twice):
            dz, found["ds"][twice], found["first"][twice] = self.corrections(
                x[twice], at[twice], s[twice], known[twice]
            )
            found["dz"][twice], at[twice] = dz, moved(tape, at[twice], dz)
            found["made"][twice] = s[twice] = self.states(x[twice], at[twice], known[twice])
            ways[1, twice] = self.ways(x[twice], at[twice], known[twice])
        if tape.m:
            self.project(found, x, (inc, end.zd), (at, s), known)
        found |= {"push": end.lam - found["nu"], "off": np.zeros((count, 0))}
        return found, np.hstack(tuple(ways))

    def project(self, found: dict[str, Array], x: Array, end: tuple[Array, Array], at: Any, known: Array) -> None:
        """Project rates and accelerations, and fill in their multipliers and changes of states."""
        tape, (inc, zd1) = self.tape, end
        n, m, count, size = tape.n, tape.m, len(x), tape.n + tape.ns
        upper, _ = self.entries(x, at[0], at[1], known, False)
        out = self.ending.rows(np.zeros((count, n)), np.hstack((x, inc, zd1, known)))
        row, column = np.divmod(self.ending.place, n)
        soft, corner = np.tile(-SOFT / (tape.q4 * self.alpha), (count, 1)), np.arange(size, size + m)
        lower = entries_of(
            np.concatenate((size + row, corner)), np.concatenate((column, corner)), np.hstack((out[:, 3 * m :], soft))
        )
        S = Entries(*(np.concatenate(parts, axis=-1) for parts in zip(upper, lower, strict=True)))
        right = np.zeros((count, size + m, 2))
        right[:, size:, 0], right[:, size:, 1] = -out[:, m : 2 * m], -out[:, 2 * m : 3 * m]
        change = solved(S, size, tape.q4 * self.alpha, tape.redundant, right)
        for k, (rates, own, push) in enumerate((("v", "sv", "mu"), ("zdd", "sa", "nu"))):
            found[rates] = found[rates] + change[:, :n, k]
            found[own], found[push] = change[:, n:size, k], change[:, size:, k]

    def saddles(self, x: Array, inc: Array, s: Array, known: Array) -> tuple[Entries, Array, Array]:
        """Return [A, Phi_z^T; Phi_z, 0], q4 (M zdd - Q) with zeros for the states, and Phi at iterates."""
        size = self.tape.n + self.tape.ns
        S, out = self.entries(x, inc, s, known, True)
        return S, *split(out[:, size + self.tape.m :], size)

    def entries(self, x: Array, inc: Array, s: Array, known: Array, whole: bool) -> tuple[Entries, Array]:
        """Return [A, Phi_z^T] at iterates, with Phi_z below where it is to be ``whole``, and outputs of its program."""
        columns = self.tape.n + self.tape.ns + self.tape.m
        outputs = 2 * columns if whole else columns - self.tape.m
        given, none = np.hstack((x, inc, s, known)), np.zeros((len(x), columns))
        kinds, which = kinds_of(self.ways(x, inc, known))
        programs = [self.matrix(tuple(ways.tolist()), whole) for ways in kinds]
        if len(programs) == 1 and np.all(np.diff(programs[0].place) > 0):
            out = programs[0].rows(none, given)
            return Entries(*np.divmod(programs[0].place, columns), out[:, outputs:]), out[:, :outputs]
        places = np.unique(np.concatenate([one.place for one in programs]))
        values, rest = np.zeros((len(x), len(places))), np.zeros((len(x), outputs))
        for k, entries in enumerate(programs):
            own = np.flatnonzero(which == k)
            out = entries.rows(none[own], given[own])
            values[np.ix_(own, np.searchsorted(places, entries.place))] = out[:, outputs:]
            rest[own] = out[:, :outputs]
        return Entries(*np.divmod(places, columns), values), rest

    def ways(self, x: Array, inc: Array, known: Array) -> Integers:
        """Return the branches (K, laws) of the Python laws at increments (K, n)."""
        return self.tape.ways(x, inc, 2.0 / self.tape.h * inc - x[:, self.tape.x["zd"]], known)

    def corrections(self, x: Array, inc: Array, s: Array, known: Array) -> tuple[Array, Array, Array]:
        """Return Newton's corrections (K, n) of increments, of states (K, ns), and their multipliers (K, m)."""
        n, size = self.tape.n, self.tape.n + self.tape.ns
        S, force, Phi = self.saddles(x, inc, s, known)
        loaded, corner = (S.row < size) & (S.column >= size), np.arange(size, size + len(self.alpha))
        weighted = entries_of(
            np.concatenate((S.row, corner)),
            np.concatenate((S.column, corner)),
            np.hstack((S.values * np.where(loaded, self.tape.q4, 1.0), np.tile(-1.0 / self.alpha, (len(x), 1)))),
        )
        right = -np.hstack((force, Phi))[:, :, None]
        found = solved(weighted, size, self.alpha, self.tape.redundant, right)[:, :, 0]
        return found[:, :n], found[:, n:size], found[:, size:]

    def states(self, x: Array, inc: Array, known: Array) -> Array:
        """Return the states (K, ns) of force laws that follow an increment, from s_n + h/2 sd_n on as in a step."""
        tape, half = self.tape, 0.5 * self.tape.h
        own = x[:, tape.x["s"]] + half * x[:, tape.x["sd"]]
        if not own.size:
            return own
        zd = 2.0 / tape.h * inc - x[:, tape.x["zd"]]
        given, begun, last = np.ascontiguousarray(np.hstack((x, inc, zd, known))), own, np.inf
        for _ in range(ROUNDS):
            out = self.rates.rows(own, given)
            slope = np.eye(tape.ns) - half * spread(self.rates, out[:, tape.ns :], tape.ns, tape.ns)
            change = np.linalg.solve(slope, (begun + half * out[:, : tape.ns] - own)[:, :, None])[:, :, 0]
            own = own + change
            size = float(np.max(np.abs(change) / (np.abs(own) + 1e-300)))
            if size == 0.0 or (size < ROUGH and size >= 0.5 * last):
                break
            last = size
        return own


def split(rows: Array, size: int) -> tuple[Array, Array]:
    """Return the first ``size`` numbers of rows, and the others."""
    return rows[:, :size], rows[:, size:]


def spread(entries: JacobianProgram, values: Array, m: int, n: int) -> Array:
    """Return dense matrices (K, m, n) of rows of entries."""
    full = np.zeros((len(values), m * n))
    full[:, entries.place] = values
    return full.reshape(len(values), m, n)


def moved(tape: StepTape, at: Array, dz: Array) -> Array:
    """Return increments (K, n) after corrections."""
    if not tape.nr:
        return at + dz
    found = at.copy()
    for one, delta, change in zip(found, at, dz, strict=True):
        add_correction(tape.tables.dofs, delta, change, one)
    return found
