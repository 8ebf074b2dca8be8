"""Random mechanisms written as URDF, SDF and MJCF and read again: the same coordinates, poses and dynamics.

Trees of two to six bodies with skew frames and axes of any length have all joints of a format, walked from either body,
with floating bases, massless bodies, rotors, dampers, couplers and loops. The Model, the Model of the file, and the
Model of the file written once more are compared with plain NumPy (``bench.robots.own_tree``) at the same numbers q and
v. MuJoCo reads the MJCF on its own, where it is installed.
"""

import importlib.util
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from bench.robots.loops import closed, null_space
from bench.robots.own_tree import OwnTree, times
from rtmbs.errors import InputError, TopologyError

Array = NDArray[np.float64]

EXACT, SLOPES, ACCELERATIONS = 1e-12, 1e-8, 1e-7  # of the largest entry; the last two are compared with differences
ROUNDING = 1e-9  # of accelerations of the read Model against those of the first one
CLOSED = 1e-10  # [m, 1]
KINDS = {
    ".urdf": ("hinge", "slide", "ball", "fixed", "plane", "free"),
    ".sdf": ("hinge", "slide", "ball", "fixed", "cardan", "screw"),
    ".xml": ("hinge", "slide", "ball", "fixed"),
}
LOOPS = {".urdf": ("ball", "fixed", "hinge", "slide"), ".sdf": ("ball", "fixed", "hinge", "slide", "cardan"),
         ".xml": ("ball", "fixed", "hinge")}  # fmt: skip
NOT_WRITTEN = "markers", "initial values"  # ends of loops in an MJCF, and where a free link starts
ALLOWED = "holds nothing", "the body starts turned"
OTHERWISE = (
    "coordinates change",
    "has another quaternion",
    "is not written",
)  # damper, rotor and coupler of a loop joint
NO_LOOP = "closes a loop in a file"  # of joints of which no format makes a loop
ONE = ("hinge", "slide")


def joint_type(kind: str, random: np.random.Generator) -> Any:
    """Return a joint type with axes of any direction and length."""
    axis, other = random.normal(size=3) * 10.0 ** random.uniform(-2, 2), random.normal(size=3)
    return {
        "hinge": lambda: rtmbs.Revolute(axis), "slide": lambda: rtmbs.Prismatic(axis), "ball": rtmbs.Spherical,
        "fixed": rtmbs.Fixed, "plane": lambda: rtmbs.Planar(axis), "free": rtmbs.Floating,
        "cardan": lambda: rtmbs.Universal(axis, np.cross(axis, other)),
        "screw": lambda: rtmbs.Screw(axis, random.uniform(-0.3, 0.3)),
    }[kind]()  # fmt: skip


def frames(random: np.random.Generator) -> dict[str, Array]:
    """Return skew frames of a joint in both of its bodies; a third of them stands straight."""
    turn = [np.eye(3) if random.random() < 0.3 else Rotation.random(random_state=random).as_matrix() for _ in "ab"]
    return dict(
        zip(("point_a", "point_b", "axes_a", "axes_b"), (*random.uniform(-0.7, 0.7, (2, 3)), *turn), strict=True)
    )


def mechanism(ending: str, random: np.random.Generator) -> tuple[rtmbs.Model, dict[str, float]]:
    """Return a Model and the inertias of rotors by joint."""
    model = rtmbs.Model("random", gravity=(0, 0, -9.81) if ending == ".urdf" else random.uniform(-9, 9, 3))
    names, single, armature = ["ground"], [], {}
    for k in range(random.integers(2, 7)):
        name = f"b{k}"
        add_body(model, name, random)
        if k == 0 and random.random() < 0.3:
            still = {"point_a": np.zeros(3), "point_b": np.zeros(3), "axes_a": np.eye(3), "axes_b": np.eye(3)}
            model.add_joint("root_joint", rtmbs.Floating(), "ground", name, **still)
        else:
            kind = KINDS[ending][random.integers(len(KINDS[ending]))]
            parent = names[random.integers(len(names))]
            backwards = random.random() < 0.5 and kind != "free" and (parent != "ground" or ending != ".sdf")
            pair = (name, parent) if backwards else (parent, name)
            model.add_joint(f"j{k}", joint_type(kind, random), *pair, **frames(random))
            single += [f"j{k}"] if kind in ONE else []
        names.append(name)
    for name in single:
        if random.random() < 0.3:
            law = rtmbs.TorsionSpring(stiffness=0.0, damping=random.uniform(0.1, 2.0))
            model.add_force(f"{name}_damper", law, joint=name)
        if random.random() < 0.3 and ending != ".sdf":
            armature[name] = random.uniform(0.01, 0.5)
            add_rotor(model, name, armature[name])
    if len(single) > 1 and random.random() < 0.3:
        model.add_coupler("gear", {single[0]: 1.0, single[1]: random.uniform(-2, 2)}, random.uniform(-0.5, 0.5))
    if random.random() < 0.6:
        add_loop(model, ending, names, random)
    return model, armature


def add_body(model: rtmbs.Model, name: str, random: np.random.Generator) -> None:
    """Add a body of uneven mass."""
    mass, R = 10.0 ** random.uniform(-1, 1), Rotation.random(random_state=random).as_matrix()
    tensor = R @ np.diag(mass * np.array([0.2, 0.3, 0.4]) * random.uniform(0.8, 1.2)) @ R.T
    six = (*np.diag(tensor), tensor[0, 1], tensor[0, 2], tensor[1, 2])
    model.add_body(name, mass=mass, center_of_mass=random.uniform(-0.5, 0.5, 3), inertia=six)


def add_rotor(model: rtmbs.Model, joint: str, inertia: float) -> None:
    """Add a rotor as a reader does."""
    model.add_body(f"{joint}_rotor", mass=0.0, inertia=(inertia, inertia, inertia))
    model.add_joint(f"{joint}_rotor", rtmbs.Revolute((0, 0, 1)), "ground", f"{joint}_rotor")
    model.add_coupler(f"{joint}_gear", {f"{joint}_rotor": 1.0, joint: -1.0})


def add_loop(model: rtmbs.Model, ending: str, names: list[str], random: np.random.Generator) -> None:
    """Add a joint that closes a loop: open at zero coordinates, or closed there, and cut or left to the compiler."""
    kind, (a, b) = LOOPS[ending][random.integers(len(LOOPS[ending]))], random.permutation(names)[:2]
    given, cut = frames(random), random.random() < 0.7
    if kind == "cardan" or random.random() < 0.7 or (ending == ".sdf" and kind != "ball") or not cut:
        try:
            robot = rtmbs.Robot(model)
        except rtmbs.RtmbsError:
            return
        one, two = (robot.forward_kinematics(robot.neutral(), name) if name != "ground" else (np.zeros(3), np.eye(3))
                    for name in (str(a), str(b)))  # fmt: skip
        point = one[0] + one[1] @ given["point_a"]
        given["point_b"], given["axes_b"] = two[1].T @ (point - two[0]), two[1].T @ one[1] @ given["axes_a"]
    try:
        model.add_joint("loop", joint_type(kind, random), str(a), str(b), cut=cut, **given)
    except rtmbs.RtmbsError:
        return


class Compared:
    """A Model and those of its files at random states."""

    def __init__(self, model: rtmbs.Model, armature: dict[str, float], tally: Tally) -> None:
        self.robot, self.tally = rtmbs.Robot(model), tally
        topology = self.robot.system.topology
        inside = {topology.edges[branch.edge].name for branch in topology.tree}
        self.damped = {one.joint[0].name: one.law.damping for one in model.forces.values()}
        rotors = {f"{name}_rotor" for name in armature}
        self.own = OwnTree(model, inside - rotors, self.robot.joint_names, armature)
        for rotor in rotors:  # the reference has their inertia as a number
            self.own.inside.add(rotor)

    def wrong(self, robot: rtmbs.Robot, what: str, random: np.random.Generator) -> str:
        """Return what differs of a robot, or nothing."""
        if sorted(robot.joint_names) != sorted(self.robot.joint_names):
            return f"{what}: joints {robot.joint_names}, not {self.robot.joint_names}"
        places = {place.name: place for place in robot.coordinates.places}
        to = [np.concatenate([np.arange(count)[getattr(places[name], which)] for name in self.robot.joint_names])
              for which, count in (("q", robot.nq), ("v", robot.nv))]  # fmt: skip
        for _ in range(2):
            v, a, way = random.uniform(-1, 1, (3, self.robot.nv))
            q = self.robot.integrate(self.robot.neutral(), way)
            if wrong := self.of_state(robot, to, q, v, a):
                return f"{what}: {wrong}"
        return self.of_closed(robot, to, q, random, what) if len(self.robot.closure_gap(q)) else ""

    def of_state(self, robot: rtmbs.Robot, to: list[Array], q: Array, v: Array, a: Array) -> str:
        """Compare poses, rates, mass matrix and forces at one state of the tree."""
        x, rates, slopes = spread(to[0], q), spread(to[1], v), spread(to[1], a)
        own, at = self.own, self.own.state(q, v)
        M, bias = own.mass_matrix(q), own.bias(q, v)
        for joint, damping in self.damped.items():
            place = next(one for one in self.robot.coordinates.places if one.name == joint)
            bias[place.v] += damping * v[place.v]
        for body in own.model.bodies.values():
            if body.name not in at.R:
                continue
            found = robot.forward_kinematics(x, body.name)
            moves = robot.jacobian(x, body.name) @ rates
            center = robot.model.bodies[body.name].center_of_mass
            arm, R = found.rotation @ center, at.R[body.name]
            wanted = at.p[body.name] + R @ body.center_of_mass
            pairs = (("pose", found.position + arm, wanted), ("angular rate", moves[3:], at.w[body.name]),
                     ("rate", moves[:3] + np.cross(moves[3:], arm),
                      at.u[body.name] + np.cross(at.w[body.name], R @ body.center_of_mass)))  # fmt: skip
            if kept_axes(robot.model, body.name):
                pairs += (("rotation", found.rotation, R),)
            for which, one, two in pairs:
                if wrong := self.apart(which, one, two, EXACT):
                    return f"{which} of {body.name!r} {wrong}"
        tau = robot.inverse_dynamics(x, rates, slopes)[to[1]]
        ours = self.robot.inverse_dynamics(q, v, a)
        return (
            self.apart("mass matrix", robot.mass_matrix(x)[np.ix_(to[1], to[1])], M, EXACT)
            or self.apart("forces", tau, ours, EXACT)
            or self.apart("forces of NumPy", tau, M @ a + bias, SLOPES)
        )

    def of_closed(self, robot: rtmbs.Robot, to: list[Array], q: Array, random: np.random.Generator, what: str) -> str:
        """Compare freedom and accelerations at a pose with closed loops."""
        x = closed(self.robot, q)
        J = self.robot.closure_jacobian(x)
        S = np.linalg.svd(J, compute_uv=False)
        gap = float(np.abs(self.robot.closure_gap(x)).max())
        if not gap < CLOSED or np.any((1e-3 * S[0] > S) & (1e-8 * S[0] < S)):
            return ""  # it does not close, or next to a singular pose
        if not self.own.facing(x):
            return ""  # a root of the products of axes, where axes point opposite ways
        N = null_space(J)
        v, tau = N @ random.uniform(-1, 1, N.shape[1]), random.uniform(-1, 1, self.robot.nv)
        there, rates = spread(to[0], x), spread(to[1], v)
        self.tally.largest("gap", gap := float(np.abs(robot.closure_gap(there)).max()))
        if gap > 10.0 * CLOSED:
            return f"{what}: the loops of the file are open by {gap:.2g}"
        if (freedom := null_space(robot.closure_jacobian(there)).shape[1]) != N.shape[1]:
            return f"{what}: {freedom} degrees of freedom, not {N.shape[1]}"
        a = self.robot.forward_dynamics(x, v, tau).accelerations
        found = robot.forward_dynamics(there, rates, spread(to[1], tau)).accelerations[to[1]]
        if wrong := self.apart("accelerations", found, a, ROUNDING):
            return f"{what}: {wrong}"
        for joint, damping in self.damped.items():
            place = next(one for one in self.robot.coordinates.places if one.name == joint)
            tau[place.v] -= damping * v[place.v]
        wrong = self.apart("accelerations of NumPy", a, self.own.accelerations(x, v, tau), ACCELERATIONS)
        return wrong and f"{what}: {wrong}"

    def apart(self, which: str, one: Array, two: Array, allowed: float) -> str:
        """Return a sentence where two arrays differ; keep the largest difference, of the largest entry and of 1."""
        found = float(np.abs(one - two).max() / max(1.0, np.abs(two).max()))
        self.tally.largest(which, found)
        return "" if found <= allowed else f"{which} is off by {found:.2g}"


def spread(to: Array, values: Array) -> Array:
    """Return values in the order of another robot."""
    found = np.zeros(len(values))
    found[to] = values
    return found


def kept_axes(model: rtmbs.Model, body: str) -> bool:
    """Return False for a link of URDF that carries the frame of a plane or a floating joint."""
    ends = [one for one in model.joints.values() if body in (one.a.name, one.b.name)]
    return not any(isinstance(one.type, rtmbs.Planar | rtmbs.Floating) for one in ends)


def case(seed: int, tally: Tally) -> str:
    """Return what is wrong with one mechanism, or nothing."""
    random = np.random.default_rng((seed, 382))
    endings = [one for one in KINDS if one != ".xml" or importlib.util.find_spec("mujoco") is not None]
    ending = endings[seed % len(endings)]
    model, armature = mechanism(ending, random)
    try:
        compared = Compared(model, armature, tally)
    except TopologyError:  # a loop within one rigid part, or nothing that moves
        return ""
    robots = {"the Model": compared.robot}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read, path = model, Path(folder)
        for k in (1, 2):
            try:
                told = rtmbs.write(read, file := path / f"out{k}{ending}").notes
            except InputError as error:
                return "" if NO_LOOP in str(error) else f"{ending}: {error}"
            told = [one for one in told if not one.element.startswith(NOT_WRITTEN)]
            told = [one for one in told if not any(text in one.what for text in ALLOWED)]
            if told and any(text in told[0].what for text in OTHERWISE):
                return ""
            if told:
                return f"{ending}: {told[0]}"
            read = rtmbs.read(file, meshes=False)
            robots[f"file {k}"] = rtmbs.Robot(read)
        if ending == ".xml" and (wrong := by_mujoco(compared, path / "out1.xml", random)):
            return f"{ending}: MuJoCo: {wrong}"
    for what, robot in robots.items():
        if wrong := compared.wrong(robot, what, random):
            return f"{ending}: {wrong}"
    return ""


def by_mujoco(compared: Compared, path: Path, random: np.random.Generator) -> str:
    """Compare mass matrix and bias forces with what MuJoCo makes of a file."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    data, robot = mujoco.MjData(model), compared.robot
    v, way = random.uniform(-1, 1, (2, robot.nv))
    q = robot.integrate(robot.neutral(), way)
    order, sign = np.zeros(robot.nv, int), np.ones(robot.nv)
    zero = robot.neutral()
    for place in robot.coordinates.places:
        joint = model.joint(place.name)
        first, dof = int(joint.qposadr[0]), int(joint.dofadr[0])
        own = q[place.q].copy()
        if place.turns:
            turn, still = own[-4:], zero[place.q][-4:]
            if place.backwards:
                turn, still, sign[place.v] = turn * (1, -1, -1, -1), still * (1, -1, -1, -1), -1.0
            own[-4:] = turn if len(own) == 7 else times(still * (1, -1, -1, -1), turn)
        data.qpos[first : first + len(own)] = own
        order[place.v] = dof + np.arange(len(place.dofs))
    data.qvel[order] = sign * v
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, M, data.qM) if hasattr(data, "qM") else mujoco.mj_fullM(model, data, M)
    bias = (data.qfrc_bias - data.qfrc_passive)[order] * sign
    return compared.apart(
        "mass matrix of MuJoCo", M[np.ix_(order, order)] * np.outer(sign, sign), robot.mass_matrix(q), EXACT
    ) or compared.apart("forces of MuJoCo", bias, robot.bias_forces(q, v), EXACT)


CAMPAIGN = Campaign(
    "written_robots", "a mechanism written as URDF, SDF or MJCF and read again has the same coordinates and dynamics",
    3000, 150, lambda cases, seed: each(case, cases, seed), needs=("mujoco",),
)  # fmt: skip
