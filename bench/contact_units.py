"""Contact with friction in odd units: metres, millimetres, kilometres, and lengths of a micrometre.

    python -m bench.contact_units

A ball with spin hops on a skew plane and sticks there. Lengths are multiplied by a factor, masses and times are not.
Each row has the largest distance from the motion in metres over ten seeds, in radii and radii per second.
"""

import sys

import numpy as np
from numpy.typing import NDArray

import rtmbs
from rtmbs import contact

FACTORS = {"millimetres": 1e3, "kilometres": 1e-3, "a micrometre in metres": 1e-6, "1e-9": 1e-9}
SEEDS, RADIUS, H, END = 10, 0.1, 2e-4, 0.3


def motion(seed: int, factor: float, set_of: bool) -> NDArray[np.float64]:
    """Return place and velocity [radii, radii/s] and spin [rad/s] (9,) of a ball that hopped."""
    rng = np.random.default_rng(seed)
    n, place = rng.normal(size=3), rng.normal(size=3)
    n /= np.linalg.norm(n)
    model = rtmbs.Model("units", gravity=factor * (-9.81 * n + rng.normal(size=3)))
    r, mass = factor * RADIUS, float(rng.uniform(0.5, 2.0))
    v, w = factor * (rng.normal(size=3) * 0.3 - 0.5 * n), 4.0 * rng.normal(size=3)
    at = factor * place
    model.add_body("ball", mass=mass, inertia=0.4 * mass * r * r * np.eye(3), position=at, shape=rtmbs.Sphere(r))
    model.add_joint("free", rtmbs.Floating(), "ground", "ball", point=at)
    model.set_initial("free", rate=(*v, *w))
    plane = contact.Plane(at - 1.02 * r * n, n)
    law = {"stiffness": 2e4, "exponent": 1.0, "dissipation": 0.5 / factor, "friction": 0.5}
    if set_of:
        model.add_contacts("c", [("ground", plane), "ball"], **law)
    else:
        model.add_contact("c", ("ground", plane), "ball", **law)
    sim = rtmbs.Simulation(model.compile(), h=H, method=rtmbs.TRBDF2())
    sim.run(END)
    lengths = np.concatenate((np.asarray(sim["ball.position"]) - at, sim["ball.velocity"])) / r
    return np.concatenate((lengths, sim["ball.angular_velocity"]))


def largest(factor: float, set_of: bool = False, seeds: int = SEEDS) -> float:
    """Return the largest distance from the motions in metres."""
    pairs = [(motion(seed, factor, set_of), motion(seed, 1.0, set_of)) for seed in range(seeds)]
    return max(float(np.abs(one - other).max()) for one, other in pairs)


def main() -> int:
    """Print a row for every factor."""
    print("| lengths | add_contact | add_contacts |\n|---|---|---|")
    for name, factor in FACTORS.items():
        print(f"| {name} | {largest(factor):.1e} | {largest(factor, True):.1e} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
