"""Reader of MJCF: bodies, joints, springs, equalities and keyframes, from the model that the parser of MuJoCo compiles.

MuJoCo resolves defaults, includes, units and masses of geometries. A joint of MJCF stands in the child body; several
joints in one body are a chain in their order, with massless bodies between them. The coordinates are those of MuJoCo:
they have the value ``ref`` at the pose of the file. Equalities become exact closures, without their softness.
Source: MuJoCo documentation, XML reference and computation chapters.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rtmbs.errors import InputError, unknown_name
from rtmbs.formats import shapes
from rtmbs.formats.assembly import JointLink, Link, ModelAssembly
from rtmbs.formats.mjcf_actuators import add_actuators, rotor_and_damper
from rtmbs.formats.mjcf_equalities import add_couplings, equality_closures
from rtmbs.formats.mjcf_files import check_files
from rtmbs.formats.mjcf_model import MuJoCoModel, backward_joints, body_names, compiled_model, joint_names, switched_off
from rtmbs.formats.placement import Placement, here, placement_of_quaternion
from rtmbs.formats.shapes import MeshFiles
from rtmbs.formats.xml_tree import Element
from rtmbs.model import Fixed, Floating, JointType, Model, Prismatic, Revolute, Spherical
from rtmbs.model.description import JointLimits
from rtmbs.model.joints import make_initial
from rtmbs.numerics.rotations.quaternions import product, quaternions, rotations

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
