"""A camera that goes with a body."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer.camera import Camera
from rtmbs.viewer.scene import Scene

Array = NDArray[np.float64]


class Following:
    """Moves a camera as the mass centre of ``body`` moves; where the body is nowhere, the camera stays."""

    def __init__(self, body: int, scene: Scene) -> None:
        self.body = body
        self._last = scene.center_of(body)  # (3,) where the body was last [m]

    def carry(self, camera: Camera, scene: Scene) -> None:
        """Move the camera to where the body is now."""
        now = scene.center_of(self.body)
        if not np.all(np.isfinite(now)):
            return
        if np.all(np.isfinite(self._last)):
            camera.center = camera.center + now - self._last
        self._last = now

    def fit(self, camera: Camera, scene: Scene, left: float) -> None:
        """Put the body into the middle of what is free, with everything around it in the picture."""
        center = scene.center_of(self.body)
        if np.all(np.isfinite(center)):
            camera.fit_around(center, scene.around(self.body), left)
