"""Far from the origin of the world everything is as at home: motion, reactions, energies, laws, threads, pictures."""

import numpy as np
import pytest

import rtmbs
from rtmbs.library.linkages import add_bar

FAR = np.array([3.0, -2.0, 1.0]) * 2.0**21  # [m] about 7,800 km, exact in sums with the places below
HOME = np.zeros(3)
H, END = 2e-3, 0.2


def drag(t, kinematics, parameters):
    return -parameters["c"] * kinematics.v, np.zeros(3)


def yard(place, trace=True):
    """A bracket welded to ground carries a four-bar with a spring; beside it a body floats with a drag on it."""
    m = rtmbs.Model("yard", gravity=(0.5, -1.0, -9.0))
    corners = [place + np.array(p) for p in ((0, 0, 1.0), (0, 0.25, 1.5), (0.125, 1.0, 1.75), (0, 1.0, 1.0))]
    m.add_body("bracket", mass=3.0, inertia=(0.1, 0.1, 0.1), position=place)
    m.add_joint("weld", rtmbs.Fixed(), m.ground, "bracket", point=place)
    for name, a, b, mass in (("crank", 0, 1, 1.0), ("rod", 1, 2, 0.5), ("rocker", 3, 2, 2.0)):
        add_bar(m, name, corners[a], corners[b], mass, axial=0.01)
    m.add_joint("a", rtmbs.Revolute((1, 0, 0)), "bracket", "crank", point=corners[0])
    m.add_joint("b", rtmbs.Spherical(), "crank", "rod", point=corners[1])
    m.add_joint("d", rtmbs.Revolute((1, 0, 0.25)), "bracket", "rocker", point=corners[3])
    m.add_joint("c", rtmbs.Universal((1, 0, 0), (0, 0, 1)), "rod", "rocker", point=corners[2], cut=True)
    m.set_initial("a", rate=5.0)
    low = m.add_marker("low", "bracket", np.add(place, (0, 0.5, 0.5)))
    m.add_force("coil", rtmbs.SpringDamper(200.0, 1.0), between=(low, m.add_marker("high", "rod", corners[2])))
    add_bar(m, "car", np.add(place, (4, 0, 0)), np.add(place, (4, 2, 0.5)), 5.0, axial=0.02)
    m.add_joint("free", rtmbs.Floating(), m.ground, "car", point=np.add(place, (4, 0, 0)))
    m.set_initial("free", rate=(1.0, 2.0, 0.5, 1.0, -2.0, 0.5))
    m.add_force("drag", drag, body="car", point=(0, 1, 0), parameters={"c": 2.0}, trace=trace)
    return m


def same(home, away, place=0.0, precise=1e-9):
    size = max(np.abs(home).max(), 1.0)
    np.testing.assert_allclose(away - place, home, atol=precise * size + 8 * np.spacing(np.abs(place).max()), rtol=0)


@pytest.mark.parametrize("trace", [True, False])
def test_every_channel_is_that_of_home(trace):
    home, away = (rtmbs.Simulation(yard(place, trace).compile(), h=H).run(END) for place in (HOME, FAR))
    for name in home.names():
        precise = 1e-6 if "acceleration" in name or "reaction" in name or "violation" in name else 1e-9
        if name in ("energy.weight", "energy.total"):
            lifted = (3.0 + 1.0 + 0.5 + 2.0 + 5.0) * np.array((0.5, -1.0, -9.0)) @ FAR
            np.testing.assert_allclose(away[name] - away[name][0], home[name] - home[name][0], atol=1e-12 * abs(lifted))
            continue
        if name == "momentum.angular_about_origin":
            moved = np.cross(FAR, home["momentum.linear"])
            size = 1e-9 * np.abs(moved).max()
            np.testing.assert_allclose(away[name], home[name] + moved, rtol=0, atol=size)
            continue
        absolute = name.split(".")[0] in ("bracket", "crank", "rod", "rocker", "car", "low", "high")
        world = name == "mass_center.position" or (absolute and name.endswith((".position", ".mass_center")))
        same(home[name], away[name], FAR if world else 0.0, precise)


def test_the_reaction_of_a_weld_balances_what_hangs_on_it():
    for place in (HOME, FAR):
        first = rtmbs.Simulation(yard(place).compile(), h=H).run(H)
        joints = first["a.reaction"][0, :3] + first["d.reaction"][0, :3]
        pull = first["coil.pull"][0] * (first["high.position"][0] - first["low.position"][0]) / first["coil.length"][0]
        weight = 3.0 * np.array((0.5, -1.0, -9.0))
        np.testing.assert_allclose(first["weld.reaction"][0, :3] - joints + pull + weight, 0.0, atol=1e-6)


def test_parts_on_threads_and_as_a_whole_agree_far_away():
    results = [rtmbs.Simulation(yard(FAR).compile(), h=H, threads=threads).run(END) for threads in (1, 2)]
    for name in ("a.angle", "car.mass_center", "weld.reaction"):
        same(results[0][name] - results[1][name], 0.0 * results[0][name])


def test_a_law_may_be_attached_to_another_part_far_away():
    home, away = (rtmbs.Simulation(yard(place).compile(), h=H) for place in (HOME, FAR))
    results = []
    for simulation in (home, away):
        simulation.run(END)
        simulation.attach("drag", "rod", point=(0, 0.25, 0))
        results.append(simulation.run(2 * END))
    for name in ("a.rate", "drag.force", "car.velocity", "weld.reaction"):
        same(results[0][name], results[1][name], precise=1e-7)


def test_a_body_may_leave_at_great_speed():
    """Nothing but the place differs for who moves along: 0.2 s at 10 km/s pass through thousands of cells."""

    def run(speed):
        m = rtmbs.Model("away", gravity=(0, 0, -9.0))
        add_bar(m, "car", (0, 0, 0), (0, 2, 0.5), 5.0, axial=0.02)
        add_bar(m, "arm", (0, 2, 0.5), (0.5, 2, 0), 1.0, axial=0.02)
        m.add_joint("free", rtmbs.Floating(), m.ground, "car", point=(0, 0, 0))
        m.add_joint("elbow", rtmbs.Revolute((0, 1, 0.5)), "car", "arm", point=(0, 2, 0.5))
        m.set_initial("free", rate=(speed, 0.5 * speed, 0.0, 1.0, -2.0, 0.5))
        m.set_initial("elbow", rate=3.0)
        return rtmbs.Simulation(m.compile(), h=H).run(END)

    home, away = run(0.0), run(1e4)
    for name, precise in (("elbow.angle", 1e-9), ("elbow.acceleration", 1e-6), ("elbow.reaction", 1e-6)):
        same(home[name], away[name], precise=precise)
