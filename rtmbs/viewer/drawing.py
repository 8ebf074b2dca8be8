"""What a picture shows, for whoever draws it: by OpenGL in a window or without one, or by matplotlib."""

from collections.abc import Sequence
from typing import NamedTuple

from rtmbs.viewer.batch import Batch, Lines
from rtmbs.viewer.grid import Floor
from rtmbs.viewer.section import Section


class Drawing(NamedTuple):
    """The parts of a scene that are shown now."""

    batches: Sequence[Batch]
    lines: Sequence[Lines]
    background: tuple[float, ...]
    floor: Floor | None = None  # what catches the shadow
    section: Section | None = None  # cuts batches; lines and the shadow stay whole

    def shown(self) -> list[Batch]:
        """Return the batches that have anything to see."""
        return [batch for batch in self.batches if batch.visible and len(batch)]
