"""Random bicycles: eigenvalues of wheels that roll without slip against the linear equations of the literature.

The reference is the algorithm of appendix A of Meijaard, Papadopoulos, Ruina and Schwab, Proc. R. Soc. A 463 (2007),
p. 1955: M q'' + v C1 q' + (g K0 + v^2 K2) q = 0 of lean and steer angle. Its z axis points down. Each of the ten
eigenvalues is one of the literature or one of six zeros: of the place (2), the heading, both wheels and the speed.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from rtmbs.vehicle import BicycleData, bicycle

CLOSE = 1e-8  # of the largest eigenvalue
ZEROS, SMALL = 6, 1e-5  # eigenvalues that are zero, and what rounding makes of those in blocks, of the largest one


def random_bicycle(rng: np.random.Generator) -> BicycleData:
    """Return a bicycle with random geometry and masses; inertias are those of bodies."""

    def shell(mass: float, size: float) -> tuple[float, float, float, float]:
        points = rng.normal(size=(6, 3)) * size
        x, y, z = (points - points.mean(axis=0)).T
        xx, yy, zz, xz = (float(mass * np.mean(one)) for one in (y * y + z * z, x * x + z * z, x * x + y * y, -x * z))
        return xx, yy, zz, xz

    def wheel(mass: float, radius: float) -> tuple[float, float]:
        thick = rng.uniform(0.3, 0.95)
        return 0.5 * thick * mass * radius**2, thick * mass * radius**2

    r, f = rng.uniform(0.15, 0.5, 2).tolist()
    masses = rng.uniform(0.5, 10.0, 2).tolist()
    frame, fork = float(rng.uniform(10.0, 200.0)), float(rng.uniform(0.5, 20.0))
    w = float(rng.uniform(0.7, 2.0))
    return BicycleData(
        wheelbase=w, trail=float(rng.uniform(-0.05, 0.2)), tilt=float(rng.uniform(-0.2, 0.8)),
        gravity=float(rng.uniform(1.0, 15.0)), rear_radius=r, rear_mass=masses[0], rear_inertia=wheel(masses[0], r),
        frame_centre=(float(rng.uniform(0.1, 0.8) * w), float(rng.uniform(0.3, 1.3))), frame_mass=frame,
        frame_inertia=shell(frame, 0.3), fork_centre=(float(rng.uniform(0.6, 1.1) * w), float(rng.uniform(0.3, 1.0))),
        fork_mass=fork, fork_inertia=shell(fork, 0.15), front_radius=f, front_mass=masses[1],
        front_inertia=wheel(masses[1], f),
    )  # fmt: skip


def literature(d: BicycleData, speed: float) -> np.ndarray:
    """Return the system matrix (4, 4) of lean, steer and their rates."""
    w, c, s, k = d.wheelbase, d.trail, np.sin(d.tilt), np.cos(d.tilt)
    (xB, hB), (xH, hH), rR, rF = d.frame_centre, d.fork_centre, d.rear_radius, d.front_radius
    zB, zH = -hB, -hH
    mR, mB, mH, mF = d.rear_mass, d.frame_mass, d.fork_mass, d.front_mass
    (Rx, Ry), (Fx, Fy) = d.rear_inertia, d.front_inertia
    (Bx, _, Bz, Bxz), (Hx, _, Hz, Hxz) = d.frame_inertia, d.fork_inertia
    mT = mR + mB + mH + mF
    xT, zT = (xB * mB + xH * mH + w * mF) / mT, (-rR * mR + zB * mB + zH * mH - rF * mF) / mT
    Tx = Rx + Bx + Hx + Fx + mR * rR**2 + mB * zB**2 + mH * zH**2 + mF * rF**2
    Txz = -Bxz - Hxz - mB * xB * zB - mH * xH * zH + mF * w * rF
    Tz = Rx + Bz + Hz + Fx + mB * xB**2 + mH * xH**2 + mF * w**2
    mA = mH + mF
    xA, zA = (xH * mH + w * mF) / mA, (zH * mH - rF * mF) / mA
    Ax = Hx + Fx + mH * (zH - zA) ** 2 + mF * (rF + zA) ** 2
    Axz = -Hxz - mH * (xH - xA) * (zH - zA) + mF * (w - xA) * (rF + zA)
    Az = Hz + Fx + mH * (xH - xA) ** 2 + mF * (w - xA) ** 2
    u = (xA - w - c) * k - zA * s
    All = mA * u**2 + Ax * s**2 + 2.0 * Axz * s * k + Az * k**2
    Alx, Alz = -mA * u * zA + Ax * s + Axz * k, mA * u * xA + Axz * s + Az * k
    mu, SR, SF = c / w * k, Ry / rR, Fy / rF
    ST, SA = SR + SF, mA * u + mu * mT * xT
    M = np.array([[Tx, Alx + mu * Txz], [Alx + mu * Txz, All + 2.0 * mu * Alz + mu**2 * Tz]])
    K0 = np.array([[mT * zT, -SA], [-SA, -SA * s]])
    K2 = np.array([[0.0, (ST - mT * zT) / w * k], [0.0, (SA + SF * s) / w * k]])
    C1 = np.array(
        [
            [0.0, mu * ST + SF * k + Txz / w * k - mu * mT * zT],
            [-(mu * ST + SF * k), Alz / w * k + mu * (SA + Tz / w * k)],
        ]
    )
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    A[2:, :2] = -np.linalg.solve(M, d.gravity * K0 + speed**2 * K2)
    A[2:, 2:] = -np.linalg.solve(M, speed * C1)
    return A


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with one bicycle."""
    rng = np.random.default_rng(seed)
    data, speed = random_bicycle(rng), float(rng.uniform(0.0, 12.0))
    sim = rtmbs.Simulation(bicycle(data, speed).compile(), h=1e-3)
    wanted = np.concatenate((np.linalg.eigvals(literature(data, speed)), np.zeros(ZEROS)))
    size = np.abs(wanted).max()
    found = np.linalg.eigvals(rtmbs.linearise_rolling(sim).A)
    if found.shape != wanted.shape:
        return f"there are {len(found)} eigenvalues; the literature has four beside {ZEROS} zeros"
    apart = np.abs(wanted[:, None] - found[None, :]) / size
    pairs = apart[linear_sum_assignment(apart)]  # each eigenvalue once, by rows
    off, zero = float(pairs[:-ZEROS].max()), float(pairs[-ZEROS:].max())
    tally.largest("eigenvalue", off)
    tally.largest("zero", zero)
    if zero > SMALL:
        return f"an eigenvalue that must be zero is {zero:.2g} of the largest one"
    return f"an eigenvalue is {off:.2g} of the largest one off" if off > CLOSE else ""


def campaign(cases: int, seed: int) -> Tally:
    """Try random bicycles."""
    return each(judged, cases, seed)


CAMPAIGN = Campaign(
    "bicycles",
    "a random bicycle has the eigenvalues of the literature at any speed",
    1000,
    60,
    campaign,
)
