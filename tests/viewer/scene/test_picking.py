"""Rays against capsules, boxes and triangles, held against points that are known to lie on them."""

import numpy as np
import pytest

from rtmbs.viewer.scene.drawing import between
from rtmbs.viewer.scene.scene import boxes, capsules, nearest_primitive, triangles

RANDOM = np.random.default_rng(11)


def ray_to(point: np.ndarray, eye: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    way = point - eye
    return eye, way / np.linalg.norm(way)


def test_a_capsule_is_met_across_its_axis():
    ends = np.array([[[0.0, -1.0, 0.0], [0.0, 1.0, 0.0]]])
    start, direction = np.array([5.0, 0.3, 0.0]), np.array([-1.0, 0.0, 0.0])
    assert capsules(start, direction, ends, np.array([0.25]))[0] == pytest.approx(4.75)
    assert capsules(start, -direction, ends, np.array([0.25]))[0] == np.inf, "behind the eye"
    beside = start + np.array([0.0, 0.0, 0.26])
    assert capsules(beside, direction, ends, np.array([0.25]))[0] == np.inf


@pytest.mark.parametrize("case", range(30))
def test_a_ray_at_the_axis_of_a_capsule_meets_it_and_nothing_far_away(case):
    ends = RANDOM.normal(size=(8, 2, 3)) + 4.0 * np.arange(8)[:, None, None]
    k = case % 8
    share = RANDOM.uniform(0.1, 0.9)
    point = ends[k, 0] + share * (ends[k, 1] - ends[k, 0])
    eye = point + 50.0 * np.array([1.0, -1.0, 0.2]) / np.sqrt(2.04)
    found = capsules(*ray_to(point, eye), ends, np.full(8, 0.05))
    hit = nearest_primitive(found, *ray_to(point, eye))
    assert hit is not None
    assert np.linalg.norm(hit.point - point) < 0.3 or hit.distance < np.linalg.norm(point - eye)
    assert np.isfinite(found[k])


@pytest.mark.parametrize("axis", range(3))
def test_a_box_is_met_on_its_face(axis):
    turn, _ = np.linalg.qr(np.random.default_rng(axis).normal(size=(3, 3)))
    size, center = np.array([0.4, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])
    place = np.column_stack([turn * size, center])[None]
    face = center + turn[:, axis] * size[axis] / 2.0
    eye = face + 3.0 * turn[:, axis]
    assert boxes(eye, -turn[:, axis], place)[0] == pytest.approx(3.0)
    assert boxes(eye, turn[:, axis], place)[0] == np.inf
    beside = eye + turn[:, (axis + 1) % 3] * size[(axis + 1) % 3] * 0.51
    assert boxes(beside, -turn[:, axis], place)[0] == np.inf


def test_a_triangle_is_met_inside_and_missed_outside():
    corners = RANDOM.normal(size=(40, 3, 3))
    weights = RANDOM.dirichlet(np.ones(3), size=40)
    for k in range(40):
        point = weights[k] @ corners[k]
        eye = point + np.array([3.0, 4.0, 12.0])
        assert triangles(*ray_to(point, eye), corners)[k] == pytest.approx(13.0)
        outside = corners[k, 0] + 1.2 * (corners[k, 0] - corners[k].mean(axis=0))
        assert triangles(*ray_to(outside, outside + np.array([3.0, 4.0, 12.0])), corners)[k] == np.inf


def test_nothing_is_nearest_to_nothing():
    assert nearest_primitive(np.zeros(0), np.zeros(3), np.ones(3)) is None
    assert nearest_primitive(np.full(3, np.inf), np.zeros(3), np.ones(3)) is None


def test_between_lays_the_axis_from_end_to_end():
    start, end = RANDOM.normal(size=(20, 3)), RANDOM.normal(size=(20, 3))
    place = between(start, end, 0.1)
    assert np.allclose(place[:, :, 3], start)
    assert np.allclose(place[:, :, 2], end - start)
    assert np.allclose(np.linalg.norm(place[:, :, :2], axis=1), 0.1)
    assert np.all(np.linalg.det(place[:, :, :3]) > 0.0), "right-handed: the outside stays outside"
