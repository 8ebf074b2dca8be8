"""Equalities of MJCF: connect and weld as joints that close loops, couplings of joints as couplers or constraints."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rtmbs.formats.assembly import JointLink, ModelAssembly
from rtmbs.formats.mjcf_model import MuJoCoModel
from rtmbs.formats.placement import Placement, placement_of_quaternion
from rtmbs.model import ConstantRate, Fixed, Model, Revolute, Spherical
from rtmbs.model.body import GROUND
from rtmbs.model.checks import perpendiculars
from rtmbs.model.joints import WORLD

CONNECT, WELD, JOINT, TENDON = range(4)  # mjtEq
SITE = 6  # mjtObj
SINGLE = (2, 3)  # joints with one coordinate: slide, hinge
FIXED_TENDON = 0  # mjtWrap JOINT is 1
JOINT_WRAP, SITE_WRAP = 1, 3
EQUAL = 1e-9  # by which the distances of two points in both bodies may differ, of their length


def equality_closures(assembly: ModelAssembly, names: MuJoCoModel) -> list[JointLink]:
    """Return the joints of connect and weld equalities: two connects of the same bodies are a hinge."""
    found = list(point_closures(assembly, names))
    pairs: dict[frozenset[str], list[JointLink]] = {}
    for joint in found:
        if isinstance(joint.type, Spherical):
            pairs.setdefault(frozenset((joint.parent, joint.child)), []).append(joint)
    for pair in pairs.values():
        if len(pair) == 2 and (hinge := hinge_of(*pair)) is not None:
            found[found.index(pair[0])] = hinge
            found.remove(pair[1])
    return found


def hinge_of(one: JointLink, two: JointLink) -> JointLink | None:
    """Return the hinge about the line through two balls between the same bodies; None where it would not close."""
    same = one.parent == two.parent
    ends = (
        (one.in_parent, two.in_parent if same else two.in_child),
        (one.in_child, two.in_child if same else two.in_parent),
    )
    ways = [second.position - first.position for first, second in ends]
    lengths = [float(np.linalg.norm(way)) for way in ways]
    if min(lengths) == 0.0 or abs(lengths[0] - lengths[1]) > EQUAL * max(lengths):
        return None
    frames = []
    for (first, _), way, length in zip(ends, ways, lengths, strict=True):
        x, y = perpendiculars(way / length)
        frames.append(Placement(first.position, np.column_stack((x, y, way / length))))
    return JointLink(one.name, Revolute((0.0, 0.0, 1.0)), one.parent, one.child, frames[0], frames[1], True)


def point_closures(assembly: ModelAssembly, names: MuJoCoModel) -> Iterator[JointLink]:
    """Yield a joint for each connect and weld; those that are switched off are noted."""
    model = names.model
    for e in range(model.neq):
        kind, name = int(model.eq_type[e]), equality_name(model, e)
        if "equality" in names.off:
            assembly.note(f"equality {name!r}", "is switched off by a flag of the file, and is left out")
        elif not model.eq_active0[e]:
            assembly.note(f"equality {name!r}", "is not active in the file, and is left out")
        elif kind in (CONNECT, WELD):
            a, b = frames_of(names, e, kind)
            free = assembly.free_name(name, assembly.joints)
            type = Spherical() if kind == CONNECT else Fixed()
            yield JointLink(free, type, a[0], b[0], a[1], b[1], True)
        elif kind not in (JOINT, TENDON):
            assembly.note(f"equality {name!r}", "is of a kind that is not read")


def equality_name(model: Any, e: int) -> str:
    """Return the name of an equality."""
    return model.equality(e).name or f"equality_{e + 1}"


def frames_of(names: MuJoCoModel, e: int, kind: int) -> tuple[tuple[str, Placement], tuple[str, Placement]]:
    """Return body and frame of the two ends of a connect or a weld."""
    model, data = names.model, names.model.eq_data[e]
    one, two = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    if int(model.eq_objtype[e]) == SITE:
        ends = []
        for site in (one, two):
            place = placement_of_quaternion(model.site_pos[site], model.site_quat[site])
            ends.append((names.bodies[int(model.site_bodyid[site])], place))
        return ends[0], ends[1]
    if kind == CONNECT:
        places = Placement(np.array(data[:3]), np.eye(3)), Placement(np.array(data[3:6]), np.eye(3))
    else:
        places = placement_of_quaternion(data[3:6], data[6:10]), Placement(np.array(data[:3]), np.eye(3))
    return (names.bodies[one], places[0]), (names.bodies[two], places[1])


# ---- couplings -------------------------------------------------------------------------------------------------------


def add_couplings(assembly: ModelAssembly, names: MuJoCoModel, model: Model) -> None:
    """Add couplers for equalities of joints and of fixed tendons: y - y0 = polynomial of (x - x0).

    A straight spatial tendon between two sites that one equality holds at a length is a rod.
    """
    compiled = names.model
    for e in range(compiled.neq):
        kind = int(compiled.eq_type[e])
        if not compiled.eq_active0[e] or kind not in (JOINT, TENDON) or "equality" in names.off:
            continue
        name = equality_name(compiled, e)
        ends = [int(compiled.eq_obj1id[e]), int(compiled.eq_obj2id[e])]
        free = assembly.free_name(
            name, {**model.joints, **model.couplers, **model.drivers, **model.constraints, **model.rods}
        )
        if kind == TENDON and ends[1] < 0 and (sites := ends_of(names, ends[0])):
            length = float(compiled.tendon_length0[ends[0]] + compiled.eq_data[e, 0])
            model.add_rod(free, markers_of(assembly, names, model, free, sites), length)
            continue
        sides = [side(names, kind, end) for end in ends if end >= 0]
        if any(one is None for one in sides):
            assembly.note(f"equality {name!r}", "joins what has no coordinate of its own, and is left out")
            continue
        couple(model, free, [one for one in sides if one is not None], np.array(compiled.eq_data[e, :5]))


def side(names: MuJoCoModel, kind: int, end: int) -> tuple[dict[str, float], float] | None:
    """Return the factors of coordinates by joint, and the value at the file's pose; None for none."""
    model = names.model
    factors = {end: 1.0} if kind == JOINT else tendon_joints(model, end)
    if not factors or any(int(model.jnt_type[j]) not in SINGLE for j in factors):
        return None
    at = sum(factor * float(model.qpos0[model.jnt_qposadr[j]]) for j, factor in factors.items())
    return {names.joints[j]: factor for j, factor in factors.items()}, at


def tendon_joints(model: Any, tendon: int) -> dict[int, float]:
    """Return the factors of the joints of a fixed tendon; none of a spatial one."""
    first = int(model.tendon_adr[tendon])
    rows = range(first, first + int(model.tendon_num[tendon]))
    if any(int(model.wrap_type[w]) != JOINT_WRAP for w in rows):
        return {}
    return {int(model.wrap_objid[w]): float(model.wrap_prm[w]) for w in rows}


def ends_of(names: MuJoCoModel, tendon: int) -> tuple[int, ...]:
    """Return the two sites that a straight spatial tendon joins; none of any other tendon."""
    model = names.model
    first = int(model.tendon_adr[tendon])
    rows = range(first, first + int(model.tendon_num[tendon]))
    straight = len(rows) == 2 and all(int(model.wrap_type[w]) == SITE_WRAP for w in rows)
    return tuple(int(model.wrap_objid[w]) for w in rows) if straight else ()


def markers_of(
    assembly: ModelAssembly, names: MuJoCoModel, model: Model, rod: str, sites: tuple[int, ...]
) -> tuple[str, str]:
    """Add the markers at the ends of a rod, and return their names."""
    found = []
    for end, site in zip("ab", sites, strict=True):
        body = assembly.body_names[names.bodies[int(names.model.site_bodyid[site])]]
        name = assembly.free_name(f"{rod}_{end}", {**model.markers, **model.bodies})
        model.add_marker(name, body, np.array(names.model.site_pos[site]), frame=body if body != GROUND else WORLD)
        found.append(name)
    return found[0], found[1]


def couple(model: Model, name: str, sides: list[tuple[dict[str, float], float]], a: Any) -> None:
    """Add y - y0 = a0 + a1 (x - x0) + ... + a4 (x - x0)^4."""
    y, y0 = sides[0]
    x, x0 = sides[1] if len(sides) > 1 else ({}, 0.0)
    if np.any(a[2:]) and x:
        joints = [*y, *(one for one in x if one not in y)]
        numbers = {
            "y": np.array([y.get(one, 0.0) for one in joints]), "x": np.array([x.get(one, 0.0) for one in joints]),
            "y0": y0, "x0": x0, "a": a,
        }  # fmt: skip
        model.add_constraint(name, polynomial, joints=joints, parameters=numbers)
        return
    factors: dict[Any, float] = dict(y)
    for joint, factor in x.items():
        factors[joint] = factors.get(joint, 0.0) - float(a[1]) * factor
    factors = {joint: factor for joint, factor in factors.items() if factor != 0.0}
    offset = float(a[0]) + y0 - (float(a[1]) * x0 if x else 0.0)
    if len(factors) > 1:
        model.add_coupler(name, factors, offset)
    else:
        for joint, factor in factors.items():
            model.add_driver(name, ConstantRate(0.0, offset / factor), joint=joint)


def polynomial(t: Any, pose: Any, parameters: Mapping[str, Any]) -> Any:
    """Return y - y0 less the polynomial of x - x0."""
    y = parameters["y"] @ pose.z - parameters["y0"]
    x = parameters["x"] @ pose.z - parameters["x0"]
    a = parameters["a"]
    return y - (a[0] + x * (a[1] + x * (a[2] + x * (a[3] + x * a[4]))))
