"""SDFormat: the arm of the URDF in other words, loops by ordinary joints, free and static models, and refusals."""

from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import LanguageError
from tests.formats.plain_urdf import PlainURDF
from tests.formats.states import at_state

FILES = Path(__file__).parent / "files"
NAMES = {"shoulder": "shoulder", "elbow": "elbow", "wrist": "wrist", "grip": "gripper::grip"}


def link(name, pose="", more=""):
    placed = f"<pose>{pose}</pose>" if pose else ""
    inertia = "<inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.25</izz></inertia>"
    return f'<link name="{name}">{placed}<inertial><mass>2</mass>{inertia}</inertial>{more}</link>'


def joint(name, kind, parent, child, more="<axis><xyz>0 0 1</xyz></axis>"):
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{more}</joint>'


def written(tmp_path, body, version="1.9"):
    path = tmp_path / "m.sdf"
    path.write_text(f'<sdf version="{version}">{body}</sdf>', encoding="utf-8")
    return path


def model_of(body):
    return f'<model name="m">{body}</model>'


def test_the_arm_is_that_of_the_urdf():
    plain, model = PlainURDF(FILES / "arm.urdf"), rtmbs.read(FILES / "arm.sdf")
    random = np.random.default_rng(7)
    for _ in range(3):
        q = {name: random.uniform(-1.0, 1.0) for name in plain.moving}
        still = dict.fromkeys(NAMES.values(), 0.0)
        M, tau, place = at_state(model, {NAMES[name]: value for name, value in q.items()}, still, still)
        rows = [place[NAMES[name]] for name in plain.moving]
        wanted, weight = plain.mass_and_gravity(q, (0.0, 0.0, -9.81))
        np.testing.assert_allclose(M[np.ix_(rows, rows)], wanted, rtol=0, atol=1e-13 * np.abs(wanted).max())
        np.testing.assert_allclose(tau[rows], weight, rtol=0, atol=1e-13 * np.abs(weight).max())
    assert model.import_report.limits["shoulder"] == (-1.5, 2.0, np.inf, 50.0)


def square(kinds):
    """Return a parallelogram of three links, 1 m each, joined to the world, with joint types in order."""
    links = link("left", "0 0 0 0 0 0") + link("top", "0 1 0 0 0 0") + link("right", "1 0 0 0 0 0")
    ends = [("world", "left", "0 0 0"), ("left", "top", "0 0 0"), ("world", "right", "0 0 0"), ("top", "right", "")]
    joints = "".join(
        joint(f"j{k}", kind, a, b, f"<pose>{p or '0 1 0'} 0 0 0</pose><axis><xyz>0 0 1</xyz></axis>")
        for k, (kind, (a, b, p)) in enumerate(zip(kinds, ends, strict=True))
    )
    return model_of(links + joints)


@pytest.mark.parametrize("last", ["revolute", "ball"])
def test_a_joint_closes_a_loop(tmp_path, last):
    """A parallelogram: the top stays parallel, and its link turns back as much as the left one turns."""
    model = rtmbs.read(written(tmp_path, square(["revolute"] * 3 + [last])))
    assert [name for name, one in model.joints.items() if one.cut] == ["j3"]
    model.set_initial("j0", 0.0, 0.8)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    assert sim.start_report.degrees_of_freedom == 1
    assert sim.start_report.gap < 1e-12
    result = sim.run(0.2)
    assert np.ptp(result["j0.angle"]) > 0.1
    np.testing.assert_allclose(result["j1.angle"], -result["j0.angle"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(result["j2.angle"], result["j0.angle"], rtol=0, atol=1e-9)


def test_free_and_static_models(tmp_path):
    two = f'<world name="w"><gravity>0 0 -1</gravity>{model_of(link("a", "1 2 3 0 0 0.5"))}'
    two += f'<model name="still"><static>true</static>{link("b")}</model></world>'
    model = rtmbs.read(written(tmp_path, two))
    assert list(model.bodies) == ["ground", "m::a", "still::b"]
    kinds = {one.b.name: type(one.type).__name__ for one in model.joints.values()}
    assert kinds == {"m::a": "Floating", "still::b": "Fixed"}
    np.testing.assert_allclose(model.bodies["m::a"].position, (1, 2, 3))
    np.testing.assert_allclose(model.gravity, (0, 0, -1))
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    result = sim.run(0.1)
    assert result["m::a.position"][-1, 2] == pytest.approx(3.0 - 0.5 * 0.01, abs=1e-5)


def test_axes_of_older_versions(tmp_path):
    """Until 1.4 an axis is in axes of the model, later in those of the joint, unless it says otherwise."""
    body = link("a", "0 0 0 0 0 1.5707963267948966") + joint(
        "j", "revolute", "world", "a", "<axis><xyz>1 0 0</xyz>{}</axis>"
    )
    seen = {}
    for version, more in (("1.4", ""), ("1.5", ""), ("1.6", "<use_parent_model_frame>1</use_parent_model_frame>")):
        one = rtmbs.read(written(tmp_path, model_of(body.format(more)), version)).joints["j"]
        seen[version] = one.axes_a @ np.array(one.type.axis)
    np.testing.assert_allclose(seen["1.4"], (1, 0, 0), atol=1e-15)
    np.testing.assert_allclose(seen["1.5"], (0, 1, 0), atol=1e-15)
    np.testing.assert_allclose(seen["1.6"], (1, 0, 0), atol=1e-15)


def test_kinds_of_joints_and_springs(tmp_path):
    screw = "<axis><xyz>0 0 1</xyz></axis><screw_thread_pitch>0.02</screw_thread_pitch>"
    cross = "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>"
    spring = "<spring_stiffness>30</spring_stiffness><spring_reference>0.2</spring_reference><damping>0.5</damping>"
    slide = f"<axis><xyz>0 1 0</xyz><dynamics>{spring}</dynamics></axis>"
    body = "".join(link(name) for name in "abc")
    body += joint("u", "universal", "world", "a", cross) + joint("s", "screw", "a", "b", screw)
    model = rtmbs.read(written(tmp_path, model_of(body + joint("p", "prismatic", "b", "c", slide))))
    assert model.joints["s"].type.pitch == 0.02
    assert model.joints["u"].type.coordinates == ("angle_a", "angle_b")
    law = model.forces["p_spring"].law
    assert (law.stiffness, law.damping, law.angle) == (30.0, 0.5, 0.2)


@pytest.mark.parametrize(("place", "noted"), [("", 0), ("axis", 1), ("axis2", 1)])
def test_limits_of_a_universal_joint_are_noted(tmp_path, place, noted):
    limits = dict.fromkeys(("axis", "axis2"), "") | {place: "<limit><lower>-1</lower><upper>1</upper></limit>"}
    axes = f"<axis><xyz>1 0 0</xyz>{limits['axis']}</axis><axis2><xyz>0 1 0</xyz>{limits['axis2']}</axis2>"
    model = rtmbs.read(written(tmp_path, model_of(link("a") + joint("u", "universal", "world", "a", axes))))
    assert len(model.import_report.notes) == noted


def test_a_gearbox_and_a_mimic(tmp_path):
    """The output turns by -ratio times the input, both about one axis though one joint is written the other way."""
    turned = "<axis><xyz>0 0 -1</xyz></axis>"
    box = "<gearbox_reference_body>base</gearbox_reference_body><gearbox_ratio>0.25</gearbox_ratio>"
    axes = "<axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2>"
    mimic = '<axis><xyz>0 0 1</xyz><mimic joint="out"><multiplier>3</multiplier><offset>0.2</offset></mimic></axis>'
    body = "".join(map(link, ("base", "a", "b", "c"))) + joint("weld", "fixed", "world", "base", "")
    body += joint("in", "revolute", "base", "a") + joint("out", "revolute", "base", "b", turned)
    body += joint("follow", "revolute", "b", "c", mimic) + joint("box", "gearbox", "a", "b", box + axes)
    model = rtmbs.read(written(tmp_path, model_of(body)))
    model.set_initial("in", 0.4, 2.0)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    assert sim.start_report.degrees_of_freedom == 1
    result = sim.run(0.05)
    np.testing.assert_allclose(result["out.angle"], 0.25 * result["in.angle"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(result["follow.angle"], 3.0 * result["out.angle"] + 0.2, rtol=0, atol=1e-9)


def test_drake_constraints(tmp_path):
    ball = """<drake:ball_constraint><drake:ball_constraint_body_A>top</drake:ball_constraint_body_A>
    <drake:ball_constraint_p_AP>1 0 0</drake:ball_constraint_p_AP>
    <drake:ball_constraint_body_B>right</drake:ball_constraint_body_B>
    <drake:ball_constraint_p_BQ>0 1 0</drake:ball_constraint_p_BQ></drake:ball_constraint>"""
    text = square(["revolute"] * 4)
    start = text.index('<joint name="j3"')
    model = rtmbs.read(written(tmp_path, text[:start] + ball + "</model>"))
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    assert sim.start_report.degrees_of_freedom == 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "holds no <model>"),
        (model_of(link("a") + link("a")), "already a frame 'a'"),
        (model_of(link("a") + joint("j", "hinge", "world", "a")), "no joint type named 'hinge'"),
        (model_of(link("a") + joint("j", "revolute", "world", "b")), "no frame named 'b'"),
        (model_of(link("a") + joint("j", "revolute", "a", "a")), "to itself"),
        (model_of(link("a") + joint("j", "gearbox", "world", "a")), "has no <gearbox_reference_body>"),
        (model_of(link("a") + joint("j", "revolute", "world", "a", "<axis><xyz>0 0 0</xyz></axis>")), "<xyz> is zero"),
        (model_of('<link name="a"><pose>1 2 3</pose></link>'), "must be 6 finite numbers"),
        (
            model_of('<link name="a"><pose relative_to="b"/></link><link name="b"><pose relative_to="a"/></link>'),
            "relative to itself",
        ),
        (model_of('<link name="a"><pose relative_to="no"/></link>'), "no frame"),
        (model_of('<link name="a"/><frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>' + joint(
            "j", "fixed", "world", "f")), "itself"),
    ],
)  # fmt: skip
def test_what_is_no_mechanism_is_refused(tmp_path, body, said):
    with pytest.raises(LanguageError, match=said):
        rtmbs.read(written(tmp_path, body))


def test_a_long_chain_of_frames_is_read(tmp_path):
    """5000 frames, each 0.001 m from the one before."""
    frames = "".join(
        f'<frame name="f{k}"><pose relative_to="{f"f{k - 1}" if k else "l"}">0.001 0 0 0 0 0</pose></frame>'
        for k in range(5000)
    )
    body = link("l") + frames + link("z").replace(">", '><pose relative_to="f4999"/>', 1)
    model = rtmbs.read(written(tmp_path, model_of(body + joint("j", "revolute", "l", "z"))))
    np.testing.assert_allclose(model.bodies["z"].position, (5.0, 0.0, 0.0), atol=1e-12)


def test_versions(tmp_path):
    for version in ("2.0", "1.13", "one"):
        with pytest.raises(LanguageError, match="has the version"):
            rtmbs.read(written(tmp_path, model_of(link("a")), version))


def test_a_link_without_inertial_has_the_default(tmp_path):
    model = rtmbs.read(written(tmp_path, model_of('<link name="a"/>')))
    assert model.bodies["a"].mass == 1.0
    np.testing.assert_allclose(model.bodies["a"].inertia, np.eye(3))


def test_the_canonical_link_floats(tmp_path):
    body = link("a") + link("b", "1 0 0 0 0 0") + joint("j", "revolute", "a", "b")
    text = f'<model name="m" canonical_link="{{}}">{body}</model>'
    assert rtmbs.read(written(tmp_path, text.format("b"))).joints["root_joint"].b.name == "b"
    assert rtmbs.read(written(tmp_path, model_of(body))).joints["root_joint"].b.name == "a"
    with pytest.raises(LanguageError, match="no frame named 'no'"):
        rtmbs.read(written(tmp_path, text.format("no")))


def test_joints_and_frames_of_the_world(tmp_path):
    """A joint of the world joins the links of two models; a model stands in a frame of the world."""
    world = '<world name="w"><frame name="F"><pose>0 0 1 0 0 0</pose></frame>'
    world += '<frame name="G" attached_to="a::l"><pose>0 2 0 0 0 0</pose></frame>'
    world += f'<model name="a"><pose relative_to="F">1 0 0 0 0 0</pose>{link("l")}</model>'
    world += f'<model name="b"><pose>3 0 0 0 0 0</pose>{link("l")}</model>'
    hinge = joint("j", "revolute", "G", "b", "<pose relative_to='F'>0 0 4 0 0 0</pose><axis><xyz>0 1 0</xyz></axis>")
    model = rtmbs.read(written(tmp_path, world + hinge + "</world>", "1.11"), strict=True)
    assert {name: (one.a.name, one.b.name) for name, one in model.joints.items()} == {
        "j": ("a::l", "b::l"),
        "root_joint": ("ground", "a::l"),
    }
    np.testing.assert_allclose(model.bodies["a::l"].position, (1, 0, 1))
    np.testing.assert_allclose(model.joints["j"].point_a, (-1, 0, 4))
    np.testing.assert_allclose(model.joints["j"].point_b, (-3, 0, 5))


def test_a_placement_frame_has_the_pose_of_the_model(tmp_path):
    """The frame 'tip' stands 1 m ahead of the link, turned a quarter; so does that of a model inside."""
    quarter = "1.5707963267948966"
    tip = f'<frame name="tip" attached_to="l"><pose>1 0 0 0 0 {quarter}</pose></frame>'
    inner = f'<model name="in" placement_frame="tip"><pose>0 0 1 0 0 0</pose>{link("l")}{tip}</model>'
    text = f'<model name="m" placement_frame="tip"><pose>0 0 5 0 0 0</pose>{link("l")}{tip}{inner}</model>'
    bodies = rtmbs.read(written(tmp_path, text)).bodies
    np.testing.assert_allclose(bodies["l"].position, (0, 1, 5), atol=1e-15)
    np.testing.assert_allclose(bodies["l"].orientation @ (1, 0, 0), (0, -1, 0), atol=1e-15)
    np.testing.assert_allclose(bodies["in::l"].position, (1, 1, 6), atol=1e-15)
    np.testing.assert_allclose(bodies["in::l"].orientation @ (1, 0, 0), (-1, 0, 0), atol=1e-15)
    out = '<model name="m" placement_frame="f"><link name="l"/><frame name="f" attached_to="l"><pose relative_to="f"/>'
    with pytest.raises(LanguageError, match="is not in the model by"):
        rtmbs.read(written(tmp_path, out + "</frame></model>"))


def test_an_inertia_to_compute_from_collisions_is_noted(tmp_path):
    path = written(tmp_path, model_of('<link name="l"><inertial auto="true"/></link>'), "1.11")
    assert "is not computed from collisions (auto): mass 1 kg" in str(rtmbs.read(path).import_report)


LIMIT = "<limit><lower>-1</lower><upper>1</upper></limit>"


@pytest.mark.parametrize(
    ("inertial", "kind", "inner", "said"),
    [
        ("<fluid_added_mass><xx>5</xx></fluid_added_mass>", "revolute", "<axis><xyz>0 0 1</xyz></axis>", "fluid_added"),
        ("", "ball", "<physics><ode/></physics>", "<physics>"),
        ("", "ball", '<sensor name="f" type="force_torque"/>', "<sensor>"),
        ("", "ball", f"<axis><xyz>0 0 1</xyz>{LIMIT}</axis>", "parts of <axis> that are not read: <limit>"),
        ("", "prismatic", "<axis><xyz>0 0 1</xyz><limit><stiffness>9</stiffness></limit></axis>", "<stiffness>"),
        ("", "prismatic", "<axis><xyz>0 0 1</xyz></axis><axis2><xyz>1 0 0</xyz></axis2>", "parts of <axis2>"),
        (
            "",
            "prismatic",
            "<axis><xyz>0 0 1</xyz><dynamics><damping>-2</damping></dynamics></axis>",
            "negative damping -2",
        ),
        ("", "ball", "<axis><dynamics><damping>0.01</damping></dynamics></axis>", "not read: <dynamics>"),
        ("", "screw", f"<axis><xyz>0 0 1</xyz>{LIMIT}</axis>", "parts of <axis> that are not read: <limit>"),
        ("", "universal", '<axis><xyz>0 0 1</xyz></axis><axis2><xyz>1 0 0</xyz><mimic joint="k"/></axis2>', "<mimic>"),
    ],
)
def test_parts_that_are_not_read_are_noted(tmp_path, inertial, kind, inner, said):
    body = link("b").replace("</inertial>", f"{inertial}</inertial>") + joint("j", kind, "world", "b", inner)
    path = written(tmp_path, model_of(body))
    assert said in str(rtmbs.read(path).import_report)
    with pytest.raises(LanguageError, match="strict=True"):
        rtmbs.read(path, strict=True)


def test_wind_is_noted_and_scenery_is_not(tmp_path):
    world = f'<world name="w"><wind/><light name="sun"/><physics type="ode"/>{model_of(link("a"))}</world>'
    notes = rtmbs.read(written(tmp_path, world)).import_report.notes
    assert [note.element for note in notes] == ["<wind>"]


def test_dynamics_of_zero_are_nothing_to_note(tmp_path):
    axis = "<axis><xyz>0 0 1</xyz><dynamics><damping>0.0</damping><friction>0</friction></dynamics></axis>"
    model = rtmbs.read(written(tmp_path, model_of(link("b") + joint("j", "ball", "world", "b", axis))), strict=True)
    assert list(model.joints) == ["j"]


def test_a_world_without_gravity_has_that_of_the_specification(tmp_path):
    path = tmp_path / "w.sdf"
    path.write_text('<sdf version="1.7"><world name="w"><model name="m"><link name="a"/></model></world></sdf>')
    assert tuple(rtmbs.read(path).gravity) == (0.0, 0.0, -9.8)
