"""Forces that a Simulation renews: contacts before every step, and loads of bearings inside it.

Contacts are patches of convex shapes and near pairs of contact sets. What finds them is loaded where a System has them.
Bodies that overlap deeply at the start are thrown apart by their contact, which is warned of.

Loads of bearings follow the reactions of their joints (METHODS 8.6). A friction F(N) moves the reactions N that it
depends on. The load at the end of a step is the fixed point of

    take the step with load N_k at its end,    N_{k+1} = load of the reaction at the new state

found by Aitken's relaxation. Loads at both ends of a step agree with their reactions, so the order of the method stays.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.contact.bearing import CONTACT, LOAD
from rtmbs.errors import StepError, warn
from rtmbs.integrators.report import Outcome, StepReport
from rtmbs.results.catalogue import touch_motion
from rtmbs.results.motion_channels import body_motion
from rtmbs.results.reactions import reaction_values
from rtmbs.results.samples import Evaluation, one_sample
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.state import State
from rtmbs.system.system import System
from rtmbs.system.tables import GRAVITY_SLOT, REVOLUTE

Array = NDArray[np.float64]
AGREES = 1e-9  # of the largest load: what the load of a step and its reaction may differ by
MOST = 30  # tries of a step: without friction that jams, four do
LEAST, LARGEST = 0.05, 2.0  # relaxation: shares of the change that are taken


class BearingLoads:
    """Loads of all frictions of a System that follow their joints, and their places among the inputs."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.bearings = list(system.bearings.values())
        starts = system.tables.closures.row_pointer
        self.rows = {  # of the gaps of rigid contacts: their multipliers are the normal forces
            bearing.joint: int(starts[system.closure_names.index(bearing.joint)])
            for bearing in self.bearings
            if bearing.kind == CONTACT
        }
        self.slots = np.array([system.inputs[f"{name}.{LOAD}"].start for name in system.bearings], np.int64)

    def of(self, equations: SemiRecursiveEquations, state: State) -> Array:
        """Return the loads (k,) that belong to the reactions at a state, whose accelerations balance its forces."""
        found, seen = np.empty(len(self.bearings)), None
        for k, bearing in enumerate(self.bearings):
            if (row := self.rows.get(bearing.joint)) is not None:
                found[k] = abs(state.lam[row])
                continue
            seen = Evaluation(self.system, equations.tables, one_sample(state)) if seen is None else seen
            wrench = reaction_values(seen, self.system, bearing.joint)[0]
            found[k] = bearing.load(wrench, self.turn_of(seen, bearing.joint))
        return found

    def turn_of(self, seen: Evaluation, joint: str) -> Array:
        """Return the orientation (3, 3) of the second body of a joint."""
        info = self.system.joints.get(joint)
        if info is None or (body := self.system.bodies[info.b]).dof < 0:
            return np.eye(3)
        return np.asarray(body_motion(seen, body).orientation[0])

    def settle(self, u: Array, loads: Callable[[], Array | None]) -> bool:
        """Let the loads in ``u`` (nu,) be those that ``loads`` answers for them; False where they do not agree.

        ``loads`` returns None where there is no answer.
        """
        given, share, before = u[self.slots].copy(), 1.0, None
        for _ in range(MOST):
            u[self.slots] = given
            found = loads()
            if found is None:
                return True
            missed = found - given
            if np.max(np.abs(missed)) <= AGREES * np.max(np.abs(found)):
                return True
            if before is not None and (turned := missed - before) @ turned > 0.0:
                share = float(np.clip(-share * (before @ turned) / (turned @ turned), LEAST, LARGEST))
            given, before = given + share * missed, missed
        return False


def unsettled(report: StepReport, loads: BearingLoads) -> StepReport:
    """Return the report of a step in which friction and reactions do not come to agree."""
    names = tuple(loads.system.bearings)
    why = "the loads of bearings and the friction that they cause do not agree, as where friction jams a slide"
    return report._replace(outcome=Outcome.NOT_CONVERGED, worst=names, reason=why)


class RenewedContacts(Protocol):
    """Contacts of a Simulation that are found at the pose before a step."""

    def renew(self, equations: SemiRecursiveEquations, state: State, begun: bool) -> bool:
        """Write the contacts of a state into it; True where its accelerations have changed. Raises StepError."""


def renewed_contacts_of(system: System, method: Any) -> tuple[RenewedContacts, ...]:
    """Return the contacts of a System that are renewed before steps.

    Raises InputError for a method whose steps have no tangent of contact sets.
    """
    found: list[RenewedContacts] = []
    if system.forces and any(info.contact is not None for info in system.forces.values()):
        from rtmbs.simulation.contact_pairs import convex_contacts_of

        if (patches := convex_contacts_of(system)) is not None:
            found.append(patches)
    check_renewed(system, method)
    if system.contact_sets:
        from rtmbs.simulation.contact_pairs import SetPairs

        found.append(SetPairs(system))
    return tuple(found)


def check_renewed(system: System, method: Any) -> None:
    """Raise InputError for a method whose steps have no tangent of contact sets, where a System has some."""
    if system.contact_sets:
        from rtmbs.simulation.contact_pairs import check_method

        check_method(system, method)


def renew_contacts(store: Any, begun: bool = True) -> None:
    """Let the contacts be those of the present pose; accelerations follow before a step where they have changed.

    What the user wrote into the State counts first. Bristles that move to other places are nothing that was written, so
    bytes do not depend on reads of the State. All are renewed or none: StepError leaves the State as it was.
    """
    if not store.renewed:
        return
    state, given = store.states[0], begun and store.shown is not None
    if given:
        store.notice(state)
    before, changed = (state.u.copy(), state.s.copy(), state.sd.copy()), False
    try:
        for contacts in store.renewed:
            changed |= contacts.renew(store.equations, state, begun)
    except StepError:
        state.u[:], state.s[:], state.sd[:] = before
        raise
    if changed:
        known = before[0] if state.before is None else state.before.u
        store.begun = known if store.begun is None else store.begun
    if given:
        store.shown = state.motion()


def is_of_patch(system: System, name: str) -> bool:
    """Return whether an input of this name is renewed with the patch of a contact."""
    info = system.forces.get(name.rpartition(".")[0])
    if info is None or info.contact is None:
        return False
    from rtmbs.contact.convex import OF_PATCH, PatchPoint

    return isinstance(info.contact, PatchPoint) and name.rpartition(".")[2] in OF_PATCH


MOVES = 1e-3  # of an acceleration [m/s^2, rad/s^2]: below it something else holds the bodies where they are


def warn_of_overlaps(sim: Any) -> None:
    """Warn of the contact with the largest energy of its spring at the start, where that throws the bodies.

    It does where it could lift all bodies by the characteristic length, or give them a speed of a length a second, and
    where they do move.
    """
    system, state, worst, most, depth = sim.system, sim._store.present(), "", 0.0, 0.0
    resampled, unit, what = None, "m deep", "contact"
    for info in system.forces.values():
        if info.stop is not None:
            places = {key: f"{info.name}.{key}" for key in ("lower", "upper", "play")}
            given = {key: state.u[system.inputs[name].start] for key, name in places.items() if name in system.inputs}
            deep = info.stop.depth(state.z[list(info.dofs)], given)
            energy = spring_energy(info.stop.normal, deep)
            if energy > most:
                turns = sim.equations.tables.dofs.kind[info.dofs[0]] == REVOLUTE
                worst, most, depth, what = info.name, energy, deep, type(info.stop).__name__.lower()
                unit = f"{'rad' if turns else 'm'} beyond its {'play' if what == 'backlash' else 'limit'}"
            continue
        if not info.contact:
            continue
        if resampled is None:
            resampled = Evaluation(system, sim.equations.tables, one_sample(state))
        deep = -float(touch_motion(resampled, info).gap[0])
        energy = spring_energy(info.contact.normal, deep)
        if energy > most:
            worst, most, depth, unit, what = info.name, energy, deep, "m deep", "contact"
    for g, name in enumerate(system.contact_sets):
        from rtmbs.simulation.contact_pairs import touching_at

        deep = float(touching_at(sim.equations, state, g).penetrations.max(initial=0.0))
        stiffness, exponent = sim.equations.tables.sets.law[g, :2].tolist()
        energy = stiffness * deep ** (exponent + 1.0) / (exponent + 1.0)
        if energy > most:
            worst, most, depth, unit, what = name, energy, deep, "m deep", "contact"
    if not worst:
        return
    mass = sum(info.mass for info in system.bodies.values())
    gravity = float(np.linalg.norm(state.u[GRAVITY_SLOT : GRAVITY_SLOT + 3]))
    harmless = mass * max(gravity * system.length, 0.5 * system.length**2)
    if most > harmless and np.abs(state.zdd).max(initial=0.0) > MOVES:
        warn(
            f"{what} {worst!r} begins {depth:.3g} {unit}, with {most:.3g} J in its spring: it throws the bodies apart;"
            " let them start apart, or nearer to rest"
        )


def spring_energy(normal: Any, depth: float) -> float:
    """Return the energy of the spring of a contact [J]."""
    return depth * float(normal(depth, 0.0)) / (normal.exponent + 1.0) if depth > 0.0 else 0.0
