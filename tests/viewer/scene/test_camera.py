"""The camera: points to pixels and back, and pictures that hold everything."""

import numpy as np
import pytest

from rtmbs.errors import InputError, UnknownNameError
from rtmbs.viewer.scene.camera import NEAR, PRESETS, Camera

POINTS = np.random.default_rng(3).uniform((-2.0, -5.0, -1.0), (4.0, 3.0, 6.0), size=(60, 3))


def clip(camera: Camera, points: np.ndarray) -> np.ndarray:
    """Return normalised device coordinates by the matrices that OpenGL gets."""
    homogeneous = np.column_stack([points, np.ones(len(points))]) @ (camera.projection() @ camera.view()).T
    return homogeneous[:, :3] / homogeneous[:, 3:]


@pytest.mark.parametrize("preset", PRESETS)
def test_pixels_are_those_of_the_matrices(preset):
    camera = Camera(width=1000, height=600)
    camera.look(preset)
    camera.fit(POINTS)
    device, pixels = clip(camera, POINTS), camera.project(POINTS)
    assert np.allclose(pixels[:, 0], 500.0 * (1.0 + device[:, 0]))
    assert np.allclose(pixels[:, 1], 300.0 * (1.0 - device[:, 1]))
    assert np.all(np.abs(device[:, 2]) < 1.0), "between the clip planes"


def test_a_ray_goes_through_its_pixel():
    camera = Camera(center=np.array([1.0, -2.0, 0.5]), distance=7.0, azimuth=130.0, elevation=-25.0)
    start, direction = camera.ray(321.0, 123.0)
    assert np.linalg.norm(direction) == pytest.approx(1.0)
    for way in (0.5, 3.0, 20.0):
        assert camera.project(start + way * direction)[0, :2] == pytest.approx((321.0, 123.0))


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("width", "height"), [(1200, 700), (400, 900)])
def test_fit_holds_all_points_and_wastes_no_room(preset, width, height):
    camera = Camera(width=width, height=height)
    camera.look(preset)
    camera.fit(POINTS)
    x, y, depth = camera.project(POINTS).T
    assert x.min() >= 0.0
    assert x.max() <= width
    assert y.min() >= 0.0
    assert y.max() <= height
    assert depth.min() > NEAR * camera.distance
    assert max(np.ptp(x) / width, np.ptp(y) / height) > 0.85


@pytest.mark.parametrize("left", [120.0, 400.0])
def test_fit_leaves_the_left_border_free(left):
    camera = Camera(width=1000, height=600)
    camera.fit(POINTS, left)
    x, y, _ = camera.project(POINTS).T
    assert x.min() >= left
    assert x.max() <= 1000.0
    assert y.min() >= 0.0
    assert y.max() <= 600.0
    assert max(np.ptp(x) / (1000.0 - left), np.ptp(y) / 600.0) > 0.85


def test_fit_of_one_point_and_of_none():
    camera = Camera()
    camera.fit(np.array([[1.0, 2.0, 3.0]]))
    assert np.allclose(camera.center, (1.0, 2.0, 3.0))
    before = camera.center.copy()
    camera.fit(np.full((4, 3), np.nan))
    assert np.array_equal(camera.center, before)


def test_pan_moves_the_picture_by_pixels():
    camera = Camera(distance=5.0)
    point = camera.center.copy()
    before = camera.project(point)[0]
    camera.pan(30.0, -12.0)
    assert camera.project(point)[0, :2] - before[:2] == pytest.approx((30.0, -12.0))


def test_zoom_and_orbit_keep_the_center():
    camera = Camera(distance=5.0)
    camera.orbit(400.0, 200.0)
    assert -180.0 <= camera.azimuth <= 180.0
    assert camera.elevation == 90.0, "never over the top"
    camera.zoom(2.0)
    assert camera.distance == 2.5
    assert camera.project(camera.center)[0] == pytest.approx((600.0, 350.0, 2.5))


def test_a_dragged_point_stays_in_its_plane():
    camera = Camera(distance=5.0, azimuth=20.0, elevation=40.0)
    point = np.array([0.3, -0.2, 0.7])
    target = camera.at_depth_of(800.0, 200.0, point)
    assert camera.project(target)[0, :2] == pytest.approx((800.0, 200.0))
    assert camera.project(target)[0, 2] == pytest.approx(camera.project(point)[0, 2])


def test_an_unknown_preset_is_named():
    with pytest.raises(UnknownNameError, match="did you mean 'front'"):
        Camera().look("frnt")


@pytest.mark.parametrize("preset", [*PRESETS, "17,-33"])
@pytest.mark.parametrize("left", [0.0, 300.0])
def test_parallel_lines(preset, left):
    """Pixels are those of the matrices, rays go through their pixels, the picture holds all and wastes no room."""
    camera = Camera(width=1000, height=600, parallel=True)
    camera.look(preset)
    camera.fit(POINTS, left)
    device, pixels = clip(camera, POINTS), camera.project(POINTS)
    np.testing.assert_allclose(pixels[:, 0], 500.0 * (1.0 + device[:, 0]), atol=1e-9)
    np.testing.assert_allclose(pixels[:, 1], 300.0 * (1.0 - device[:, 1]), atol=1e-9)
    assert np.all(np.abs(device[:, 2]) < 1.0), "between the clip planes"
    assert camera.holds(POINTS, left)
    assert max(np.ptp(pixels[:, 0]) / (1000.0 - left), np.ptp(pixels[:, 1]) / 600.0) > 0.85
    start, direction = camera.ray(321.0, 123.0)
    for way in (0.5, 30.0):
        assert camera.project(start + way * direction)[0, :2] == pytest.approx((321.0, 123.0))
    for point, pixel in zip(POINTS[:5], pixels, strict=False):
        np.testing.assert_allclose(camera.at_depth_of(pixel[0], pixel[1], point), point, atol=1e-9)
    nearer = POINTS[0] + 2.0 * camera.axes()[2]
    assert camera.project(nearer)[0, :2] == pytest.approx(pixels[0, :2]), "depth moves nothing in the picture"


def test_a_given_view():
    camera = Camera()
    camera.look("30,-20.5")
    assert (camera.azimuth, camera.elevation) == (30.0, -20.5)
    for wrong in ("30,", "a,b", "1,2,3", "nan,3", "10,91"):
        with pytest.raises(InputError, match="azimuth,elevation"):
            camera.look(wrong)


def test_holds_sees_what_leaves_the_picture():
    camera = Camera(width=1000, height=600)
    camera.fit(POINTS)
    assert camera.holds(POINTS)
    assert not camera.holds(POINTS, left=400.0)
    assert not camera.holds(np.vstack([POINTS, camera.eye() + 3.0 * camera.axes()[2]])), "behind the eye"
    assert not camera.holds(POINTS + 5.0 * camera.axes()[0])


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("left", [0.0, 300.0])
def test_a_fit_around_a_point_has_it_in_the_middle_of_what_is_free(parallel, left):
    """And all points in the picture, none of them farther than they need be."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        camera = Camera(azimuth=rng.uniform(-180, 180), elevation=rng.uniform(-80, 80), parallel=parallel)
        center, points = rng.normal(size=3), rng.normal(size=(30, 3)) * rng.uniform(0.1, 5.0, 3)
        camera.fit_around(center, points, left)
        x, y, _ = camera.project(center)[0]
        assert (x, y) == pytest.approx(((left + camera.width) / 2.0, camera.height / 2.0), abs=1e-6)
        assert camera.holds(points, left - 1e-6)
        camera.distance /= 1.25
        camera.center = center - 0.5 * left * camera.metres_per_pixel() * camera.axes()[0]
        assert not camera.holds(points, left)
