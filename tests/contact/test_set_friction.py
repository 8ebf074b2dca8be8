"""Friction of contact sets: an own law in SciPy, the order of members, and momenta."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import rtmbs
from rtmbs.contact.friction import ELASTIC, RELAXES

COUNT, GRAVITY, SKEW = 3, np.array((0.9, -0.5, -8.0)), np.array((0.3, -0.2, 1.0)) / np.linalg.norm((0.3, -0.2, 1.0))
STIFFNESS, EXPONENT, DISSIPATION, MU = 3e4, 1.5, 0.4, 0.35
TANGENTIAL, DAMPING_TIME, RATIO, STRIBECK = 2e3, 3e-3, 1.2, 0.05
LAW = {
    "stiffness": STIFFNESS, "exponent": EXPONENT, "dissipation": DISSIPATION, "friction": MU,
    "tangential_stiffness": TANGENTIAL, "damping_time": DAMPING_TIME, "static_ratio": RATIO, "stribeck_speed": STRIBECK,
}  # fmt: skip


class Balls:
    """Uneven balls that spin, pressed to each other and, with ``plane``, to a skew plane."""

    def __init__(self, seed: int, plane: bool = True) -> None:
        rng, self.plane = np.random.default_rng(seed), plane
        self.mass, self.radius = rng.uniform(0.3, 1.5, COUNT), rng.uniform(0.05, 0.12, COUNT)
        self.inertia = rng.uniform(0.3, 0.6, COUNT) * self.mass * self.radius**2
        self.place = np.zeros((COUNT, 3))
        across = np.cross(SKEW, (0.0, 1.0, 0.0))
        ways = across / np.linalg.norm(across), np.cross(SKEW, across) / np.linalg.norm(across)
        deep = 0.01 * self.radius
        for k in range(1, COUNT):  # each one touches the first
            up = self.radius[k] - self.radius[0]
            far = np.sqrt((self.radius[0] + self.radius[k] - deep[k]) ** 2 - up**2)
            turn = 2.2 * k
            self.place[k] = up * SKEW + far * (np.cos(turn) * ways[0] + np.sin(turn) * ways[1])
        self.place += (self.radius[0] - deep[0]) * SKEW
        towards = self.place - self.place.mean(axis=0)
        self.speed, self.spin = -2.0 * towards + 0.1 * rng.normal(size=(COUNT, 3)), 4.0 * rng.normal(size=(COUNT, 3))

    def simulation(self, h: float, order: tuple[int, ...] = tuple(range(COUNT))) -> rtmbs.Simulation:
        """Return them as a contact set, with members in an ``order``."""
        model = rtmbs.Model("balls", gravity=tuple(GRAVITY) if self.plane else (0, 0, 0))
        members: list[object] = [("ground", rtmbs.contact.Plane(normal=tuple(SKEW)))] if self.plane else []
        for k in range(COUNT):
            at = tuple(self.place[k])
            inertia, shape = (self.inertia[k],) * 3, rtmbs.Sphere(self.radius[k])
            model.add_body(f"b{k}", mass=self.mass[k], inertia=inertia, position=at, shape=shape)
            model.add_joint(f"f{k}", rtmbs.Floating(), "ground", f"b{k}", point=at)
            model.set_initial(f"f{k}", rate=(*self.speed[k], *self.spin[k]), pin=False)
        model.add_contacts("balls", members + [f"b{k}" for k in order], **LAW)
        return rtmbs.Simulation(model.compile(), h, method=rtmbs.TRBDF2())

    def rate(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return the rate of places, velocities, spins and bristles, all in world axes."""
        x, v, w = y[: 9 * COUNT].reshape(3, COUNT, 3)
        s = y[9 * COUNT :].reshape(-1, 3)
        a, turn, rates = np.tile(GRAVITY, (COUNT, 1)) * self.plane, np.zeros((COUNT, 3)), np.zeros_like(s)
        pairs = [(-1, j) for j in range(COUNT)] + [(i, j) for j in range(COUNT) for i in range(j)]
        for p, (i, j) in enumerate(pairs):
            if i < 0:
                if not self.plane:
                    continue
                n, gap, w_i, w_mean = SKEW, x[j] @ SKEW - self.radius[j], np.zeros(3), np.zeros(3)
                point = x[j] - self.radius[j] * n
                slip = v[j] + np.cross(w[j], point - x[j])
            else:
                n = (x[j] - x[i]) / np.linalg.norm(x[j] - x[i])
                gap, w_i, w_mean = (x[j] - x[i]) @ n - self.radius[i] - self.radius[j], w[i], 0.5 * (w[i] + w[j])
                point = 0.5 * (x[i] + self.radius[i] * n + x[j] - self.radius[j] * n)
                slip = v[j] + np.cross(w[j], point - x[j]) - v[i] - np.cross(w_i, point - x[i])
            force, rates[p] = touch(n, gap, slip, s[p], self.slack)
            rates[p] += np.cross(w_mean, s[p])
            a[j] += force / self.mass[j]
            turn[j] += np.cross(point - x[j], force) / self.inertia[j]
            if i >= 0:
                a[i] -= force / self.mass[i]
                turn[i] -= np.cross(point - x[i], force) / self.inertia[i]
        return np.concatenate((v, a, turn, rates)).ravel()

    @property
    def slack(self) -> float:
        """Slack of the bristles [m]: 1e-5 of the characteristic length, the largest radius of gyration."""
        return 1e-5 * min(0.1, float(np.sqrt(np.max(self.inertia / self.mass))))

    def moved(self, end: float) -> np.ndarray:
        """Return places, velocities and spins (3, k, 3) at the ``end``, by SciPy."""
        start = np.concatenate((self.place, self.speed, self.spin, np.zeros((COUNT * (COUNT + 1) // 2, 3)))).ravel()
        found = solve_ivp(self.rate, (0.0, end), start, method="DOP853", rtol=1e-11, atol=1e-13, max_step=2e-4)
        return found.y[: 9 * COUNT, -1].reshape(3, COUNT, 3)


def touch(n: np.ndarray, gap: float, slip: np.ndarray, s: np.ndarray, slack: float) -> tuple[np.ndarray, np.ndarray]:
    """Return force and rate of the bristle of a pair, as METHODS 8.1 to 8.3 say."""
    away = slip @ n
    N = STIFFNESS * max(-gap, 0.0) ** EXPONENT * max(1.0 - DISSIPATION * away, 0.0)
    flat, v, k = s - (s @ n) * n, slip - away * n, TANGENTIAL
    limit = MU * N * (1.0 + (RATIO - 1.0) * np.exp(-(v @ v) / STRIBECK**2))
    size = max(np.linalg.norm(flat), 1e-300)
    u, q, share = flat / size, k * size / (limit + k * slack), limit / (limit + k * slack)
    part = np.clip((q - ELASTIC) / (1.0 - ELASTIC), 0.0, 1.0)
    slides = part**2 * (3.0 - 2.0 * part)
    beyond = np.clip(q - 1.0, 0.0, 1.0) if limit > 0.0 else 1.0
    rate = share * (v - slides * q * max(v @ u, 0.0) * u) - beyond * flat / RELAXES
    wanted = k * (flat + DAMPING_TIME * (1.0 - slides) * v)
    held = min(1.0, limit / max(np.linalg.norm(wanted), 1e-300))
    return N * n - held * wanted, rate - (s @ n) * n / RELAXES


def motion(sim: rtmbs.Simulation) -> np.ndarray:
    """Return places, velocities and spins (3, k, 3)."""
    names = "position", "velocity", "angular_velocity"
    return np.array([[sim[f"b{k}.{name}"] for k in range(COUNT)] for name in names])


def momenta(sim: rtmbs.Simulation, balls: Balls) -> np.ndarray:
    """Return momentum and moment of momentum about the origin (2, 3)."""
    x, v, w = motion(sim)
    p = balls.mass[:, None] * v
    return np.array((p.sum(axis=0), (np.cross(x, p) + balls.inertia[:, None] * w).sum(axis=0)))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow)])
def test_spinning_uneven_balls_on_a_skew_plane_move_as_by_an_own_law(seed: int) -> None:
    balls, end, errors = Balls(seed), 0.024, []
    wanted = balls.moved(end)
    scale = np.array((1e-1, 1.0, 1e1))[:, None, None]
    for h in (4e-4, 2e-4, 1e-4):
        sim = balls.simulation(h)
        sim.run(end, record=rtmbs.Every(end))
        errors.append(float(np.max(np.abs(motion(sim) - wanted) / scale)))
    assert np.max(np.abs(wanted[2] - balls.spin)) > 1.0  # friction has turned them
    assert errors[2] < 5e-6
    assert errors[2] < 0.08 * errors[0]  # 1 / 16


def test_no_order_of_the_members_counts() -> None:
    balls, found = Balls(2), []
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)):
        sim = balls.simulation(5e-4, order)
        for _ in range(40):
            sim.step()
        found.append((motion(sim), rtmbs.touching(sim, "balls")))
    for other, _ in found[1:]:
        assert np.max(np.abs(other - found[0][0])) < 1e-10
    first, last = found[0][1], found[3][1]
    kept = [np.argsort(np.sum(one.points * (1.0, 7.0, 13.0), axis=1)) for one in (first, last)]
    between = first.members[kept[0]].min(axis=1) > 0
    assert np.any(between)
    assert first.points[kept[0]] == pytest.approx(last.points[kept[1]], abs=1e-10)
    sign = np.where(between, -1.0, 1.0)[:, None]  # their members stand the other way
    assert first.forces[kept[0]] == pytest.approx(sign * last.forces[kept[1]], abs=1e-5)


def test_momenta_of_a_free_heap_stay() -> None:
    """That of translation to rounding, that of rotation to the order of the step."""
    balls, off = Balls(3, plane=False), []
    for h in (4e-4, 2e-4):
        sim = balls.simulation(h)
        before = momenta(sim, balls)
        while sim.t < 0.024 - 1e-9:
            sim.step()
        off.append(np.abs(momenta(sim, balls) - before).max(axis=1))
    assert max(one[0] for one in off) < 1e-12
    assert off[1][1] < 5e-8
    assert off[1][1] < 0.3 * off[0][1]
