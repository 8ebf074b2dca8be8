"""A generated closed chain of any number of revolute pairs: how cost grows with the length of a loop."""

import math

from rtmbs.errors import InputError
from rtmbs.library.shapes import add_bar
from rtmbs.model import Model, Revolute

X = (1.0, 0.0, 0.0)


def loop(k: int = 15, length: float = 1.0) -> Model:
    """Return k links, one of them ground, and k revolute pairs about X in one planar loop, at rest.

    k: number of pairs, at least 4.  length: of every link [m], 1 kg each, uniform. Gravity 9.81 m/s^2 along -Z.
    The start is the regular polygon below the ground link, which leads from (0, 0, 0) to (0, length, 0); the loop is
    cut in the middle and has k - 3 degrees of freedom. The published problem gives only the count, the fixed base and
    the cut; lengths, masses and pose are ours. Names: ``link_1`` .. ``link_{k-1}``, ``pair_1`` .. ``pair_k``.
    """
    if not (isinstance(k, int) and k >= 4):
        raise InputError(f"loop: k is {k!r}; it must be a whole number of at least 4 for the loop to move")
    model = Model(f"loop of {k}", gravity=(0.0, 0.0, -9.81))
    corners = _polygon(k, length)
    chain = ["ground", *(f"link_{i}" for i in range(1, k)), "ground"]
    for i in range(1, k):
        add_bar(model, chain[i], corners[i - 1], corners[i])
    middle = k // 2 + 1
    for i in range(1, k + 1):
        pair = Revolute(axis=X)
        model.add_joint(f"pair_{i}", pair, chain[i - 1], chain[i], point=corners[i - 1], cut=i == middle)
    return model


def _polygon(k: int, length: float) -> list[tuple[float, float, float]]:
    """Return the k corners from (0, 0, 0) round below to (0, length, 0)."""
    corners = [(0.0, 0.0, 0.0)]
    for i in range(1, k):
        heading = math.pi + 2.0 * math.pi * i / k  # of link i about X from +Y; the ground link closes at pi
        _, y, z = corners[-1]
        corners.append((0.0, y + length * math.cos(heading), z + length * math.sin(heading)))
    return corners
