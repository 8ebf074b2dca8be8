"""Patches of convex shapes and near pairs of contact sets in a Simulation: loaded where a System has them."""

from typing import TYPE_CHECKING, Any

from rtmbs.system.system import System

if TYPE_CHECKING:
    from rtmbs.simulation.contact_sets import SetPairs
    from rtmbs.simulation.convex_contacts import ConvexContacts


def patches_of(system: System) -> "ConvexContacts | None":
    """Return the pairs of convex shapes of a System, None where it has none."""
    if all(info.contact is None for info in system.forces.values()):
        return None
    from rtmbs.simulation.convex_contacts import convex_contacts_of

    return convex_contacts_of(system)


def renew_patches(store: Any, begun: bool = True) -> None:
    """Let the points of convex shapes that touch be those of the present pose; accelerations follow before a step."""
    if store.patches is not None and store.patches.renew(store.equations, store.states[0], begun):
        vars(store).update(current=False, exactly=True)


def set_pairs_of(system: System, method: Any) -> "SetPairs | None":
    """Return the pairs of the contact sets of a System, None where it has none.

    Raises InputError for a method whose steps have no tangent of contact sets.
    """
    if not system.contact_sets:
        return None
    from rtmbs.simulation.contact_sets import SetPairs, check_method

    check_method(system, method)
    return SetPairs(system)


def renew_pairs(store: Any, begun: bool = True) -> None:
    """Let the pairs of contact sets be those that are near now; accelerations follow where a new pair overlaps."""
    if store.pairs is not None and store.pairs.renew(store.equations, store.states[0], begun):
        vars(store).update(current=False, exactly=True)


def is_of_patch(system: System, name: str) -> bool:
    """Return whether an input of this name is renewed with the patch of a contact."""
    info = system.forces.get(name.rpartition(".")[0])
    if info is None or info.contact is None:
        return False
    from rtmbs.contact.convex import OF_PATCH, PatchPoint

    return isinstance(info.contact, PatchPoint) and name.rpartition(".")[2] in OF_PATCH
