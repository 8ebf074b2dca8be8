"""Panels of curves as a figure of matplotlib (extra ``plot``), of a stated size and style."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.files import reason
from rtmbs.errors import InputError
from rtmbs.results.channel import TIME, Record
from rtmbs.results.curves import (
    COLORS,
    DASHES,
    FREQUENCY,
    OFFSET,
    Abscissa,
    Curve,
    Panel,
    Span,
    abscissa,
    bracketed,
    checked_window,
    curves_of,
    has_one_scale,
    one_of,
    panels_of,
    shown_lines,
    span_of,
    spread,
    thinned,
)
from rtmbs.results.tables import needed

PICTURES = (".png", ".pdf", ".svg")
SIZES = {"column": (89.0, 67.0), "page": (183.0, 120.0), "slide": (254.0, 143.0)}  # [mm]
MM = 25.4  # in an inch
WIDTH, PANEL, HEAD, SQUARE = 229.0, 56.0, 15.0, 130.0  # [mm] of a figure without a size: width, panel, title, way
LEAST, MOST = 20.0, 2000.0  # [mm] of a figure
DOTS, SCREEN_DOTS = 300, 120  # an inch of a picture of a stated size, and of one without
LETTERS, SCREEN_LETTERS = 8.0, 10.0  # [pt]
LETTER = 0.55  # of their size: mean width of letters
HANDLE = 3.2  # [letters] of the line before a name in a legend
MOST_COLUMNS = 4  # of names above a panel, where they cover no line
GREY = ("0.0", "0.5")  # of the style for print without colours, where dashes tell curves apart
STYLES = {  # ground, ink, grid
    "white": ("white", "black", "0.9"),
    "dark": ("#23282f", "#e4e8ec", "#46505b"),
    "grey": ("white", "black", "0.9"),
}


@dataclass(frozen=True)
class Look:
    """Size and style of a figure.

    Attributes
    ----------
    size : str, tuple of float or None
        "column" (89 x 67 mm), "page" (183 x 120 mm), "slide" (254 x 143 mm), or width and height [mm]; as high as the
        panels need unless given.
    style : str
        "white", "dark", or "grey" for print without colours.

    Raises
    ------
    InputError
        For a size that is none.
    UnknownNameError
        For a size or style that does not exist.
    """

    size: Any = None
    style: str = "white"

    def __post_init__(self) -> None:
        one_of("style", self.style, STYLES)
        if self.size is not None:
            checked_size(self.size)

    def inches(self, panels: int, square: bool) -> tuple[float, float]:
        """Return width and height for a number of panels."""
        height = SQUARE if square else PANEL
        width, height = (WIDTH, height * panels + HEAD) if self.size is None else checked_size(self.size)
        return width / MM, height / MM

    @property
    def ground(self) -> str:
        """Colour behind everything."""
        return STYLES[self.style][0]

    def settings(self) -> AbstractContextManager[Any]:
        """Return a context in which matplotlib draws so; text stays text in .svg and .pdf."""
        _, ink, grid = STYLES[self.style]
        letters = SCREEN_LETTERS if self.size is None else LETTERS
        found: AbstractContextManager[Any] = needed("matplotlib", "plot", "plot").rc_context(
            {
                **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), self.ground),
                **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), ink),
                **dict.fromkeys(("xtick.color", "ytick.color"), ink),
                **dict.fromkeys(("font.size", "axes.labelsize", "axes.titlesize", "figure.titlesize"), letters),
                **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), letters - 1.0),
                "grid.color": grid,
                "axes.grid": True,
                "axes.axisbelow": True,
                "axes.linewidth": 0.6,
                "grid.linewidth": 0.5,
                "lines.linewidth": 1.2 if self.size is None else 1.0,
                "axes.formatter.offset_threshold": round(float(np.log10(OFFSET))),
                "axes.formatter.limits": (-4, 6),
                "svg.fonttype": "none",
                "pdf.fonttype": 42,
            }
        )
        return found


def checked_size(size: Any) -> tuple[float, float]:
    """Return width and height [mm] of a named size or of two numbers."""
    if isinstance(size, str):
        return SIZES[one_of("size", size, SIZES)]
    try:
        width, height = (float(one) for one in size)
    except (TypeError, ValueError):
        width = height = 0.0
    if not (LEAST <= width <= MOST and LEAST <= height <= MOST):
        raise InputError(
            f"size is {size!r}; it must be one of {', '.join(SIZES)}, or width and height from {LEAST:g} to {MOST:g} mm"
        )
    return width, height


PLAIN = Look()


# ---- one result ------------------------------------------------------------------------------------------------------


def plot(
    record: Record,
    names: Sequence[str],
    file: str | Path | None = None,
    *,
    x: str | None = None,
    ax: Any = None,
    degrees: bool = False,
    window: object = None,
    look: Look = Look(),
    label: str = "",
) -> Any:
    """Draw channels of one result; see ``Result.plot``."""
    if not names:
        example = next((name for name in record.names() if name != TIME), TIME)
        raise InputError(f"plot needs names of channels, such as result.plot({example!r}); result.names() lists them")
    chosen, over = checked_window(window), abscissa(record, x, degrees)
    curves = curves_of(record, names, x=x, degrees=degrees, window=chosen, run_name=label)
    span = None
    if over.name == TIME and chosen is not None and len(record):
        span = span_of(chosen, float(record.t[0]), float(record.t[-1]), float(record.t[-1]))
    panels = panels_of(curves)
    if ax is not None:
        return draw_on(ax, panels, over, span, look)
    return save_figure(draw(panels, over, record.name, span, look), file, look)


# ---- panels ----------------------------------------------------------------------------------------------------------


def draw(
    panels: Sequence[Panel], over: Abscissa, title: str = "", span: Span | None = None, look: Look = Look()
) -> Any:
    """Return a figure with one axes a panel, all over one number."""
    square = any(has_one_scale(panel, over) for panel in panels)
    figure = new_figure(look.inches(len(panels), square))
    with look.settings():
        figure.set_facecolor(look.ground)
        rows = figure.subplots(len(panels), 1, sharex=not square and over.name != FREQUENCY, squeeze=False)[:, 0]
        width = figure.get_size_inches()[0] * 72.0
        for axes, panel in zip(rows, panels, strict=True):
            draw_panel(axes, panel, over, span, look, width)
            if is_constant(panel):
                axes.set_ylim(panel.y_range)
        for axes in rows if square else rows[-1:]:
            axes.set_xlabel(over.label)
        if title and look.size is None:  # a figure of a paper has its caption below
            figure.suptitle(title)
    return figure


def draw_on(ax: Any, panels: Sequence[Panel], over: Abscissa, span: Span | None, look: Look) -> Any:
    """Draw panels on the axes of the user, one each, and return these."""
    given = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(given) != len(panels):
        units = ", ".join(panel.unit or "1" for panel in panels)
        raise InputError(f"ax is {len(given)} axes; it must be {len(panels)}, one a unit: {units}")
    for axes, panel in zip(given, panels, strict=True):
        draw_panel(axes, panel, over, span, look, axes.figure.get_size_inches()[0] * 72.0)
        axes.set_xlabel(over.label)
    return ax


def draw_panel(axes: Any, panel: Panel, over: Abscissa, span: Span | None, look: Look, width: float) -> None:
    """Draw the curves of one panel; ``width`` [pt] is that of the figure, which the legend stays in."""
    there = len(axes.lines)  # of a call before, on axes of the user
    for curve, place in zip(panel.curves, panel.colors, strict=True):
        shown = shown_samples(panel, curve, over)
        color, dash = pen(place + there, curve.run, look.style)
        axes.plot(curve.over[shown], curve.y[shown], color=color, dashes=dash, label=curve.said)
    if over.name == FREQUENCY:
        low, high = panel.frequencies()
        axes.set_xlim(low, max(high, axes.get_xlim()[1]) if there else high)
    elif span is not None:
        axes.set_xlim(span)
    elif over.name == TIME:
        axes.margins(x=0.0)
    alone = over.name not in (TIME, FREQUENCY) and len(axes.lines) == 1
    if panel.log:
        axes.set_yscale("log")
    axes.set_ylabel(f"{panel.curves[0].label}{bracketed(panel.unit)}" if alone else panel.y_label)
    if has_one_scale(panel, over):
        axes.set_aspect("equal", adjustable="datalim")
    if not alone:
        legend(axes, width, runs=len({curve.run for curve in panel.curves}))


def shown_samples(panel: Panel, curve: Curve, over: Abscissa) -> NDArray[np.int64]:
    """Return the samples of a curve that a picture needs."""
    if over.name == FREQUENCY:
        return shown_lines(curve.over, curve.y[:, None], panel.frequencies())
    return thinned(np.column_stack((curve.y, curve.over) if curve.x is not None else (curve.y,)))


def is_constant(panel: Panel) -> bool:
    """True for values that differ by rounding: an axis of matplotlib would show it large."""
    if panel.log or not any(np.any(np.isfinite(curve.y)) for curve in panel.curves):
        return False
    low, high = panel.y_range
    return high - low > 10.0 * spread([curve.y for curve in panel.curves])


def legend(axes: Any, width: float, runs: int) -> None:
    """Put the names of the curves above the axes, in as many columns as there is room for; runs stand below another."""
    lines = [line for line in axes.lines if not line.get_label().startswith("_")]
    size = axes.xaxis.label.get_size() - 1.0
    longest = max(len(line.get_label()) for line in lines) + HANDLE + 2.0
    columns = max(min(int(0.85 * width / (LETTER * size * longest)), MOST_COLUMNS, len(lines) // runs), 1)
    axes.legend(
        lines, [line.get_label() for line in lines], loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=columns,
        fontsize=size, frameon=False, borderaxespad=0.2, handlelength=HANDLE, columnspacing=1.0, labelspacing=0.2,
    )  # fmt: skip


def pen(place: int, run: int, style: str) -> tuple[str, tuple[float, ...]]:
    """Return colour and dashes of a curve."""
    if style == "grey":
        return GREY[(run + place // len(DASHES)) % len(GREY)], DASHES[place % len(DASHES)]
    colors = COLORS[style]
    return colors[place % len(colors)], DASHES[(run + place // len(colors)) % len(DASHES)]


# ---- figures and files -----------------------------------------------------------------------------------------------

UNSHOWN = ("agg", "pdf", "svg", "ps", "cairo", "template")  # backends without a window


def new_figure(inches: tuple[float, float]) -> Any:
    """Return a figure that a notebook shows once, as the value of its cell, and ``pyplot.show()`` in a window.

    Not to be called where settings are changed for a while: the first figure of a notebook makes pyplot interactive.
    """
    matplotlib, pyplot = needed("matplotlib", "plot", "plot"), load_pyplot()
    figure = pyplot.figure(figsize=inches, layout="constrained")
    backend = matplotlib.get_backend().lower()
    if backend in UNSHOWN or "inline" in backend:
        pyplot.close(figure)  # the figure stays; pyplot would keep it for ever, or show it once more
    return figure


def save_figure(figure: Any, file: str | Path | None, look: Look = Look()) -> Any:
    """Save the figure where a file is given, and return it."""
    if file is not None:
        check_picture(file)
        try:
            with look.settings():
                figure.savefig(file, dpi=SCREEN_DOTS if look.size is None else DOTS)
        except OSError as error:
            raise InputError(f"picture {str(file)!r} cannot be written: {reason(file, error)}") from None
        except ValueError as error:
            raise InputError(f"picture {str(file)!r} cannot be written: {error}") from None
    return figure


def check_picture(file: str | Path) -> None:
    """Raise InputError for a name that is not one of a picture."""
    if Path(file).suffix.lower() not in PICTURES:
        raise InputError(f"file is {str(file)!r}; a picture ends in one of {', '.join(PICTURES)}")


def load_pyplot() -> Any:
    """Return matplotlib's pyplot; InputError when it is not installed."""
    needed("matplotlib", "plot", "plot")
    from matplotlib import pyplot

    return pyplot
