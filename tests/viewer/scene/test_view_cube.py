"""The view cube: faces that an eye sees, where they are, and the face under the mouse."""

import numpy as np
import pytest

from rtmbs.viewer.scene.camera import (
    CUBE_FACES,
    CUBE_LEAST,
    CUBE_REACH,
    HALF_EDGE,
    Camera,
    cube_face_at,
    cube_faces,
    cube_middle,
)


def eye(seed):
    """Return rows right, up, backward of a random eye."""
    axes, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return axes * np.sign(np.linalg.det(axes))


@pytest.mark.parametrize("seed", range(20))
def test_three_faces_towards_the_eye_cover_its_outline(seed):
    axes = eye(seed)
    seen = cube_faces(axes)
    assert {face.label for face in seen} == {label for label, normal in CUBE_FACES if axes[2] @ normal > 0.0}
    area = 0.0
    for face in seen:
        x, y = face.corners.T
        area += 0.5 * abs(x @ np.roll(y, 1) - y @ np.roll(x, 1))
        assert np.abs(face.corners).max() <= CUBE_REACH
        assert cube_face_at(axes, *face.corners.mean(axis=0)).label == face.label
    assert area == pytest.approx(4.0 * HALF_EDGE**2 * np.abs(axes[2]).sum()), "the shadow of a cube along the eye"
    assert cube_face_at(axes, 1.01 * CUBE_REACH, 0.0) is None


@pytest.mark.parametrize(("label", "normal"), CUBE_FACES)
def test_a_face_looks_along_its_axis(label, normal):
    camera = Camera()
    camera.look_along(np.array(normal))
    np.testing.assert_allclose(camera.axes()[2], normal, atol=1e-12)
    (face,) = (one for one in cube_faces(camera.axes()) if one.seen > 0.5)
    assert face.label == label
    np.testing.assert_allclose(np.abs(face.corners), HALF_EDGE, atol=1e-9)


def test_small_pictures_have_none():
    assert cube_middle(CUBE_LEAST - 1, 900) is None
    x, y = cube_middle(1200, 700)
    assert x + CUBE_REACH < 1200
    assert y > CUBE_REACH
