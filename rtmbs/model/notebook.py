"""A Model as tables for notebooks."""

from typing import Any

from rtmbs.limits.notebook import folded_html, number_text, title_html
from rtmbs.model.body import GROUND
from rtmbs.model.forces import Force


def model_html(model: Any) -> str:
    """Return the elements of a model, kind by kind."""
    bodies = [
        (one.name, number_text(one.mass), number_text(one.position))
        for one in model.bodies.values()
        if one.name != GROUND
    ]
    joints = [(one.name, type(one.type).__name__, one.a.name, one.b.name) for one in model.joints.values()]
    forces = [(one.name, type(one.law).__name__, attachment(one)) for one in model.forces.values()]
    motions = [
        *((one.name, "driver", one.target) for one in model.drivers.values()),
        *((one.name, "rod", " and ".join(end.name for end in one.between)) for one in model.rods.values()),
        *((one.name, one.kind, ", ".join(one.coordinates)) for one in model.couplers.values()),
        *((one.name, "constraint", "") for one in model.constraints.values()),
    ]
    markers = [(one.name, one.body.name, number_text(one.point)) for one in model.markers.values()]
    return "\n".join(
        [
            title_html(repr(model)),
            folded_html("bodies", ("body", "mass [kg]", "reference position [m]"), bodies),
            folded_html("joints", ("joint", "type", "body a", "body b"), joints),
            folded_html("forces", ("force", "law", "acts on"), forces),
            folded_html("drivers, rods, couplers and constraints", ("element", "kind", "acts on"), motions),
            folded_html("markers", ("marker", "body", "point in body axes [m]"), markers),
        ]
    )


def attachment(force: Force) -> str:
    """Return the names of what a force acts on."""
    if force.between is not None:
        return " and ".join(marker.name for marker in force.between)
    if force.body is not None:
        return force.body.name
    pairs = (force.joint,) if force.joint is not None else force.joints or ()
    return ", ".join(f"{joint.name}.{joint.type.coordinates[k]}" for joint, k in pairs) or "all coordinates of the tree"
