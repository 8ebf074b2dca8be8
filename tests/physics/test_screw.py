"""Screw joints against closed forms: a falling nut, a jack in a loop, an oscillator, and derivatives by the pitch."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs.errors import ModelError
from rtmbs.kinematics import Analysis

Z = (0.0, 0.0, 1.0)
G, M, J, PITCH = 9.81, 2.0, 0.05, 0.3  # m/s^2, kg, kg m^2 about the axis, m a turn
K = PITCH / (2.0 * np.pi)  # m/rad


def nut(pitch=PITCH):
    """A nut that falls along a thread on ground: (J + M k^2) q'' = -M g k."""
    model = rtmbs.Model("nut", gravity=(0.0, 0.0, -G))
    model.add_body("nut", mass=M, inertia=(0.1, 0.1, J))
    model.add_joint("thread", rtmbs.Screw(axis=Z, pitch=pitch), "ground", "nut")
    return model


def jack(cut):
    """A spindle on ground, and a platform between its thread and an upright guide."""
    model = rtmbs.Model("jack", gravity=(0.0, 0.0, -G))
    model.add_body("spindle", mass=1.0, inertia=(1.0, 1.0, J))
    model.add_body("platform", mass=M, inertia=(0.2, 0.3, 0.4), center_of_mass=(0.4, 0.0, 0.0))
    model.add_joint("bearing", rtmbs.Revolute(axis=Z), "ground", "spindle")
    model.add_joint("guide", rtmbs.Prismatic(axis=Z), "ground", "platform", point=(1.0, 0.0, 0.0), cut=not cut)
    model.add_joint("thread", rtmbs.Screw(axis=Z, pitch=PITCH), "spindle", "platform", cut=cut)
    return model


def falling(t, pitch=PITCH):
    """Return the angle of a nut that falls from rest."""
    k = pitch / (2.0 * np.pi)
    return -0.5 * M * G * k / (J + M * k * k) * t * t


METHODS = {
    "trapezoidal": rtmbs.PenaltyTrapezoidal(),
    "recursion": rtmbs.RungeKutta(rtmbs.methods.RK4, formulation=rtmbs.formulations.Recursive()),
    "null space": rtmbs.RungeKutta(rtmbs.methods.RK4, formulation=rtmbs.formulations.NullSpace()),
}


@pytest.mark.parametrize("pitch", [PITCH, -0.05])
@pytest.mark.parametrize("method", METHODS)
def test_a_nut_falls_along_its_thread(method, pitch):
    """The acceleration is constant, so every method is exact but for rounding."""
    result = rtmbs.Simulation(nut(pitch).compile(), h=1e-2, method=METHODS[method]).run(0.5)
    angle = falling(result["t"], pitch)
    np.testing.assert_allclose(result["thread.angle"], angle, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(result["nut.position"][:, 2], pitch / (2.0 * np.pi) * angle, rtol=1e-9, atol=1e-12)
    x, y, z, w = result["nut.orientation"][-1][[1, 2, 3, 0]]
    turn = Rotation.from_quat((x, y, z, w)) * Rotation.from_rotvec((0.0, 0.0, -angle[-1]))
    assert turn.magnitude() < 1e-8
    force = M * (result["nut.acceleration"][-1, 2] + G)
    reaction = result["thread.reaction"][-1]
    np.testing.assert_allclose(reaction[[2, 5]], (force, -force * pitch / (2.0 * np.pi)), rtol=1e-8)  # no power


@pytest.mark.parametrize("cut", [False, True], ids=["guide cut", "thread cut"])
def test_a_jack_lifts_through_many_turns(cut):
    """(J + M k^2) q'' = torque + M g k of the spindle, whose thread lowers the platform by k q."""
    model, torque = jack(cut), -1.5
    model.add_force("motor", rtmbs.Motor(torque), joint="bearing")
    sim = rtmbs.Simulation(model.compile(), h=2e-3)
    assert sim.start_report.degrees_of_freedom == 1
    result = sim.run(2.0)
    rate = (torque + M * G * K) / (J + M * K * K)
    angle = 0.5 * rate * result["t"] ** 2
    assert np.abs(angle[-1]) > 3.0 * np.pi
    np.testing.assert_allclose(result["bearing.angle"], angle, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(result["thread.angle"], -angle, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(result["platform.position"][:, 2], -K * angle, rtol=1e-6, atol=1e-8)
    push = result["thread.reaction"][-1]
    force = M * (G - K * rate)
    np.testing.assert_allclose(push[2], force, rtol=1e-5)
    np.testing.assert_allclose(push[5], -K * force, rtol=1e-5)
    drift = result["energy.total"] - torque * result["bearing.angle"]
    assert np.ptp(drift) < 1e-6 * np.abs(result["energy.kinetic"]).max()


def test_a_kinematic_jack_counts_turns():
    model = jack(False)
    model.add_driver("drive", rtmbs.ConstantRate(rate=5.0), joint="bearing")
    motion = Analysis(model).run(0.0, 5.0, 0.05)
    np.testing.assert_allclose(motion["platform.position"][:, 2], -K * 5.0 * motion.t, atol=1e-9)
    np.testing.assert_allclose(motion["thread.angle"], -5.0 * motion.t, atol=1e-8)
    np.testing.assert_allclose(motion["platform.velocity"][:, 2], -K * 5.0, atol=1e-9)
    assert np.abs(motion["thread.violation"]).max() < 1e-9


def test_a_spring_on_the_angle_is_an_oscillator():
    model, stiffness = nut(), 3.0
    model.add_force("spring", rtmbs.TorsionSpring(stiffness), joint="thread")
    rest = rtmbs.equilibrium(model.compile())
    np.testing.assert_allclose(rest.state.z, -M * G * K / stiffness, rtol=1e-9)
    pace = np.sqrt(stiffness / (J + M * K * K))
    np.testing.assert_allclose(np.abs(rest.modes.eigenvalues.imag), pace, rtol=1e-7)


def test_derivatives_by_the_pitch_are_those_of_the_closed_form():
    t, d = 0.3, 1e-4
    sim = rtmbs.Simulation(nut().compile(), h=1e-2, method=rtmbs.PenaltyTrapezoidal(tol=1e-13))
    for method in ("direct", "adjoint"):
        found = rtmbs.sensitivity(
            sim, t, lambda r: r["thread.angle"][-1], ["pitch"], model=nut, at={"pitch": PITCH}, method=method
        )
        wanted = (falling(t, PITCH + d) - falling(t, PITCH - d)) / (2.0 * d)
        np.testing.assert_allclose(found["pitch"], wanted, rtol=1e-6)


def test_a_screw_that_does_not_slide_is_refused():
    with pytest.raises(ModelError, match=r"pitch is 0; it must be a way along the axis"):
        rtmbs.Screw(axis=Z, pitch=0.0)
    with pytest.raises(ModelError, match=r"Screw: pitch is 'wide'; it must be one number"):
        rtmbs.Screw(axis=Z, pitch="wide")


def test_a_pitch_belongs_to_a_turn():
    class Odd(rtmbs.Prismatic):
        def dofs(self):
            return tuple(dof._replace(pitch=0.1) for dof in super().dofs())

    model = rtmbs.Model("odd")
    model.add_body("b", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("j", Odd(axis=Z), "ground", "b")
    with pytest.raises(ModelError, match=r"'j': dof 0 of Odd is of kind 'prismatic' and has a pitch"):
        model.compile()


def test_a_slide_along_the_axis_of_a_screw_has_coordinates_of_its_own():
    """The pose of the body has the sum of both ways only: each coordinate is an unknown of a kinematic analysis."""

    class Loose(rtmbs.Screw):
        coordinates = ("displacement", "angle")

        def dofs(self):
            (turn,) = super().dofs()
            return (rtmbs.model.Dof("prismatic", turn.axis), turn)

    model = rtmbs.Model("loose")
    model.add_body("b", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("j", Loose(axis=Z, pitch=0.1), "ground", "b")
    model.add_driver("drive", rtmbs.ConstantRate(rate=1.0), joint=("j", "displacement"))
    model.add_driver("turn", rtmbs.ConstantRate(rate=2.0), joint=("j", "angle"))
    result = Analysis(model).run(0.0, 1.0, 0.25)
    t = result["t"]
    np.testing.assert_allclose(result["b.position"][:, 2], t + 0.1 / (2.0 * np.pi) * 2.0 * t, atol=1e-12)
    np.testing.assert_allclose(result["j.displacement"], t, atol=1e-12)
    np.testing.assert_allclose(result["j.angle"], 2.0 * t, atol=1e-12)
    np.testing.assert_allclose(result["b.velocity"][:, 2], 1.0 + 0.1 / np.pi, atol=1e-9)
