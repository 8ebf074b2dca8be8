"""Applied, inertia and reaction wrenches of every body add up to zero.

The sums are made here from positions, velocities and accelerations of bodies; reactions are only read.
"""

import numpy as np
import pytest

import rtmbs
from rtmbs.model.forces import Law
from rtmbs.results.reactions import reaction
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.state import State
from tests.mechanisms import mechanism_of, random_model
from tests.results.motions import result_of, smooth_motion, solved, turn

BALANCED = 1e-10  # relative to the largest wrench
T = np.linspace(0.0, 1.0, 3)


class Sums:
    """Wrenches on every body about the global origin, and the largest of all that went in."""

    def __init__(self, model, result):
        self.model, self.result = model, result
        self.total = {name: np.zeros((len(result), 6)) for name in model.bodies}
        self.largest = 0.0

    def add(self, body, force, moment, x):
        """Add a force and a moment that act at the points ``x`` (S, 3)."""
        wrench = np.concatenate((force, moment + np.cross(x, force)), axis=1)
        self.total[body] += wrench
        self.largest = max(self.largest, np.abs(wrench).max())

    def place(self, body, point):
        """Return where a point of a body stands."""
        if body == "ground":
            return np.tile(point, (len(self.result), 1))
        position, orientation = self.of(body, "position"), self.of(body, "orientation")
        return position + turn(orientation, point)

    def of(self, body, what):
        return self.result[f"{body}.{what}"]

    def pair(self, a, b, force, moment, x):
        """Add a wrench on b at ``x`` and its opposite on a."""
        self.add(b, force, moment, x)
        self.add(a, -force, -moment, x)


def sums(model, result, g):
    """Return everything that acts on every body, inertia wrenches included."""
    sums = Sums(model, result)
    for name, body in model.bodies.items():
        if name != "ground":
            R, w, wd = (sums.of(name, what) for what in ("orientation", "angular_velocity", "angular_acceleration"))
            arm = turn(R, body.center_of_mass)
            a = sums.of(name, "acceleration") + np.cross(wd, arm) + np.cross(w, np.cross(w, arm))
            back = R * (1, -1, -1, -1)
            moment = turn(R, turn(back, wd) @ body.inertia.T) + np.cross(w, turn(R, turn(back, w) @ body.inertia.T))
            sums.add(name, body.mass * (g - a), -moment, sums.of(name, "mass_center"))
    for name, joint in model.joints.items():
        wrench = result[f"{name}.reaction"]
        sums.pair(joint.a.name, joint.b.name, wrench[:, :3], wrench[:, 3:], sums.place(joint.b.name, joint.point_b))
    for name, rod in model.rods.items():
        x_a, x_b = (sums.place(marker.body.name, marker.point) for marker in rod.between)
        wrench, e = result[f"{name}.reaction"], (x_b - x_a) / np.linalg.norm(x_b - x_a, axis=1, keepdims=True)
        sums.pair(rod.between[0].body.name, rod.between[1].body.name, wrench[:, :3], wrench[:, 3:], x_b)
        np.testing.assert_allclose(wrench[:, :3], -result[f"{name}.tension"][:, None] * e, atol=1e-12 * sums.largest)
    for name, constraint in model.constraints.items():
        if constraint.between:  # the others act inside joints
            (a, b), wrench = constraint.between, result[f"{name}.reaction"]
            sums.pair(a.body.name, b.body.name, wrench[:, :3], wrench[:, 3:], sums.place(b.body.name, b.point))
    add_forces(sums)
    return sums


def add_forces(sums):
    """Add springs, driven distances, given wrenches and force laws; joint forces are inside the joints."""
    result = sums.result
    for name, force in sums.model.forces.items():
        if isinstance(force.law, Law):
            add_law(sums, name, force)
        elif isinstance(force.law, rtmbs.Bushing):
            add_bushing(sums, name, *force.between)
        elif force.between:
            add_along(sums, force.between, -result[f"{name}.pull"])
        elif force.body is not None:
            given = [result[f"{name}.{what}"] for what in ("force", "torque")]
            if force.law.axes == "body":
                given = [turn(sums.of(force.body.name, "orientation"), values) for values in given]
            sums.add(force.body.name, *given, sums.place(force.body.name, force.point))
    for name, driver in sums.model.drivers.items():
        if driver.between:
            add_along(sums, driver.between, result[f"{name}.force"])


def add_law(sums, name, force):
    """Add what a force law does to b at b's marker, and the opposite on a at the same point."""
    if force.between or force.body:
        wrench = [sums.result[f"{name}.{what}"] for what in ("force", "torque")]
    if force.between:
        a, b = force.between
        sums.pair(a.body.name, b.body.name, *wrench, sums.place(b.body.name, b.point))
    elif force.body:
        sums.add(force.body.name, *wrench, sums.place(force.body.name, force.point))


def add_bushing(sums, name, a, b):
    """Add the wrench of a bushing on b, which its channels give in axes of marker a."""
    wrench = [sums.result[f"{name}.{what}"] @ a.axes.T for what in ("force", "torque")]
    if a.body.name != "ground":
        wrench = [turn(sums.of(a.body.name, "orientation"), values) for values in wrench]
    sums.pair(a.body.name, b.body.name, *wrench, sums.place(b.body.name, b.point))


def add_along(sums, between, push):
    """Add forces that push two markers apart."""
    x_a, x_b = (sums.place(marker.body.name, marker.point) for marker in between)
    e = (x_b - x_a) / np.linalg.norm(x_b - x_a, axis=1, keepdims=True)
    sums.pair(*(marker.body.name for marker in between), push[:, None] * e, np.zeros_like(e), x_b)


@pytest.mark.parametrize(("seed", "bodies"), [(1, 4), (2, 9), (3, 14), (4, 20), (5, 28)])
def test_every_body_is_in_balance(seed, bodies):
    model = random_model(seed, bodies)
    system = model.compile()
    u = mechanism_of(seed, system).u
    samples = solved(system, smooth_motion(system, T, seed)._replace(u=np.tile(u, (len(T), 1))), seed)
    result = result_of(system, samples)
    balance = sums(model, result, u[:3])
    for name in model.bodies:
        if name != "ground":
            assert np.abs(balance.total[name]).max() < BALANCED * balance.largest, name
    check_single_states(system, samples, result)


def check_single_states(system, samples, result):
    """``reaction`` of a state is the channel's sample, bit for bit, and changes neither the state nor the equations."""
    equations = SemiRecursiveEquations(system)
    for s in range(len(samples.t)):
        z, zd, zdd, lam = (values[s].copy() for values in samples[1:5])
        state = State(system.fingerprint, samples.t[s], 0, 1.0, z, zd, zdd, lam, samples.R0[s], samples.u[s])
        state.s, state.sd = system.s0.copy(), np.zeros_like(system.s0)
        before = state.copy()
        for name in [*system.joints, "rod"]:
            assert reaction(equations, state, name).tobytes() == result[f"{name}.reaction"][s].tobytes()
        assert all(np.array_equal(getattr(state, key), getattr(before, key)) for key in ("z", "zd", "zdd", "lam", "u"))
    assert not equations.ws.z.any()


def test_a_motor_and_a_spring_of_a_joint_are_part_of_its_reaction():
    """Moment of the reaction about the axis: minus the motor's counterpart on a, that is, its torque on b."""
    model = rtmbs.Model("motor", gravity=(0, 0, -9.81))
    arm = model.add_body("arm", mass=2.0, center_of_mass=(0.5, 0, 0), inertia=(0.1, 0.2, 0.3))
    model.add_joint("pivot", rtmbs.Revolute(axis=(0, 1, 0)), model.ground, arm)
    model.add_force("motor", rtmbs.Motor(3.0), joint="pivot")
    model.add_force("coil", rtmbs.TorsionSpring(stiffness=5.0, damping=0.2, angle=0.1), joint="pivot")
    system = model.compile()
    result = result_of(system, solved(system, smooth_motion(system, T)))
    torque = 3.0 - 5.0 * (result["pivot.angle"] - 0.1) - 0.2 * result["pivot.rate"]
    np.testing.assert_allclose(result["pivot.reaction"][:, 4], torque, rtol=1e-12)
    np.testing.assert_allclose(result["motor.torque"] + result["coil.torque"], torque, rtol=1e-14)


def test_a_weld_carries_what_hangs_on_it():
    """A beam in three welded parts, at rest: shear and bending moment at every weld by hand, either way round."""
    model = rtmbs.Model("beam", gravity=(0, 0, -10.0))
    for k in range(3):
        model.add_body(f"part {k}", mass=1.0 + k, center_of_mass=(0.5, 0, 0), inertia=(1, 1, 1), position=(k, 0, 0))
    model.add_joint("wall", rtmbs.Fixed(), "ground", "part 0", point=(0, 0, 0))
    model.add_joint("inner", rtmbs.Fixed(), "part 1", "part 0", point=(1, 0, 0))
    model.add_joint("outer", rtmbs.Fixed(), "part 1", "part 2", point=(2, 0, 0))
    model.add_body("load", mass=4.0, inertia=(1, 1, 1), position=(3, 0, 0))
    model.add_joint("slide", rtmbs.Prismatic(axis=(1, 0, 0)), "part 2", "load", point=(3, 0, 0))
    model.add_force("push", rtmbs.Wrench(force=(0, 0, 7.0)), body="part 1", point=(0.25, 0, 0))
    system = model.compile()
    result = result_of(system, solved(system, smooth_motion(system, np.zeros(1))._replace(z=np.zeros((1, 1)))))
    # up on each part: part 2 (30 at 2.5), load (40 at 3), part 1 (20 at 1.5, pushed by 7 at 1.25), part 0 (10 at 0.5)
    expected = {
        "slide": (40.0, 0.0),
        "outer": (70.0, -(30 * 0.5 + 40 * 1.0)),
        "inner": (-(70 + 20 - 7.0), 30 * 1.5 + 40 * 2.0 + 20 * 0.5 - 7 * 0.25),
        "wall": (93.0, -(30 * 2.5 + 40 * 3.0 + 20 * 1.5 - 7 * 1.25 + 10 * 0.5)),
    }
    for name, (force, moment) in expected.items():
        wrench = result[f"{name}.reaction"][0]
        np.testing.assert_allclose(wrench, (0, 0, force, 0, moment, 0), atol=1e-12, err_msg=name)
