"""Meshes: unit solids closed, outward, of the right volume; sharp edges, smooth normals; refused meshes of users."""

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rtmbs.errors import InputError
from rtmbs.viewer.scene import drawing
from rtmbs.viewer.scene.drawing import sharp_edges, smooth_normals

POLYGON = drawing.SEGMENTS * math.sin(2.0 * math.pi / drawing.SEGMENTS) / 2.0  # area of the circle as drawn
TURN = math.pi / drawing.SEGMENTS


def volume(mesh: drawing.Mesh) -> float:
    corners = mesh.vertices.reshape(-1, 3, 3).astype(float)
    return float(np.einsum("ki,ki->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))) / 6.0


@pytest.mark.parametrize(
    ("mesh", "expected"),
    [
        (drawing.cube(), 1.0),
        (drawing.cylinder(), POLYGON),
        (drawing.cone(), POLYGON / 3.0),
        (drawing.pyramid(), 5.56 / 3.0),
    ],
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


# ---- sharp edges and smooth normals ----------------------------------------------------------------------------------


def corners(mesh: drawing.Mesh) -> np.ndarray:
    return mesh.vertices.reshape(-1, 3, 3).astype(float)


def test_a_cube_has_the_edges_of_a_cube_and_no_diagonal():
    edges = sharp_edges(corners(drawing.cube()))
    assert len(edges) == 12
    assert np.linalg.norm(edges[:, 1] - edges[:, 0], axis=1) == pytest.approx(np.ones(12))


def test_a_cylinder_has_its_two_rims():
    edges = sharp_edges(corners(drawing.cylinder(drawing.FINE)))
    assert len(edges) == 2 * drawing.FINE
    assert np.ptp(edges[:, :, 2], axis=1) == pytest.approx(0.0), "none along the axis"


def test_a_ball_has_none_and_a_single_triangle_has_three():
    assert len(sharp_edges(corners(drawing.sphere(drawing.FINE)))) == 0
    assert len(sharp_edges(np.eye(3)[None])) == 3


def test_a_triangle_without_area_has_no_edges_of_its_own():
    flat = np.array([[(0, 0, 0), (1, 0, 0), (2, 0, 0)]], float)
    assert len(sharp_edges(np.concatenate([np.eye(3)[None], flat]))) == 3


def test_normals_are_round_on_a_ball_and_flat_on_a_cube():
    ball = corners(drawing.sphere(drawing.FINE))
    outward = ball / np.linalg.norm(ball, axis=2, keepdims=True)
    assert np.einsum("kci,kci->kc", smooth_normals(ball), outward).min() > 0.99
    drum = corners(drawing.cylinder(drawing.FINE))
    cap = np.ptp(drum[:, :, 2], axis=1) == 0.0
    assert np.abs(smooth_normals(drum)[cap][:, :, 2]) == pytest.approx(1.0), "the sides do not bend the caps"
    cube = smooth_normals(corners(drawing.cube()))
    assert np.abs(cube).max(axis=2) == pytest.approx(np.ones(cube.shape[:2])), "along an axis at every corner"


def test_two_threads_get_one_mesh():
    made, together = [], threading.Barrier(4)

    @drawing.kept_mesh
    def slow(size):
        time.sleep(0.01)
        made.append(size)
        return drawing.cube()

    def ask():
        together.wait()
        return slow(3)

    with ThreadPoolExecutor(4) as pool:
        found = [one.result() for one in [pool.submit(ask) for _ in range(4)]]
    assert made == [3]
    assert all(one is found[0] for one in found)
