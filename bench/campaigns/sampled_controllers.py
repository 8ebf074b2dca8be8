"""Sampled controllers on random linear plants, against matrix exponentials from sample to sample.

One to three masses slide on each other with springs and dampers; a random state space reads all coordinates and rates
and sets the force on one coordinate. Period and delay are whole numbers of steps, or any numbers. A run must be the
trapezoidal rule on the grid of steps, cut where a controller acts, which linear algebra steps here a second time. It
may be off by a tenth of the error of that rule, for steps answer the jumps of forces with their first matrix. On
the grid an eighth of the step must take the error down by 64. Off the grid the rule itself takes it down by less:
samples and effects cut a coarse step into up to three parts, each with an error of its cube, and few of the finer
steps. A run with a tolerance must keep it, and a restored State must lead to the same bytes.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.signal
from numpy.typing import NDArray

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each

Array = NDArray[np.float64]

STEPS = 60  # of the coarse run
LEAST_FALL = 60.0  # of the error, in an eighth of the step, on the grid of steps; order two has 64
ROUNDING = 1e-9  # of the motion
SHARE = 0.1  # of the error of the rule: steps answer the jumps of forces to order three
TOLERANCE = 1e-7  # of coordinates


class Plant(NamedTuple):
    """M q'' + C q' + K q = b u, with joint coordinates q of masses in a row."""

    masses: Array
    stiffness: Array
    damping: Array
    driven: int
    start: Array  # (2 n,) coordinates and rates

    def model(self) -> rtmbs.Model:
        """Return the Model; its input is motor.force."""
        model, n = rtmbs.Model("plant", gravity=(0, 0, 0)), len(self.masses)
        for k, mass in enumerate(self.masses):
            model.add_body(f"b{k}", mass=mass, inertia=(mass,) * 3)
            model.add_joint(f"j{k}", rtmbs.Prismatic((0.6, 0.0, 0.8)), f"b{k - 1}" if k else "ground", f"b{k}")
            spring = rtmbs.TorsionSpring(self.stiffness[k], self.damping[k], 0.0)
            model.add_force(f"spring{k}", spring, joint=f"j{k}")
            model.set_initial(f"j{k}", self.start[k], self.start[n + k])
        model.add_force("motor", rtmbs.Motor(rtmbs.Input()), joint=f"j{self.driven}")
        return model

    def matrices(self) -> tuple[Array, Array]:
        """Return A (2n, 2n) and B (2n,) of its state space."""
        n = len(self.masses)
        M = np.array([[self.masses[max(i, j) :].sum() for j in range(n)] for i in range(n)])
        b = np.eye(n)[self.driven]
        solved = np.linalg.solve(M, np.column_stack((np.diag(self.stiffness), np.diag(self.damping), b)))
        A = np.block([[np.zeros((n, n)), np.eye(n)], [-solved[:, :n], -solved[:, n : 2 * n]]])
        return A, np.concatenate((np.zeros(n), solved[:, -1]))


def random_plant(rng: np.random.Generator) -> Plant:
    """Return a plant with frequencies about 1 rad/s."""
    n = int(rng.integers(1, 4))
    masses = rng.uniform(0.5, 3.0, n)
    return Plant(
        masses, rng.uniform(0.3, 4.0, n), rng.uniform(0.0, 0.6, n), int(rng.integers(n)), rng.uniform(-1, 1, 2 * n)
    )


def random_space(rng: np.random.Generator, n: int, period: float) -> scipy.signal.StateSpace:
    """Return a stable state space of 1 to 3 states that reads 2 n channels."""
    k = int(rng.integers(1, 4))
    A = rng.normal(size=(k, k))
    A *= 0.9 / max(np.abs(np.linalg.eigvals(A)))
    return scipy.signal.StateSpace(
        A, 0.3 * rng.normal(size=(k, 2 * n)), 0.5 * rng.normal(size=(1, k)), 0.3 * rng.normal(size=(1, 2 * n)),
        dt=period,
    )  # fmt: skip


class Moves:
    """Ways from one time to another under a constant input: exact, or by the trapezoidal rule on a grid."""

    def __init__(self, plant: Plant, h: float = 0.0) -> None:
        self.A, self.B = plant.matrices()
        self.h = h  # 0 for the exact solution

    def step(self, x: Array, u: float, length: float) -> Array:
        """Return coordinates and rates after a time."""
        n = len(self.A)
        if not self.h:
            big = np.zeros((n + 1, n + 1))
            big[:-1, :-1], big[:-1, -1] = self.A, self.B
            return np.asarray((scipy.linalg.expm(big * length) @ np.append(x, u))[:-1])
        half = 0.5 * length * self.A
        return np.linalg.solve(np.eye(n) - half, (np.eye(n) + half) @ x + length * u * self.B)

    def go(self, x: Array, u: float, t: float, until: float) -> Array:
        """Return coordinates and rates at a later time; steps of the rule end on the grid."""
        near = 1e-9 * (self.h or until)
        while self.h and (grid := (np.floor(t / self.h + 1e-9) + 1.0) * self.h) < until - near:
            x, t = self.step(x, u, grid - t), grid
        return self.step(x, u, until - t) if until > t + near else x


def reference(plant: Plant, space: scipy.signal.StateSpace, delay: float, t_end: float, h: float = 0.0) -> Array:
    """Return coordinates and rates (2n,) at ``t_end`` [s]: exact, or of the trapezoidal rule with steps ``h``."""
    moves = Moves(plant, h)
    x, memory, u, t, held = plant.start, np.zeros(len(space.A)), 0.0, 0.0, 0
    values: list[float] = []
    near = 1e-11 * t_end
    for _ in range(100_000):
        sample = len(values) * space.dt
        effect = held * space.dt + delay if held < len(values) else np.inf
        now = min(sample, effect, t_end)
        x, t = moves.go(x, u, t, now), now
        if t >= t_end - near:
            break
        if sample <= t + near:
            values.append(float((space.C @ memory + space.D @ x)[0]))
            memory = space.A @ memory + space.B @ x
        if held < len(values) and held * space.dt + delay <= t + near:
            u, held = values[held], held + 1
    return np.asarray(x)


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` plants from ``seed`` on."""
    return each(judged, cases, seed)


def judged(case: int, tally: Tally) -> str:
    """Return what is wrong with one plant, or nothing."""
    rng = np.random.default_rng((case, 83))
    plant = random_plant(rng)
    n, h = len(plant.masses), float(rng.uniform(0.01, 0.03))
    on_grid = bool(rng.random() < 0.5)
    period = h * (int(rng.integers(1, 9)) if on_grid else rng.uniform(1.0, 9.0))
    delay = float(rng.integers(0, 12) * h if on_grid else rng.uniform(0.0, 12.0 * h)) * (rng.random() < 0.8)
    space = random_space(rng, n, period)
    t_end, system = STEPS * h, plant.model().compile()
    wanted = reference(plant, space, delay, t_end)
    size = max(float(np.abs(wanted).max()), float(np.abs(plant.start).max()))
    channels = [f"j{k}.displacement" for k in range(n)] + [f"j{k}.rate" for k in range(n)]

    def simulation(step: float) -> rtmbs.Simulation:
        sim = rtmbs.Simulation(system, h=step)
        sim.add_controller(space, delay=delay, channels=channels, inputs=["motor.force"])
        return sim

    errors = []
    for parts in (1, 8):
        sim = simulation(h / parts)
        sim.run(t_end)
        found = sim.read(channels)
        errors.append(float(np.abs(found - wanted).max()) / size)
        rule = reference(plant, space, delay, t_end, h / parts)
        off, own = (float(np.abs(rule - other).max()) / size for other in (found, wanted))
        tally.largest("distance from the trapezoidal rule by its error", off / max(own, ROUNDING))
        if off > SHARE * own + ROUNDING:
            return f"the run is {off:.3g} away from the trapezoidal rule that is cut where controllers act"
    tally.largest("error at the coarse step", errors[0])
    if on_grid and errors[0] > ROUNDING and errors[1] * LEAST_FALL > errors[0]:
        return f"the error is {errors[0]:.3g}, and {errors[1]:.3g} at an eighth of the step"
    sim = simulation(h)
    sim.run(t_end, tolerance=TOLERANCE * size, record=rtmbs.Every(t_end))
    error = float(np.abs((sim.read(channels) - wanted)[:n]).max()) / size
    tally.largest("error with a tolerance of 1e-7", error)
    if error > TOLERANCE:
        return f"with a tolerance of {TOLERANCE:g} the error is {error:.3g}"
    return restarted(simulation(h), h, int(rng.integers(1, STEPS)), t_end)


def restarted(sim: rtmbs.Simulation, h: float, after: int, t_end: float) -> str:
    """Return whether a State restored leads to other bytes than the run that went on."""
    sim.run(after * h)
    saved = sim.state.copy()
    sim.run(t_end)
    first = sim.state.copy()
    sim.restore(saved)
    sim.run(t_end)
    same = np.array_equal(first.z, sim.state.z) and np.array_equal(first.zd, sim.state.zd)
    return "" if same else f"a restart after {after} steps ends elsewhere"


CAMPAIGN = Campaign(
    name="sampled_controllers",
    claim="sampled controllers have order two, keep a tolerance and restart with the same bytes",
    full=200,
    bounded=24,
    run=run,
)
