"""A motion of joints that is wanted: values, rates and accelerations at times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.analysis.given_poses import (
    LEAST,
    Turn,
    parts_of,
    place_of_dofs,
    plain_dofs,
    remedy,
    rotation_dofs,
    turn_of,
    turn_of_dofs,
    turning_joints,
)
from rtmbs.errors import InputError, ModelError, shown
from rtmbs.model.profiles import ConstantRate, checked_profile
from rtmbs.simulation.set_coordinate import no_coordinate, turning_joint
from rtmbs.system.system import JointInfo, System

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GivenMotion:
    """A motion of dofs at S times."""

    times: Array  # (S,) [s]
    values: dict[int, Array]  # (S, 3) by dof: value, rate, acceleration; values of rotations are zero
    names: dict[int, str]  # by dof: as messages and forces call it
    turns: dict[int, Array]  # (S, 3, 3) by reference: the rotations of joints that turn freely

    def turn(self, system: System, info: JointInfo, turn: Turn) -> None:
        """Take in the turn of a joint."""
        R0, motion = turn_of_dofs(system, info, turn)
        self.turns[int(system.tables.dofs.reference[rotation_dofs(system, info)[0]])] = R0
        self.take(system, motion)

    def take(self, system: System, motion: Mapping[int, Array]) -> None:
        """Take in the motion of dofs by their own names."""
        self.values.update(motion)
        self.names.update({dof: system.coordinate_names[dof] for dof in motion})


def settable_names(system: System) -> dict[str, int]:
    """Return the dof of every coordinate of a joint in the tree: JOINT.COORDINATE, and JOINT where it has one.

    The slide of a joint along a line, which turns freely too, is JOINT.slide_1.
    """
    found = {}
    for joint, info in system.joints.items():
        if not info.in_tree:
            continue
        for coordinate, dof in zip(info.coordinates, info.dofs, strict=False):
            found[f"{joint}.{coordinate}"] = dof
        if len(info.coordinates) == 1:
            found[joint] = info.dofs[0]
    for info in turning_joints(system).values():
        if not info.kind.free:
            found.update({system.coordinate_names[dof]: dof for dof in plain_dofs(system, info)})
    return found


def other_names(system: System, names: Sequence[str]) -> dict[str, str]:
    """Return the other name of each coordinate that has two, with the one of ``names`` that it stands for."""
    known = settable_names(system)
    by_dof = {known[name]: name for name in names if name in known}
    return {other: by_dof[dof] for other, dof in known.items() if dof in by_dof and other != by_dof[dof]}


def given_motion(system: System, motion: Any, t: Any) -> GivenMotion:
    """Return the motion of every dof that is given. Raises UnknownNameError with the nearest names, InputError."""
    found = GivenMotion(checked_times(t), {}, {}, {})
    if motion is None:  # drivers say it all
        return found
    if not isinstance(motion, Mapping) or not motion:
        raise InputError(f"motion is {shown(motion)}; it must map joints to motions, or be a Result")
    known, parts, turns = settable_names(system), parts_of(system), {}
    for name, value in motion.items():
        if isinstance(name, str) and name in known:
            found.values[known[name]], found.names[known[name]] = values_of(name, value, found.times), name
        elif isinstance(name, str) and name in parts:
            if name.endswith(".orientation"):
                turns[parts[name].name] = turn_of(name, value, found.times)
                found.turn(system, parts[name], turns[parts[name].name])
        else:
            joint = turning_joint(system, name)
            how = remedy(system.joints[joint]) if joint else ""
            raise no_coordinate(system, name, [*known, *parts], remedy=how)
    for name in motion:
        if name in parts and name.endswith(".position"):
            place = place_of(name, motion[name], found.times)
            found.take(system, place_of_dofs(system, parts[name], place, turns.get(parts[name].name)))
    return found


def place_of(name: str, value: Any, times: Array) -> Array:
    """Return positions, velocities and accelerations (S, 3, 3): of three profiles, samples (S, 3), or themselves."""
    S = len(times)
    if isinstance(value, Sequence) and len(value) == 3 and any(callable(one) for one in value):
        still = [one if callable(one) else ConstantRate(0.0, start=one) for one in value]
        return np.stack([values_of(f"{name}[{k}]", one, times) for k, one in enumerate(still)], axis=2)
    try:
        found = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    sampled = found.shape == (S, 3) and len(times) >= LEAST
    if not sampled and found.shape != (S, 3, 3):
        raise InputError(
            f"motion of {name!r} is {shown(value)}; it must be three profiles, {S} positions (more than three), or an "
            f"array ({S}, 3, 3) of position, velocity and acceleration"
        )
    check_finite(name, found, times)
    return splined(times, found) if sampled else found


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
