"""Mechanisms of one body: simple pendulum (IFToMM benchmark A01), heavy asymmetric top, one body on one joint."""

import math

import numpy as np

from rtmbs.errors import unknown_name
from rtmbs.model import Cylindrical, JointType, Model, Prismatic, Revolute, Spherical, Universal

Z = (0.0, 0.0, 1.0)
TOP_MASS = 1.0  # [kg]
TOP_CENTER = (0.05, -0.1, 0.4)  # of mass, body axes from the pivot [m]
TOP_INERTIA = (0.20, 0.35, 0.45)  # about the mass centre, body axes [kg m^2]
TOP_RATE = (3.0, 5.0, -4.0)  # at the start, body axes [rad/s]
GRAVITY = (0.0, 0.0, -9.80665)
FRAMES = {  # joint origin in the world [m], turn of the joint frame about X [rad]
    "origin": ((0.0, 0.0, 0.0), math.radians(-90.0)),
    "tilted": ((1.0, 2.0, 3.0), math.radians(-45.0)),
}
TYPES: dict[str, JointType] = {  # axes in the joint frame
    "revolute": Revolute(axis=(0.0, 0.0, 1.0)),
    "prismatic": Prismatic(axis=(0.0, 0.0, 1.0)),
    "cylindrical": Cylindrical(axis=(0.0, 0.0, 1.0)),
    "universal": Universal(axis_a=(1.0, 0.0, 0.0), axis_b=(0.0, 1.0, 0.0)),
    "spherical": Spherical(),
}


def pendulum(angle: float = -math.pi / 2) -> Model:
    """Return IFToMM benchmark A01, the simple pendulum.

    A point mass of 1 kg on a massless bar of 1 m that turns about Z at the origin, gravity 9.81 m/s^2 along -Y.
    ``angle`` from the hanging pose [rad]; -pi/2 releases it at rest from (-1, 0). Marker ``P`` is the point mass.

    Parameters
    ----------
    angle : float, default -math.pi / 2
        Angle from the hanging pose [rad]; -pi/2 releases the pendulum at rest from (-1, 0).

    Returns
    -------
    Model
        Model of the pendulum.
    """
    model = Model("pendulum", gravity=(0.0, -9.81, 0.0))
    bob = model.add_body("bob", mass=1.0, center_of_mass=(0.0, -1.0, 0.0), inertia=(0.0, 0.0, 0.0))
    model.add_joint("pivot", Revolute(axis=Z), model.ground, bob, point=(0.0, 0.0, 0.0))
    model.set_initial("pivot", position=angle, rate=0.0)
    model.add_marker("P", bob, point=(0.0, -1.0, 0.0))
    return model


def top() -> Model:
    """Return the top: three different moments of inertia, gravity 9.81 m/s^2 along -Z, pivot at the origin.

    The body axes are those of the world at the start; the rates about all three are large enough to carry the body
    through every orientation. All numbers are ours. Names: ``top``, joint ``pivot``, marker ``center``.

    Returns
    -------
    Model
        Model of the top.
    """
    model = Model("heavy asymmetric top", gravity=(0.0, 0.0, -9.81))
    body = model.add_body("top", mass=TOP_MASS, center_of_mass=TOP_CENTER, inertia=TOP_INERTIA)
    model.add_joint("pivot", Spherical(), model.ground, body, point=(0.0, 0.0, 0.0))
    model.set_initial("pivot", position=(1.0, 0.0, 0.0, 0.0), rate=TOP_RATE)
    model.add_marker("center", body, point=TOP_CENTER)
    return model


def single_joint(joint: str = "revolute", frame: str = "origin") -> Model:
    """Return a body of 1 kg whose mass centre is 2 m from its joint to ground, at rest, gravity 9.80665 along -Z.

    The mass centre starts along +x of the joint frame, for the universal joint along -z. Inertia (0.04, 0.1, 0.1), for
    the universal joint (0.1, 0.1, 0.04) [kg m^2], axes of the joint frame. Names: ``body``, joint ``joint``, marker
    ``center``.

    Parameters
    ----------
    joint : str, default "revolute"
        Revolute, prismatic or cylindrical (about or along z of the joint frame), universal (x, then y) or spherical.
    frame : str, default "origin"
        ``origin`` (at the origin, turned by -90 degrees about X) or ``tilted`` (at (1, 2, 3), by -45 degrees).

    Returns
    -------
    Model
        Model of the body on its joint.

    Raises
    ------
    UnknownNameError
        For an unknown name; the nearest ones are listed.
    """
    if joint not in TYPES:
        raise unknown_name("joint type", joint, TYPES)
    if frame not in FRAMES:
        raise unknown_name("frame", frame, FRAMES)
    origin, turn = FRAMES[frame]
    orientation = np.array(
        [[1.0, 0.0, 0.0], [0.0, math.cos(turn), -math.sin(turn)], [0.0, math.sin(turn), math.cos(turn)]]
    )
    hangs = joint == "universal"
    center = (0.0, 0.0, -2.0) if hangs else (2.0, 0.0, 0.0)
    inertia = (0.1, 0.1, 0.04) if hangs else (0.04, 0.1, 0.1)

    model = Model(f"{joint} joint, {frame}", gravity=GRAVITY)
    body = model.add_body(
        "body", mass=1.0, center_of_mass=center, inertia=inertia, position=origin, orientation=orientation
    )
    model.add_joint("joint", TYPES[joint], model.ground, body, point=(0.0, 0.0, 0.0), frame=body)
    model.add_marker("center", body, point=center, frame=body)
    return model
