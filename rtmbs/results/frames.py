"""A result as a pandas DataFrame or an xarray Dataset (extra ``tables``), with units."""

from collections.abc import Sequence
from typing import Any

from rtmbs.results.channel import QUATERNION, WRENCH, XYZ, Channel
from rtmbs.results.component import chosen
from rtmbs.results.extras import needed
from rtmbs.results.result import TIME, Result

EXTRA = "tables"
DIMENSIONS = {XYZ: "xyz", WRENCH: "wrench", QUATERNION: "quaternion"}


def to_pandas(result: Result, names: Sequence[str]) -> Any:
    """Return a DataFrame: a row a sample with the time as index, a column a component."""
    pandas = needed("pandas", "to_pandas", EXTRA)
    columns: dict[str, Any] = {}
    units: dict[str, str] = {TIME: "s"}
    for channel in channels(result, names):
        for label, unit, values in channel.components:
            columns[label], units[label] = values, unit
    frame = pandas.DataFrame(columns, index=pandas.Index(result.t, name=TIME))
    frame.attrs = {"model": result.name, "fingerprint": result.fingerprint, "units": units}
    return frame


def to_xarray(result: Result, names: Sequence[str]) -> Any:
    """Return a Dataset: a variable a channel over ``t`` and, where it has components, a dimension with their labels."""
    xarray = needed("xarray", "to_xarray", EXTRA)
    labels: dict[str, tuple[str, ...]] = {}
    variables: dict[str, Any] = {}
    for channel in channels(result, names):
        dims: tuple[str, ...] = (TIME,)
        if channel.axes:
            dimension = DIMENSIONS.get(channel.axes, f"components of {channel.name}")
            labels[dimension] = channel.axes
            dims = (TIME, dimension)
        about = {"units": channel.unit, "frame": channel.frame}
        variables[channel.name] = (dims, channel.values, {name: value for name, value in about.items() if value})
    coordinates = {TIME: ((TIME,), result.t, {"units": "s"}), **{name: list(axes) for name, axes in labels.items()}}
    head = {"model": result.name, "fingerprint": result.fingerprint}
    return xarray.Dataset(variables, coords=coordinates, attrs=head)


def channels(result: Result, names: Sequence[str]) -> list[Channel]:
    """Return the channels or components of these names, all when there is none; time is no column."""
    wanted = names or [name for name in result.names() if name != TIME]
    return [chosen(result, name) for name in wanted if name != TIME]
