"""Channels over time as a figure of matplotlib (extra ``plot``): one panel a unit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rtmbs.errors import InputError
from rtmbs.files.reading import reason
from rtmbs.results.channel import Array, Record, channel_or_component
from rtmbs.results.extras import needed

PICTURES = (".png", ".pdf", ".svg")
PANEL = 2.2  # height [inch]
WIDTH = 9.0
COLUMNS = 4  # of names above a panel, where they cover no line
QUANTITIES = 2  # named beside an axis
DOTS = 120  # an inch of a picture

Line = tuple[str, Array, Array, str]  # label, times, values, style


def plot(record: Record, names: Sequence[str], file: str | Path | None) -> Any:
    """Draw channels of one result; see ``Result.plot``."""
    if not names:
        example = next((name for name in record.names() if name != "t"), "t")
        raise InputError(f"plot needs names of channels, such as result.plot({example!r}); result.names() lists them")
    panels: dict[str, list[Line]] = {}
    for name in names:
        for label, unit, values in channel_or_component(record, name).components:
            panels.setdefault(unit, []).append((label, record.t, values, "-"))
    return save_figure(draw_panels(panels, record.name), file)


def draw_panels(panels: dict[str, list[Line]], title: str) -> Any:
    """Return a figure with a panel of lines for each unit, and one axis of time."""
    pyplot = load_pyplot()
    figure, axes = pyplot.subplots(
        len(panels), 1, figsize=(WIDTH, PANEL * len(panels) + 0.6), sharex=True, squeeze=False, layout="constrained"
    )
    for panel, (unit, lines) in zip(axes[:, 0], panels.items(), strict=True):
        for label, t, values, style in lines:
            panel.plot(t, values, style, label=label, linewidth=1.2)
        panel.set_ylabel(quantity([label for label, *_ in lines], unit))
        panel.grid(visible=True, color="0.9")
        panel.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=COLUMNS, fontsize=8, frameon=False)
    axes[-1, 0].set_xlabel("t [s]")
    figure.suptitle(title, fontsize=10)
    return figure


def quantity(labels: Sequence[str], unit: str) -> str:
    """Return the label of an axis: the quantities, where they are few, and the unit."""
    named = list(dict.fromkeys(label.partition("[")[0].rpartition(".")[2].replace("_", " ") for label in labels))
    words = ", ".join(named) if len(named) <= QUANTITIES else ""
    return f"{words} [{unit}]".strip() if unit else words


def save_figure(figure: Any, file: str | Path | None) -> Any:
    """Write the figure where a file is asked for, and return it."""
    if file is not None:
        if Path(file).suffix.lower() not in PICTURES:
            raise InputError(f"file is {str(file)!r}; a picture ends in one of {', '.join(PICTURES)}")
        try:
            figure.savefig(file, dpi=DOTS)
        except OSError as error:
            raise InputError(f"picture {str(file)!r} cannot be written: {reason(file, error)}") from None
        except ValueError as error:
            raise InputError(f"picture {str(file)!r} cannot be written: {error}") from None
    return figure


def load_pyplot() -> Any:
    """Return matplotlib's pyplot; InputError when it is not installed."""
    needed("matplotlib", "plot", "plot")
    from matplotlib import pyplot

    return pyplot
