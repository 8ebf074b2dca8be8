"""Contacts in pictures: points, normals, cones of friction, forces and impulses on the second bodies."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer.scene import drawing
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.drawing import GROUND, Batch, between
from rtmbs.viewer.scene.frame import CONTACT, LINGERS, Frame
from rtmbs.viewer.scene.shapes import FULL, HEAD_WIDTH, LONGEST, SHORTEST, Scale
from rtmbs.viewer.scene.theme import Theme, rgba

Array = NDArray[np.float64]

BALL, THREAD = 1.1, 0.25  # radii of a contact point and of a normal, in radii of a bar
TALL = 0.2  # height of a cone of friction and length of a normal, in characteristic lengths
WIDEST = 2.0  # coefficient of friction of the widest cone that is drawn
CONE_OPACITY = 0.3
SHAFT, HEAD = 0.4, 0.25  # radius of an arrow of force in radii of a bar; length of its head in its own length


class Contacts:
    """Batches with a placement for every contact, without size where it is open: pages count those of the first."""

    def __init__(self, description: SceneDescription, radius: float, theme: Theme) -> None:
        self._radius = radius
        self._mu = np.minimum([one.friction for one in description.contacts], WIDEST)
        plain, cone = rgba(theme.reaction), rgba(theme.accent, CONE_OPACITY)
        meshes = (drawing.sphere(), plain), (drawing.cylinder(), plain), (drawing.cone(), cone)
        arrow, blow = ((drawing.cylinder(), drawing.cone()) for _ in range(2))
        struck = rgba(theme.accent)
        shapes = (*meshes, *((mesh, plain) for mesh in arrow), *((mesh, struck) for mesh in blow))
        count = len(self._mu)
        self.batches = [Batch(mesh, np.full(count, GROUND), np.zeros((count, 3, 4)), color) for mesh, color in shapes]
        self._colors = [color for _, color in shapes]
        for batch in self.batches:
            batch.casts = False

    def show(self, frame: Frame, scale: Scale) -> None:
        """Draw the contacts that touch in a frame."""
        if not len(self._mu) or len(frame.contacts) != len(self._mu):
            return
        point, normal, force, impulse = (frame.contacts[:, part] for part in CONTACT)
        force, blow = np.nan_to_num(force), np.nan_to_num(impulse) / LINGERS
        touches = np.any(force != 0.0, axis=1) | np.any(blow != 0.0, axis=1)
        if np.any(force):
            scale.fit(np.hstack((force[touches], np.zeros((int(np.sum(touches)), 3)))))
        point, normal = (np.where(touches[:, None], one, 0.0) for one in (point, normal))
        tall = TALL * scale.length
        balls = np.concatenate(
            (np.tile(BALL * self._radius * np.eye(3), (len(point), 1, 1)), point[:, :, None]), axis=2
        )
        top = point + tall * normal
        placed = (
            (balls, touches),
            (between(point, top, THREAD * self._radius), touches),
            (between(top, point, np.maximum(self._mu * tall, 1e-9)), touches & (self._mu > 0.0)),
            *self.arrow(point, force, scale),
            *self.arrow(point, blow, scale),
        )
        for batch, color, (placement, there) in zip(self.batches, self._colors, placed, strict=True):
            batch.put(np.where(there[:, None, None], placement, 0.0), color)

    def arrow(self, point: Array, force: Array, scale: Scale) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Return placements of shafts and heads of forces (nc, 3) at points (nc, 3), and which of them are seen."""
        along = force / scale.newtons
        length = np.linalg.norm(along, axis=1)
        seen = length > SHORTEST * scale.length
        along = along * np.minimum(1.0, LONGEST * scale.length / np.maximum(length, 1e-300))[:, None]
        neck, width = point + (1.0 - HEAD) * along, self._radius * np.minimum(1.0, length / (FULL * scale.length) + 0.2)
        shaft, head = between(point, neck, SHAFT * width), between(neck, point + along, HEAD_WIDTH * width)
        return (shaft, seen), (head, seen)
