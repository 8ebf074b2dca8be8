"""What joints, rods and drivers of a Model hold, looked at in the poses of a result: definitions in plain NumPy."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.model import Driver, Joint, Marker, Model
from rtmbs.numerics.rotations.quaternions import rotations

Array = NDArray[np.float64]
Poses = dict[str, tuple[Array, Array]]  # origins (S, 3) and axes (S, 3, 3) of every body

MEETS = ("Revolute", "Spherical", "Universal", "Fixed")  # the points coincide
ALONG = ("Prismatic", "Cylindrical", "Screw", "Line")  # the point of b stands on the axis of a
PARALLEL = ("Revolute", "Prismatic", "Cylindrical", "Screw", "Planar")
TURNED_ALIKE = ("Prismatic", "Fixed")


def poses_of(model: Model, motion: Any) -> Poses:
    """Return the poses of all bodies over the samples, ground where the model places it."""
    found: Poses = {}
    for name, body in model.bodies.items():
        if name == model.ground.name:
            count = len(motion["t"])
            found[name] = np.tile(body.position, (count, 1)), np.tile(body.orientation, (count, 1, 1))
        else:
            found[name] = motion[f"{name}.position"], rotations(motion[f"{name}.orientation"])
    return found


def open_by(model: Model, motion: Any) -> Iterator[tuple[str, float]]:
    """Yield every joint, rod and driver with the largest length [m] or cosine by which it is open."""
    poses = poses_of(model, motion)
    for joint in model.joints.values():
        gaps = [np.abs(gap).max(initial=0.0) for gap in joint_gaps(joint, poses)]
        yield joint.name, float(max(gaps, default=0.0))
    for rod in model.rods.values():
        a, b = (place(poses, marker) for marker in rod.between)
        yield rod.name, float(np.abs(np.linalg.norm(a - b, axis=1) - rod.length).max())
    for driver in model.drivers.values():
        values = np.array([driver.profile(t)[0] for t in motion["t"].tolist()])
        yield driver.name, float(np.abs(driver_gap(driver, poses, values)).max(initial=0.0))


def joint_gaps(joint: Joint, poses: Poses) -> Iterator[Array]:
    """Yield what is zero at every sample where a joint is closed."""
    kind = type(joint.type).__name__
    (xa, A), (xb, B) = poses[joint.a.name], poses[joint.b.name]
    JA, JB = A @ joint.axes_a, B @ joint.axes_b
    apart = np.einsum("ski,sk->si", JA, xb + B @ joint.point_b - xa - A @ joint.point_a)  # in joint axes
    size = 1.0 + max(np.abs(part).max() for part in (xa, xb, joint.point_a, joint.point_b))
    if kind in MEETS:
        yield apart / size
    axis = next((dof.axis for dof in joint.type.dofs() if dof.kind != "rotation"), np.array((0.0, 0.0, 1.0)))
    if kind == "Planar":
        axis = joint.type.dofs()[2].axis
        yield apart @ axis / size
    if kind in ALONG:
        yield (apart - np.outer(apart @ axis, axis)) / size
    if kind in PARALLEL:
        yield np.linalg.norm(np.cross(JA @ axis, JB @ axis), axis=1)
        yield np.minimum(np.einsum("si,si->s", JA @ axis, JB @ axis), 0.0)
    if kind in TURNED_ALIKE:
        yield JA - JB
    if kind == "Universal":
        first, second = (dof.axis for dof in joint.type.dofs())
        yield np.einsum("si,si->s", JA @ first, JB @ second)


def place(poses: Poses, marker: Marker) -> Array:
    x, R = poses[marker.body.name]
    return np.asarray(x + R @ marker.point)


def driver_gap(driver: Driver, poses: Poses, values: Array) -> Array:
    """Return by how much a driver is missed: distances, x, y, z of bodies, coordinates of slides and hinges."""
    if driver.between is not None:
        a, b = (place(poses, marker) for marker in driver.between)
        return np.asarray((np.linalg.norm(a - b, axis=1) - np.abs(values)) / (1.0 + np.abs(values)))
    if driver.body is not None and driver.body[1] in ("x", "y", "z"):
        found = poses[driver.body[0].name][0][:, "xyz".index(driver.body[1])]
        return np.asarray((found - values) / (1.0 + np.abs(values)))
    if driver.joint is not None and type(driver.joint[0].type).__name__ in ("Revolute", "Prismatic"):
        joint = driver.joint[0]
        (xa, A), (xb, B) = poses[joint.a.name], poses[joint.b.name]
        axis, JA, JB = joint.type.dofs()[0].axis, A @ joint.axes_a, B @ joint.axes_b
        if type(joint.type).__name__ == "Prismatic":
            apart = xb + B @ joint.point_b - xa - A @ joint.point_a
            return np.asarray((np.einsum("si,si->s", JA @ axis, apart) - values) / (1.0 + np.abs(values)))
        across = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
        across /= np.linalg.norm(across)
        seen = np.einsum("ski,sk->si", JA, JB @ across)
        angle = np.arctan2(seen @ np.cross(axis, across), seen @ across)
        return np.asarray(np.remainder(angle - values + np.pi, 2.0 * np.pi) - np.pi)
    return np.zeros(1)
