"""The view cube: faces that an eye sees, where they are, and the face under the mouse."""

import numpy as np
import pytest

from rtmbs.viewer.scene.camera import (
    CUBE_FACES,
    CUBE_LEAST,
    CUBE_REACH,
    HALF_EDGE,
    Camera,
    cube_corner,
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


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("size", [(320, 300), (400, 640), (640, 480), (1200, 700), (1600, 400)])
def test_the_picture_of_everything_keeps_away_from_the_cube(size, parallel):
    """Points that would lie behind the cube make room for it, as little as they can; others lose nothing."""
    moved, corner = 0, cube_corner(*size)
    for seed in range(12):
        points = np.random.default_rng(seed).normal(size=(40, 3)) * np.random.default_rng(seed).uniform(0.2, 3.0, 3)
        camera, plain = (Camera(width=size[0], height=size[1], parallel=parallel) for _ in range(2))
        plain.fit(points)
        camera.fit(points, corner=corner)
        assert camera.holds(points)
        assert camera.distance >= plain.distance
        if camera.distance == plain.distance:
            continue
        moved += 1
        ends = camera.project(points)[:, :2]
        hull = np.concatenate([ends[:, None] * share + ends[None] * (1.0 - share) for share in np.linspace(0, 1, 21)])
        inside = (hull[..., 0] > size[0] - corner) & (hull[..., 1] < corner)
        assert not inside.any(), "no line between two points goes behind the cube"
        right, top = size[0] - ends[:, 0].max(), ends[:, 1].min()
        assert max(right, top) >= corner
        assert camera.distance < plain.distance * max(1.0 / (1.0 - corner / end) for end in size) * 1.2
    assert size != (320, 300) or moved, "a small picture has no room without"
    box = np.array([[0.0, y, z] for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    camera = Camera(width=400, height=400)
    camera.look("front")
    camera.fit(box, corner=cube_corner(400, 400))
    assert camera.project(box)[:, 0].max() < 400 - cube_corner(400, 400) + 1.0 or camera.project(box)[:, 1].min() > 77.0
    assert cube_corner(CUBE_LEAST - 1, 900) == 0.0
