"""Export of a result to pandas DataFrame, xarray Dataset, figure of matplotlib, and HTML of notebooks."""

from collections.abc import Sequence
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rtmbs.core.notebook import folded_html
from rtmbs.core.reading import reason
from rtmbs.errors import InputError, with_count
from rtmbs.results.channel import QUATERNION, TIME, WRENCH, XYZ, Array, Channel, Record, channel_or_component


def needed(package: str, use: str, extra: str) -> Any:
    """Return a package; InputError names the use, the package and the extra when it is not installed."""
    if find_spec(package) is None:
        raise InputError(f"{use} needs {package}; install it with pip install 'rtmbs[{extra}]'")
    return import_module(package)


# ---- tables of a result ---------------------------------------------------------------------------------------------


EXTRA = "tables"
DIMENSIONS = {XYZ: "xyz", WRENCH: "wrench", QUATERNION: "quaternion"}


def to_pandas(record: Record, names: Sequence[str]) -> Any:
    """Return a DataFrame: a row a sample with the time as index, a column a component."""
    pandas = needed("pandas", "to_pandas", EXTRA)
    columns: dict[str, Any] = {}
    units: dict[str, str] = {TIME: "s"}
    for channel in channels(record, names):
        for label, unit, values in channel.components:
            columns[label], units[label] = values, unit
    frame = pandas.DataFrame(columns, index=pandas.Index(record.t, name=TIME))
    frame.attrs = {"model": record.name, "fingerprint": record.fingerprint, "units": units}
    return frame


def to_xarray(record: Record, names: Sequence[str]) -> Any:
    """Return a Dataset: a variable a channel over ``t`` and, where it has components, a dimension with their labels."""
    xarray = needed("xarray", "to_xarray", EXTRA)
    labels: dict[str, tuple[str, ...]] = {}
    variables: dict[str, Any] = {}
    for channel in channels(record, names):
        dims: tuple[str, ...] = (TIME,)
        if channel.axes:
            dimension = DIMENSIONS.get(channel.axes, f"components of {channel.name}")
            labels[dimension] = channel.axes
            dims = (TIME, dimension)
        about = {"units": channel.unit, "frame": channel.frame}
        variables[channel.name] = (dims, channel.values, {name: value for name, value in about.items() if value})
    coordinates = {TIME: ((TIME,), record.t, {"units": "s"}), **{name: list(axes) for name, axes in labels.items()}}
    head = {"model": record.name, "fingerprint": record.fingerprint}
    return xarray.Dataset(variables, coords=coordinates, attrs=head)


def channels(record: Record, names: Sequence[str]) -> list[Channel]:
    """Return the channels or components of these names, all when there is none; time is no column."""
    wanted = names or [name for name in record.names() if name != TIME]
    return [channel_or_component(record, name) for name in wanted if name != TIME]


def result_html(record: Record) -> str:
    """Return the head of a result, and its channels folded below the elements that they belong to."""
    times = f"{len(record)} samples, t = {record.t[0]:g} s to {record.t[-1]:g} s" if len(record) else "no samples"
    lines = [f"<p><b>Result {escape(repr(record.name))}</b>: {times}, {len(record.names())} channels</p>"]
    lines_of_steps = [f"{with_count(count, 'step')} {name}" for name, count in record.outcomes.items()]
    lines_of_steps += [f"warning: {what} ({with_count(count, 'time')})" for what, count in record.warnings.items()]
    if lines_of_steps:
        lines.append("<ul>" + "".join(f"<li>{escape(one)}</li>" for one in lines_of_steps) + "</ul>")
    owners: dict[str, list[tuple[str, ...]]] = {}
    for name in record.names():
        owner, _, what = name.rpartition(".")
        axes, unit = record.about(name)
        if name != TIME:
            owners.setdefault(owner, []).append((what, " ".join(axes), unit, record.frame(name)))
    for owner, rows in owners.items():
        lines.append(folded_html(owner or "system", ("channel", "components", "unit", "axes of"), rows))
    return "\n".join(lines)


# ---- channels over time as a figure of matplotlib (extra ``plot``) --------------------------------------------------


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
    """Save the figure where a file is given, and return it."""
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
