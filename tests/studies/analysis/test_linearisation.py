"""Linear equations beside a state: against differences of the motion, closed forms, and names."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, UnknownNameError
from tests.cases import spread
from tests.formulations.systems import floating_chain, hinged_twice, skew_loop
from tests.studies.analysis.cases import G, by_motion, chain, turning_pendulum


def moving(model, t=0.1, h=1e-3):
    sim = rtmbs.Simulation(model.compile(), h)
    sim.run(t)
    return sim


@pytest.mark.parametrize(
    "name", ["pendulum", "slider_crank", "governor", "top", "bricard", "crank_rocker", "windows", "andrews", "fourbar"]
)
def test_library_mechanisms_in_motion_against_differences(name):
    sim = moving(rtmbs.library.build(name), *((0.01, 1e-5) if name == "andrews" else ()))
    lin, right = rtmbs.linearise(sim), by_motion(sim)
    f = len(lin.coordinates)
    np.testing.assert_allclose(lin.A[f : 2 * f, : 2 * f], right, atol=1e-8 * max(1.0, np.abs(right).max()))


@pytest.mark.parametrize("seed", spread(range(4), 2))
@pytest.mark.parametrize("make", [skew_loop, floating_chain, hinged_twice])
def test_random_loops_in_motion_against_differences(make, seed):
    """Skew axes, uneven masses, rotation dofs, redundant rows, and a spring and a law between bodies."""
    model, rng = make(seed), np.random.default_rng(seed)
    bodies = list(model.bodies)[1:]
    ends = [model.add_marker(f"end{k}", body, point=rng.normal(size=3)) for k, body in enumerate(bodies[:2])]
    model.add_force("spring", rtmbs.SpringDamper(300.0, 7.0, 0.4), between=tuple(ends))
    sim = moving(model, 0.05)
    lin, right = rtmbs.linearise(sim), by_motion(sim)
    f = len(lin.coordinates)
    np.testing.assert_allclose(lin.A[f : 2 * f, : 2 * f], right, atol=1e-7 * max(1.0, np.abs(right).max()))


def test_a_physical_pendulum():
    length, mass = 0.5, 2.0
    sim = rtmbs.Simulation(chain(1, length, mass).compile())
    lin = rtmbs.linearise(sim)
    assert lin.coordinates == ("hinge_link0.angle",)
    np.testing.assert_allclose([lin.mass[0, 0], lin.damping[0, 0], lin.stiffness[0, 0]], [0.5, 0.0, mass * G * length])
    np.testing.assert_allclose(lin.A, [[0.0, 1.0], [-G / length, 0.0]], atol=1e-12)


def test_the_state_stays_as_it_is():
    sim = moving(rtmbs.library.build("slider_crank"))
    before = sim.state.copy()
    rtmbs.linearise(sim)
    for name in ("z", "zd", "zdd", "lam", "u"):
        np.testing.assert_array_equal(getattr(sim.state, name), getattr(before, name))
    sim.step()


def motorised(value=0.0):
    """A pendulum with a motor, and a marker at its tip."""
    model = chain(1, 0.5, 2.0)
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(value)), joint="hinge_link0")
    model.add_marker("tip", "link0", point=(0.0, 0.0, -0.5))
    model.set_initial("hinge_link0", position=0.3, rate=0.7)
    return rtmbs.Simulation(model.compile())


def test_inputs_and_outputs_of_a_pendulum():
    """tip = (-l sin q, -l cos q); q'' = (tau - m g l sin q) / (m l^2)."""
    sim, length, mass, q, v = motorised(1.5), 0.5, 2.0, 0.3, 0.7
    outputs = ["tip.position", "tip.velocity", "hinge_link0.angle_acceleration"]
    lin = rtmbs.linearise(sim, inputs=["motor.torque"], outputs=outputs)
    inertia = mass * length**2
    np.testing.assert_allclose(lin.B, [[0.0], [1.0 / inertia]], atol=1e-12)
    assert lin.inputs == ("motor.torque",)
    assert lin.outputs[:3] == ("tip.position[0]", "tip.position[1]", "tip.position[2]")
    dx, dz = -length * np.cos(q), length * np.sin(q)
    a_q = -mass * G * length * np.cos(q) / inertia
    C = [
        [dx, 0], [0, 0], [dz, 0], [length * np.sin(q) * v, dx], [0, 0], [length * np.cos(q) * v, dz], [a_q, 0],
    ]  # fmt: skip
    np.testing.assert_allclose(lin.C, C, atol=1e-9)
    np.testing.assert_allclose(lin.D, [[0.0]] * 6 + [[1.0 / inertia]], atol=1e-10)
    space = lin.state_space()
    np.testing.assert_array_equal(space.A, lin.A)


def test_reactions_as_outputs():
    """The pull in the hinge is m (g cos q + l v^2)."""
    sim, length, mass, q, v = motorised(), 0.5, 2.0, 0.3, 0.7
    lin = rtmbs.linearise(sim, inputs=["motor.torque"], outputs=["hinge_link0.reaction"])
    radial = np.array([-np.sin(q), 0.0, -np.cos(q)])  # along the link, in world axes
    pull = lin.C[:3].T @ radial  # variation of the pull at a fixed direction
    np.testing.assert_allclose(np.abs(pull), np.abs([mass * -G * np.sin(q), 2 * mass * length * v]), rtol=1e-6)


def test_force_states_join():
    """A mass on a Maxwell element: m q'' = -k q - k2 (q - s), s' = k2 (q - s) / c."""
    mass, k, k2, c = 2.0, 200.0, 300.0, 20.0

    def maxwell(t, kinematics, parameters, states):
        pull = k2 * (kinematics.z - states["way"])
        return -k * kinematics.z - pull, pull / c

    model = rtmbs.Model("maxwell", gravity=(0, 0, 0))
    body = model.add_body("mass", mass=mass, inertia=(1, 1, 1))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", body)
    model.add_force("law", maxwell, joint="rail", states={"way": 0.0})
    model.set_initial("rail", position=0.1, rate=0.2)
    lin = rtmbs.linearise(rtmbs.Simulation(model.compile()))
    A = [[0, 1, 0], [-(k + k2) / mass, 0, k2 / mass], [k2 / c, 0, -k2 / c]]
    np.testing.assert_allclose(lin.A, A, atol=1e-8)


def test_a_steady_turn_of_a_governor():
    """cos q = g / (l W^2); q'' = -W^2 sin^2 q dq."""
    rate, length = 8.0, 0.5
    lin = rtmbs.linearise(rtmbs.Simulation(turning_pendulum(rate, length).compile()))
    assert lin.coordinates == ("hinge_ball.angle",)
    square = rate**2 * (1.0 - (G / (length * rate**2)) ** 2)
    np.testing.assert_allclose(lin.A, [[0.0, 1.0], [-square, 0.0]], atol=1e-9)


def test_bad_input():
    sim = motorised()
    with pytest.raises(InputError, match=r"^linearise takes a Simulation at the state that is meant, not 5"):
        rtmbs.linearise(5)
    with pytest.raises(UnknownNameError, match=r"there is no input named 'motor\.torq'; did you mean 'motor\.torque'"):
        rtmbs.linearise(sim, inputs=["motor.torq"])
    with pytest.raises(
        UnknownNameError, match=r"there is no channel named 'tip\.positon'; did you mean 'tip\.position'"
    ):
        rtmbs.linearise(sim, outputs=["tip.positon"])
    with pytest.raises(InputError, match=r"^outputs is a list of names, not 'tip\.position'"):
        rtmbs.linearise(sim, outputs="tip.position")
    with pytest.raises(InputError, match=r"^a state space needs inputs; give linearise\(..., inputs=\[...\]\)"):
        rtmbs.linearise(sim).state_space()


def test_a_dead_centre_is_refused():
    """A parallelogram in a line: two degrees of freedom there, one nearby."""
    flat = rtmbs.Model("flat", gravity=(0, 0, 0))
    bodies = [flat.add_body(name, mass=1.0, inertia=(1, 1, 1)) for name in "abc"]
    for k, (one, two, x) in enumerate(
        [("ground", bodies[0], 0), (*bodies[:2], 1), (*bodies[1:], 3), (bodies[2], "ground", 2)]
    ):
        flat.add_joint(f"j{k}", rtmbs.Revolute(axis=(0, 0, 1)), one, two, point=(x, 0, 0), cut=k == 3)
    sim = rtmbs.Simulation(flat.compile())
    with pytest.raises(InputError, match=r"^the pose at t = 0 s is singular: 2 degrees of freedom here, 1 nearby"):
        rtmbs.linearise(sim)
