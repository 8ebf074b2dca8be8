"""Reactions that balance leaves free: joints share as springs of equal stiffness, in every analysis, for every cut."""

import numpy as np
import pytest

import rtmbs
from bench.campaigns.campaign import Tally
from bench.campaigns.reactions import KINDS, judged
from rtmbs.errors import ModelError, UnknownNameError
from rtmbs.results import reactions as reactions_module
from rtmbs.results import self_stress
from rtmbs.results.self_stress import adopt_bases

G = 9.81
HINGES = ("left", "right")


def door(cut="", closure=None, along=2, stiffness=None, places=(-0.5, 0.5)):
    """Return a door of 10 kg on hinges of the x axis, mass centre 0.1 m below; gravity along -``along``."""
    model = rtmbs.Model("door", gravity=tuple(-G * np.eye(3)[along]))
    model.add_body("door", mass=10.0, inertia=(1, 1, 1), center_of_mass=(0, 0, -0.1))
    for name, x in zip(HINGES, places, strict=True):
        hinge = rtmbs.Revolute(axis=(1, 0, 0))
        model.add_joint(name, hinge, model.ground, "door", point=(x, 0, 0), cut=name == cut, closure=closure)
    for name, values in (stiffness or {}).items():
        model.set_reaction_stiffness(name, *values)
    return model


def parallelogram(order="abcd", lean=0.0):
    """Return a parallelogram that lies flat, its hinges upright and its weight along them."""
    model = rtmbs.Model("flat")
    A, D = np.zeros(3), np.array([0.8, 0.0, 0.0])
    B = 0.5 * np.array([lean, np.sqrt(1.0 - lean**2), 0.0])
    C = D + B
    for name, p, q, mass in (("first", A, B, 1.0), ("bar", B, C, 4.0), ("second", D, C, 1.0)):
        model.add_body(name, mass=mass, center_of_mass=(q - p) / 2, inertia=(0.1,) * 3, position=p)
    ends = {
        "a": ("ground", "first", A),
        "b": ("first", "bar", B),
        "c": ("bar", "second", C),
        "d": ("ground", "second", D),
    }
    for name in order:
        one, other, point = ends[name]
        model.add_joint(name, rtmbs.Revolute(axis=(0, 0, 1)), one, other, point=point)
    return model


@pytest.mark.parametrize("closure", [None, "line", "point"])
@pytest.mark.parametrize("cut", ["", *HINGES])
def test_two_hinges_of_a_door_carry_half_each_in_every_analysis(cut, closure):
    system = door(cut, closure).compile()
    sim = rtmbs.Simulation(system, h=1e-3)
    half = (0.0, 0.0, 0.5 * 10.0 * G, 0.0, 0.0, 0.0)
    load, rest = rtmbs.workload(sim, 0.01), rtmbs.equilibrium(system)
    result = sim.run(0.01)
    for name in HINGES:
        found = [result[f"{name}.reaction"][-1], sim.reaction(name), sim[f"{name}.reaction"]]
        found += [load.reaction(name)[-1], rest.loads[name]]
        for one in found:
            np.testing.assert_allclose(one, half, atol=1e-9)
        assert result[f"{name}.reaction_doubtful"][-1].tolist() == [1, 1, 1, 0, 1, 1]


def test_inverse_dynamics_shares_likewise():
    """A rectangle is symmetric, whatever is cut; a parallelogram that leans is not."""
    times, found = [0.0, 0.1, 0.2], {}
    for order, given in (("abcd", "a"), ("dcba", "d")):
        found[order] = rtmbs.inverse_dynamics(parallelogram(order).compile(), {given: rtmbs.Sine(0.3, 2.0)}, times)
    one = found["abcd"]
    for name in "abcd":
        other = found["dcba"].reaction(name)  # driven elsewhere, which loads the plane alone
        np.testing.assert_allclose(one.reaction(name)[:, 2:5], other[:, 2:5], atol=1e-8)
        np.testing.assert_allclose(one.reaction(name), one.result[f"{name}.reaction"], atol=1e-9)
    both = one.reaction("a"), one.reaction("d")
    np.testing.assert_allclose([both[0][0, 2], both[1][0, 2]], 3.0 * G, rtol=1e-9)
    np.testing.assert_allclose(both[0][:, 2] + both[1][:, 2], 6.0 * G, rtol=1e-9)
    assert np.all(np.abs(both[0][1:, 2] - both[1][1:, 2]) > 0.1)


@pytest.mark.parametrize("order", ["abcd", "dcba", "cadb"])
def test_a_flat_parallelogram_hangs_on_both_ground_hinges(order):
    """Symmetry halves the weight; nothing depends on which joint is cut."""
    result = rtmbs.Simulation(parallelogram(order).compile(), h=1e-3).run(0.05)
    one, other = result["a.reaction"][-1], result["d.reaction"][-1]
    np.testing.assert_allclose((one[2], other[2]), 3.0 * G, rtol=1e-9)
    np.testing.assert_allclose(one[3:], other[3:], atol=1e-9)
    for name in "abcd":
        assert result[f"{name}.reaction_doubtful"][-1].tolist() == [0, 0, 1, 1, 1, 0]


def test_stiffness_of_the_user_divides_what_acts_along_the_hinges():
    given = {"left": (3e7, 1e6), "right": (1e7, 1e6)}
    sim = rtmbs.Simulation(door(along=0, stiffness=given).compile(), h=1e-3)
    np.testing.assert_allclose([sim[f"{name}.reaction"][0] for name in HINGES], [75.0 * 0.981, 25.0 * 0.981], rtol=1e-9)


def test_a_door_on_springs_by_hand():
    """Load at a third of the way: forces and moments of two equal springs each, from their own three equations."""
    model = door(places=(-0.25, 0.5))
    system = model.compile()
    sim = rtmbs.Simulation(system, h=1e-3)
    x, k, turn, weight = np.array([-0.25, 0.5]), 1.0, system.length**2, 10.0 * G
    # the door sinks by u and turns by p about y: forces k (u - x p), moments turn p; in balance with the weight at 0
    stiffness = np.array([[2.0 * k, -k * x.sum()], [-k * x.sum(), k * (x @ x) + 2.0 * turn]])
    u, p = np.linalg.solve(stiffness, [weight, 0.0])
    for name, place in zip(HINGES, x, strict=True):
        found = sim[f"{name}.reaction"]
        np.testing.assert_allclose(found, [0, 0, k * (u - place * p), 0, turn * p, 0], atol=1e-8)


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_bushings_that_grow_stiff(kind):
    tally = Tally()
    assert not judged(kind, tally)
    assert 0.0 < tally.worst["reactions"] < 1e-6


def test_parallel_gears_halve_their_force():
    model = rtmbs.Model("gears", gravity=(0, 0, 0))
    for name, x in (("one", 0.0), ("other", 1.0)):
        model.add_body(name, mass=1.0, inertia=(1.0, 1.0, 1.0), position=(x, 0, 0))
        model.add_joint(f"pin {name}", rtmbs.Revolute(axis=(0, 0, 1)), "ground", name, point=(x, 0, 0))
    model.add_force("motor", rtmbs.Motor(6.0), joint="pin one")
    for name in ("gear a", "gear b", "gear c"):
        model.add_gear(name, "pin one", "pin other", 2.0)
    model.set_reaction_stiffness("gear c", 1e8, 4e8 * model.compile().length ** 2)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    # one turns by q, the other by -q / 2: (1 + 1 / 4) q'' = 6, and the gears drive the other
    total = 0.5 * 6.0 / 1.25
    found = [sim[f"{name}.force"][1] for name in ("gear a", "gear b", "gear c")]
    np.testing.assert_allclose(np.abs(found), [total / 6.0, total / 6.0, total * 4.0 / 6.0], rtol=1e-9)


def test_two_drives_of_geared_wheels_share_a_torque():
    """Springs of equal stiffness: the drive of the loaded wheel, beside it gear and other drive in a row."""
    model = rtmbs.Model("geared", gravity=(0, 0, 0))
    for name, x in (("one", 0.0), ("other", 1.0)):
        model.add_body(name, mass=1.0, inertia=(1.0, 1.0, 1.0), position=(x, 0, 0))
        model.add_joint(f"pin {name}", rtmbs.Revolute(axis=(0, 0, 1)), "ground", name, point=(x, 0, 0))
        model.add_driver(f"drive {name}", rtmbs.ConstantRate(0.0), joint=f"pin {name}")
    model.add_force("motor", rtmbs.Motor(6.0), joint="pin one")
    model.add_gear("gear", "pin one", "pin other", 1.0)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    # k q + k (q - p) = 6 and k p = k (q - p): k q = 4 and k p = 2, the stiffness of the gear being k too
    found = [sim["drive one.force"], *sim["gear.force"], sim["drive other.force"]]
    np.testing.assert_allclose(np.abs(np.ravel(found)), [4.0, 2.0, 2.0, 2.0], rtol=1e-9)
    assert np.ravel(found)[:2].sum() == pytest.approx(-6.0, rel=1e-9)
    assert np.ravel(found)[2:].sum() == pytest.approx(0.0, abs=1e-9)


def test_sparse_and_dense_ways_agree(monkeypatch):
    def reactions():
        sim = rtmbs.Simulation(rtmbs.library.build("fourbar", ny=2, nz=2).compile(), h=1e-3)
        result = sim.run(0.01)
        return {name: result[name] for name in result.names() if name.endswith("reaction")}

    def door_reactions():
        sim = rtmbs.Simulation(door().compile(), h=1e-3)
        return {name: sim[f"{name}.reaction"] for name in HINGES}

    dense = reactions() | door_reactions()
    monkeypatch.setattr(reactions_module, "DENSE", 0)
    monkeypatch.setattr(self_stress, "LARGEST", 0)
    for name, values in (reactions() | door_reactions()).items():
        np.testing.assert_allclose(values, dense[name], atol=1e-9 * max(1.0, np.abs(dense[name]).max()), err_msg=name)


def test_what_is_known_at_a_singular_pose_does_not_decide_behind_it():
    """Bars in one line: another reaction is free there than beside it."""
    alone = rtmbs.Simulation(parallelogram(lean=0.6).compile(), h=1e-3)
    expected = alone.run(0.01)["d.reaction"]
    flat = rtmbs.Simulation(parallelogram(lean=1.0).compile(), h=1e-3)
    assert flat["a.reaction"][2] + flat["d.reaction"][2] == pytest.approx(6.0 * G, rel=1e-9)
    assert flat["d.reaction_doubtful"].tolist() == [1, 0, 1, 1, 1, 0]
    assert alone["d.reaction_doubtful"].tolist() == [0, 0, 1, 1, 1, 0]
    sim = rtmbs.Simulation(parallelogram(lean=0.6).compile(), h=1e-3)
    adopt_bases(sim.system, flat.system)
    np.testing.assert_allclose(sim.run(0.01)["d.reaction"], expected, atol=1e-8 * np.abs(expected).max())


def test_sensitivities_of_a_shared_reaction():
    def run(g):
        model = door(along=1)
        model.gravity = np.array([g[0], g[1], g[2]])
        return rtmbs.Simulation(model.compile(), h=1e-3)

    base = np.array([1.0, -G, -2.0])
    found = rtmbs.sensitivity(run(base), 0.05, of="left.reaction", by=["gravity"])
    step = 1e-3
    for k in range(3):
        way = step * np.eye(3)[k]
        more, less = (run(base + sign * way).run(0.05)["left.reaction"][-1] for sign in (1.0, -1.0))
        np.testing.assert_allclose(found.jacobian[:, k], (more - less) / (2.0 * step), atol=1e-4)


def test_a_stiffness_is_above_zero_and_of_an_element():
    model = door()
    with pytest.raises(ModelError, match="translation is -1; it must be above zero"):
        model.set_reaction_stiffness("left", -1.0, 1.0)
    with pytest.raises(ModelError, match="rotation is 0; it must be above zero"):
        model.set_reaction_stiffness(model.joints["left"], 1.0, 0.0)
    with pytest.raises(UnknownNameError, match="left"):
        model.set_reaction_stiffness("lift", 1.0, 1.0)


def test_a_model_file_holds_the_stiffness():
    model = door(stiffness={"left": (3e7, 1e6)})
    again = rtmbs.language.build(rtmbs.language.write(model)).model
    assert again.reaction_stiffness == {"left": (3e7, 1e6)}
