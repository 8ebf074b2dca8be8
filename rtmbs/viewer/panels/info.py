"""The info overlay (F2): what runs, how fast, and what its numbers are worth."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.numbers import counted, figures, with_unit
from rtmbs.viewer.scene.theme import Theme

Row = tuple[str, ...]  # label, value, and where the value says something the name of a colour of the theme
FONT, LEAST = 12, 7  # [pixels] of letters, and of those in a low picture
MISSED = 1.0  # [%] of the deadlines, above which the steps do not keep real time
LEGEND = (("", "green: within half of the deadline, or of 1 % missed"), ("", "orange: up to it, red: beyond"))


class Info(QLabel):
    """A table over the picture; mouse and keys pass through it."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
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
        sections = [mechanism_rows(description), run_rows(frame, pictures, description)]
        if description.live:
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
        ("step time p50", with_unit(frame.p50, "s"), judged(frame.p50, frame.deadline)),
        ("step time p99", with_unit(frame.p99, "s"), judged(frame.p99, frame.deadline)),
        ("deadline", with_unit(frame.deadline, "s")),
        ("begun late p50", with_unit(frame.late_p50, "s"), judged(frame.late_p50, frame.deadline)),
        ("begun late p99", with_unit(frame.late_p99, "s"), judged(frame.late_p99, frame.deadline)),
        ("missed", missed(frame, f" ({share:.1f} %)"), judged(share, MISSED)),
        ("Newton iterations", figures(newest, 1) if frame.steps_taken else "\N{EN DASH}"),
    ]


def missed(frame: Frame, share: str = "") -> str:
    """Return how many deadlines were missed; before the first one there is nothing to count."""
    return f"{frame.missed} of {frame.deadlines}{share}" if frame.deadlines else "no deadline yet"


def judged(value: float, bound: float) -> str:
    """Return the colour of a number beside its bound: good, warning from half of it on, bad beyond it."""
    if not (value > 0.0 and bound > 0.0):
        return "text"
    return "good" if value < 0.5 * bound else "warning" if value <= bound else "bad"


def worth_rows(frame: Frame, description: SceneDescription) -> list[Row]:
    """Return energy, and what is left open in loops where there are some."""
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
