"""``python -m bench.measures.ring_drift [SEED [told]]``: why the energy of a ring drifts in coarse variational steps.

The ring of ``"variational energy"`` is written anew, apart from rtmbs: absolute angles of the bars in their plane, two
loop equations, the variational midpoint rule (METHODS 6.2) solved by Newton's iteration with derivatives by complex
steps, to rounding. Only the consistent start is taken from rtmbs. The first lines compare energies of both. The table
takes the passage that changes the energy most again from the same state, with smaller steps. What a passage changes for
good falls with exp(-c / h), and the swing beside it with h^2. With ``told`` the passage is one of a run of rtmbs at the
fine step: that which changes the modified energy most.
"""

import sys
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

import rtmbs
from bench.campaigns import variational_energy
from bench.campaigns.variational_energy import BARS, COARSE, ring
from rtmbs import Simulation
from rtmbs.results.run_warnings import energies_of, energy_correction
from rtmbs.simulation.observers.recorder import Recorder

STEPS = 10_000
ALIKE = 1_000  # first steps, before rounding grows up to the motion
BEFORE, BEHIND = 60, 40  # steps about the passage
FINER = 1.0, 1.1, 1.25, 1.5, 2.0, 2.5, 4.0, 8.0
ABOUT = 401  # samples before and behind a passage of a fine run
NEWTON = 60  # iterations at most

Array = NDArray[np.float64]


class Bars(NamedTuple):
    """Bars in a row in a plane, both ends on ground."""

    L: Array  # (n,) [m]
    C: Array  # (n, n) moments that couple the angles [kg m^2]
    inertia: Array  # (n,) [kg m^2]
    w: Array  # (n,) first moments [kg m]
    g: Array  # (2,) gravity in the plane [m/s^2]
    gap: Array  # (2,) from the first pin to the last [m]


def bars(seed: int, at: Array, rates: Array) -> tuple[Bars, Array, Array]:
    """Return the bars of a ring, with angles [rad] and rates (n,) where coordinates are ``at`` and have ``rates``."""
    rng = np.random.default_rng((seed, 3310))
    across, y, z = np.linalg.qr(rng.normal(size=(3, 3)))[0].T
    around = 2.0 * np.pi * (np.arange(BARS) + rng.uniform(-0.25, 0.25, BARS)) / BARS
    reach = rng.uniform(0.6, 1.0, BARS)
    pins = reach[:, None] * np.column_stack((np.cos(around), np.sin(around)))
    gravity = 9.81 * rng.normal(size=3) / np.sqrt(3.0)
    mass = 10.0 ** rng.uniform(-0.5, 0.5, BARS - 1)
    along, n = np.diff(pins, axis=0), BARS - 1
    L = np.linalg.norm(along, axis=1)
    arms = np.tril(np.ones((n, n)), -1) * L + 0.5 * np.diag(L)  # (bar, angle): its centre moves by arm times rate
    made = Bars(
        L, np.einsum("k,ki,kj->ij", mass, arms, arms), mass * L**2 / 12.0, mass @ arms,
        np.array([gravity @ y, gravity @ z]), pins[-1] - pins[0],
    )  # fmt: skip
    sums = float(np.sign(across @ np.cross(y, z))) * np.tril(np.ones((n, n)))
    return made, np.arctan2(along[:, 1], along[:, 0]) + sums @ at, sums @ rates


@numba.njit
def momentum(of, q, v):
    """Return dT/dv and d(T - V)/dq, both (n,)."""
    p, f = of.inertia * v, of.w * (of.g[1] * np.cos(q) - of.g[0] * np.sin(q))
    for i in range(len(q)):
        for j in range(len(q)):
            p[i] += of.C[i, j] * np.cos(q[i] - q[j]) * v[j]
            f[i] -= of.C[i, j] * np.sin(q[i] - q[j]) * v[i] * v[j]
    return p, f


@numba.njit
def gaps(of, q):
    """Return the two loop equations and their Jacobian (2, n)."""
    cos, sin = of.L * np.cos(q), of.L * np.sin(q)
    Phi, Phi_q = np.zeros(2, q.dtype), np.zeros((2, len(q)), q.dtype)
    Phi[0], Phi[1] = np.sum(cos) - of.gap[0], np.sum(sin) - of.gap[1]
    Phi_q[0], Phi_q[1] = -sin, cos
    return Phi, Phi_q


@numba.njit
def residual(of, h, q, p, Phi_q, x):
    """Return the equations (n + 2,) of a step from angles q and momenta p; x: rates and impulses."""
    n, out = len(q), np.zeros_like(x)
    pm, f = momentum(of, q + 0.5 * h * x[:n], x[:n])
    out[:n] = pm - 0.5 * h * f - p
    for i in range(n):
        out[i] += Phi_q[0, i] * x[n] + Phi_q[1, i] * x[n + 1]
    out[n:] = gaps(of, q + h * x[:n])[0] / h
    return out


@numba.njit
def solved(of, h, q, p, x):
    """Return x where the residual is zero, to rounding, by Newton's iteration."""
    k, Phi_q, before = len(x), gaps(of, q)[1], np.inf
    A = np.zeros((k, k))
    for _ in range(NEWTON):
        for i in range(k):
            moved = x.astype(np.complex128)
            moved[i] += 1e-30j
            A[:, i] = residual(of, h, q, p, Phi_q, moved).imag / 1e-30
        change = np.linalg.solve(A, residual(of, h, q, p, Phi_q, x))
        x = x - change
        size = np.max(np.abs(change[: k - 2]))
        if size < 1e-11 and size >= 0.25 * before:
            break
        before = size
    return x


@numba.njit
def constrained_rates(of, q, p):
    """Return rates (n,) on the loops, of a momentum p without the impulse of the loops there."""
    n, M = len(q), np.zeros((len(q) + 2, len(q) + 2))
    for i in range(n):
        M[i, i] += of.inertia[i]
        for j in range(n):
            M[i, j] += of.C[i, j] * np.cos(q[i] - q[j])
    Phi_q = gaps(of, q)[1]
    M[n:, :n], M[:n, n:] = Phi_q, Phi_q.T
    right = np.zeros(n + 2)
    right[:n] = p
    return np.linalg.solve(M, right)[:n]


@numba.njit
def march(of, h, q, v, steps):
    """Return energies (steps + 1,) [J], angles and rates (steps + 1, n)."""
    n = len(q)
    E, path, rates = np.zeros(steps + 1), np.zeros((steps + 1, n)), np.zeros((steps + 1, n))
    p, x = momentum(of, q, v)[0], np.zeros(n + 2)
    x[:n] = v
    for k in range(steps + 1):
        if k > 0:
            x = solved(of, h, q, p, x)
            pm, f = momentum(of, q + 0.5 * h * x[:n], x[:n])
            q, p = q + h * x[:n], pm + 0.5 * h * f
            v = constrained_rates(of, q, p)
        E[k] = 0.5 * np.sum(v * momentum(of, q, v)[0]) - np.sum(of.w * (of.g[0] * np.cos(q) + of.g[1] * np.sin(q)))
        path[k], rates[k] = q, v
    return E, path, rates


def passage(of: Bars, h: float, q: Array, v: Array, finer: float) -> tuple[float, float, float]:
    """Return the change of energy over a passage and its swing [J], and the most that rates change in a step."""
    E, _, rates = march(of, h / finer, q, v, round((BEFORE + BEHIND) * finer))
    return (
        float(E[-1] - E[0]),
        float(np.ptp(E)),
        float((np.abs(np.diff(rates, axis=0)).max(1) / np.abs(rates[1:]).max(1)).max()),
    )


def judge_told(seed: int) -> None:
    """Print what the passage of a fine run changes for good, by rtmbs and by the independent ring, and finer steps."""
    h, system = variational_energy.H, ring(seed).compile()
    recorder = Recorder()
    Simulation(system, h, rtmbs.VariationalMidpoint()).run(variational_energy.STEPS * h, observers=[recorder])
    samples = recorder.samples
    kinetic, potential = energies_of(system, system.tables, samples)
    energy = kinetic + potential
    modified = energy + energy_correction(system, system.tables, samples, h)
    ahead, behind = (median_filter(modified, ABOUT, origin=shift) for shift in (-(ABOUT // 2), ABOUT // 2))
    k = int(np.argmax(np.abs(ahead - behind)[ABOUT:-ABOUT])) + ABOUT
    changed = float(ahead[k] - behind[k])
    print(f"ring {seed}, h = {h:g} s, t = {samples.t[k]:.3f} s: for good {changed:.2e} J,", end=" ")
    print(f"{abs(changed) / kinetic.max():.1e} of the kinetic energy")
    begin, steps = k - ABOUT, 2 * ABOUT
    of, q, v = bars(seed, samples.z[begin], samples.zd[begin])
    own = march(of, h, q, v, steps)[0]
    apart = np.abs((own - own[0]) - (energy[begin : begin + steps + 1] - energy[begin])).max()
    E = march(of, h / 16.0, q, v, 16 * steps)[0]
    smooth = float(E[-1] - E[0]) * 16.0**2  # of h^2 alone
    print(f"own equations: {apart:.1e} J beside those of rtmbs in {steps} steps")
    for finer in FINER:
        E = march(of, h / finer, q, v, round(steps * finer))[0]
        print(f"own equations, h = {1e3 * h / finer:.3g} ms: for good {float(E[-1] - E[0]) - smooth / finer**2:.1e} J")


def main() -> None:
    """Print the comparison and the table."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    if "told" in sys.argv:
        judge_told(seed)
        return
    sim = Simulation(ring(seed).compile(), COARSE, rtmbs.VariationalMidpoint())
    of, q, v = bars(seed, sim.state.z, sim.state.zd)
    E, path, rates = march(of, COARSE, q, v, STEPS)
    ours = np.asarray(sim.run(STEPS * COARSE, channels=["energy.total"])["energy.total"])
    apart = np.abs((ours - ours[0]) - (E - E[0]))
    print(f"ring {seed}, h = {COARSE:g} s: energies of both differ by {apart[:ALIKE].max():.1e} J in {ALIKE} steps")
    for name, energy in (("own equations", E), ("rtmbs", ours)):
        print(f"{name}: swing {np.ptp(energy[:ALIKE]):.2e} J in {ALIKE} steps, {np.ptp(energy):.2e} J in {STEPS}")
    worst = int(np.argmax(np.abs(np.diff(E[BEFORE:-BEHIND])))) + BEFORE
    smooth = passage(of, COARSE, path[worst - BEFORE], rates[worst - BEFORE], 16.0)[0] * 16.0**2  # of h^2 alone
    for finer in FINER:
        change, swing, most = passage(of, COARSE, path[worst - BEFORE], rates[worst - BEFORE], finer)
        kept = abs(change - smooth / finer**2)
        step = f"h = {1e3 * COARSE / finer:.3g} ms"
        print(f"{step}: for good {kept:.1e} J, swing {swing:.1e} J, rates change by {most:.0%} in a step")


if __name__ == "__main__":
    main()
