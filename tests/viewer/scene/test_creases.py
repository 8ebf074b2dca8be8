"""Sharp edges and smooth normals of surfaces."""

import numpy as np
import pytest

from rtmbs.viewer.scene import drawing
from rtmbs.viewer.scene.drawing import sharp_edges, smooth_normals


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
