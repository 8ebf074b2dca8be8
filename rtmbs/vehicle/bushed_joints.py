"""Bushings in place of the ideal joints of an axle: compliant hinges, balls and rods.

The axes of a bushing at a joint with an axis are x along it, y square to it and to the z axis of the chassis, and z.
Elsewhere they are those of the chassis. The right side has the mirror image. Parts that lose their last joint get six
coordinates of their own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rtmbs.errors import ModelError, shown, unknown_name
from rtmbs.model import Bushing, Floating, Model, SpringDamper
from rtmbs.model.checks import Array
from rtmbs.vehicle.axle import CHASSIS, MIRROR, RACK, Axle, Connection

REFLECTED = np.concatenate((MIRROR, -MIRROR))  # signs of forces and moments, displacements and turns in a mirror
UPRIGHT = 0.999  # of a unit vector: an axis along z
Bushings = Mapping[str, Bushing | SpringDamper]


def bushings_of(given: Any, place: str, axle: Axle, what: str) -> Bushings:
    """Return the checked bushings of an axle by joint: those of the axle for True, none for None or False."""
    if given is None or given is False:
        return {}
    found = axle.bushings if given is True else given
    if given is not True:
        if not isinstance(given, Mapping):
            raise ModelError(f"{what}: bushings is {shown(given)}; it must map front and rear to bushings by joint")
        for name in given:
            if name not in ("front", "rear"):
                raise unknown_name("axle with bushings", name, ("front", "rear"))
        found = given.get(place, {})
    known = {one.name: one for one in (*axle.connections, *axle.central) if one.kind != "free"}
    for name, law in found.items():
        if name not in known:
            raise unknown_name(f"joint of the {place} axle", name, known)
        wanted = SpringDamper if known[name].kind == "distance" else Bushing
        if not isinstance(law, wanted):
            raise ModelError(
                f"{what}: the bushing of {name!r} is {shown(law)}; it must be a {wanted.__name__}, for the joint is "
                f"{known[name].kind}"
            )
    return dict(found)


def bushing_axes(joint: Connection) -> Array:
    """Return the axes (3, 3) of a bushing in place of a joint, as columns in chassis axes."""
    if joint.axis is None:
        return np.eye(3)
    x = joint.axis
    beside = np.array([0.0, 0.0, 1.0]) if abs(x[2]) < UPRIGHT else np.array([1.0, 0.0, 0.0])
    y = np.cross(beside, x)
    y = y / np.linalg.norm(y)
    return np.stack((x, y, np.cross(x, y)), axis=1)


def mirrored(law: Bushing) -> Bushing:
    """Return the bushing of the right side, in axes whose y is reversed against the mirror image."""
    checked = law.checked("bushing")
    values: dict[str, Any] = {
        name: getattr(checked, name) * np.outer(REFLECTED, REFLECTED) for name in ("stiffness", "damping")
    }
    values["force"], values["torque"] = MIRROR * np.asarray(law.force), -MIRROR * np.asarray(law.torque)
    for name, sign in zip(("x", "y", "z", "rx", "ry", "rz"), REFLECTED.tolist(), strict=True):
        table = getattr(law, f"curve_{name}")
        if table is not None and sign < 0.0:
            values[f"curve_{name}"] = -np.asarray(table)[::-1]
    return replace(law, **values)


def add_bushing(
    model: Model, name: str, ends: tuple[str, str], joint: Connection, law: Bushing | SpringDamper, right: bool
) -> None:
    """Add the force of a bushing, or of an elastic rod, between the bodies ``ends``.

    ``joint`` is the one of the left side, and the frame of the chassis stands where its body does.
    """
    frame = np.asarray(model.bodies[CHASSIS].position)
    own = joint.mirrored() if right else joint
    markers = f"{name}.a", f"{name}.b"
    axes = bushing_axes(joint)
    axes = axes * np.outer(MIRROR, MIRROR) if right else axes
    points = (own.point, own.point if own.point_b is None else own.point_b)
    for marker, body, point in zip(markers, ends, points, strict=True):
        model.add_marker(marker, body, frame + point, axes=axes)
    if isinstance(law, Bushing) and right:
        law = mirrored(law)
    model.add_force(name, law, between=markers)


def add_free_parts(model: Model, corner: str, axle: Axle, bushed: Bushings) -> None:
    """Give parts of a corner that no joint holds six coordinates against the chassis."""
    joined = [one for one in axle.connections if one.kind != "distance" and one.name not in bushed]
    reached = {CHASSIS, RACK}
    for part in [None, *(one.name for one in axle.parts)]:
        if part is not None and part not in reached:
            body = f"{part}_{corner}"
            model.add_joint(f"{part}_pose_{corner}", Floating(), CHASSIS, body, point=model.bodies[body].position)
            reached.add(part)
        reached |= set(reachable(reached, joined))


def reachable(start: set[str], joints: list[Connection]) -> Iterator[str]:
    """Yield the parts that joints lead to from ``start``, one behind the other."""
    seen = set(start)
    for _ in joints:  # each round reaches one more part at least
        more = {b for one in joints for a, b in ((one.a, one.b), (one.b, one.a)) if a in seen} - seen
        seen |= more
        yield from more
