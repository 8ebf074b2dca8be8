"""Contacts that are renewed before every step: patches of convex shapes, near pairs of contact sets.

What finds them is loaded where a System has them.
"""

from typing import Any, Protocol

from rtmbs.errors import StepError
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.state import State
from rtmbs.system.system import System


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
        from rtmbs.simulation.convex_contacts import convex_contacts_of

        if (patches := convex_contacts_of(system)) is not None:
            found.append(patches)
    check_renewed(system, method)
    if system.contact_sets:
        from rtmbs.simulation.contact_sets import SetPairs

        found.append(SetPairs(system))
    return tuple(found)


def check_renewed(system: System, method: Any) -> None:
    """Raise InputError for a method whose steps have no tangent of contact sets, where a System has some."""
    if system.contact_sets:
        from rtmbs.simulation.contact_sets import check_method

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
