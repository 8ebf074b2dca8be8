"""Corrections and projections of recorded steps found anew: what the recorder does not keep."""

# Traced arrays pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls

import numpy as np
from numpy.typing import NDArray

from rtmbs.semirecursive.rotations import add_correction
from rtmbs.sensitivities.saddles import solved
from rtmbs.sensitivities.step_tape import SOFT, XP, Entries, StepTape, page

Array = NDArray[np.float64]


class Projections:
    """Solves the linear equations of corrections and projections, for rows of steps."""

    def __init__(self, tape: StepTape, alpha: Array) -> None:
        self.tape, self.alpha = tape, alpha

    # ---- programs ---------------------------------------------------------------------------------------------------

    @property
    def matrix(self) -> Entries:
        """Program of A and Phi_z at an iterate: given x and its increment, also q4 (M zdd - Q) and Phi."""
        tape = self.tape
        n, m = tape.n, tape.m

        def found(q, flat):
            w, mu, x, inc = q[:n], q[n:], tape.x.split(flat[: tape.x.size]), flat[tape.x.size :][:n]
            row, known, none = self.row(x, flat[tape.x.size + n :], w)
            at = tape.iterate(inc, x)
            out = [tape.newton(at, w, x["z"], none, known) + tape.loops(row, mu, at[0])]
            out += tape.rows(lambda: XP.sum(page.closure_jacobian(XP, *row, at[0][None])[0] * w[None, :], axis=-1))
            out.append(tape.q4 * page.inverse_dynamics(XP, *row, *(one[None] for one in at[:3]))[0])
            out += tape.rows(lambda: page.closures(XP, *row, at[0][None])[0])
            return XP.concatenate(out)

        return tape.program("matrix", found, n + m, tape.x.size + n + tape.known.size)

    @property
    def ending(self) -> Entries:
        """Program of Phi_z at the end of a step, and Phid and Phidd before projections, given x, increment and zd."""
        tape = self.tape
        n = tape.n

        def found(w, flat):
            x, rest = tape.x.split(flat[: tape.x.size]), flat[tape.x.size :]
            row, _, _ = self.row(x, rest[2 * n :], w)
            z, zd, zdd, _ = tape.iterate(rest[:n], x)
            J = page.closure_jacobian(XP, *row, z[None])[0]
            out = [XP.sum(J * w[None, :], axis=-1), page.closure_velocities(XP, *row, z[None], zd[None])[0]]
            out.append(page.closure_accelerations(XP, *row, z[None], rest[n : 2 * n][None], zdd[None])[0])
            return XP.concatenate(out)

        return tape.program("ending", found, n, tape.x.size + 2 * n + tape.known.size)

    def row(self, x, flat, traced):
        """Return tables, u and R0, what is known by name, and parameters that do not deviate."""
        known, count = self.tape.known.split(flat), self.tape.variations.count
        none = XP.stack([0.0 * traced[0]] * count) if count else np.zeros(0)
        tables, u, R0, _, _ = self.tape.context(x["z"], none, known)
        return (tables, u, R0), known, none

    # ---- steps ------------------------------------------------------------------------------------------------------

    def of(self, x: Array, inc: Array, zd1: Array, made: NDArray[np.int64], known: Array) -> dict[str, Array]:
        """Return what the equations of steps find (K, ...) from recorded positions ``inc`` and rates ``zd1``."""
        tape, parts = self.tape, {name: x[:, place] for name, place in self.tape.x.places.items()}
        n, m, h, count = tape.n, tape.m, tape.h, len(x)
        zd, zdd = 2.0 / h * inc - parts["zd"], 4.0 / h**2 * inc - 4.0 / h * parts["zd"] - parts["zdd"]
        at = np.where((made <= 2)[:, None], h * parts["zd"] + 0.5 * h * h * parts["zdd"], inc)
        dz, first = np.zeros((count, n)), np.zeros((count, m))
        if len(twice := np.flatnonzero(made == 2)):
            dz[twice], first[twice] = self.corrections(x[twice], at[twice], known[twice])
            at[twice] = moved(tape, at[twice], dz[twice])
        if not m:
            return {"dz": dz, "first": first, "v": zd, "mu": first, "zdd": zdd, "nu": first}
        S, _, _ = self.saddles(x, at, known)
        out = self.ending.rows(np.zeros((count, n)), np.hstack((x, inc, zd1, known)))
        S[:, n:, :n] = spread(self.ending, out[:, 3 * m :], 3 * m, n)[:, :m]
        S[:, n:, n:] = -np.diag(SOFT / (tape.q4 * self.alpha))
        right = np.zeros((count, n + m, 2))
        right[:, n:, 0], right[:, n:, 1] = -out[:, m : 2 * m], -out[:, 2 * m : 3 * m]
        change = solved(S, n, tape.q4 * self.alpha, tape.redundant, right)
        v, a = change[:, :, 0], change[:, :, 1]
        return {"dz": dz, "first": first, "v": zd + v[:, :n], "mu": v[:, n:], "zdd": zdd + a[:, :n], "nu": a[:, n:]}

    def saddles(self, x: Array, inc: Array, known: Array) -> tuple[Array, Array, Array]:
        """Return [A, Phi_z^T; Phi_z, 0], q4 (M zdd - Q) and Phi at iterates."""
        n, m = self.tape.n, self.tape.m
        out = self.matrix.rows(np.zeros((len(x), n + m)), np.hstack((x, inc, known)))
        size = 2 * (n + m)
        return (
            spread(self.matrix, out[:, size:], size, n + m)[:, : n + m],
            out[:, n + m : 2 * n + m],
            out[:, 2 * n + m : size],
        )

    def corrections(self, x: Array, inc: Array, known: Array) -> tuple[Array, Array]:
        """Return Newton's corrections (K, n) of increments, and their multipliers (K, m)."""
        n = self.tape.n
        S, force, Phi = self.saddles(x, inc, known)
        S[:, :n, n:] *= self.tape.q4
        S[:, n:, n:] = -np.diag(1.0 / self.alpha)
        right = -np.hstack((force, Phi))[:, :, None]
        found = solved(S, n, self.alpha, self.tape.redundant, right)[:, :, 0]
        return found[:, :n], found[:, n:]


def spread(entries: Entries, values: Array, m: int, n: int) -> Array:
    """Return dense matrices (K, m, n) of rows of entries."""
    full = np.zeros((len(values), m * n))
    full[:, entries.place] = values
    return full.reshape(len(values), m, n)


def moved(tape: StepTape, at: Array, dz: Array) -> Array:
    """Return increments (K, n) after corrections found at them."""
    if not tape.nr:
        return at + dz
    found = at.copy()
    for one, delta, change in zip(found, at, dz, strict=True):
        add_correction(tape.tables.dofs, delta, change, one)
    return found
