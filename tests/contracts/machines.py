"""Closed mechanisms that move: what the contracts of steps, sources and states run on.

``closed_model`` draws loops that close at the reference pose, with every joint type in the tree and cut, every force,
every kind of driver; ``LIBRARY`` lists the mechanisms of the library with a step that suits them.
"""

from dataclasses import fields, replace

import numpy as np

import rtmbs
from rtmbs import Simulation, library
from rtmbs.model import JOINT_TYPES
from rtmbs.simulation.options import by_name
from tests.mechanisms import grow_tree, random_rotation

# A step and options for those mechanisms that the default does not suit.
STEPS = {"andrews": 1e-4}
OPTIONS = {"fourbar": {"ny": 2, "nz": 2}}
LIBRARY = library.names()

TREE = ("Revolute", "Spherical", "Universal", "Floating", "Cylindrical", "Planar", "Prismatic", "Line", "Fixed")
MOBILE = (0, 2, 5, 6, 7, 8, 9, 11)  # seeds whose loops can follow their drivers
CUTS = {0: ("Spherical", "Revolute"), 1: ("Universal", "Line"), 2: ("Cylindrical",), 3: ("Planar", "Prismatic")}


def library_system(name):
    """Return a library mechanism, compiled."""
    return library.build(name, **OPTIONS.get(name, {})).compile()


def library_simulation(name, **options):
    """Return a simulation of a library mechanism, with the step that suits it unless another is given."""
    return Simulation(library_system(name), **by_name(**{"h": STEPS.get(name, 2e-3), **options}))


def closed_model(seed, bodies=9, driven=True, timed=True):
    """Return a random model whose loops close at the reference pose, in motion, under every force.

    timed: some forces are functions of time; otherwise constants stand in their place.
    """
    rng = np.random.default_rng((seed, 7))
    model = rtmbs.Model(f"closed {seed}", gravity=rng.normal(size=3) - (0.0, 0.0, 9.81))

    def join(k, *ends):
        joint = example(rng, TREE[(k + seed) % len(TREE)])
        model.add_joint(f"tree {k}", joint, *ends, point=rng.normal(size=3))

    names = grow_tree(rng, model, bodies, join)
    moving = [name for name in names[1:] if not welded_to_ground(model, name)]
    for k, kind in enumerate(CUTS[seed % len(CUTS)]):
        closure = (None, "point", "line")[seed % 3] if kind == "Revolute" else None
        ends = ("ground", moving[-1 - k]) if k else (moving[0], moving[-1])
        model.add_joint(f"cut {k}", example(rng, kind), *ends, point=rng.normal(size=3), cut=True, closure=closure)
        if kind == "Revolute" and closure is None:
            model.add_force("ghost motor", rtmbs.Motor(0.3), joint=f"cut {k}")
    add_forces(rng, model, moving, timed)
    if driven:
        add_drivers(rng, model, moving)
    set_rates(rng, model)
    return model


def with_force_states(timed=True):
    """Return a crank-rocker under laws with states: between frames, on two joints, on a body, one beside none.

    timed: one of them looks at time, so that a run takes steps one by one.
    """
    model = library.build("crank_rocker")
    moving = [body for body in model.bodies.values() if body is not model.ground]
    hinges = [joint for joint in model.joints.values() if joint.type.coordinates]
    post = model.add_marker("post", "ground", (0.1, 0.6, 0.5))
    eye = model.add_marker("eye", moving[1], (0.05, 0.0, 0.02))

    def line(t, kinematics, parameters, states):
        """A Maxwell element that stiffens, behind a lag that time moves."""
        length = np.sqrt(np.dot(kinematics.r, kinematics.r))
        stretch = length - 0.4 - states["creep"]
        force = parameters["stiffness"] * (stretch + 2.0 * stretch**3)
        rate = np.dot(kinematics.r, kinematics.v) / length
        lag = (rate + (0.3 * np.sin(3.0 * t) if timed else 0.1) - states["lag"]) / 0.05
        return force + 0.5 * states["lag"], np.array([force / parameters["damping"], lag])

    def pair(t, kinematics, parameters, states):
        """A controller of two coordinates that remembers their difference."""
        z, zd = kinematics.z, kinematics.zd
        error = np.sin(z[0] - 0.5 * z[1])
        torque = -2.0 * states["sum"] - 0.3 * zd[0]
        return np.array([torque, -0.5 * torque]), error - 0.2 * states["sum"] ** 3

    def push(t, kinematics, parameters, states):
        """A drag that follows the speed late, in axes of the world."""
        v, late = kinematics.v, states["late"]
        return (-late * v, -0.02 * late * kinematics.R[:, 1]), (np.sqrt(np.dot(v, v) + 1e-2) - late) / 0.1

    states = {"creep": 0.01, "lag": -0.2}
    model.add_force("line", line, between=(post, eye), parameters={"stiffness": 30.0, "damping": 4.0}, states=states)
    tree = [joint for joint in hinges if not joint.cut][:2]
    model.add_force("pair", pair, joints=tree, states={"sum": 0.1})
    model.add_force("coil", lambda t, k, p: -0.4 * np.sin(k.z), joint=tree[0])
    model.add_force("push", push, body=moving[-1], point=(0.0, 0.1, 0.05), states={"late": 0.3}, units={"late": "m/s"})
    return model


def example(rng, kind):
    """Return a joint type with its axes along random directions."""
    return JOINT_TYPES[kind].example(random_rotation(rng))


def welded_to_ground(model, name):
    """True when only fixed joints lie between a body and ground."""
    held = {"ground"}
    for joint in model.joints.values():
        if isinstance(joint.type, rtmbs.Fixed) and {joint.a.name, joint.b.name} & held:
            held |= {joint.a.name, joint.b.name}
    return name in held


def movable(model):
    """Return (joint, coordinate) of every public coordinate of the tree."""
    joints = [joint for joint in model.joints.values() if not joint.cut]
    return [(joint.name, name) for joint in joints for name in joint.type.coordinates]


def add_forces(rng, model, moving, timed=True):
    """Add every force law, in every form of its values."""
    for k in range(2):
        ends = (model.add_marker(f"from {k}", "ground", rng.normal(size=3) + 2.0),)
        ends += (model.add_marker(f"to {k}", str(rng.choice(moving)), rng.normal(size=3)),)
        model.add_force(f"spring {k}", rtmbs.SpringDamper(*rng.uniform(1, 5, 2)), between=ends)
    for k, place in enumerate(movable(model)[:3]):
        model.add_force(f"torsion {k}", rtmbs.TorsionSpring(*rng.uniform(0.5, 3, 3)), joint=place)
        value = (0.7, rtmbs.Input(0.5), np.cos if timed else 1.0)[k % 3]
        model.add_force(f"motor {k}", rtmbs.Motor(value), joint=place)
    force, torque = rtmbs.Input(rng.normal(size=3)), lambda t: (np.sin(t), 0.0, 1.0)
    wrench = rtmbs.Wrench(force=force, torque=torque if timed else (0.0, 0.0, 1.0), axes="body")
    model.add_force("push", wrench, body=moving[0])


def add_drivers(rng, model, moving):
    """Add a driven coordinate, a driven distance and a rod, as long as the reference pose has them."""
    model.add_driver("turn", rtmbs.Sine(0.2, 3.0), joint=movable(model)[-1])
    a = model.add_marker("winch", "ground", rng.normal(size=3) + 3.0)
    b = model.add_marker("hook", moving[len(moving) // 2], rng.normal(size=3))
    there, here = (mark.body.world(mark.point) for mark in (a, b))
    distance = float(np.linalg.norm(here - there))
    model.add_driver("reel", rtmbs.SmoothStep(0.0, 0.5, distance, distance + 0.1), between=(a, b))
    a = model.add_marker("anchor", "ground", rng.normal(size=3) - 3.0)
    b = model.add_marker("eye", moving[-1], rng.normal(size=3))
    model.add_rod("stay", between=(a, b))


def set_rates(rng, model):
    """Give joints random rates that the start may change."""
    driven = {driver.joint[0].name for driver in model.drivers.values() if driver.joint}
    sizes = {"coordinates": None, "quaternion": 3, "pose": 6}
    for joint in model.joints.values():
        if joint.cut or joint.name in driven or joint.type.start == "nothing":
            continue
        size = sizes[joint.type.start] or len(joint.type.coordinates)
        model.set_initial(joint, rate=rng.normal(size=size) if size > 1 else float(rng.normal()), pin=False)


def closed_simulation(seed, driven=True, **options):
    """Return a simulation of a random closed mechanism."""
    return Simulation(closed_model(seed, driven=driven).compile(), **by_name(**{"h": 1e-3, **options}))


# ---------------------------------------------------------------------------------------------------------- comparing


def contents(state):
    """Return everything in a state as bytes and numbers, by name: equal exactly when the states are."""
    apart = ("memory", "given", "before")
    values = {f.name: getattr(state, f.name) for f in fields(state) if f.name not in apart} | state.memory
    values |= {} if state.before is None else {f"before.{name}": one for name, one in state.before._asdict().items()}
    return {name: value.tobytes() if isinstance(value, np.ndarray) else value for name, value in values.items()}


def entry(state, name):
    """Return an array of a state, or of what its method remembers."""
    return state.memory[name] if name in state.memory else getattr(state, name)


def put_entry(state, name, value):
    """Replace an array of a state, or of what its method remembers."""
    if name in state.memory:
        state.memory[name] = value
    else:
        setattr(state, name, value)


def everything(sim):
    """Return the contents of a simulation's state, and its inputs as the user sees them."""
    return contents(sim.state), {name: np.asarray(value).tobytes() for name, value in sim.inputs.items()}


def difference(a, b):
    """Return the largest difference of two states, each array relative to its largest entry."""
    worst = 0.0
    for name in ("z", "zd", "zdd", "lam", "R0", "s", "sd"):
        x, y = getattr(a, name), getattr(b, name)
        worst = max(worst, np.abs(x - y).max(initial=0.0) / max(np.abs(x).max(initial=0.0), 1e-300))
    return worst


def accepted_steps(sim, count):
    """Take steps, all of which must converge; return their reports."""
    reports = [sim.step() for _ in range(count)]
    assert all(report.outcome.accepted for report in reports), [str(report) for report in reports]
    return reports


def check_goes_on(sim, other, steps, path):
    """A state that ``sim`` saves takes ``other`` through the same steps, bit for bit."""
    accepted_steps(sim, steps)
    sim.state.save(path)
    other.restore(path)
    accepted_steps(sim, steps)
    accepted_steps(other, steps)
    assert contents(sim.state) == contents(other.state)


# ------------------------------------------------------------------------------------------------------- side by side


def beside(*models):
    """Return one model that holds several, with names "0 NAME", "1 NAME", ...; they share ground and nothing else.

    Gravity is that of the first.
    """
    whole = rtmbs.Model(" beside ".join(model.name for model in models), gravity=models[0].gravity)
    for number, model in enumerate(models):
        new = {model.ground: whole.ground, None: None}

        def copied(kind, one, number=number, new=new, **changes):
            name = f"{number} {one.name}"
            new[one] = getattr(whole, kind)[name] = replace(one, name=name, **changes)

        for body in model.bodies.values():
            if body is not model.ground:
                copied("bodies", body)
        for joint in model.joints.values():
            copied("joints", joint, a=new[joint.a], b=new[joint.b])
        for marker in model.markers.values():
            copied("markers", marker, body=new[marker.body])
        for kind in ("rods", "drivers", "forces"):
            for one in getattr(model, kind).values():
                copied(kind, one, **attached_to(one, new))
        for one in model.couplers.values():
            copied("couplers", one, terms=tuple((new[joint], k, factor) for joint, k, factor in one.terms))
        for one in model.constraints.values():
            ends = tuple(new[marker] for marker in one.between) if one.between else None
            copied("constraints", one, between=ends, joints=tuple((new[joint], k) for joint, k in one.joints))
        for initial in model.initials.values():
            joint = new[initial.joint]
            whole.initials[joint.name] = replace(initial, joint=joint)
    return whole


def attached_to(one, new):
    """Return where the copy of a rod, a driver or a force is attached."""
    found = {}
    if one.between is not None:
        found["between"] = tuple(new[marker] for marker in one.between)
    if getattr(one, "joint", None) is not None:
        found["joint"] = (new[one.joint[0]], one.joint[1])
    if getattr(one, "joints", None) is not None:
        found["joints"] = tuple((new[joint], k) for joint, k in one.joints)
    if getattr(one, "body", None) is not None:
        found["body"] = new[one.body]
    return found
