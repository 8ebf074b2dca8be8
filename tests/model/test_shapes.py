"""Shapes: mass properties against closed forms, meshes of files, refused values; no mechanics reads them."""

import math
import pickle

import numpy as np
import pytest

import rtmbs
from rtmbs import Bar, Box, Cylinder, Mesh, Sphere, Surface, mass_properties
from rtmbs.errors import ModelError, UnknownNameError
from rtmbs.model.shapes import COLORS, Looks

DENSITY = 2700.0
CORNERS = np.array([(x, y, z) for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
FACES = np.array([face for a, b, c, d in QUADS for face in ((a, b, c), (a, c, d))])


def brick(size, center=(0.0, 0.0, 0.0), axes=None) -> Surface:
    """The triangles of a box."""
    local = (CORNERS - 0.5) * size
    return Surface(local @ (np.eye(3) if axes is None else np.asarray(axes)).T + center, FACES)


def turn(angle=0.7, axis=(1.0, 2.0, -0.5)):
    """A rotation, as a quaternion."""
    unit = np.array(axis) / np.linalg.norm(axis)
    return np.concatenate(([math.cos(angle / 2)], math.sin(angle / 2) * unit))


def test_a_box_has_the_inertia_of_a_box():
    """m = rho a b c; m (b^2 + c^2) / 12 about the first edge, and so on."""
    a, b, c = 0.4, 0.2, 0.1
    found = Box((a, b, c), center=(1.0, 2.0, 3.0)).inertia(DENSITY)
    m = DENSITY * a * b * c
    assert found["mass"] == pytest.approx(m)
    np.testing.assert_allclose(found["center_of_mass"], (1.0, 2.0, 3.0))
    expected = np.diag([b * b + c * c, a * a + c * c, a * a + b * b]) * m / 12
    np.testing.assert_allclose(found["inertia"], expected, atol=1e-15)


@pytest.mark.parametrize("shape", [Cylinder(0.3, 0.8, axis=(0.0, 0.0, 2.0)), Bar((0, 0, -0.4), (0, 0, 0.4), 0.3)])
def test_a_cylinder_has_the_inertia_of_a_cylinder(shape):
    """m r^2 / 2 about the axis, m (3 r^2 + l^2) / 12 across."""
    found, m = shape.inertia(DENSITY), DENSITY * math.pi * 0.3**2 * 0.8
    across = m * (3 * 0.3**2 + 0.8**2) / 12
    assert found["mass"] == pytest.approx(m)
    np.testing.assert_allclose(found["inertia"], np.diag([across, across, m * 0.3**2 / 2]), rtol=1e-12, atol=1e-14)


def test_a_ball_has_the_inertia_of_a_ball():
    found, m = Sphere(0.25, center=(0.0, 1.0, 0.0)).inertia(DENSITY), DENSITY * 4 / 3 * math.pi * 0.25**3
    assert found["mass"] == pytest.approx(m)
    np.testing.assert_allclose(found["inertia"], 0.4 * m * 0.25**2 * np.eye(3))


def test_triangles_of_a_turned_box_far_from_the_origin_agree_with_the_box():
    size, center = np.array((0.4, 0.2, 0.1)), np.array((5.0, -3.0, 2.0))
    box = Box(size, center, turn())
    for surface in (brick(size, center, box.axes), Surface(brick(size, center, box.axes).vertices, FACES[:, ::-1])):
        one, other = box.inertia(DENSITY), surface.inertia(DENSITY)
        assert other["mass"] == pytest.approx(one["mass"])
        np.testing.assert_allclose(other["center_of_mass"], center, rtol=1e-12)
        np.testing.assert_allclose(other["inertia"], one["inertia"], rtol=1e-9, atol=1e-13)


def test_two_halves_have_the_mass_properties_of_the_whole():
    whole = Box((0.4, 0.2, 0.1)).inertia(DENSITY)
    halves = [Box((0.2, 0.2, 0.1), center=(x, 0.0, 0.0)) for x in (-0.1, 0.1)]
    both = mass_properties(halves, DENSITY)
    np.testing.assert_allclose(both["inertia"], whole["inertia"], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(both["center_of_mass"], np.zeros(3), atol=1e-15)
    with pytest.raises(ModelError, match="at least one shape"):
        mass_properties([], DENSITY)


def test_a_body_takes_its_mass_from_its_shape():
    hull = Cylinder(0.1, 0.5, center=(0.0, 0.0, 0.25))
    body = rtmbs.Model("m").add_body("hull", shape=hull, **hull.inertia(7850.0))
    assert body.mass == pytest.approx(7850.0 * math.pi * 0.1**2 * 0.5)
    np.testing.assert_allclose(body.center_of_mass, (0.0, 0.0, 0.25))


def test_a_surface_with_a_hole_or_without_volume_gives_no_mass():
    with pytest.raises(ModelError, match=r"Surface: the surface is not closed: 3 edges lack the face"):
        Surface(brick((1, 1, 1)).vertices, FACES[1:]).inertia(DENSITY)
    turned = FACES.copy()
    turned[0] = turned[0, ::-1]
    with pytest.raises(ModelError, match="not closed"):
        Surface(brick((1, 1, 1)).vertices, turned).inertia(DENSITY)
    with pytest.raises(ModelError, match="encloses no volume"):
        Surface(np.eye(3), [(0, 1, 2), (0, 2, 1)]).inertia(DENSITY)
    with pytest.raises(ModelError, match=r"volume of the shapes is 0 m\^3, too far from 1"):
        Sphere(1e-120).inertia(1.0)
    with pytest.raises(ModelError, match="density is 0; it must be positive"):
        Sphere(1.0).inertia(0.0)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Box((1.0, 0.0, 1.0)), "Box: size is .* every edge must be positive"),
        (lambda: Box((1.0, 1.0)), "Box: size has shape"),
        (lambda: Box((1, 1, 1), axes=2 * np.eye(3)), "Box: axes is not a rotation"),
        (lambda: Cylinder(-1.0, 1.0), "Cylinder: radius is -1; it must be positive"),
        (lambda: Cylinder(1.0, "long"), "Cylinder: length is 'long'"),
        (lambda: Cylinder(1.0, 1.0, axis=(0, 0, 0)), "Cylinder: axis is zero"),
        (lambda: Sphere(math.nan), "Sphere: radius is nan"),
        (lambda: Bar((0, 0, 0), (0, 0, 0), 0.1), "must be two points"),
        (lambda: Surface(np.eye(3), [(0, 1, 3)]), "a face names vertex 3, but there are 3 vertices"),
        (lambda: Surface(np.eye(3), [(0, 1, -1)]), "a face names vertex -1"),
        (lambda: Surface(np.eye(3), np.zeros((0, 3), int)), r"faces have shape \(0, 3\)"),
        (lambda: Surface(np.eye(2), [(0, 1, 1)]), "vertices has shape"),
        (lambda: Surface([(0, 1, 2), (1, 2)], [(0, 1, 1)]), r"Surface: vertices is .* shape \(v, 3\) are needed"),
        (lambda: Surface(np.eye(3), [(0, 1, 2), (1, 2)]), r"Surface: faces is .* shape \(k, 3\) are needed"),
        (lambda: Surface("abc", None), "Surface: vertices is 'abc'"),
        (lambda: mass_properties("box", 1.0), "mass_properties: shape is 'box'; it must be a Bar"),
        (lambda: mass_properties([Sphere(1.0)], "dense"), "density is 'dense'"),
    ],
)
def test_shapes_that_cannot_be(make, sentence):
    with pytest.raises(ModelError, match=sentence):
        make()


# ---------------------------------------------------------------------------------------------------------------- files


def stl(tmp_path, name="brick.stl"):
    """A brick of 400 x 200 x 100 in the format of the name."""
    trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed; pip install 'rtmbs[mesh]' brings it")
    path = tmp_path / name
    trimesh.creation.box((400.0, 200.0, 100.0)).export(path)
    return path


@pytest.mark.parametrize("ending", ["stl", "obj", "ply", "glb", "off"])
def test_a_mesh_is_read_scaled_turned_and_moved(tmp_path, ending):
    mesh = Mesh(stl(tmp_path, f"brick.{ending}"), scale=0.001, position=(1.0, 0.0, 0.0), axes=(0, 0, 0, 1))
    assert len(mesh.faces) == 12
    np.testing.assert_allclose(mesh.vertices.min(axis=0), (0.8, -0.1, -0.05), atol=1e-7)
    np.testing.assert_allclose(mesh.vertices.max(axis=0), (1.2, 0.1, 0.05), atol=1e-7)
    one, other = mesh.inertia(DENSITY), Box((0.4, 0.2, 0.1), center=(1.0, 0.0, 0.0)).inertia(DENSITY)
    assert one["mass"] == pytest.approx(other["mass"], rel=1e-6)
    np.testing.assert_allclose(one["inertia"], other["inertia"], rtol=1e-5, atol=1e-6)


def test_a_mesh_outlives_its_file_and_a_pickle(tmp_path):
    path = stl(tmp_path)
    mesh = Mesh(path, scale=0.001)
    path.unlink()
    again = pickle.loads(pickle.dumps(mesh))
    np.testing.assert_array_equal(again.vertices, mesh.vertices)
    assert again.file == str(path)


def test_files_that_are_no_mesh(tmp_path):
    pytest.importorskip("trimesh", reason="trimesh is not installed; pip install 'rtmbs[mesh]' brings it")
    with pytest.raises(ModelError, match=r"Mesh '.*gone.stl' does not exist"):
        Mesh(tmp_path / "gone.stl")
    with pytest.raises(ModelError, match=r"the ending is \.txt; it must be one of \.stl"):
        Mesh(tmp_path / "words.txt")
    with pytest.raises(ModelError, match="file is 3; it must be the name"):
        Mesh(3)
    for name, content in (("words.stl", b"no mesh at all"), ("cut.glb", b"glTF\x02\0\0\0"), ("none.obj", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ModelError, match=f"Mesh '.*{name}'.*(cannot be read as a mesh|holds no triangle)") as error:
            Mesh(tmp_path / name)
        assert "\n" not in str(error.value)
    with pytest.raises(ModelError, match="scale is 0; it must be positive"):
        Mesh(stl(tmp_path), scale=0.0)


def test_without_trimesh_one_sentence_names_the_extra(tmp_path, monkeypatch):
    path = tmp_path / "brick.stl"
    path.write_bytes(b"solid")
    monkeypatch.setitem(__import__("sys").modules, "trimesh", None)
    with pytest.raises(ModelError, match=r"meshes need trimesh; pip install 'rtmbs\[mesh\]' brings it"):
        Mesh(path)


# ------------------------------------------------------------------------------------------------------------ in models


def pendulum(**looks) -> rtmbs.Model:
    model = rtmbs.Model("pendulum")
    model.add_body("bob", mass=1.0, center_of_mass=(0.0, 0.0, -0.5), inertia=(0.1, 0.1, 0.1), **looks)
    model.add_joint("pin", rtmbs.Revolute(axis=(1.0, 0.0, 0.0)), "ground", "bob")
    return model


def test_shapes_change_neither_the_fingerprint_nor_a_run():
    plain = pendulum().compile()
    dressed = pendulum(shape=[Box((1, 1, 1)), Sphere(0.3)], color="steel", opacity=0.3, edges=False).compile()
    assert dressed.fingerprint == plain.fingerprint
    one, other = (rtmbs.Simulation(system).run(0.05) for system in (plain, dressed))
    for name in one.names():
        assert one[name].tobytes() == other[name].tobytes(), name


def test_a_system_and_a_pickled_model_carry_the_looks():
    model = pendulum(shape=Sphere(0.3), color="#A0b0c0", opacity=0.5)
    model.set_looks("ground", shape=Box((2, 2, 0.1)), color="steel", edges=False)
    for system in (model.compile(), pickle.loads(pickle.dumps(model)).compile()):
        looks = system.looks["bob"]
        assert (looks.shapes[0].radius, looks.color, looks.opacity, looks.edges) == (0.3, "#a0b0c0", 0.5, True)
        assert (system.looks["ground"].color, system.looks["ground"].edges) == (COLORS["steel"], False)
    assert pendulum().compile().looks["bob"].shapes == Looks().shapes == ()


@pytest.mark.parametrize(
    ("looks", "sentence"),
    [
        ({"shape": "box"}, "body 'bob': shape is 'box'; it must be a Bar"),
        ({"shape": []}, r"body 'bob': shape is \[\]; give at least one, or None"),
        ({"shape": [Sphere(1.0), 3]}, "body 'bob': shape is 3"),
        ({"color": "#12"}, "body 'bob': color is '#12'; it must be '#rrggbb' or a name"),
        ({"color": (1, 0, 0)}, "color is .* it must be '#rrggbb'"),
        ({"opacity": 0.0}, "opacity is 0; it must be above 0 and at most 1"),
        ({"opacity": 1.5}, "opacity is 1.5"),
        ({"edges": "yes"}, "edges is 'yes'; it must be True or False"),
    ],
)
def test_looks_that_cannot_be_leave_the_model_as_it_was(looks, sentence):
    model = rtmbs.Model("m")
    with pytest.raises(ModelError, match=sentence):
        model.add_body("bob", mass=1.0, **looks)
    assert "bob" not in model.bodies
    assert "bob" not in model.looks


def test_colors_and_bodies_that_do_not_exist_are_told_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"^body 'bob': there is no color named 'stel'; did you mean 'steel'"):
        pendulum(color="stel")
    with pytest.raises(UnknownNameError, match="did you mean 'bob'"):
        pendulum().set_looks("bop", color="red")
