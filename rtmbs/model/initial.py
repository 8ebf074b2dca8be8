"""Where a joint starts. Values may be inconsistent: the start assembles the loops and keeps what is pinned."""

import math
from dataclasses import dataclass

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Array, Numbers, number, numbers, shape_of, switch, unit_vector
from rtmbs.model.joint import Joint

MOST_TURNS = 4  # of a first angle
SIZES = {"quaternion": (4, 3), "pose": (7, 6)}  # numbers of a position and of a rate
MEANINGS = {
    "quaternion": (
        "a quaternion (w, x, y, z) of b relative to a",
        "the angular velocity of b relative to a in b's axes",
    ),
    "pose": ("(x, y, z, qw, qx, qy, qz)", "rates of x, y, z, angular velocity in b's axes"),
}


@dataclass(frozen=True, eq=False)
class Initial:
    """Start values of one joint, in the order of its coordinates."""

    joint: Joint
    position: Array | None
    rate: Array | None
    pin: bool
    weight: float  # of the change that assembly may make, against 1 for all others


def make_initial(joint: Joint, position: Numbers, rate: Numbers, pin: bool, weight: Numbers) -> Initial:
    """Return checked start values."""
    what = f"initial value of joint {joint.name!r}"
    if joint.type.start == "nothing":
        raise ModelError(f"{what}: a {type(joint.type).__name__} joint has no coordinate to start from")
    if position is None and rate is None:
        raise ModelError(f"{what}: give position=, rate= or both")
    if isinstance(weight, float) and weight == math.inf:  # no weight keeps a value exactly, a pin does
        pin, weight = True, 1.0
    heavy = number(weight, f"{what}: weight")
    if heavy <= 0.0:
        raise ModelError(f"{what}: weight is {heavy}; it must be above zero")
    places = None if position is None else start_values(joint, position, f"{what}: position", 0)
    rates = None if rate is None else start_values(joint, rate, f"{what}: rate", 1)
    return Initial(joint, places, rates, switch(pin, f"{what}: pin"), heavy)


def start_values(joint: Joint, value: Numbers, what: str, order: int) -> Array:
    """Return the numbers of a position (order 0) or rate (order 1), quaternions normalised."""
    names = joint.type.coordinates
    if joint.type.start == "coordinates":
        size, meaning = len(names), ", ".join(names)
    else:
        size, meaning = SIZES[joint.type.start][order], MEANINGS[joint.type.start][order]
    wanted = f"it must be {size} number{'s' * (size > 1)}: {meaning}"
    shape = shape_of(value, what, wanted)
    if shape != (size,) and not (size == 1 and shape == ()):
        raise ModelError(f"{what} is {shown(value)}; {wanted}")
    values = np.array(numbers(np.reshape(value, size), what, (size,)))
    if order == 0 and joint.type.start != "coordinates":
        if not np.any(values[-4:]):
            raise ModelError(f"{what} has a zero quaternion; no rotation is (1, 0, 0, 0)")
        values[-4:] = unit_vector(values[-4:])
    elif order == 0:
        check_turns(joint, values, what)
    return values


def check_turns(joint: Joint, values: Array, what: str) -> None:
    """Refuse an angle of many turns, which is one in degrees."""
    for dof, name, value in zip(joint.type.dofs(), joint.type.coordinates, values, strict=True):
        if dof.kind == "revolute" and abs(value) > MOST_TURNS * 2.0 * math.pi:
            raise ModelError(f"{what}: {in_degrees(name, value)}; start within {MOST_TURNS} turns of zero")


def in_degrees(name: str, value: float) -> str:
    """Return the sentence about an angle that seems to be one in degrees."""
    return (
        f"{name} is {value:g} rad, {abs(value) / (2.0 * math.pi):.3g} turns. Angles are in radians: "
        f"math.radians({value:g}) is {math.radians(value):.4g}"
    )
