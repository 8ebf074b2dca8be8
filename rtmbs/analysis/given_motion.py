"""A motion of joints that somebody wants or has measured: values, rates and accelerations at times."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, ModelError, shown
from rtmbs.model.profiles import checked_profile
from rtmbs.results.result import TIME, Result
from rtmbs.simulation.cut_joints import no_coordinate
from rtmbs.system.system import System

Array = NDArray[np.float64]


def settable_names(system: System) -> dict[str, int]:
    """Return the dof of every coordinate of a joint in the tree: JOINT.COORDINATE, and JOINT where it has one."""
    found = {}
    for joint, info in system.joints.items():
        if not info.in_tree:
            continue
        for coordinate, dof in zip(info.coordinates, info.dofs, strict=False):
            found[f"{joint}.{coordinate}"] = dof
        if len(info.coordinates) == 1:
            found[joint] = info.dofs[0]
    return found


def other_names(system: System, names: Sequence[str]) -> dict[str, str]:
    """Return the other name of each coordinate that has two, with the one of ``names`` that it stands for."""
    known = settable_names(system)
    by_dof = {known[name]: name for name in names}
    return {other: by_dof[dof] for other, dof in known.items() if dof in by_dof and other != by_dof[dof]}


def given_motion(system: System, motion: Any, t: Any) -> tuple[Array, dict[int, Array], dict[int, str]]:
    """Return times (S,), the motion (S, 3) of each dof, values, rates and accelerations, and the name it came by.

    Raises UnknownNameError with the nearest names, InputError.
    """
    if isinstance(motion, Result):
        return of_result(system, motion, t)
    times = checked_times(t)
    if motion is None:  # drivers say it all
        return times, {}, {}
    if not isinstance(motion, Mapping) or not motion:
        raise InputError(f"motion is {shown(motion)}; it must map joints to motions, or be a Result")
    known, found, names = settable_names(system), {}, {}
    for name, value in motion.items():
        if not (isinstance(name, str) and name in known):
            raise no_coordinate(system, name, known)
        found[known[name]], names[known[name]] = values_of(name, value, times), name
    return times, found, names


def of_result(system: System, result: Result, t: Any) -> tuple[Array, dict[int, Array], dict[int, str]]:
    """Return the motion of all coordinates that a Result knows; ``t`` names the joints, or None for all."""
    wanted = settable_names(system)
    if t is not None:
        wanted = {name: wanted[name] for name in joints_named(system, t, wanted)}
    found: dict[int, Array] = {}
    names: dict[int, str] = {}
    for name, dof in wanted.items():
        if "." not in name or name not in result or dof in found:
            continue
        columns = [result[name], result[f"{name}_rate"], result[f"{name}_acceleration"]]
        found[dof], names[dof] = np.stack(columns, axis=1), name
        check_finite(name, found[dof], np.asarray(result[TIME]))
    if not found:
        raise InputError(f"motion has no coordinate of {system.name!r}; it must be a Result of this mechanism")
    return np.asarray(result[TIME]), found, names


def joints_named(system: System, t: Any, known: Mapping[str, int]) -> Sequence[str]:
    """Return the names of coordinates that stand in the place of times; raises UnknownNameError, InputError."""
    if isinstance(t, str) or not isinstance(t, Sequence) or not all(isinstance(name, str) for name in t):
        raise InputError(
            f"t is {shown(t)} beside a Result, which has its own times; leave t out, or name the coordinates to follow"
        )
    for name in t:
        if name not in known:
            raise no_coordinate(system, name, known)
    return t


def checked_times(t: Any) -> Array:
    """Return times (S,) that increase. Raises InputError."""
    try:
        times = np.atleast_1d(np.asarray(t, np.float64))
    except (TypeError, ValueError):
        times = np.zeros(0)
    if times.ndim != 1 or not len(times) or not np.all(np.isfinite(times)) or np.any(np.diff(times) <= 0.0):
        raise InputError(f"t is {shown(t)}; it must be an array of increasing times [s]")
    return times


def values_of(name: str, value: Any, times: Array) -> Array:
    """Return values, rates and accelerations (S, 3): of a profile, an array (S, 3), or samples (S,) by a spline."""
    if callable(value):
        try:
            profile = checked_profile(value, f"motion of {name!r}")
            found = np.array([np.asarray(profile(float(t)), np.float64) for t in times])
        except ModelError as error:
            raise InputError(str(error)) from None
        if found.shape != (len(times), 3):
            raise InputError(f"motion of {name!r} must return (value, rate, acceleration) at a time")
    else:
        try:
            found = np.asarray(value, np.float64)
        except (TypeError, ValueError):
            found = np.zeros(0)
        if found.shape == (len(times),) and len(times) > 3 and np.all(np.isfinite(found)):
            found = splined(times, found)
        if found.shape != (len(times), 3) and not (found.shape == (len(times),) and len(times) > 3):
            raise InputError(
                f"motion of {name!r} is {shown(value)}; it must be a profile, {len(times)} samples (more than three), "
                f"or an array ({len(times)}, 3) of values, rates and accelerations"
            )
    check_finite(name, found, times)
    return found


def check_finite(name: str, found: Array, times: Array) -> None:
    """Refuse a motion (S,) or (S, 3) that is not finite: InputError."""
    finite = np.isfinite(found).reshape(len(times), -1).all(axis=1)
    if not np.all(finite):
        raise InputError(
            f"motion of {name!r} is not finite at t = {times[np.argmin(finite)]:g} s; leave that time out, or fill the "
            "gap"
        )


def splined(times: Array, values: Array) -> Array:
    """Return samples (S,) with the rates and accelerations of the spline through them (S, 3), of degree five if it can.

    Accelerations of a cubic spline are of order two, and worst at the ends.
    """
    from scipy.interpolate import make_interp_spline

    spline = make_interp_spline(times, values, k=5 if len(times) > 5 else 3)
    return np.stack((values, spline(times, 1), spline(times, 2)), axis=1)
