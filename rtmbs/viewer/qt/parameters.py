"""Parameters (F6): options of the steps, parameters of the mechanism, inputs as sliders; number fields with units."""

import math
import re
from collections.abc import Iterator
from typing import Any

from pyqtgraph import SpinBox
from pyqtgraph.parametertree import Parameter, ParameterTree, registerParameterType
from pyqtgraph.parametertree.parameterTypes import NumericParameterItem, SimpleParameter, WidgetParameterItem
from PySide6.QtCore import QEvent, QObject, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QHeaderView, QSlider, QVBoxLayout, QWidget

from rtmbs.viewer.scene.description import InputDescription, SceneDescription, slider_range
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.session.commands import BUILD_TIP, OPTION_TIPS, Command, Rebuild, SetInput, SetOption, option_title
from rtmbs.viewer.session.describe import parameter_unit, parameter_words
from rtmbs.viewer.text import PREFIXES, figures

# ---- number fields ---------------------------------------------------------------------------------------------------

NUMBER_TEXT = re.compile(r"([-+\d.,]*(?:[eE][-+]?\d+)?)\s*(.*)", re.DOTALL)  # and what stands behind the number
SIZES = {prefix: factor for factor, prefix in PREFIXES} | {"u": 1e-6}


def written(unit: str) -> str:
    """Return a unit with its powers as superscripts."""
    return unit.replace("^2", "\N{SUPERSCRIPT TWO}").replace("^3", "\N{SUPERSCRIPT THREE}")


def scale(unit: str, suffix: str) -> float:
    """Return the factor from ``unit`` to the unit of a field: 1000 for s in ms; not a number for another unit."""
    if unit in ("", suffix):
        return 1.0
    worth = [(own, a / b) for own, a in readings(unit) for other, b in readings(suffix) if own == other]
    return worth[0][1] if worth else math.nan


def readings(unit: str) -> list[tuple[str, float]]:
    """Return the ways to read a unit: without a prefix, and with each prefix that it begins with."""
    return [(unit[len(p) :], size) for p, size in SIZES.items() if unit.startswith(p) and len(unit) > len(p)]


class NumberBox(SpinBox):
    """A SpinBox; ``refused`` has the sentence of a text that was not taken. The number before stays."""

    refused = Signal(str)

    def __init__(self, parent: QWidget | None = None, **options: Any) -> None:
        super().__init__(parent, **options)

    def interpret(self) -> float | int | bool:
        """Return the number that the text says, with or without the unit; False when it says none."""
        number, unit = NUMBER_TEXT.match(self.lineEdit().text().strip()).groups()  # type: ignore[union-attr]
        factor = scale(written(unit), self.opts["suffix"].strip())
        try:
            value = float(number.replace(",", ".")) * factor
        except ValueError:
            return False
        if not math.isfinite(value) or (self.opts["int"] and not value.is_integer()):
            return False
        low, high = self.opts["bounds"]
        if (low is not None and value < low) or (high is not None and value > high):
            return False
        return int(value) if self.opts["int"] else value

    def fixup(self, text: str) -> str:
        """Refuse a text at the end of an edit."""
        self.refused.emit(f"{text!r} is refused; it must be {self.wanted()}")
        return str(super().fixup(text))

    def wanted(self) -> str:
        """Return a description of the values that the field takes."""
        low, high = self.opts["bounds"]
        kind = "whole number" if self.opts["int"] else "number"
        unit = f" of {self.opts['suffix'].strip()}" if self.opts["suffix"].strip() else ""
        if high is None:
            return f"a {'' if low is None else 'positive '}{kind}{unit}"
        return f"a {kind}{unit} from {float(low):g} to {float(high):g}"


# ---- rows of a parameter tree ----------------------------------------------------------------------------------------

REAL, WHOLE = "real", "whole"
STAYS = (Qt.FocusReason.PopupFocusReason, Qt.FocusReason.ActiveWindowFocusReason)  # the user comes back
OPTIONS = ("step", "dec", "suffix", "minStep")  # of rows and of fields
ROOM = 4  # [pixels] of a row over the field


class NumberItem(NumericParameterItem):
    """The row of a REAL or WHOLE parameter."""

    def __init__(self, param: Any, depth: int) -> None:
        super().__init__(param, depth)
        hint = self.widget.sizeHint()
        self.setSizeHint(1, QSize(hint.width() + self.defaultBtn.width(), hint.height() + ROOM))

    def makeWidget(self) -> NumberBox:
        """Return the field in the shape that a parameter tree asks for."""
        opts = self.param.opts
        low, high = opts.get("limits") or (None, None)
        whole = opts["type"] == WHOLE
        options: dict[str, Any] = {"minStep": 1.0} if whole else {}
        options |= {name: opts[name] for name in OPTIONS if name in opts}
        # The compact height of pyqtgraph is that of the letters: the frame of the field takes half of them.
        box = NumberBox(value=opts["value"], int=whole, bounds=(low, high), compactHeight=False, **options)
        box.sigChanged, box.sigChanging = box.sigValueChanged, box.sigValueChanging
        box.refused.connect(lambda why: refuse(self, why))
        return box

    def widgetEventFilter(self, obj: QObject, ev: QEvent) -> bool:
        """Close the field when the keyboard goes elsewhere."""
        if isinstance(ev, QFocusEvent) and ev.lostFocus() and ev.reason() not in STAYS:
            self.treeWidget().setCurrentItem(None)  # a click on the row chooses it anew
            self.hideEditor()
        return bool(super().widgetEventFilter(obj, ev))


def refuse(item: Any, why: str) -> None:
    """Show in the tree of a row why a text was refused."""
    if (tree := item.treeWidget()) is not None:
        tree.refuse(item.param, why)


class NumberRow(SimpleParameter):
    """A number. Options: value, suffix, limits, step, dec, minStep."""

    itemClass = NumberItem

    def _interpretValue(self, value: Any) -> float | int:
        return int(value) if self.opts["type"] == WHOLE else float(value)


for kind in (REAL, WHOLE):
    registerParameterType(kind, NumberRow, override=True)


# ---- sliders ---------------------------------------------------------------------------------------------------------

NOTCHES = 1000


class SliderSpin(QWidget):
    """The slider moves within ``low`` and ``high``; a number typed beyond them moves the border."""

    changed = Signal(float)
    refused = Signal(str)  # why a text was not taken

    def __init__(self, value: float, unit: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.low, self.high = slider_range(value)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, NOTCHES)
        self.slider.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.spin = NumberBox(
            value=value,
            suffix=f" {written(unit)}" if unit else "",
            dec=True,
            step=0.1,
            minStep=1e-9,
            compactHeight=False,
        )
        self.spin.setMinimumWidth(124)
        self.spin.setOpts(format="{value:.6g}{suffix}")
        column = QVBoxLayout(self)  # the slider has the whole width
        column.setContentsMargins(0, 2, 0, 4)
        column.setSpacing(1)
        column.addWidget(self.spin)
        column.addWidget(self.slider)
        self.set_value(value)
        self.slider.valueChanged.connect(self._slid)
        self.spin.sigValueChanged.connect(self._typed)
        self.spin.refused.connect(self.refused)

    def value(self) -> float:
        """Return the number."""
        return float(self.spin.value())

    def set_value(self, value: float) -> None:
        """Show a number without a signal."""
        with QSignalBlocker(self.slider), QSignalBlocker(self.spin):
            self.spin.setValue(value)
            self._place(value)

    def _place(self, value: float) -> None:
        self.low, self.high = min(self.low, value), max(self.high, value)
        self.slider.setToolTip(f"{figures(self.low)} to {figures(self.high)}{self.spin.opts['suffix']}")
        self.slider.setValue(round(NOTCHES * (value - self.low) / (self.high - self.low)))

    def _slid(self, notch: int) -> None:
        value = self.low + (self.high - self.low) * notch / NOTCHES
        with QSignalBlocker(self.spin):
            self.spin.setValue(value)
        self.changed.emit(value)

    def _typed(self) -> None:
        with QSignalBlocker(self.slider):
            self._place(self.value())
        self.changed.emit(self.value())


class SliderItem(WidgetParameterItem):
    """The row of a NUMBER parameter."""

    def makeWidget(self) -> QWidget:
        """Return the widget in the shape that a parameter tree asks for."""
        opts = self.param.opts
        widget: Any = SliderSpin(float(opts["value"]), opts.get("unit", ""))
        widget.sigChanged, widget.setValue = widget.changed, widget.set_value
        widget.refused.connect(lambda why: refuse(self, why))
        self.hideWidget = False
        return widget


class NumberParameter(Parameter):
    """A number with a slider. Options: value, unit."""

    itemClass = SliderItem


NUMBER = "number"
registerParameterType(NUMBER, NumberParameter, override=True)


# ---- parameters panel ------------------------------------------------------------------------------------------------

MILLI = 1e-3
STEPS = (1e-9, 1e6)  # [ms] limits of a step
POSITIVE = (1e-15, None)  # limits of a number that must not be zero
AXES = ("x", "y", "z")
PENALTIES = {"scaled penalty": "penalty", "penalty in SI units": "alpha"}  # words of a row, and their options
LOOP_TIPS = {
    "stiffening": "the penalty of open loops: scaled by the mechanism, or one fixed number in SI units",
    "amount": "the larger the penalty, the smaller the open gaps of loops, and the harder Newton's iteration",
}
BUTTON_TIP = "build the mechanism with these parameters"
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
            groups = [{"name": STEPPING, "type": "group", "children": with_tips(step_rows(description))}]
            if description.parameters:
                rows = [
                    *build_rows(description.parameters, description.notes),
                    {"name": "build", "title": "Build", "type": "action", "tip": BUTTON_TIP},
                ]
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
        """Return the command of a change of a row; parameters of the mechanism wait for ``build``."""
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
            option = PENALTIES[self.root.child(STEPPING, "stiffening").value()]
            amount = float(self.root.child(STEPPING, "amount").value())
            if name == "stiffening":  # the number of the other kind would be off by many powers of ten
                amount = 1e10 if option == "alpha" else 1e6
            return SetOption(option, amount)
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
    yield real("h", option_title("h"), 5.0, suffix="ms", step=0.1, limits=STEPS)
    yield {"name": "stiffening", "title": "loops held by", "type": "list", "limits": list(PENALTIES)}
    yield real("amount", "size of the penalty", 1e6, minStep=1e-9)
    yield real("tol", option_title("tol"), 1e-9)
    yield {
        "name": "max_iterations",
        "title": option_title("max_iterations"),
        "type": WHOLE,
        "value": 8,
        "limits": (1, 48),
    }
    for name in SWITCHES:
        yield {"name": name, "title": option_title(name), "type": "bool", "value": False}
    for name in choices:
        if name not in first:
            yield choice(name, choices[name])


def with_tips(rows: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of options with the sentence that tells what they do."""
    return [{"tip": (OPTION_TIPS | LOOP_TIPS)[row["name"]], **row} for row in rows]


def real(name: str, title: str, value: float, **options: Any) -> dict[str, Any]:
    """Return a row with a positive number, whose arrows go by powers of ten."""
    usual = {"type": REAL, "limits": POSITIVE, "dec": True, "step": 1.0, "minStep": POSITIVE[0]}
    return {"name": name, "title": title, "value": value, **usual, **options}


def choice(name: str, words: tuple[str, ...]) -> dict[str, Any]:
    """Return a row that chooses among words."""
    return {"name": name, "title": option_title(name), "type": "list", "limits": list(words), "value": words[0]}


def build_rows(parameters: dict[str, Any], notes: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each parameter of a factory, by the type of its value; ``notes`` have its meaning and unit."""
    for name, value in parameters.items():
        note = notes.get(name, "")
        row: dict[str, Any] = {"name": name, "value": value, "tip": f"{note} ({BUILD_TIP})" if note else BUILD_TIP}
        if words := parameter_words(name, value):
            yield row | {"type": "list", "limits": list(words)}
        elif isinstance(value, bool):
            yield row | {"type": "bool"}
        elif isinstance(value, int):
            yield row | {"type": WHOLE}
        elif isinstance(value, float):
            unit = parameter_unit(note)
            suffix = {"suffix": f" {written(unit)}"} if unit else {}
            yield row | {"type": REAL, "dec": True, "step": 0.1, "minStep": 1e-6} | suffix
        elif isinstance(value, str):
            yield row | {"type": "str"}


def input_row(entry: InputDescription) -> dict[str, Any]:
    """Return the slider of an input, or a group of them for one of several numbers."""
    if entry.default.size == 1:
        return slider_row(entry.name, float(entry.default[0]), entry.unit)
    names = AXES if entry.default.size == len(AXES) else tuple(str(k + 1) for k in range(entry.default.size))
    rows = [slider_row(name, float(value), entry.unit) for name, value in zip(names, entry.default, strict=True)]
    return {"name": entry.name, "type": "group", "children": rows}


def slider_row(name: str, value: float, unit: str) -> dict[str, Any]:
    """Return a row with a slider."""
    tip = f"input of the model; it takes effect at once, and its default is {figures(value)} {written(unit)}".rstrip()
    return {"name": name, "type": NUMBER, "value": value, "default": value, "unit": unit, "tip": tip}


def shown_options(frame: Frame, description: SceneDescription) -> Iterator[tuple[str, Any]]:
    """Yield rows of options and their values for ``frame``."""
    for name, words in description.choices.items():
        yield name, frame.option(name, words)
    for name in ("tol", "max_iterations", *SWITCHES):
        yield name, frame.option(name)
    yield "h", round(frame.h / MILLI, 9)
    alpha = frame.option("alpha")
    yield "stiffening", next(words for words, option in PENALTIES.items() if (option == "alpha") == (alpha is not None))
    yield "amount", frame.option("penalty") if alpha is None else alpha


def has_focus(widget: Any) -> bool:
    """True when a widget, or one inside it, has the keyboard."""
    return widget.hasFocus() or any(child.hasFocus() for child in widget.findChildren(QWidget))
