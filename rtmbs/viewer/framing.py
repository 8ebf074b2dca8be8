"""What the camera of a window keeps in its picture: the motion of the whole, or one body."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QTimer

from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.scene import Following

if TYPE_CHECKING:
    from rtmbs.viewer.window import Window

DOT = 0.05  # of what the picture was fitted to: a mechanism so small is looked for in vain
MOST_COVERED = 0.4  # of the width, that the info overlay may take from the picture


class Framing:
    """holding: the picture is fitted again when something would leave it; the user ends this by moving the picture.
    following: the body that the camera goes with, None for none.
    """

    def __init__(self, window: "Window") -> None:
        self.window = window
        self.holding = True
        self.following: Following | None = None
        self._soon = QTimer(window, singleShot=True, interval=0)  # goes with the window
        self._soon.timeout.connect(self.fit)

    def show(self, frame: Frame, old: Frame | None) -> None:
        """Move the scene of the window to ``frame``, and the camera with it."""
        scene, camera = self.window.scene, self.window.canvas.camera
        if scene is None:
            return
        back = old is not None and frame.t < old.t
        scene.show(frame)
        if self.following is not None:
            self.following.carry(camera, scene)
        elif self.holding:
            if np.isfinite(frame.way[0, 0]) and not (old is not None and np.isfinite(old.way[0, 0])):
                self.fit()
            if back and extent(scene.points()) < DOT * extent(scene.seen):  # of an explosion that is undone
                scene.seen = scene.seen[:0]
                self.fit()
            self._hold()

    def fit(self) -> None:
        """Stand so that the whole, or what is around a followed body, is in the picture beside the info overlay."""
        canvas = self.window.canvas
        if canvas.scene is not None:
            self.holding = True
            if self.following is None:
                canvas.camera.fit(canvas.scene.framing(), self.covered())
            else:
                self.following.fit(canvas.camera, canvas.scene, self.covered())
            canvas.update()

    def resized(self) -> None:
        """The picture has another size: what lies over it finds its place, and the whole is fitted in again."""
        self.window.place_overlays()
        if self.holding and self.following is None and self.window.scene is not None:
            self._soon.start()  # once the camera knows the size

    def covered(self) -> float:
        """Return how many pixels at the left the info overlay takes."""
        info = self.window.info
        return min(info.geometry().right() if info.isVisible() else 0, MOST_COVERED * self.window.canvas.width())

    def _hold(self) -> None:
        """Keep the mechanism in the picture; one that goes far is followed."""
        scene, camera = self.window.scene, self.window.canvas.camera
        if scene is None or camera.holds(points := scene.points(), self.covered()):
            return
        if scene.remember():
            self.fit()
        else:
            camera.go_with(points, self.covered())

    def let_go(self) -> None:
        """The user chose a picture: it follows nothing."""
        self.holding = False

    def forget(self) -> None:
        """Another mechanism: what was followed is gone."""
        self.following = None


def extent(points: NDArray[np.float64]) -> float:
    """Return the longest edge of the box around points (k, 3); 0 for none."""
    return float(np.max(np.ptp(points, axis=0))) if len(points) else 0.0
