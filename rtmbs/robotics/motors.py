"""Motors and sensors of robots.

Motors on joint coordinates: torque, velocity and position motors with limit, gear and rotor.

The shaft turns gear_ratio times as fast as the coordinate. The law gives the torque of the shaft, cut at the limit; the
joint has gear_ratio times as much. The rotor adds gear_ratio^2 rotor_inertia to the coordinate and nothing else: its
gyroscopic moments are left out.

Sensors of a robot: inertial measurement unit, encoder, force-torque sensor, with noise by seed.

A sensor reads the present state of a Simulation (``read``) or all samples of a Result (``channels``). The noise of a
sample depends on the seed, the sensor's name and the time alone, so both give the same numbers.
"""

import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.integrators.checks import is_number
from rtmbs.model.body import GROUND, Marker
from rtmbs.model.forces import Force
from rtmbs.model.joints import Joint, Revolute
from rtmbs.model.model import Model
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.results.channel import WRENCH, XYZ, Channel

Array = NDArray[np.float64]
MotorKind = Literal["torque", "velocity", "position"]
KINDS = ("torque", "velocity", "position")


def add_motor(
    model: Model,
    name: str,
    joint: Any,
    kind: MotorKind = "torque",
    *,
    stiffness: float = 0.0,
    damping: float = 0.0,
    torque_limit: float = np.inf,
    gear_ratio: float = 1.0,
    rotor_inertia: float = 0.0,
) -> Force:
    """Add a motor to a joint coordinate of a Model, with the input ``NAME.target``.

    Parameters
    ----------
    model : Model
        Mechanism.
    name : str
        Name of the force; ``NAME_rotor`` is its rotor.
    joint : str or Joint or tuple
        Joint with one coordinate, or (joint, coordinate).
    kind : {"torque", "velocity", "position"}, default "torque"
        Meaning of the target: torque of the shaft [N m], rate of the coordinate [rad/s or m/s], or the coordinate
        [rad or m].
    stiffness : float, default 0.0
        Shaft torque per error of the coordinate of a position motor [N m/rad or N m/m].
    damping : float, default 0.0
        Shaft torque per rate (position) or error of the rate (velocity) [N m s/rad or N m s/m].
    torque_limit : float, default inf
        Largest shaft torque to both sides [N m].
    gear_ratio : float, default 1.0
        Rate of the shaft over that of the coordinate [1 or rad/m]; negative where they turn against each other.
    rotor_inertia : float, default 0.0
        Inertia of what turns with the shaft [kg m^2].

    Returns
    -------
    Force
        The new force.

    Raises
    ------
    InputError
        For a kind of another name and for numbers out of range.
    ModelError
        For a name that is taken or a joint that has no such coordinate.

    Examples
    --------
    >>> model = rtmbs.library.build("pendulum")
    >>> motor = rtmbs.add_motor(model, "drive", "pivot", "position", stiffness=40.0, damping=4.0, torque_limit=2.0)
    >>> sim = rtmbs.Simulation(model.compile(), h=1e-3)
    >>> sim.inputs["drive.target"] = 0.5
    """
    if kind not in KINDS:
        raise InputError(f"motor {name!r}: kind is {shown(kind)}; it must be one of {', '.join(KINDS)}")
    given = {"stiffness": stiffness, "damping": damping, "rotor_inertia": rotor_inertia}
    for what, value in given.items():
        if not (is_number(value) and value >= 0.0):
            raise InputError(f"motor {name!r}: {what} is {shown(value)}; it must be a number, zero or more")
    if not (is_number(gear_ratio) and gear_ratio != 0.0):
        raise InputError(f"motor {name!r}: gear_ratio is {shown(gear_ratio)}; it must be a number other than zero")
    if not (torque_limit == np.inf or (is_number(torque_limit) and torque_limit > 0.0)):
        raise InputError(f"motor {name!r}: torque_limit is {shown(torque_limit)}; it must be a number above zero")
    numbers: dict[str, float] = {"target": 0.0, "gear_ratio": float(gear_ratio)}
    if kind != "torque":
        numbers["damping"] = float(damping)
    if kind == "position":
        numbers["stiffness"] = float(stiffness)
    if torque_limit != np.inf:
        numbers["torque_limit"] = float(torque_limit)
    force = model.add_force(name, LAWS[kind, torque_limit != np.inf], joint=joint, parameters=numbers)
    if rotor_inertia:
        add_rotor(model, f"{name}_rotor", force, float(gear_ratio), float(rotor_inertia))
    return force


def add_rotor(model: Model, name: str, force: Force, ratio: float, inertia: float) -> None:
    """Add a massless rotor to ground, coupled to the coordinate of a motor: rotor - ratio coordinate = 0."""
    assert force.joint is not None
    joint, place = force.joint
    model.add_body(name, mass=0.0, inertia=(inertia, inertia, inertia))
    model.add_joint(name, Revolute((0.0, 0.0, 1.0)), GROUND, name)
    model.add_coupler(f"{name}_gear", {name: 1.0, (joint.name, joint.type.coordinates[place]): -ratio})


def torque(t: Any, kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the joint force of a torque motor."""
    return parameters["gear_ratio"] * parameters["target"]


def limited_torque(t: Any, kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the joint force of a torque motor with a limit."""
    return parameters["gear_ratio"] * cut(parameters["target"], parameters["torque_limit"])


def velocity(t: Any, kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the joint force of a velocity motor."""
    return parameters["gear_ratio"] * of_velocity(kinematics, parameters)


def limited_velocity(t: Any, kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the joint force of a velocity motor with a limit."""
    return parameters["gear_ratio"] * cut(of_velocity(kinematics, parameters), parameters["torque_limit"])


def position(t: Any, kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the joint force of a position motor."""
    return parameters["gear_ratio"] * of_position(kinematics, parameters)


def limited_position(t: Any, kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the joint force of a position motor with a limit."""
    return parameters["gear_ratio"] * cut(of_position(kinematics, parameters), parameters["torque_limit"])


def of_velocity(kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the wanted shaft torque of a velocity motor."""
    return parameters["damping"] * (parameters["target"] - kinematics.zd)


def of_position(kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the wanted shaft torque of a position motor."""
    return parameters["stiffness"] * (parameters["target"] - kinematics.z) - parameters["damping"] * kinematics.zd


def cut(value: Any, limit: Any) -> Any:
    """Return a value between the limits to both sides."""
    return np.minimum(np.maximum(value, -limit), limit)


LAWS = {
    ("torque", False): torque, ("torque", True): limited_torque,
    ("velocity", False): velocity, ("velocity", True): limited_velocity,
    ("position", False): position, ("position", True): limited_position,
}  # fmt: skip


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
