"""Frame of the manoeuvres: checked options, the run of a car, and its report of signals, metrics and plots."""

import html
import io
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np

from rtmbs.core.files import replacing
from rtmbs.errors import InputError
from rtmbs.model.checks import Array, number
from rtmbs.model.profiles import Numeric
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.results import Result
from rtmbs.simulation.simulation import Simulation
from rtmbs.vehicle.axle import CHASSIS, above_zero
from rtmbs.vehicle.rest import Rest

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car


TIMES = ("h", "begin", "rise_time", "steer_time", "settle", "change", "preview", "duration", "after")  # options [s]


def run_open_loop(car: "Car", speed: float, steer: Numeric, torque: float, rest: Rest, end: float, h: float) -> Result:
    """Return the Result of a run with a steering profile and a held torque on all driven wheels together [N m]."""
    moving = car.changed(steer=steer).at_speed(speed, rest)
    sim = Simulation(moving.compile(), h)
    for name, value in moving.drive_inputs(torque).items():
        sim.inputs[name] = value
    return sim.run(end)


UNITS = {  # of signals and of curves of the rig
    "t": "s", "x": "m", "y": "m", "speed": "m/s", "lateral_velocity": "m/s", "side_slip": "rad", "yaw": "rad",
    "pitch": "rad", "roll": "rad", "yaw_rate": "rad/s", "longitudinal_acceleration": "m/s²",
    "lateral_acceleration": "m/s²", "steering_angle": "rad", "throttle": "1", "brake": "1", "gear": "1",
    "load_fl": "N", "load_fr": "N", "load_rl": "N", "load_rr": "N", "travel": "m", "pinion_angle": "rad",
    "force": "N", "moment": "N m",
    "toe": "deg", "camber": "deg", "caster": "deg", "kingpin_inclination": "deg", "scrub_radius": "m", "trail": "m",
    "contact_x": "m", "contact_y": "m", "track": "m", "roll_centre_height": "m", "level_acceleration": "m/s²",
    "level_steering_angle": "rad", "level_side_slip": "rad", "level_roll": "rad",
    "level_speed": "m/s", "level_radius": "m", "frequency": "Hz", "gain_yaw_rate": "1/s",
    "gain_lateral_acceleration": "m/(s² rad)", "gain_roll": "1", "phase_yaw_rate": "rad",
    "phase_lateral_acceleration": "rad", "phase_roll": "rad", "coherence_yaw_rate": "1",
    "coherence_lateral_acceleration": "1", "coherence_roll": "1", "vertical_acceleration": "m/s²", "rise": "m",
    "post_fl": "m", "post_fr": "m", "post_rl": "m", "post_rr": "m", "travel_fl": "m", "travel_fr": "m",
    "travel_rl": "m", "travel_rr": "m",
}  # fmt: skip
SETTLED = 0.5  # [s] at the end of a run: the mean counts as the steady value


def signals_of(car: "Car", result: Result) -> dict[str, Array]:
    """Return the signals of a run that metrics are made of, for the centre of mass of the chassis.

    speed [m/s] along the car; lateral_velocity [m/s]; side_slip, yaw, pitch, roll [rad]; yaw_rate [rad/s];
    lateral_acceleration, longitudinal_acceleration [m/s^2] in the axes of the road that turn with the car; x, y [m].
    """
    R, w = rotations(result[f"{CHASSIS}.orientation"]), result[f"{CHASSIS}.angular_velocity"]
    arm = R @ car.data.chassis.com
    v = result[f"{CHASSIS}.velocity"] + np.cross(w, arm)
    a = result[f"{CHASSIS}.acceleration"] + np.cross(result[f"{CHASSIS}.angular_acceleration"], arm)
    a = a + np.cross(w, np.cross(w, arm))
    yaw = np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0]))
    c, s = np.cos(yaw), np.sin(yaw)
    ahead, across = c * v[:, 0] + s * v[:, 1], -s * v[:, 0] + c * v[:, 1]
    place = result[f"{CHASSIS}.position"] + arm
    return {
        "t": result["t"], "speed": ahead, "lateral_velocity": across, "side_slip": np.arctan2(across, ahead),
        "yaw": yaw, "pitch": np.arcsin(-R[:, 2, 0]), "roll": np.arctan2(R[:, 2, 1], R[:, 2, 2]), "yaw_rate": w[:, 2],
        "longitudinal_acceleration": c * a[:, 0] + s * a[:, 1],
        "lateral_acceleration": -s * a[:, 0] + c * a[:, 1], "x": place[:, 0], "y": place[:, 1],
    }  # fmt: skip


def ride_signals(car: "Car", result: Result) -> dict[str, Array]:
    """Return rise, vertical_acceleration of the chassis' centre of mass, pitch, roll, loads and travels of the wheels.

    rise [m] is that of the centre of mass from the beginning; travel_fl and so on [m] are the heights of the wheel
    centres in the chassis from the beginning, positive in bump.
    """
    R, w = rotations(result[f"{CHASSIS}.orientation"]), result[f"{CHASSIS}.angular_velocity"]
    arm, place = R @ car.data.chassis.com, result[f"{CHASSIS}.position"]
    a = result[f"{CHASSIS}.acceleration"] + np.cross(result[f"{CHASSIS}.angular_acceleration"], arm)
    a = a + np.cross(w, np.cross(w, arm))
    height = place[:, 2] + arm[:, 2]
    found = {"t": result["t"], "rise": height - height[0], "vertical_acceleration": a[:, 2]}
    found |= {"pitch": np.arcsin(-R[:, 2, 0]), "roll": np.arctan2(R[:, 2, 1], R[:, 2, 2])}
    for corner in car.tyres:
        inside = np.einsum("kij,ki->kj", R, result[f"wheel_{corner}.position"] - place)[:, 2]
        found[f"travel_{corner}"] = inside - inside[0]
    return found | wheel_loads(car, result)


def wheel_loads(car: "Car", result: Result) -> dict[str, Array]:
    """Return the vertical forces of the road by corner, ``load_fl`` and so on [N]."""
    return {f"load_{corner}": result[f"tyre_{corner}.force"][:, 2] for corner in car.tyres}


def steering_angle(car: "Car", result: Result) -> Array:
    """Return the angle of the pinion or Pitman arm (k,), left positive [rad]."""
    channel = "rack.displacement" if "rack" in car.joints else "sector_shaft.angle"
    return np.asarray(result[channel]) / car.data.steering.ratio


def steered_signals(car: "Car", result: Result) -> dict[str, Array]:
    """Return ``signals_of``, wheel loads and ``steering_angle`` of a run in open loop."""
    return signals_of(car, result) | wheel_loads(car, result) | {"steering_angle": steering_angle(car, result)}


def joined(parts: list[dict[str, Array]]) -> dict[str, Array]:
    """Return signals of runs one behind the other; what yaw counts stays continuous."""
    return {name: np.concatenate([one[name] for one in parts]) for name in parts[0]}


def steady(signals: dict[str, Array], name: str) -> float:
    """Return the mean of a signal over the last 0.5 s."""
    return float(np.mean(signals[name][signals["t"] >= signals["t"][-1] - SETTLED]))


def response_time(signals: dict[str, Array], name: str, zero: float) -> float:
    """Return when a signal first reaches 90 % of its steady value, from ``zero`` on [s]."""
    share = signals[name] / steady(signals, name)
    k = int(np.argmax((share >= 0.9) & (signals["t"] > zero - 0.2)))
    before, after = share[k - 1], share[k]
    start, end = signals["t"][k - 1], signals["t"][k]
    return float(start + (0.9 - before) / (after - before) * (end - start) - zero)


def first_peak(signals: dict[str, Array], name: str, zero: float) -> tuple[float, float]:
    """Return time from ``zero`` [s] and value of the first maximum of a signal, in the sense of its steady value."""
    sense = np.sign(steady(signals, name))
    inside = signals["t"] >= zero
    values, t = sense * signals[name][inside], signals["t"][inside]
    rises, falls_after = values[1:-1] >= values[:-2], values[1:-1] > values[2:]
    falls = np.flatnonzero(rises & falls_after & (values[1:-1] > 0.5 * values[-1]))
    k = int(falls[0]) + 1 if len(falls) else int(np.argmax(values))
    return float(t[k] - zero), float(sense * values[k])


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
        write_page(self, path)


PEDALS = {"throttle", "brake"}
FEW_POINTS = 20  # that are drawn as dots too
ROUNDING = 1e-9  # range of a curve that counts as constant
MOST_POINTS = 2000  # of a curve in a picture
COLOURS = ("#1f5fa8", "#c8551b", "#3b8132", "#7a4fa3")
PAGE = Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>$title</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font: 15px/1.45 system-ui, sans-serif; color: #222; background: #fff; margin: 2rem auto; max-width: 1080px;
       padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2rem; }
p.car { color: #666; margin-top: .2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .7rem; border-bottom: 1px solid #ddd; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.name { white-space: nowrap; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(480px, 1fr)); gap: 1rem; }
.plots .wide { grid-column: 1 / -1; } .plots svg { width: 100%; height: auto; }
</style></head><body>
<h1>$title</h1><p class="car">$car</p>
$notes
<h2>Metrics</h2>
<table><thead><tr><th>metric</th><th>value</th><th>unit</th><th>definition</th></tr></thead><tbody>
$rows
</tbody></table>
<h2>Signals</h2>
<div class="plots">
$plots
</div>
<p>ISO 8855 axes: x forward, y left, z up; yaw and steering positive to the left, roll positive right side down, pitch
positive nose down. Written by rtmbs.</p>
</body></html>
""")


def write_page(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the page of a report; a file that exists is replaced as a whole.

    Parameters
    ----------
    report : Report
        Report.
    path : str or path
        File.

    Raises
    ------
    InputError
        Without matplotlib.
    """
    text = page(report)
    with replacing(os.fspath(path)) as file:
        file.write(text.encode())


def page(report: Report) -> str:
    """Return the page of a report.

    Parameters
    ----------
    report : Report
        Report.

    Returns
    -------
    str
        HTML text.

    Raises
    ------
    InputError
        Without matplotlib.
    """
    rows = [
        f'<tr><td class="name">{html.escape(name.replace("_", " "))}</td><td class="number">{one.value:.5g}</td>'
        f"<td>{html.escape(superscript(one.unit))}</td><td>{html.escape(one.definition)}</td></tr>"
        for name, one in report.metrics.items()
    ]
    pictures = [
        f'<div class="{"wide" if plot.x == "x" else "plot"}">{picture(report, plot, str(k))}</div>'
        for k, plot in enumerate(report.pictures)
    ]
    return PAGE.substitute(
        title=html.escape(report.name),
        car=html.escape(report.car),
        notes="\n".join(f"<p>{html.escape(note)}</p>" for note in report.notes),
        rows="\n".join(rows),
        plots="\n".join(pictures),
    )


def superscript(unit: str) -> str:
    """Return a unit with raised exponents."""
    return unit.replace("^2", "²").replace("^3", "³")


def picture(report: Report, plot: Plot, mark: str) -> str:
    """Return one plot as SVG text; ``mark`` keeps its identifiers apart from those of other pictures."""
    wide = plot.x == "x"
    figure = new_figure((10.4, 2.9) if wide else (5.6, 3.1))
    axes = figure.add_subplot()
    x = report.signals[plot.x]
    every = slice(None, None, max(len(x) // MOST_POINTS, 1))
    for k, line in enumerate(plot.lines):
        axes.plot(line[:, 0], line[:, 1], color="#aaaaaa", linewidth=1.0, label="" if k else "driver's path, lanes")
    for name, colour in zip(plot.y, COLOURS, strict=False):
        label = "path of the car" if wide else name.replace("_", " ")
        dots = "o" if len(x) <= FEW_POINTS else ""
        axes.plot(
            x[every], report.signals[name][every], dots + "-", color=colour, markersize=3, linewidth=1.4, label=label
        )
    if plot.marks:
        places = np.array(plot.marks)
        axes.plot(places[:, 0], places[:, 1], "o", color="#d2691e", markersize=3.5, label="cones")
    axes.set_title(plot.title, fontsize=10, loc="left")
    axes.set_xlabel(f"{plot.x.replace('_', ' ')} [{UNITS.get(plot.x, '')}]", fontsize=9)
    axes.set_ylabel(f"[{UNITS.get(plot.y[0], '')}]", fontsize=9)
    ends = [float(one(report.signals[name])) for name in plot.y for one in (np.min, np.max)]
    if max(ends) - min(ends) < ROUNDING:
        axes.set_ylim(min(ends) - 1e-3, max(ends) + 1e-3)  # a constant, not its rounding
    if set(plot.y) <= PEDALS:
        axes.set_ylim(-0.02, 1.02)  # the range of a pedal: small changes stay small
    axes.tick_params(labelsize=8)
    axes.grid(True, color="#e5e5e5", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if len(plot.y) > 1 or plot.marks:
        axes.legend(fontsize=8, frameon=False, ncols=2)
    return svg_of(figure, mark)


def new_figure(size: tuple[float, float]) -> Any:
    """Return a Figure of matplotlib that needs no window; InputError without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("plots need matplotlib; pip install 'rtmbs[plot]' brings it") from None
    return Figure(figsize=size, layout="constrained")


def svg_of(figure: Any, mark: str) -> str:
    """Return a figure as the text of an SVG element, with the same bytes each time."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": f"rtmbs{mark}", "svg.fonttype": "path"}):
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    names = set(re.findall(r'\bid="([^"]+)"', text))

    def own(match: re.Match[str]) -> str:
        return f"{match[1]}{match[2]}-{mark}" if match[2] in names else match[0]

    return re.sub(r'(\bid="|#)([A-Za-z_][\w.-]*)', own, text)  # identifiers of pictures on one page differ


class Trial(NamedTuple):
    """What a manoeuvre gave: title, metrics, signals (k,), Result, notes and own plots of its report."""

    title: str
    metrics: dict[str, Metric]
    signals: dict[str, Array]
    result: Result
    notes: tuple[str, ...] = ()
    plots: tuple[Plot, ...] = ()


class Manoeuvre(ABC):
    """Manoeuvre of a car: a frozen dataclass of its options with the step ``h`` [s]; ``words`` begins its errors."""

    words: ClassVar[str]
    h: float

    def run(self, car: "Car") -> Report:
        """Run the manoeuvre.

        Parameters
        ----------
        car : Car
            Car to test; it is not changed.

        Returns
        -------
        Report
            Metrics, signals and channels of the run.

        Raises
        ------
        ModelError
            For options that cannot be, and for a car that cannot do what they ask for; the message names them.
        """
        for name in TIMES:
            if hasattr(self, name):
                above_zero(getattr(self, name), f"{self.words}: {name}")
        title, metrics, signals, result, notes, plots = self.perform(car)
        return Report(title, metrics, signals, result, car.name, notes, plots)

    @abstractmethod
    def perform(self, car: "Car") -> Trial:
        """Run the car and return what it gave.

        Parameters
        ----------
        car : Car
            Car to test.

        Returns
        -------
        Trial
            Title, metrics, signals and Result.
        """

    def checked(self, *names: str) -> tuple[float, ...]:
        """Return options that must be finite numbers.

        Parameters
        ----------
        *names : str
            Names of the options.

        Returns
        -------
        tuple[float, ...]
            Their values.
        """
        return tuple(number(getattr(self, name), f"{self.words}: {name}") for name in names)

    def whole(self, time: float) -> float:
        """Return the nearest whole number of steps to a time.

        Parameters
        ----------
        time : float
            Time [s].

        Returns
        -------
        float
            Multiple of ``h`` [s].
        """
        return round(time / self.h) * self.h
