"""Impulses of the user (METHODS 8.4) and impacts of rigid contacts (METHODS 8.7): changes of rates at one time.

An impulse p changes rates through the mass matrix and the loops, and positions stay:

    M (v1 - v0) = p + Phi_z^T Lambda,    Phi_z v1 = the rates that drivers ask for

The impulses Lambda of loops do no work on rates that the loops allow, so momenta that p leaves alone stay. An impact is
located by an event, solved with restitution e and friction mu, and at rest in the end:

    M (v1 - v0) = J^T p + Phi_z^T Lambda,   Phi_z v1 = Phi_z v0
    0 <= p_n,  g_n(v1) + e g_n(v0) >= 0,  one of the two zero;   |p_t| <= mu p_n, against the slip

All contacts that touch take part: in a closed one g_n(v0) = 0. Projections, contact by contact, find the impulses.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.contact.switched import CLOSED, LOCKED
from rtmbs.errors import InputError, StartError, UnknownNameError, shown, unknown_name
from rtmbs.model.checks import numbers
from rtmbs.numerics.linear.least_change import KKTSolver
from rtmbs.numerics.linear.solver import Contradiction, Unsolved
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.locks import close_contacts, hold_pose, release
from rtmbs.simulation.events import NEVER, Event, EventError, Instant
from rtmbs.simulation.set_coordinate import RATE, check_settable, settable
from rtmbs.state import State
from rtmbs.system.system import System

Array = NDArray[np.float64]


def apply_impulse(
    equations: SemiRecursiveEquations, state: State, target: Any, impulse: Any, point: Any, moment: Any
) -> None:
    """Write the rates of ``state`` behind an impulse on a body or a coordinate; see ``Simulation.apply_impulse``."""
    system = equations.system
    evaluate(equations, state)
    if isinstance(target, str) and target in system.bodies:
        what = f"impulse on body {target!r}"
        info = system.bodies[target]
        if info.dof < 0:
            raise InputError(f"{what}: it does not move; name another body")
        push = numbers((0.0, 0.0, 0.0) if impulse is None else impulse, f"{what}: impulse", (3,))
        turn = numbers((0.0, 0.0, 0.0) if moment is None else moment, f"{what}: moment", (3,))
        place = numbers(info.center_of_mass if point is None else point, f"{what}: point", (3,))
        at = equations.ws.r[info.dof] + equations.ws.A[info.dof] @ (info.position + info.rotation @ place)
        p = along_tree(equations, info.dof, np.concatenate((push, turn + np.cross(at, push))))
    else:
        dof, order = coordinate_or_body(system, target)
        if order == RATE:
            raise UnknownNameError(f"{target!r} is a rate; an impulse acts along its coordinate")
        if point is not None or moment is not None:
            raise InputError(f"impulse on {target!r}: point= and moment= belong to a body")
        p = np.zeros(equations.n)
        p[dof] = float(numbers(impulse, f"impulse on {target!r}", ()))
    state.zd[:] = rates_behind(equations, state.zd, p, np.zeros((0, equations.n)), np.zeros(0))


def set_rate(equations: SemiRecursiveEquations, state: State, name: str, value: Any) -> None:
    """Write the rates of ``state`` behind the impulse along one coordinate that gives its rate a value."""
    dof, order = check_settable(equations, name, value)
    if order != RATE:
        raise InputError(f"{name!r} is a position; an impulse changes rates only")
    evaluate(equations, state)
    row = np.zeros((1, equations.n))
    row[0, dof] = 1.0
    change = np.array([float(value) - state.zd[dof]])
    state.zd[:] = rates_behind(equations, state.zd, np.zeros(equations.n), row, change)


def lock_of(system: System, name: Any) -> str | None:
    """Return the lock that ``NAME.locked`` is the switch of; None for other names."""
    lock, _, word = name.rpartition(".") if isinstance(name, str) else ("", "", "")
    return lock if word == LOCKED and lock in system.locks else None


def set_lock(equations: SemiRecursiveEquations, state: State, name: str, value: Any) -> None:
    """Open a lock in ``state``, or close it in the present pose with rates behind its impulse.

    Raises InputError for a value that is neither True nor False, StartError where loops do not allow these rates.
    """
    if not isinstance(value, bool | np.bool_ | int | float) or value not in (0, 1):
        raise InputError(f"{name}.{LOCKED} is set to {shown(value)}; it must be True or False")
    if not value:
        release(equations.system, state.u, [name])
        return
    evaluate(equations, state)
    hold_pose(equations, state.u, [name])
    evaluate(equations, state)
    state.zd[:] = rates_behind(equations, state.zd, np.zeros(equations.n), np.zeros((0, equations.n)), np.zeros(0))


def evaluate(equations: SemiRecursiveEquations, state: State) -> None:
    """Evaluate the equations at a state."""
    equations.u = state.u
    equations.evaluate(state.z, state.zd, state.zdd, state.R0)


def along_tree(equations: SemiRecursiveEquations, dof: int, wrench: Array) -> Array:
    """Return the generalised impulse (n,) of [f, n] (6,) at the origin of the part, on what ``dof`` moves."""
    p = np.zeros(equations.n)
    parent = equations.tables.dofs.parent
    while dof >= 0:
        p[dof] = equations.ws.S[dof] @ wrench
        dof = int(parent[dof])
    return p


def rates_behind(equations: SemiRecursiveEquations, zd: Array, p: Array, rows: Array, change: Array) -> Array:
    """Return the rates (n,) behind an impulse p (n,), with rates changed along ``rows`` (k, n) by ``change`` (k,).

    Raises StartError where loops or the mass matrix do not allow it.
    """
    P = np.concatenate((equations.closure_jacobian(), rows))
    gaps = np.concatenate((-equations.closure_velocities(zd), change))
    try:
        with np.errstate(all="ignore"):
            solver = KKTSolver()
            solver.factor(equations.mass_matrix(), P)
            dv, _ = solver.solve_parts(p, gaps, refined=True)
    except Contradiction:
        raise StartError("the loops do not allow this rate at the present pose; set a rate that they allow") from None
    except Unsolved as error:
        raise StartError(f"the impulse moves a coordinate without inertia: {error}") from None
    return np.asarray(zd + dv)


def coordinate_or_body(system: Any, target: Any) -> tuple[int, int]:
    """Return dof and order of a coordinate; UnknownNameError with bodies among the names offered."""
    if not isinstance(target, str):
        raise InputError(f"an impulse acts on a body or a coordinate by name, not on {shown(target)}")
    try:
        return settable(system, target)
    except UnknownNameError:
        names = [*system.bodies, *(name for info in system.joints.values() for name in info.coordinates)]
        raise unknown_name("body or coordinate", target, names) from None


Integers = NDArray[np.integer[Any]]
TOUCHES = 1e-8  # of the characteristic length: a gap that counts as closed
EASED = 0.5 * TOUCHES  # likewise: gap below zero at which a contact closes that opened at rest
APART = 1e-9  # of the largest speed: contacts that part
SETTLED, SWEEPS = 1e-14, 20_000  # of the largest impulse; projections of all contacts
DIPS = 0.5  # of a step at the larger rate: a gap above it at both ends stays open within the step
PULLS = 1e-9  # of the largest normal force: rounding


class Impact(NamedTuple):
    """Impact of rigid contacts at one time.

    Parameters
    ----------
    t : float
        Time [s].
    contacts : tuple[str, ...]
        Names of the contacts with an impulse.
    impulses : tuple[float, ...]
        Normal impulses of these contacts [N s or N m s].
    loss : float
        Kinetic energy that the impact takes [J].
    """

    t: float
    contacts: tuple[str, ...]
    impulses: tuple[float, ...]
    loss: float


class RigidContacts:
    """Rigid contacts of a Simulation along a run, with equations of their own for gaps."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.names = list(system.rigid)
        self.laws = [system.rigid[name].impacts for name in self.names]
        self.own = SemiRecursiveEquations(system)
        starts = system.tables.closures.row_pointer
        self.rows = np.array([starts[system.closure_names.index(name)] for name in self.names], np.int64)
        self.switches = np.array([system.inputs[f"{name}.{CLOSED}"].start for name in self.names], np.int64)
        self.shown: tuple[Any, Array] | None = None
        self.known: tuple[float, Array, Array] | None = None  # a time with its gaps and their rates
        self.found: list[Impact] = []
        # A contact that opens where its force ends has no gap, no rate and no acceleration there. The interpolation of
        # the next step may dip below zero, so its gap counts from a hair below.
        self.eased = np.zeros(len(self.names))
        self.closed_at = np.full(len(self.names), np.nan)  # time at which each closed last [s]

    # ---- events -----------------------------------------------------------------------------------------------------

    def events(self) -> list[Event]:
        """Return an event for every contact: its gap closes, or its force begins to pull."""
        return [self.event(k) for k in range(len(self.names))]

    def never(self) -> list[str]:
        """Return the warnings of contacts that never changed, which are none."""
        return [NEVER.format(name) for name in self.names]

    def event(self, k: int) -> Event:
        """Return the event of one contact."""

        def gap_or_force(instant: Instant) -> float:
            if instant.u[self.switches[k]]:
                return float(-instant.lam[self.rows[k]])
            if self.shown is None or self.shown[0] is not instant.z:
                self.shown = instant.z, self.gaps(instant.z, instant.R0, instant.u)
            return float(self.shown[1][k] + self.eased[k])

        def changes(sim: Any) -> None:
            self.resolve(sim, k)

        return Event(gap_or_force, action=changes, direction=-1, name=self.names[k])

    def gaps(self, z: Array, R0: Array, u: Array) -> Array:
        """Return the gaps (k,) at a pose [m or rad]."""
        self.own.u = u.copy()
        self.own.u[self.switches] = 1.0
        return self.own.close(z, R0)[self.rows]

    def gaps_and_rates(self, state: State) -> tuple[Array, Array]:
        """Return the gaps (k,) and their rates (k,) at a state."""
        gaps = self.gaps(state.z, state.R0, state.u)
        return gaps, self.own.closure_velocities(state.zd)[self.rows]

    def quiet_values(self, before: State, after: State) -> Array | None:
        """Return the values (k,) of the events at the end of a step in which none can lie; None for any other step.

        A cubic with the gaps and rates of both ends dips below them by 8/27 h of the larger rate at most, and a force
        that does not fall to a half does not come to zero.
        """
        closed = after.u[self.switches] != 0.0
        if self.known is None or self.known[0] != before.t:
            self.known = before.t, *self.gaps_and_rates(before)
        _, gaps, rates = self.known
        self.known = after.t, *self.gaps_and_rates(after)
        steepest = np.maximum(np.abs(rates), np.abs(self.known[2]))
        away = np.minimum(gaps, self.known[1]) > DIPS * (after.t - before.t) * steepest
        first, last = -before.lam[self.rows], -after.lam[self.rows]
        holds = (first > 0.0) & (last > 0.5 * first)
        return np.where(closed, last, self.known[1] + self.eased) if np.all(np.where(closed, holds, away)) else None

    def begin(self, sim: Any) -> None:
        """Close the contacts that touch at the start of a run; InputError where bodies overlap."""
        state = sim._store.settled()
        gaps = self.gaps(state.z, state.R0, state.u)
        if np.min(gaps) < -TOUCHES * self.system.length:
            k = int(np.argmin(gaps))
            raise InputError(
                f"rigid contact {self.names[k]!r} overlaps by {-gaps[k]:.3g} at t = {state.t:g} s; its gap must be "
                "zero or more where a run begins"
            )
        if np.any((gaps <= TOUCHES * self.system.length) & (state.u[self.switches] == 0.0)):
            self.resolve(sim, -1)

    # ---- changes at one time ----------------------------------------------------------------------------------------

    def resolve(self, sim: Any, opens: int) -> None:
        """Solve the impact at the present time, and let contacts hold or part; closed contact ``opens`` parts.

        Of contacts that close at one time the first event closes all. Those behind it are over.
        """
        store, self.known = sim._store, None
        if opens >= 0 and self.closed_at[opens] == sim.t and store.settled().u[self.switches[opens]]:
            return
        state, equations = store.settled().copy(), store.equations
        gaps = self.gaps(state.z, state.R0, state.u)
        closed = state.u[self.switches] != 0.0
        touching = closed | (gaps <= TOUCHES * self.system.length)
        if opens >= 0:
            touching[opens] = not closed[opens]
        state.u[self.switches] = 0.0
        rates, holds = self.rates_behind(equations, state, np.flatnonzero(touching))
        state.zd[:] = rates
        state.u[self.switches[holds]] = 1.0
        self.eased[holds] = 0.0
        self.closed_at[holds] = np.where(closed[holds], self.closed_at[holds], state.t)
        if opens >= 0 and closed[opens]:
            self.eased[opens] = EASED * self.system.length
        for _ in range(len(self.names) + 1):
            store.go_on_from(state.copy(), state.t)
            force = -store.states[0].lam[self.rows] * (state.u[self.switches] != 0.0)
            if not np.min(force, initial=0.0) < -PULLS * np.max(np.abs(force), initial=0.0):
                return
            state.u[self.switches[np.argmin(force)]] = 0.0

    def rates_behind(
        self, equations: SemiRecursiveEquations, state: State, touching: Integers
    ) -> tuple[Array, Integers]:
        """Return the rates (n,) behind an impact of the ``touching`` contacts, and which of them then hold.

        The impact is written down where contacts approach. Raises EventError where no impulses are found.
        """
        J, slips = self.jacobian(state, touching)
        equations.u = state.u
        equations.evaluate(state.z, state.zd, state.zdd, state.R0)
        M, P, solver = equations.mass_matrix(), equations.closure_jacobian(), KKTSolver()
        solver.factor(M, P)
        none, before, count = np.zeros(len(P)), J @ state.zd, len(touching)
        response = np.array([solver.solve_parts(row, none)[0] for row in J]).reshape(J.shape)
        p = self.impulses(J @ response.T, before, touching, slips, state.t)
        zd = state.zd + response.T @ p
        slowest = max((self.laws[k].rest_speed for k in touching), default=0.0)
        least = APART * max(float(np.max(np.abs(before[:count]), initial=0.0)), slowest)
        if np.min(before[:count], initial=0.0) < -least:
            loss = 0.5 * (state.zd @ M @ state.zd - zd @ M @ zd)
            hit = [k for k in range(count) if p[k] > PULLS * float(np.max(p[:count]))]
            names = tuple(self.names[touching[k]] for k in hit)
            self.found.append(Impact(state.t, names, tuple(float(p[k]) for k in hit), float(loss)))
        return zd, touching[(J @ zd)[:count] <= least]

    def impulses(self, W: Array, before: Array, touching: Integers, slips: Sequence[int], t: float) -> Array:
        """Return the impulses (r,) of an impact; contacts that would part slowly have no restitution."""
        laws, count = [self.laws[k] for k in touching], len(touching)
        e = np.array([law.restitution for law in laws])
        mu, slow = np.array([law.friction for law in laws]), np.array([law.rest_speed for law in laws])
        p: Array | None = np.zeros(len(before))
        for _ in range(count + 1):
            p = cone_impulses(W, before, e, mu, slips)
            if p is None:
                names = [self.names[k] for k in touching]
                raise EventError(
                    f"impact of {', '.join(names)} at t = {t:.9g} s: no impulses were found that obey restitution and "
                    "friction; take less friction, or compliant contacts",
                    t=t,
                    events=names,
                )
            rests = (p[:count] > 0.0) & ((before + W @ p)[:count] < slow) & (e > 0.0)
            if not np.any(rests):
                break
            e = np.where(rests, 0.0, e)
        assert p is not None
        return p

    def jacobian(self, state: State, touching: Integers) -> tuple[Array, list[int]]:
        """Return the rows of normal rates, then of slips (r, n), and the first slip row of each contact, or -1."""
        own = self.own
        own.u = state.u.copy()
        own.close(state.z, state.R0)
        close_contacts(own, own.u)
        own.close(state.z, state.R0)
        whole = own.closure_jacobian()
        rows, slips = [whole[self.rows[k]] for k in touching], list[int]()
        for k in touching:
            if self.laws[k].friction:
                slips.append(len(rows))
                rows += [whole[self.rows[k] + 1], whole[self.rows[k] + 2]]
            else:
                slips.append(-1)
        return np.array(rows).reshape(len(rows), len(state.zd)), slips


def cone_impulses(W: Array, before: Array, e: Array, mu: Array, slips: Sequence[int]) -> Array | None:
    """Return the impulses (r,) of normal rates and slips by projections, None where they do not settle.

    ``before`` (r,) are the rates without impulses, ``e`` (k,) and ``mu`` (k,) those of the contacts.
    """
    p, count = np.zeros(len(before)), len(e)
    for _ in range(SWEEPS):
        change = 0.0
        for k in range(count):
            found = max(0.0, p[k] - (W[k] @ p + before[k] + e[k] * min(before[k], 0.0)) / W[k, k]) if W[k, k] else 0.0
            change, p[k] = max(change, abs(found - p[k])), found
            if (s := slips[k]) >= 0:
                pair = slice(s, s + 2)
                size = float(np.max(np.diag(W)[pair]))
                wanted = p[pair] - (W[pair] @ p + before[pair]) / size
                length, most = float(np.linalg.norm(wanted)), mu[k] * p[k]
                if length > most:
                    wanted = wanted * (most / length)
                change, p[pair] = max(change, float(np.max(np.abs(wanted - p[pair])))), wanted
        if change <= SETTLED * np.max(np.abs(p), initial=0.0):
            return p
    return None
