"""Reader of MJCF: bodies, joints, springs, equalities and keyframes, from the model that the parser of MuJoCo compiles.

MuJoCo resolves defaults, includes, units and masses of geometries. A joint of MJCF stands in the child body; several
joints in one body are a chain in their order, with massless bodies between them. The coordinates are those of MuJoCo:
they have the value ``ref`` at the pose of the file. Equalities become exact closures, without their softness.
Source: MuJoCo documentation, XML reference and computation chapters.

Actuators of MJCF as forces with the input NAME.ctrl: force = gain ctrl + bias, along gear times the coordinates.

gain = g0 + g1 length + g2 rate, bias = b0 + b1 length + b2 rate; length = gear times the coordinate, or the sum over
the joints of a fixed tendon. A position actuator has the gain kp and the bias -kp length - kv rate.

Equalities of MJCF: connect and weld as joints that close loops, couplings of joints as couplers or constraints.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rtmbs.errors import InputError, unknown_name
from rtmbs.formats import shapes
from rtmbs.formats.assembly import JointLink, Link, ModelAssembly, Placement, here, placement_of_quaternion
from rtmbs.formats.mjcf_model import (
    MuJoCoModel,
    backward_joints,
    body_names,
    check_files,
    compiled_model,
    joint_names,
    switched_off,
)
from rtmbs.formats.shapes import MeshFiles
from rtmbs.formats.xml_tree import Element
from rtmbs.model import ConstantRate, Fixed, Floating, JointType, Model, Prismatic, Revolute, Spherical
from rtmbs.model.body import GROUND
from rtmbs.model.checks import perpendiculars
from rtmbs.model.description import JointLimits
from rtmbs.model.joints import WORLD, make_initial
from rtmbs.numerics.rotations.quaternions import product, quaternions, rotations

CONNECT, WELD, EQUAL_JOINT, EQUAL_TENDON = range(4)  # mjtEq
SITE = 6  # mjtObj
SINGLE = (2, 3)  # joints with one coordinate: slide, hinge
FIXED_TENDON = 0  # mjtWrap EQUAL_JOINT is 1
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
        elif kind not in (EQUAL_JOINT, EQUAL_TENDON):
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
        if not compiled.eq_active0[e] or kind not in (EQUAL_JOINT, EQUAL_TENDON) or "equality" in names.off:
            continue
        name = equality_name(compiled, e)
        ends = [int(compiled.eq_obj1id[e]), int(compiled.eq_obj2id[e])]
        free = assembly.free_name(
            name, {**model.joints, **model.couplers, **model.drivers, **model.constraints, **model.rods}
        )
        if kind == EQUAL_TENDON and ends[1] < 0 and (sites := ends_of(names, ends[0])):
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
    factors = {end: 1.0} if kind == EQUAL_JOINT else tendon_joints(model, end)
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


JOINT, JOINT_IN_PARENT, TENDON = 0, 1, 3  # mjtTrn
PLAIN = 0  # mjtDyn NONE, mjtGain FIXED, mjtBias NONE
AFFINE = 1  # mjtGain, mjtBias


def add_actuators(assembly: ModelAssembly, names: MuJoCoModel, model: Model, controls: Any) -> None:
    """Add the actuators that act on joints or fixed tendons, with ``controls`` (nu,) at the start; note others."""
    compiled = names.model
    for k in range(compiled.nu):
        name = compiled.actuator(k).name or f"actuator_{k + 1}"
        factors = moment(compiled, k)
        note_inertia(assembly, compiled, k, name)
        if "actuation" in names.off or compiled.opt.disableactuator >> int(compiled.actuator_group[k]) & 1:
            assembly.note(f"actuator {name!r}", "is switched off by a flag or its group, and is left out")
            continue
        laws = int(compiled.actuator_gaintype[k]), int(compiled.actuator_biastype[k])
        if told := left_out(factors, int(compiled.actuator_dyntype[k]), laws):
            assembly.note(f"actuator {name!r}", f"{told}, and is left out")
            continue
        if compiled.actuator_ctrllimited[k] or compiled.actuator_forcelimited[k]:
            assembly.note(f"actuator {name!r}", "has limits of control or force, which are not applied")
        numbers = {
            "gain": np.array(compiled.actuator_gainprm[k, :3]) * (1.0, laws[0], laws[0]),
            "bias": np.array(compiled.actuator_biasprm[k, :3]) * laws[1],
            "moment": np.array(list(factors.values())),
            "ctrl": float(controls[k]),
        }
        joints = [names.joints[j] for j in factors]
        model.add_force(assembly.free_name(name, model.forces), actuator_force, joints=joints, parameters=numbers)


def left_out(factors: dict[int, float], state: int, laws: tuple[int, int]) -> str:
    """Return why an actuator has no force here; empty where it has one."""
    if not factors:
        return "acts on no slide, hinge or fixed tendon of these"
    if state != PLAIN:
        return "has a state (dyntype)"
    return "has a gain or a bias of another kind than fixed and affine" if max(laws) > AFFINE else ""


def rotor_and_damper(compiled: Any, j: int) -> tuple[float, float]:
    """Return inertia and damping that actuators add to a slide or a hinge, gear squared times those of the actuator."""
    rows = [k for k in range(compiled.nu) if on_joint(compiled, k) and int(compiled.actuator_trnid[k, 0]) == j]
    armature, damping = (
        sum(float(compiled.actuator_gear[k, 0]) ** 2 * number_of(compiled, key, k) for k in rows)
        for key in ("armature", "damping")
    )
    return armature, damping


def note_inertia(assembly: ModelAssembly, compiled: Any, k: int, name: str) -> None:
    """Note inertia and damping of an actuator that does not act on one slide or hinge."""
    if not on_joint(compiled, k) and any(number_of(compiled, key, k) for key in ("armature", "damping")):
        assembly.note(f"actuator {name!r}", "has an inertia or damping, which only a slide or a hinge takes")


def on_joint(compiled: Any, k: int) -> bool:
    """True for an actuator of one slide or hinge."""
    kind = int(compiled.actuator_trntype[k])
    return kind in (JOINT, JOINT_IN_PARENT) and int(compiled.jnt_type[int(compiled.actuator_trnid[k, 0])]) in SINGLE


def number_of(compiled: Any, key: str, k: int) -> float:
    """Return a number of an actuator that older versions of MuJoCo have not, 0 there."""
    column = getattr(compiled, f"actuator_{key}", None)
    return 0.0 if column is None else float(column[k])


def moment(compiled: Any, k: int) -> dict[int, float]:
    """Return gear times the factor of each joint that an actuator acts on; none where it acts on something else."""
    kind, target, gear = (
        int(compiled.actuator_trntype[k]), int(compiled.actuator_trnid[k, 0]), float(compiled.actuator_gear[k, 0]),
    )  # fmt: skip
    if kind in (JOINT, JOINT_IN_PARENT):
        found = {target: gear}
    elif kind == TENDON:
        found = {j: gear * factor for j, factor in tendon_joints(compiled, target).items()}
    else:
        return {}
    return found if all(int(compiled.jnt_type[j]) in SINGLE for j in found) else {}


def actuator_force(t: Any, kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the generalised forces of an actuator on its joints."""
    moment, gain, bias = parameters["moment"], parameters["gain"], parameters["bias"]
    length, rate = moment @ kinematics.z, moment @ kinematics.zd
    force = (gain[0] + gain[1] * length + gain[2] * rate) * parameters["ctrl"]
    return moment * (force + bias[0] + bias[1] * length + bias[2] * rate)


FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint
SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = 2, 3, 4, 5, 6, 7  # mjtGeom
SIZES = {FREE: 7, BALL: 4, SLIDE: 1, HINGE: 1}  # of qpos
DRAWN_GROUPS = 2  # groups 0 to 2 are drawn
COUNTED = {
    "ntendon": "tendons are read where equalities or actuators use them; their springs, dampers, friction, limits and "
    "inertia are not read",
    "nflex": "deformable bodies are not read",
    "nskin": "skins are not read",
    "nsensor": "sensors are not read",
    "npair": "contact pairs are not read: bodies do not touch each other",
    "nplugin": "plugins are not read",
}


def read_mjcf(
    root: Element,
    path: Path,
    *,
    strict: bool = False,
    meshes: bool = True,
    packages: Mapping[str, str | Path] | None = None,
    friction: bool = False,
    keyframe: str | None = None,
) -> Model:
    """Return the Model of a ``<mujoco>``; LanguageError where MuJoCo refuses the file."""
    check_files(root, path, MeshFiles(path, packages or {}))
    assembly = ModelAssembly(root.attributes.get("model", "").strip() or path.stem, root.source.file, "MJCF", friction)
    compiled = compiled_model(assembly, path)
    names = MuJoCoModel(
        compiled, body_names(compiled), joint_names(compiled), switched_off(compiled), backward_joints(compiled)
    )
    assembly.gravity = (0.0, 0.0, 0.0) if "gravity" in names.off else compiled.opt.gravity
    for i in range(1, compiled.nbody):
        add_body(assembly, names, i, meshes)
    for joint in equality_closures(assembly, names):
        assembly.add_joint(joint)
    note_rest(assembly, names)
    model = assembly.model()
    add_couplings(assembly, names, model)
    key = chosen_keyframe(compiled, keyframe)
    add_actuators(assembly, names, model, np.zeros(compiled.nu) if key < 0 else compiled.key_ctrl[key])
    add_sites(assembly, names, model)
    set_start(assembly, names, model, key)
    return assembly.reported(model, strict)


# ---- bodies and joints -----------------------------------------------------------------------------------------------


def add_body(assembly: ModelAssembly, names: MuJoCoModel, i: int, meshes: bool) -> None:
    """Add a body with its joints to its parent."""
    model, name = names.model, names.bodies[i]
    middle = placement_of_quaternion(model.body_ipos[i], model.body_iquat[i])
    tensor = (middle.rotation * model.body_inertia[i]) @ middle.rotation.T
    link = Link(name, float(model.body_mass[i]), middle.position, 0.5 * (tensor + tensor.T))
    if meshes:
        add_shapes(link, model, i)
    assembly.add_link(link)
    first, count = int(model.body_jntadr[i]), int(model.body_jntnum[i])
    parent = names.bodies[int(model.body_parentid[i])]
    at = placement_of_quaternion(model.body_pos[i], model.body_quat[i])
    if not count:
        assembly.add_joint(JointLink(assembly.free_name(f"{name}_fixed", assembly.joints), Fixed(), parent, name, at))
    for k in range(count):
        joint = names.joints[first + k]
        child = name if k == count - 1 else assembly.free_name(f"{name}_{joint}", assembly.links)
        if child != name:
            assembly.add_link(Link(child))
        add_joint(assembly, names, first + k, parent, child, at)
        parent, at = child, here()


def add_joint(assembly: ModelAssembly, names: MuJoCoModel, j: int, parent: str, child: str, at: Placement) -> None:
    """Add a joint between ``parent`` and ``child``, whose frame stands at ``at`` in the parent at the file's pose."""
    model, kind = names.model, int(names.model.jnt_type[j])
    name, dof = names.joints[j], int(model.jnt_dofadr[j])
    if kind == FREE:
        joint = JointLink(name, Floating(), parent, child, here(), here())
        assembly.links[child].place = at
    else:
        point = Placement(np.array(model.jnt_pos[j]), np.eye(3))
        ref = float(model.qpos0[model.jnt_qposadr[j]]) if kind in (SLIDE, HINGE) else 0.0
        back = moved(kind, np.array(model.jnt_axis[j]), -ref)
        joint = JointLink(name, joint_type(kind, model.jnt_axis[j]), parent, child, at.then(point).then(back), point)
    joint.backwards = name in names.backwards
    take_forces(names, joint, j)
    note_limits(assembly, names, joint, j)
    polynomials = [getattr(model, key, None) for key in ("jnt_stiffnesspoly", "dof_dampingpoly")]
    if any(one is not None and np.any(one[at_]) for one, at_ in zip(polynomials, (j, dof), strict=True)):
        assembly.note(f"joint {name!r}", "has a spring or damper of higher order, and the linear part is read")
    assembly.add_joint(joint)


def take_forces(names: MuJoCoModel, joint: JointLink, j: int) -> None:
    """Read spring, damper, rotor inertia and dry friction, without those that a flag of the file switches off."""
    model, kind, dof = names.model, int(names.model.jnt_type[j]), int(names.model.jnt_dofadr[j])
    armature, damping = rotor_and_damper(model, j)
    joint.stiffness = 0.0 if "spring" in names.off else float(model.jnt_stiffness[j])
    joint.damping = 0.0 if "damper" in names.off else float(model.dof_damping[dof]) + damping
    joint.armature = float(model.dof_armature[dof]) + armature
    joint.friction = 0.0 if "frictionloss" in names.off else float(model.dof_frictionloss[dof])
    if kind in (SLIDE, HINGE):
        joint.rest = float(model.qpos_spring[model.jnt_qposadr[j]])


def note_limits(assembly: ModelAssembly, names: MuJoCoModel, joint: JointLink, j: int) -> None:
    """Keep the limits of a slide or a hinge, noted; note those of a ball, and of the actuators of a joint."""
    model, what = names.model, f"joint {joint.name!r}"
    if model.jnt_limited[j] and int(model.jnt_type[j]) in (SLIDE, HINGE):
        lower, upper = map(float, model.jnt_range[j])
        joint.limits = JointLimits(lower, upper, np.inf, np.inf)
        assembly.note(what, "has limits, which are kept in import_report.limits: no motion stops at them")
    elif model.jnt_limited[j]:
        assembly.note(what, f"has the limit {model.jnt_range[j, 1]:g} of its angle, which is not read")
    if model.jnt_actfrclimited[j]:
        assembly.note(what, "has limits of the force of its actuators (actuatorfrcrange), which are not applied")


def joint_type(kind: int, axis: Any) -> JointType:
    """Return the type of a joint of MuJoCo but free ones."""
    return Spherical() if kind == BALL else Prismatic(np.array(axis)) if kind == SLIDE else Revolute(np.array(axis))


def moved(kind: int, axis: Any, amount: float) -> Placement:
    """Return the placement after a slide or turn along an axis."""
    if amount == 0.0 or kind == BALL:
        return here()
    if kind == SLIDE:
        return Placement(amount * axis, np.eye(3))
    half = 0.5 * amount
    return placement_of_quaternion(np.zeros(3), np.array([np.cos(half), *(np.sin(half) * axis)]))


def add_shapes(link: Link, model: Any, i: int) -> None:
    """Add the drawn geometries of a body."""
    first = int(model.body_geomadr[i])
    for g in range(first, first + int(model.body_geomnum[i])):
        if model.geom_group[g] <= DRAWN_GROUPS and model.geom_rgba[g, 3] > 0.0:
            link.shapes += shape_of(model, g)
            link.color = link.color or shapes.hex_color(color_of(model, g))


def color_of(model: Any, g: int) -> Any:
    """Return red, green, blue and opacity of a geometry."""
    material = int(model.geom_matid[g])
    return model.geom_rgba[g] if material < 0 else model.mat_rgba[material]


def shape_of(model: Any, g: int) -> list[Any]:
    """Return the shapes of a geometry; none of a plane or a field of heights."""
    kind, size = int(model.geom_type[g]), [float(one) for one in model.geom_size[g]]
    place = placement_of_quaternion(model.geom_pos[g], model.geom_quat[g])
    if kind == SPHERE:
        return [shapes.sphere(size[0], place)]
    if kind == CAPSULE:
        return shapes.capsule(size[0], 2.0 * size[1], place)
    if kind == ELLIPSOID:
        return [shapes.ellipsoid(size, place)]
    if kind == CYLINDER:
        return [shapes.cylinder(size[0], 2.0 * size[1], place)]
    if kind == BOX:
        return [shapes.box([2.0 * one for one in size], place)]
    if kind != MESH:
        return []
    mesh = int(model.geom_dataid[g])
    points, faces = (
        getattr(model, f"mesh_{what}")[start : start + count]
        for what, start, count in (
            ("vert", int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])),
            ("face", int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])),
        )
    )
    return [shapes.surface(np.array(points, float), np.array(faces), False, place)]


# ---- rest ------------------------------------------------------------------------------------------------------------


def note_rest(assembly: ModelAssembly, names: MuJoCoModel) -> None:
    """Note elements that a Model has not."""
    model = names.model
    for key, told in COUNTED.items():
        if count := int(getattr(model, key, 0)):
            assembly.note(f"{key[1:]} ({count} of them)", told)
    touching = int(np.count_nonzero((model.geom_contype != 0) | (model.geom_conaffinity != 0)))
    if touching > 1:
        assembly.note(f"contacts of {touching} geometries", "are not read: bodies do not touch each other")
    if model.opt.density or model.opt.viscosity or np.any(model.opt.wind):
        assembly.note("the medium", "is not read: there is no force of a fluid here")
    if np.any(model.body_gravcomp):
        assembly.note("gravcomp", "is not read: gravity acts on every body")
    if model.nmocap:
        assembly.note(f"mocap bodies ({model.nmocap} of them)", "stand still")


def add_sites(assembly: ModelAssembly, names: MuJoCoModel, model: Model) -> None:
    """Add a marker for each site with a name."""
    compiled = names.model
    for s in range(compiled.nsite):
        if not (name := compiled.site(s).name):
            continue
        place = placement_of_quaternion(compiled.site_pos[s], compiled.site_quat[s])
        body = assembly.body_names[names.bodies[int(compiled.site_bodyid[s])]]
        free = assembly.free_name(name, {**model.markers, **model.bodies})
        model.add_marker(free, body, place.position, frame=body if body != "ground" else "world", axes=place.rotation)


def chosen_keyframe(compiled: Any, keyframe: str | None) -> int:
    """Return the number of a keyframe, that of the first unless named, -1 for none; InputError for one not there."""
    keys = [compiled.key(k).name or f"key_{k}" for k in range(compiled.nkey)]
    if keyframe is not None and keyframe not in keys:
        raise InputError(f"keyframe: {unknown_name('keyframe', keyframe, keys)}")
    return keys.index(keyframe) if keyframe is not None else 0 if keys else -1


def set_start(assembly: ModelAssembly, names: MuJoCoModel, model: Model, chosen: int) -> None:
    """Set the initial coordinates: those of the keyframe of a number, or else those of the file's pose."""
    compiled = names.model
    pose = compiled.qpos0 if chosen < 0 else compiled.key_qpos[chosen]
    rates = np.zeros(compiled.nv) if chosen < 0 else compiled.key_qvel[chosen]
    held = (model.couplers, model.rods, model.constraints)
    pinned = not any(joint.cut for joint in assembly.joints.values()) and not any(held)
    for j, name in enumerate(names.joints):
        kind, dof, first = int(compiled.jnt_type[j]), int(compiled.jnt_dofadr[j]), int(compiled.jnt_qposadr[j])
        width = {FREE: 6, BALL: 3}.get(kind, 1)
        position = np.array(pose[first : first + SIZES[kind]])
        rate = np.array(rates[dof : dof + width])
        if kind == BALL:  # of body to parent: the quaternion of MuJoCo is that from the pose of the file
            position = product(quaternions(assembly.joints[name].in_parent.rotation[None])[0], position)
            if assembly.joints[name].backwards:  # of parent to body, and the rate in axes of the parent
                rate = -(rotations(position) @ rate)
                position = position * (1.0, -1.0, -1.0, -1.0)
        moving = rate if np.any(rate) else None
        for one, pin in ((name, pinned), (assembly.rotors.get(name), False)):
            if one is not None:  # a file states its unit of angles, so that no number of turns is a slip
                model.initials[one] = make_initial(model.joints[one], position, moving, pin, 1.0, np.inf)
