"""Markers of motion capture: poses of a robot that fit measured points by least squares, and files of C3D."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, LanguageError, shown, unknown_name
from rtmbs.robotics.inverse_kinematics import InverseKinematics, Search, Target, answer, bounds_of, descend
from rtmbs.robotics.kinematics import RobotKinematics

Array = NDArray[np.float64]

UNITS = {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "in": 0.0254}
NEEDS = "files of C3D need the package ezc3d; pip install 'rtmbs[capture]' brings it"
STILL = 1e-9  # of a step: the fit has settled [rad, m]


@dataclass(frozen=True)
class MarkerTrajectories:
    """Measured points of markers.

    Parameters
    ----------
    t : ndarray
        Times (k,) [s].
    points : dict[str, ndarray]
        By marker: points (k, 3) in world axes [m]; NaN where the marker was not seen.
    """

    t: Array
    points: dict[str, Array]


@dataclass(frozen=True)
class MarkerFit:
    """Poses that fit measured points; ``Robot.fit_markers`` returns it.

    Parameters
    ----------
    t : ndarray
        Times (k,) [s].
    q : ndarray
        Poses (k, nq).
    residuals : dict[str, ndarray]
        By marker: distance from the measured point (k,) [m]; NaN where the marker was not seen.
    settled : ndarray
        Whether the fit settled, loops closed (k,).
    """

    t: Array
    q: Array
    residuals: dict[str, Array]
    settled: NDArray[np.bool_]

    @property
    def rms(self) -> float:
        """Root mean square of all distances [m]."""
        every = np.concatenate(list(self.residuals.values()))
        return float(np.sqrt(np.nanmean(every**2)))


def fit_markers(
    robot: RobotKinematics,
    trajectories: MarkerTrajectories,
    q: Array,
    weights: Mapping[str, float],
    limits: Mapping[str, tuple[float, float]] | None,
    iterations: int,
) -> MarkerFit:
    """Return the poses of least weighted squares, each from the one before."""
    for name in weights.keys() - trajectories.points.keys():
        raise InputError(f"weights: {unknown_name('marker', name, trajectories.points)}")
    bounds, poses, settled = bounds_of(robot, limits), [], []
    points = {name: marker_points(name, one, len(trajectories.t)) for name, one in trajectories.points.items()}
    residuals = {name: np.full(len(trajectories.t), np.nan) for name in points}
    for k in range(len(trajectories.t)):
        seen = {name: one[k] for name, one in points.items() if np.all(np.isfinite(one[k]))}
        if seen:
            search = Search(robot, [Target(name, x, weights.get(name, 1.0)) for name, x in seen.items()], bounds)
            q, count, still = descend(search, q, 0.0, iterations)
            found: InverseKinematics = answer(search, q, np.inf, count, still)
            settled.append(found.reached and still)
            for one in search.targets:
                residuals[one.name][k] = np.linalg.norm(one.error(robot)[0])
        else:
            settled.append(False)
        poses.append(q)
    return MarkerFit(trajectories.t, np.array(poses), residuals, np.array(settled))


def marker_points(name: str, values: Any, count: int) -> Array:
    """Return points (k, 3); InputError for another shape."""
    found = np.asarray(values, np.float64)
    if found.shape != (count, 3):
        raise InputError(f"marker {name!r} has points of shape {found.shape}; it must be ({count}, 3)")
    return found


def read_c3d(path: str | Path) -> MarkerTrajectories:
    """Return the marker points of a C3D file, in metres; needs the package ezc3d.

    Parameters
    ----------
    path : str or Path
        File.

    Returns
    -------
    MarkerTrajectories
        Times and points by label. NaN stands where a marker was not seen. Axes are those of the file.

    Raises
    ------
    InputError
        Without ezc3d.
    LanguageError
        For a file that cannot be read or has an unknown unit of length.
    """
    try:
        import ezc3d
    except ImportError:
        raise InputError(NEEDS) from None
    if not Path(path).is_file():
        raise LanguageError("the file is not there; it must be a C3D file", file=str(path))
    try:
        read = ezc3d.c3d(str(path))
        about = read["parameters"]["POINT"]
        labels, unit = list(about["LABELS"]["value"]), str(about["UNITS"]["value"][0]).strip().lower()
        points, rate = np.array(read["data"]["points"], float), float(about["RATE"]["value"][0])
    except Exception as error:  # noqa: BLE001 - whatever the reader makes of a damaged file
        raise LanguageError(f"the file cannot be read as C3D: {type(error).__name__}", file=str(path)) from None
    if unit not in UNITS:
        raise LanguageError(
            f"the unit of length is {shown(unit)}; it must be one of {', '.join(UNITS)}", file=str(path)
        )
    first = int(read["header"]["points"]["first_frame"])
    t = (first + np.arange(points.shape[2])) / rate
    return MarkerTrajectories(t, {label: UNITS[unit] * points[:3, k].T for k, label in enumerate(labels)})
