"""Random mechanisms under every kind of force, and the same motion in joint and in reference-point coordinates."""

import numpy as np

import rtmbs
from bench.measures.random_mechanisms import triad
from rtmbs.errors import InputError, StartError
from rtmbs.formulations import JointCoordinates, ReferencePointCoordinates, consistent_state
from rtmbs.formulations.contract import FormulationError
from rtmbs.kinematics.coordinates import SIZE
from rtmbs.model import JOINT_TYPES
from rtmbs.numerics.rotations.quaternions import quaternions, world_rates
from rtmbs.semirecursive.start.checks import check_facing

KINDS = ("Revolute", "Cylindrical", "Spherical", "Universal", "Prismatic", "Planar", "Floating", "Line", "Fixed")
CUTS = ("Revolute", "Spherical", "Universal", "Cylindrical", "Line")
DRAWS = 20  # of a state
LEFT = 2  # degrees of freedom at least
PARAMETERS = {"k": 2.0, "c": 0.7}


class Units:
    """Odd units: what one of length, mass and time is, and what follows."""

    def __init__(self, rng):
        self.length, self.mass, self.time = 10.0 ** rng.uniform((-1.0, -2.0, -1.0), (1.5, 3.0, 1.0))
        self.force = self.mass * self.length / self.time**2
        self.torque = self.force * self.length
        self.screw = np.repeat((self.length, 1.0), 3)

    def of(self, coordinate):
        return self.length if coordinate in ("displacement", "x", "y") else 1.0


def forced_model(seed):
    """Return a random tree or closed loop with uneven masses under forces of every kind, and its units."""
    rng = np.random.default_rng((seed, 31))
    unit = Units(rng)
    model, _ = begun(rng, f"forced {seed}", unit, free=False)
    names = ["ground"]
    free = 0
    for k in range(rng.integers(3, 7)):
        name = f"body {k}"
        add_body(rng, model, unit, name)
        ends = (str(rng.choice(names[-2:])), name)
        kind = KINDS[0] if k == 0 else str(rng.choice(KINDS))
        free += len(example(rng, kind).dofs())
        ends = ends if rng.random() < 0.6 else ends[::-1]
        model.add_joint(f"joint {k}", example(rng, kind), *ends, point=unit.length * rng.normal(size=3))
        names.append(name)
    free -= close_a_loop(rng, model, unit, names, free) if seed % 2 else 0
    add_relations(rng, model, unit, names, free)
    add_forces(rng, model, unit, names)
    return model, unit


def begun(rng, name, unit, free):
    """Return a model in odd units with gravity, and the body that it is built on: ground, or a free base."""
    model = rtmbs.Model(name, gravity=rng.normal(size=3) * 9.81 * unit.length / unit.time**2)
    if not free:
        return model, "ground"
    add_body(rng, model, unit, "base")
    model.add_joint("free", rtmbs.Floating(), "ground", "base", point=unit.length * rng.normal(size=3))
    return model, "base"


def example(rng, kind):
    """Return a joint type with its axes along random directions."""
    return JOINT_TYPES[kind].example(triad(rng))


def add_body(rng, model, unit, name):
    mass = unit.mass * 10.0 ** rng.uniform(-1.0, 1.0)
    principal = rng.uniform(0.05, 1.0, 3) * mass * unit.length**2
    turn = triad(rng)
    model.add_body(
        name,
        mass=mass,
        center_of_mass=0.4 * unit.length * rng.normal(size=3),
        inertia=turn @ np.diag(principal.sum() - principal) @ turn.T,
        position=unit.length * rng.normal(size=3),
        orientation=triad(rng),
    )


def close_a_loop(rng, model, unit, names, free):
    """Add a cut joint or a rod that leaves enough freedom; return what it takes."""
    kind = str(rng.choice((*CUTS, "rod")))
    if kind == "rod":
        model.add_rod("rod", between=ends(rng, model, unit, "rod", *two_that_move(rng, model)))
        return 1
    joint = example(rng, kind)
    taken = 6 - len(joint.dofs())
    if free - taken < LEFT or len(names) < 4:
        return 0
    model.add_joint("cut", joint, "ground", names[-1], point=unit.length * rng.normal(size=3), cut=True)
    if joint.coordinates:
        model.add_force(
            "cut spring", rtmbs.TorsionSpring(*scaled(unit, joint, 0, rng)), joint=("cut", joint.coordinates[0])
        )
    return taken


def ends(rng, model, unit, name, a, b):
    """Return two markers at random points with skew axes."""
    return tuple(
        model.add_marker(f"{name} {side}", body, unit.length * (rng.normal(size=3) + far), axes=triad(rng))
        for side, body, far in (("a", a, 2.0), ("b", b, 0.0))
    )


def tree_coordinates(model):
    return [(joint, name) for joint in model.joints.values() if not joint.cut for name in joint.type.coordinates]


def scaled(unit, joint, k, rng):
    """Return stiffness, damping and rest of a coordinate."""
    size = unit.of(joint.coordinates[k])
    stiffness = unit.torque / size**2
    return rng.uniform(0.5, 3.0) * stiffness, rng.uniform(0.1, 1.0) * stiffness * unit.time, rng.normal() * size


def add_relations(rng, model, unit, names, free):
    """Add a driver, a coupler and constraints while enough freedom is left."""
    places = tree_coordinates(model)

    def drifting(t):
        return (
            0.1 * np.sin(t / unit.time),
            0.1 / unit.time * np.cos(t / unit.time),
            -0.1 / unit.time**2 * np.sin(t / unit.time),
        )

    def bent(t, pose, parameters):
        return sum(np.sin(z / s) for z, s in zip(pose.z, sizes, strict=True)) - 0.1 * t / unit.time

    def shell(t, pose, parameters):
        r = pose.r / unit.length
        return np.dot(r, r) - parameters["square"] + 0.1 * np.sin(t / unit.time) + 0.2 * pose.R[0, 1]

    for what in rng.permutation(["driver", "coupler", "joint constraint", "constraint"])[:2]:
        if free <= LEFT:
            return
        if what == "constraint":
            a, b = ends(rng, model, unit, "shell", *two_that_move(rng, model))
            square = float(np.sum((b.reference() - a.reference()) ** 2)) / unit.length**2
            model.add_constraint("shell", shell, between=(a, b), parameters={"square": square})
        elif len(places) < 3:
            continue
        else:
            one, *pair = (places[k] for k in rng.permutation(len(places))[:3])
            sizes = [unit.of(name) for _, name in pair]
            if what == "driver":
                size = unit.of(one[1])
                model.add_driver("driver", lambda t, size=size: tuple(size * x for x in drifting(t)), joint=one)
            elif what == "coupler":
                ratios = {place: 1.7**k / size for k, (place, size) in enumerate(zip(pair, sizes, strict=True))}
                model.add_coupler("coupler", ratios, drifting)
            else:
                model.add_constraint("bent", bent, joints=pair)
        free -= 1


def two_bodies(rng, names):
    a, b = rng.permutation(len(names))[:2]
    return names[a], names[b]


def two_that_move(rng, model):
    """Return two bodies that no fixed joint holds together, or None."""
    group = {}
    for joint in model.joints.values():
        group.setdefault("ground", "ground")
        old, new = (joint.a.name, joint.b.name) if joint.b.name not in group else (joint.b.name, joint.a.name)
        group[new] = group[old] if isinstance(joint.type, rtmbs.Fixed) else new
    a, *others = rng.permutation(sorted(group))
    apart = [b for b in others if group[b] != group[a]]
    return (str(a), str(apart[0])) if apart else None


def add_forces(rng, model, unit, names):
    """Add every kind of force, in every form of its values."""
    for k in range(2):
        between = ends(rng, model, unit, f"spring {k}", *two_bodies(rng, names))
        spring = rtmbs.SpringDamper(2.0 * unit.force / unit.length, 0.3 * unit.force * unit.time / unit.length)
        model.add_force(f"spring {k}", spring, between=between)
    A = rng.normal(size=(6, 6)) / np.outer(unit.screw, unit.screw) * unit.torque
    curve = [(-unit.length, -unit.force), (0.0, 0.0), (unit.length, 2.0 * unit.force), (3.0 * unit.length, unit.force)]
    bushing = rtmbs.Bushing(
        np.array(0.3 * A), np.array(0.1 * unit.time * A.T), force=unit.force * rng.normal(size=3), curve_y=curve
    )
    model.add_force("bushing", bushing, between=ends(rng, model, unit, "bushing", *two_bodies(rng, names)))
    turning = rtmbs.Wrench(
        lambda t: unit.force * np.array([np.sin(t / unit.time), 1.0, 0.5]),
        unit.torque * rng.normal(size=3),
        axes="body",
    )
    model.add_force("turning", turning, body=names[1], point=unit.length * rng.normal(size=3))
    push = rtmbs.Wrench(rtmbs.Input(unit.force * rng.normal(size=3)), (0.0, 0.0, 0.0))
    model.add_force("push", push, body=names[-1], point=unit.length * rng.normal(size=3))
    add_joint_forces(rng, model, unit)
    add_laws(rng, model, unit, names)


def add_joint_forces(rng, model, unit):
    for k, (joint, name) in enumerate(tree_coordinates(model)):
        number = joint.type.coordinates.index(name)
        model.add_force(
            f"torsion {k}", rtmbs.TorsionSpring(*scaled(unit, joint.type, number, rng)), joint=(joint, name)
        )
        size = unit.torque / unit.of(name)
        value = (0.7 * size, rtmbs.Input(0.5 * size), lambda t, size=size: size * np.cos(t / unit.time))[k % 3]
        model.add_force(f"motor {k}", rtmbs.Motor(value), joint=(joint, name))


def add_laws(rng, model, unit, names):
    """Add laws between frames, on a body and on joints; one of each is called instead of recorded."""

    def line(t, kinematics, parameters):
        r = np.sqrt(np.dot(kinematics.r, kinematics.r)) / unit.length
        return unit.force * (parameters["k"] * r**2 + parameters["c"] * np.sin(t / unit.time))

    def six(t, kinematics, parameters):
        v, w = kinematics.v * unit.time / unit.length, kinematics.w * unit.time
        return -unit.force * parameters["c"] * v, unit.torque * (kinematics.R[:, 0] - parameters["c"] * w)

    def drag(t, kinematics, parameters):
        v = kinematics.v * unit.time / unit.length
        return -0.3 * unit.force * np.dot(v, v) * v, -0.1 * unit.torque * kinematics.w * unit.time

    for name, law, trace in (("line", line, True), ("six", six, True), ("called", six, False)):
        between = ends(rng, model, unit, name, *two_bodies(rng, names))
        model.add_force(name, law, between=between, parameters=PARAMETERS, trace=trace)
    model.add_force("drag", drag, body=names[-1], point=unit.length * rng.normal(size=3))
    places = tree_coordinates(model)
    size = np.array([unit.of(name) for _, name in places])

    def whole(t, kinematics, parameters):
        z, zd = kinematics.z / size, kinematics.zd / size * unit.time
        return unit.torque / size * (np.sin(z[::-1]) - 0.2 * zd)

    def one(t, kinematics, parameters):
        z = kinematics.z / size[0]
        return unit.torque / size[0] * parameters["k"] * (np.sin(z) if z > 0.0 else z)

    model.add_force("whole", whole, joints=places)
    model.add_force("one", one, joint=places[0], parameters=PARAMETERS, trace=False)
    if not any(joint.cut for joint in model.joints.values()):
        model.add_force("all", lambda t, k, p: unit.torque / size * np.cos(k.z / size), joints="all")


# ---------------------------------------------------------------------------------------------------- one motion twice


def both_systems(seed):
    """Return the model, its units, and the mechanism in joint and in reference-point coordinates with equal inputs."""
    model, unit = forced_model(seed)
    joints, bodies = JointCoordinates(model.compile()), ReferencePointCoordinates(model)
    rng = np.random.default_rng((seed, 32))
    for name, place in bodies.inputs.items():
        if name == "push.force" or name.endswith((".k", ".tension", ".load")):
            value = bodies.u[place] + rng.uniform(0.1, 1.0) * np.abs(bodies.u[place])
            bodies.u[place] = joints.u[joints.equations.compiled.inputs[name]] = value
    return model, unit, joints, bodies


def consistent(joints, unit, seed, t):
    """Return a random consistent state of joint coordinates."""
    rng, compiled = np.random.default_rng((seed, 33)), joints.equations.compiled
    size = np.where(compiled.typical == 1.0, 1.0, unit.length)
    for _ in range(DRAWS):
        q = compiled.z0 + 0.3 * size * rng.normal(size=joints.n)
        v = size * rng.normal(size=joints.n) / unit.time
        try:
            q, v = consistent_state(joints, q, v, t, size**-2.0, size**-2.0)
            joints.constraints(q, t)
            check_facing(joints.equations)
        except (FormulationError, InputError, StartError):  # open, beyond a rotation vector, the wrong way round
            continue
        return q, v
    raise FormulationError(f"no state of {DRAWS} closes the loops at t = {t:g}")


def sizes(system, unit):
    """Return what coordinates (n,) of bodies and joints are measured in."""
    lengths = ("x", "y", "z", "displacement")
    return np.where([name.split(".")[-1] in lengths for name in system.coordinate_names], unit.length, 1.0)


def as_bodies(model, joints, bodies, q, v, a, t):
    """Return q, v and a of reference-point coordinates that are the motion of joint coordinates."""
    equations, vectors = joints.equations, joints.vectors
    equations.at(t)
    zd, zdd = joints.joint_rates(q, v), vectors.turning(q) @ a + vectors.rate_terms(q, v)
    equations.evaluate(q, zd, zdd, joints.R0)
    found = np.zeros((3, bodies.n))
    found[0, :SIZE] = bodies.start[:SIZE]
    for k, name in enumerate(list(model.bodies)[1:], 1):
        found[:, SIZE * k : SIZE * (k + 1)] = body_motion(equations.ws, equations.compiled.bodies[name], model.gravity)
    infos = equations.compiled.joints
    for k, name in enumerate(bodies.coordinate_names[SIZE * len(model.bodies) :]):
        joint, _, coordinate = name.rpartition(".")
        dof = infos[joint].dofs[model.joints[joint].type.coordinates.index(coordinate)]
        found[:, SIZE * len(model.bodies) + k] = q[dof], zd[dof], zdd[dof]
    return found


def body_motion(ws, info, gravity):
    """Return coordinates, rates and accelerations (3, 7) of one body."""
    A, r, V, acc = (part[info.dof] for part in (ws.A, ws.r, ws.V, ws.acc))
    R, x, w = A @ info.rotation, r + A @ info.position, V[3:]
    velocity = V[:3] + np.cross(w, x)
    acceleration = acc[:3] + gravity + np.cross(acc[3:], x) + np.cross(w, velocity)
    e = quaternions(R[None])[0]
    E = world_rates(e[None])[0] / 2.0
    ed = E.T @ w / 2.0
    edd = E.T @ acc[3:] / 2.0 - ed @ ed * e
    return np.stack([np.concatenate(pair) for pair in ((x, e), (velocity, ed), (acceleration, edd))])
