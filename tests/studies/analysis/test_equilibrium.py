"""Equilibria against closed forms, and what has none by name."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.studies.analysis.static import NoEquilibrium
from tests.studies.analysis.cases import G, chain, turning_pendulum

AT_REST = ["andrews", "bricard", "crank_rocker", "fourbar", "governor", "loop", "pendulum", "planar_slider_crank",
           "single_joint", "slider_crank", "top", "windows"]  # fmt: skip


def left(sim):
    """Return the largest acceleration of the dynamics over the typical size of its coordinate, and over gravity."""
    state = sim.state
    zdd = sim.equations.accelerations(state.z, np.zeros(sim.system.n), state.R0, state.s)[0]
    return float(np.abs(zdd / sim.system.typical).max()) / max(np.linalg.norm(state.u[:3]) / sim.system.length, 1.0)


@pytest.mark.parametrize("name", AT_REST)
def test_library_mechanisms_rest_in_the_dynamics_too(name):
    found = rtmbs.equilibrium(rtmbs.library.build(name).compile())
    assert left(found.simulation) < 1e-9 * max(1.0, 1e-2 * found.stiffness[-1])  # by the stiffest direction
    assert found.stable
    np.testing.assert_array_equal(found.state.zd, 0.0)


def test_a_chain_let_go_from_the_side_hangs_down():
    model = chain(6, 0.3, 0.7)
    model.set_initial("hinge_link0", position=1.5)
    model.set_initial("hinge_link3", position=-2.0)
    found = rtmbs.equilibrium(model.compile())
    np.testing.assert_allclose(np.sin(found.state.z), 0.0, atol=1e-9)
    np.testing.assert_allclose(np.cos(np.cumsum(found.state.z)), 1.0)
    np.testing.assert_allclose(found.loads["hinge_link0"][:3], (0.0, 0.0, 6 * 0.7 * G), atol=1e-8)


def test_uphill_and_downhill():
    model = chain(1, 0.5)
    model.set_initial("hinge_link0", position=3.0)
    up, down = (rtmbs.equilibrium(model.compile(), stable=wanted) for wanted in (False, True))
    np.testing.assert_allclose([up.state.z[0], np.cos(down.state.z[0])], [np.pi, 1.0], atol=1e-9)
    assert (up.stable, down.stable) == (False, True)
    np.testing.assert_allclose([up.stiffness[0], down.stiffness[0]], [-G / 0.5, G / 0.5])


def test_a_start_on_the_top_is_left():
    model = chain(1, 0.5)
    model.set_initial("hinge_link0", position=np.pi)
    np.testing.assert_allclose(np.cos(rtmbs.equilibrium(model.compile()).state.z), 1.0)


def rider(spring=None, mass=3.0, **options):
    """A mass on a vertical rail over a spring."""
    model = rtmbs.Model("rider", gravity=(0, 0, -G))
    body = model.add_body("mass", mass=mass, inertia=(1, 1, 1), position=(0, 0, 1.0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(0, 0, 1)), "ground", body, point=(0, 0, 1.0))
    if spring is not None:
        model.add_force("spring", spring, **(options or {"between": ends(model, body)}))
    return model


def ends(model, body):
    return model.add_marker("foot", "ground", point=(0, 0, 0)), model.add_marker("seat", body, point=(0, 0, 1.0))


def test_a_mass_on_a_spring():
    found = rtmbs.equilibrium(rider(rtmbs.SpringDamper(500.0, 20.0, 1.2)).compile())
    np.testing.assert_allclose(1.0 + found.state.z[0], 1.2 - 3.0 * G / 500.0, rtol=1e-12)
    np.testing.assert_allclose(found.modes.frequencies, [np.sqrt(500.0 / 3.0) / (2 * np.pi)])
    found.simulation.run(0.1)
    np.testing.assert_allclose(1.0 + found.simulation.state.z[0], 1.2 - 3.0 * G / 500.0, rtol=1e-9)


def test_force_states_come_to_rest_too():
    def law(t, kinematics, parameters, states):
        """A lag: the state follows the coordinate, and pulls; s' = (z - s) / T."""
        return -300.0 * states["s"] - 200.0 * kinematics.z, (kinematics.z - states["s"]) / 0.3

    found = rtmbs.equilibrium(rider(law, joint="rail", states={"s": 0.2}).compile())
    np.testing.assert_allclose([found.state.z[0], found.state.s[0]], -3.0 * G / 500.0, rtol=1e-9)


def test_the_state_of_a_simulation_stays_and_its_time_counts():
    model = rider(rtmbs.SpringDamper(500.0, 20.0, 1.2))
    model.add_force("push", rtmbs.Motor(lambda t: 100.0 * t), joint="rail")
    sim = rtmbs.Simulation(model.compile())
    sim.run(0.5)
    before = sim.state.copy()
    found = rtmbs.equilibrium(sim)
    np.testing.assert_array_equal(sim.state.z, before.z)
    np.testing.assert_allclose(found.state.z[0] + 1.0, 1.2 + (50.0 - 3.0 * G) / 500.0, rtol=1e-9)


def test_preload_holds_the_pose():
    """A motor that carries the weight of a pendulum held aside, and the force under a mass."""
    model = chain(1, 0.5, 2.0)
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint="hinge_link0")
    model.set_initial("hinge_link0", position=0.8, rate=0.0)
    sim = rtmbs.Simulation(model.compile())
    values = rtmbs.preload(sim, ["motor.torque"])
    np.testing.assert_allclose(values["motor.torque"], 2.0 * G * 0.5 * np.sin(0.8), rtol=1e-9)
    assert sim.inputs["motor.torque"] == 0.0
    with pytest.raises(InputError, match=r"^no inputs cannot hold this pose: hinge_link0\.angle would move; add an"):
        rtmbs.preload(sim, [])
    with pytest.raises(UnknownNameError, match=r"there is no input named 'motor\.force'"):
        rtmbs.preload(sim, ["motor.force"])


def test_preload_of_an_input_of_three_numbers_is_set_as_it_comes():
    model = rider(rtmbs.SpringDamper(500.0, 20.0, 1.2))
    sim = rtmbs.Simulation(model.compile())
    values = rtmbs.preload(sim, ["gravity"])
    assert values["gravity"].shape == (3,)
    for name, value in values.items():
        sim.inputs[name] = value
    assert rtmbs.preload(sim, []) == {}


def test_what_falls_is_named():
    with pytest.raises(NoEquilibrium, match=r"^no equilibrium near this pose: rail\.displacement keeps moving"):
        rtmbs.equilibrium(rider().compile())
    model = chain(1, 0.5, 2.0)
    model.add_force("motor", rtmbs.Motor(30.0), joint="hinge_link0")
    with pytest.raises(NoEquilibrium, match=r"^no equilibrium near this pose: hinge_link0\.angle keeps moving"):
        rtmbs.equilibrium(model.compile())


def test_a_state_that_only_adds_up_has_no_rest():
    """An integrator of the position over a spring that stands off its zero: s' = z + 0.1 + 0 s, and no force from s."""

    def law(t, kinematics, parameters, states):
        return -500.0 * kinematics.z + 0.0 * states["sum"], kinematics.z + 0.1

    with pytest.raises(
        NoEquilibrium, match=r"^no equilibrium near this pose: rail\.displacement keeps moving while the states of its"
    ):
        rtmbs.equilibrium(rider(law, joint="rail", states={"sum": 0.0}).compile())


def test_bad_input():
    with pytest.raises(InputError, match=r"^equilibrium takes a System or a Simulation, not 5"):
        rtmbs.equilibrium(5)
    with pytest.raises(InputError, match=r"^'turn' moves at t = 0 s, and nothing rests beside it"):
        rtmbs.equilibrium(turning_pendulum().compile())


def test_nothing_free_is_at_rest():
    model = chain(1)
    model.add_driver("hold", rtmbs.ConstantRate(0.0, start=0.3), joint="hinge_link0")
    found = rtmbs.equilibrium(model.compile())
    assert len(found.stiffness) == 0
    assert found.stable


def test_an_equilibrium_is_found_again_after_a_run():
    """A run at rest leaves loops open by 1e-9 m; stiff springs feel that."""
    model = rtmbs.library.build("crank_rocker")
    model.add_marker("tip", "coupler", (0.0, 0.3, 0.5))
    model.add_marker("post", "ground", (0.0, 0.6, 1.1))
    model.add_force("spring", rtmbs.SpringDamper(stiffness=2e5, damping=200.0, length=0.3), between=("post", "tip"))
    sim = rtmbs.equilibrium(rtmbs.Simulation(model.compile(), h=1e-3)).simulation
    first = sim.state.z.copy()
    for span in (0.01, 0.05, 0.1, 0.2):
        sim.run(round(sim.t + span, 3))
        again = rtmbs.equilibrium(sim)
        assert again.residual < 1e-8
        np.testing.assert_allclose(again.state.z, first, atol=1e-9)
