"""Couplers: motions and reactions with closed forms, order two, many turns, and everything a closure has."""

import numpy as np
import pytest

from rtmbs import PenaltyTrapezoidal, Simulation
from rtmbs.errors import StartError
from rtmbs.kinematics import Analysis
from rtmbs.model import ConstantRate, Cylindrical, Model, Motor, Prismatic, Revolute, Sine, TorsionSpring
from tests.contracts.machines import accepted_steps, beside, difference

X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def wheels(inertias, gravity=(0.0, 0.0, 0.0)):
    """Wheels on parallel shafts, ``wheel 0`` and so on."""
    model = Model("wheels", gravity=gravity)
    for k, J in enumerate(inertias):
        place = (3.0 * k, 0.0, 0.0)
        model.add_body(f"wheel {k}", mass=1.0, inertia=(J, J, J), position=place)
        model.add_joint(f"shaft {k}", Revolute(Z), "ground", f"wheel {k}", point=place)
    return model


def spring_gear(ratio=2.5):
    """Two geared wheels, a motor on one and a spring on the other: an oscillator with a closed form."""
    model = wheels((0.5, 2.0))
    model.add_gear("gear", "shaft 0", "shaft 1", ratio)
    model.add_force("motor", Motor(1.5), joint="shaft 0")
    model.add_force("spring", TorsionSpring(3.0, 0.0), joint="shaft 1")
    return model


def oscillation(t, ratio=2.5):
    """Return angle, rate, acceleration of shaft 0 and the gear's torque on it."""
    J, k = 0.5 + 2.0 / ratio**2, 3.0 / ratio**2
    w, size = np.sqrt(k / J), 1.5 / k
    z, zd, zdd = size * (1.0 - np.cos(w * t)), size * w * np.sin(w * t), size * w * w * np.cos(w * t)
    return z, zd, zdd, 0.5 * zdd - 1.5


def test_a_gear_moves_and_pushes_as_its_closed_form():
    """Order two in position, rate, acceleration and torque."""
    errors = []
    for h in (0.04, 0.02, 0.01):
        result = Simulation(spring_gear().compile(), h=h, method=PenaltyTrapezoidal(hold_energy=False)).run(4.0)
        names = ("shaft 0.angle", "shaft 0.rate", "shaft 0.acceleration")
        found = [*(result[name] for name in names), result["gear.force"][:, 0]]
        errors.append([np.abs(one - two).max() for one, two in zip(found, oscillation(result["t"]), strict=True)])
    orders = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert np.all((orders > 1.9) & (orders < 2.1)), orders
    assert np.all(np.array(errors)[-1] < 1e-4)


def test_the_torques_of_a_gear_are_in_the_proportion_of_its_ratio():
    result = Simulation(spring_gear(-4.0).compile(), h=1e-3).run(0.5)
    torque = result["gear.force"]
    np.testing.assert_allclose(torque[:, 1], -4.0 * torque[:, 0], rtol=1e-13)
    assert np.abs(torque).max() > 0.5
    assert np.abs(result["gear.violation"]).max() < 1e-10
    np.testing.assert_allclose(result["shaft 0.reaction"][:, 5], 0.5 * result["shaft 0.acceleration"], atol=1e-9)


def test_turns_are_counted():
    """Thousands of turns, without a jump and without drift of the mesh."""
    model = wheels((0.5, 2.0))
    model.add_gear("gear", "shaft 0", "shaft 1", 3.0)
    model.set_initial("shaft 0", rate=1000.0)
    result = Simulation(model.compile(), h=1e-3).run(10.0)
    np.testing.assert_allclose(result["shaft 0.angle"][-1], 10000.0, rtol=1e-9)
    assert np.abs(result["shaft 0.angle"] + 3.0 * result["shaft 1.angle"]).max() < 1e-9


def test_a_rack_falls_against_its_pinion():
    """m a = m g - F, J a / r = F r: acceleration, force on the rack and torque on the pinion."""
    m, J, r = 2.0, 0.3, 0.25
    model = Model("rack", gravity=(0.0, 0.0, -9.81))
    model.add_body("rack", mass=m)
    model.add_body("pinion", mass=1.0, inertia=(J, J, J), position=(r, 0, 0))
    model.add_joint("rail", Prismatic(Z), "ground", "rack")
    model.add_joint("axle", Revolute((0, 1, 0)), "ground", "pinion", point=(r, 0, 0))
    model.add_rack_and_pinion("teeth", "rail", "axle", r)
    result = Simulation(model.compile(), h=1e-3).run(1.0)
    a = -9.81 * m / (m + J / r**2)
    np.testing.assert_allclose(result["rail.acceleration"], a, rtol=1e-7)
    np.testing.assert_allclose(result["rail.displacement"][-1], 0.5 * a, rtol=1e-7)
    np.testing.assert_allclose(result["teeth.force"][:, 0], m * (a + 9.81), rtol=1e-7)
    np.testing.assert_allclose(result["teeth.force"][:, 1], J * a / r, rtol=1e-7)
    assert result.channel("teeth.force").unit == "N, N m"


def test_a_nut_comes_down_its_screw():
    m, J, pitch = 0.7, 0.002, 0.01
    model = Model("screw", gravity=(0.0, 0.0, -9.81))
    model.add_body("nut", mass=m, inertia=(J, J, J))
    model.add_joint("spindle", Cylindrical(Z), "ground", "nut")
    model.add_screw("thread", "spindle", pitch)
    result = Simulation(model.compile(), h=1e-3).run(0.5)
    p = pitch / (2 * np.pi)
    np.testing.assert_allclose(result["spindle.displacement_acceleration"], -9.81 * m / (m + J / p**2), rtol=1e-7)
    np.testing.assert_allclose(result["spindle.displacement"], p * result["spindle.angle"], rtol=1e-6, atol=1e-11)


def test_a_differential_shares_torque_and_adds_angles():
    J = np.array([0.5, 2.0, 1.0])
    model = wheels(J)
    model.add_differential("axle", carrier="shaft 2", first="shaft 0", second="shaft 1")
    model.add_force("motor", Motor(3.0), joint="shaft 2")
    result = Simulation(model.compile(), h=1e-3).run(1.0)
    torque = result["axle.force"]
    np.testing.assert_allclose(torque[:, 0], torque[:, 1], rtol=1e-12)
    np.testing.assert_allclose(torque[:, 2], -2.0 * torque[:, 0], rtol=1e-12)
    # J a = Q - lam c, c . a = 0
    c, Q = np.array([1.0, 1.0, -2.0]), np.array([0.0, 0.0, 3.0])
    a = (Q - c * (c @ (Q / J)) / (c @ (c / J))) / J
    for k in range(3):
        np.testing.assert_allclose(result[f"shaft {k}.acceleration"], a[k], rtol=1e-9)


def test_a_coupler_follows_a_function_of_time():
    """shaft 0 - shaft 1 = 0.3 sin(5 t): torque, angle and rate of wheels that start at rest."""
    model = wheels((0.5, 2.0))
    model.add_coupler("phase", {"shaft 0": 2.0, "shaft 1": -2.0}, Sine(0.6, 5.0))
    model.set_initial("shaft 1", position=0.0, rate=0.0)
    result = Simulation(model.compile(), h=1e-3).run(2.0)
    t = result["t"]
    np.testing.assert_allclose(result["shaft 0.angle"] - result["shaft 1.angle"], 0.3 * np.sin(5 * t), atol=1e-9)
    np.testing.assert_allclose(
        result["shaft 0.acceleration"] - result["shaft 1.acceleration"], -7.5 * np.sin(5 * t), atol=1e-6
    )
    np.testing.assert_allclose(result["phase.force"][:, 0], 0.4 * -7.5 * np.sin(5 * t), atol=1e-6)


def crank_slider(size=1.0, cut=None):
    """A slider-crank in the plane, lengths times ``size``, and a wheel geared to its crank."""
    model = Model("crank", gravity=(0.0, -9.81, 0.0))
    bars = (("crank", 0.0, 0.4), ("rod", 0.4, 1.6))
    for name, start, end in bars:
        middle = 0.5 * (end - start) * size
        model.add_body(
            name, mass=1.0, center_of_mass=(middle, 0, 0), inertia=(0.01, 0.05, 0.05), position=(start * size, 0, 0)
        )
    model.add_body("slider", mass=2.0, inertia=(0.1, 0.1, 0.1), position=(1.6 * size, 0, 0))
    model.add_body("wheel", mass=1.0, inertia=(0.2, 0.2, 0.2), position=(0, 0, -size))
    model.add_joint("pin", Revolute(Z), "ground", "crank", cut=cut == "pin")
    model.add_joint("elbow", Revolute(Z), "crank", "rod", point=(0.4 * size, 0, 0), cut=cut == "elbow")
    model.add_joint("wrist", Revolute(Z), "rod", "slider", point=(1.6 * size, 0, 0), cut=cut == "wrist")
    model.add_joint("rail", Prismatic(X), "ground", "slider", point=(1.6 * size, 0, 0))
    model.add_joint("axle", Revolute(Z), "ground", "wheel", point=(0, 0, -size))
    model.set_initial("pin", rate=3.0)
    return model


@pytest.mark.parametrize("cut", [None, "pin", "elbow", "wrist"])
def test_a_coupled_joint_of_a_loop_keeps_its_coordinate(cut):
    """The tree is chosen so that no coupled joint is cut; one that the user cuts is measured on an auxiliary body."""
    model = crank_slider(cut=cut)
    model.add_gear("gear", "pin", "axle", -2.0)
    result = Simulation(model.compile(), h=1e-3).run(1.0)
    np.testing.assert_allclose(result["pin.angle"], 2.0 * result["axle.angle"], atol=1e-9)
    expected = Simulation(_plain().compile(), h=1e-3).run(1.0)
    np.testing.assert_allclose(result["slider.position"], expected["slider.position"], atol=3e-5)


def _plain():
    model = crank_slider()
    model.add_gear("gear", "pin", "axle", -2.0)
    return model


def test_a_second_gear_that_says_the_same_is_redundant():
    model = spring_gear()
    model.add_coupler("again", {"shaft 1": -5.0, "shaft 0": -2.0})
    sim = Simulation(model.compile(), h=1e-3)
    assert sim.start_report.redundant == ("again.sum",)
    once = Simulation(spring_gear().compile(), h=1e-3)
    np.testing.assert_allclose(sim.run(1.0)["shaft 0.angle"], once.run(1.0)["shaft 0.angle"], atol=1e-10)


def test_gears_that_contradict_each_other_are_refused_by_name():
    model = spring_gear()
    model.add_gear("other", "shaft 0", "shaft 1", 2.5, offset=0.3)
    with pytest.raises(StartError, match=r"other|gear"):
        Simulation(model.compile(), h=1e-3)
    locked = spring_gear()
    locked.add_gear("other", "shaft 0", "shaft 1", 3.0)
    sim = Simulation(locked.compile(), h=1e-3)
    assert sim.start_report.degrees_of_freedom == 0
    for result in (sim.run(0.01), sim.run(0.02, tolerance=1e-4), sim.run(0.03, channels=["shaft 0.angle"])):
        assert result.warnings[sim.start_report.locked] == 1
    assert not Simulation(spring_gear().compile(), h=1e-3).run(0.01).warnings


def test_pinned_values_that_no_gear_allows_are_refused_by_name():
    model = spring_gear()
    model.set_initial("shaft 0", position=1.0)
    model.set_initial("shaft 1", position=1.0)
    with pytest.raises(StartError, match="gear"):
        Simulation(model.compile(), h=1e-3)


def test_units_do_not_matter():
    """A relation times a number is the same relation: same motion and forces, to rounding."""
    found = []
    for size in (1.0, 1e-6, -3e7):
        model = wheels((0.5, 2.0, 0.1))
        model.add_coupler("train", {"shaft 0": size, "shaft 1": -0.5 * size, "shaft 2": 0.01 * size}, 0.2 * size)
        model.add_force("motor", Motor(1.0), joint="shaft 2")
        result = Simulation(model.compile(), h=1e-3).run(0.5)
        found.append((result["shaft 2.angle"], result["train.force"]))
    for angle, force in found[1:]:
        np.testing.assert_allclose(angle, found[0][0], atol=1e-11)
        np.testing.assert_allclose(force, found[0][1], atol=1e-9)


def test_energy_is_kept():
    model = crank_slider()
    model.add_gear("gear", "pin", "axle", -2.0)
    energy = Simulation(model.compile(), h=2e-3).run(5.0)["energy.total"]
    assert np.ptp(energy) < 2e-3 * np.ptp(Simulation(model.compile(), h=2e-3).run(5.0)["energy.kinetic"])


def test_a_coupler_joins_two_components():
    model, alone = spring_gear(), wheels((0.5, 2.0))
    one, two = Simulation(model.compile(), h=1e-3), beside(spring_gear(), spring_gear())
    from rtmbs.system.components import find_components

    system = alone.compile()
    assert len(np.unique(find_components(system.tables, system.lu))) == 2
    assert len(np.unique(find_components(one.system.tables, one.system.lu))) == 1
    system = two.compile()
    whole, groups = Simulation(system, h=1e-3), Simulation(system, h=1e-3, threads=2)
    for sim in (whole, groups):
        accepted_steps(sim, 50)
    assert difference(whole.state, groups.state) < 1e-12


def test_both_forms_of_the_step_and_a_restart(tmp_path):
    model = crank_slider()
    model.add_gear("gear", "pin", "axle", -2.0)
    system = model.compile()
    fused, readable = Simulation(system, h=1e-3), Simulation(system, h=1e-3, method=PenaltyTrapezoidal(fused=False))
    for sim in (fused, readable):
        accepted_steps(sim, 20)
    np.testing.assert_allclose(readable.state.z, fused.state.z, atol=1e-12)
    fused.state.save(tmp_path / "state")
    again = Simulation(model.compile(), h=1e-3)
    again.restore(tmp_path / "state")
    accepted_steps(fused, 5), accepted_steps(again, 5)
    np.testing.assert_array_equal(again.state.z, fused.state.z)
    changed = crank_slider()
    changed.add_gear("gear", "pin", "axle", -2.0000001)
    assert changed.compile().fingerprint != system.fingerprint


def test_kinematics_and_dynamics_run_one_model():
    """A gear, a rack, a screw and a differential in ``Analysis`` and in a driven Simulation: the same positions."""
    model = wheels((0.5, 2.0, 1.0))
    model.add_body("rack", mass=1.0)
    model.add_joint("rail", Prismatic(X), "ground", "rack")
    model.add_body("nut", mass=1.0, inertia=(1, 1, 1))
    model.add_joint("spindle", Cylindrical(Z), "ground", "nut")
    model.add_driver("drive", ConstantRate(2.0), joint="shaft 0")
    model.add_gear("gear", "shaft 0", "shaft 1", 3.0)
    model.add_differential("sum", "shaft 2", "shaft 0", "shaft 1", 0.5)
    model.add_rack_and_pinion("teeth", "rail", "shaft 2", 0.2, offset=Sine(0.1, 3.0))
    model.add_screw("thread", "spindle", 0.05, offset=0.3)
    model.add_coupler("belt", {("spindle", "angle"): 1.0, "shaft 0": -0.5})
    motion = Analysis(model).run(0.0, 5.0, 0.05)
    result = Simulation(model.compile(), h=0.01).run(5.0)
    for name in ("rack.position", "nut.position", "wheel 1.angular_velocity", "rack.velocity"):
        np.testing.assert_allclose(motion[name], result[name][::5], atol=1e-8, err_msg=name)
    assert "differential" in Analysis(model).check()
