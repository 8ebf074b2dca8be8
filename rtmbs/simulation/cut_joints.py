"""A name of a coordinate that nobody can give: unknown, of a joint that turns freely, or of one that cuts a loop."""

from collections.abc import Iterable

from rtmbs.errors import InputError, unknown_name
from rtmbs.system.system import System

OFFERED = 6  # names shown in place of one of a cut joint


def no_coordinate(
    system: System, name: object, known: Iterable[str], what: str = "cannot be given", remedy: str = ""
) -> Exception:
    """Return the error for a name that ``known`` coordinates do not have.

    InputError where its joint is cut, or turns freely; ``remedy`` says what to do in the latter case.
    """
    if ball := turning_joint(system, name):
        return InputError(f"{name!r} {what}: joint {ball!r} turns freely, and no single number says how; {remedy}")
    joint = cut_joint(system, name)
    if not joint:
        return unknown_name("coordinate", name, known)
    return InputError(
        f"{name!r} {what}: joint {joint!r} is cut, so its coordinates follow from others; take one of "
        f"{', '.join(map(repr, list(known)[:OFFERED]))}, or cut the loop in another joint by add_joint(..., cut=True)"
    )


def turning_joint(system: System, name: object) -> str:
    """Return the name of the ball or floating joint that ``name`` is about; empty where there is none."""
    for joint in (name, name.rpartition(".")[0]) if isinstance(name, str) else ():
        info = system.joints.get(joint)
        if info is not None and info.in_tree and info.kind.turns_freely:
            return joint
    return ""


def cut_joint(system: System, name: object) -> str:
    """Return the name of the cut joint that ``name`` is a coordinate of; empty where there is none."""
    if not isinstance(name, str):
        return ""
    for joint in (name, name.rpartition(".")[0]):
        info = system.joints.get(joint)
        if info is not None and not info.in_tree and info.coordinates:
            return joint
    return ""
