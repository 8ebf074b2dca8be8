"""What a file means: frames of three points, triads, joints, drivers, names and units."""

import math

import numpy as np
import pytest

from rtmbs import Simulation
from rtmbs.language import build, read
from rtmbs.model import Cylindrical, Prismatic, Revolute, Spherical, Universal
from tests.language.files import EVERY, KINEMATIC, RICH, SLIDER_CRANK


def in_world(joint):
    """The axes of a joint in either body at the reference pose, world axes."""
    return joint.a.orientation @ joint.axes_a, joint.b.orientation @ joint.axes_b


def test_the_slider_crank_of_the_paper(tmp_path):
    path = tmp_path / "slider_crank.mks"
    path.write_text(SLIDER_CRANK)
    document = read(path)
    model, analysis = document.model, document.analysis
    assert (analysis.kind, analysis.t0, analysis.t1, analysis.dt) == ("kinematic", 0.0, 8.0, 0.1)
    assert (analysis.assembly_tolerance, analysis.lu_tolerance) == (1e-3, 1e-10)
    assert list(model.bodies) == ["ground", "pend1", "pend2", "block"]
    assert [type(joint.type) for joint in model.joints.values()] == [Revolute, Spherical, Spherical, Prismatic]
    np.testing.assert_allclose(model.bodies["pend1"].orientation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    np.testing.assert_allclose(model.bodies["pend2"].orientation @ [5, 0, 0], [4, -3, 0], atol=1e-14)
    driver = model.drivers["d1"]
    assert driver.body == (model.bodies["block"], "x")
    np.testing.assert_allclose(driver.profile(0.3), [8 + 3 * math.sin(1.2), 12 * math.cos(1.2), -48 * math.sin(1.2)])
    for joint in model.joints.values():
        gap = joint.b.world(joint.point_b) - joint.a.world(joint.point_a)
        np.testing.assert_allclose(gap, 0.0, atol=1e-14)
        np.testing.assert_allclose(*in_world(joint), atol=1e-14)


def one(lines):
    return build(f"MODEL m SYSTEM (KINEMATIC ANALYSIS); {lines} ENDMODEL")


@pytest.mark.parametrize("seed", range(20))
def test_axes_of_three_points(seed):
    rng = np.random.default_rng(seed)
    p, q, r = rng.normal(size=(3, 3)) * 10.0 ** rng.uniform(-3, 3)
    points = ", ".join(f"({', '.join(map(repr, point.tolist()))})" for point in (p, q, r))
    body = one(f"BODY b (pqr = [{points}]);").model.bodies["b"]
    f, g, h = body.orientation.T
    np.testing.assert_array_equal(body.position, p)
    np.testing.assert_allclose(np.cross(h, (q - p) / np.linalg.norm(q - p)), 0.0, atol=1e-14)
    assert h @ (q - p) > 0.0
    assert f @ (r - p) > 0.0
    assert abs(f @ h) < 1e-15
    np.testing.assert_allclose(np.cross(h, f), g, atol=1e-15)
    assert abs(g @ (r - p)) < 1e-12 * np.linalg.norm(r - p)


@pytest.mark.parametrize("size", ["e-200", "e-12", "e90"])
def test_axes_of_very_near_and_very_far_points(size):
    points = f"pqr = [(0, 0, 0), (3{size}, 0, 4{size}), (0, 1{size}, 0)]"
    h = one(f"BODY b ({points});").model.bodies["b"].orientation[:, 2]
    np.testing.assert_allclose(h, [0.6, 0.0, 0.8], rtol=1e-14)


def test_a_triad_is_given_in_the_axes_of_its_body():
    model = one(
        "BODY b (pqr = [(1, 2, 3), (1, 3, 3), (1, 2, 4)]);"  # f = z, h = y, g = x
        "triad t (associated body = b, origin = (1, 0, 0), pqr = [(1, 0, 0), (1, 0, 1), (2, 0, 0)]);"
    ).model
    np.testing.assert_allclose(model.markers["t"].reference(), [1, 2, 4])
    np.testing.assert_allclose(model.markers["t"].axes, np.eye(3))
    np.testing.assert_allclose(model.bodies["b"].orientation @ [0, 0, 1], [0, 1, 0])


def test_ground_may_have_several_names_and_axes():
    model = one(
        "BODY g1 (ground); BODY wall (ground, pqr = [(0, 0, 5), (1, 0, 5), (0, 1, 5)]);"
        "triad a (body = g1, origin = (1, 2, 3)); triad b (body = wall, origin = (1, 2, 3));"
    ).model
    assert list(model.bodies) == ["ground"]
    np.testing.assert_allclose(model.markers["a"].point, [1, 2, 3])
    np.testing.assert_allclose(model.markers["b"].point, [3, 1, 7])  # f = y, g = z, h = x


def skew(rng):
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return Q * np.linalg.det(Q)


def rows(matrix):
    return "[" + ", ".join(f"({', '.join(map(repr, row))})" for row in matrix.tolist()) + "]"


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["revolute", "translational", "cylindrical", "planar", "spherical", "line"])
def test_joints_keep_the_h_axes_of_both_triads(kind, seed):
    """The reference pose does not fit: the h axes and points are off; at zero coordinates they agree."""
    rng = np.random.default_rng(seed)
    A, B, T = skew(rng), skew(rng), skew(rng)
    tilt = np.linalg.qr(np.eye(3) + 0.1 * rng.normal(size=(3, 3)))[0]
    tilt = tilt @ np.diag(np.sign(np.diag(tilt)))
    tilt = tilt * np.linalg.det(tilt)
    place_b = rng.normal(size=3)
    model = one(
        f"BODY a (position = (1, 2, 3), orientation = {rows(A)}); BODY b (orientation = {rows(B)});"
        f"triad s (body = a, origin = (1, 0, 2), axes = {rows(A.T @ T)});"
        f"triad t (body = b, origin = ({', '.join(map(repr, place_b.tolist()))}), axes = {rows(B.T @ tilt @ T)});"
        f"{kind} joint j (triad = s, triad = t);"
    ).model
    joint, s, t = model.joints["j"], model.markers["s"], model.markers["t"]
    np.testing.assert_array_equal(joint.axes_a, s.axes)
    np.testing.assert_array_equal(joint.point_b, t.point)
    assert np.linalg.det(joint.axes_b) == pytest.approx(1.0)
    if joint.type.aligned():
        np.testing.assert_array_equal(joint.axes_b[:, 2], t.axes[:, 2])
    x_a, x_b = in_world(joint)
    assert np.linalg.norm(x_a - x_b) < 0.6  # nothing is turned further than the reference pose asks for
    slides = np.array([step.axis for step in joint.type.dofs() if step.kind == "prismatic"]).reshape(-1, 3)
    gap = x_a.T @ (joint.b.world(joint.point_b) - joint.a.world(joint.point_a))
    np.testing.assert_allclose(slides @ gap, 0.0, atol=1e-12)  # zero is where the reference pose is
    moved = joint.axes_a.T @ (joint.point_a - s.point)
    np.testing.assert_allclose(moved - slides.T @ (slides @ moved), 0.0, atol=1e-12)


def test_a_universal_joint_turns_about_both_h_axes():
    model = build(RICH).model
    joint = model.joints["cone"]
    assert isinstance(joint.type, Universal)
    np.testing.assert_allclose(joint.axes_a @ joint.type.axis_a, model.markers["cone0"].axes[:, 2], atol=1e-15)
    np.testing.assert_allclose(joint.axes_b @ joint.type.axis_b, model.markers["cone1"].axes[:, 2], atol=1e-15)
    np.testing.assert_allclose(*in_world(joint), atol=1e-15)


def test_drivers():
    model = build(KINEMATIC).model
    drivers = model.drivers
    assert drivers["one"].body == (model.bodies["b2"], "x")  # not body b, whose name is shorter
    assert drivers["two"].body == (model.bodies["b"], "yaw")
    assert [marker.name for marker in drivers["three"].between] == ["s", "o"]
    assert [(marker.name, k) for marker, k in drivers["four"].axes] == [("o", 0), ("r", 1)]
    assert drivers["five"].joint == (model.joints["k"], 0)
    assert drivers["three"].profile(0.7) == pytest.approx((math.sqrt(2) * 0.7, math.sqrt(2), 0.0))
    assert [driver.target for driver in drivers.values()] == [
        "b2.x", "b.yaw", "the distance of s and o", "the angle of o.f and r.g", "k.angle",
    ]  # fmt: skip


def test_joint_and_body_of_one_name():
    text = (
        "BODY j (mass = 1); BODY k (mass = 1); planar joint j (body = ground, body = j, normal = (0, 0, 1));"
        "floating joint l (body = ground, body = k); driver a (joint(j, x) = TIME); driver b (body(j, x) = 2 * TIME);"
    )
    drivers = one(text).model.drivers
    assert drivers["a"].joint[0].name == "j"
    assert drivers["b"].body[1] == "x"


def test_keywords_in_any_case_and_comments():
    text = SLIDER_CRANK.replace("BODY", "body /* one */").replace("revolute joint", "Revolute // two\n JOINT")
    text = text.replace("MODEL slider", "model slider").replace("center of gravity", "Center OF\ngravity  # three\n")
    plain, odd = build(SLIDER_CRANK).model, build(text.replace("TIME", "time")).model
    assert list(plain.joints) == list(odd.joints)
    assert plain.drivers["d1"].profile == odd.drivers["d1"].profile


def test_units_constants_and_values():
    model = build(RICH).model
    assert model.bodies["crank"].mass == 2.0
    assert model.bodies["crank"].inertia[0, 0] == pytest.approx(1e-3)
    np.testing.assert_allclose(
        model.bodies["crank"].world(model.bodies["crank"].center_of_mass), [0.25, 0, 1], atol=1e-15
    )
    assert model.forces["coil"].law.stiffness == pytest.approx(3000.0)
    assert model.initials["hinge"].rate == pytest.approx([math.radians(20.0)])
    assert isinstance(model.joints["elbow"].type, Cylindrical)
    drive = model.forces["drive"].law.value
    assert drive(0.3) == pytest.approx(0.1 * math.sin(math.pi / 2 * 0.3) ** 2)


def test_places_are_those_of_names():
    document = build(RICH)
    assert document.places["system"].line == 1 + RICH[: RICH.index("SYSTEM")].count("\n")
    for element, place in document.places.items():
        if element == "system":
            continue
        name = element.split(" ", 1)[1]
        line = RICH.split("\n")[place.line - 1]
        assert line[place.column - 1 :].startswith((name, f'"{name}"'))


def test_a_pendulum_runs_as_the_one_written_in_python():
    from rtmbs import Model

    text = (
        "MODEL pendulum SYSTEM (DYNAMIC ANALYSIS, gravity = (0, -9.81, 0));"
        "BODY bob (mass = 1, center of gravity = (-1, 0, 0), pqr = [(0, 0, 0), (0, 0, 1), (1, 0, 0)]);"
        "triad a (body = ground); triad b (body = bob); revolute joint pin (triad = a, triad = b); ENDMODEL"
    )
    model = Model("pendulum", gravity=(0, -9.81, 0))
    model.add_body("bob", mass=1.0, center_of_mass=(-1, 0, 0))
    model.add_joint("pin", Revolute(axis=(0, 0, 1)), "ground", "bob")
    angles = [Simulation(m.compile(), h=5e-3).run(1.0)["pin.angle"] for m in (build(text).model, model)]
    np.testing.assert_allclose(angles[0], angles[1], atol=1e-12)
    assert np.ptp(angles[0]) > 1.0


def test_the_slider_crank_with_masses_is_simulated():
    """The paper's file: cos(theta) = (x^2 - 64) / (12 x) for links of 6 and 10 m; the angle is zero at 90 degrees."""
    text = SLIDER_CRANK.replace("KINEMATIC", "DYNAMIC").replace("print interval", "step = 0.002, print interval")
    text = text.replace("lu tolerance = 1e-10, assembly tolerance = 0.001", "gravity = (0, -9.81, 0)")
    text = text.replace("center of gravity", "mass = 2, inertia = (0.1, 0.2, 0.2), center of gravity")
    document = build(text)
    result = Simulation(document.model.compile(), h=document.analysis.h).run(2.0)
    x = 8.0 + 3.0 * np.sin(4.0 * result["t"])
    np.testing.assert_allclose(result["block.position"][:, 0], x, atol=1e-9)
    theta = result["rev1.angle"] + 0.5 * np.pi
    np.testing.assert_allclose(np.cos(theta), (x * x - 64.0) / (12.0 * x), atol=1e-9)
    assert np.ptp(theta) > 0.5


def test_a_joint_whose_reference_pose_does_not_fit_starts_where_its_triads_agree():
    text = (
        "MODEL m SYSTEM (DYNAMIC ANALYSIS); BODY b (mass = 1, inertia = (1, 1, 1), position = (1, 0, 0));"
        "triad a (body = ground, pqr = [(0, 0, 0), (0, 0.1, 1), (1, 0, 0)]); triad t (body = b, origin = (-1, 0, 0.5));"
        "revolute joint j (triad = a, triad = t); ENDMODEL"
    )
    model = build(text).model
    result = Simulation(model.compile(), h=5e-3).run(0.01)
    h = model.markers["a"].axes[:, 2]
    orientation = result["b.orientation"][0]
    w, x, y, z = orientation
    b_z = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
    np.testing.assert_allclose(b_z, h, atol=1e-12)


@pytest.mark.parametrize("name", EVERY)
def test_statements_may_stand_in_any_order(name):
    from rtmbs.language import format, parse, write

    text = EVERY[name]
    lines = format(parse(text)).replace("\n    ", " ").replace("\n)", ")").split("\n")
    head = next(k for k, line in enumerate(lines) if line.startswith("MODEL")) + 1
    constants = [line for line in lines[head:-2] if line.startswith("constant")]
    others = [line for line in lines[head:-2] if not line.startswith("constant")]
    kinds = sorted({line.split()[0] for line in others}, reverse=True)
    sorted_lines = [line for kind in kinds for line in others if line.split()[0] == kind]
    shuffled = "\n".join([*lines[:head], *constants, *sorted_lines, *lines[-2:]])
    wanted = sorted(write(build(text)).split("\n"))
    assert sorted(write(build(shuffled)).split("\n")) == wanted
