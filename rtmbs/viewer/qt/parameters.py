"""Parameters (F6): options of the steps, parameters of the mechanism, and its inputs as sliders."""

from collections.abc import Iterator
from typing import Any

from pyqtgraph.parametertree import Parameter, ParameterTree
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHeaderView, QWidget

from rtmbs.library.fourbar import CLOSURES, LAYOUTS
from rtmbs.viewer.qt.number_fields import NUMBER, REAL, WHOLE
from rtmbs.viewer.scene.description import InputDescription, SceneDescription
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.session.commands import Command, Rebuild, SetInput, SetOption

MILLI = 1e-3
STEPS = (1e-9, 1e6)  # [ms] limits of a step
POSITIVE = (1e-15, None)  # limits of a number that must not be zero
AXES = ("x", "y", "z")
PENALTIES = ("penalty c", "alpha, SI units")
WORDS = {"layout": LAYOUTS, "closure": tuple(CLOSURES)}  # of parameters of factories that are known to take words
TITLES = {
    "jacobian": "Jacobian source",
    "max_iterations": "iterations at most",
    "fixed_iterations": "fixed iterations",
    "project_velocities": "project velocities",
    "project_accelerations": "project accelerations",
    "hold_energy": "hold the energy of loops",
    "tol": "tolerance",
}
SWITCHES = ("fixed_iterations", "project_velocities", "project_accelerations", "hold_energy")
STEPPING, BUILDING, INPUTS = "Step", "Mechanism", "Inputs"
RECORDED = "a recorded result has nothing to set"


class Parameters(ParameterTree):
    """Every change becomes a command; frames bring back the present values."""

    asked = Signal(object)  # a Command
    refused = Signal(str)  # why a text was not taken

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, showHeader=False)
        self.setAlternatingRowColors(False)
        self.header().setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        self.root = Parameter.create(name="parameters", type="group")
        self._description: SceneDescription | None = None
        self._listening = True

    # ---- rows ----------------------------------------------------------------------------------------------------

    def describe(self, description: SceneDescription) -> None:
        """List the parameters of a mechanism; none for a recorded result."""
        self._description = description
        groups: list[dict[str, Any]] = [{"name": RECORDED, "type": "group"}]
        if description.live:
            groups = [{"name": STEPPING, "type": "group", "children": list(step_rows(description))}]
            if description.parameters:
                rows = [*build_rows(description.parameters), {"name": "build", "title": "Build", "type": "action"}]
                groups.append({"name": BUILDING, "type": "group", "children": rows})
            inputs = [input_row(entry) for entry in description.inputs if entry.settable]
            groups.append({"name": INPUTS, "type": "group", "children": inputs})
        self.root = Parameter.create(name="parameters", type="group", children=groups)
        place = self.verticalScrollBar().value()
        self.setParameters(self.root, showTop=False)
        self.verticalScrollBar().setValue(place)
        for group in self.root.children():
            for row in group.children() if group.name() != INPUTS else ():
                row.setOpts(default=None)  # only inputs have a default to go back to
        self.root.sigTreeStateChanged.connect(self._changed)
        if BUILDING in self.root.names:
            self.root.child(BUILDING, "build").sigActivated.connect(self._build)

    def show_frame(self, frame: Frame) -> None:
        """Show the present values, except in a field that is being edited."""
        description = self._description
        if description is None or not description.live or frame.generation != description.generation:
            return
        self._listening = False
        try:
            for name, value in shown_options(frame, description):
                self._show(self.root.child(STEPPING, name), value)
            for entry in description.inputs:
                if entry.settable:
                    row, values = self.root.child(INPUTS, entry.name), frame.inputs[entry.place]
                    rows = row.children() if row.hasChildren() else [row]
                    for part, value in zip(rows, values, strict=True):
                        self._show(part, float(value))
        finally:
            self._listening = True

    def _show(self, row: Parameter, value: Any) -> None:
        items = [item for item in row.items if getattr(item, "widget", None) is not None]
        if value is not None and row.value() != value and not any(has_focus(item.widget) for item in items):
            row.setValue(value)

    def refuse(self, row: Parameter, why: str) -> None:
        """Say why the text of a row was not taken."""
        self.refused.emit(f"{' '.join([*self.root.childPath(row)[1:-1], row.title()])}: {why}")

    # ---- changes -------------------------------------------------------------------------------------------------

    def _changed(self, _: Parameter, changes: list[tuple[Parameter, str, Any]]) -> None:
        if not self._listening:
            return
        for row, change, value in changes:
            if change == "value" and (command := self._command(row, value)) is not None:
                self.asked.emit(command)

    def _command(self, row: Parameter, value: Any) -> Command | None:
        """Return what a change of a row asks for; parameters of the mechanism wait for ``build``."""
        group, *path = self.root.childPath(row)
        if group == INPUTS:
            owner = self.root.child(INPUTS, path[0])
            if owner.hasChildren():
                return SetInput(path[0], tuple(float(part.value()) for part in owner.children()))
            return SetInput(path[0], float(value))
        if group == STEPPING:
            return self._option(path[0], value)
        return None

    def _option(self, name: str, value: Any) -> Command:
        if name == "h":
            return SetOption("h", MILLI * float(value))
        if name in ("stiffening", "amount"):
            kind = self.root.child(STEPPING, "stiffening").value()
            amount = float(self.root.child(STEPPING, "amount").value())
            if name == "stiffening":  # the number of the other kind would be off by many powers of ten
                amount = 1e6 if kind == PENALTIES[0] else 1e10
            return SetOption(kind.split()[0].strip(","), amount)
        return SetOption(name, value)

    def _build(self) -> None:
        rows = [row for row in self.root.child(BUILDING).children() if row.name() != "build"]
        self.asked.emit(Rebuild({row.name(): row.value() for row in rows}))


def step_rows(description: SceneDescription) -> Iterator[dict[str, Any]]:
    """Yield the rows of the options."""
    choices = description.choices
    first = ("jacobian", "method")
    for name in first:
        yield choice(name, choices[name])
    yield real("h", "step h", 5.0, suffix="ms", step=0.1, limits=STEPS)
    yield {"name": "stiffening", "title": "loops held by", "type": "list", "limits": list(PENALTIES)}
    yield real("amount", "size", 1e6, minStep=1e-9)
    yield real("tol", TITLES["tol"], 1e-9)
    yield {"name": "max_iterations", "title": TITLES["max_iterations"], "type": WHOLE, "value": 8, "limits": (1, 48)}
    for name in SWITCHES:
        yield {"name": name, "title": TITLES[name], "type": "bool", "value": False}
    for name in choices:
        if name not in first:
            yield choice(name, choices[name])


def real(name: str, title: str, value: float, **options: Any) -> dict[str, Any]:
    """Return a row with a positive number, whose arrows go by powers of ten."""
    usual = {"type": REAL, "limits": POSITIVE, "dec": True, "step": 1.0, "minStep": POSITIVE[0]}
    return {"name": name, "title": title, "value": value, **usual, **options}


def choice(name: str, words: tuple[str, ...]) -> dict[str, Any]:
    """Return a row that chooses among words."""
    title = TITLES.get(name, name.replace("_", " "))
    return {"name": name, "title": title, "type": "list", "limits": list(words), "value": words[0]}


def build_rows(parameters: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row for each parameter of a factory, by the type of its value."""
    for name, value in parameters.items():
        if name in WORDS and value in WORDS[name]:
            yield {"name": name, "type": "list", "limits": list(WORDS[name]), "value": value}
        elif isinstance(value, bool):
            yield {"name": name, "type": "bool", "value": value}
        elif isinstance(value, int):
            yield {"name": name, "type": WHOLE, "value": value}
        elif isinstance(value, float):
            yield {"name": name, "type": REAL, "value": value, "dec": True, "step": 0.1, "minStep": 1e-6}
        elif isinstance(value, str):
            yield {"name": name, "type": "str", "value": value}


def input_row(entry: InputDescription) -> dict[str, Any]:
    """Return the slider of an input, or a group of them for one of several numbers."""
    if entry.default.size == 1:
        return number(entry.name, float(entry.default[0]), entry.unit)
    names = AXES if entry.default.size == len(AXES) else tuple(str(k + 1) for k in range(entry.default.size))
    rows = [number(name, float(value), entry.unit) for name, value in zip(names, entry.default, strict=True)]
    return {"name": entry.name, "type": "group", "children": rows}


def number(name: str, value: float, unit: str) -> dict[str, Any]:
    """Return a row with a slider."""
    return {"name": name, "type": NUMBER, "value": value, "default": value, "unit": unit}


def shown_options(frame: Frame, description: SceneDescription) -> Iterator[tuple[str, Any]]:
    """Yield rows of options and what they show for ``frame``."""
    for name, words in description.choices.items():
        yield name, frame.option(name, words)
    for name in ("tol", "max_iterations", *SWITCHES):
        yield name, frame.option(name)
    yield "h", round(frame.h / MILLI, 9)
    alpha = frame.option("alpha")
    yield "stiffening", PENALTIES[0] if alpha is None else PENALTIES[1]
    yield "amount", frame.option("penalty") if alpha is None else alpha


def has_focus(widget: Any) -> bool:
    """True when a widget, or one inside it, has the keyboard."""
    return widget.hasFocus() or any(child.hasFocus() for child in widget.findChildren(QWidget))
