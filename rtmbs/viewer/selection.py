"""What is chosen, hidden, measured and cut in a window: one place that the scene, the panel and the keys agree on."""

from typing import TYPE_CHECKING

from rtmbs.viewer.scene.choices import BODY, JOINT, Choice, Hidden, bodies_of, drawn, groups
from rtmbs.viewer.scene.drawing import Section
from rtmbs.viewer.scene.overlays import Highlight, Measurement, Overlay, distances, end_of

if TYPE_CHECKING:
    from rtmbs.viewer.scene.scene import Pick, Scene
    from rtmbs.viewer.window import Window

Pair = tuple[Choice, Choice]


class Selection:
    """choice: what is chosen, or None.  pairs: what is measured.  section: what is cut away, or None."""

    def __init__(self, window: "Window") -> None:
        self.window = window
        self.choice: Choice | None = None
        self.hidden, self.pairs = Hidden(), list[Pair]()
        self.section: Section | None = None

    # ---- choosing -----------------------------------------------------------------------------------------------

    def picked(self, pick: "Pick | None") -> None:
        """Choose what was met in the scene."""
        if pick is None:
            self.choose(None)
        else:
            self.choose(Choice(JOINT, pick.joint) if pick.joint else Choice(BODY, self.window.body_name(pick.body)))

    def choose(self, choice: Choice | None) -> None:
        """Choose an element, or none; the scene and the panel show it."""
        self.choice = choice
        self._lay()
        self.window.panels.choose(choice)
        if choice is not None and choice.kind == BODY:
            about = self.window.description_of(self.body())
            self.window.tell(f"{about.name}: mass {about.mass:.4g} kg")
        elif choice is not None:
            self.window.tell(f"{choice.name}: {choice.kind}")

    def body(self) -> int:
        """Return the number of the chosen body; one must be chosen."""
        assert self.choice is not None
        assert self.window.description is not None
        return min(bodies_of(self.window.description, self.choice))

    # ---- hiding -------------------------------------------------------------------------------------------------

    def hide(self, choices: set[Choice]) -> None:
        """Let these, and only these, not be drawn."""
        self.hidden.choices = set(choices)
        self.window.make_scene()
        self.window.panels.tick(self.hidden.choices)

    def toggle(self) -> None:
        """Hide the chosen element, or show it again."""
        if self.choice is None:
            self.window.tell("choose something with a click first")
        elif self.window.description is None or self.choice not in drawn(self.window.description):
            self.window.tell(f"{self.choice.name} is not drawn, so there is nothing to hide")
        else:
            self.hide(self.hidden.choices ^ {self.choice})

    def isolate(self, choice: Choice | None = None) -> None:
        """Show an element and what touches it only; everything again when something is hidden already."""
        choice = choice or self.choice
        if self.hidden.choices:
            self.hide(set())
        elif choice is None or self.window.description is None:
            self.window.tell("choose something with a click first")
        else:
            self.hidden.isolate(self.window.description, choice)
            self.hide(self.hidden.choices)

    # ---- measuring and cutting ----------------------------------------------------------------------------------

    def measure(self, pairs: list[Pair]) -> None:
        """Measure these pairs; the plots offer those that have channels."""
        self.pairs = pairs
        if self.window.description is not None:
            self.window.panels.measure(distances(self.window.description, pairs))
        self._lay()

    def cut(self, section: Section | None) -> None:
        """Take away what lies before a plane, or nothing."""
        self.section = section
        self._lay()

    # ---- the scene ----------------------------------------------------------------------------------------------

    def meet(self) -> None:
        """Another mechanism: of what was chosen, hidden and measured that stays which it has too."""
        assert self.window.description is not None
        known = {choice for choices in groups(self.window.description).values() for choice in choices}
        self.hidden.choices &= known
        self.pairs = [pair for pair in self.pairs if known.issuperset(pair)]
        self.choice = self.choice if self.choice in known else None
        self.window.panels.know(distances(self.window.description, self.pairs))

    def lay_over(self, scene: "Scene") -> None:
        """Show in ``scene`` what is chosen, measured and cut."""
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
        if self.window.scene is not None:
            self.lay_over(self.window.scene)
            self.window.canvas.update()

    def readings(self) -> list[Measurement]:
        """Return the measurements in the scene."""
        scene = self.window.scene
        return [] if scene is None else [one for one in scene.overlays if isinstance(one, Measurement)]
