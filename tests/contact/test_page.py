"""The code of docs/contact.md runs, and does what the page says beside it."""

import re
from pathlib import Path

import numpy as np
import pytest

import rtmbs

PAGE = Path(__file__).parents[2] / "docs" / "contact.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
G = 9.81
WORDS = {  # that one block of the page has
    "slope": 'Model("block"', "pile": 'Model("pile"', "cam": 'Model("cam"', "restitution": "dissipation_for",
    "knee": 'Model("knee"', "pendulum": "coefficient=0.3, radius=0.05", "drive": 'Model("drive"',
    "ball": "add_rigid_contact", "impulse": "def bounce", "gripper": 'Model("gripper"', "atwood": 'Model("atwood"',
    "drum": "capstan_coefficient", "heap": 'Model("heap"',
}  # fmt: skip


def shown(name, **names):
    """Run a block of the page, and return its names."""
    (block,) = (one for one in BLOCKS if WORDS[name] in one)
    names |= {"np": np, "rtmbs": rtmbs}
    exec(compile(block, "docs/contact.md", "exec"), names)
    return names


def test_every_block_is_run_here():
    for block in BLOCKS:
        assert sum(word in block for word in WORDS.values()) == 1, block
    run = re.findall(r'shown\("(\w+)"', Path(__file__).read_text(encoding="utf-8"))
    assert set(run) == set(WORDS)


def test_the_block_stays_on_its_slope():
    names = shown("slope")
    result = names["result"]
    late = result["block.position"][result.t > 0.5]
    np.testing.assert_allclose(late[:, :2], late[:1, :2] + 0.0 * late[:, :2], atol=1e-9)  # it stays
    force = sum(result[f"floor_{k}.force"][-1] for k in range(1, 9))
    np.testing.assert_allclose(force, (-8.0, 0.0, 18.0), atol=1e-6)  # what gravity of 2 kg asks for
    assert np.arctan2(4.0, 9.0) == pytest.approx(np.radians(24.0), abs=5e-3)


def test_the_pile_comes_to_rest():
    pytest.importorskip("coal")
    sim = rtmbs.Simulation(shown("pile")["m"].compile(), 2e-3, method=rtmbs.TRBDF2())
    result = sim.run(0.6)
    for k in range(3):
        assert np.linalg.norm(sim[f"box{k}.velocity"]) < 1e-3
    weights = [sum(result[f"c{k}_{i}.normal_force"][-1] for i in range(1, 9 if k == 0 else 5)) for k in range(3)]
    np.testing.assert_allclose(weights, G * np.array((3.0, 2.0, 1.0)), rtol=1e-2)


def test_the_cam_presses_its_follower():
    model = shown("cam")["m"]
    model.set_initial("guide", rate=0.2)
    result = rtmbs.Simulation(model.compile(), 1e-3, method=rtmbs.TRBDF2()).run(0.6)
    e, reach, angle = 0.02, 0.07, result["shaft.angle"]
    lift = e * np.sin(angle) + np.sqrt(reach**2 - (e * np.cos(angle)) ** 2)
    np.testing.assert_allclose(result["follower.position"][:, 1], lift, atol=2e-4)  # within penetration and play


def test_dissipation_gives_the_restitution():
    c, v = shown("restitution")["c"], 1.5
    x = c * v
    assert x - np.log1p(x) == pytest.approx(-0.7 * x - np.log1p(-0.7 * x), abs=1e-12)


def test_the_knee_stops():
    sim = rtmbs.Simulation(shown("knee")["m"].compile(), 1e-3, method=rtmbs.TRBDF2())
    sim.inputs["bearing.limit"] = 0.1
    sim.set("knee.rate", -8.0)
    result = sim.run(0.5)
    assert -0.3 < result["knee.angle"].min() < -0.1


def test_the_pendulum_is_damped_by_its_load():
    sim = shown("pendulum")["sim"]
    sim.step()
    assert sim.inputs["bearing.load"] == pytest.approx(0.05 * 2.0 * G, rel=1e-2)  # radius times the force on the pin


def test_the_clutch_slips_by_its_normal_force():
    sim = shown("drive")["sim"]
    sim.set("engine.rate", 20.0)
    sim.inputs["clutch.normal_force"] = 300.0
    sim.run(2e-4)  # before the teeth meet
    torque = 0.4 * 0.1 * 2 * 300.0
    assert sim["engine.rate"] == pytest.approx(20.0 - torque / 0.2 * 2e-4, abs=1e-6)
    result = sim.run(0.05)
    play = result["engine.angle"] + 2.0 * result["load.angle"]
    give = 20.0 * np.sqrt(1.0 / (1.0 / 0.2 + 4.0 / 0.5) / 1e5)  # of the teeth, without clutch and dissipation
    assert 0.005 < np.abs(play).max() < 0.005 + give


def test_the_ball_bounces_by_its_restitution():
    names = shown("ball")
    first = names["first"]
    assert first.t == pytest.approx(np.sqrt(2.0 * 0.5 / G), rel=1e-9)
    speed = np.sqrt(2.0 * G * 0.5)
    assert first.impulses[0] == pytest.approx(1.8 * speed, rel=1e-9)
    assert first.loss == pytest.approx(0.5 * speed**2 * (1.0 - 0.64), rel=1e-9)


def test_the_impulse_swings_the_leg_and_the_event_turns_it_back():
    knee = shown("knee")["m"]
    names = shown("impulse", m=knee)
    sim, swings = names["sim"], names["swings"]
    assert swings.t[-1] == pytest.approx(1.0)
    assert sim["knee.angle"] <= 2.0 + 1e-6


def test_the_gripper_holds_and_lets_go():
    sim = shown("gripper")["sim"]
    assert sim.t == pytest.approx(0.5)  # both fall freely, so the load never reaches 60 N
    assert sim["arm.position"][2] == pytest.approx(-0.5 * G * 0.4**2, rel=1e-3)
    fallen = 0.5 * G * 0.1**2  # before the grip
    np.testing.assert_allclose(sim["box.position"] - sim["arm.position"], (0.0, 0.0, -0.3 - fallen), atol=1e-8)


def test_the_atwood_machine_runs_by_its_masses_and_wheel():
    sim = shown("atwood")["sim"]
    sim.run(0.4)
    wanted = (3.0 - 2.0) * G / (3.0 + 2.0 + 0.01 / 0.1**2)
    assert -sim["left.velocity"][2] == pytest.approx(0.4 * wanted, rel=2e-3)


def test_the_drum_slides_at_the_capstan_ratio():
    model = shown("atwood")["m"]
    c, grip = shown("drum", m=model)["coefficient"], np.exp(0.3 * np.pi)
    assert c * (grip + 1.0) == pytest.approx(grip - 1.0, rel=1e-12)  # half a turn: the axle bears the sum of the pulls


def test_the_heap_is_pressed_from_below():
    """Momentum: the ground gives what gravity and the fall of the mass centre do not take."""
    sim = shown("heap")["sim"]
    names = [f"ball{k}" for k in range(10)]
    before, start = sum(sim[f"{name}.velocity"][2] for name in names), sim.t
    pressed = []
    for _ in range(200):
        sim.step()
        touching = rtmbs.touching(sim, "heap")
        pressed.append(touching.forces[touching.members[:, 0] == 0][:, 2].sum())
    after = sum(sim[f"{name}.velocity"][2] for name in names)
    wanted = 0.5 * (after - before) + 5.0 * G * (sim.t - start)
    assert np.sum(pressed) * sim.h == pytest.approx(wanted, rel=2e-2)
    assert max(pressed) > 5.0 * G  # they meet the ground
