"""What pictures show, pixel by pixel, without a window: transparency, edges, the shadow, colours of the user."""

import numpy as np
import pytest

pytest.importorskip("PySide6.QtGui", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("OpenGL", reason="PyOpenGL is not installed; pip install 'rtmbs[viewer]' brings it")
import rtmbs
from rtmbs.simulation import Simulation
from rtmbs.viewer.scene.camera import Camera
from rtmbs.viewer.scene.drawing import Floor
from rtmbs.viewer.scene.scene import Scene
from rtmbs.viewer.scene.theme import DARK, WHITE, rgba
from rtmbs.viewer.session.worker import ManualConnection
from tests.viewer.conftest import NO_XVFB

SIZE = 240
RED, BLUE = "#d02020", "#2020d0"


class Painter:
    """Draws into memory with Qt's OpenGL, which windows of this process use too."""

    def __init__(self) -> None:
        from PySide6.QtGui import QOffscreenSurface, QOpenGLContext

        from rtmbs.viewer.qt.requirements import surface_format
        from rtmbs.viewer.scene.renderer import Framebuffer, Renderer

        self.context, self.surface = QOpenGLContext(), QOffscreenSurface()
        self.context.setFormat(surface_format())
        self.surface.setFormat(surface_format())
        self.surface.create()
        assert self.context.create()
        self.context.makeCurrent(self.surface)
        self.renderer, self.target = Renderer(), Framebuffer(SIZE, SIZE)

    def draw(self, drawing, camera):
        self.context.makeCurrent(self.surface)
        self.target.bind()
        self.renderer.draw(drawing, camera)
        picture = self.target.read()
        self.context.doneCurrent()
        return picture


@pytest.fixture(scope="module")
def painter(qapp, display):
    """Someone who draws."""
    if not display:
        pytest.skip(NO_XVFB)
    return Painter()


def two_boxes(front, back, theme=WHITE) -> Scene:
    """A small box before the eye, and a larger one behind it; the eye looks along -x."""
    model = rtmbs.Model("boxes")
    for name, x, size, looks in (("front", 1.0, 0.5, front), ("back", -1.0, 2.0, back)):
        body = model.add_body(name, mass=1.0, inertia=(0.1, 0.1, 0.1), shape=rtmbs.Box([size] * 3), **looks)
        model.add_joint(f"{name} free", rtmbs.Floating(), "ground", body)
        model.set_initial(f"{name} free", position=(x, 0, 0, 1, 0, 0, 0))
    connection = ManualConnection(Simulation(model.compile()))
    connection.should_step()
    return Scene(connection.describe(), theme, connection.latest())


def camera(look="front") -> Camera:
    made = Camera(parallel=True, distance=8.0)
    made.resize(SIZE, SIZE)
    made.look(look)
    return made


def draw(painter, scene, look="front", floor=None):
    scene.shown["grid"] = scene.shown["axes"] = False
    return painter.draw(scene.drawing()._replace(floor=floor), camera(look)).astype(float)


def middle(picture):
    """The colour in the middle."""
    return picture[SIZE // 2 - 5 : SIZE // 2 + 5, SIZE // 2 - 5 : SIZE // 2 + 5].mean(axis=(0, 1))


def test_a_color_is_the_users_whatever_the_theme(painter):
    for theme in (WHITE, DARK):
        seen = middle(draw(painter, two_boxes({"color": RED}, {}, theme)))
        assert seen[0] > 3.0 * max(seen[1], seen[2])


def test_what_stands_behind_is_seen_through_a_body_and_not_through_a_solid_one(painter):
    solid = middle(draw(painter, two_boxes({"color": RED}, {"color": BLUE})))
    clear = middle(draw(painter, two_boxes({"color": RED, "opacity": 0.4}, {"color": BLUE})))
    alone = middle(draw(painter, two_boxes({"color": BLUE}, {"color": BLUE})))
    assert solid[2] < 60.0 < clear[2]
    np.testing.assert_allclose(clear, 0.4 * solid + 0.6 * alone, atol=6.0)


@pytest.mark.parametrize("order", [1, -1])
def test_the_nearer_of_two_transparent_bodies_covers_the_farther(painter, order):
    """Whatever order the model has them in."""
    looks = [{"color": RED, "opacity": 0.5}, {"color": BLUE, "opacity": 0.5}]
    scene = two_boxes(*looks)
    scene._bodies = scene._bodies[::order]
    seen = middle(draw(painter, scene))
    assert seen[0] > 1.3 * seen[2], "red is nearer"


def test_a_switch_makes_all_bodies_transparent_and_solid_again(painter):
    scene = two_boxes({"color": RED}, {"color": BLUE})
    solid = draw(painter, scene)
    scene.shown["transparent"] = True
    scene.recolor()
    assert middle(draw(painter, scene))[2] > middle(solid)[2] + 40.0
    scene.shown["transparent"] = False
    scene.recolor()
    np.testing.assert_array_equal(draw(painter, scene), solid)


def test_sharp_edges_are_dark_lines_and_can_be_left_out(painter):
    with_edges, without = (
        draw(painter, two_boxes({"color": RED, "edges": on}, {"color": BLUE, "edges": on}), "isometric")
        for on in (True, False)
    )
    changed = np.abs(with_edges - without).max(axis=2) > 20.0
    assert 0.005 < changed.mean() < 0.1
    assert with_edges[changed].sum() < without[changed].sum(), "darker"


def test_the_floor_catches_a_shadow_under_a_body_and_nowhere_else(painter):
    scene = two_boxes({}, {})
    for batch in scene._bodies:
        batch.placement[:, 2, 3] += 1.5
    floor = Floor(np.array([-4.0, -4.0, -1.0]), np.array([8.0, 0, 0]), np.array([0, 8.0, 0]), np.array([0, 0, 1.0]))
    plain, shaded = draw(painter, scene, "isometric"), draw(painter, scene, "isometric", floor)
    darker = (plain - shaded).max(axis=2)
    assert darker.max() > 30.0
    eye = camera("isometric")
    under, beside = (eye.project(np.array([place]))[0] for place in ((1.0, 0.0, -1.0), (3.5, -3.5, -1.0)))
    assert darker[round(under[1]), round(under[0])] > 20.0
    assert darker[round(beside[1]), round(beside[0])] == 0.0


FLOOR = Floor(np.array([-4.0, -4.0, -1.5]), np.array([8.0, 0, 0]), np.array([0, 8.0, 0]), np.array([0, 0, 1.0]))


def test_cells_of_the_floor_hold_the_whole_shadow(painter, monkeypatch):
    """Bars across one another, a ball and a coil: looking at every cell of the floor gives the same picture."""
    from rtmbs.viewer.scene import renderer

    scene = scene_of_many()
    some = renderer.covered([batch for batch in scene.batches() if batch.casts and len(batch)], FLOOR)
    assert 10 < len(some) < renderer.CELLS**2 / 2
    few = draw(painter, scene, "isometric", FLOOR)
    steps = np.arange(renderer.CELLS) / renderer.CELLS
    low = np.stack(np.meshgrid(steps, steps), axis=2).reshape(-1, 2)
    every = np.ascontiguousarray(np.hstack([low, low + 1.0 / renderer.CELLS]), np.float32)
    monkeypatch.setattr(renderer, "covered", lambda *_: every)
    painter.renderer._shadow.forget()
    whole = draw(painter, scene, "isometric", FLOOR)
    assert np.abs(whole - draw(painter, scene, "isometric")).max() > 20.0, "there is a shadow"
    assert np.abs(few - whole).max() <= 1.0


def scene_of_many() -> Scene:
    """A slanted bar, a ball, and a coil between them."""
    model = rtmbs.Model("many")
    bar, ball = rtmbs.Bar((0, 0, 0), (1.5, 1.8, 0.6), 0.1), rtmbs.Sphere(0.3)
    for name, shape, place in (("bar", bar, (-1.0, -1.0, 0.0)), ("ball", ball, (1.5, -1.5, 0.0))):
        body = model.add_body(name, shape=shape, position=place, mass=1.0, inertia=(0.1, 0.1, 0.1))
        model.add_joint(f"{name} free", rtmbs.Floating(), "ground", body)
        model.add_marker(f"end of {name}", name, place)
    model.add_force("spring", rtmbs.SpringDamper(stiffness=10.0), between=("end of bar", "end of ball"))
    connection = ManualConnection(Simulation(model.compile()))
    connection.should_step()
    return Scene(connection.describe(), WHITE, connection.latest())


def test_a_shadow_is_made_anew_only_for_what_has_moved(painter, monkeypatch):
    shadow, scene, made = painter.renderer._shadow, two_boxes({}, {}), []
    make = shadow._make
    monkeypatch.setattr(shadow, "_make", lambda *given: made.append(1) or make(*given))
    first = draw(painter, scene, "isometric", FLOOR)
    np.testing.assert_array_equal(draw(painter, scene, "isometric", FLOOR), first)
    draw(painter, scene, "top", FLOOR)
    assert len(made) == 1, "another eye sees the same shadow"
    for batch in scene._bodies:
        batch.placement[:, 0, 3] += 0.5
    moved = draw(painter, scene, "isometric", FLOOR)
    assert len(made) == 2
    assert np.abs(moved - first).max() > 20.0


def test_a_hurried_shadow_is_one_picture_late_at_most(painter, monkeypatch):
    shadow, scene, made = painter.renderer._shadow, two_boxes({}, {}), []
    make = shadow._make
    monkeypatch.setattr(shadow, "_make", lambda *given: made.append(1) or make(*given))
    monkeypatch.setattr(shadow, "_hurried", True)
    counts = []
    for _ in range(6):
        for batch in scene._bodies:
            batch.placement[:, 0, 3] += 0.1
        late = draw(painter, scene, "isometric", FLOOR)
        counts.append(len(made))
    assert counts == [1, 1, 2, 2, 3, 3]
    still = draw(painter, scene, "isometric", FLOOR)
    assert len(made) == 4, "what stands still has its own shadow"
    assert np.abs(still - late).max() > 5.0
    np.testing.assert_array_equal(draw(painter, scene, "isometric", FLOOR), still)
    assert len(made) == 4


def test_an_eye_under_the_floor_sees_no_shadow(painter):
    scene = two_boxes({}, {})
    floor = Floor(np.array([-4.0, -4.0, 20.0]), np.array([8.0, 0, 0]), np.array([0, 8.0, 0]), np.array([0, 0, 1.0]))
    np.testing.assert_array_equal(draw(painter, scene, "isometric"), draw(painter, scene, "isometric", floor))


def test_the_background_is_that_of_the_theme(painter):
    for theme in (WHITE, DARK):
        picture = draw(painter, two_boxes({}, {}, theme))
        np.testing.assert_allclose(picture[3, 3], 255.0 * np.array(rgba(theme.background)[:3]), atol=1.0)
