"""URDF: mass matrix and gravity against plain NumPy, loops in three notations, and files that are refused."""

from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import LanguageError
from tests.formats.plain_urdf import PlainURDF
from tests.formats.states import at_state

FILES = Path(__file__).parent / "files"
BALL = '<link name="b"/><joint name="j" type="{}"><parent link="a"/><child link="b"/>{}</joint>'


def written(tmp_path, body, name="robot.urdf"):
    path = tmp_path / name
    path.write_text(f'<robot name="r"><link name="a"/>{body}</robot>', encoding="utf-8")
    return path


def tree_of_arm():
    """Return the arm without its coupler, damper and rotor: what the plain sums know."""
    model = rtmbs.read(FILES / "arm.urdf", meshes=False)
    for elements in (model.couplers, model.forces):
        elements.clear()
    del model.joints["shoulder_rotor"], model.bodies["shoulder_rotor"]
    return model


def test_mass_matrix_and_weight_of_a_skew_tree():
    plain, model = PlainURDF(FILES / "arm.urdf"), tree_of_arm()
    random = np.random.default_rng(3)
    for _ in range(5):
        q = {name: random.uniform(-1.0, 1.0) for name in plain.moving}
        still = dict.fromkeys(plain.moving, 0.0)
        M, tau, place = at_state(model, q, still, still)
        rows = [place[name] for name in plain.moving]
        wanted, weight = plain.mass_and_gravity(q)
        np.testing.assert_allclose(M[np.ix_(rows, rows)], wanted, rtol=0, atol=1e-13 * np.abs(wanted).max())
        np.testing.assert_allclose(tau[rows], weight, rtol=0, atol=1e-13 * np.abs(weight).max())


def test_velocity_terms_are_the_derivative_of_the_mass_matrix():
    """Lagrange: c_i = sum_jk (dM_ij/dq_k - dM_jk/dq_i / 2) v_j v_k, with M of the plain sums by differences."""
    plain, model = PlainURDF(FILES / "arm.urdf"), tree_of_arm()
    random = np.random.default_rng(4)
    q, v = ({name: random.uniform(-1.0, 1.0) for name in plain.moving} for _ in range(2))
    still, rates = dict.fromkeys(plain.moving, 0.0), np.array([v[name] for name in plain.moving])
    _, with_rates, place = at_state(model, q, v, still)
    _, at_rest, _ = at_state(model, q, still, still)
    change, h = [], 1e-5
    for name in plain.moving:
        ends = [plain.mass_and_gravity({**q, name: q[name] + side * h})[0] for side in (1.0, -1.0)]
        change.append((ends[0] - ends[1]) / (2.0 * h))
    dM = np.array(change)  # (k, i, j)
    wanted = np.einsum("kij,j,k->i", dM, rates, rates) - 0.5 * np.einsum("ijk,j,k->i", dM, rates, rates)
    rows = [place[name] for name in plain.moving]
    np.testing.assert_allclose((with_rates - at_rest)[rows], wanted, rtol=0, atol=2e-9)


def test_mimic_couples_and_a_rotor_adds_to_the_diagonal():
    model = rtmbs.read(FILES / "arm.urdf", meshes=False)
    coupler = model.couplers["grip_mimic"]
    assert coupler.coordinates == ("grip.angle", "wrist.displacement")
    assert coupler.factors == (1.0, -2.5)
    assert coupler.offset == 0.1
    rotor = model.bodies["shoulder_rotor"]
    assert rotor.mass == 0.0
    assert rotor.inertia[2, 2] == pytest.approx(50.0**2 * 2e-5, rel=1e-14)
    model.set_initial("wrist", 0.04)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    assert sim.start_report.degrees_of_freedom == 3
    result = sim.run(0.05)
    assert np.max(np.abs(result["grip.angle"] - 2.5 * result["wrist.displacement"] - 0.1)) < 1e-9


def test_report_and_limits():
    report = rtmbs.read(FILES / "arm.urdf", meshes=False).import_report
    assert report.format == "URDF"
    assert report.limits["shoulder"] == (-1.5, 2.0, 3.0, 50.0)
    told = {note.element: note.what for note in report.notes}
    assert "bodies do not touch" in told["<collision>"]
    assert sum("dry friction 0.1" in note.what for note in report.notes) == 1
    assert "line 34: joint 'shoulder'" in str(report)
    with_friction = rtmbs.read(FILES / "arm.urdf", meshes=False, friction=True)
    assert "shoulder_friction" in with_friction.forces
    assert "dry friction" not in str(with_friction.import_report)
    with pytest.raises(LanguageError, match=r"arm.urdf:\d+:\d+: .*strict=True"):
        rtmbs.read(FILES / "arm.urdf", strict=True)


def test_shapes_and_colours():
    model = rtmbs.read(FILES / "arm.urdf")
    assert type(model.looks["upper"].shapes[0]).__name__ == "Box"
    assert model.looks["upper"].color == "#808c99"
    assert type(model.looks["fore"].shapes[0]).__name__ == "Cylinder"


def test_a_four_bar_closes():
    """One degree of freedom; the coupler's end meets the rocker's, and all turn as in the plane."""
    model = rtmbs.read(FILES / "four_bar.urdf")
    model.set_initial("crank_pin", 1.0)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    assert sim.start_report.degrees_of_freedom == 1
    assert sim.start_report.gap < 1e-10
    result = sim.run(0.3)
    crank, coupler, rocker = (result[f"{name}.angle"] for name in ("crank_pin", "coupler_pin", "rocker_pin"))
    end = 0.2 * np.exp(1j * crank) + 0.7 * np.exp(1j * (crank + coupler))
    assert np.max(np.abs(end - 0.8 - 0.5 * np.exp(1j * (rocker + 2.0)))) < 1e-9
    half = rtmbs.Simulation(model.compile(), h=5e-4).run(0.3)
    drifts = [np.ptp(one["energy.total"]) for one in (result, half)]
    assert drifts[0] / drifts[1] == pytest.approx(4.0, rel=0.05)  # order two
    assert drifts[0] < 1e-4 * np.ptp(result["energy.kinetic"])


def loop_text(form):
    text = (FILES / "four_bar.urdf").read_text(encoding="utf-8")
    start, end = text.index("  <loop_joint"), text.index("</loop_joint>") + len("</loop_joint>")
    return text[:start] + form + text[end:]


def test_other_notations_of_a_loop_are_the_same(tmp_path):
    drake = """<drake:ball_constraint><drake:ball_constraint_body_A name="coupler"/>
    <drake:ball_constraint_p_AP value="0.7 0 0"/><drake:ball_constraint_body_B name="rocker"/>
    <drake:ball_constraint_p_BQ value="0.5 0 0"/></drake:ball_constraint>"""
    (tmp_path / "drake.urdf").write_text(loop_text(drake), encoding="utf-8")
    frames = "".join(
        f'<link name="{end}_end"/><joint name="{end}_tip" type="fixed"><origin xyz="{x} 0 0"/><parent link="{end}"/>'
        f'<child link="{end}_end"/></joint>'
        for end, x in (("coupler", 0.7), ("rocker", 0.5))
    )
    (tmp_path / "side.urdf").write_text(loop_text(frames), encoding="utf-8")
    loops = tmp_path / "side.yaml"
    loops.write_text(
        "closed_loop: [['coupler_end', 'rocker_tip']]\ntype: ['3d']\nname_mot: [crank_pin]\n", encoding="utf-8"
    )
    pytest.importorskip("yaml")
    one = rtmbs.read(FILES / "four_bar.urdf")
    for other in (rtmbs.read(tmp_path / "drake.urdf"), rtmbs.read(tmp_path / "side.urdf", loops=loops)):
        ends = []
        for model in (one, other):
            model.initials.clear()
            model.set_initial("crank_pin", 1.0)
            sim = rtmbs.Simulation(model.compile(), h=1e-3)
            ends.append(sim.run(0.1)["rocker_pin.angle"])
        np.testing.assert_allclose(*ends, rtol=0, atol=1e-10)
    assert "crank_pin_motor" in other.forces


def test_a_side_file_replaces_joints(tmp_path):
    """A ball and a universal joint in place of hinges; a joint that the robot has not is noted."""
    pytest.importorskip("yaml")
    loops = tmp_path / "side.yaml"
    loops.write_text(
        "joint_name: [coupler_pin, rocker_pin, nobody]\njoint_type: [SPHERICAL, UJOINT_ZX, FIXED]\nrotor: 1\n",
        encoding="utf-8",
    )
    model = rtmbs.read(FILES / "four_bar.urdf", loops=loops)
    assert isinstance(model.joints["coupler_pin"].type, rtmbs.Spherical)
    rocker = model.joints["rocker_pin"]
    assert rocker.type.axis_a == (0.0, 0.0, 1.0)
    assert rocker.type.axis_b == (1.0, 0.0, 0.0)
    assert rocker.point_a[0] == 0.8
    told = str(model.import_report)
    assert "names joint 'nobody'" in told
    assert "rotor of" in told
    robot = rtmbs.Robot(model)
    assert (robot.nq, robot.nv) == (1 + 4 + 2, 1 + 3 + 2)
    loops.write_text("joint_name: [coupler_pin]\njoint_type: [BALL]\n", encoding="utf-8")
    with pytest.raises(LanguageError, match=r"joint_type is .*SPHERICAL"):
        rtmbs.read(FILES / "four_bar.urdf", loops=loops)


def test_floating_and_fixed_bases(tmp_path):
    path = written(tmp_path, BALL.format("continuous", '<axis xyz="0 0 1"/>'))
    kinds = {
        given: type(rtmbs.read(path, floating=given).joints["root_joint"].type).__name__
        for given in (None, True, False)
    }
    assert kinds == {None: "Fixed", True: "Floating", False: "Fixed"}
    assert type(rtmbs.read(written(tmp_path, "")).joints["root_joint"].type).__name__ == "Floating"


def test_a_world_link_is_ground(tmp_path):
    path = tmp_path / "w.urdf"
    path.write_text(
        '<robot name="r"><link name="world"/><link name="b"/><joint name="j" type="floating"><parent link="world"/>'
        '<child link="b"/></joint></robot>',
        encoding="utf-8",
    )
    model = rtmbs.read(path, floating=True)
    assert list(model.bodies) == ["ground", "b"]
    assert model.joints["j"].a is model.ground
    path.write_text(
        path.read_text(encoding="utf-8").replace('name="b"', 'name="ground"').replace('link="b"', 'link="ground"')
    )
    renamed = rtmbs.read(path)
    assert list(renamed.bodies) == ["ground", "ground_link"]
    assert "a name that is taken" in str(renamed.import_report)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (BALL.format("hinge", ""), "no joint type named 'hinge'"),
        (BALL.format("revolute", '<axis xyz="0 0 0"/>'), "its axis is zero"),
        (BALL.format("revolute", '<axis xyz="0 0"/>'), "it must be 3 finite numbers"),
        (BALL.format("revolute", '<origin xyz="0 0 nan"/>'), "it must be 3 finite numbers"),
        (BALL.format("fixed", "") + BALL.format("fixed", ""), "already a link 'b'"),
        ('<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>', "no link 'b'"),
        ('<joint name="j" type="fixed"><parent link="a"/></joint>', "names no child link"),
        ('<joint name="j" type="fixed"><parent link="a"/><child link="a"/></joint>', "to itself"),
        ("<link/>", "has no name"),
        (
            BALL.format("fixed", "") + '<joint name="k" type="fixed"><parent link="a"/><child link="b"/></joint>',
            "child of the joints 'j' and 'k'",
        ),
        (BALL.format("prismatic", '<mimic joint="j"/>'), "mimics itself"),
        (BALL.format("prismatic", '<mimic joint="no"/>'), "no such joint"),
        (
            '<link name="b"/><link name="c"/><joint name="j" type="fixed"><parent link="b"/><child link="c"/></joint>'
            '<joint name="k" type="fixed"><parent link="c"/><child link="b"/></joint>',
            "circle of joints",
        ),
        ('<loop_joint name="l" type="weld"><link1 link="a"/></loop_joint>', "needs <link1"),
        ('<loop_joint name="l" type="odd"><link1 link="a"/><link2 link="a"/></loop_joint>', "no type named 'odd'"),
        ('<link name="b"><inertial><mass value="-1"/></inertial></link>', "mass is -1"),
        (
            '<link name="b"><inertial><mass value="1"/><inertia ixx="-1" iyy="1" izz="1"/></inertial></link>',
            "principal value -1",
        ),
        (
            '<link name="b"><inertial><mass value="1"/><inertia ixx="1e308" iyy="1" izz="1e308"/></inertial></link>',
            "no number may be beyond",
        ),
    ],
)
def test_what_is_no_mechanism_is_refused_with_its_line(tmp_path, body, said):
    with pytest.raises(LanguageError, match=said) as caught:
        rtmbs.read(written(tmp_path, body))
    assert caught.value.line == 1


def test_an_impossible_inertia_is_named_and_kept(tmp_path):
    path = written(
        tmp_path, '<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="5"/></inertial></link>'
    )
    model = rtmbs.read(path)
    assert model.bodies["b"].inertia[2, 2] == 5.0
    assert "link 'b': has an inertia that no body has (inertia breaks the triangle inequality" in str(
        model.import_report
    )


def test_a_negative_inertia_is_kept_of_a_link_that_is_held(tmp_path):
    body = '<link name="b"><inertial><mass value="1"/><inertia ixx="-1e-3" iyy="1" izz="1"/></inertial></link>'
    held = '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'
    model = rtmbs.read(written(tmp_path, body + held))
    assert model.bodies["b"].inertia[0, 0] == -1e-3
    assert "principal value -0.001" in str(model.import_report)
    with pytest.raises(LanguageError, match=r"principal value -0\.001"):
        rtmbs.read(written(tmp_path, body + held.replace("fixed", "floating")))


def test_meshes_outside_of_the_folder_are_not_opened(tmp_path):
    outside = tmp_path / "secret.stl"
    outside.write_text("solid s\nendsolid s\n", encoding="utf-8")
    folder = tmp_path / "robot"
    folder.mkdir()
    (folder / "link.stl").symlink_to(outside)
    for address in ("../secret.stl", str(outside), "link.stl", "package://no/secret.stl", "http://host/x.stl"):
        shape = f'<visual><geometry><mesh filename="{address}"/></geometry></visual>'
        model = rtmbs.read(written(folder, f'<link name="b">{shape}</link>'))
        assert "is not drawn" in str(model.import_report), address
        assert not model.looks["b"].shapes


def test_meshes_of_packages_are_found_and_scaled(tmp_path):
    pytest.importorskip("trimesh")
    package = tmp_path / "arm"
    (package / "urdf").mkdir(parents=True)
    (package / "meshes").mkdir()
    (package / "package.xml").write_text("<package/>", encoding="utf-8")
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + ["f 1 3 2", "f 1 2 4", "f 1 4 3", "f 2 3 4"]
    (package / "meshes" / "t.obj").write_text("\n".join(lines), encoding="utf-8")
    for address in ("package://arm/meshes/t.obj", "../meshes/t.obj"):
        shape = f'<visual><geometry><mesh filename="{address}" scale="0.1 -0.2 0.3"/></geometry></visual>'
        model = rtmbs.read(written(package / "urdf", f'<link name="b">{shape}</link>'))
        (surface,) = model.looks["b"].shapes
        assert np.ptp(surface.vertices, axis=0) == pytest.approx([0.1, 0.4, 0.9])
        assert surface.solid()[0] == pytest.approx(0.1 * 0.4 * 0.9 / 6.0)  # its outside is outside


SOLID = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
PLAIN = """<robot name="r"><link name="a"/><link name="b">{}</link><link name="c">{}</link>
<joint name="j" type="{}"><parent link="a"/><child link="b"/>{}</joint>
<joint name="k" type="fixed"><parent link="a"/><child link="c"/></joint>{}</robot>"""
RANGE = '<limit lower="-1" upper="1"/>'
LOOP = f'<loop_joint name="l"><link1 link="b"/><link2 link="c"/>{RANGE}</loop_joint>'


@pytest.mark.parametrize(
    ("link", "kind", "inner", "more", "said"),
    [
        ("", "planar", RANGE, "", "only a hinge or a slide has them here"),
        (SOLID, "continuous", "", "", "has 2 elements <inertial>"),
        ("", "continuous", '<axis xyz="0 0 1"/><axis xyz="1 0 0"/>', "", "has 2 elements <axis>"),
        ("", "continuous", '<dynamics damping="1" stiffness="5"/>', "", "that are not read: stiffness"),
        ("", "continuous", '<dynamics damping="-2"/>', "", "negative damping -2"),
        ("", "revolute", '<limit lower="1" upper="-1"/>', "", "a lower limit above its upper limit"),
        ("", "continuous", "", '<material name="m"><texture filename="x.png"/></material>', "<texture>"),
        ("", "continuous", "", LOOP, "<limit>"),
    ],
)  # fmt: skip
def test_parts_that_are_not_read_are_noted(tmp_path, link, kind, inner, more, said):
    path = tmp_path / "r.urdf"
    path.write_text(PLAIN.format(SOLID + link, SOLID, kind, inner, more), encoding="utf-8")
    assert said in str(rtmbs.read(path).import_report)
    with pytest.raises(LanguageError, match="strict=True"):
        rtmbs.read(path, strict=True)


def test_a_motor_of_no_joint_is_noted(tmp_path):
    pytest.importorskip("yaml")
    (tmp_path / "r.urdf").write_text(PLAIN.format(SOLID, SOLID, "continuous", "", ""), encoding="utf-8")
    (tmp_path / "r.yaml").write_text("closed_loop: []\ntype: []\nname_mot: [j, lost]\n", encoding="utf-8")
    model = rtmbs.read(tmp_path / "r.urdf", loops=tmp_path / "r.yaml")
    assert "names joint 'lost', which the robot has not" in str(model.import_report)
    assert list(model.forces) == ["j_motor"]


TRIANGLE = """solid a
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid a
"""


def test_meshes_of_old_onshape_exports(tmp_path):
    """``package://FILE`` and ``package:///FILE`` name no package: the file lies beside the description."""
    (tmp_path / "box.stl").write_text(TRIANGLE)
    for address in ("package://box.stl", "package:///box.stl"):
        mesh = f'<link name="a"><visual><geometry><mesh filename="{address}"/></geometry></visual></link>'
        path = tmp_path / "robot.urdf"
        path.write_text(f'<robot name="r">{mesh}</robot>')
        model = rtmbs.read(path)
        assert len(model.looks["a"].shapes) == 1
    path.write_text(f'<robot name="r">{mesh.replace("/box", "/../box")}</robot>')
    assert "is not drawn" in str(rtmbs.read(path).import_report)


def test_frames_of_an_open_loop_are_noted(tmp_path):
    """Names of onshape-to-robot: closing_NAME_1 and closing_NAME_2, which a file of loops joins."""
    text = '<robot name="r"><link name="base"/>'
    for k in (1, 2):
        text += f"""<link name="arm{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
            <joint name="j{k}" type="continuous"><parent link="base"/><child link="arm{k}"/><axis xyz="0 0 1"/></joint>
            <link name="closing_tip_{k}"/><joint name="f{k}" type="fixed"><parent link="arm{k}"/>
            <child link="closing_tip_{k}"/><origin xyz="1 0 0"/></joint>"""
    path = tmp_path / "robot.urdf"
    path.write_text(f"{text}</robot>")
    assert "'closing_tip_1' and 'closing_tip_2': are the frames of a loop, which stays open" in str(
        rtmbs.read(path).import_report
    )
    loops = tmp_path / "robot.yaml"
    loops.write_text("closed_loop: [[closing_tip_1, closing_tip_2]]\ntype: ['3d']\n")
    model = rtmbs.read(path, loops=loops)
    assert "stays open" not in str(model.import_report)
    assert len(model.joints) == 6
