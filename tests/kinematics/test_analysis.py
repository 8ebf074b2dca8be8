"""Analysis: the compiled march against a readable one, free motion, singular poses, redundancy, options, bad input."""

import math
import pickle
import re
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from bench.measures import driven as m
from rtmbs import Model, Prismatic, Revolute, Spherical, language
from rtmbs.errors import InputError, ModelError, StartError
from rtmbs.kinematics import Analysis, Gear, JointCoordinate, MotionError, PointOnCurve, continuation
from rtmbs.kinematics.coordinates import SIZE
from rtmbs.model import ConstantRate, Function, Sine
from rtmbs.numerics.rotations.quaternions import rotations
from tests.cases import quick


def readable(analysis, times, inverse_of):
    """March with dense matrices and pseudo-inverses; the metric's inverse is worked out body by body."""
    equations, programs = analysis.equations, analysis.programs
    rows, n = np.flatnonzero(~equations.fixed_rows), equations.n
    q, rates, gain, found = analysis.assemble(times[0])[0], None, None, []
    order = [0, 1, *range(1, len(times))]
    for k, t in zip(order, times[order], strict=True):  # the first step comes twice
        drivers = equations.drivers_at(np.array([t]))[0]
        if k == 1 and len(found) == 2:
            q = corrected(times, found, *found.pop())
        elif k:
            q = predicted(times, found, k)
        for _ in range(20):
            J = programs.jacobian(q, drivers[0]).toarray()[rows]
            inverse = inverse_of(q)
            dq = inverse @ J.T @ np.linalg.solve(J @ inverse @ J.T, -programs.phi(q, drivers[0])[rows])
            q = q + dq
            if np.abs(dq).max() < 1e-13:
                break
        rates = velocity(programs, rows, inverse_of, q, drivers)
        h = 1e-5  # the derivative of the least velocity, by differences along the motion
        ahead, behind = (velocity(programs, rows, inverse_of, q + s * rates, moved(drivers, s)) for s in (h, -h))
        gain = (ahead - behind) / (2.0 * h)
        J, inverse = programs.jacobian(q, drivers[0]).toarray()[rows], inverse_of(q)
        side = programs.acceleration_side(q, rates, drivers)[rows]
        gain = gain + inverse @ J.T @ np.linalg.solve(J @ inverse @ J.T, side - J @ gain)
        assert len(gain) == n
        found.append((q, rates, gain))
    return [np.array(column) for column in zip(*found, strict=True)]


def moved(drivers, s):
    f, fd, fdd = drivers
    return np.array((f + s * fd + 0.5 * s * s * fdd, fd + s * fdd, fdd))


def velocity(programs, rows, inverse_of, q, drivers):
    J, inverse = programs.jacobian(q, drivers[0]).toarray()[rows], inverse_of(q)
    return inverse @ J.T @ np.linalg.solve(J @ inverse @ J.T, -programs.by_time(q, drivers[0], drivers[1])[rows])


def corrected(times, found, _, rates, gain):
    """Integrate the cubic through the first two rates and accelerations."""
    (before, v, a), h = found[0], times[1] - times[0]
    return before + 0.5 * h * (v + rates) + h * h / 12.0 * (a - gain)


def predicted(times, found, k):
    """Integrate the cubic through the last two rates and accelerations; Taylor at first."""
    (q, v, a), h = found[-1], times[k] - times[k - 1]
    taylor = q + h * v + 0.5 * h * h * a
    if k < 2:
        return taylor
    (_, v0, a0), before = found[-2], times[k - 1] - times[k - 2]
    B, E = v0 - v + a * before, (a0 - a) * before
    s = h / before
    return taylor + before * s**3 * ((E + 3 * B) / 3 + (E + 2 * B) * s / 4)


def by_size(equations):
    inverse = equations.sizes() ** 2
    inverse[:SIZE] = 0.0
    return lambda q: np.diag(inverse)


def by_mass(equations):
    """Return the inverse of the mass matrix: T = m/2 |v_center|^2 + 1/2 w . J w, and J_mean/2 (d|e|)^2."""

    def inverse(q):
        result = np.zeros((len(q), len(q)))
        for k, body in enumerate(list(equations.model.bodies.values())[1:], 1):
            at = slice(SIZE * k, SIZE * (k + 1))
            e = q[at][3:]
            w, x, y, z = e
            G = 2.0 * np.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])  # omega in body axes is G ed
            R, c = rotations(e[None])[0], body.center_of_mass
            tilde = np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]])
            center = np.hstack((np.eye(3), -R @ tilde @ G))
            spin = np.hstack((np.zeros((3, 3)), G))
            across = np.append(np.zeros(3), e)
            M = body.mass * center.T @ center + spin.T @ body.inertia @ spin
            M += np.linalg.eigvalsh(body.inertia).mean() * np.outer(across, across)
            result[at, at] = np.linalg.inv(M)
        return result

    return inverse


@pytest.mark.parametrize(("weights", "inverse"), [("size", by_size), ("mass", by_mass)])
def test_the_compiled_march_is_the_readable_one(weights, inverse):
    analysis = Analysis(m.free_arm(masses=True), weights=weights, tolerance=1e-12)
    times = np.linspace(0.0, 1.0, 26)
    motion = analysis.run_at(times)
    q, qd, qdd = readable(analysis, times, inverse(analysis.equations))
    np.testing.assert_allclose(motion.samples.q, q, rtol=0, atol=1e-8)
    np.testing.assert_allclose(motion.samples.qd, qd, rtol=0, atol=1e-8)
    np.testing.assert_allclose(motion.samples.qdd, qdd, rtol=0, atol=1e-6)
    assert motion.mobility.degrees_of_freedom == 8


@pytest.mark.parametrize("weights", ["size", "mass"])
def test_free_motion_is_smooth_and_its_own_derivative(weights):
    errors = []
    for h in (0.02, 0.01):
        motion = Analysis(m.free_arm(masses=True), weights=weights).run(0.0, 2.0, h)
        middle = slice(2, -2)
        for x, rate in ((motion.samples.q, motion.samples.qd), (motion.samples.qd, motion.samples.qdd)):
            slope = (8.0 * (x[3:-1] - x[1:-3]) - (x[4:] - x[:-4])) / (12.0 * h)
            errors.append(np.abs(rate[middle] - slope).max())
    assert max(errors[2:]) < 2e-6
    assert errors[0] > 8.0 * errors[2]  # order four
    assert errors[1] > 8.0 * errors[3]


def test_least_velocity_is_smaller_than_that_of_frozen_unknowns():
    size = Analysis(m.free_arm()).equations.sizes()
    found = [
        np.linalg.norm(Analysis(m.free_arm(), **options).run(0.0, 0.2, 0.02).samples.qd[1:] / size, axis=1)
        for options in ({}, {"method": "freeze"}, {"method": "freeze", "pivot": "row"})
    ]
    assert np.all(found[0] < found[1])
    assert np.all(found[0] < found[2])


def rhombus(rate=1.0, start=0.3):
    """Return a four-bar of equal arms and equal bars: flat at angles 0 and pi, where it may fold."""
    model = Model("parallelogram")
    tip = np.array([0.5 * math.cos(start), 0.5 * math.sin(start), 0.0])
    for name, place in (("left", (0, 0, 0)), ("bar", tip), ("right", (1.0, 0, 0))):
        model.add_body(name, mass=0.0, position=place)
    model.add_joint("a", Revolute(axis=m.Z), "ground", "left", point=(0, 0, 0))
    model.add_joint("b", Revolute(axis=m.Z), "left", "bar", point=tip)
    model.add_joint("c", Revolute(axis=m.Z), "bar", "right", point=tip + np.array(m.X))
    model.add_joint("d", Revolute(axis=m.Z), "ground", "right", point=(1.0, 0, 0))
    model.add_driver("motor", ConstantRate(rate), joint="a")
    return model


@pytest.mark.parametrize("interval", [0.05, 0.01])
def test_a_singular_pose_between_samples_is_found_and_passed(interval):
    motion = Analysis(rhombus()).run(0.0, 7.0, interval)
    times = [pose.t for pose in motion.singular]
    np.testing.assert_allclose(times, [math.pi - 0.3, 2.0 * math.pi - 0.3], rtol=0, atol=1e-6)
    assert set(motion.singular[0].elements) >= {"a", "b", "c", "d"} - {"a"}
    np.testing.assert_allclose(motion["right.angle"], motion.t, rtol=0, atol=1e-8)  # it stays a parallelogram
    assert any("singular pose at t = 2.84" in text for text in motion.warnings)


def test_a_sample_at_a_singular_pose_is_the_mean_of_its_sides():
    start = 0.3
    times = np.linspace(0.0, 2.0 * (math.pi - start), 21)  # sample 10 is flat
    motion = Analysis(rhombus(start=start)).run_at(times)
    np.testing.assert_allclose(motion["right.angle"], times, rtol=0, atol=1e-8)
    np.testing.assert_allclose(motion["d.rate"], 1.0, rtol=0, atol=1e-6)
    assert len(motion.singular) == 1
    assert motion.singular[0].t == pytest.approx(math.pi - start, abs=1e-6)


def test_stop_ends_the_motion_before_the_singular_pose():
    for end in (7.0, 3.0):  # with another one behind it, and without
        motion = Analysis(rhombus(), singular="stop").run(0.0, end, 0.05)
        assert motion.t[-1] == pytest.approx(2.8)
        assert [pose.t for pose in motion.singular] == pytest.approx([math.pi - 0.3])
        notes = [text for text in motion.notes if text.startswith("stopped before the singular pose")]
        assert len(notes) == 1
        assert "t = 2.84" in notes[0]


def test_a_flat_smallest_singular_value_is_given_up_early(monkeypatch):
    """1 + (t - 0.5)^2 has no zero: that is plain after a few values, at a wide interval still."""
    asked = []

    def value(march, equations, samples, t, k):
        asked.append(t)
        return 1.0 + (t - 0.5) ** 2

    monkeypatch.setattr(continuation, "weak_at", value)
    t = np.array([0.0, 0.45, 1.0])
    samples = SimpleNamespace(t=t, weak=1.0 + (t - 0.5) ** 2)
    assert continuation.closest(None, None, samples, 1, 1e-6) is None
    assert len(asked) <= 4


def test_only_joints_and_drivers_have_violations():
    motion = Analysis(rhombus()).run(0.0, 0.1, 0.05)
    found = sorted(name for name in motion.names() if name.endswith(".violation"))
    assert found == [f"{name}.violation" for name in ("a", "b", "c", "d", "motor")]


def test_a_smooth_mechanism_has_no_singular_pose():
    assert Analysis(m.four_bar()).run(0.0, 7.0, 0.05).singular == ()
    assert Analysis(m.paper_slider_crank()).run(0.0, 8.0, 0.1).singular == ()


def test_a_driver_that_asks_too_much_ends_with_the_motion_so_far():
    model = m.paper_slider_crank()
    del model.drivers["d1"]
    model.add_driver("far", ConstantRate(1.0, 8.0), body=("block", "x"))
    with pytest.raises(MotionError, match=r"no position was found at t = 8 s, 80 samples are good") as caught:
        Analysis(model).run(0.0, 10.0, 0.1)
    assert "far" in caught.value.worst
    assert len(caught.value.result) == 80
    np.testing.assert_allclose(
        caught.value.result["block.position"][:, 0], 8.0 + caught.value.result.t, rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("steep", [1e5, pytest.param(1e8, marks=pytest.mark.slow)])
def test_a_driver_too_fast_to_be_followed_is_said_to_be(steep):
    """Its equations do not depend on those of others: Newton starts turns away from the next position."""
    model = m.four_bar()
    [motor] = model.drivers
    del model.drivers[motor]

    def turn(t):
        late = max(t - 0.52, 0.0)
        return math.pi / 3 + t + steep * late**3, 1.0 + 3.0 * steep * late**2, 6.0 * steep * late

    model.add_driver("steep", Function(*(lambda t, k=k: turn(t)[k] for k in range(3))), joint="A")
    with pytest.raises(MotionError, match="driver 'steep' goes too fast to be followed: between t = 0") as caught:
        Analysis(model).run(0.0, 5.0, 0.1)
    before, after = map(float, re.findall(r"([\d.]+) s", str(caught.value).split("between", 1)[1]))
    assert 0.52 <= before < after <= caught.value.t
    assert f"by {abs(turn(after)[0] - turn(before)[0]):.1f}"[:5] in str(caught.value)
    assert "depend" not in str(caught.value)
    assert caught.value.worst == ("steep",)


def test_large_steps_are_refined_where_newton_asks_for_it():
    model = m.four_bar(rate=40.0)
    motion = Analysis(model, most_iterations=5).run(0.0, 1.0, 0.05)
    assert motion.counters.refined > 0
    corners = np.array([m.four_bar_corners(math.pi / 3 + 40.0 * t)[2] for t in motion.t])
    np.testing.assert_allclose(motion["pin.position"], corners, rtol=0, atol=1e-9)


def test_redundant_rows_are_named_and_must_hold():
    model = m.four_bar()
    model.add_driver("second", ConstantRate(-2.0), joint="D")
    with pytest.raises(StartError, match=r"second\.angle follows from others at the start and contradicts them at t"):
        Analysis(contradictory()).run(0.0, 1.0, 0.1)
    redundant = Analysis(m.four_bar()).run(0.0, 0.1, 0.1).mobility.redundant
    assert len(redundant) == 3
    assert all(name.split(".")[0] in ("C", "D") for name in redundant)


def contradictory():
    """Return a wheel that two drivers turn, alike at the start and at other rates."""
    model = Model("wheel")
    model.add_body("wheel", mass=0.0)
    model.add_joint("axle", Revolute(axis=m.Z), "ground", "wheel", point=(0, 0, 0))
    model.add_driver("first", ConstantRate(1.0), body=("wheel", "yaw"))
    model.add_driver("second", ConstantRate(1.5), joint="axle")
    return model


def test_two_drivers_that_agree_are_one_too_many_and_fine():
    model = contradictory()
    del model.drivers["second"]
    model.add_driver("second", ConstantRate(1.0), joint="axle")
    motion = Analysis(model).run(0.0, 10.0, 0.1)
    assert motion.mobility.redundant == ("second.angle",)
    np.testing.assert_allclose(motion["axle.angle"], motion.t, rtol=0, atol=1e-9)


def test_assembly_reports_what_moved():
    model = m.paper_slider_crank()
    model.add_body("dummy", mass=0.0)
    model.add_joint("held", Spherical(), "ground", "dummy", point_a=(1.0, 0, 0), point_b=(0, 0, 0))
    _, report = Analysis(model).assemble()
    assert report.moved == "dummy"
    assert report.distance == pytest.approx(1.0, abs=1e-9)
    assert report.gap < 1e-10
    assert "assembly moved dummy by 1 m" in str(report)
    with pytest.raises(
        StartError, match=r"spherical 'held' is open by 1 in the reference pose, the assembly tolerance is"
    ):
        Analysis(model, assembly_tolerance=0.001).assemble()


def test_a_mechanism_that_does_not_close_names_joint_and_gap():
    model = Model("short")
    model.add_body("bar", mass=0.0)
    model.add_joint("left", Spherical(), "ground", "bar", point_a=(0, 0, 0), point_b=(0, 0, 0))
    model.add_joint("right", Spherical(), "ground", "bar", point_a=(3, 0, 0), point_b=(1, 0, 0))
    with pytest.raises(StartError, match=r"cannot be assembled: open are spherical '(left|right)' by 1"):
        Analysis(model).assemble()


def test_axes_that_come_together_the_wrong_way_round_are_refused():
    model = Model("hinge")
    model.add_body("door", mass=0.0, orientation=np.diag([1.0, -1.0, -1.0]))
    model.add_joint("hinge", Revolute(axis=m.Z), "ground", "door", point_a=(0, 0, 0), point_b=(0, 0, 0),
                    axes_a=np.eye(3), axes_b=np.eye(3))  # fmt: skip
    with pytest.raises(StartError, match="joint 'hinge' was assembled with its axes opposite each other"):
        Analysis(model).assemble()


def test_a_ground_turned_by_half_a_turn_is_held_as_well():
    """METHODS 4: e1, e2, e3 and the norm are singular there; the three smallest parameters are held instead."""
    analysis = Analysis(m.four_bar())
    held = [name for name in analysis.equations.row_names if name.startswith("ground.")]
    assert held == ["ground.norm", "ground.x", "ground.y", "ground.z", "ground.e1", "ground.e2", "ground.e3"]


def test_initial_values_say_where_a_free_mechanism_begins():
    model = m.four_bar()
    del model.drivers["motor"]
    model.set_initial("A", position=0.5)
    q, _ = Analysis(model).assemble()
    motion = Analysis(model).run(0.0, 0.1, 0.1)
    assert motion["A.angle"][0] == pytest.approx(0.5, abs=1e-10)
    np.testing.assert_allclose(motion["pin.velocity"], 0.0, atol=1e-12)
    assert len(q) == 28


def two_axes(profile, twist=0.0):
    """Return a wheel on a hinge whose angle from ground is driven, its marker turned by ``twist``."""
    model = Model("wheel")
    model.add_body("wheel", mass=0.0)
    model.add_joint("axle", Revolute(axis=m.Z), "ground", "wheel", point=(0, 0, 0))
    model.add_marker("here", "ground", axes=np.eye(3))
    model.add_marker("there", "wheel", axes=m.turn_about_z(twist)[:3, :3])
    model.add_driver("angle", profile, axes=(("here", "f"), ("there", "f")))
    return model


def test_the_angle_of_two_axes_goes_through_zero_and_pi():
    motion = Analysis(two_axes(ConstantRate(2.0, -1.0))).run(0.0, 8.0, 0.05)
    np.testing.assert_allclose(motion["axle.angle"], 2.0 * motion.t - 1.0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(motion["axle.rate"], 2.0, rtol=0, atol=1e-9)


def test_an_axis_that_joints_carry_on_counts_turns_between_bodies_far_apart():
    model = Model("arm")
    for k, name in enumerate(("a", "b", "c")):
        model.add_body(name, mass=0.0, position=(k, 0, 0))
    model.add_joint("j1", Revolute(axis=m.Z), "ground", "a", point=(0, 0, 0))
    model.add_joint("slide", Prismatic(axis=m.X), "a", "b", point=(0, 0, 0))
    model.add_joint("j2", Revolute(axis=m.Z), "b", "c", point=(2, 0, 0))
    model.add_marker("o", "ground", axes=np.eye(3))
    model.add_marker("tip", "c", axes=np.eye(3))
    model.add_driver("d1", ConstantRate(0.7), joint="j1")
    model.add_driver("d2", ConstantRate(0.1), joint="slide")
    model.add_driver("d3", ConstantRate(-4.0), axes=(("o", "f"), ("tip", "f")))
    motion = Analysis(model).run(0.0, 2.0, 0.05)
    turned = motion["j1.angle"] + motion["j2.angle"]
    np.testing.assert_allclose(np.abs(turned), 4.0 * motion.t, rtol=0, atol=1e-9)  # more than a turn


def two_turns():
    """Return a body that turns about x of one that turns about z."""
    model = Model("two turns")
    model.add_body("a", mass=0.0)
    model.add_body("b", mass=0.0)
    model.add_joint("j1", Revolute(axis=m.Z), "ground", "a", point=(0, 0, 0))
    model.add_joint("j2", Revolute(axis=m.X), "a", "b", point=(0, 0, 0))
    model.add_marker("o", "ground", axes=np.eye(3))
    model.add_marker("tb", "b", axes=np.eye(3))
    model.add_driver("d1", ConstantRate(0.7), joint="j1")
    return model


def test_an_angle_in_space_is_held_by_its_cosine():
    model = two_turns()
    model.add_driver("d2", ConstantRate(-0.5, 0.5 * np.pi), axes=(("o", "h"), ("tb", "g")))
    motion = Analysis(model).run(0.0, 1.0, 0.05)
    np.testing.assert_allclose(motion["j2.angle"], 0.5 * motion.t, rtol=0, atol=1e-9)
    np.testing.assert_allclose(motion["j2.rate"], 0.5, rtol=0, atol=1e-9)
    np.testing.assert_allclose(motion["j2.acceleration"], 0.0, rtol=0, atol=1e-8)


@pytest.mark.parametrize("first", [0.0, np.pi, -0.5, 4.0])
def test_an_angle_that_a_cosine_does_not_tell_is_refused(first):
    model = two_turns()
    model.add_driver("d2", ConstantRate(0.0, first), axes=(("o", "h"), ("tb", "g")))
    with pytest.raises(InputError, match=r"'d2'.*angle of o.h and tb.g is asked to be .* must stay between 0 and pi"):
        Analysis(model).run(0.0, 1.0, 0.1)


@pytest.mark.parametrize("coordinate", ["yaw", "pitch", "roll"])
def test_euler_angles_of_a_body_are_driven(coordinate):
    model = Model("top")
    model.add_body("top", mass=0.0)
    model.add_joint("ball", Spherical(), "ground", "top", point=(0, 0, 0))
    for name in ("yaw", "pitch", "roll"):
        profile = Sine(1.2, 2.0) if name == coordinate else ConstantRate(0.0, 0.3)
        model.add_driver(name, profile, body=("top", name))
    motion = Analysis(model).run(0.0, 2.0, 0.1)
    R = rotations(motion["top.orientation"])
    found = {
        "yaw": np.arctan2(R[:, 1, 0], R[:, 0, 0]),
        "pitch": np.arcsin(-R[:, 2, 0]),
        "roll": np.arctan2(R[:, 2, 1], R[:, 2, 2]),
    }
    for name, angle in found.items():
        wanted = 1.2 * np.sin(2.0 * motion.t) if name == coordinate else 0.3
        np.testing.assert_allclose(angle, wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "least"}, "method is 'least'; it must be 'min_norm' or 'freeze'"),
        ({"weights": "metre"}, "weights is 'metre'; it must be 'size' or 'mass'"),
        ({"method": "freeze", "weights": "metre"}, "weights is 'metre'; it must be 'size' or 'mass'"),
        ({"pivot": "none"}, "pivot is 'none'"),
        ({"singular": "fail"}, "singular is 'fail'; it must be 'pass' or 'stop'"),
        ({"tolerance": -1.0}, "tolerance is -1.0; it must be between 0 and 1"),
        ({"most_iterations": 0}, "most_iterations is 0"),
        ({"weights": "mass"}, "weights='mass': body 'crank' has no mass"),
    ],
)
def test_options_that_do_not_exist_are_refused(options, words):
    with pytest.raises(InputError) as caught:
        Analysis(m.four_bar(), **options)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "times", [(0.0, 1.0, 0.0), (1.0, 0.0, 0.1), (0.0, math.nan, 0.1), (0.0, 1e9, 1e-3), (0.0, "x", 1)]
)
def test_times_that_make_no_motion_are_refused(times):
    with pytest.raises(InputError):
        Analysis(m.four_bar()).run(*times)


def test_a_driver_that_fails_at_some_time_is_named():
    model = m.four_bar()
    del model.drivers["motor"]
    model.add_driver("root", Function(lambda t: math.sqrt(0.5 - t), lambda t: 0.0, lambda t: 0.0), joint="A")
    with pytest.raises(InputError, match="driver 'root' fails between t = 0 and 1 s"):
        Analysis(model).run(0.0, 1.0, 0.1)
    del model.drivers["root"]
    model.add_driver("hole", Function(lambda t: 1.0 if t < 0.5 else math.nan, lambda t: 0.0, lambda t: 0.0), joint="A")
    with pytest.raises(InputError, match=r"driver 'hole' is not finite at t = 0\.5 s"):
        Analysis(model).run(0.0, 1.0, 0.1)


@pytest.mark.parametrize("method", ["min_norm", "freeze"])
@pytest.mark.parametrize("profile", [Sine(0.4, 3.0), Function(np.sin, np.cos, lambda t: -np.sin(t))])
def test_an_analysis_goes_through_a_pickle(method, profile):
    """Before a run and after one, when the machine code of its programs is there; a lambda goes by value."""
    analysis = Analysis(two_axes(profile), method=method)
    fresh = pickle.loads(pickle.dumps(analysis))
    motion = analysis.run(0.0, 1.0, 0.1)
    other = pickle.loads(pickle.dumps(analysis))
    assert repr(other) == repr(analysis)
    exact = np.array([profile(t) for t in motion.t])
    for one in (fresh.run(0.0, 1.0, 0.1), other.run(0.0, 1.0, 0.1)):
        np.testing.assert_allclose(one["axle.rate"], exact[:, 1], rtol=0, atol=1e-9)
        assert all(np.array_equal(one[name], motion[name]) for name in motion.names())
        assert one.counters.iterations == motion.counters.iterations


def test_what_keeps_an_analysis_from_a_pickle_is_named():
    lock = threading.Lock()

    def held(t):
        with lock:
            return 0.1 * t

    with pytest.raises(InputError, match="driver 'angle': its profile cannot be pickled: Function"):
        pickle.dumps(Analysis(two_axes(Function(held, lambda t: 0.1, lambda t: 0.0))))
    curve = PointOnCurve("groove", "there", "ground", lambda s: (s, 0.0 if lock else s, 0.0))
    with pytest.raises(InputError, match="constraint 'groove' cannot be pickled"):
        pickle.dumps(Analysis(two_axes(Sine(0.4, 3.0)), [curve]))
    model = two_axes(Sine(0.4, 3.0))
    model.add_force("drag", lambda t, kinematics, parameters: held(t), joint="axle")
    with pytest.raises(InputError, match=r"model 'wheel' cannot be pickled: Model"):
        pickle.dumps(Analysis(model))


def test_constraints_that_name_nothing_are_refused():
    with pytest.raises(ModelError, match="gear 'g': there is no joint named 'AA'"):
        Analysis(m.four_bar(), [Gear("g", "AA", "B", 1.0)])
    with pytest.raises(ModelError, match="already an element of this name"):
        Analysis(m.four_bar(), [Gear("A", "A", "B", 1.0)])
    with pytest.raises(ModelError, match="joint coordinate 'x': joint 'A' has the coordinates angle, not 'turn'"):
        Analysis(m.four_bar(), [JointCoordinate("x", "A", "turn")])
    with pytest.raises(ModelError, match="curve is 3; it must be a function of s"):
        Analysis(m.four_bar(), [PointOnCurve("c", "pin", "ground", 3)])
    with pytest.raises(ModelError, match="is no constraint of kinematics"):
        Analysis(m.four_bar(), ["gear"])
    model = Model("slider")
    model.add_body("block", mass=0.0)
    model.add_joint("slide", Prismatic(axis=m.X), "ground", "block", point=(0, 0, 0))
    with pytest.raises(ModelError, match="joint 'slide' has the coordinates displacement, not 'angle'"):
        Analysis(model, [Gear("g", ("slide", "angle"), "slide", 1.0)])


@pytest.mark.parametrize("rows", quick([36, 100, 800, 1000], 100))
def test_a_parallelogram_passes_its_change_points_in_fine_steps(rows):
    """Samples fall on the change points: both cranks turn alike, whatever the step."""
    text = """MODEL m SYSTEM (KINEMATIC ANALYSIS, ending time = 1, print interval = 0.05);
    BODY a (); BODY c (position = (0, 1, 0)); BODY b (position = (2, 0, 0));
    revolute joint r1 (body = ground, body = a, axis = (0, 0, 1));
    revolute joint r2 (body = ground, body = b, axis = (0, 0, 1), point = (2, 0, 0));
    revolute joint r3 (body = a, body = c, axis = (0, 0, 1), point = (0, 1, 0));
    revolute joint r4 (body = c, body = b, axis = (0, 0, 1), point = (2, 1, 0));
    driver d (r1 = 2 * pi * TIME); ENDMODEL"""
    motion = Analysis(language.build(text).model).run(0.0, 1.0, 1.0 / rows)
    np.testing.assert_allclose(motion["r2.angle"], motion["r1.angle"], atol=1e-10)
    np.testing.assert_allclose(motion["r2.angle_rate"], 2.0 * np.pi, rtol=1e-7)
    np.testing.assert_allclose(motion["r2.angle_acceleration"], 0.0, atol=1e-4)
    assert len(motion.report.singular) == 2


def drawn_links(beyond, step):
    """Return the motion of two links of 1 m from ground to a slide, drawn to 2 m + ``beyond`` at 0.5 s and let back."""
    text = f"""MODEL m SYSTEM (KINEMATIC ANALYSIS, ending time = 1, print interval = 1);
    BODY a (); BODY b (position = (1, 0, 0)); BODY c (position = (2, 0, 0));
    revolute joint r1 (body = ground, body = a, axis = (0, 0, 1));
    revolute joint r2 (body = a, body = b, axis = (0, 0, 1), point = (1, 0, 0));
    revolute joint r3 (body = b, body = c, axis = (0, 0, 1), point = (2, 0, 0));
    prismatic joint s (body = ground, body = c, axis = (1, 0, 0), point = (2, 0, 0));
    driver d (s = {beyond} - 0.5 * (TIME - 0.5)^2); ENDMODEL"""
    model = language.build(text).model
    model.set_initial("r1", position=np.arccos(1.0 + 0.5 * (beyond - 0.125)))
    return Analysis(model).run(0.0, 1.0, step)


def angle_of_links(t, beyond):
    """Return the angle of the first link, half of that between both."""
    return np.arccos(1.0 + 0.5 * (beyond - 0.5 * (t - 0.5) ** 2))


@pytest.mark.parametrize("beyond", [1e-7, 1e-5, 1e-4])
@pytest.mark.parametrize("step", [0.1, 0.02])
def test_a_sample_out_of_reach_between_poses_in_reach_ends_the_motion(beyond, step):
    with pytest.raises(MotionError, match=r"no position was found at t = 0\.5 s") as caught:
        drawn_links(beyond, step)
    motion = caught.value.result
    assert motion.t[-1] == pytest.approx(0.5 - step)
    np.testing.assert_allclose(motion["r1.angle"], angle_of_links(motion.t, beyond), atol=1e-9)


@pytest.mark.parametrize("step", [0.1, 0.02])
def test_a_sample_at_the_very_reach_is_passed(step):
    """The slide stands still there, so the links go on through the straight line, to the other side."""
    motion = drawn_links(0.0, step)
    wanted = angle_of_links(motion.t, 0.0) * np.sign(0.5 - motion.t)
    np.testing.assert_allclose(motion["r1.angle"], wanted, atol=1e-9)
    assert [pose.t for pose in motion.report.singular] == pytest.approx([0.5])
