"""The writer: a Model as text and back has the same fingerprint; a text in its usual form stays as it is."""

import numpy as np
import pytest

import rtmbs
from rtmbs import Function, Input, Model, Motor, SpringDamper, Staircase, TorsionSpring, Wrench, library
from rtmbs.errors import LanguageError, ModelError
from rtmbs.language import build, format, parse, read, write
from rtmbs.model import JOINT_TYPES
from tests.cases import spread
from tests.language.files import EVERY, RICH

NAMES = [
    "arm",
    "second arm",
    'say "so"',
    "back\\slash",
    "a.b",
    "Model",
    "TIME",
    "endmodel",
    "größe",
    "x",
    "revolute joint",
    "7up",
]


def random_model(seed):
    """A Model with every joint type, force, driver and profile, skew axes, odd names and uneven numbers."""
    rng = np.random.default_rng(seed)
    model = Model(str(rng.choice(NAMES)), gravity=rng.normal(size=3))

    def rotation():
        Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        return Q * np.linalg.det(Q)

    def name(kind, k):
        return f"{rng.choice(NAMES)} {kind}{k}"

    bodies = [model.ground]
    for k, kind in enumerate(rng.permutation(list(JOINT_TYPES))):
        legs = rng.uniform(0.1, 1.0, 3)
        inertia = np.diag([legs[1] + legs[2], legs[0] + legs[2], legs[0] + legs[1]])
        turned = rotation()
        body = model.add_body(
            name("body", k), mass=10.0 ** rng.uniform(-3, 3), center_of_mass=rng.normal(size=3),
            inertia=turned @ inertia @ turned.T, position=rng.normal(size=3),
            orientation=None if rng.random() < 0.2 else rotation() if rng.random() < 0.7 else rng.normal(size=4),
        )  # fmt: skip
        parent = bodies[int(rng.integers(len(bodies)))]
        placing = [
            {"point": rng.normal(size=3)},
            {"point": rng.normal(size=3), "frame": bodies[int(rng.integers(len(bodies)))]},
            {"point_a": rng.normal(size=3), "point_b": rng.normal(size=3)},
            {
                "point_a": (0, 0, -0.0),
                "point_b": rng.normal(size=3),
                "axes_a": rotation(),
                "axes_b": rng.normal(size=4),
            },
        ][int(rng.integers(4))]
        joint = model.add_joint(name("joint", k), JOINT_TYPES[kind].example(rotation()), parent, body, **placing)
        bodies.append(body)
        add_laws(model, rng, joint, body, k)
    for k in range(4):
        a, b = rng.choice(len(bodies), 2, replace=False)
        ends = tuple(
            model.add_marker(f"marker {k}{side}", bodies[j], rng.normal(size=3), axes=rotation() if side else None)
            for side, j in enumerate((a, b))
        )
        model.add_force(f"spring {k}", SpringDamper(*rng.uniform(0, 1e4, 2), length=None if k else 0.3), between=ends)
    return model


def add_laws(model, rng, joint, body, k):
    """Forces, drivers and start values on one joint and its body."""
    coordinates = joint.type.coordinates
    if coordinates:
        where = (joint, str(rng.choice(coordinates)))
        model.add_force(f"torsion {k}", TorsionSpring(*rng.normal(size=3)), joint=where)
        values = [rng.normal(), Input(rng.normal()), Staircase([0.0, 0.5, 0.7], rng.normal(size=3))]
        model.add_force(f"motor {k}", Motor(values[k % 3]), joint=where)
        if rng.random() < 0.5:
            t = np.cumsum(rng.uniform(0.1, 1.0, 5))
            profiles = [
                rtmbs.ConstantRate(rng.normal()), rtmbs.Sine(*rng.normal(size=4)),
                rtmbs.SmoothStep(0.1, 0.7, *rng.normal(size=2)), rtmbs.Spline(t, rng.normal(size=5)),
            ]  # fmt: skip
            model.add_driver(f"driver {k}", profiles[k % 4], joint=where)
        else:
            values = rng.normal(size=len(coordinates))
            model.set_initial(joint, values, values if k % 2 else None, pin=bool(k % 3), weight=rng.uniform(0.1, 3))
    elif joint.type.start == "quaternion":
        model.set_initial(joint, rng.normal(size=4), rng.normal(size=3), pin=False)
    elif joint.type.start == "pose":
        model.set_initial(joint, rng.normal(size=7))
    wrench = Wrench(rng.normal(size=3), Input(rng.normal(size=3)), axes=str(rng.choice(["world", "body"])))
    model.add_force(f"wrench {k}", wrench, body=body, point=rng.normal(size=3))


@pytest.mark.parametrize("seed", spread(range(30), 10))
def test_a_model_comes_back_with_its_fingerprint(seed):
    model = random_model(seed)
    text = write(model)
    again = build(text).model
    system, other = model.compile(), again.compile()
    assert other.fingerprint == system.fingerprint
    for part in ("z0", "zd0", "R0", "u0", "pinned_z", "weights"):
        np.testing.assert_array_equal(getattr(other, part), getattr(system, part))
    assert write(again) == text


@pytest.mark.parametrize("name", library.names())
def test_every_mechanism_of_the_library_comes_back(name):
    model = library.build(name)
    assert build(write(model)).model.compile().fingerprint == model.compile().fingerprint


@pytest.mark.parametrize("name", EVERY)
def test_files_come_back(name):
    document = build(EVERY[name])
    again = build(write(document))
    assert again.analysis == document.analysis
    assert write(again) == write(document)
    if document.analysis.kind == "dynamic":
        assert again.model.compile().fingerprint == document.model.compile().fingerprint


@pytest.mark.parametrize(
    ("add", "words"),
    [
        (lambda m: m.add_force("f", lambda t, k, p: 0.0, joint="j"), ["'f'", "written in Python"]),
        (lambda m: m.add_force("f", Motor(lambda t: t), joint="j"), ["'f'", "written in Python", "expression of TIME"]),
        (
            lambda m: m.add_driver("d", Function(lambda t: t, lambda t: 1.0, lambda t: 0.0), joint="j"),
            ["'d'", "written in Python"],
        ),
        (lambda m: m.add_driver("d", lambda t: (t, 1, 0), joint="j"), ["'d'", "written in Python"]),
    ],
)
def test_what_only_python_has_cannot_be_written(add, words):
    model = Model("m")
    model.add_body("b", mass=1.0, inertia=(1, 1, 1))
    model.add_joint("j", rtmbs.Revolute(axis=(1, 0, 0)), "ground", "b")
    add(model)
    with pytest.raises(ModelError) as refusal:
        write(model)
    assert all(word in str(refusal.value) for word in words)


@pytest.mark.parametrize("name", EVERY)
def test_the_usual_form_is_stable_and_means_the_same(name):
    text = EVERY[name]
    usual = format(parse(text))
    assert format(parse(usual)) == usual
    assert max(map(len, usual.split("\n"))) <= 120
    assert write(build(usual)) == write(build(text))


def test_comments_and_blank_lines_stay():
    text = """# first
    model m   // the name

    system(kinematic   analysis , method=freeze) ;
    // before b


    body b(mass=2 kg/*inside*/, center of gravity=( - 1,2-3 ,a^-2)); # behind
    constant a=2*-3;   /* last
    of all */
    endmodel
    # after"""
    assert (
        format(parse(text))
        == """# first
MODEL m  // the name

SYSTEM (KINEMATIC ANALYSIS, method = freeze);
// before b

/*inside*/
BODY b (mass = 2 kg, center of gravity = (-1, 2 - 3, a^-2));  # behind
constant a = 2 * -3;  /* last
    of all */
ENDMODEL
# after
"""
    )


def test_a_file_to_include_has_a_usual_form_too():
    assert format("# bodies\n\nBODY  b(mass=2) ;constant a=1;") == "# bodies\n\nBODY b (mass = 2);\nconstant a = 1;\n"
    assert format("// nothing") == "// nothing\n"
    assert format("") == "\n"


def test_long_statements_are_broken_between_arguments():
    usual = format(parse(RICH))
    assert "BODY crank (\n    mass = 2 kg, " in usual
    assert "\n);\n" in usual


def test_a_text_that_is_none_is_not_formatted():
    with pytest.raises(LanguageError, match="expected"):
        format("MODEL a BODY b ENDMODEL")


def test_a_direction_of_length_one_is_not_divided_again():
    """Otherwise the last digit of an axis may change each time that it is written and read."""
    rng = np.random.default_rng(0)
    for _ in range(2000):
        axis = rtmbs.Revolute(axis=rng.normal(size=3)).checked("axis").axis
        assert rtmbs.Revolute(axis=axis).checked("axis").axis == axis


def dressed():
    """A body and ground with every shape that a file can hold."""
    model = Model("dressed")
    turned = (np.cos(0.3), 0.0, np.sin(0.3), 0.0)
    shapes = [
        rtmbs.Box((0.1, 0.2, 0.3), center=(1, 0, 0), axes=turned), rtmbs.Cylinder(0.1, 0.4, axis=(1, 1, 0)),
        rtmbs.Sphere(0.2, center=(0, 0, -1)), rtmbs.Bar((0, 0, 0), (0, 0, 1), 0.02),
        rtmbs.Surface([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]),
    ]  # fmt: skip
    model.add_body("bob", mass=1.0, shape=shapes, color="#a0b0c0", opacity=0.25, edges=False)
    model.add_joint("pin", rtmbs.Spherical(), "ground", "bob")
    model.set_looks("ground", shape=rtmbs.Sphere(0.3), color="steel")
    return model


def test_looks_come_back_as_they_were():
    model = dressed()
    text = write(model)
    again = build(parse(text)).model
    assert again.compile().fingerprint == model.compile().fingerprint
    assert write(again) == text
    for name in ("bob", "ground"):
        one, other = model.looks[name], again.looks[name]
        assert (one.color, one.opacity, one.edges) == (other.color, other.opacity, other.edges)
        for shape, found in zip(one.shapes, other.shapes, strict=True):
            assert type(found) is type(shape)
            assert all(np.array_equal(getattr(found, key), value) for key, value in vars(shape).items())


def tetrahedron(path):
    """Write a mesh file, in millimetres."""
    corners = "v 0 0 0\nv 100 0 0\nv 0 100 0\nv 0 0 100\n"
    path.write_text(f"{corners}f 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")


MESHED = """MODEL meshed
SYSTEM (dynamic analysis);
BODY hull (
    mass = 1,
    shape = mesh("parts/hull.obj", scale = 0.001, position = (0, 0, 1), axes = (0, 1, 0, 0)),
    color = steel, opacity = 0.5
);
ENDMODEL
"""


def test_a_mesh_is_a_file_beside_the_model(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "parts").mkdir()
    tetrahedron(tmp_path / "parts" / "hull.obj")
    (tmp_path / "top.mks").write_text(MESHED)
    document = read(tmp_path / "top.mks")
    seen = document.model.looks["hull"]
    (mesh,) = seen.shapes
    assert (seen.color, seen.opacity) == ("#7f8b98", 0.5)
    assert sorted(map(tuple, mesh.vertices.round(12).tolist())) == sorted(
        [(0.0, 0.0, 1.0), (0.1, 0.0, 1.0), (0.0, -0.1, 1.0), (0.0, 0.0, 0.9)]
    )
    text = write(document)
    assert 'file = "parts/hull.obj"' in text
    assert 'file = "hull.obj"' in write(document, folder=tmp_path / "parts")
    (tmp_path / "again.mks").write_text(text)
    again = read(tmp_path / "again.mks").model.looks["hull"].shapes[0]
    assert np.array_equal(again.vertices, mesh.vertices)
    with pytest.raises(ModelError, match=r"body 'hull': '.*hull.obj' is outside the folder '.*/other' of the text"):
        write(document, folder=tmp_path / "other")


def test_a_mesh_in_an_included_file_stands_beside_that_file(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "parts").mkdir()
    tetrahedron(tmp_path / "hull.obj")
    (tmp_path / "parts" / "hull.mks").write_text('BODY hull (mass = 1, shape = mesh("../hull.obj"));')
    (tmp_path / "top.mks").write_text('MODEL m SYSTEM (dynamic analysis); include "parts/hull.mks"; ENDMODEL')
    assert len(read(tmp_path / "top.mks").model.looks["hull"].shapes[0].faces) == 4


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ('mesh("hul.obj")', r"body 'hull': there is no file 'hul.obj'; did you mean 'hull.obj'\?"),
        ('mesh("hull.stl")', r"there is no file 'hull.stl'; did you mean 'hull.obj'\?"),
        ('mesh("zzz.stl")', r"Mesh '.*zzz.stl' does not exist"),
        (f'mesh("{"a" * 5000}.stl")', r"cannot be read: File name too long"),
        ('mesh("notes.txt")', r"Mesh '.*notes.txt': the ending is .txt; it must be one of .stl"),
        ('mesh("bad.stl")', r"Mesh '.*bad.stl' (cannot be read as a mesh|holds no triangle)"),
        ('mesh("../hull.obj")', r"'../hull.obj' is outside the folder of the model; name files in it only"),
        ('mesh("/hull.obj")', r"'/hull.obj' is outside the folder of the model"),
        ("mesh(3)", r'mesh takes a file in quotes, such as mesh\("hull.stl"\)'),
        ("mesh(scale = 2)", r"mesh needs file"),
        ('mesh("hull.obj", size = 1)', r"mesh takes no 'size'; it takes file, scale, position, axes"),
        ('mesh("hull.obj", scale = 0)', r"Mesh '.*hull.obj': scale is 0; it must be positive"),
        ('mesh("hull.obj", position = (1, 2))', r"position"),
        ('mehs("hull.obj")', r"did you mean mesh"),
        ("surface([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 3)])", r"Surface: a face names vertex 3"),
        ("surface([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 0.5)])", r"Surface: faces .* whole numbers"),
        ("surface([(0, 0, 0), (1, 0, 0), (0, 1, 0)])", r"surface needs vertices, faces"),
    ],
)
def test_triangles_that_cannot_be(tmp_path, said, sentence):
    pytest.importorskip("trimesh")
    tetrahedron(tmp_path / "hull.obj")
    (tmp_path / "bad.stl").write_bytes(b"no mesh at all")
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / "top.mks").write_text(
        f"MODEL m SYSTEM (dynamic analysis);\nBODY hull (mass = 1, shape = {said});\nENDMODEL"
    )
    with pytest.raises(LanguageError, match=sentence) as found:
        read(tmp_path / "top.mks")
    assert str(found.value).startswith(f"{tmp_path / 'top.mks'}:2:")


def test_a_mesh_file_that_is_too_large_is_refused(tmp_path, monkeypatch):
    tetrahedron(tmp_path / "hull.obj")
    monkeypatch.setattr("rtmbs.language.statements.elements.MOST_BYTES", 10)
    (tmp_path / "top.mks").write_text(MESHED.replace("parts/", ""))
    with pytest.raises(LanguageError, match=r"'hull.obj' has 0 MB; a mesh file has at most"):
        read(tmp_path / "top.mks")


def test_a_shape_of_python_is_refused_by_name():
    class Star(rtmbs.Sphere):
        pass

    model = dressed()
    model.set_looks("bob", shape=Star(0.1))
    with pytest.raises(ModelError, match=r"body 'bob' has a Star, which a file cannot name; it names box, cylinder"):
        write(model)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("shape = 3", "shape takes a shape; write one of box, cylinder, sphere, bar, surface, mesh"),
        ('shape = mesh("hull.stl")', "only a file can name another one"),
        ("shape = spere(1)", "did you mean sphere"),
        ("shape = sphere(size = 1)", "sphere takes no 'size'; it takes radius, center"),
        ("shape = sphere(1, (0, 0, 0), 2)", "sphere takes 2 values, not 3"),
        ("shape = cylinder(radius = 1)", "cylinder needs radius, length"),
        ("shape = sphere(radius = -1)", "Sphere: radius is -1; it must be positive"),
        ("color = 3", "color takes a name"),
        ("color = stel", "did you mean 'steel'"),
        ("opacity = 0", "opacity is 0; it must be above 0"),
    ],
)
def test_looks_that_cannot_be(said, sentence):
    with pytest.raises(LanguageError, match=sentence):
        build(parse(f"MODEL m SYSTEM (dynamic analysis); BODY b (mass = 1, {said}); ENDMODEL"))
