"""Everything that a model may have, stepped by the variational midpoint rule, against independent solutions."""

import threading

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import rtmbs
from rtmbs import Simulation, VariationalMidpoint
from rtmbs.viewer.session.session import Session

T, G = 0.48, 9.81
STEPS = (8e-3, 4e-3, 2e-3)


def exact(slopes, start):
    """Return the end of a motion y' = slopes(t, y) by an integration to 1e-12."""
    return solve_ivp(slopes, (0.0, T), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


def slide(along=(1.0, 0.0, 0.0), mass=2.0):
    model = rtmbs.Model("slide", gravity=(0.0, 0.0, 0.0))
    model.add_body("block", mass=mass, inertia=(0.1, 0.1, 0.1))
    model.add_joint("rail", rtmbs.Prismatic(along), "ground", "block")
    return model


def bushed():
    """A block in a bushing with a stiffening curve, and a spring-damper across its rail."""
    model = slide()
    knots = np.linspace(-0.5, 0.5, 3)
    law = rtmbs.Bushing(
        stiffness=40.0, damping=0.8, force=(1.5, 0.0, 0.0), curve_x=np.column_stack((knots, 30.0 * knots))
    )
    for name, body in (("a", "ground"), ("b", "block")):
        model.add_marker(name, body, (0, 0, 0))
    model.add_force("bush", law, between=("a", "b"))
    side = model.add_marker("side", "ground", (0.1, 0.4, 0.0))
    model.add_force("spring", rtmbs.SpringDamper(stiffness=60.0, damping=1.1, length=0.3), between=(side, "b"))
    model.set_initial("rail", position=0.2, rate=-1.0)

    def slopes(t, y):
        x, v = y
        length = np.hypot(x - 0.1, 0.4)
        pull = 60.0 * (length - 0.3) + 1.1 * (x - 0.1) * v / length
        return [v, (1.5 - 70.0 * x - 0.8 * v - pull * (x - 0.1) / length) / 2.0]

    return model, lambda sim: [sim["rail.displacement"], sim["rail.rate"]], exact(slopes, (0.2, -1.0))


def geared():
    """A motor turns a wheel, a gear a second one against a torsion spring: the sum of both is zero with the ratio."""
    model = rtmbs.Model("gear", gravity=(0.0, 0.0, 0.0))
    for k, name in enumerate(("first", "second")):
        model.add_body(name, mass=1.0, center_of_mass=(k, 0, 0), inertia=(0.03, 0.03, 0.02 + 0.03 * k))
        model.add_joint(name[0], rtmbs.Revolute((0, 0, 1)), "ground", name, point=(k, 0, 0))
    model.add_gear("gear", "f", "s", 1.7)
    model.add_force("motor", rtmbs.Motor(lambda t: 0.8 * np.sin(5.0 * t)), joint="f")
    model.add_force("twist", rtmbs.TorsionSpring(stiffness=1.3, damping=0.1), joint="s")
    whole = 0.02 + 0.05 / 1.7**2

    def slopes(t, y):
        second, rate = -y[0] / 1.7, -y[1] / 1.7
        return [y[1], (0.8 * np.sin(5.0 * t) + (1.3 * second + 0.1 * rate) / 1.7) / whole]

    return model, lambda sim: [sim["f.angle"], sim["f.rate"], -1.7 * sim["s.angle"]], geared_end(slopes)


def geared_end(slopes):
    angle, rate = exact(slopes, (0.0, 0.0))
    return [angle, rate, angle]


def bead():
    """A bead on the curve z = y^2 of the user: (1 + 4 y^2) y'' + 4 y y'^2 + 2 g y = 0, with the force of the curve."""
    model = rtmbs.Model("bead", gravity=(0.0, 0.0, -G))
    for name, mass in (("carrier", 1e-9), ("bead", 0.7)):
        model.add_body(name, mass=mass, inertia=(1e-12,) * 3)
    model.add_joint("y", rtmbs.Prismatic((0, 1, 0)), "ground", "carrier")
    model.add_joint("z", rtmbs.Prismatic((0, 0, 1)), "carrier", "bead")

    def curve(t, pose, p):
        return pose.z[1] - p["bend"] * pose.z[0] ** 2

    model.add_constraint("curve", curve, joints=["y", "z"], parameters={"bend": 1.0})
    model.set_initial("y", position=0.8, rate=0.5)

    def acceleration(y, v):
        return -(4.0 * y * v * v + 2.0 * G * y) / (1.0 + 4.0 * y * y)

    y, v = exact(lambda t, s: [s[1], acceleration(*s)], (0.8, 0.5))
    a = acceleration(y, v)
    force = 0.7 * (G + 2.0 * v * v + 2.0 * y * a)  # m (z'' + g)
    channels = "y.displacement", "z.displacement", "y.rate"
    return model, lambda sim: [*(sim[one] for one in channels), sim["curve.force"][1]], [y, y * y, v, force]


def stepped():
    """A force that jumps within a step: constant before and after it."""
    jump, before, after = 0.2017, 1.0, 3.0
    model = slide()
    model.add_force("push", rtmbs.Motor(lambda t: after if t >= jump else before), joint="rail")
    left = T - jump
    rate, way = (before * jump + after * left) / 2.0, (before * (T**2 - left**2) / 2 + after * left**2 / 2) / 2.0
    channels = "rail.displacement", "rail.rate", "rail.acceleration"
    return model, lambda sim: [sim[one] for one in channels], [way, rate, after / 2.0]


def driven():
    """A pendulum on a carriage that a driver moves, with a Maxwell element: constraints, times and states together."""
    model = rtmbs.Model("carriage", gravity=(0.0, 0.0, -G))
    model.add_body("carriage", mass=1.0, inertia=(1, 1, 1))
    model.add_body("bob", mass=1.4, inertia=(0.02, 0.02, 0.02), center_of_mass=(0.0, 0.0, -0.6))
    model.add_joint("rail", rtmbs.Prismatic((1, 0, 0)), "ground", "carriage")
    model.add_joint("pin", rtmbs.Revolute((0, 1, 0)), "carriage", "bob", point=(0, 0, 0))
    model.add_driver("shake", rtmbs.Sine(0.1, 7.0), joint="rail")

    def element(t, k, p, s):
        pull = 3.0 * (k.z - s["way"])
        return -pull, pull / 0.4

    model.add_force("element", element, joint="pin", states={"way": 0.1})
    model.set_initial("pin", position=0.7)

    def slopes(t, y):
        angle, rate, way = y
        pull = 3.0 * (angle - way)
        shake = -0.1 * 49.0 * np.sin(7.0 * t)  # acceleration of the carriage; a positive angle moves the bob to -x
        turning = -pull - 1.4 * 0.6 * (G * np.sin(angle) - shake * np.cos(angle))
        return [rate, turning / (0.02 + 1.4 * 0.36), pull / 0.4]

    return model, lambda sim: [sim["pin.angle"], sim["pin.rate"], sim["element.way"]], exact(slopes, (0.7, 0.0, 0.1))


MODELS = {"bushing": bushed, "gear": geared, "constraint": bead, "jump": stepped, "driver": driven}


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "readable"])
@pytest.mark.parametrize("name", MODELS)
def test_elements_converge_to_independent_solutions_by_order_two(name, fused):
    model, read, wanted = MODELS[name]()
    system, wanted = model.compile(), np.array(wanted)
    missed = []
    for h in STEPS:
        sim = Simulation(system, h, VariationalMidpoint(fused=fused))
        sim.run(T)
        missed.append(np.abs(np.array(read(sim)) - wanted).max())
    assert missed[-1] < 2e-3 * max(np.abs(wanted).max(), 1.0), missed
    if name != "jump":  # where it lies within its step counts as well
        assert np.log2(missed[0] / missed[2]) / 2.0 == pytest.approx(2.0, abs=0.15), missed


def test_a_run_ends_where_it_is_told():
    """``until`` of a falling block: the first step behind 0.3337 m."""
    model = slide((0, 0, 1))
    model.gravity = (0.0, 0.0, -G)
    sim = Simulation(model.compile(), 1e-3, VariationalMidpoint())
    result = sim.run(1.0, until=lambda sim: sim["rail.displacement"] < -0.3337)
    t = np.sqrt(2.0 * 0.3337 / G)
    assert result.t[-1] == pytest.approx(np.ceil(t / 1e-3) * 1e-3, abs=1e-12)


def swinging():
    model = rtmbs.Model("pendulum", gravity=(0.0, 0.0, -G))
    model.add_body("rod", mass=1.1, inertia=(0.03, 0.03, 0.01), center_of_mass=(0.0, 0.0, -0.5))
    model.add_joint("pin", rtmbs.Revolute((0, 1, 0)), "ground", "rod", point=(0, 0, 0))
    model.add_force("motor", rtmbs.Motor(0.0), joint="pin")
    return model


def test_analyses_take_a_simulation_of_this_method():
    """Equilibrium at sin a = torque / (m g l), the frequency there, and the torque that inverse dynamics asks for."""
    sim = Simulation(swinging().compile(), 2e-3, VariationalMidpoint())
    sim.inputs["motor.torque"] = 2.0
    found = rtmbs.equilibrium(sim)
    weight, inertia = 1.1 * G * 0.5, 0.03 + 1.1 * 0.25
    angle = np.arcsin(2.0 / weight)
    assert found.simulation["pin.angle"] == pytest.approx(angle, rel=1e-9)
    assert isinstance(found.simulation.method, VariationalMidpoint)
    stiffness = weight * np.cos(angle) / inertia
    np.testing.assert_allclose(rtmbs.linearise(found.simulation).A, [[0.0, 1.0], [-stiffness, 0.0]], atol=1e-8)
    assert found.modes.frequencies[0] == pytest.approx(np.sqrt(stiffness) / (2.0 * np.pi), rel=1e-9)
    found.simulation.run(found.simulation.t + 0.2)
    assert found.simulation["pin.angle"] == pytest.approx(angle, rel=1e-9)


def test_the_history_of_a_viewer_has_the_same_bytes():
    session = Session(Simulation(rtmbs.library.build("crank_rocker").compile(), 5e-3, VariationalMidpoint()))
    for _ in range(40):
        session.step()
    end = session.sim.state.copy()
    session.seek(10)
    for _ in range(30):
        session.step()
    for name in ("z", "zd", "zdd", "lam"):
        assert getattr(session.sim.state, name).tobytes() == getattr(end, name).tobytes()


def pendulum_of(length):
    model = rtmbs.Model("pendulum")
    model.add_body("rod", mass=1.0, center_of_mass=(0, 0, -length), inertia=(0.01, 0.01, 0.01))
    model.add_joint("hinge", rtmbs.Revolute(axis=(0, 1, 0)), "ground", "rod", point=(0, 0, 0))
    model.set_initial("hinge", position=0.4)
    return model


def test_sweeps_step_by_it():
    lengths = [0.3, 0.8]
    given = {"t_end": 0.2, "h": 2e-3, "method": VariationalMidpoint(), "engine": rtmbs.Serial()}
    table = rtmbs.sweep(pendulum_of, {"length": lengths}, {"end": "last hinge.angle"}, **given)
    for found, length in zip(table["end"], lengths, strict=True):
        sim = Simulation(pendulum_of(length).compile(), 2e-3, VariationalMidpoint())
        assert found == sim.run(0.2)["hinge.angle"][-1]


def test_threads_of_their_own_give_the_same_bytes():
    """Several Simulations at once, of one System and of others, as each of them alone."""
    systems = [rtmbs.library.build(name).compile() for name in ("crank_rocker", "slider_crank", "crank_rocker")]
    alone = [Simulation(system, 1e-3, VariationalMidpoint()) for system in systems]
    for sim in alone:
        sim.run(0.3)
    together = [Simulation(system, 1e-3, VariationalMidpoint()) for system in systems for _ in range(2)]
    threads = [threading.Thread(target=sim.run, args=(0.3,)) for sim in together]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for k, sim in enumerate(together):
        assert sim.state.z.tobytes() == alone[k // 2].state.z.tobytes()
        assert sim.state.lam.tobytes() == alone[k // 2].state.lam.tobytes()
