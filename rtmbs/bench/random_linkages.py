"""Random planar linkages: one or two closed loops of three to six links, uneven lengths and masses."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.consistent import consistent_state
from rtmbs.formulations.planar_linkage import Arm, Link, Place, PlanarLinkage

Array = NDArray[np.float64]


def random_linkage(seed: int) -> tuple[PlanarLinkage, Array, Array]:
    """Return a linkage with consistent positions and rates; the same seed gives the same linkage.

    Lengths are 0.2 to 1 m, masses 0.1 to 10 kg, rates about 2 rad/s, gravity 9.81 m/s^2. The first loop joins ground to
    ground; the second one, in half of the linkages, leads from an inner joint of the first to ground.
    """
    rng = np.random.default_rng(seed)
    first = int(rng.integers(3, 6))
    second = int(rng.integers(2, 4)) if rng.random() < 0.5 else 0
    n = first + second
    rows = [tuple(map(float, row)) for row in np.eye(n)]
    lengths, masses = rng.uniform(0.2, 1.0, n), 10.0 ** rng.uniform(-1.0, 1.0, n)
    arms = [Arm(float(length), row) for length, row in zip(lengths, rows, strict=True)]
    q = rng.uniform(-np.pi, np.pi, n)
    foot = int(rng.integers(1, first))  # links of the first loop below the joint that the second one begins at
    chains = [tuple(arms[:first]), (*arms[:foot], *arms[first:])][: 2 if second else 1]
    links = []
    for i in range(n):
        below = arms[:i] if i < first else [*arms[:foot], *arms[first:i]]
        half = Arm(0.5 * arms[i].length, rows[i])
        links.append(Link(Place((0.0, 0.0), (*below, half)), masses[i], masses[i] * lengths[i] ** 2 / 12.0, rows[i]))
    loops = []
    for chain in chains:
        x = sum(arm.length * np.cos(np.dot(arm.angles, q)) for arm in chain)
        y = sum(arm.length * np.sin(np.dot(arm.angles, q)) for arm in chain)
        loops.append((Place((0.0, 0.0), chain), Place((float(x), float(y)))))
    system = PlanarLinkage(n, links, loops)
    return system, *consistent_state(system, q, 2.0 * rng.normal(size=n), 0.0)
