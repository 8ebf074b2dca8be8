"""Sensors of a robot: inertial measurement unit, encoder, force-torque sensor, with noise by seed.

A sensor reads the present state of a Simulation (``read``) or all samples of a Result (``channels``). The noise of a
sample depends on the seed, the sensor's name and the time alone, so both give the same numbers.
"""

import zlib
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.integrators.checks import is_number
from rtmbs.model.body import Marker
from rtmbs.model.joints import Joint
from rtmbs.model.model import Model
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.results.channel import WRENCH, XYZ, Channel

Array = NDArray[np.float64]


class Sensor(ABC):
    """A sensor with channels of its own.

    Parameters
    ----------
    name : str
        Name; its channels are ``NAME.QUANTITY``.
    seed : int, default 0
        Seed of the noise.
    """

    def __init__(self, name: str, seed: int = 0) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
            raise InputError(f"sensor {name!r}: seed is {shown(seed)}; it must be a whole number from 0 to {2**32 - 1}")
        self.name, self.seed = name, seed

    @abstractmethod
    def _quantities(self) -> dict[str, tuple[tuple[str, ...], str, str, float]]:
        """Return axes, unit, frame and standard deviation of the noise of each quantity by its name."""

    @abstractmethod
    def _ideal(self, values: Any) -> dict[str, Array]:
        """Return each quantity (k, components) without noise; ``values(name)`` are channels (k, components)."""

    def _rounded(self, values: Array) -> Array:
        """Return what the sensor's digits leave of values with noise."""
        return values

    def _measured(self, values: Any, t: Array) -> dict[str, Array]:
        """Return each quantity (k, components) with noise at times ``t`` (k,) [s]."""
        found = self._ideal(values)
        sizes = {what: sigma for what, (_, _, _, sigma) in self._quantities().items()}
        if any(sizes.values()):
            widths = {what: value.shape[1] for what, value in found.items()}
            drawn = np.array([self._noise(one, sum(widths.values())) for one in t.tolist()])
            start = 0
            for what, width in widths.items():
                found[what] = found[what] + sizes[what] * drawn[:, start : start + width]
                start += width
        return {what: self._rounded(value) for what, value in found.items()}

    def _noise(self, t: float, count: int) -> Array:
        """Return normal numbers (count,) of unit deviation that belong to a time [s]."""
        bits = int(np.float64(t + 0.0).view(np.uint64))
        key = (self.seed << 32) | zlib.crc32(self.name.encode())
        return np.random.Generator(np.random.Philox(key=[key, bits])).standard_normal(count)

    def read(self, sim: Any) -> dict[str, Any]:
        """Return the quantities at the present state of a Simulation.

        Parameters
        ----------
        sim : Simulation
            Simulation of the Model.

        Returns
        -------
        dict
            Numbers, or arrays of components, by quantity.
        """
        found = self._measured(lambda name: np.atleast_1d(sim[name])[None], np.array([sim.t]))
        axes = {what: one for what, (one, *_) in self._quantities().items()}
        return {what: value[0] if axes[what] else float(value[0, 0]) for what, value in found.items()}

    def channels(self, result: Any) -> dict[str, Channel]:
        """Return the channels of a Result, one for each quantity.

        Parameters
        ----------
        result : Result
            Result of the Model.

        Returns
        -------
        dict[str, Channel]
            Channels by ``NAME.QUANTITY``, with axes, unit and frame.
        """
        found = self._measured(
            lambda name: np.array(result[name], float).reshape(len(result.t), -1), np.array(result.t)
        )
        about = self._quantities()
        return {
            f"{self.name}.{what}": Channel(
                f"{self.name}.{what}", about[what][0], about[what][1], value if about[what][0] else value[:, 0],
                about[what][2],
            )
            for what, value in found.items()
        }  # fmt: skip


class IMU(Sensor):
    """Inertial measurement unit at a marker, in axes of the marker.

    ``acceleration`` is the specific force, acceleration less gravity, R^T (a - g): at rest it points upwards with
    9.81 m/s^2. ``angular_velocity`` is R^T omega, relative to the world.

    Parameters
    ----------
    model : Model
        Mechanism; its gravity counts.
    marker : str
        Marker on a body that moves.
    name : str, default "imu"
        Name.
    accelerometer_noise : float, default 0.0
        Standard deviation of a sample [m/s^2].
    gyroscope_noise : float, default 0.0
        Standard deviation of a sample [rad/s].
    accelerometer_bias : array_like, default (0.0, 0.0, 0.0)
        Constant error (3,), marker axes [m/s^2].
    gyroscope_bias : array_like, default (0.0, 0.0, 0.0)
        Constant error (3,), marker axes [rad/s].
    seed : int, default 0
        Seed of the noise.

    Raises
    ------
    UnknownNameError
        For a marker that does not exist.
    InputError
        For numbers out of range.
    """

    def __init__(
        self, model: Model, marker: str, *, name: str = "imu", accelerometer_noise: float = 0.0,
        gyroscope_noise: float = 0.0, accelerometer_bias: Any = (0.0, 0.0, 0.0),
        gyroscope_bias: Any = (0.0, 0.0, 0.0), seed: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(name, seed)
        self.marker, self.gravity = marker_of(model, marker), np.array(model.gravity, float)
        self.noises = deviation(name, accelerometer_noise), deviation(name, gyroscope_noise)
        self.biases = np.array(accelerometer_bias, float), np.array(gyroscope_bias, float)

    def _quantities(self) -> dict[str, tuple[tuple[str, ...], str, str, float]]:
        return {
            "acceleration": (XYZ, "m/s^2", self.marker.name, self.noises[0]),
            "angular_velocity": (XYZ, "rad/s", self.marker.name, self.noises[1]),
        }

    def _ideal(self, values: Any) -> dict[str, Array]:
        R = rotations(values(f"{self.marker.body.name}.orientation")) @ self.marker.axes
        force = values(f"{self.marker.name}.acceleration") - self.gravity
        omega = values(f"{self.marker.body.name}.angular_velocity")
        return {
            "acceleration": np.einsum("kji,kj->ki", R, force) + self.biases[0],
            "angular_velocity": np.einsum("kji,kj->ki", R, omega) + self.biases[1],
        }


class Encoder(Sensor):
    """Encoder of a joint coordinate: its value as whole counts, rounded down.

    Parameters
    ----------
    model : Model
        Mechanism.
    joint : str
        Joint with one coordinate, or JOINT.COORDINATE.
    name : str, optional
        Name; that of the joint with ``_encoder`` unless given.
    resolution : float, default 0.0
        Size of a count [rad or m]; 0 for an encoder without counts.
    offset : float, default 0.0
        Value that is added before counting [rad or m].
    noise : float, default 0.0
        Standard deviation of a sample before counting [rad or m].
    seed : int, default 0
        Seed of the noise.

    Raises
    ------
    UnknownNameError
        For a joint that does not exist.
    InputError
        For a joint without such a coordinate, and for numbers out of range.
    """

    def __init__(
        self, model: Model, joint: str, *, name: str = "", resolution: float = 0.0, offset: float = 0.0,
        noise: float = 0.0, seed: int = 0,
    ) -> None:  # fmt: skip
        first, _, coordinate = joint.partition(".")
        found = joint_of(model, first)
        super().__init__(name or f"{first}_encoder", seed)
        known = found.type.coordinates
        if (coordinate and coordinate not in known) or (not coordinate and len(known) != 1):
            listed = ", ".join(f"{first}.{one}" for one in known) or "none"
            raise InputError(f"encoder on {joint!r}: it must be one coordinate; joint {first!r} has {listed}")
        self.channel = f"{first}.{coordinate or known[0]}"
        self.unit = "rad" if "angle" in self.channel.partition(".")[2] else "m"
        self.resolution, self.deviation = deviation(self.name, resolution, "resolution"), deviation(self.name, noise)
        self.offset = float(offset)

    def _quantities(self) -> dict[str, tuple[tuple[str, ...], str, str, float]]:
        return {"position": ((), self.unit, "", self.deviation)}

    def _ideal(self, values: Any) -> dict[str, Array]:
        return {"position": values(self.channel) + self.offset}

    def _rounded(self, values: Array) -> Array:
        return np.floor(values / self.resolution) * self.resolution if self.resolution else values


class ForceTorqueSensor(Sensor):
    """Force-torque sensor in a joint: the wrench of the first body on the second, in axes of a marker.

    The moment is about the marker. Without a marker it is about the joint point of the second body, in axes of that
    body.

    Parameters
    ----------
    model : Model
        Mechanism.
    joint : str
        Joint, most often a Fixed one.
    marker : str, optional
        Marker that gives point and axes.
    name : str, optional
        Name; that of the joint with ``_wrench`` unless given.
    force_noise : float, default 0.0
        Standard deviation of a sample [N].
    torque_noise : float, default 0.0
        Standard deviation of a sample [N m].
    seed : int, default 0
        Seed of the noise.

    Raises
    ------
    UnknownNameError
        For a joint or a marker that does not exist.
    InputError
        For numbers out of range.
    """

    def __init__(
        self, model: Model, joint: str, marker: str | None = None, *, name: str = "", force_noise: float = 0.0,
        torque_noise: float = 0.0, seed: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(name or f"{joint}_wrench", seed)
        self.joint = joint_of(model, joint)
        self.marker = marker_of(model, marker) if marker is not None else None
        self.noises = deviation(self.name, force_noise), deviation(self.name, torque_noise)
        self.fixed = model.ground

    def _quantities(self) -> dict[str, tuple[tuple[str, ...], str, str, float]]:
        frame = self.marker.name if self.marker is not None else self.joint.b.name
        return {
            "force": (WRENCH[:3], "N", frame, self.noises[0]),
            "torque": (WRENCH[3:], "N m", frame, self.noises[1]),
        }

    def _pose(self, body: Any, values: Any, count: int) -> tuple[Array, Array]:
        """Return position (k, 3) and rotation (k, 3, 3) of a body; those of ground are constant."""
        if body is self.fixed:
            return np.zeros((count, 3)), np.tile(np.eye(3), (count, 1, 1))
        return values(f"{body.name}.position"), rotations(values(f"{body.name}.orientation"))

    def _ideal(self, values: Any) -> dict[str, Array]:
        wrench = values(f"{self.joint.name}.reaction")
        f, n = wrench[:, :3], wrench[:, 3:]
        at, R = self._pose(self.joint.b, values, len(f))
        point = at + R @ self.joint.point_b
        if self.marker is not None:
            at, R = self._pose(self.marker.body, values, len(f))
            n = n + np.cross(point - (at + R @ self.marker.point), f)
            R = R @ self.marker.axes
        return {"force": np.einsum("kji,kj->ki", R, f), "torque": np.einsum("kji,kj->ki", R, n)}


def marker_of(model: Model, name: str) -> Marker:
    """Return a marker of a Model; UnknownNameError for another name."""
    if name not in model.markers:
        raise unknown_name("marker", name, model.markers)
    return model.markers[name]


def joint_of(model: Model, name: str) -> Joint:
    """Return a joint of a Model; UnknownNameError for another name."""
    if name not in model.joints:
        raise unknown_name("joint", name, model.joints)
    return model.joints[name]


def deviation(name: str, value: Any, what: str = "noise") -> float:
    """Return a number that is zero or more; InputError for others."""
    if not (is_number(value) and value >= 0.0):
        raise InputError(f"sensor {name!r}: {what} is {shown(value)}; it must be a number, zero or more")
    return float(value)
