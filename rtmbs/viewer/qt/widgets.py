"""Widgets of a theme: style, info (F2), map of keys (F1), banner of a failure, progress of a task."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, Signal, SignalInstance
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from rtmbs.viewer.keys import EDIT, FILES, HELP, KEYS, LOOK, MOUSE, RUN, SHOW, shown
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.theme import Theme
from rtmbs.viewer.session.connection import Offer
from rtmbs.viewer.text import counted, figures, with_unit

# ---- style -----------------------------------------------------------------------------------------------------------

TICK = (Path(__file__).parent / "tick.svg").as_posix()


def palette(theme: Theme) -> QPalette:
    """Return the palette of all widgets."""
    made, role = QPalette(), QPalette.ColorRole
    colors = {
        role.Window: theme.panel,
        role.Base: theme.panel,
        role.AlternateBase: theme.field,
        role.Button: theme.field,
        role.ToolTipBase: theme.panel,
        role.Text: theme.text,
        role.WindowText: theme.text,
        role.ButtonText: theme.text,
        role.ToolTipText: theme.text,
        role.PlaceholderText: theme.muted,
        role.Highlight: theme.accent,
        role.HighlightedText: "#ffffff",
        role.Link: theme.accent,
        role.Mid: theme.border,
        role.Light: theme.border,
    }
    for which, color in colors.items():
        made.setColor(which, QColor(color))
    for which in (role.Text, role.WindowText, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, which, QColor(theme.muted))
    return made


def sheet(theme: Theme) -> str:
    """Return the style sheet of widgets: colours and borders that a palette does not have."""
    return f"""
        QMainWindow::separator {{ background: {theme.border}; width: 1px; height: 1px; }}
        QDockWidget {{ color: {theme.muted}; }}
        QDockWidget::title {{ background: {theme.field}; padding: 4px 8px; }}
        QMenuBar {{ background: {theme.panel}; }}
        QMenuBar::item:selected, QMenu::item:selected {{ background: {theme.accent}; color: #ffffff; }}
        QMenu {{ background: {theme.panel}; border: 1px solid {theme.border}; }}
        QStatusBar {{ background: {theme.panel}; color: {theme.muted}; border-top: 1px solid {theme.border}; }}
        QTreeView {{ border: none; }}
        QTreeView::indicator, QCheckBox::indicator {{
            width: 12px; height: 12px; border: 1px solid {theme.muted}; border-radius: 2px; background: {theme.field};
        }}
        QTreeView::indicator:checked, QCheckBox::indicator:checked {{
            border-color: {theme.accent}; background: {theme.accent}; image: url("{TICK}");
        }}
        QTreeView::indicator:indeterminate {{ background: {theme.muted}; }}
        Parameters QLabel {{
            border: 1px solid {theme.border}; border-radius: 3px; background: {theme.field}; padding: 0 3px;
        }}
        QSplitter::handle {{ background: {theme.border}; }}
        QPlainTextEdit {{ border: none; font-family: monospace; }}
    """


# ---- plots -----------------------------------------------------------------------------------------------------------


def axis_style(plot: Any, theme: Theme) -> None:
    """Give the axes of a plot the colours of a theme, and a faint grid."""
    for side in ("left", "bottom"):
        axis: Any = plot.getAxis(side)
        axis.setPen(theme.border)
        axis.setTextPen(theme.muted)
        axis.enableAutoSIPrefix(False)  # a label says the unit of the numbers as they stand
        axis.setStyle(tickTextOffset=4, tickLength=-4)
    plot.showGrid(x=True, y=True, alpha=0.18)


def styled(text: str, theme: Theme) -> str:
    """Return the title of a plot as small rich text."""
    return f'<span style="color: {theme.text}; font-size: 9pt">{text}</span>'


# ---- overlays of the picture -----------------------------------------------------------------------------------------

Row = tuple[str, ...]  # label, value, and where the value says something the name of a colour of the theme
FONT, LEAST = 12, 7  # [pixels] of letters, and of those in a low picture
MISSED = 1.0  # [%] of the deadlines, above which the steps do not keep real time
SIGNS = {"warning": "\N{BLACK UP-POINTING TRIANGLE} ", "bad": "\N{BLACK SQUARE} "}  # for eyes that see no red
LEGEND = (
    ("", "green: within half of the deadline, or of 1 % missed"),
    ("", f"{SIGNS['warning']}orange: up to it, {SIGNS['bad']}red: beyond"),
)


class Info(QLabel):
    """A table over the picture; mouse and keys pass through it. ``whole``: all rows, in place of three lines."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.whole = False
        self.setObjectName("info")  # by which the canvas finds how much of the picture is covered
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.move(12, 12)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
        self._paint(FONT)

    def _paint(self, size: int) -> None:
        """Write in letters of ``size`` pixels."""
        self._size, theme = size, self._theme
        red, green, blue = (int(theme.panel[k : k + 2], 16) for k in (1, 3, 5))
        self.setStyleSheet(
            f"background: rgba({red}, {green}, {blue}, 215); color: {theme.text}; border: 1px solid {theme.border};"
            " border-radius: 4px; padding: 6px 10px;"
            f" font-size: {size}px;"
        )

    def show_frame(self, frame: Frame, description: SceneDescription, pictures: float) -> None:
        """Write the numbers of ``frame``; ``pictures`` are drawn a second."""
        sections = [short_rows(frame, description)]
        if self.whole:
            sections = [mechanism_rows(description), run_rows(frame, pictures, description)]
        if self.whole and description.live:
            sections += [step_rows(frame), list(LEGEND), worth_rows(frame, description)]
        text = table(sections, self._theme)
        if text != self.text():
            self.setText(text)
            self.fit()

    def fit(self) -> None:
        """Take smaller letters where the picture is too low for the table."""
        self.adjustSize()
        if (picture := self.parentWidget()) is None:
            return
        room = picture.height() - 2 * self.y()
        fitting = max(min(FONT, int(self._size * room / max(self.height(), 1))), LEAST)
        if fitting != self._size:
            for size in range(fitting, LEAST - 1, -1):  # letters do not shrink evenly
                self._paint(size)
                self.adjustSize()
                if self.height() <= room:
                    return


def mechanism_rows(description: SceneDescription) -> list[Row]:
    """Return name and sizes."""
    sizes = ", ".join(
        (counted(len(description.bodies) - 1, "body"), counted(len(description.coordinates), "coordinate"))
    )
    freedom = f"{counted(description.degrees_of_freedom, 'degree')} of freedom"
    loops = f"{counted(description.equations, 'loop equation')}, {freedom}"
    return [(description.name, ""), ("", sizes), ("", loops)] if description.live else [(description.name, "")]


def short_rows(frame: Frame, description: SceneDescription) -> list[Row]:
    """Return the three lines: name, time, and speed with the share of missed deadlines."""
    share = 100.0 * frame.missed / frame.deadlines if frame.deadlines else 0.0
    late = [bound_color(share, MISSED)] if frame.playing and share > 0.5 * MISSED else []
    return [(description.name, ""), ("time", f"{frame.t:.3f} s"), ("speed", reached(frame), *late)]


def run_rows(frame: Frame, pictures: float, description: SceneDescription) -> list[Row]:
    """Return time and speed. A recorded result has samples in place of steps; a program sets its speed itself."""
    wanted = ("speed wanted", f"{figures(frame.desired_speed)} \N{MULTIPLICATION SIGN}")
    return [
        ("time", f"{frame.t:.3f} s"),
        ("step number" if description.live else "sample", f"{frame.step}"),
        *([wanted] if description.mode != "manual" else []),
        ("speed reached", reached(frame)),
        ("pictures", f"{pictures:.0f} /s"),
    ]


def reached(frame: Frame) -> str:
    """Return the speed that is reached, and whether steps are taken for it."""
    speed = f"{figures(frame.actual_speed)} \N{MULTIPLICATION SIGN}" if frame.playing else "paused"
    return f"{speed}, stored steps" if frame.playing and frame.step < frame.newest else speed


def step_rows(frame: Frame) -> list[Row]:
    """Return step times against their deadline."""
    share = 100.0 * frame.missed / frame.deadlines if frame.deadlines else 0.0
    newest = frame.iterations[-1]
    return [
        ("step h", with_unit(frame.h, "s")),
        ("real-time factor", f"{figures(frame.real_time_factor)} (simulated / wall time)"),
        ("step time p50", with_unit(frame.p50, "s"), bound_color(frame.p50, frame.deadline)),
        ("step time p99", with_unit(frame.p99, "s"), bound_color(frame.p99, frame.deadline)),
        ("deadline", with_unit(frame.deadline, "s")),
        ("begun late p50", with_unit(frame.late_p50, "s"), bound_color(frame.late_p50, frame.deadline)),
        ("begun late p99", with_unit(frame.late_p99, "s"), bound_color(frame.late_p99, frame.deadline)),
        ("missed", missed_deadlines(frame, f" ({share:.1f} %)"), bound_color(share, MISSED)),
        ("Newton iterations", figures(newest, 1) if frame.steps_taken else "\N{EN DASH}"),
    ]


def missed_deadlines(frame: Frame, share: str = "") -> str:
    """Return the number of missed deadlines as text; a dash before the first deadline."""
    return f"{frame.missed} of {frame.deadlines}{share}" if frame.deadlines else "no deadline yet"


def bound_color(value: float, bound: float) -> str:
    """Return the colour of a number: good below half of its bound, warning up to it, bad beyond it."""
    if not (value > 0.0 and bound > 0.0):
        return "text"
    return "good" if value < 0.5 * bound else "warning" if value <= bound else "bad"


def worth_rows(frame: Frame, description: SceneDescription) -> list[Row]:
    """Return rows of energy drift and, with loops, of the loop violation."""
    energy: list[Row] = [("energy", with_unit(frame.energy, "J", 4))]
    if not description.equations:
        return energy
    return [
        *energy,
        ("loops: position", with_unit(frame.position_violation, "m")),
        ("loops: velocity", with_unit(frame.velocity_violation, "m/s")),
        ("loops: acceleration", with_unit(frame.acceleration_violation, "m/s\N{SUPERSCRIPT TWO}")),
    ]


def table(sections: list[list[Row]], theme: Theme) -> str:
    """Return sections as one table of rich text; a row without a value is a heading, one without a label is small."""
    lines: list[str] = []
    for number, section in enumerate(sections):
        if number:
            lines.append('<tr><td colspan="2" style="font-size: 4px">&nbsp;</td></tr>')
        for label, value, *color in section:
            ink = getattr(theme, color[0] if color else "text")
            value = f"{SIGNS.get(color[0], '')}{value}" if color else value
            if not value:
                lines.append(f'<tr><td colspan="2"><b>{escaped(label)}</b></td></tr>')
            elif not label:
                lines.append(f'<tr><td colspan="2" style="color: {theme.muted}">{escaped(value)}</td></tr>')
            else:
                lines.append(
                    f'<tr><td style="color: {theme.muted}; padding-right: 14px">{escaped(label)}</td>'
                    f'<td align="right" style="color: {ink}">{escaped(value)}</td></tr>'
                )
    return f'<table cellspacing="0" cellpadding="1">{"".join(lines)}</table>'


def escaped(text: str) -> str:
    """Return text that rich text shows as it is."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


# ---- the map of keys -------------------------------------------------------------------------------------------------

COLUMNS = ((FILES, EDIT, HELP, "Mouse"), (LOOK, RUN), (SHOW,))


class Help(QScrollArea):
    """Lies in the middle of the picture until F1 or Esc; a small picture scrolls it."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.map = QLabel()
        self.map.setTextFormat(Qt.TextFormat.RichText)
        self.setWidget(self.map)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # keys belong to the window
        self._theme, self._written = theme, False
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme, self._written = theme, False
        if self.isVisible():
            self.write()

    def write(self) -> None:
        """Write the map of keys when it is first shown, or when its theme changed."""
        if self._written:
            return
        self._written, theme = True, self._theme
        self.setStyleSheet(
            f"QScrollArea {{ background: {theme.panel}; border: 1px solid {theme.border}; border-radius: 6px; }}"
            f" QLabel {{ background: {theme.panel}; color: {theme.text}; padding: 10px 18px; font-size: 12px; }}"
        )
        self.map.setText(help_text(theme))

    def text(self) -> str:
        """Return the map as rich text."""
        self.write()
        return self.map.text()

    def center_in(self, width: int, height: int) -> None:
        """Move to the middle of an area of pixels, as large as there is room; a hidden map does not move."""
        if not self.isVisible():
            return
        self.write()
        self.map.adjustSize()
        frame, bar = 2 * self.frameWidth(), self.verticalScrollBar().sizeHint()
        wide, high = self.map.width() + frame, self.map.height() + frame
        wide, high = wide + bar.width() * (high > height), high + bar.width() * (wide > width)
        self.resize(min(wide, width), min(high, height))
        self.move(max((width - self.width()) // 2, 0), max((height - self.height()) // 2, 0))


def help_text(theme: Theme) -> str:
    """Return the map as rich text in three columns."""
    cells = "".join(
        f'<td valign="top" style="padding-right: 10px">{"".join(group_text(group, theme) for group in column)}</td>'
        for column in COLUMNS
    )
    return f'<table cellspacing="0" cellpadding="0"><tr>{cells}</tr></table>'


def group_text(group: str, theme: Theme) -> str:
    """Return one group: a heading, then key and text a row."""
    rows = [(shown(key.keys), key.text) for key in KEYS if key.group == group] or list(MOUSE)
    lines = "".join(
        f'<tr><td style="color: {theme.accent}; padding-right: 12px; white-space: nowrap"><b>{escaped(keys)}</b></td>'
        f'<td style="white-space: nowrap">{escaped(text)}</td></tr>'
        for keys, text in rows
    )
    heading = f'<tr><td colspan="2" style="color: {theme.muted}; padding-top: 8px">{group.upper()}</td></tr>'
    return f'<table cellspacing="0" cellpadding="1">{heading}{lines}</table>'


# ---- the banner ------------------------------------------------------------------------------------------------------

MOST = 600  # characters; an exception's text may be a page
LINES = 14  # of a traceback that are in sight


class Banner(QFrame):
    """Shows a failure with the ways out, or another sentence; ``grave`` belongs in the middle of the picture."""

    back = Signal()  # "back 10 steps"
    reload = Signal()
    halve = Signal()  # half the step, and go on
    closed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.grave = False
        self.text, self.details = QLabel(wordWrap=True), QPlainTextEdit(readOnly=True)
        self.text.setTextFormat(Qt.TextFormat.PlainText)  # a name of the user's may look like HTML
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        # A text that has the keyboard would hand it to the next field when the banner goes.
        self.details.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.details.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.back_button, self.reload_button = QPushButton("Back 10 steps"), QPushButton("Reload")
        self.halve_button = QPushButton("Halve h and go on")
        self.details_button, self.close_button = QPushButton("Details"), QPushButton("Close")
        self.details_button.setCheckable(True)
        self.back_button.clicked.connect(lambda: self._go(self.back))
        self.reload_button.clicked.connect(lambda: self._go(self.reload))
        self.halve_button.clicked.connect(lambda: self._go(self.halve))
        self.details_button.toggled.connect(self._unfold)
        self.close_button.clicked.connect(self.dismiss)
        column, row = QVBoxLayout(self), QHBoxLayout()
        column.setContentsMargins(14, 10, 10, 10)
        row.addStretch(1)
        for button in (
            self.details_button,
            self.halve_button,
            self.back_button,
            self.reload_button,
            self.close_button,
        ):
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # keys belong to the window
            row.addWidget(button)
        column.addWidget(self.text)
        column.addWidget(self.details)
        column.addLayout(row)
        self.set_theme(theme)
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self.setStyleSheet(
            f"Banner {{ background: {theme.panel}; border: 1px solid {theme.bad}; border-left: 6px solid {theme.bad};"
            f" border-radius: 4px; }} QLabel {{ color: {theme.text}; font-size: 13px; border: none; }}"
            f" QPlainTextEdit {{ color: {theme.text}; background: {theme.field}; font-family: monospace; }}"
        )

    def tell(
        self, sentence: str, offers: Collection[Offer] = (), details: str = "", grave: bool = False, steps: int = 10
    ) -> None:
        """Show a sentence, with a button for each way out, and one that shows ``details``; ``steps`` can be undone."""
        self.grave = grave or bool(offers) or bool(details)
        self.text.setText(sentence if len(sentence) <= MOST else f"{sentence[:MOST]} ...")
        self.details.setPlainText(details)
        self.details_button.setChecked(False)
        self.details.hide()
        self.details_button.setVisible(bool(details))
        self.back_button.setText(f"Back {counted(steps, 'step')}")
        self.back_button.setVisible("back" in offers and steps > 0)
        self.halve_button.setVisible("halve" in offers)
        self.reload_button.setVisible("reload" in offers)
        self.show()
        self.raise_()

    def pass_on(self, took_effect: bool) -> None:
        """Hide the banner of a refused text once a later change took effect."""
        if took_effect and not self.grave:
            self.hide()

    def dismiss(self) -> None:
        """Hide, and leave the keyboard to the window."""
        self.hide()
        self.closed.emit()

    def _unfold(self, shown: bool) -> None:
        lines = min(self.details.blockCount() + 1, LINES)
        self.details.setFixedHeight(self.details.fontMetrics().lineSpacing() * lines + 16)
        self.details.setVisible(shown)
        middle = self.geometry().center()
        self.fit(self.width())
        self.move(self.x(), max(middle.y() - self.height() // 2, 0))

    def fit(self, width: int) -> None:
        """Be so wide, and as high as the sentence needs at this width; ``adjustSize`` would ask at another one."""
        self.setFixedWidth(width)
        layout = self.layout()
        assert layout is not None
        layout.activate()
        self.resize(width, layout.totalHeightForWidth(width))

    def _go(self, way: SignalInstance) -> None:
        self.dismiss()
        way.emit()


# ---- progress --------------------------------------------------------------------------------------------------------

WIDTH = 320
PLACES = 12


class ProgressNotice(QFrame):
    """A sentence over a bar; mouse and keys pass through it."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.text, self.bar = QLabel("starting the session ..."), QProgressBar()
        self.text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.bar.setRange(0, PLACES)  # the number of kernels is unknown: the bar begins anew at its end
        self.bar.setTextVisible(False)
        self.bar.setFixedSize(WIDTH, 6)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 10, 16, 12)
        column.addWidget(self.text)
        column.addWidget(self.bar, alignment=Qt.AlignmentFlag.AlignHCenter)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self.setStyleSheet(
            f"ProgressNotice {{ background: {theme.panel}; border: 1px solid {theme.border}; border-radius: 4px; }}"
            f" QLabel {{ color: {theme.text}; font-size: 14px; background: transparent; }}"
            f" QProgressBar {{ border: none; background: {theme.field}; }}"
            f" QProgressBar::chunk {{ background: {theme.accent}; }}"
        )

    def tell(self, sentence: str) -> None:
        """Show the task in progress."""
        self.text.setText(sentence)
        self.adjustSize()
        self.show()

    def show_message(self, kind: str, text: str) -> None:
        """Show the sentence of a busy or progress message; any other message hides it."""
        if kind in ("busy", "progress"):
            self.bar.setValue(self.bar.value() % PLACES + 1)
            self.tell(text)
        else:
            self.hide()
