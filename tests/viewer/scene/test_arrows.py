"""Arrows of forces, moments and reactions: their lengths are those that the legend says."""

import numpy as np
import pytest

import rtmbs
from rtmbs.simulation import Simulation
from rtmbs.viewer.scene.scene import Scene
from rtmbs.viewer.scene.shapes import LONGEST, Arrows, Reactions, Scale, round_number
from rtmbs.viewer.scene.theme import WHITE
from rtmbs.viewer.session.commands import ShowReactions
from rtmbs.viewer.session.connect import playback
from rtmbs.viewer.session.describe import describe
from rtmbs.viewer.session.playback import PlaybackConnection
from rtmbs.viewer.session.worker import ManualConnection
from tests.viewer.mechanisms import motored

RADIUS = 0.01


def scale() -> Scale:
    return Scale(describe(Simulation(motored().compile())))


def lengths(arrows) -> np.ndarray:
    """Lengths from the begin of a shaft to the tip of its head."""
    shaft, head = arrows.batches
    ends = head.placement[: len(shaft)]
    return np.linalg.norm(ends[:, :, 3] + ends[:, :, 2] - shaft.placement[:, :, 3], axis=1)


def test_an_arrow_is_as_long_as_the_legend_says():
    one, arrows = scale(), Arrows(RADIUS, WHITE.force)
    one.choose(50.0)
    arrows.lay(np.zeros((2, 3)), np.array([(0, 0, 25.0), (40.0, 0, 0)]), one, one.newtons)
    assert lengths(arrows) == pytest.approx([0.5, 0.8])
    assert one.sentence().startswith("arrows: 1 m is 50 N, with two heads ")
    one.newtons = 5e3
    assert one.sentence().startswith("arrows: 1 m is 5 kN, ")


def test_arrows_that_cannot_be_drawn_are_left_out_and_huge_ones_are_cut():
    one, arrows = scale(), Arrows(RADIUS, WHITE.force)
    one.choose(1.0)
    vectors = np.array([(0, 0, 0), (np.nan, 0, 0), (0, 1e-6, 0), (0, 1e9, 0), (np.inf, 0, 0)])
    arrows.lay(np.zeros((5, 3)), vectors, one, one.newtons)
    assert lengths(arrows) == pytest.approx([LONGEST * one.length])


def test_a_moment_has_two_heads_and_an_applied_force_ends_where_it_acts():
    one, moment, force = scale(), Arrows(RADIUS, WHITE.moment, double=True), Arrows(RADIUS, WHITE.force)
    one.choose(10.0)
    point = np.array([[1.0, 2.0, 3.0]])
    for arrows in (moment, force):
        arrows.lay(point, np.array([(0, 0, 5.0)]), one, 10.0, ends=arrows is force)
    assert (len(moment.batches[1]), len(force.batches[1])) == (2, 1)
    head = force.batches[1].placement[0]
    assert head[:, 3] + head[:, 2] == pytest.approx((1, 2, 3))
    assert moment.batches[0].placement[0, :, 3] == pytest.approx((1, 2, 3))


@pytest.mark.parametrize(("value", "expected"), [(1.0, 1.0), (1.3, 1.0), (1.6, 2.0), (34.0, 50.0), (0.0081, 0.01)])
def test_scales_are_round(value, expected):
    assert round_number(value) == pytest.approx(expected)


def test_steps_go_through_the_round_numbers_and_back():
    one = scale()
    one.choose(10.0)
    seen = []
    for up in (True, True, True, False, False, False):
        one.step(up)
        seen.append(one.newtons)
    assert seen == pytest.approx([20.0, 50.0, 100.0, 50.0, 20.0, 10.0])


def test_a_scale_fits_once_and_not_after_the_user_chose():
    one, wrench = scale(), np.array([(0, 300.0, 0, 0, 0, 6.0)])
    one.fit(np.full((1, 6), np.nan))
    before = one.newtons
    one.fit(wrench)
    fitted = one.newtons
    assert fitted != before
    assert 0.3 * one.length < 300.0 / fitted < 1.2 * one.length
    one.fit(10.0 * wrench)
    assert one.newtons == fitted
    other = scale()
    other.choose(7.0)
    other.fit(wrench)
    assert other.newtons == 7.0


def test_a_scale_that_grows_follows_forces_that_become_much_larger():
    one, wrench = scale(), np.array([(0, 300.0, 0, 0, 0, 6.0)])
    one.grows = True
    one.fit(wrench)
    fitted, proportion = one.newtons, one.moments / one.newtons
    for factor in (2.0, 0.1):
        one.fit(factor * wrench)
        assert one.newtons == fitted, "arrows that the picture holds change nothing"
    one.fit(20.0 * wrench)
    assert 0.7 * one.length < 6000.0 / one.newtons < 2.0 * one.length
    assert one.moments / one.newtons == pytest.approx(proportion, rel=1.0)
    one.choose(7.0)
    one.fit(1e6 * wrench)
    assert one.newtons == 7.0


def test_torques_on_a_body_turn_with_it():
    model = rtmbs.Model("top")
    body = model.add_body("body", mass=1.0, inertia=(0.1, 0.1, 0.1), orientation=(np.cos(0.5), np.sin(0.5), 0, 0))
    model.add_joint("free", rtmbs.Floating(), "ground", body)
    model.add_force("twist", rtmbs.Wrench(torque=rtmbs.Input((0, 0, 2.0)), axes="body"), body=body)
    connection = ManualConnection(Simulation(model.compile()))
    connection.should_step()
    scene = Scene(connection.describe(), WHITE, connection.latest())
    scene.scale.choose(10.0)
    scene.show(connection.latest())
    shaft = scene._forces._moments.batches[0].placement[0, :, 2]
    assert shaft / np.linalg.norm(shaft) == pytest.approx((0, -np.sin(1.0), np.cos(1.0)))
    assert scene.has_arrows()
    scene.shown["forces"] = False
    assert not scene.has_arrows()


# ----------------------------------------------------------------------------------------------------------- reactions


def test_reactions_come_only_when_they_are_asked_for():
    sim = Simulation(motored().compile())
    connection = ManualConnection(sim)
    connection.should_step()
    assert connection.latest().reactions.shape == (4, 6)
    assert np.all(np.isnan(connection.latest().reactions))
    connection.send(ShowReactions(True))
    connection.should_step()
    for _ in range(5):
        connection.sync(sim, sim.step())
    expected = [sim.reaction(name) for name in sim.system.joints]
    np.testing.assert_allclose(connection.latest().reactions, expected, rtol=1e-9, atol=1e-9)
    connection.send(ShowReactions(False))
    connection.should_step()
    assert np.all(np.isnan(connection.latest().reactions))


def test_a_recording_shows_the_reactions_that_it_has():
    model = motored()
    result = Simulation(model.compile()).run(0.05)
    connection = playback(result, model)
    assert np.all(np.isnan(connection.latest().reactions))
    connection.send(ShowReactions(True))
    names = [joint.name for joint in connection.describe().joints]
    for name, found in zip(names, connection.latest().reactions, strict=True):
        np.testing.assert_array_equal(found, result[f"{name}.reaction"][0])
    plain = PlaybackConnection(result)
    plain.send(ShowReactions(True))
    assert plain.latest().reactions.shape == (0, 6)


def test_reaction_arrows_begin_at_the_joints():
    sim = Simulation(motored().compile())
    connection = ManualConnection(sim)
    connection.send(ShowReactions(True))
    connection.should_step()
    description, frame = connection.describe(), connection.latest()
    reactions, one = Reactions(description, RADIUS, WHITE), Scale(description)
    reactions.show(frame, one)
    shafts = reactions._forces.batches[0].placement
    foot = [joint.name for joint in description.joints].index("foot")
    force = frame.reactions[foot, :3]
    assert np.linalg.norm(force) > 1.0
    starts = np.linalg.norm(shafts[:, :, 3] - (0.0, 1.0, 0.0), axis=1)
    along = shafts[np.argmin(starts), :, 2]
    assert starts.min() < 1e-9
    assert along / np.linalg.norm(along) == pytest.approx(force / np.linalg.norm(force), abs=1e-9)
