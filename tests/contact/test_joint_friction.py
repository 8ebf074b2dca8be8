"""Friction that follows the reaction of its joint, clutches and backlash, against closed forms and Newton-Euler."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import rtmbs
from rtmbs import contact
from rtmbs.errors import InputError, ModelError

G = 9.81
TRBDF2 = rtmbs.TRBDF2()
MU, PIN = 0.3, 0.05  # of the pendulum's hinge; [m]
MASS, ARM, INERTIA = 2.0, 0.4, 0.05


def pendulum(angle=0.2, rate=6.0, damping=0.0):
    model = rtmbs.Model("pendulum", gravity=(0, 0, -G))
    model.add_body("arm", mass=MASS, center_of_mass=(0, 0, -ARM), inertia=(INERTIA, 0.03, 0.02))
    model.add_joint("hinge", rtmbs.Revolute(axis=(1, 0, 0)), "ground", "arm", point=(0, 0, 0))
    model.add_friction("bearing", "hinge", coefficient=MU, radius=PIN, stiffness=1e4, damping_time=damping)
    model.set_initial("hinge", position=angle, rate=rate)
    return model.compile()


def preloaded(system, h):
    """Return a Simulation with a bristle that slides already, so that nothing but Coulomb's law acts."""
    sim = rtmbs.Simulation(system, h, method=TRBDF2)
    for _ in range(5):
        state = sim.state.copy()
        state.s[:] = MU * sim.inputs["bearing.load"] / 1e4
        sim.restore(state)
    return sim


def pendulum_rates(_, y):
    """Newton's law of the mass centre and Euler's about the hinge; the friction is found with the acceleration."""
    q, w = y
    a = 0.0
    for _ in range(50):
        across, up = ARM * (a * np.cos(q) - w * w * np.sin(q)), ARM * (a * np.sin(q) + w * w * np.cos(q))
        load = PIN * np.hypot(MASS * across, MASS * (up + G))
        a = (-MASS * G * ARM * np.sin(q) - MU * load * np.sign(w)) / (INERTIA + MASS * ARM**2)
    return [w, a]


def test_a_hinge_that_slides_follows_its_own_reaction_at_order_two():
    system = pendulum()
    wanted = solve_ivp(pendulum_rates, (0, 0.2), [0.2, 6.0], rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]
    missed = []
    for h in (4e-3, 2e-3):
        sim = preloaded(system, h)
        sim.run(0.2)
        missed.append(np.abs((sim["hinge.angle"], sim["hinge.rate"]) - wanted).max())
    assert missed[1] < 3e-5
    assert np.log2(missed[0] / missed[1]) == pytest.approx(2.0, abs=0.1)


def test_a_hinge_that_holds_stays_where_it_is():
    """A hinge at rest within the cone of friction: no creep in 100 s (the limit is mu r N = 0.29 N m)."""
    sim = rtmbs.Simulation(pendulum(0.03, 0.0, 1e-2), 1e-2, method=TRBDF2)
    sim.run(2.0)
    assert 0.9 * MU * PIN / ARM > 0.03
    sim.h = 0.1
    held = sim.run(102.0, record=rtmbs.Every(10.0))
    assert np.ptp(held["hinge.angle"]) < 1e-9
    assert held["hinge.angle"][-1] == pytest.approx(0.03, abs=1e-3)
    with pytest.raises(InputError, match="follows the reaction"):
        sim.inputs["bearing.load"] = 1.0
    with pytest.raises(InputError, match="follows its joint"):
        rtmbs.Simulation(sim.system, 1e-2).run(0.1, tolerance=1e-6)
    with pytest.raises(InputError, match="follows its joint"):
        rtmbs.linearise(sim)


def test_a_slide_on_a_slope_moves_by_coulombs_law():
    """Skew axes of the world and a bearing of finite length: the block hangs off the slide by an arm."""
    skew = 0.7
    turn = np.array([[np.cos(skew), -np.sin(skew), 0], [np.sin(skew), np.cos(skew), 0], [0, 0, 1]])
    axis = turn @ (1.0, 0, 0)
    slope, mu, arm, length = 0.6, 0.2, 0.15, 0.5
    gravity = G * (np.sin(slope) * axis + np.cos(slope) * np.array([0, 0, -1.0]))
    model = rtmbs.Model("slide", gravity=gravity)
    model.add_body("block", mass=3.0, inertia=(0.1, 0.1, 0.1), position=turn @ (0, arm, 0))
    model.add_joint("slide", rtmbs.Prismatic(axis=axis), "ground", "block", point=(0, 0, 0))
    model.add_friction("guide", "slide", coefficient=mu, length=length, radius=0.1)
    sim = rtmbs.Simulation(model.compile(), 1e-3, method=TRBDF2)
    across = 3.0 * G * np.cos(slope)
    sim.run(0.2)
    v0 = sim["slide.rate"]
    sim.run(0.4)
    # moments about the joint point, which moves with the block: the weight and the inertia force act at the arm
    a = (sim["slide.rate"] - v0) / 0.2
    bent = 3.0 * arm * abs(G * np.sin(slope) - a)
    friction = mu * (across + 2.0 * bent / length + across * arm / 0.1)
    assert a == pytest.approx(G * np.sin(slope) - friction / 3.0, rel=2e-4)


def test_a_pin_that_slides_and_turns_has_friction_against_its_slip():
    """With I = m r^2 the slip is that of a puck: it loses mu g along its direction, on the surface of the pin."""
    r, mu = 0.02, 0.25
    model = rtmbs.Model("pin", gravity=(0, 0, -G))
    model.add_body("pin", mass=1.5, inertia=(1.5 * r * r, 1e-3, 1e-3))
    model.add_joint("sleeve", rtmbs.Cylindrical(axis=(1, 0, 0)), "ground", "pin", point=(0, 0, 0))
    model.add_friction("surface", "sleeve", coefficient=mu, radius=r, stiffness=1e6)
    model.set_initial("sleeve", rate=(0.3, 0.4 / r))
    sim = rtmbs.Simulation(model.compile(), 5e-4, method=TRBDF2)
    sim.run(0.1)
    left = 0.5 - mu * G * 0.1
    slip = np.array([sim["sleeve.displacement_rate"], r * sim["sleeve.angle_rate"]])
    np.testing.assert_allclose(slip, left * np.array([0.6, 0.8]), rtol=1e-3)
    stops = 0.5 / (mu * G)
    sim.run(0.3)
    assert stops < 0.3
    assert sim["sleeve.displacement"] == pytest.approx(0.6 * 0.5 * 0.5 * stops, rel=1e-3)


def test_a_ball_joint_that_spins_loses_its_spin_to_its_load():
    r, mu = 0.03, 0.2
    model = rtmbs.Model("ball", gravity=(0, 0, -G))
    model.add_body("top", mass=2.0, center_of_mass=(0, 0, -0.1), inertia=(0.05, 0.05, 0.004))
    model.add_joint("ball", rtmbs.Spherical(), "ground", "top", point=(0, 0, 0))
    model.add_friction("socket", "ball", coefficient=mu, radius=r, stiffness=1e4)
    model.set_initial("ball", rate=(0, 0, 5.0))
    sim = rtmbs.Simulation(model.compile(), 1e-3, method=TRBDF2)
    sim.run(0.1)
    assert sim["top.angular_velocity"][2] == pytest.approx(5.0 - mu * r * 2.0 * G / 0.004 * 0.1, rel=1e-3)


def test_a_clutch_brings_two_shafts_to_one_speed():
    model = rtmbs.Model("clutch", gravity=(0, 0, 0))
    for name, inertia in (("engine", 0.2), ("load", 0.5)):
        model.add_body(name, mass=1.0, inertia=(0.3, 0.3, inertia))
        model.add_joint(f"{name}_shaft", rtmbs.Revolute(axis=(0, 0, 1)), "ground", name, point=(0, 0, 0))
    model.add_clutch("clutch", "engine_shaft", "load_shaft", coefficient=0.4, radius=0.1, faces=2, stiffness=2e4)
    model.set_initial("engine_shaft", rate=50.0)
    sim = rtmbs.Simulation(model.compile(), 1e-3, method=TRBDF2)
    sim.run(0.1)
    assert sim["load_shaft.rate"] == 0.0
    sim.inputs["clutch.normal_force"] = 300.0
    torque = 0.4 * 0.1 * 2 * 300.0
    sim.run(0.2)
    assert sim["load_shaft.rate"] == pytest.approx(torque * 0.1 / 0.5, rel=1e-3)
    sim.run(1.0)  # 50 / (torque (1/0.2 + 1/0.5)) = 0.298 s
    for shaft in ("engine", "load"):
        assert sim[f"{shaft}_shaft.rate"] == pytest.approx(0.2 * 50.0 / 0.7, rel=1e-6)


def test_teeth_with_play_touch_after_the_play():
    """A wheel runs free through half the play, hits the other wheel with the ratio 2, and leaves it by restitution."""
    c = contact.dissipation_for(0.5, 2.0)
    model = rtmbs.Model("gear", gravity=(0, 0, 0))
    for name, inertia in (("pinion", 0.01), ("wheel", 0.08)):
        model.add_body(name, mass=1.0, inertia=(0.3, 0.3, inertia))
        model.add_joint(f"{name}_shaft", rtmbs.Revolute(axis=(0, 0, 1)), "ground", name, point=(0, 0, 0))
    model.add_backlash("teeth", "pinion_shaft", "wheel_shaft", 2.0, play=0.02, stiffness=1e5, dissipation=c)
    model.set_initial("pinion_shaft", rate=2.0)
    sim = rtmbs.Simulation(model.compile(), 1e-5, method=TRBDF2)
    sim.run(0.0049)
    assert sim["wheel_shaft.rate"] == 0.0
    sim.run(0.009)  # the impact lasts about 1 ms
    impulse = 1.5 * 2.0 / (1 / 0.01 + 4 / 0.08)
    assert sim["pinion_shaft.rate"] == pytest.approx(2.0 - impulse / 0.01, abs=1e-3)
    assert sim["wheel_shaft.rate"] == pytest.approx(-2.0 * impulse / 0.08, rel=2e-3)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"coefficient": -0.1, "radius": 0.1}, "coefficient is -0.1"),
        ({"coefficient": 0.1}, "give radius="),
        ({"coefficient": 0.1, "radius": 0.0}, "radius is 0"),
        ({"limit": 1.0, "radius": 0.1}, "belong to coefficient="),
        ({"coefficient": 0.1, "radius": 0.1, "joint": "turn"}, "with coefficient= it must be"),
    ],
)
def test_impossible_bearings_are_refused(given, word):
    model = rtmbs.Model("m")
    model.add_body("a", mass=1.0, inertia=(1, 1, 1))
    model.add_body("b", mass=1.0, inertia=(1, 1, 1))
    model.add_joint("hinge", rtmbs.Revolute(axis=(1, 0, 0)), "ground", "a")
    model.add_joint("turn", rtmbs.Universal(axis_a=(1, 0, 0), axis_b=(0, 1, 0)), "a", "b")
    with pytest.raises(ModelError, match=word):
        model.add_friction("f", given.pop("joint", "hinge"), **given)
    for change, sentence in (({"radius": 0.0}, "radius is 0"), ({"faces": 0}, "faces is 0")):
        with pytest.raises(ModelError, match=sentence):
            model.add_clutch("c", "hinge", **({"coefficient": 1, "radius": 0.1, "stiffness": 1.0} | change))
    for change, sentence in (((0.0, 0.1), "ratio is 0"), ((1.0, -0.1), "play is -0.1")):
        with pytest.raises(ModelError, match=sentence):
            model.add_backlash("g", "hinge", "hinge", change[0], play=change[1], stiffness=1.0)
