"""Selection of a window: the chosen element, the hidden ones, measurements and the section."""

from PySide6.QtCore import QObject, Signal

from rtmbs.viewer.qt.canvas import Canvas
from rtmbs.viewer.scene.choices import BODY, JOINT, Choice, Hidden, Pair, bodies_of, drawn, groups
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.drawing import Section
from rtmbs.viewer.scene.overlays import Highlight, Measurement, Overlay, distances, end_of
from rtmbs.viewer.scene.scene import Pick, Scene


class Selection(QObject):
    """The chosen element, the hidden elements, the measured pairs and the section of the scene of a canvas.

    choice: the chosen element, or None.  pairs: elements between which is measured.  section: a plane, or None.
    """

    chosen = Signal(object)  # a Choice, or None
    hides = Signal(object)  # every hidden Choice; the scene is to be made anew
    measured = Signal(object)  # the Distances that have channels
    told = Signal(str)  # a sentence for the status bar

    def __init__(self, canvas: Canvas) -> None:
        super().__init__(canvas)
        self.canvas = canvas
        self.description: SceneDescription | None = None
        self.choice: Choice | None = None
        self.hidden, self.pairs = Hidden(), list[Pair]()
        self.section: Section | None = None

    # ---- choosing -----------------------------------------------------------------------------------------------

    def picked(self, pick: Pick | None) -> None:
        """Choose the joint or the body of a pick."""
        if pick is None or self.description is None:
            self.choose(None)
        else:
            body = self.description.bodies[pick.body].name
            self.choose(Choice(JOINT, pick.joint) if pick.joint else Choice(BODY, body))

    def choose(self, choice: Choice | None) -> None:
        """Choose an element, or none; the scene and the panel show it."""
        self.choice = choice
        self._lay()
        self.chosen.emit(choice)
        if choice is not None and choice.kind == BODY and self.description is not None:
            about = self.description.bodies[self.body()]
            self.told.emit(f"{about.name}: mass {about.mass:.4g} kg")
        elif choice is not None:
            self.told.emit(f"{choice.name}: {choice.kind}")

    def body(self) -> int:
        """Return the number of the chosen body; one must be chosen."""
        assert self.choice is not None
        assert self.description is not None
        return min(bodies_of(self.description, self.choice))

    # ---- hiding -------------------------------------------------------------------------------------------------

    def hide(self, choices: set[Choice]) -> None:
        """Hide these elements, and no others."""
        self.hidden.choices = set(choices)
        self.hides.emit(self.hidden.choices)

    def toggle(self) -> None:
        """Hide the chosen element, or show it again."""
        if self.choice is None:
            self.told.emit("choose something with a click first")
        elif self.description is None or self.choice not in drawn(self.description):
            self.told.emit(f"{self.choice.name} is not drawn, so there is nothing to hide")
        else:
            self.hide(self.hidden.choices ^ {self.choice})

    def isolate(self, choice: Choice | None = None) -> None:
        """Show an element and its neighbours only; all elements when some are hidden already."""
        choice = choice or self.choice
        if self.hidden.choices:
            self.hide(set())
        elif choice is None or self.description is None:
            self.told.emit("choose something with a click first")
        else:
            self.hidden.isolate(self.description, choice)
            self.hide(self.hidden.choices)

    # ---- measuring and cutting ----------------------------------------------------------------------------------

    def measure(self, pairs: list[Pair]) -> None:
        """Measure these pairs; the plots offer those that have channels."""
        self.pairs = pairs
        if self.description is not None:
            self.measured.emit(distances(self.description, pairs))
        self._lay()

    def cut(self, section: Section | None) -> None:
        """Set the section plane, or none."""
        self.section = section
        self._lay()

    # ---- the scene ----------------------------------------------------------------------------------------------

    def meet(self, description: SceneDescription) -> None:
        """Take another mechanism; elements that it has too stay chosen, hidden and measured."""
        self.description = description
        known = {choice for choices in groups(description).values() for choice in choices}
        self.hidden.choices &= known
        self.pairs = [pair for pair in self.pairs if known.issuperset(pair)]
        self.choice = self.choice if self.choice in known else None

    def lay_over(self, scene: Scene) -> None:
        """Show choice, measurements and section in ``scene``."""
        description, choice = scene.description, self.choice
        is_body = choice is not None and choice.kind == BODY
        scene.select(self.body() if is_body else None)
        overlays: list[Overlay] = []
        if choice is not None and not is_body and choice not in self.hidden.choices:
            overlays.append(Highlight(description, choice, scene.radius, scene.theme))
        for one, other in self.pairs:
            ends = end_of(description, one), end_of(description, other)
            if ends[0] is not None and ends[1] is not None:
                overlays.append(Measurement(ends[0], ends[1], scene.radius, scene.theme))
        scene.lay_over(overlays)
        scene.section = self.section

    def _lay(self) -> None:
        if self.canvas.scene is not None:
            self.lay_over(self.canvas.scene)
            self.canvas.update()

    def readings(self) -> list[Measurement]:
        """Return the measurements in the scene."""
        scene = self.canvas.scene
        return [] if scene is None else [one for one in scene.overlays if isinstance(one, Measurement)]
