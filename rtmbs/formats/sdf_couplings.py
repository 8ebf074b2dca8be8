"""Couplings of joint coordinates in SDF: gearboxes and mimic axes, as couplers of the Model.

A gearbox joins the turns of two links about a reference body: child angle = -ratio times parent angle, each about its
axis. A mimic follows another joint: q = multiplier (q_leader - reference) + offset.
Source: SDFormat specification, elements ``gearbox_ratio``, ``gearbox_reference_body`` and ``mimic``.
"""

import numpy as np

from rtmbs.formats.assembly import JointLink, ModelAssembly
from rtmbs.formats.placement import Array, here
from rtmbs.formats.xml_tree import Element
from rtmbs.model import ConstantRate, Model, Prismatic, Revolute


def add_gearbox(
    assembly: ModelAssembly, model: Model, name: str, ends: tuple[str, str, str], axes: list[Array], element: Element
) -> None:
    """Couple the turns of ``ends`` = (reference, parent, child); ``axes`` of parent and child are in the world."""
    ratio = element.child_number("gearbox_ratio", 1.0)
    one, two = (turn(assembly, ends[0], link, axis, name, element) for link, axis in zip(ends[1:], axes, strict=True))
    free = assembly.free_name(name, {**model.joints, **model.couplers})
    model.add_coupler(free, {two[0]: two[1], one[0]: ratio * one[1]})


def turn(
    assembly: ModelAssembly, reference: str, link: str, axis: Array, name: str, element: Element
) -> tuple[str, float]:
    """Return the joint whose angle is that of a link about the reference body, and its sign."""
    for joint in assembly.joints.values():
        if isinstance(joint.type, Revolute) and {joint.parent, joint.child} == {reference, link}:
            along = float(axis_in_world(assembly, joint) @ axis)
            return joint.name, float(np.sign(along)) * (1.0 if joint.child == link else -1.0)
    raise element.fault(
        f"gearbox {name!r}: no revolute joint joins link {link!r} to its reference body {reference!r}; it needs one"
    )


def axis_in_world(assembly: ModelAssembly, joint: JointLink) -> Array:
    """Return the axis of a revolute joint at the pose of the file, in the world."""
    assert isinstance(joint.type, Revolute)
    carrier = assembly.links[joint.parent].place if joint.parent else None
    return np.asarray((carrier or here()).then(joint.in_parent).rotation @ np.asarray(joint.type.axis, float))


def add_mimic(assembly: ModelAssembly, model: Model, name: str, leader: str, element: Element) -> None:
    """Couple a joint to its leader."""
    for one in (name, leader):
        if one not in model.joints or not isinstance(model.joints[one].type, Revolute | Prismatic):
            raise element.fault(f"joint {name!r} mimics {leader!r}, and {one!r} has no single coordinate; it needs one")
    if leader == name:
        raise element.fault(f"joint {name!r} mimics itself; it must name another joint")
    multiplier, offset, reference = (
        element.child_number(tag, default)
        for tag, default in (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))
    )
    free = assembly.free_name(f"{name}_mimic", {**model.joints, **model.couplers, **model.drivers})
    if multiplier == 0.0:
        model.add_driver(free, ConstantRate(0.0, offset), joint=name)
    else:
        model.add_coupler(free, {name: 1.0, leader: -multiplier}, offset - multiplier * reference)
