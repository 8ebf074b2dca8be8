"""Begin of a contact with friction: what two rules for the bristle in that step would bring.

    python -m bench.touch_begin [1] [4]

A ball with an uneven mass meets a skew plane. Newton and Euler's equations and the law of METHODS 8.1 and 8.2 are
written anew here, with TR-BDF2. DOP853 is the reference. Nothing of rtmbs takes part.
"""

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import root

Array = NDArray[np.float64]

RELAXES, ELASTIC, END = 2e-3, 0.5, 0.024
STIFFNESS, DISSIPATION, MU, TANGENTIAL, DAMPING_TIME, RADIUS = 2e4, 0.3, 0.4, 8e3, 2e-3, 0.1
GAMMA = 2.0 - np.sqrt(2.0)
STEPS = 4e-4, 2e-4, 1e-4
BRISTLE = slice(13, 15)  # of the state: place, quaternion, velocity, angular velocity, bristle


class Ball:
    """A ball of a seed, 2 mm above its plane, with the slack of its bristle [m]."""

    def __init__(self, seed: int, slack: float) -> None:
        rng = np.random.default_rng(seed)
        n = rng.normal(size=3)
        self.n, self.slack = n / np.linalg.norm(n), slack
        A = rng.normal(size=(3, 3))
        inertia = A @ A.T + 0.5 * np.eye(3)
        trace = float(np.trace(inertia))
        inertia = 0.5 * trace * np.eye(3) + 0.3 * (inertia - trace / 3.0 * np.eye(3))
        self.inertia = 2e-3 * inertia
        self.mass, self.exponent = float(rng.uniform(0.5, 2.0)), float(rng.choice([1.0, 1.5]))
        middle, self.center, x = 0.01 * rng.normal(size=3), 0.02 * rng.normal(size=3), rng.normal(size=3)
        self.middle, self.point = middle - self.center, x + middle - self.n * (RADIUS + 2e-3)
        v, w = -self.n + 0.5 * rng.normal(size=3), 4.0 * rng.normal(size=3)
        self.gravity = -9.0 * self.n + rng.normal(size=3)
        across = np.cross(self.n, np.eye(3)[np.argmin(np.abs(self.n))])
        across /= np.linalg.norm(across)
        self.across = np.array([across, np.cross(self.n, across)])
        self.start = np.r_[x + self.center, 0, 0, 0, 1, v + np.cross(w, self.center), w, 0, 0]

    def place(self, y: Array) -> tuple[Array, float, Array]:
        """Return the axes (3, 3), the gap [m] and the arm (3,) of the lowest point [m]."""
        R = axes(y[3:7])
        middle = y[:3] + R @ self.middle
        return R, float((middle - self.point) @ self.n) - RADIUS, middle - RADIUS * self.n - y[:3]

    def rate(self, y: Array) -> Array:
        """Return the rate of the state (15,)."""
        (R, gap, arm), v, w, s, k = self.place(y), y[7:10], y[10:13], y[BRISTLE], TANGENTIAL
        speed = v + np.cross(w, arm)
        slip, N = self.across @ speed, STIFFNESS * max(-gap, 0.0) ** self.exponent
        N *= max(1.0 - DISSIPATION * float(speed @ self.n), 0.0)
        limit, size = MU * N, float(np.sqrt(s @ s + 1e-32))
        whole = limit + k * self.slack
        q, share, u = k * size / whole, limit / whole, s / size
        a = min(max((q - ELASTIC) / (1.0 - ELASTIC), 0.0), 1.0)
        a = a * a * (3.0 - 2.0 * a)
        beyond = min(max(q - 1.0, 0.0), 1.0) if limit > 0.0 else 1.0
        bristle = share * (slip - a * q * max(float(slip @ u), 0.0) * u) - beyond * s / RELAXES
        wanted = k * (s + DAMPING_TIME * (1.0 - a) * slip)
        F = N * self.n - self.across.T @ wanted * min(1.0, limit / (float(np.linalg.norm(wanted)) + 1e-300))
        own = R @ self.inertia @ R.T
        turn = np.linalg.solve(own, np.cross(arm, F) - np.cross(w, own @ w))
        quaternion = 0.5 * np.r_[y[6] * w + np.cross(w, y[3:6]), -w @ y[3:6]]
        return np.concatenate((v, quaternion, F / self.mass + self.gravity, turn, bristle))

    def result(self, y: Array) -> Array:
        """Return place [m] and a tenth of the angular velocity [rad/s] (6,)."""
        return np.r_[y[:3] - axes(y[3:7]) @ self.center, 0.1 * y[10:13]]


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


def solved(ball: Ball, base: Array, half: float, guess: Array, begin: tuple[Array, float, float] | None) -> Array:
    """Return y = base + half rate(y); the bristle by the rule from the touch where ``begin`` is given.

    begin : where the stage begins, which is open: the state, its gap [m] and the length of the stage [s]
    """

    def left(y: Array) -> Array:
        rate = ball.rate(y)
        found = y - base - half * rate
        if begin is not None and (gap := ball.place(y)[1]) < 0.0:
            share = -gap / (begin[1] - gap) if begin[1] > 0.0 else 1.0
            found[BRISTLE] = y[BRISTLE] - begin[0][BRISTLE] - share * begin[2] * rate[BRISTLE]
        return np.asarray(found)

    tries: list[Callable[[], Array]] = [lambda: guess, lambda: base, lambda: base + half * ball.rate(base)]
    for start in tries:
        found = root(left, start(), method="hybr", options={"xtol": 1e-13})
        if np.abs(found.fun).max() < 1e-8:
            return np.asarray(found.x)
    raise ArithmeticError("a stage has no solution")


def moved(ball: Ball, h: float, from_touch: bool) -> Array:
    """Return the result (6,) of steps of ``h`` [s] by TR-BDF2."""
    y, newer, older = ball.start, 1.0 / (GAMMA * (2.0 - GAMMA)), (1.0 - GAMMA) ** 2 / (GAMMA * (2.0 - GAMMA))
    for _ in range(round(END / h)):
        rate, gap, half = ball.rate(y), ball.place(y)[1], 0.5 * GAMMA * h
        opens = from_touch and gap > 0.0
        first = solved(ball, y + half * rate, half, y + 2.0 * half * rate, (y, gap, GAMMA * h) if opens else None)
        later, second = (1.0 - GAMMA) * h, (1.0 - GAMMA) / (2.0 - GAMMA) * h
        begin = (first, ball.place(first)[1], later) if opens else None
        y = solved(ball, newer * first - older * y, second, first + later * ball.rate(first), begin)
    return ball.result(y)


def main(arguments: list[str]) -> int:
    """Print a row for every seed given, or for two."""
    print("| seed | slack [m] | rule | errors with h = 0.4, 0.2, 0.1 ms |\n|---|---|---|---|")
    for seed in [int(one) for one in arguments] or [1, 4]:
        for slack, from_touch in ((1e-6, False), (1e-6, True), (1e-9, True)):
            ball = Ball(seed, slack)
            exact = solve_ivp(
                lambda t, y, ball=ball: ball.rate(y), (0.0, END), ball.start, "DOP853", rtol=1e-10, atol=1e-12,
                max_step=1e-4,
            )  # fmt: skip
            wanted = ball.result(exact.y[:, -1])
            errors = [float(np.abs(moved(ball, h, from_touch) - wanted).max()) for h in STEPS]
            rule = "from the touch" if from_touch else "as it is"
            print(f"| {seed} | {slack:.0e} | {rule} | {', '.join(f'{one:.1e}' for one in errors)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
