"""``rtmbs.read``: the format of a file, texts that are no XML, and commands on robots' files.

Written files: read, write, read gives the same mechanics to 1e-12, for URDF and SDF, trees and loops.
"""

from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs.commands.cli import main
from rtmbs.errors import InputError, LanguageError, ModelError
from rtmbs.formats.assembly import ModelAssembly, rotation_of_rpy, rpy_of_rotation
from rtmbs.formats.shapes import MeshFiles

FILES = Path(__file__).parent / "files"
LAUGHS = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><robot name="&b;"><link name="a"/></robot>'
FILE = '<!DOCTYPE r [<!ENTITY f SYSTEM "file:///etc/passwd">]><robot name="r"><link name="&f;"/></robot>'


def test_the_ending_and_the_root_tell_the_format(tmp_path):
    assert rtmbs.read(FILES / "arm.urdf").import_report.format == "URDF"
    renamed = tmp_path / "arm.xml"
    renamed.write_bytes((FILES / "arm.urdf").read_bytes())
    assert rtmbs.read(str(renamed)).name == "skew_arm"


def test_own_model_files_are_read():
    model = rtmbs.read(FILES.parents[1] / "language" / "slider_crank.mks")
    assert isinstance(model, rtmbs.Model)
    assert model.joints
    assert model.import_report is None


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.step", "", "shapes without joints"),
        ("a.txt", "", "the ending must be one of"),
        ("a.urdf", "<robot", "is no XML"),
        ("a.urdf", "", "is no XML"),
        ("a.urdf", "<other/>", "begins with <other>"),
        ("a.urdf", LAUGHS, "document type"),
        ("a.urdf", FILE, "document type"),
        ("a.urdf", "<robot name='r'>&x;</robot>", "is no XML"),
        ("a.xml", "<mujocoinclude/>", "read one that includes it"),
        ("a.urdf", "<a>" * 300 + "</a>" * 300, "inside each other"),
        ("a.urdf", "<robot name='r'/>", "has no link"),
    ],
)
def test_texts_that_are_refused(tmp_path, name, text, said):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        rtmbs.read(path)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(LanguageError, match="does not exist"):
        rtmbs.read(tmp_path / "no.urdf")


def test_options_of_another_format_are_refused():
    with pytest.raises(InputError, match="keyframe= belongs to MJCF"):
        rtmbs.read(FILES / "arm.urdf", keyframe="home")


def test_check_and_run(tmp_path, capsys):
    assert main(["check", str(FILES / "four_bar.urdf")]) == 0
    said = capsys.readouterr().out
    assert "degrees of freedom   1" in said
    assert "URDF file" in said
    out = tmp_path / "arm.npz"
    words = ["run", str(FILES / "four_bar.urdf"), "--until", "0.02", "--step", "1e-3", "--out", str(out)]
    assert main(words) == 0
    assert np.all(np.isfinite(rtmbs.load_result(out)["rocker_pin.angle"]))
    capsys.readouterr()
    assert main(["check", str(FILES / "arm.urdf"), "--strict"]) != 0
    assert "strict=True" in capsys.readouterr().err


def test_a_xacro_file_is_expanded(tmp_path):
    pytest.importorskip("xacro")
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(
        """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
        <xacro:property name="half" value="0.4"/>
        <xacro:macro name="bar" params="name m">
          <link name="${name}"><inertial><origin xyz="${half} 0 0"/><mass value="${m}"/>
          <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        </xacro:macro>
        <xacro:bar name="one" m="1.5"/><xacro:bar name="two" m="2.5"/>
        <joint name="pin" type="continuous"><parent link="one"/><child link="two"/>
        <origin xyz="${2 * half} 0 0"/></joint>
        </robot>""",
        encoding="utf-8",
    )
    model = rtmbs.read(path)
    assert [model.bodies[name].mass for name in ("one", "two")] == [1.5, 2.5]
    np.testing.assert_allclose(model.bodies["two"].position, (0.8, 0.0, 0.0))


def test_files_outside_of_the_folder_are_not_opened_through_packages(tmp_path):
    """NAME of ``package://NAME`` is a package, or holds the folder urdf of the file; not any folder above it."""
    folder = tmp_path / "home" / "user" / "robot"
    (folder / "urdf").mkdir(parents=True)
    (tmp_path / "home" / "beside").mkdir()
    files = MeshFiles(folder / "urdf" / "r.urdf", {})
    for name in ("home", "user", "beside", tmp_path.name):
        with pytest.raises(ModelError, match="is not near the file"):
            files.place(f"package://{name}/x.stl")
    assert files.place("package://robot/x.stl") == (folder / "x.stl").resolve()
    (tmp_path / "home" / "beside" / "package.xml").write_text("<package/>", encoding="utf-8")
    assert files.place("package://beside/x.stl").name == "x.stl"


def test_an_alias_in_a_file_of_loops_is_refused(tmp_path):
    """366 bytes would unpack to 9^6 texts."""
    lines = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10))]
    path = tmp_path / "loops.yaml"
    path.write_text("\n".join([*lines, "closed_loop: *a9", "type: ['6d']"]), encoding="utf-8")
    with pytest.raises(LanguageError, match="has an alias"):
        rtmbs.read(FILES / "four_bar.urdf", loops=path)


@pytest.mark.parametrize("text", ["closed_loop: " + "[" * 8000, "closed_loop:\n" + "- " * 8000, "? " * 8000])
def test_lists_inside_each_other_in_a_file_of_loops_are_refused_at_once(tmp_path, text):
    """The scanner of PyYAML takes hours for 8000 brackets."""
    path = tmp_path / "loops.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LanguageError, match=r"yaml: the file of loops has more than 20 lists inside each other"):
        rtmbs.read(FILES / "four_bar.urdf", loops=path)


def test_equal_names_take_no_quadratic_time():
    """The 20,000th of equal names asks for fewer than 50 names."""

    class Counted(dict):
        asked = 0

        def __contains__(self, name):
            Counted.asked += 1
            return super().__contains__(name)

    assembly, taken = ModelAssembly("m", "f", "SDF"), Counted()
    for _ in range(20_000):
        taken[assembly.free_name("a", taken)] = None
    assert list(taken) == ["a", *(f"a_{k}" for k in range(2, 20_001))]
    assert Counted.asked < 50 * 20_000


def test_messages_say_their_place_once(tmp_path):
    path = tmp_path / "a.urdf"
    path.write_text(LAUGHS, encoding="utf-8")
    with pytest.raises(LanguageError) as caught:
        rtmbs.read(path)
    assert str(caught.value).count("a.urdf:1") == 1
    assert "is no XML" not in str(caught.value)


def test_a_negative_rotor_inertia_names_the_joint_and_its_line(tmp_path):
    path = tmp_path / "a.urdf"
    path.write_text(
        """<robot name="r"><link name="a"/><link name="b"/>
        <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
        <transmission name="t"><joint name="j"/><actuator name="m"><motorInertia>-1</motorInertia></actuator>
        </transmission></robot>""",
        encoding="utf-8",
    )
    with pytest.raises(LanguageError, match=r"a.urdf:2:.*joint 'j' has the rotor inertia -1"):
        rtmbs.read(path)


def test_check_takes_options_of_reading_before_the_file(capsys):
    assert main(["check", "--fixed", str(FILES / "four_bar.urdf")]) == 0
    assert "degrees of freedom   1" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    assert "--loops FILE" in capsys.readouterr().out


def test_names_that_are_no_path_are_refused(tmp_path):
    """A circle of links, and a name that no system of files takes."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    files = MeshFiles(tmp_path / "r.urdf", {})
    for address in ("a", "a/x.stl", "x" * 300):
        with pytest.raises(ModelError, match="is no path"):
            files.place(address)
    with pytest.raises(ModelError, match="is not near the file"):
        files.place(f"package://{'x' * 300}/y.stl")


def same_mechanics(one, two, seed=0):
    """Compare mass matrix, bias forces, loops and placements at random states, joints by name."""
    a, b = rtmbs.Robot(one), rtmbs.Robot(two)
    assert sorted(a.joint_names) == sorted(b.joint_names)
    random = np.random.default_rng(seed)
    places = {place.name: place for place in b.coordinates.places}
    to_v = np.concatenate([np.arange(b.nv)[places[name].v] for name in a.joint_names])

    def moved(v):
        found = np.zeros(b.nv)
        found[to_v] = v
        return found

    to_q = np.concatenate([np.arange(b.nq)[places[name].q] for name in a.joint_names])
    for _ in range(3):
        way, v, acc = random.uniform(-1.0, 1.0, (3, a.nv))
        q, x = a.integrate(a.neutral(), way), np.zeros(b.nq)
        x[to_q] = q
        M, tau = a.mass_matrix(q), a.inverse_dynamics(q, v, acc)
        np.testing.assert_allclose(b.mass_matrix(x)[np.ix_(to_v, to_v)], M, rtol=0, atol=1e-12 * np.abs(M).max())
        found = b.inverse_dynamics(x, moved(v), moved(acc))[to_v]
        np.testing.assert_allclose(found, tau, rtol=0, atol=1e-12 * np.abs(tau).max())
        if len(a.closure_gap(q)):
            gaps = [np.linalg.norm(robot.closure_gap(at)) for robot, at in ((a, q), (b, x))]  # in whatever axes
            np.testing.assert_allclose(*gaps, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["arm.urdf", "four_bar.urdf"])
@pytest.mark.parametrize("ending", [".urdf", ".sdf"])
def test_round_trip_of_urdf(tmp_path, name, ending):
    model = rtmbs.read(FILES / name, meshes=False)
    if ending == ".sdf" and name == "arm.urdf":
        for elements, key in ((model.couplers, "shoulder_rotor_gear"), (model.joints, "shoulder_rotor")):
            del elements[key]
        del model.bodies["shoulder_rotor"]
    path = tmp_path / f"out{ending}"
    assert not rtmbs.write(model, path).notes
    again = rtmbs.read(path, meshes=False)
    same_mechanics(model, again)
    assert again.import_report.limits == model.import_report.limits
    assert sorted(again.couplers) == sorted(model.couplers)


def test_round_trip_of_sdf(tmp_path):
    model = rtmbs.read(FILES / "arm.sdf")
    for ending in (".sdf", ".urdf"):
        path = tmp_path / f"out{ending}"
        rtmbs.write(model, path)
        same_mechanics(model, rtmbs.read(path))


def test_round_trip_of_a_free_body_and_balls(tmp_path):
    """Skew frames in both bodies, a joint walked from its second body, a ball and a floating base."""
    turn = rotation_of_rpy(0.3, -0.4, 1.2)
    model = rtmbs.Model("skew")
    for name in "abc":
        model.add_body(name, mass=1.0, center_of_mass=(0.1, 0.2, -0.1), inertia=(0.1, 0.2, 0.25, 0.01, 0.0, 0.02))
    model.add_joint("free", rtmbs.Floating(), "ground", "a", point_a=(0, 0, 1), point_b=(0, 0, 0),
                    axes_a=np.eye(3), axes_b=np.eye(3))  # fmt: skip
    model.add_joint("hinge", rtmbs.Revolute((0.0, 0.6, 0.8)), "b", "a", point_a=(0.1, 0, 0), point_b=(0, 0.2, 0.3),
                    axes_a=turn, axes_b=turn @ turn)  # fmt: skip
    model.add_joint("ball", rtmbs.Spherical(), "b", "c", point_a=(0.5, 0, 0), point_b=(0, 0.1, 0),
                    axes_a=turn, axes_b=np.eye(3))  # fmt: skip
    path = tmp_path / "out.urdf"
    rtmbs.write(model, path)
    again = rtmbs.read(path)
    assert sum(body.mass for body in again.bodies.values()) == 3.0
    same_mechanics(model, again)


@pytest.mark.parametrize("ending", [".urdf", ".sdf", ".xml"])
def test_balls_walked_from_their_second_body(tmp_path, ending):
    """The tree enters b at c: q is the rotation of c in b, and v in axes of b, before and after."""
    if ending == ".xml":
        pytest.importorskip("mujoco")
    turn = rotation_of_rpy(0.3, -0.4, 1.2)
    model = rtmbs.Model("ball", gravity=(0, 0, -9.81))
    for name in "bc":
        model.add_body(name, mass=1.0, center_of_mass=(0.1, 0.2, -0.1), inertia=(0.1, 0.2, 0.25, 0.01, 0.0, 0.02))
    model.add_joint("hinge", rtmbs.Revolute((0.0, 3.0, 4.0)), "ground", "c", axes_a=turn, axes_b=turn @ turn,
                    point_a=(0.1, 0, 0), point_b=(0, 0.2, 0.3))  # fmt: skip
    model.add_joint("ball", rtmbs.Spherical(), "b", "c", point_a=(0.5, 0, 0), point_b=(0, 0.1, 0),
                    axes_a=turn, axes_b=turn.T)  # fmt: skip
    assert rtmbs.Robot(model).coordinates.places[1].backwards
    for k in range(2):
        path = tmp_path / f"out{k}{ending}"
        rtmbs.write(model, path)
        again = rtmbs.read(path)
        same_mechanics(model, again)
        a, b = rtmbs.Robot(model), rtmbs.Robot(again)
        q = a.integrate(a.neutral(), (0.3, 0.4, -0.8, 0.5))
        np.testing.assert_allclose(
            b.forward_kinematics(q, "b").rotation, a.forward_kinematics(q, "b").rotation, rtol=0, atol=1e-14
        )
        model = again


def test_loops_keep_the_tree_of_the_system(tmp_path):
    """A joint that closes a loop and is not cut: the file has the tree that the compiler chose."""
    model = rtmbs.Model("loop")
    for name in "abc":
        model.add_body(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
    for name, one, two, x in (("j", "ground", "a", 0), ("k", "a", "b", 1), ("l", "c", "b", 2), ("m", "ground", "c", 3)):
        points = {"point_a": (x, 0, 0), "point_b": (x, 0, 0)}
        model.add_joint(name, rtmbs.Revolute((0, 0, 1)), one, two, axes_a=np.eye(3), axes_b=np.eye(3), **points)
    path = tmp_path / "out.urdf"
    rtmbs.write(model, path)
    same_mechanics(model, rtmbs.read(path))


@pytest.mark.parametrize(
    "angles", [(0.1, 0.2, 0.3), (0.3, np.pi / 2, 0.1), (-2.0, -np.pi / 2, 1.0), (1.0, 1.5707963, 2.0)]
)
def test_angles_give_the_rotation_back(angles):
    R = rotation_of_rpy(*angles)
    np.testing.assert_allclose(rotation_of_rpy(*rpy_of_rotation(R)), R, rtol=0, atol=4e-16)


def test_what_is_not_written_is_told(tmp_path):
    model = rtmbs.read(FILES / "arm.urdf", meshes=False)
    model.add_force("pull", rtmbs.Wrench(force=(0, 0, 1)), body="tool")
    model.add_driver("drive", rtmbs.ConstantRate(1.0), joint="elbow")
    told = str(rtmbs.write(model, tmp_path / "a.urdf"))
    assert "force 'pull': is not written" in told
    assert "driver 'drive': is not written" in told
    with pytest.raises(InputError, match=r"must be .urdf, .sdf or .xml"):
        rtmbs.write(model, tmp_path / "a.txt")
    with pytest.raises(InputError, match="write takes a Model"):
        rtmbs.write("robot", tmp_path / "a.urdf")
    screw = rtmbs.Model("screw")
    screw.add_body("nut", mass=1.0, inertia=(1, 1, 1))
    screw.add_joint("thread", rtmbs.Screw((0, 0, 1), 0.01), "ground", "nut")
    with pytest.raises(InputError, match="is Screw, which URDF has not"):
        rtmbs.write(screw, tmp_path / "a.urdf")
    rtmbs.write(screw, tmp_path / "a.sdf")
    assert rtmbs.read(tmp_path / "a.sdf").joints["thread"].type.pitch == 0.01


ROOT_LAST = """<robot name="r">
<link name="arm"><inertial><origin xyz=".5 0 0"/><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1"/></inertial>
</link>
<link name="base"><inertial><mass value="5"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="arm"/><origin xyz="1 0 0"/><axis xyz="0 1 0"/>
</joint></robot>"""


def test_the_link_that_floats_stays_the_same_in_sdf(tmp_path):
    """The root link is the second of the file; the mass matrix about it is 4 by 3 larger about the other link."""
    (tmp_path / "r.urdf").write_text(ROOT_LAST, encoding="utf-8")
    model = rtmbs.read(tmp_path / "r.urdf", floating=True)
    assert not rtmbs.write(model, tmp_path / "r.sdf").notes
    again = rtmbs.read(tmp_path / "r.sdf", strict=True)
    assert again.joints["root_joint"].b.name == "base"
    same_mechanics(model, again)


def test_floating_joints_that_sdf_changes_are_told(tmp_path):
    """Each of two free bodies floats on its own; one has another name and frames than a reader gives it."""
    model, still = rtmbs.Model("two"), {"point_b": np.zeros(3), "axes_a": np.eye(3), "axes_b": np.eye(3)}
    for name in ("a", "b"):
        model.add_body(name, mass=1.0, inertia=(1, 1, 1))
    model.add_joint("fly", rtmbs.Floating(), "ground", "a", point_a=(0, 0, 1), **still)
    model.add_joint("root_joint_2", rtmbs.Floating(), "ground", "b", point_a=np.zeros(3), **still)
    notes = rtmbs.write(model, tmp_path / "two.sdf").notes
    assert [note.element for note in notes] == ["joint 'fly'", "joint 'fly'"]
    assert "becomes 'root_joint'" in notes[0].what
    assert "loses its points and axes" in notes[1].what
    joints = rtmbs.read(tmp_path / "two.sdf").joints
    assert {name: one.b.name for name, one in joints.items()} == {"root_joint": "a", "root_joint_2": "b"}


SOLID = {"mass": 1.0, "center_of_mass": (0.1, 0.2, 0.3), "inertia": (0.1, 0.2, 0.25)}


def chain(*types):
    """Return a Model of bodies b0, b1, ... in a row, joined by j0, j1, ... from ground on."""
    model, before = rtmbs.Model("chain"), "ground"
    for k, kind in enumerate(types):
        model.add_body(f"b{k}", **SOLID)
        model.add_joint(f"j{k}", kind, before, f"b{k}", point=(0.5 * k, 0, 0))
        before = f"b{k}"
    return model


def written_notes(model, path):
    """Return the notes of ``write`` as element and words."""
    return {note.element: note.what for note in rtmbs.write(model, path).notes}


@pytest.mark.parametrize(
    ("kind", "on", "ending"),
    [
        (rtmbs.Screw((0, 0, 1), 0.1), "j0", ".sdf"),
        (rtmbs.Universal((1, 0, 0), (0, 1, 0)), ("j0", "angle_b"), ".sdf"),
        (rtmbs.Planar((0, 0, 1)), ("j0", "angle"), ".urdf"),
    ],
)
def test_dampers_and_couplers_that_are_lost_are_told(tmp_path, kind, on, ending):
    model = chain(kind, rtmbs.Revolute((0, 1, 0)))
    model.add_force("brake", rtmbs.TorsionSpring(0.0, 0.3), joint=on)
    model.add_coupler("gear", {on: 1.0, "j1": -2.0}, 0.1)
    path = tmp_path / f"x{ending}"
    assert written_notes(model, path) == {"force 'brake'": "is not written", "coupler 'gear'": "is not written"}
    again = rtmbs.read(path, strict=True)
    assert not again.forces
    assert not again.couplers


def test_shapes_markers_and_starts_are_told(tmp_path):
    model = chain(rtmbs.Revolute((0, 1, 0)), rtmbs.Spherical(), rtmbs.Revolute((0, 0, 1)))
    model.set_initial("j1", (1.0, 0.0, 0.0, 0.0))  # no turn
    model.set_initial("j2", 0.0)
    assert not written_notes(model, tmp_path / "x.urdf")
    model.set_looks("b0", shape=rtmbs.Sphere(0.1))
    model.add_marker("tip", "b1", (1, 0, 0))
    model.set_initial("j0", 0.3, 2.0)
    for ending in (".urdf", ".sdf", ".xml"):
        told = written_notes(model, tmp_path / f"x{ending}")
        assert set(told) == {
            "markers (1 of them)",
            "shapes of bodies (1 of them)",
            "initial values of joints (1 of them)",
        }


def test_limits_that_are_lost_are_told(tmp_path):
    """A range that is open on one side; rate and force in MJCF, and of a slide without a range in URDF."""
    body = '<link name="{}"><inertial><mass>1</mass></inertial></link>'
    axis = '<joint name="{}" type="prismatic"><parent>{}</parent><child>{}</child>'
    axis += "<axis><xyz>0 0 1</xyz><limit>{}</limit></axis></joint>"
    text = body.format("a") + body.format("b") + axis.format("p", "world", "a", "<lower>-1</lower>")
    text += axis.format("r", "a", "b", "<effort>3</effort>")
    (tmp_path / "l.sdf").write_text(f'<sdf version="1.9"><model name="m">{text}</model></sdf>', encoding="utf-8")
    model = rtmbs.read(tmp_path / "l.sdf")
    assert set(written_notes(model, tmp_path / "x.sdf")) == set()
    assert rtmbs.read(tmp_path / "x.sdf").import_report.limits == model.import_report.limits
    told = written_notes(model, tmp_path / "x.urdf")
    assert set(told) == {"range of joint 'p'", "limits of rate and force of joint 'r'"}
    assert rtmbs.read(tmp_path / "x.urdf").import_report.limits == {}
    told = written_notes(model, tmp_path / "x.xml")
    assert set(told) == {"range of joint 'p'", "limits of rate and force of joints (1 of them)"}


def test_bodies_that_mujoco_refuses_are_told(tmp_path):
    """A point mass that moves; one that is held by another body is written so that MuJoCo takes it."""
    pytest.importorskip("mujoco")
    model = chain(rtmbs.Revolute((0, 1, 0)))
    model.add_body("point", mass=0.5, inertia=(0.05, 0.05, 0.1, 0.05, 0, 0))  # no inertia about (1, -1, 0)
    model.add_joint("hold", rtmbs.Fixed(), "b0", "point", point=(0, 0, 1))
    assert not written_notes(model, tmp_path / "x.xml")
    same_mechanics(model, rtmbs.read(tmp_path / "x.xml", strict=True))
    del model.joints["hold"]
    model.add_joint("hold", rtmbs.Revolute((0, 0, 1)), "b0", "point", point=(0, 0, 1))
    assert "no inertia about an axis" in written_notes(model, tmp_path / "x.xml")["body 'point'"]
    with pytest.raises(LanguageError, match="MuJoCo refuses"):
        rtmbs.read(tmp_path / "x.xml")


@pytest.mark.parametrize("ending", [".urdf", ".sdf"])
def test_the_order_of_the_joints_stays(tmp_path, ending):
    """A tree of two branches, whose joints the Model lists branch by branch."""
    model = rtmbs.Model("tree")
    for name, parent in (("a", "ground"), ("b", "a"), ("c", "b"), ("d", "a"), ("e", "d")):
        model.add_body(name, **SOLID)
        model.add_joint(f"to_{name}", rtmbs.Revolute((0, 1, 0)), parent, name, point=(1, 0, 0))
    rtmbs.write(model, tmp_path / f"x{ending}")
    again = rtmbs.read(tmp_path / f"x{ending}")
    assert rtmbs.Robot(again).joint_names == rtmbs.Robot(model).joint_names
    assert [name for name in again.joints if name in model.joints] == list(model.joints)


def test_a_hinge_between_ground_and_a_free_link_is_told(tmp_path):
    """SDF has no cut joint of that kind: after reading, the hinge carries the link, which no longer floats."""
    model, still = rtmbs.Model("held"), {"axes_a": np.eye(3), "axes_b": np.eye(3)}
    model.add_body("a", **SOLID)
    origin = np.zeros(3)
    model.add_joint("root_joint", rtmbs.Floating(), "ground", "a", point_a=origin, point_b=origin, **still)
    model.add_joint(
        "hinge", rtmbs.Revolute((0, 1, 0)), "ground", "a", point_a=origin, point_b=origin, cut=True, **still
    )
    told = written_notes(model, tmp_path / "x.sdf")
    assert list(told) == ["joint 'hinge'"]
    assert list(rtmbs.read(tmp_path / "x.sdf").joints) == ["hinge"]
