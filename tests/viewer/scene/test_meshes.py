"""Unit meshes: closed, outward, of the right volume; meshes of the user are checked."""

import math

import numpy as np
import pytest

from rtmbs.errors import InputError
from rtmbs.viewer.scene import drawing

POLYGON = drawing.SEGMENTS * math.sin(2.0 * math.pi / drawing.SEGMENTS) / 2.0  # area of the circle as drawn
TURN = math.pi / drawing.SEGMENTS


def volume(mesh: drawing.Mesh) -> float:
    corners = mesh.vertices.reshape(-1, 3, 3).astype(float)
    return float(np.einsum("ki,ki->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))) / 6.0


@pytest.mark.parametrize(
    ("mesh", "expected"),
    [(drawing.cube(), 1.0), (drawing.cylinder(), POLYGON), (drawing.cone(), POLYGON / 3.0)],
)
def test_volumes(mesh, expected):
    assert volume(mesh) == pytest.approx(expected, rel=1e-6)


def test_the_sphere_lies_on_the_unit_sphere():
    sphere = drawing.sphere()
    assert np.allclose(np.linalg.norm(sphere.vertices, axis=1), 1.0, atol=1e-6)
    assert 0.8 * 4.0 * math.pi / 3.0 < volume(sphere) < 4.0 * math.pi / 3.0


SHAPES = (drawing.cube, drawing.cylinder, drawing.cone, drawing.sphere, drawing.coil, drawing.pyramid)


@pytest.mark.parametrize("make", SHAPES)
def test_normals_are_unit_and_point_as_the_corners_turn(make):
    mesh = make()
    assert np.allclose(np.linalg.norm(mesh.normals, axis=1), 1.0, atol=1e-5)
    corners = mesh.vertices.reshape(-1, 3, 3)
    turned = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    right = np.einsum("ki,ki->k", turned, mesh.normals.reshape(-1, 3, 3).mean(axis=1)) > 0.0
    assert right.mean() > (0.98 if make is drawing.coil else 0.9999), "a wire folds a little inside of its bends"


def test_the_coil_goes_from_end_to_end():
    coil = drawing.coil().vertices
    assert coil[:, 2].min() == pytest.approx(0.0, abs=0.03)
    assert coil[:, 2].max() == pytest.approx(1.0, abs=0.03)
    assert np.linalg.norm(coil[:, :2], axis=1).max() == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("vertices", "faces", "sentence"),
    [
        (np.zeros((3, 2)), [[0, 1, 2]], r"vertices have shape \(3, 2\)"),
        (np.full((3, 3), np.nan), [[0, 1, 2]], "finite numbers"),
        (np.zeros((3, 3)), [[0, 1]], r"faces have shape \(1, 2\)"),
        (np.zeros((3, 3)), [[0.0, 1.0, 2.0]], "whole numbers"),
        (np.zeros((3, 3)), [[0, 1, 3]], "names vertex 3, but there are 3"),
    ],
)
def test_a_wrong_mesh_is_refused_by_name(vertices, faces, sentence):
    with pytest.raises(InputError, match=f"hull: .*{sentence}"):
        drawing.mesh(vertices, faces, "hull")
