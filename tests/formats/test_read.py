"""``rtmbs.read``: the format of a file, texts that are no XML, and commands on robots' files."""

from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs.commands.cli import main
from rtmbs.errors import InputError, LanguageError, ModelError
from rtmbs.formats.assembly import ModelAssembly
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
