"""Order of TR-BDF2 where contacts with friction begin within a step (METHODS 8.2).

    python -m bench.touch_begin

Three mechanisms meet a skew plane or each other: a ball with an uneven mass, an arm on a skew hinge in millimetres, and
two uneven balls. Their equations and the law of METHODS 8.1 and 8.2 are written anew here, and DOP853 integrates them
from touch to touch. A step meets the touch anywhere within it, so an error is the mean of runs with steps beside each
other. Balls are declared contacts, and contact sets (METHODS 8.10).
"""

import sys
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import rtmbs
from rtmbs import contact
from rtmbs.system import System

Array = NDArray[np.float64]

RELAXES, ELASTIC, SLACK, SMALL = 2e-3, 0.5, 1e-6, 0.1  # METHODS 8.2
STEPS, PHASES = (40, 80, 160), 8  # steps of a run; runs of a size
MOST = 2e-5  # of a step of the reference [s]


class Law(NamedTuple):
    """Law of a contact: normal force and bristle."""

    stiffness: float
    exponent: float
    dissipation: float
    friction: float
    tangential_stiffness: float
    damping_time: float

    def force(self, gap: float, leaving: float, s: Array, slip: Array, slack: float) -> tuple[float, Array, Array]:
        """Return the normal force, the friction (k,) and the rate of the bristle (k,) without turns."""
        N = self.stiffness * max(-gap, 0.0) ** self.exponent * max(1.0 - self.dissipation * leaving, 0.0)
        k, limit, size = self.tangential_stiffness, self.friction * N, float(np.sqrt(s @ s + 1e-40))
        whole, u = limit + k * slack, s / size
        q = k * size / whole
        a = min(max((q - ELASTIC) / (1.0 - ELASTIC), 0.0), 1.0)
        a = a * a * (3.0 - 2.0 * a)
        beyond = min(max(q - 1.0, 0.0), 1.0) if limit > 0.0 else 1.0
        rate = limit / whole * (slip - a * q * max(float(slip @ u), 0.0) * u) - beyond * s / RELAXES
        wanted = k * (s + self.damping_time * (1.0 - a) * slip)
        return N, -wanted * min(1.0, limit / (float(np.linalg.norm(wanted)) + 1e-300)), rate


class Case:
    """A mechanism with equations of its own: start (n,), ``rate`` and ``gap`` of a state."""

    name: str
    law: Law
    start: Array
    end = 0.012  # [s]
    in_set = False  # a contact set in place of a declared contact

    def add_contact(self, model: rtmbs.Model, one: Any, other: Any) -> None:
        """Add the contact of two sides."""
        law: dict[str, Any] = self.law._asdict()
        if self.in_set:
            model.add_contacts("c", [one, other], **law)
        else:
            model.add_contact("c", one, other, **law)

    @cached_property
    def slack(self) -> float:
        """Slack of the bristle: smaller where the characteristic length is below 0.1."""
        return SLACK * min(1.0, self.system().length / SMALL)

    def rate(self, y: Array) -> Array:
        """Return the rate of the state (n,)."""
        raise NotImplementedError

    def gap(self, y: Array) -> float:
        """Return the gap [length]."""
        raise NotImplementedError

    def system(self) -> System:
        """Return the mechanism of rtmbs."""
        raise NotImplementedError

    def missed(self, sim: rtmbs.Simulation, y: Array) -> float:
        """Return the largest error of places and rates of ``sim``, over typical ones, beside the state ``y``."""
        raise NotImplementedError

    def exact(self) -> Array:
        """Return the state (n,) at the end, integrated from touch to touch."""

        def touch(_: float, y: Array) -> float:
            return self.gap(y)

        touch.terminal = True  # type: ignore[attr-defined]
        t, y, closed = 0.0, self.start, False
        while t < self.end:  # ends of a contact too
            touch.direction = 1.0 if closed else -1.0  # type: ignore[attr-defined]
            part = solve_ivp(lambda _, x: self.rate(x), (t, self.end), y, "DOP853", rtol=1e-12, atol=1e-14 * self.size,
                             max_step=MOST, events=touch)  # fmt: skip
            t, y, closed = float(part.t[-1]), part.y[:, -1], not closed
        return y

    size = 1.0  # length of the unit of a metre


class UnevenBall(Case):
    """A ball of a seed with its mass centre beside its middle, 2 mm above a skew plane."""

    radius = 0.1

    def __init__(self, seed: int, in_set: bool = False) -> None:
        rng, self.in_set = np.random.default_rng(seed), in_set
        self.name, n = f"uneven ball {seed}" + ", set" * in_set, rng.normal(size=3)
        self.n = n / np.linalg.norm(n)
        A = rng.normal(size=(3, 3))
        inertia = A @ A.T + 0.5 * np.eye(3)
        trace = float(np.trace(inertia))
        self.inertia = 2e-3 * (0.5 * trace * np.eye(3) + 0.3 * (inertia - trace / 3.0 * np.eye(3)))
        self.mass, exponent = float(rng.uniform(0.5, 2.0)), float(rng.choice([1.0, 1.5]))
        self.law = Law(2e4, exponent, 0.3, 0.4, 8e3, 2e-3)
        middle, self.center, self.x = 0.01 * rng.normal(size=3), 0.02 * rng.normal(size=3), rng.normal(size=3)
        self.middle, self.point = middle - self.center, self.x + middle - self.n * (self.radius + 2e-3)
        v, w = -self.n + 0.5 * rng.normal(size=3), 4.0 * rng.normal(size=3)
        self.gravity, self.across = -9.0 * self.n + rng.normal(size=3), plane_across(self.n)
        v = v + np.cross(w, self.center)
        self.start = np.concatenate((self.x + self.center, (0, 0, 0, 1), v, w, (0, 0)))

    def gap(self, y: Array) -> float:
        """Return the gap [m]."""
        return float((y[:3] + axes(y[3:7]) @ self.middle - self.point) @ self.n) - self.radius

    def rate(self, y: Array) -> Array:
        """Return the rate of place, quaternion, velocity, angular velocity and bristle (15,)."""
        R, v, w = axes(y[3:7]), y[7:10], y[10:13]
        arm = R @ self.middle - self.radius * self.n
        speed = v + np.cross(w, arm)
        N, friction, bristle = self.law.force(
            self.gap(y), float(speed @ self.n), y[13:], self.across @ speed, self.slack
        )
        F, own = N * self.n + self.across.T @ friction, R @ self.inertia @ R.T
        turn = np.linalg.solve(own, np.cross(arm, F) - np.cross(w, own @ w))
        return np.concatenate((v, turning(y[3:7], w), F / self.mass + self.gravity, turn, bristle))

    def system(self) -> System:
        """Return the mechanism of rtmbs."""
        m, at = rtmbs.Model("ball", gravity=self.gravity), self.x + self.center
        body = m.add_body("ball", mass=self.mass, inertia=self.inertia, center_of_mass=self.center, position=self.x)
        m.add_joint("free", rtmbs.Floating(), m.ground, body, point=at)
        m.set_initial("free", rate=tuple(self.start[7:13]))
        sphere = rtmbs.Sphere(self.radius, center=self.middle + self.center)
        self.add_contact(m, ("ground", contact.Plane(self.point, self.n)), (body, sphere))
        return m.compile()

    def missed(self, sim: rtmbs.Simulation, y: Array) -> float:
        """Return the largest error in places [m] and tenths of angular velocities [rad/s]."""
        away = np.asarray(sim["ball.position"]) - (y[:3] - axes(y[3:7]) @ self.center)
        turns = np.asarray(sim["ball.angular_velocity"]) - y[10:13]
        return float(max(np.abs(away).max(), 0.1 * np.abs(turns).max()))


class HingedArm(Case):
    """An arm on a skew hinge whose ball meets a skew plane; millimetres, kilograms and seconds."""

    name, size = "arm on a skew hinge, mm", 1e3

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.axis, self.n = (x / np.linalg.norm(x) for x in rng.normal(size=(2, 3)))
        self.arm = 300.0 * np.cross(self.axis, rng.normal(size=3)) + 40.0 * self.axis
        way = float(np.cross(self.axis, self.arm) @ self.n)  # of the ball along the normal, for each radian
        self.radius, self.inertia = 30.0, 1.5 * float(self.arm @ self.arm)
        self.point = self.arm - self.n * (self.radius + 2.0)
        self.law = Law(4e7 / 1e3**0.5, 1.5, 1e-4, 0.9, 2e4, 2e-3)
        self.across, self.start = plane_across(self.n), np.array([0.0, -800.0 / way, 0.0, 0.0])

    def ball(self, angle: float) -> Array:
        """Return the middle (3,) of the ball [mm]."""
        a, x, c, s = self.axis, self.arm, np.cos(angle), np.sin(angle)
        return np.asarray(c * x + s * np.cross(a, x) + (1.0 - c) * (a @ x) * a)

    def gap(self, y: Array) -> float:
        """Return the gap [mm]."""
        return float((self.ball(y[0]) - self.point) @ self.n) - self.radius

    def rate(self, y: Array) -> Array:
        """Return the rate of angle, its rate and bristle (4,)."""
        x = self.ball(y[0]) - self.radius * self.n
        lever = np.cross(self.axis, x)
        speed = y[1] * lever
        N, friction, bristle = self.law.force(
            self.gap(y), float(speed @ self.n), y[2:], self.across @ speed, self.slack
        )
        F = N * self.n + self.across.T @ friction
        return np.array([y[1], float(F @ lever) / self.inertia, *bristle])

    def system(self) -> System:
        """Return the mechanism of rtmbs."""
        m = rtmbs.Model("arm", gravity=(0, 0, 0))
        m.add_body("arm", mass=1.0, inertia=self.inertia * np.eye(3))
        m.add_joint("hinge", rtmbs.Revolute(axis=self.axis), "ground", "arm", point=(0, 0, 0))
        m.set_initial("hinge", rate=float(self.start[1]))
        sphere = rtmbs.Sphere(self.radius, center=self.arm)
        self.add_contact(m, ("ground", contact.Plane(self.point, self.n)), ("arm", sphere))
        return m.compile()

    def missed(self, sim: rtmbs.Simulation, y: Array) -> float:
        """Return the largest error of the angle [rad], and of its rate over that of the start."""
        away = abs(float(sim["hinge.angle"]) - y[0])
        return max(away, abs(float(sim["hinge.rate"]) - y[1]) / abs(float(self.start[1])))


class TwoBalls(Case):
    """Two balls of uneven masses and radii that hit each other aslant; the bristle turns with the mean of both."""

    def __init__(self, seed: int, in_set: bool = False) -> None:
        rng, self.in_set = np.random.default_rng(seed), in_set
        self.name = f"two uneven balls {seed}" + ", set" * in_set
        self.mass, self.radius = (0.5, 2.0), (0.06, 0.11)
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        self.inertia = tuple(0.4 * m * r * r for m, r in zip(self.mass, self.radius, strict=True))
        x = rng.normal(size=3)
        v, w = 0.4 * rng.normal(size=(2, 3)), 3.0 * rng.normal(size=(2, 3))
        v[1] -= n * (1.0 + (v[1] - v[0]) @ n)
        self.law = Law(3e4, 1.5, 0.3, 0.9, 6e2, 2e-3)
        self.start = np.concatenate((x, x + n * (sum(self.radius) + 2e-3), *v, *w, np.zeros(3)))

    def gap(self, y: Array) -> float:
        """Return the gap [m]."""
        return float(np.linalg.norm(y[3:6] - y[:3])) - sum(self.radius)

    def rate(self, y: Array) -> Array:
        """Return the rate of places, velocities, angular velocities and the bristle in world axes (21,)."""
        a, b, va, vb, wa, wb, s = y.reshape(7, 3)
        n = (b - a) / np.linalg.norm(b - a)
        gap = self.gap(y)
        on_a, on_b = n * (self.radius[0] + 0.5 * gap), -n * (self.radius[1] + 0.5 * gap)
        speed = vb + np.cross(wb, on_b) - va - np.cross(wa, on_a)
        leaving, out = float(speed @ n), float(s @ n)
        N, friction, bristle = self.law.force(gap, leaving, s - out * n, speed - leaving * n, self.slack)
        bristle = bristle - out / RELAXES * n + np.cross(0.5 * (wa + wb), s)
        F = N * n + friction
        turns = np.cross(on_a, -F) / self.inertia[0], np.cross(on_b, F) / self.inertia[1]
        return np.concatenate((va, vb, -F / self.mass[0], F / self.mass[1], *turns, bristle))

    def system(self) -> System:
        """Return the mechanism of rtmbs."""
        m = rtmbs.Model("balls", gravity=(0, 0, 0))
        for k, (x, v, w) in enumerate(zip(*self.start[:18].reshape(3, 2, 3), strict=True)):
            name, inertia = f"b{k}", self.inertia[k] * np.eye(3)
            m.add_body(name, mass=self.mass[k], inertia=inertia, position=x, shape=rtmbs.Sphere(self.radius[k]))
            m.add_joint(f"free{k}", rtmbs.Floating(), "ground", name, point=x)
            m.set_initial(f"free{k}", rate=(*v, *w))
        self.add_contact(m, "b0", "b1")
        return m.compile()

    def missed(self, sim: rtmbs.Simulation, y: Array) -> float:
        """Return the largest error in places [m] and tenths of angular velocities [rad/s]."""
        found = [np.asarray(sim[f"b{k}.{what}"]) for what in ("position", "angular_velocity") for k in range(2)]
        away = np.abs(np.stack(found) - y[[0, 1, 2, 3, 4, 5, 12, 13, 14, 15, 16, 17]].reshape(4, 3))
        return float(max(away[:2].max(), 0.1 * away[2:].max()))


def plane_across(n: Array) -> Array:
    """Return two unit vectors (2, 3) across a normal."""
    x = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    x /= np.linalg.norm(x)
    return np.array([x, np.cross(n, x)])


def turning(q: Array, w: Array) -> Array:
    """Return the rate (4,) of a quaternion, scalar last, that turns with w in world axes."""
    return np.concatenate((0.5 * (q[3] * w + np.cross(w, q[:3])), [-0.5 * float(w @ q[:3])]))


def axes(q: Array) -> Array:
    """Return the rotation (3, 3) of a quaternion, scalar last."""
    x, y, z, w = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def errors(case: Case, steps: Sequence[int] = STEPS, phases: int = PHASES, method: rtmbs.TRBDF2 | None = None) -> Array:
    """Return the mean error of runs with each number of steps, and ``phases`` - 1 numbers behind it."""
    system, y = case.system(), case.exact()
    found = np.zeros((len(steps), phases))
    for row, count in enumerate(steps):
        for k in range(phases):
            sim = rtmbs.Simulation(system, h=case.end / (count + k), method=method or rtmbs.TRBDF2())
            sim.run(case.end)
            found[row, k] = case.missed(sim, y)
    return np.asarray(found.mean(axis=1))


def cases() -> list[Case]:
    """Return the mechanisms."""
    declared = [
        *(UnevenBall(seed) for seed in (1, 4, 5, 6, 7, 8)),
        HingedArm(2),
        HingedArm(3),
        TwoBalls(1),
        TwoBalls(2),
    ]
    return [*declared, *(UnevenBall(seed, True) for seed in (1, 4, 5, 6, 8)), TwoBalls(1, True), TwoBalls(2, True)]


def main() -> int:
    """Print a row for every mechanism."""
    print(f"| mechanism | errors with {', '.join(map(str, STEPS))} steps | order |\n|---|---|---|")
    for case in cases():
        found = errors(case)
        finer = (2 * STEPS[-1] + PHASES - 1) / (2 * STEPS[0] + PHASES - 1)  # of mean numbers of steps
        order = np.log(found[0] / found[-1]) / np.log(finer)
        print(f"| {case.name} | {', '.join(f'{one:.1e}' for one in found)} | {order:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
