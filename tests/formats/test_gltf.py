"""GLB of a motion: nodes stand where the bodies are, and meshes have the volume of the shapes."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError
from rtmbs.formats.gltf import triangles
from rtmbs.model.mesh import read_glb

FILES = Path(__file__).parent / "files"
SHAPES = [
    rtmbs.Box((0.1, 0.2, 0.3), (0.1, 0.0, 0.0), (0.9, 0.1, 0.2, 0.3)), rtmbs.Cylinder(0.1, 0.4, (0, 0, 0.1), (1, 1, 0)),
    rtmbs.Sphere(0.2, (0.1, 0.2, 0.3)), rtmbs.Bar((0, 0, 0), (0.1, 0.2, 0.3), 0.05),
]  # fmt: skip


def parts(data):
    magic, version, length = data[:4], *struct.unpack_from("<2I", data, 4)
    assert (magic, version, length) == (b"glTF", 2, len(data))
    size = struct.unpack_from("<I", data, 12)[0]
    tree = json.loads(data[20 : 20 + size])
    return tree, data[28 + size :]


def values(tree, binary, number):
    accessor = tree["accessors"][number]
    start = tree["bufferViews"][accessor["bufferView"]]["byteOffset"]
    wide = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
    return np.frombuffer(binary, "<f4", accessor["count"] * wide, start).reshape(accessor["count"], wide)


def test_nodes_move_as_the_bodies(tmp_path):
    model = rtmbs.read(FILES / "arm.urdf")
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    result = sim.run(0.05, record=rtmbs.Every(0.01))
    path = tmp_path / "arm.glb"
    rtmbs.write_gltf(result, model, path)
    tree, binary = parts(path.read_bytes())
    names = [node["name"] for node in tree["nodes"]]
    (animation,) = tree["animations"]
    seen = {}
    for channel in animation["channels"]:
        sampler, target = animation["samplers"][channel["sampler"]], channel["target"]
        seen[names[target["node"]], target["path"]] = values(tree, binary, sampler["output"])
        np.testing.assert_allclose(values(tree, binary, sampler["input"])[:, 0], result.t, atol=1e-7)
    np.testing.assert_allclose(seen["tool", "translation"], result["tool.position"], atol=1e-6)
    np.testing.assert_allclose(seen["tool", "rotation"][:, [3, 0, 1, 2]], result["tool.orientation"], atol=1e-6)
    vertices, faces = read_glb(path.read_bytes())  # of the first sample, y upwards
    assert len(faces) > 12
    assert np.all(np.isfinite(vertices))


@pytest.mark.parametrize("shape", SHAPES)
def test_triangles_enclose_the_volume_of_a_shape(shape):
    """Round shapes of 24 corners lose up to 4 % of their volume; the outside is outside."""
    vertices, faces = triangles(shape)
    volume, center, _ = rtmbs.Surface(vertices, faces).solid()
    wanted, middle, _ = shape.solid()
    assert 0.95 * wanted < volume <= wanted * (1.0 + 1e-12)
    np.testing.assert_allclose(center, middle, atol=1e-12)


def test_odd_requests(tmp_path):
    model = rtmbs.read(FILES / "arm.urdf", meshes=False)
    result = rtmbs.Simulation(model.compile(), h=1e-3).run(0.002)
    with pytest.raises(InputError, match=r"must be \.glb"):
        rtmbs.write_gltf(result, model, tmp_path / "a.gltf")
    with pytest.raises(InputError, match="takes the Model of the result"):
        rtmbs.write_gltf(result, "arm", tmp_path / "a.glb")
    with pytest.raises(InputError, match="has no body 'frame'"):
        rtmbs.write_gltf(result, rtmbs.read(FILES / "four_bar.urdf"), tmp_path / "a.glb")


def test_another_reader_opens_the_file(tmp_path):
    """Trimesh finds the volume of all shapes where the bodies stand at the first sample, z upwards turned to y."""
    trimesh = pytest.importorskip("trimesh")
    model = rtmbs.Model("pair", gravity=(0.0, 0.0, 0.0))
    for k, x in enumerate((0.5, -0.7)):
        model.add_body(f"b{k}", mass=1.0, inertia=(1.0, 1.0, 1.0), position=(x, 0.0, 2.0),
                       shape=rtmbs.Box((0.1, 0.2, 0.3 + k)))  # fmt: skip
        model.add_joint(f"j{k}", rtmbs.Floating(), "ground", f"b{k}", point=(x, 0.0, 2.0))
    path = tmp_path / "pair.glb"
    rtmbs.write_gltf(rtmbs.Simulation(model.compile(), h=1e-3).run(0.01), model, path)
    scene = trimesh.load(path, force="scene")
    assert scene.to_geometry().volume == pytest.approx(0.1 * 0.2 * (0.3 + 1.3), rel=1e-6)
    np.testing.assert_allclose(scene.bounds, [(-0.75, 1.35, -0.1), (0.55, 2.65, 0.1)], rtol=0, atol=1e-6)
