"""Export of a result to pandas DataFrame, xarray Dataset, and HTML of notebooks."""

from collections.abc import Sequence
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rtmbs.core.notebook import folded_html
from rtmbs.errors import InputError, with_count
from rtmbs.results.channel import QUATERNION, TIME, WRENCH, XYZ, Channel, Record, channel_or_component


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
