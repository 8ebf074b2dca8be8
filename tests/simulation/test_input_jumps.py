"""An input that changes between steps: accelerations jump with it, and the step keeps its order."""

import numpy as np
import pytest

import rtmbs
from bench.measures.forced import forced_model
from bench.measures.input_errors import error_of
from rtmbs.integrators.contract import Method
from rtmbs.library.force_laws import point_spring
from rtmbs.simulation.simulation import store_of
from rtmbs.system.system import System
from tests.results.test_run_warnings import braked_elbow


def slider(h: float) -> rtmbs.Simulation:
    m = rtmbs.Model("slider", gravity=(0, 0, 0))
    block = m.add_body("block", mass=2.0, inertia=(1, 1, 1))
    m.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), m.ground, block)
    m.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint="rail")
    return rtmbs.Simulation(m.compile(), h=h)


@pytest.mark.parametrize("h", [0.1, 0.01])
def test_a_constant_force_set_before_and_between_steps_is_exact(h: float) -> None:
    sim = slider(h)
    sim.inputs["push.force"] = 4.0
    first = sim.run(1.0)
    assert first["rail.acceleration"][0] == pytest.approx(2.0, rel=1e-12)
    assert first["rail.rate"][-1] == pytest.approx(2.0, rel=1e-9)
    sim.inputs["push.force"] = -2.0
    second = sim.run(2.0)
    assert second["rail.rate"][-1] == pytest.approx(1.0, rel=1e-9)
    assert second["rail.displacement"][-1] == pytest.approx(1.0 + 2.0 - 0.5, rel=1e-9)


def test_a_reaction_belongs_to_the_inputs_of_the_moment() -> None:
    m = rtmbs.Model("pendulum")
    arm = m.add_body("arm", mass=1.0, center_of_mass=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    m.add_joint("a", rtmbs.Revolute(axis=(0, 1, 0)), m.ground, arm)
    sim = rtmbs.Simulation(m.compile())
    assert sim.reaction("a")[2] != 0.0
    sim.inputs["gravity"] = (0, 0, 0)
    np.testing.assert_allclose(sim.reaction("a"), 0.0, atol=1e-12)


def test_order_two_survives_a_jump_in_a_loop() -> None:
    def end(h: float) -> float:
        m = rtmbs.library.build("crank_rocker")
        m.add_body("wheel", mass=0.1, inertia=(0.1, 0.1, 0.1))
        m.add_joint("hub", rtmbs.Revolute(axis=(1, 0, 0)), m.ground, "wheel")
        sim = rtmbs.Simulation(m.compile(), h=h)
        sim.run(0.2)
        sim.inputs["gravity"] = (0, 6, -3)
        result = sim.run(0.4)
        return float(result["energy.kinetic"][-1])

    values = [end(h) for h in (0.01, 0.005, 0.0025, 0.00125)]
    steps = np.abs(np.diff(values))
    slope = np.polyfit(np.log([4, 2, 1]), np.log(steps), 1)[0]
    assert 1.8 < slope < 2.6


@pytest.mark.parametrize("angle", np.linspace(-3.0, 3.0, 13))
def test_assembly_stays_within_half_a_turn(angle: float) -> None:
    m = rtmbs.Model("fourbar")
    a = m.add_body("a", mass=1, inertia=(0.1, 0.1, 0.1))
    b = m.add_body("b", mass=1, inertia=(0.1, 0.1, 0.1), position=(0, 0, 1))
    c = m.add_body("c", mass=1, inertia=(0.1, 0.1, 0.1), position=(2, 0, 0))
    x = (0, 1, 0)
    m.add_joint("A", rtmbs.Revolute(axis=x), m.ground, a, point=(0, 0, 0))
    m.add_joint("B", rtmbs.Revolute(axis=x), a, b, point=(0, 0, 1))
    m.add_joint("C", rtmbs.Revolute(axis=x), m.ground, c, point=(2, 0, 0))
    m.add_joint("D", rtmbs.Revolute(axis=x), b, c, point=(2, 0, 2), cut=True)
    m.set_initial("A", position=float(angle))
    system = m.compile()
    sim = rtmbs.Simulation(system)
    assert sim.state.z[system.coordinate_names.index("A.angle")] == angle
    assert np.max(np.abs(sim.state.z - system.z0)) <= np.pi + 1e-9


def test_coincident_markers_of_a_spring_are_refused_by_name() -> None:
    m = rtmbs.Model("spring")
    arm = m.add_body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("a", rtmbs.Revolute(axis=(0, 1, 0)), m.ground, arm)
    ends = m.add_marker("p", m.ground, (1, 0, 0)), m.add_marker("q", arm, (1, 0, 0))
    m.add_force("coil", rtmbs.SpringDamper(100.0, length=0.1), between=ends)
    with pytest.raises(rtmbs.errors.StartError, match=r"'coil'.*coincide"):
        rtmbs.Simulation(m.compile())


def test_a_model_that_is_not_compiled_says_what_to_write() -> None:
    with pytest.raises(rtmbs.errors.InputError, match="compile"):
        rtmbs.Simulation(rtmbs.Model("m"))  # type: ignore[arg-type]


def banded(stiffness: float) -> rtmbs.Simulation:
    """Return a crank-rocker with a spring between crank and rocker, under way."""
    m = rtmbs.library.build("crank_rocker")
    ends = m.add_marker("low", "crank", (0.0, 0.1, 0.1)), m.add_marker("high", "rocker", (0.0, 0.9, 0.4))
    m.add_force("band", rtmbs.SpringDamper(stiffness, length=0.7), between=ends)
    sim = rtmbs.Simulation(m.compile(), h=2e-3)
    sim.run(0.02)
    return sim


@pytest.mark.parametrize(
    ("name", "value", "added"),
    [
        ("stiffness", 50.0, lambda length: 0.5 * 30.0 * (length - 0.7) ** 2),
        ("length", 0.2, lambda length: 0.5 * 20.0 * ((length - 0.2) ** 2 - (length - 0.7) ** 2)),
        ("tension", 4.0, lambda length: 4.0 * length),
    ],
)
def test_a_balance_goes_on_with_the_potential_of_the_new_input(name, value, added) -> None:
    """The potential of a spring by hand: k / 2 (l - l0)^2 + f l. A look leaves the balance to the step."""
    sim = banded(20.0)
    before = sim.state.memory["energy"].copy()
    sim.inputs[f"band.{name}"] = value
    expected = added(sim["band.length"])
    assert abs(expected) > 0.1
    assert sim.state.memory["energy"].tobytes() == before.tobytes()
    stepped = sim._twin()
    assert stepped.step().outcome.accepted
    found = (stepped.state.memory["energy"] - before).sum(axis=0)  # one component has a balance
    np.testing.assert_allclose(found[0], expected, rtol=1e-9)
    found = (store_of(sim).settle().memory["energy"] - before).sum(axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_balance_stays_where_the_new_potential_is_beyond_range() -> None:
    sim = banded(20.0)
    before = sim.state.memory["energy"].tobytes()
    sim.inputs["band.stiffness"], sim.inputs["band.length"] = 1e300, 1e10
    assert store_of(sim).settle().memory["energy"].tobytes() == before
    assert sim.state.memory["energy"].tobytes() == before
    sim.inputs["band.stiffness"], sim.inputs["band.length"] = 20.0, 0.7
    np.testing.assert_allclose(sim.state.memory["energy"], np.frombuffer(before).reshape(-1, 2), rtol=1e-12)


@pytest.mark.parametrize(("name", "options"), [("fourbar", {"ny": 2, "nz": 3}), ("crank_rocker", {}), ("bricard", {})])
def test_accelerations_that_follow_an_input_are_those_of_a_dense_solution(name, options) -> None:
    model = rtmbs.library.build(name, **options)
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint=next(iter(model.joints)))
    assert error_of(rtmbs.Simulation(model.compile(), h=1e-3), "motor.torque", 1.7) < 1e-8


@pytest.mark.parametrize("damping", [3.0, 10.0, 30.0, 100.0])
def test_a_damper_that_is_set_while_running_stops_where_it_should(damping) -> None:
    """Against steps of a tenth of an L-stable method: the change moves accelerations by more than a step resolves."""

    def stopped(h: float, method: Method) -> float:
        sim = rtmbs.Simulation(braked_elbow(), h=h, method=method)
        sim.run(0.4)
        before = sim["e.angle"]
        sim.inputs["lock.damping"] = damping
        sim.run(0.5)
        return float(sim["e.angle"] - before)

    exact = stopped(1e-4, rtmbs.TRBDF2())
    assert abs(exact) > 3e-3
    assert abs(stopped(1e-3, rtmbs.PenaltyTrapezoidal()) - exact) < 1e-4


def braked_arm(inertia: float, damping: float) -> System:
    """Return a heavy arm with a brake at its shoulder and a small rotor at its end; both joints have motors."""
    m = rtmbs.Model("arm")
    m.add_body("arm", mass=1.0, inertia=(0.3, 0.3, 0.3), center_of_mass=(0.5, 0, 0))
    m.add_body("tool", mass=0.01, inertia=(inertia,) * 3)
    m.add_joint("shoulder", rtmbs.Revolute((0, 1, 0)), m.ground, "arm")
    m.add_joint("wrist", rtmbs.Revolute((1, 0, 0)), "arm", "tool", point=(1.0, 0, 0))
    for joint in ("shoulder", "wrist"):
        m.add_force(f"{joint}_motor", rtmbs.Motor(rtmbs.Input(0.0)), joint=joint)
    m.add_force("brake", rtmbs.TorsionSpring(stiffness=0.0, damping=damping), joint="shoulder")
    return m.compile()


@pytest.mark.parametrize("damping", [30.0, 300.0, 3000.0])
@pytest.mark.parametrize("inertia", [1e-6, 1e-4])
def test_a_far_larger_jump_elsewhere_hides_no_stiff_damper(inertia, damping) -> None:
    """The rotor jumps by thousands of rad/s^2 where the arm hardly moves; solved-for accelerations stand beside it."""
    system, rng, h = braked_arm(inertia, damping), np.random.default_rng(1), 1e-3
    torques = zip(10.0 * rng.normal(size=40), 2e3 * inertia * rng.normal(size=40), strict=True)
    sims = [rtmbs.Simulation(system, h=h) for _ in range(2)]
    for shoulder, wrist in torques:
        for sim in sims:
            sim.inputs["shoulder_motor.torque"], sim.inputs["wrist_motor.torque"] = shoulder, wrist
        store_of(sims[1]).settle()
        assert all(sim.step().outcome.accepted for sim in sims)
    answered, settled = (float(sim.state.z[0]) for sim in sims)
    assert abs(settled) > 1e-6
    assert answered == pytest.approx(settled, rel=1e-5)


def driven_rocker() -> rtmbs.Simulation:
    """Return a crank-rocker with a motor and a spring that may take hold elsewhere, a few steps on."""
    m = rtmbs.library.build("crank_rocker")
    m.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint="crank_pivot")
    parameters = {"target": (0.3, 0.2, 0.1), "stiffness": 20.0, "damping": 1.0, "limit": 50.0}
    m.add_force("hand", point_spring, body="crank", parameters=parameters)
    sim = rtmbs.Simulation(m.compile(), h=1e-3)
    sim.run(0.005)
    return sim


def test_a_look_behind_attach_leaves_no_byte() -> None:
    sims = driven_rocker(), driven_rocker()
    for sim in sims:
        sim.attach("hand", "rocker", (0.1, 0, 0))
    assert np.isfinite(sims[1]["crank_pivot.acceleration"])
    for sim in sims:
        assert sim.step().outcome.accepted
    assert sims[0].state == sims[1].state


def test_an_input_set_back_to_minus_zero_was_never_set() -> None:
    sims = driven_rocker(), driven_rocker()
    sims[1].inputs["motor.torque"] = 1.0
    sims[1].inputs["motor.torque"] = -0.0
    for sim in sims:
        assert sim.step().outcome.accepted
    assert sims[0].state == sims[1].state


def test_a_state_with_a_huge_input_before_can_be_restored(tmp_path) -> None:
    sim = driven_rocker()
    sim.inputs["motor.torque"] = 1e300
    sim.set("crank_pivot.rate", 2.0)
    sim.inputs["motor.torque"] = 1.0
    sim.state.save(tmp_path / "state.npz")
    for state in (sim.state.copy(), tmp_path / "state.npz"):
        sim.restore(state)
    assert sim.step().outcome.accepted


def forced(seed: int) -> tuple[rtmbs.Simulation, float]:
    """Return a random mechanism under every kind of recorded force, and its unit of force."""
    model, unit = forced_model(seed)
    del model.forces["called"], model.forces["one"]  # which Python evaluates
    return rtmbs.Simulation(model.compile(), h=1e-3 * unit.time), unit.force


def begun_with(sim: rtmbs.Simulation, changes: dict[str, np.ndarray], known: bool) -> np.ndarray:
    """Return the accelerations (n,) that a step behind ``changes`` begins with, told the inputs before or not."""
    store = store_of(sim)
    u = store.states[0].u
    before = u.copy()
    for name, value in changes.items():
        u[sim.system.inputs[name]] = value
    store.begun = before if known else np.full_like(u, np.nan)
    assert sim.step().outcome.accepted
    return sim.equations.ws.begun_zdd.copy()


@pytest.mark.parametrize("seed", [3, 6, 11])
def test_a_difference_of_forces_is_all_that_they_leave_over(seed) -> None:
    """Springs, a bushing, wrenches and joint forces on a random mechanism with drivers, couplers, constraints, laws."""
    rng, (sim, force) = np.random.default_rng(seed), forced(seed)
    changes = {
        name: sim.state.u[place] * rng.uniform(0.5, 1.5, place.stop - place.start)
        for name, place in sim.system.inputs.items()
        if (owner := name.rpartition(".")[0]) in sim.system.forces and "law" not in sim.system.forces[owner].kind
    }
    changes["push.force"] = force * rng.normal(size=3)
    still = sim.state.zdd.copy()
    difference, whole = (begun_with(forced(seed)[0], changes, known) for known in (True, False))
    assert len(changes) > 20
    assert np.abs(whole - still).max() > 1e-3 * np.abs(whole).max()
    np.testing.assert_allclose(difference, whole, atol=1e-12 * float(np.abs(whole).max()))


@pytest.mark.parametrize("name", ["gravity", "line.k", "six.c"])
def test_what_more_than_forces_read_is_evaluated_whole(name) -> None:
    """Beside a wrench, whose change alone would be a difference."""
    found = []
    for known in (True, False):
        sim, _ = forced(3)
        values = {one: 1.3 * sim.state.u[sim.system.inputs[one]] + 0.1 for one in (name, "push.force")}
        found.append(begun_with(sim, values, known).tobytes())
    assert found[0] == found[1]


def test_balances_go_on_by_the_difference_of_potentials() -> None:
    """Of a spring, a bushing, a spring of a joint and a motor; beside all potentials, inputs before not known."""
    model = rtmbs.library.build("crank_rocker")
    low, high = model.add_marker("low", "crank", (0.0, 0.1, 0.1)), model.add_marker("high", "rocker", (0.0, 0.9, 0.4))
    model.add_force("band", rtmbs.SpringDamper(20.0, length=0.7), between=(low, high))
    model.add_force("block", rtmbs.Bushing(3.0 * np.eye(6)), between=(low, high))
    model.add_force("coil", rtmbs.TorsionSpring(2.0, angle=0.2), joint="crank_pivot")
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint="crank_pivot")
    changes = {"band.length": 0.4, "block.force": np.array([0.3, -0.2, 0.9]), "coil.angle": -0.4, "motor.torque": 0.6}
    shifts = []
    for known in (True, False):
        sim = rtmbs.Simulation(model.compile(), h=1e-3)
        sim.run(0.01)
        before = sim.state.memory["energy"].copy()
        assert np.any(before != 0.0)
        begun_with(sim, changes, known)
        shifts.append(sim.equations.ws.begun_energy - before)
    assert np.abs(shifts[1]).max() > 0.1
    np.testing.assert_allclose(*shifts, atol=1e-12)
