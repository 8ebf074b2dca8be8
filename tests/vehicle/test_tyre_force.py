"""A tyre in a Model: contact geometry, steady rolling, rest on a slope and from braking, exact derivatives, order."""

import json
from pathlib import Path

import numpy as np
import pytest

import rtmbs
from bench.measures.car_step import CASES, car_of
from rtmbs.ad import Evaluator, sparse_jacobian
from rtmbs.ad.trace import record
from rtmbs.integrators.settings import INERTIA
from rtmbs.model.checks import rotation_of_quaternion
from rtmbs.model.forces import Kinematics
from rtmbs.semirecursive.evaluation import assemble_tangent, evaluate_residual
from rtmbs.semirecursive.workspace import workspace
from rtmbs.vehicle import BrushTyre, FialaTyre, MagicFormula, TMeasy, add_tyre
from rtmbs.vehicle.tyre_force import TyreLaw, contact_of, wrench
from tests.cases import spread

POINTS = json.loads((Path(__file__).parent / "data" / "tyre_points.json").read_text(encoding="utf-8"))
SEDAN = json.loads((Path(rtmbs.__file__).parent / "vehicle" / "data" / "sedan.json").read_text(encoding="utf-8"))
LOAD, G = 4000.0, 9.81


def tyres():
    values = SEDAN["tyres"]["tmeasy"]["from_json"]
    yield MagicFormula(POINTS["parameters"]["A"]["values"])
    yield MagicFormula(POINTS["parameters"]["B"]["values"], combined="ellipse")
    yield TMeasy({name: value for name, value in values.items() if name not in ("source", "note")})
    common = {"free_radius": 0.33, "vertical_stiffness": 2e5, "vertical_damping": 1e3, "friction": 0.9}
    yield FialaTyre(width=0.2, slip_stiffness=8e4, cornering_stiffness=6e4, sliding_friction=0.8, **common)
    yield BrushTyre(tread_stiffness=6e6, **common)


ALL = {f"{tyre.kind} {k}": tyre for k, tyre in enumerate(tyres())}
each = pytest.mark.parametrize("tyre", ALL.values(), ids=ALL)
a_few = pytest.mark.parametrize("tyre", spread(ALL.values(), 2), ids=ALL)


def wheel(tyre, *, speed=0.0, slope=0.0, steer=0.0, brake=None, transient=True):
    """Return a loaded wheel that is guided in the plane of x and z; a slope pulls along x."""
    m = rtmbs.Model("wheel", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    height = tyre.free_radius - LOAD / tyre.vertical_stiffness
    axis = (-np.sin(steer), np.cos(steer), 0.0)
    m.add_marker("road", m.ground)
    m.add_body("carriage", mass=1.0, inertia=(1, 1, 1), position=(0, 0, height))
    m.add_body("wheel", mass=LOAD / G - 1.0, inertia=(1, 1.5, 1), position=(0, 0, height))
    m.add_body("guide", mass=1e-6, inertia=(1e-6,) * 3, position=(0, 0, height))
    m.add_joint("x", rtmbs.Prismatic((1, 0, 0)), m.ground, "guide", point=(0, 0, height))
    m.add_joint("z", rtmbs.Prismatic((0, 0, 1)), "guide", "carriage", point=(0, 0, height))
    m.add_joint("hub", rtmbs.Revolute(axis), "carriage", "wheel", point=(0, 0, height))
    m.set_initial("x", 0.0, speed)
    m.set_initial("hub", 0.0, speed * np.cos(steer) / tyre.effective_radius(LOAD, height))
    if brake is not None:
        m.add_force("brake", brake, joint="hub")
    add_tyre(m, "tyre", tyre, "wheel", centre=(0, 0, height), axis=axis, road="road", transient=transient)
    return m


def held(t, kinematics, parameters):
    """A brake that holds a wheel as a stiff spring."""
    return -1e6 * kinematics.z - 2e3 * kinematics.zd


@each
def test_steady_rolling_is_steady(tyre):
    """A wheel at a steer angle, pulled at constant speed: force and moment are those of ``steady``."""
    m = wheel(tyre, speed=20.0, steer=0.04)
    m.add_driver("pull", rtmbs.ConstantRate(20.0), joint="x")
    sim = rtmbs.Simulation(m.compile(), 1e-3)
    result = sim.run(3.0)
    c, s, height = np.cos(0.04), np.sin(0.04), result["z.displacement"][-1]
    force, load = result["tyre.force"][-1], result["tyre.force"][-1][2]
    centre = tyre.free_radius - LOAD / tyre.vertical_stiffness
    assert load == pytest.approx(LOAD, rel=1e-6)
    assert height == pytest.approx(0.0, abs=1e-6)
    radius = tyre.effective_radius(load, centre)
    slip = (radius * result["hub.angle_rate"][-1] - 20.0 * c) / (20.0 * c)
    wanted = tyre.steady(load=load, slip=slip, slip_angle=-0.04, speed=20.0 * c)
    assert c * force[0] + s * force[1] == pytest.approx(wanted.Fx, abs=0.1)
    assert -s * force[0] + c * force[1] == pytest.approx(wanted.Fy, rel=2e-3)  # TMeasy: slip over another speed
    assert wanted.My - centre * wanted.Fx == pytest.approx(0.0, abs=0.05)  # the hub is free


@a_few
def test_rest_on_a_slope(tyre):
    """A held wheel on a 10 % slope moves less than 1 mm in 10 s, and holds by the weight along the slope."""
    slope = np.arctan(0.1)
    sim = rtmbs.Simulation(wheel(tyre, slope=slope, brake=held).compile(), 1e-3)
    sim.run(10.0)
    result = sim.run(20.0)
    assert np.ptp(result["x.displacement"]) < 1e-4
    assert abs(result["x.displacement"][-1] - result["x.displacement"][-1000]) < 5e-6  # no creep is left
    assert result["tyre.force"][-1][0] == pytest.approx(-LOAD * np.sin(slope), rel=4e-3)


@a_few
def test_rest_from_braking(tyre):
    """Braked from 5 m/s by a locked wheel: friction stops it, it rocks back, and it stays."""
    sim = rtmbs.Simulation(wheel(tyre, speed=5.0, brake=held).compile(), 1e-3)
    result = sim.run(30.0)
    x = result["x.displacement"]
    assert 1.0 < x[-1] < 3.0  # v^2 / (2 mu g) with mu from 0.65 to 1.2
    assert np.ptp(x[-2000:]) < 1e-5
    assert abs(result["x.displacement_rate"][-1]) < 1e-4


@each
@pytest.mark.parametrize("transient", [True, False])
def test_derivatives_of_the_law(tyre, transient):
    """The recorded law has the derivatives of the complex step, also of contact and deflections."""
    law, states = TyreLaw(tyre, transient), 2 if transient else 0

    def values(x):
        kinematics = Kinematics(x[:3], x[3:12].reshape(3, 3), x[12:15], x[15:18])
        if not transient:
            return np.concatenate(law(0.0, kinematics, {"friction": 0.9}))
        wrench, rates = law(0.0, kinematics, {"friction": 0.9}, {"slip_x": x[18], "slip_y": x[19]})
        return np.concatenate((*wrench, rates))

    n, m = 18 + states, 6 + states
    jacobian = sparse_jacobian(record(values, n, m))
    evaluator, rng, worst = Evaluator(jacobian.tape), np.random.default_rng(5), 0.0
    for speed in (0.0, 0.3, 3.0, 30.0):
        for _ in range(10):
            x = rng.normal(size=n) * 0.1
            x[2] = tyre.free_radius - rng.uniform(0.007, 0.03)
            x[3:12] = rotation_of_quaternion(np.array([1.0, *(0.1 * rng.normal(size=3))])).ravel()
            x[12:18] += (speed, 0.02 * speed, 0, 0, speed / tyre.free_radius, 0)
            x[18:] *= 0.1
            step = np.array([values(x + 1e-30j * unit).imag / 1e-30 for unit in np.eye(n)]).T
            exact = np.zeros((m, n))
            exact[jacobian.row, jacobian.column] = evaluator.value(x)
            worst = max(worst, np.max(np.abs(exact - step) / np.maximum(np.abs(step), 1.0)))
    assert worst < 1e-9


def test_contact_geometry():
    """Camber, steer and roll rate by hand."""
    tyre, camber, steer = ALL["Fiala 3"], 0.1, 0.3
    Rx = np.array([[1, 0, 0], [0, np.cos(camber), -np.sin(camber)], [0, np.sin(camber), np.cos(camber)]])
    Rz = np.array([[np.cos(steer), -np.sin(steer), 0], [np.sin(steer), np.cos(steer), 0], [0, 0, 1]])
    spin, roll, height = 30.0, 0.7, 0.315
    R = Rz @ Rx
    w = spin * R[:, 1] + roll * Rz[:, 0]
    found = contact_of(tyre, Kinematics(np.array([1.0, 2.0, height]), R, np.array([10.0, 0, 0]), w))
    loaded = height / np.cos(camber)
    assert found.camber == pytest.approx(camber)
    assert found.spin == pytest.approx(spin)
    assert found.loaded_radius == pytest.approx(loaded)
    assert (found.cos, found.sin) == pytest.approx(Rz[:2, 0])
    arm = np.array([0.0, np.sin(camber) * loaded, -height])
    assert (0.0, found.side, -found.height) == pytest.approx(arm)
    velocity = Rz.T @ (np.array([10.0, 0, 0]) + np.cross(roll * Rz[:, 0], Rz @ arm))
    assert (found.speed, found.across) == pytest.approx(velocity[:2])
    rho = tyre.free_radius - loaded
    rate = -velocity[2] / np.cos(camber)
    assert found.load == pytest.approx((2e5 * rho + 1e3 * rate) / np.cos(camber))


def test_wrench_about_the_centre():
    """Force in the contact point and moment about the centre, by cross products in the world."""
    tyre, rng = ALL["Magic Formula 0"], np.random.default_rng(7)
    for _ in range(20):
        R = rotation_of_quaternion(np.array([1.0, *(0.2 * rng.normal(size=3))]))
        kinematics = Kinematics(
            np.array([1.0, 2.0, 0.38]),
            R,
            rng.normal(size=3) * (9, 1, 0.1) + np.array([15, 0, 0]),
            rng.normal(size=3) + np.array([0, 40, 0]),
        )
        contact = contact_of(tyre, kinematics)
        z, n = np.array([0.0, 0.0, 1.0]), R[:, 1]
        x = np.cross(n, z) / np.linalg.norm(np.cross(n, z))
        y = np.cross(z, x)
        down = (n * n[2] - z) / np.linalg.norm(np.cross(n, z))
        arm = contact.loaded_radius * down
        turning = kinematics.w - (kinematics.w @ n) * n
        velocity = kinematics.v + np.cross(turning, arm)
        assert (contact.speed, contact.across) == pytest.approx((velocity @ x, velocity @ y))
        forces = tyre.steady(load=max(float(contact.load), 0.0), slip=0.02, slip_angle=0.03, camber=contact.camber)
        force = forces.Fx * x + forces.Fy * y + contact.load * z
        moment = forces.Mx * x + forces.My * y + forces.Mz * z + np.cross(arm, force)
        found = wrench(contact, forces)
        assert found[0] == pytest.approx(force, abs=1e-9)
        assert found[1] == pytest.approx(moment, abs=1e-9)


def test_vertical_force_has_an_energy():
    """A wheel that bounces without damping keeps its energy to the order of the method."""
    values = POINTS["parameters"]["A"]["values"] | {"VERTICAL_DAMPING": 0.0}
    drops = []
    for h in (2e-3, 1e-3):
        m = wheel(MagicFormula(values))
        m.set_initial("z", 0.003)
        sim = rtmbs.Simulation(m.compile(), h)
        z = sim.run(1.0)["z.displacement"]
        drops.append(0.003 - np.max(z[-int(0.2 / h) :]))
    assert drops[1] < 3e-5
    assert drops[0] > 2.0 * drops[1]


def test_order_two():
    """Braking with a smooth torque: the error falls by four when the step is halved."""

    def brake(t, kinematics, parameters):
        s = np.minimum(np.maximum(t / 0.3, 0.0), 1.0)
        return -600.0 * s**3 * (10 - 15 * s + 6 * s * s)

    ends = []
    for h in (2e-3, 1e-3, 5e-4, 1.25e-4):
        sim = rtmbs.Simulation(wheel(ALL["Magic Formula 0"], speed=20.0, brake=brake).compile(), h)
        ends.append(sim.run(0.1)["x.displacement_rate"][-1])
    errors = np.abs(np.array(ends[:3]) - ends[3])
    assert np.all(errors[:2] / errors[1:] > 3.3)


def test_lift_off():
    """A wheel above the road feels nothing, also in motion."""
    tyre = ALL["Magic Formula 0"]
    force, _ = TyreLaw(tyre)(
        0.0,
        Kinematics(np.array([0, 0, 0.5]), np.eye(3), np.array([10.0, 1, -3]), np.array([0, 30.0, 0])),
        {"friction": 1.0},
        {"slip_x": 0.01, "slip_y": 0.01},
    )
    assert np.allclose(force, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tyre": "round"}, "'round' is no tyre; it must be a MagicFormula"),
        ({"friction": -1.0}, "friction is -1; it must be above zero"),
        ({"transient": 1}, "transient is 1; it must be True or False"),
        ({"tyre": "no relaxation"}, "has no relaxation lengths; give PTX1 and PTY1, or transient=False"),
        ({"tyre": "no stiffness"}, "its vertical stiffness is 0; it must be above zero"),
    ],
)
def test_refusals(changes, words):
    m = rtmbs.Model("m")
    m.add_marker("road", m.ground)
    m.add_body("wheel", mass=1.0, inertia=(1, 1, 1))
    values = POINTS["parameters"]["A"]["values"]
    known = {
        "no relaxation": MagicFormula({k: x for k, x in values.items() if not k.startswith("PT")}),
        "no stiffness": MagicFormula({k: x for k, x in values.items() if k != "VERTICAL_STIFFNESS"} | {"DREFF": 0.0}),
    }
    given = {"tyre": MagicFormula(values), "friction": 1.0, "transient": True} | changes
    given["tyre"] = known.get(given["tyre"], given["tyre"]) if isinstance(given["tyre"], str) else given["tyre"]
    with pytest.raises(rtmbs.errors.ModelError, match=words):
        add_tyre(m, "tyre", given.pop("tyre"), "wheel", centre=(0, 0, 0.4), road="road", **given)


@pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")
def test_both_sides_are_one_program():
    """Four Magic Formula tyres are four lanes of one program, and the sign of the side is an input."""
    system = rtmbs.vehicle.read("sedan", variant="from_models").compile()
    assert set(system.tables.laws.lanes.lanes.tolist()) == {4}
    sim = rtmbs.Simulation(system, h=1e-3)
    assert [sim.inputs[f"tyre_{corner}.side"] for corner in ("fl", "fr", "rl", "rr")] == [1.0, -1.0, 1.0, -1.0]


@pytest.mark.parametrize("half", [0.0, 5e-4])
def test_tangent_of_a_car_is_that_of_complex_steps(half: float) -> None:
    """Tyres run in lanes: a residual finds their forces, the tangent their derivatives, of the residual last evaluated.

    A complex residual finds both.
    """
    sim = rtmbs.Simulation(car_of(CASES["Magic Formula"]).compile(), h=1e-3)
    sim.run(0.02)
    state, tables, n = sim.state, sim.equations.tables, sim.system.n
    assert len(tables.laws.lanes.lanes) > 0
    u, alpha, share = state.u, np.zeros(sim.system.m), (1.0, 0.01, 0.003)
    real, complexes = workspace(tables), workspace(tables, complex)
    sizes = np.zeros_like(sim.equations.matrix.values)
    for ws in (real, complexes):
        ws.z[:], ws.zd[:], ws.zdd[:] = state.z, state.zd, state.zdd
        ws.state_half[0], ws.state_base[:] = half, state.s + half * state.sd
    old = sim.equations.state_arrays()
    real.zd[:] *= 0.99  # another state before, whose tangent nobody asks for
    evaluate_residual(tables, state.R0, u, alpha, real)
    real.zd[:] = state.zd
    evaluate_residual(tables, state.R0, u, alpha, real)
    found = []
    for _ in range(2):
        assemble_tangent(tables, INERTIA, *share, u, alpha, old, real, sizes)
        sim.equations.matrix.values[:] = sizes
        found.append(np.array(sim.equations.matrix))
    assert found[0].tobytes() == found[1].tobytes()
    wanted = np.zeros((n, n))
    for k in range(n):
        step = 1e-30j * np.eye(n)[k]
        for name, factor in zip(("zdd", "zd", "z"), share, strict=True):
            getattr(complexes, name)[:] = getattr(state, name) + factor * step
        evaluate_residual(tables, state.R0, u.astype(complex), alpha.astype(complex), complexes)
        wanted[:, k] = complexes.residual.imag / 1e-30
    np.testing.assert_allclose(complexes.residual.real, real.residual, rtol=0.0, atol=1e-9 * np.abs(real.tau).max())
    assert np.max(np.abs(found[0] - wanted)) < 1e-9 * np.max(np.abs(wanted))
