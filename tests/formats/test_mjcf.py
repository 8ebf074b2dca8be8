"""MJCF against MuJoCo itself: mass matrix, bias forces, passive and actuator forces, freedom; and what is refused."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, LanguageError
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from tests.formats.test_files import same_mechanics

mujoco = pytest.importorskip("mujoco")
FILES = Path(__file__).parent / "files"
FREE, BALL = 0, 1


@pytest.fixture(autouse=True)
def no_log_file(monkeypatch, tmp_path):
    """MuJoCo writes its warnings to a file in the present folder."""
    monkeypatch.chdir(tmp_path)


def joint_names(model):
    return [model.joint(j).name or f"{model.body(model.jnt_bodyid[j]).name}_joint" for j in range(model.njnt)]


def random_pose(model, random):
    """Return qpos with unit quaternions, and qvel."""
    q = random.uniform(-1.0, 1.0, model.nq)
    for j in range(model.njnt):
        if model.jnt_type[j] in (FREE, BALL):
            start = model.jnt_qposadr[j] + (3 if model.jnt_type[j] == FREE else 0)
            q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
    return q, random.uniform(-1.0, 1.0, model.nv)


def at_pose(read, model, q, v):
    """Return equations at a pose, and T (n, nv) from the rates of MuJoCo to ours, rotors and closures included."""
    read.initials.clear()
    for j, name in enumerate(joint_names(model)):
        a, d = model.jnt_qposadr[j], model.jnt_dofadr[j]
        wide, rates = {FREE: (7, 6), BALL: (4, 3)}.get(int(model.jnt_type[j]), (1, 1))
        position = np.array(q[a : a + wide])
        if model.jnt_type[j] == BALL:
            mujoco.mju_mulQuat(position, model.body_quat[model.jnt_bodyid[j]], q[a : a + wide])
        read.set_initial(name, position, v[d : d + rates])
    system = read.compile()
    T = np.zeros((system.n, model.nv))
    for j, name in enumerate(joint_names(model)):
        info, d, kind = system.joints[name], model.jnt_dofadr[j], int(model.jnt_type[j])
        turns = info.dofs[3:] if kind == FREE else info.dofs
        if kind in (FREE, BALL):
            first = d + (3 if kind == FREE else 0)
            for dof in turns:
                T[dof, first : first + 3] = system.bodies[info.b].rotation.T @ system.tables.dofs.axis[dof]
            for k, dof in enumerate(info.dofs[:3] if kind == FREE else ()):
                T[dof, d + k] = 1.0
        else:
            T[info.dofs[0], d] = 1.0
            if f"{name}_rotor" in system.joints:
                T[system.joints[f"{name}_rotor"].dofs[0], d] = 1.0
    return SemiRecursiveEquations(system), system, T


@pytest.mark.parametrize("name", ["chain", "2f85", "cassie"])
def test_mass_matrix_bias_and_forces(name):
    """M, c(q, v), and the passive forces of springs and dampers are those of MuJoCo."""
    model = mujoco.MjModel.from_xml_path(str(FILES / f"{name}.xml"))
    data, random = mujoco.MjData(model), np.random.default_rng(5)
    for _ in range(3):
        q, v = random_pose(model, random)
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, 0.0
        mujoco.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        equations, system, T = at_pose(rtmbs.read(FILES / f"{name}.xml", meshes=False), model, q, v)
        equations.residual(system.z0, T @ v, np.zeros(system.n), system.R0)
        ours = T.T @ equations.mass_matrix() @ T
        forces = T.T @ equations.ws.tau
        wanted = data.qfrc_bias - data.qfrc_passive - data.qfrc_actuator
        np.testing.assert_allclose(ours, M, rtol=0, atol=1e-12 * np.abs(M).max())
        np.testing.assert_allclose(forces, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


def test_actuators_take_their_controls():
    model = mujoco.MjModel.from_xml_path(str(FILES / "chain.xml"))
    data, random = mujoco.MjData(model), np.random.default_rng(6)
    q, v = random_pose(model, random)
    data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, (0.7, -0.4)
    mujoco.mj_forward(model, data)
    equations, system, T = at_pose(rtmbs.read(FILES / "chain.xml", meshes=False), model, q, v)
    found = []
    for controls in ((0.0, 0.0), (0.7, -0.4)):
        equations.u[system.inputs["drive.ctrl"]], equations.u[system.inputs["hold.ctrl"]] = controls
        equations.residual(system.z0, T @ v, np.zeros(system.n), system.R0)
        found.append(T.T @ equations.ws.tau)
    data.ctrl[:] = 0.0
    before = data.qfrc_actuator.copy()
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(found[0] - found[1], before - data.qfrc_actuator, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "freedom"), [("2f85", 3), ("cassie", 22)])
def test_freedom_of_closed_loops(name, freedom):
    """The freedom is nv less the rank of MuJoCo's own constraint Jacobian; two rods of Cassie spin idly."""
    read = rtmbs.read(FILES / f"{name}.xml", meshes=False)
    read.forces.clear()
    sim = rtmbs.Simulation(read.compile(), h=1e-3)
    assert sim.start_report.degrees_of_freedom == freedom
    assert sim.start_report.gap < 1e-10
    model = mujoco.MjModel.from_xml_path(str(FILES / f"{name}.xml"))
    data = mujoco.MjData(model)
    data.qpos[:] = model.key_qpos[0] if model.nkey else model.qpos0
    for _ in range(12):  # a keyframe closes the loops to a millimetre only
        gap, J = loop_rows(model, data)
        mujoco.mj_integratePos(model, data.qpos, -np.linalg.pinv(J, rcond=1e-6) @ gap, 1.0)
    gap, J = loop_rows(model, data)
    assert np.abs(gap).max() < 1e-12
    assert model.nv - np.linalg.matrix_rank(J, tol=1e-8) == freedom


def loop_rows(model, data):
    """Return positions and Jacobian of the equalities."""
    mujoco.mj_forward(model, data)
    if mujoco.mj_isSparse(model):
        J = np.zeros((data.nefc, model.nv))
        mujoco.mju_sparse2dense(J, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
    else:
        J = data.efc_J.reshape(data.nefc, model.nv)
    equalities = data.efc_type == 0
    return data.efc_pos[equalities].copy(), J[equalities].copy()


def test_start_of_a_keyframe_and_references():
    model = rtmbs.read(FILES / "chain.xml")
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    assert sim.system.z0[sim.system.joints["pitch"].dofs[0]] == pytest.approx(0.5)
    assert sim.system.zd0[sim.system.joints["roll"].dofs[0]] == pytest.approx(1.0)
    np.testing.assert_allclose(model.gravity, (0.3, -0.2, -9.5))
    told = str(model.import_report)
    assert "equality 'gear': is not active" in told
    assert "dry friction 0.2" in told
    assert model.import_report.limits["pitch"][:2] == (-1.0, 1.0)
    assert "imu" in model.markers
    with pytest.raises(InputError, match="no keyframe named 'down'"):
        rtmbs.read(FILES / "chain.xml", keyframe="down")
    with pytest.raises(LanguageError, match="strict=True"):
        rtmbs.read(FILES / "chain.xml", strict=True)


def test_a_polynomial_coupling(tmp_path):
    """y - y0 = 0.1 + 2 x + 0.5 x^2 - 0.2 x^3, x less its reference, along a motion."""
    text = (FILES / "chain.xml").read_text(encoding="utf-8")
    text = text.replace('polycoef="0.1 2 0 0 0" active="false"', 'polycoef="0.1 2 0.5 -0.2 0"')
    path = tmp_path / "curve.xml"
    path.write_text(text, encoding="utf-8")
    model = rtmbs.read(path, meshes=False)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    result = sim.run(0.05)
    x, y = result["elbow.angle"], result["grip.angle"]
    assert np.ptp(x) > 1e-3
    assert np.max(np.abs(y - (0.1 + 2.0 * x + 0.5 * x**2 - 0.2 * x**3))) < 1e-8


def test_a_weld_closes_with_six_equations(tmp_path):
    path = tmp_path / "weld.xml"
    path.write_text(
        """<mujoco><worldbody><body name="a" pos="0 0 1"><joint name="ja" axis="0 1 0"/><geom size="0.1"/></body>
        <body name="b" pos="0.5 0 1" euler="0 30 10"><freejoint name="jb"/><geom size="0.1"/></body></worldbody>
        <equality><weld name="hold" body1="a" body2="b"/></equality></mujoco>""",
        encoding="utf-8",
    )
    model = rtmbs.read(path)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    assert sim.start_report.degrees_of_freedom == 1
    assert sim.start_report.gap < 1e-12


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<mujoco><worldbody><body/></worldbody></mujoco>", ""),
        ("<mujoco><odd/></mujoco>", "MuJoCo refuses the file"),
        ('<mujoco><asset><mesh name="m" file="/etc/passwd"/></asset></mujoco>', "is outside of the folder"),
        ('<mujoco><compiler meshdir="../.."/></mujoco>', "is outside of the folder"),
        ('<mujoco><include file="../x.xml"/></mujoco>', "is outside of the folder"),
        (
            '<mujoco><asset><texture name="t" type="2d" builtin="flat" width="9000" height="9000"/></asset></mujoco>',
            "20000000 are the most",
        ),
        (
            '<mujoco><asset><hfield name="t" nrow="20000" ncol="20000" size="1 1 1 1"/></asset></mujoco>',
            "20000000 are the most",
        ),
        ('<mujoco><custom><numeric name="n" size="1000000000"/></custom></mujoco>', "20000000 are the most"),
        (
            '<mujoco><worldbody><replicate count="100"><replicate count="200"><body><geom size="1"/></body></replicate>'
            "</replicate></worldbody></mujoco>",
            "10000 more are the most",
        ),
    ],
)
def test_files_that_are_refused(tmp_path, text, said):
    folder = tmp_path / "inner"
    folder.mkdir()
    path = folder / "m.xml"
    path.write_text(text, encoding="utf-8")
    if not said:
        assert rtmbs.read(path).bodies
        return
    with pytest.raises(LanguageError, match=said):
        rtmbs.read(path)


HOST = """<mujoco><asset><model name="s" file="{}"/></asset><worldbody><body name="b"><freejoint/><geom size=".1"/>
<attach model="s" body="x" prefix="p_"/></body></worldbody></mujoco>"""
PART = '<mujoco>{}<worldbody><body name="x"><geom size="1"/></body></worldbody></mujoco>'


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("", ""),
        ('<asset><mesh name="m" file="own.stl"/></asset>', ""),
        ('<asset><mesh name="m" file="../../x.stl"/></asset>', "is outside of the folder"),
        ('<asset><mesh name="m" file="/etc/passwd"/></asset>', "is outside of the folder"),
        ('<asset><model name="s" file="../../x.xml"/></asset>', "is outside of the folder"),
        ('<asset><model name="s" file="part.xml"/></asset>', "attaches itself"),
        ('<asset><hfield name="t" nrow="20000" ncol="20000" size="1 1 1 1"/></asset>', "20000000 are the most"),
        ('<include file="more.xml"/>', "is outside of the folder"),
    ],
)
def test_attached_models_are_held_to_the_folder(tmp_path, part, said):
    """Also meshes that they name, and what their includes name, from a folder of their own."""
    folder = tmp_path / "robot" / "sub"
    folder.mkdir(parents=True)
    (folder / "own.stl").write_bytes(tetrahedron())
    (folder / "more.xml").write_text('<mujocoinclude><include file="less.xml"/></mujocoinclude>', encoding="utf-8")
    outside = '<mujocoinclude><asset><mesh name="m" file="/etc/passwd"/></asset></mujocoinclude>'
    (folder / "less.xml").write_text(outside, encoding="utf-8")
    (folder / "part.xml").write_text(PART.format(part), encoding="utf-8")
    path = folder.parent / "m.xml"
    path.write_text(HOST.format("sub/part.xml"), encoding="utf-8")
    if not said:
        assert "p_x" in rtmbs.read(path, meshes=False).bodies
        return
    with pytest.raises(LanguageError, match=said):
        rtmbs.read(path)


def tetrahedron():
    """Return the bytes of an STL file."""
    corners = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], "<f4")
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    parts = [bytes(12) + corners[list(face)].tobytes() + bytes(2) for face in faces]
    return bytes(80) + len(faces).to_bytes(4, "little") + b"".join(parts)


def test_missing_meshes_are_left_out_where_no_mass_comes_from_them(tmp_path):
    body = '<body><freejoint/>{}<geom type="mesh" mesh="m"/></body>'
    floor = '<geom type="plane" size="1 1 1" material="grey"/>'
    asset = '<mujoco><asset><mesh name="m" file="no.stl"/><material name="grey"/></asset><worldbody>'
    asset += f"{floor}{{}}</worldbody></mujoco>"
    path = tmp_path / "m.xml"
    path.write_text(asset.format(body.format('<inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/>')), encoding="utf-8")
    model = rtmbs.read(path)
    assert model.bodies["body_1"].mass == 2.0
    assert "are left out" in str(model.import_report)
    path.write_text(asset.format(body.format("")), encoding="utf-8")
    with pytest.raises(LanguageError, match="takes its mass from a mesh that is missing"):
        rtmbs.read(path)


def test_shapes(tmp_path):
    path = tmp_path / "chain.xml"
    shutil.copy(FILES / "chain.xml", path)
    model = rtmbs.read(path)
    kinds = {name: [type(one).__name__ for one in looks.shapes] for name, looks in model.looks.items()}
    assert kinds["base"] == ["Surface"]
    assert kinds["leg"] == ["Cylinder", "Sphere", "Sphere"]
    assert kinds["foot"] == ["Box"]


ROTORS = hasattr(mujoco.MjModel.from_xml_string("<mujoco/>"), "actuator_damping")
BOX = '<geom type="box" size=".1 .2 .3" pos=".1 0 .05" contype="0" conaffinity="0"/>'


def one_body(tmp_path, joint, after="", before=""):
    """Return the path of a file with one body of one joint."""
    path = tmp_path / "one.xml"
    body = f'<body name="b" pos="0 0 1"><joint name="j" {joint}/>{BOX}</body>'
    path.write_text(f"<mujoco>{before}<worldbody>{body}</worldbody>{after}</mujoco>", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("joint", "after", "said"),
    [
        ('type="free" armature="0.5"', "", "rotor inertia 0.5"),
        ('type="free" damping="2"', "", "spring or damper"),
        ('type="free" stiffness="3"', "", "spring or damper"),
        ('type="free" frictionloss=".1"', "", "dry friction 0.1"),
        ('type="ball" limited="true" range="0 28.6"', "", "limit 0.499"),
        ('actuatorfrcrange="-1 1"', "", "actuatorfrcrange"),
        ('type="ball"', '<actuator><motor joint="j" gear="0 0 2" armature="3"/></actuator>', "inertia or damping"),
    ],
)
def test_parts_of_a_joint_that_are_not_read_are_noted(tmp_path, joint, after, said):
    path = one_body(tmp_path, joint, after)
    if "motor" in after and not ROTORS:
        pytest.skip("this MuJoCo has no rotors of actuators")
    assert said in str(rtmbs.read(path).import_report)
    with pytest.raises(LanguageError, match="strict=True"):
        rtmbs.read(path, strict=True)


MOTOR = '<actuator><motor joint="j" gear="3" armature="2" damping="0.4"/></actuator>'


@pytest.mark.parametrize(
    ("off", "after", "noted"),
    [
        ("", MOTOR, False),
        ('gravity="disable" spring="disable"', "", False),
        ('damper="disable"', MOTOR, False),
        ('frictionloss="disable"', "", False),
        ('actuation="disable"', '<actuator><position joint="j" kp="7"/></actuator>', True),
        ('equality="disable"', '<equality><joint joint1="j" polycoef=".1 0 0 0 0"/></equality>', True),
        ('constraint="disable"', '<equality><connect body1="b" anchor="0 0 0"/></equality>', True),
    ],
)
def test_flags_and_rotors_of_actuators(tmp_path, off, after, noted):
    """M and acceleration of one hinge with spring and damper are those of MuJoCo."""
    if after == MOTOR and not ROTORS:
        pytest.skip("this MuJoCo has no rotors of actuators")
    hinge = 'type="hinge" axis="0 1 0" damping="2" stiffness="5" springref="10" armature=".1"'
    hinge += ' frictionloss="1"' if "friction" in off else ""
    path = one_body(tmp_path, hinge, after, f"<option><flag {off}/></option>")
    model = mujoco.MjModel.from_xml_path(str(path))
    data, M = mujoco.MjData(model), np.zeros((1, 1))
    data.qpos[0], data.qvel[0] = 0.3, 1.5
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, M)
    read = rtmbs.read(path, friction=True)
    robot = rtmbs.Robot(read)
    np.testing.assert_allclose(robot.mass_matrix([0.3]), M, rtol=1e-12)
    found = robot.forward_dynamics([0.3], [1.5]).accelerations
    np.testing.assert_allclose(found, data.qacc, rtol=0, atol=1e-11 * max(1.0, np.abs(data.qacc).max()))
    assert bool(read.import_report.notes) == noted


def test_a_keyframe_gives_the_controls(tmp_path):
    """A servo holds the pose of its keyframe: its force is that of MuJoCo after a reset to the keyframe."""
    after = '<actuator><position name="p" joint="j" kp="50"/></actuator>'
    after += '<keyframe><key name="home" qpos="0.3" ctrl="0.5"/></keyframe>'
    path = one_body(tmp_path, 'type="hinge" axis="0 1 0"', after)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    read = rtmbs.read(path, strict=True)
    assert rtmbs.Simulation(read.compile(), h=1e-3).inputs["p.ctrl"] == 0.5
    found = rtmbs.Robot(read).forward_dynamics([0.3], [0.0]).accelerations
    np.testing.assert_allclose(found, data.qacc, rtol=1e-12)


HINGED = """<mujoco><compiler angle="radian"/><worldbody>
<body name="crank"><joint name="a" axis="0 0 1"/><geom type="box" size=".1 .02 .02" pos=".1 0 0"/>
 <body name="rod" pos=".2 0 0"><joint name="b" axis="0 0 1"/><geom type="box" size=".3 .02 .02" pos=".3 0 0"/></body>
</body>
<body name="rocker" pos=".8 .3 0"><joint name="c" axis="0 0 1"/><geom type="box" size=".1 .02 .02" pos="0 .1 0"/></body>
</worldbody><equality><connect name="d" body1="rod" body2="rocker" anchor=".6 0 -.1"/>
<connect name="e" body1="rocker" body2="rod" anchor="0 -.3 .1"/></equality></mujoco>"""


def test_two_connects_are_a_hinge(tmp_path):
    """Two points on one axis hold five ways, not six; written and read again it is the same hinge."""
    path = tmp_path / "robot.xml"
    path.write_text(HINGED)
    model = rtmbs.read(path)
    hinge = model.joints["d"]
    assert isinstance(hinge.type, rtmbs.Revolute)
    assert "e" not in model.joints
    np.testing.assert_allclose(np.abs(hinge.axes_a @ hinge.type.axis), (0, 0, 1), rtol=0, atol=1e-15)
    robot = rtmbs.Robot(model)
    q, _ = robot.assembled()
    assert robot.closure_jacobian(q).shape == (5, 3)
    assert np.linalg.matrix_rank(robot.closure_jacobian(q), tol=1e-9) == 2  # one degree of freedom
    rtmbs.write(model, tmp_path / "again.xml")
    again = rtmbs.read(tmp_path / "again.xml")
    assert isinstance(again.joints["d"].type, rtmbs.Revolute)
    same_mechanics(model, again)


def test_two_connects_that_cannot_be_a_hinge_stay_balls(tmp_path):
    sites = """<site name="p" pos="0 0 0"/><site name="q" pos="0 0 .2"/>"""
    text = HINGED.replace("</body>\n</body>", f"{sites}</body>\n</body>")
    text = text.replace('pos="0 .1 0"/></body>', 'pos="0 .1 0"/><site name="r"/><site name="s" pos="0 0 .3"/></body>')
    text = (
        text[: text.index("<equality>")]
        + """<equality><connect site1="p" site2="r"/><connect site1="q" site2="s"/>
        </equality></mujoco>"""
    )
    path = tmp_path / "robot.xml"
    path.write_text(text)
    kinds = [type(one.type) for one in rtmbs.read(path).joints.values() if one.cut]
    assert kinds == [rtmbs.Spherical, rtmbs.Spherical]


def test_a_straight_tendon_of_constant_length_is_a_rod(tmp_path):
    """Two sites, an equality with one spatial tendon: a rod, 1 cm longer than the distance at the pose of the file."""
    sites = """<site name="p" pos=".6 0 0"/></body></body><body name="rocker" pos=".8 .3 0">"""
    text = HINGED[: HINGED.index("<equality>")].replace('</body>\n</body>\n<body name="rocker" pos=".8 .3 0">', sites)
    text = text.replace('pos="0 .1 0"/></body>', 'pos="0 .1 0"/><site name="r" pos="0 .2 0"/></body>')
    text += """<tendon><spatial name="t"><site site="p"/><site site="r"/></spatial></tendon>
        <equality><tendon name="rod" tendon1="t" polycoef=".01 0 0 0 0"/></equality></mujoco>"""
    path = tmp_path / "robot.xml"
    path.write_text(text)
    model = rtmbs.read(path)
    assert list(model.rods) == ["rod"]
    robot = rtmbs.Robot(model)
    q, _ = robot.assembled()
    ends = [robot.forward_kinematics(q, name).position for name in ("p", "r")]
    assert np.linalg.norm(ends[0] - ends[1]) == pytest.approx(0.51, abs=1e-12)  # 0.5 m at the pose of the file


@pytest.mark.parametrize(("side", "said"), [(100, ""), (30_000, "20000000 are the most")])
def test_pixels_of_images_are_counted(tmp_path, side, said):
    """The header of a PNG tells how much memory it takes; a picture of 30000 x 30000 may have 1 MB."""
    (tmp_path / "big.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + 2 * side.to_bytes(4, "big"))
    path = tmp_path / "m.xml"
    path.write_text('<mujoco><asset><texture name="t" type="2d" file="big.png"/></asset><worldbody/></mujoco>')
    with pytest.raises(LanguageError, match=said or "MuJoCo refuses the file"):  # the picture is cut
        rtmbs.read(path)


@pytest.mark.parametrize(
    "part",
    [
        '<asset><mesh name="a" builtin="supertorus" params="700 .01 1 1"/></asset>',
        '<asset><mesh name="a" builtin="cone" params="30000 .001"/></asset>',
        '<sensor><user dim="30000000"/></sensor>',
        '<sensor><clock nsample="16000000" delay="1"/></sensor>',
        '<actuator><general joint="j" dyntype="user" actdim="30000000"/></actuator>',
        '<size nuser_body="10000000"/>',
        '<size nkey="200000"/>',
        "<keyframe>" + "<key/>" * 100_000 + "</keyframe>",
    ],
)
def test_short_texts_do_not_ask_for_gigabytes(tmp_path, part):
    path = one_body(tmp_path, 'type="hinge"', after=part)
    with pytest.raises(LanguageError, match="numbers; 20000000 are the most"):
        rtmbs.read(path)


def test_names_with_backslashes_stay_in_the_folder(tmp_path):
    """MuJoCo opens them as slashes."""
    path = one_body(tmp_path, 'type="hinge"', after='<asset><mesh file="..\\..\\x.stl"/></asset>')
    with pytest.raises(LanguageError, match="is outside of the folder"):
        rtmbs.read(path)


@pytest.mark.parametrize(
    ("joint", "after"),
    [
        ('type="slide" armature="1" ref="30"', ""),
        ('type="hinge" armature="1"', '<keyframe><key qpos="27"/></keyframe>'),
        ('type="hinge" ref="-1719"', ""),
    ],
)
def test_starts_of_many_turns_are_those_of_mujoco(tmp_path, joint, after):
    """A file states its unit of angles; the hidden rotor turns by 30 rad where a slide moves by 30 m."""
    path = one_body(tmp_path, joint, after)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    robot = rtmbs.Robot(rtmbs.read(path))
    q, v = robot.assembled()
    np.testing.assert_allclose(q, data.qpos, rtol=1e-14)
    np.testing.assert_allclose(robot.forward_dynamics(q, v).accelerations, data.qacc, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("actuator", "said"),
    [
        ('<adhesion body="b" ctrlrange="0 1"/>', "acts on no slide, hinge or fixed tendon of these"),
        ('<general joint="j" dyntype="integrator"/>', "has a state"),
        ('<general joint="j" gaintype="user"/>', "another kind than fixed and affine"),
    ],
)
def test_the_cause_of_an_actuator_left_out_is_noted(tmp_path, actuator, said):
    path = one_body(tmp_path, 'type="hinge"', after=f"<actuator>{actuator}</actuator>")
    assert any(said in one.what for one in rtmbs.read(path).import_report.notes)
