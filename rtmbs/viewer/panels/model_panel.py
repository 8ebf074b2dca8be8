"""The model (F9): the tree of a mechanism, and below it the inspector, measuring and the section."""

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QTabWidget, QWidget

from rtmbs.viewer.panels.cutting import Cutting
from rtmbs.viewer.panels.inspector import Inspector
from rtmbs.viewer.panels.measuring import Measuring
from rtmbs.viewer.panels.model_tree import ModelTree
from rtmbs.viewer.scene.choices import Choice
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.session.commands import Inspect

if TYPE_CHECKING:
    from rtmbs.viewer.window import Window


class ModelPanel(QSplitter):
    """Shows what a window has chosen, and chooses, hides, measures and cuts for it."""

    def __init__(self, window: "Window", parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self.window_ = window
        self.tree, self.inspector, self.measuring, self.cutting = ModelTree(), Inspector(), Measuring(), Cutting()
        self.tabs = QTabWidget()
        self.tabs.addTab(self.inspector, "Inspector")
        self.tabs.addTab(self.measuring, "Measure")
        self.tabs.addTab(self.cutting, "Section")
        self.addWidget(self.tree)
        self.addWidget(self.tabs)
        self.setSizes([300, 320])
        selection, guarded = window.selection, window.guarded
        self.tree.chosen.connect(guarded(selection.choose))
        self.tree.hidden.connect(guarded(selection.hide))
        self.tree.isolated.connect(guarded(self._isolate))
        self.tree.measured.connect(guarded(self._measure))
        self.inspector.wanted.connect(guarded(lambda names, ticket: window.send(Inspect(names, ticket))))
        self.inspector.asked.connect(guarded(window.send))
        self.measuring.changed.connect(guarded(selection.measure))
        self.cutting.changed.connect(guarded(selection.cut))
        for part in (self.inspector, self.cutting):
            part.refused.connect(guarded(window.refuse))

    def describe(self, description: SceneDescription) -> None:
        """Offer what a mechanism has; what was chosen in the last one stays when it has it too."""
        selection, scene = self.window_.selection, self.window_.scene
        self.tree.describe(description)
        self.tree.tick(selection.hidden.choices)
        self.inspector.describe(description)
        self.measuring.describe(description, selection.pairs)
        self.cutting.set_size(1.0 if scene is None else float(np.max(np.abs(scene.points()), initial=1e-6)))
        self.choose(selection.choice)

    def choose(self, choice: Choice | None) -> None:
        """Show what is chosen."""
        self.tree.choose(choice)
        self.inspector.show_choice(choice)

    def tick(self, hidden: set[Choice]) -> None:
        """Show what is hidden."""
        self.tree.tick(hidden)

    def show_frame(self, frame: Frame) -> None:
        """Write the present values."""
        self.inspector.show_frame(frame)
        self.measuring.show_readings(self.window_.selection.readings())

    def _isolate(self, choice: Choice) -> None:
        self.window_.selection.hidden.choices = set()
        self.window_.selection.isolate(choice)

    def _measure(self, choice: Choice, to: bool) -> None:
        self.tabs.setCurrentWidget(self.measuring)
        self.measuring.put(choice, to)
