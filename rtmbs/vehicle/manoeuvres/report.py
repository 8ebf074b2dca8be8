"""Report of a manoeuvre: metrics with units and definitions, signals, plots, and one HTML file of all of it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, cast

from rtmbs.model.checks import Array
from rtmbs.results import Result


@dataclass(frozen=True)
class Metric:
    """Number with its unit and its definition.

    Parameters
    ----------
    value : float
        Number.
    unit : str
        Unit, such as "rad/s".
    definition : str
        Definition in words.
    """

    value: float
    unit: str
    definition: str


class Plot(NamedTuple):
    """Picture of a report: signals over another one.

    Parameters
    ----------
    title : str
        Title.
    y : tuple[str, ...]
        Names of the signals, of one unit.
    x : str, default "t"
        Name of the signal on the horizontal axis.
    marks : tuple[tuple[float, float], ...], default ()
        Points that are drawn as circles, such as cones.
    lines : tuple[ndarray, ...], default ()
        Polylines (k, 2) that are drawn in grey, such as a path or a lane.
    """

    title: str
    y: tuple[str, ...]
    x: str = "t"
    marks: tuple[tuple[float, float], ...] = ()
    lines: tuple[Array, ...] = ()


USUAL = (
    Plot("Steering", ("steering_angle",)),
    Plot("Speed", ("speed",)),
    Plot("Yaw rate", ("yaw_rate",)),
    Plot("Accelerations", ("lateral_acceleration", "longitudinal_acceleration")),
    Plot("Roll, pitch and side slip", ("roll", "pitch", "side_slip")),
    Plot("Wheel loads", ("load_fl", "load_fr", "load_rl", "load_rr")),
    Plot("Pedals", ("throttle", "brake")),
)


@dataclass(frozen=True)
class Report:
    """Metrics, signals and result of a manoeuvre.

    Parameters
    ----------
    name : str
        Name of the manoeuvre.
    metrics : dict[str, Metric]
        Metrics by name.
    signals : dict[str, ndarray]
        Signals of the car over time by name (k,): t [s] and those of ``signals_of``.
    result : Result or None
        All channels of the run; None for a report of the rig.
    car : str, default ""
        Name of the car.
    notes : tuple[str, ...], default ()
        Sentences on how the standard was read.
    plots : tuple[Plot, ...], default ()
        Pictures of this manoeuvre; those over time of all signals follow.
    """

    name: str
    metrics: dict[str, Metric]
    signals: dict[str, Array]
    result: Result | None
    car: str = ""
    notes: tuple[str, ...] = ()
    plots: tuple[Plot, ...] = ()

    def __getitem__(self, name: str) -> float:
        """Return the value of a metric."""
        return self.metrics[name].value

    def __str__(self) -> str:
        """Return a table of the metrics."""
        rows = [f"{name:28}{one.value:12.5g} {one.unit:10} {one.definition}" for name, one in self.metrics.items()]
        return "\n".join([self.name, *rows, *self.notes])

    @property
    def channels(self) -> Mapping[str, Array]:
        """All channels of the run by name, or the signals where there is no run."""
        return self.signals if self.result is None else cast(Mapping[str, Array], self.result)

    @property
    def pictures(self) -> tuple[Plot, ...]:
        """Plots of the report: its own and those over time whose signals it has."""
        usual = [one._replace(y=tuple(name for name in one.y if name in self.signals)) for one in USUAL]
        return (*self.plots, *(one for one in usual if one.y))

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report as one HTML file with its plots; needs matplotlib.

        Parameters
        ----------
        path : str or path
            File to write.

        Raises
        ------
        InputError
            Without matplotlib.
        """
        from rtmbs.vehicle.manoeuvres.html import write_page

        write_page(self, path)
