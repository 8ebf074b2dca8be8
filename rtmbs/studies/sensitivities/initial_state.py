"""Derivatives of the first state by parameters: loops closed by the least change, rates likewise, accelerations.

A state that is the start of its model changes as that start does: pose and rates are those nearest to the given ones.
Any other state stays as near to itself as loops allow (METHODS 1.15, 1.37). What ``set_initial`` pinned stays, but for
the coordinate or rate that is the parameter. Accelerations and multipliers belong to pose and rates.
"""

# Traced arrays pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.numerics.rotations.quaternions import turn_between, vector_rates
from rtmbs.state import State
from rtmbs.studies.sensitivities import page_terms
from rtmbs.studies.sensitivities.saddles import dense_entries, solved
from rtmbs.studies.sensitivities.step_tape import SOFT, XP, StepTape, VectorLayout
from rtmbs.system.system import System

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
AT_START = 1e-9  # of the pull: a state that misses the conditions of a start by more is none
OPEN = 1e-8  # of the row scale: a loop that a change of a parameter by its size opens by more stays open
RANK = 1e-9  # of the largest singular value of the scaled Phi_z: below, a direction is redundant


@dataclass(frozen=True)
class Pin:
    """Coordinate (order 0) or rate (order 1) that a parameter sets."""

    parameter: int
    dof: int
    order: int
    name: str


@dataclass(frozen=True)
class FirstChange:
    """Derivatives of the first state (nx, np) and of its multipliers (m, np)."""

    state: Array
    lam: Array


def way_from_start(system: System, state: State, plain: Mask, weights: Array) -> tuple[Array, Array]:
    """Return the displacement (n,) from the model's start pose, and the derivative of W displacement (n, n).

    Rotation dofs have the vector d of their turn, R = R_0 exp(d~), which R0 has taken in. A small turn e in body axes
    changes d by T^-1(d) e; T^T d = d, so that W d is balanced by the multipliers of small turns.
    """
    way, metric = state.z - system.z0, np.diag(weights)
    dofs = system.tables.dofs
    for i in np.flatnonzero(dofs.reference >= 0):
        own, k = slice(i, i + 3), dofs.reference[i]
        axes = dofs.axis[own]
        turn = turn_between(system.R0[k], state.R0[k])
        rates = vector_rates(np.broadcast_to(turn, (3, 3)), axes, np.zeros((3, 3)))[0]
        way[own], metric[own, own] = axes @ turn, weights[own, None] * (axes @ rates.T)
    return np.where(plain, state.z - system.z0, way), metric


class StartEquations:
    """Linearised equations of a consistent state, at a state at the boundary of a step."""

    def __init__(self, tape: StepTape, system: System, state: State, alpha: Array, pins: Sequence[Pin] = ()) -> None:
        self.tape, self.system, self.state, self.alpha = tape, system, state, alpha
        n, m, nc, ns = tape.n, tape.m, tape.nc, tape.ns
        self.into = VectorLayout(z=n, zd=n, zdd=n, s=ns, lam=m, p=tape.variations.count)
        self.out = VectorLayout(Phi=m, Phid=m, force=n, states=ns, Phidd=m, energy=nc, pose=n, rates=n)
        self.weights = system.weights / system.typical**2
        self.kept_z, self.kept_zd = system.pinned_z.copy(), system.pinned_zd.copy()
        for kept in (self.kept_z, self.kept_zd):
            kept[system.tables.drivers.dof] = False  # a driver goes on where ``set_initial`` pinned what it says
        self.pulls = np.zeros((2, m))
        self.J = self.jacobian()
        self.away, self.metric = way_from_start(system, state, tape.plain, self.weights)
        if system.m and (pins or self.moving):
            self.pulls = np.array([self.pull(self.away, self.kept_z), self.pull(state.zd - system.zd0, self.kept_zd)])
            self.J = self.jacobian()

    def jacobian(self) -> Array:
        """Return the derivatives (out, into) of all equations of a state."""
        tape, state = self.tape, self.state

        def found(q, flat):
            parts, known, pulls = self.into.split(q), tape.known.split(flat[: tape.known.size]), flat[tape.known.size :]
            tables, u, R0, _, z = tape.context(parts["z"], parts["p"], known)
            row, zd, zdd = (tables, u, R0), parts["zd"][None], parts["zdd"][None]
            force = tape.force(row, parts["s"], z, zd[0], zdd[0], ways) + tape.loops(row, parts["lam"], z)
            states = tape.state_rows(lambda: tape.rates(row, parts["s"], z, zd[0]))
            z = z[None]
            rows = tape.rows(lambda: page_terms.closures(XP, *row, z)[0])
            rows += tape.rows(lambda: page_terms.closure_velocities(XP, *row, z, zd)[0])
            rows += [force, *states]
            rows += tape.rows(lambda: page_terms.closure_accelerations(XP, *row, z, zd, zdd)[0])
            if tape.nc:
                moving = 0.5 * page_terms.kinetic(XP, tables, R0, z, zd, zd)[0]
                rows.append(moving + page_terms.potential(XP, tables, u, R0, z)[0])
            pulled = [tape.loops(row, one, z[0]) for one in (pulls[: tape.m], pulls[tape.m :])]
            rows += pulled if tape.m else [0.0 * z[0]] * 2
            return XP.concatenate(rows)

        z = np.where(tape.plain, state.z, 0.0)
        x = np.concatenate((z, state.zd, np.zeros(tape.x.size - 2 * tape.n)))[None]
        drift = tape.variations.drift(np.array([state.t]))[0]
        known, begin = np.zeros(tape.known.size), {"u": state.u, "R0": state.R0.ravel(), "alpha": self.alpha}
        for name, value in (begin | {"drift": drift}).items():
            known[tape.known[name]] = value
        ways = tuple(tape.ways(x, np.zeros((1, tape.n)), state.zd[None], known[None])[0].tolist())
        entries = tape.program(("start", ways), found, self.into.size, tape.known.size + 2 * tape.m)
        point = np.concatenate((z, state.zd, state.zdd, state.s, state.lam, np.zeros(tape.variations.count)))
        known = np.concatenate((known, *self.pulls))
        J, (row, column) = np.zeros((self.out.size, self.into.size)), np.divmod(entries.place, self.into.size)
        closing = (self.out[name] for name in ("Phi", "Phid", "pose", "rates"))
        by_p = row[column >= self.into["p"].start]
        self.moving = any(np.any((by_p >= one.start) & (by_p < one.stop)) for one in closing)  # pose or rates, by loads
        J.ravel()[entries.place] = entries.rows(point[None], known[None])[0, self.out.size :]
        return J

    @property
    def pace(self) -> float:
        """Largest rate in typical sizes, at least one [1/s]."""
        return max(float(np.max(np.abs(self.state.zd) / self.system.typical, initial=0.0)), 1.0)

    def block(self, row: str, column: str) -> Array:
        """Return the derivatives of one kind of equation by one kind of number."""
        return self.J[self.out[row], self.into[column]]

    def change(self, names: Sequence[str], pins: Sequence[Pin], sizes: Array, s: Array) -> FirstChange:
        """Return the derivatives by all parameters of these ``sizes`` (np,), given those of force states s (ns, np).

        Raises InputError for a pin that the loops do not let go.
        """
        n, count = self.tape.n, self.tape.variations.count
        z, zd = np.zeros((n, count)), np.zeros((n, count))
        by = {pin.parameter: pin for pin in pins}
        bend, none = self.block("pose", "z") + self.metric - np.diag(self.weights), np.zeros((n, n))
        by_p = np.vstack([self.block(row, "p") for row in ("pose", "Phi", "rates", "Phid")])
        for j in range(count):
            if j not in by and not by_p[:, j].any():
                continue  # the pose and the rates stay, as for a load
            pin = by.get(j)
            own = pin if pin is not None and pin.order == 0 else None
            bent = -self.block("pose", "p")[:, j]
            left = -self.block("Phi", "p")[:, j]
            z[:, j] = self.nearest(bend, bent, left, self.kept_z, own, (names[j], sizes[j]))
            own = pin if pin is not None and pin.order == 1 else None
            bent = -self.block("rates", "z") @ z[:, j] - self.block("rates", "p")[:, j]
            left = -self.block("Phid", "z") @ z[:, j] - self.block("Phid", "p")[:, j]
            zd[:, j] = self.nearest(none, bent, left, self.kept_zd, own, (names[j], sizes[j] / self.pace))
        accelerations, lam = self.accelerations(z, zd, s)
        kept, sd = self.moved("energy", z, zd, s), self.moved("states", z, zd, s)
        return FirstChange(np.vstack((z, zd, accelerations, kept, s, sd)), lam)

    def moved(self, row: str, z: Array, zd: Array, s: Array) -> Array:
        """Return how equations change with coordinates, rates, states and parameters (k, np)."""
        moving = [(name, one) for name, one in (("z", z), ("zd", zd), ("s", s)) if np.any(one)]  # none by a load
        changed = sum(self.block(row, name) @ one for name, one in moving)
        return np.asarray(changed + self.block(row, "p"))

    def accelerations(self, z: Array, zd: Array, s: Array) -> tuple[Array, Array]:
        """Return the changes of accelerations (n, np) and multipliers (m, np) that belong to those of the motion."""
        n, m = self.tape.n, self.tape.m
        right = -np.vstack([self.moved(row, z, zd, s) for row in ("force", "Phidd")])
        S = np.zeros((n + m, n + m))
        S[:n, :n], S[:n, n:] = self.block("force", "zdd"), self.block("force", "lam")
        S[n:, :n] = self.block("Phidd", "zdd")
        weight = self.tape.weights(self.alpha).projection
        S[n:, n:] = -np.diag(SOFT / weight)
        if not right.shape[1]:
            return right[:n], right[n:]
        found = solved(dense_entries(S[None]), n, weight, self.tape.redundant, right[None])[0]
        return found[:n], found[n:]

    def pull(self, way: Array, kept: Mask) -> Array:
        """Return the multipliers (m,) with which loops keep a pose, or rates, from those given; zero for other states.

        ``way`` (n,) leads from those given. At a start W way + Phi_z^T pull = 0 in all coordinates that are free.
        """
        away = self.weights * way * self.system.typical
        P = (self.block("Phi", "z") * self.system.typical)[:, ~kept]
        found = -scipy.linalg.lstsq(P.T, away[~kept], cond=RANK)[0] if np.any(~kept) else np.zeros(len(P))
        left = np.abs(away[~kept] + P.T @ found)
        return np.asarray(found) if left.max(initial=0.0) <= AT_START * np.abs(away).max() else 0.0 * found

    def nearest(
        self, bend: Array, bent: Array, wanted: Array, kept: Mask, pin: Pin | None, by: tuple[str, float]
    ) -> Array:
        """Return the least change (n,) with Phi_z change = wanted; ``kept`` coordinates stay.

        ``by`` is the name of the parameter and its size.

        (W + bend) change + Phi_z^T more = bent: ``bend`` and ``bent`` are changes of Phi_z^T pull.
        """
        system, n = self.system, self.tape.n
        typical, scale = system.typical, np.where(system.row_is_rotation, 1.0, system.length)
        change, free = np.zeros(n), ~kept
        if pin is not None:
            change[pin.dof], free[pin.dof] = 1.0, False
        if not len(wanted) or (pin is None and not bent.any() and not wanted.any()):
            return change
        Phi_z = self.block("Phi", "z") / scale[:, None]
        lower = wanted / scale - Phi_z @ change
        if np.any(free):
            count = int(free.sum())
            upper = (bent - bend @ change)[free] * typical[free]
            S = np.zeros((count + len(wanted), count + len(wanted)))
            S[:count, :count] = (np.diag(self.weights) + bend)[np.ix_(free, free)] * np.outer(
                typical[free], typical[free]
            )
            S[count:, :count] = Phi_z[:, free] * typical[free]
            S[:count, count:] = S[count:, :count].T
            found = scipy.linalg.lstsq(S, np.concatenate((upper, lower)), cond=RANK)[0]
            change[free] = typical[free] * found[:count]
        left = np.abs(Phi_z @ change - wanted / scale)
        if left.max() > OPEN * max(float(np.abs(wanted / scale).max()), 1.0 / by[1]):
            what = f"{by[0]!r} cannot change" if pin is not None else f"{by[0]!r} opens a loop that nothing closes"
            raise InputError(
                f"{what}: loop {system.row_names[int(np.argmax(left))]!r} would open; take a coordinate or a parameter "
                "that the loops leave free"
            )
        return change
