"""A pole on a cart held by a sampled regulator that sees two noisy positions: LQR and a Kalman filter.

    python apps/kalman.py

Random forces push the cart and the pole. Encoders measure the cart and the angle with noise, every 10 ms. The filter
estimates positions and rates from these, and the regulator acts on the estimates. The covariance of its errors is
compared with the steady one of the Riccati equation. It ends with an error when they do not agree.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_discrete_are
from scipy.signal import cont2discrete

import rtmbs

PERIOD, T_END = 0.01, 40.0  # [s]
GUST, SHAKE = 0.4, 0.02  # standard deviations of the random force [N] and torque [N m], each held for a period
NOISE = {"rail": 2e-3, "pivot": 3e-3}  # standard deviations of the encoders [m], [rad]
DESIRED, EFFORT = np.diag([4.0, 10.0, 1.0, 1.0]), np.array([[0.2]])  # weights of states and of the force
SETTLED = 500  # samples after which the filter is steady

Array = np.ndarray[Any, np.dtype[np.float64]]


class Plant(NamedTuple):
    """The mechanism about its upright pose, from sample to sample: x' = A x + B u + G w, y = C x + v."""

    A: Array  # (4, 4)
    B: Array  # (4, 1) of the force of the regulator
    G: Array  # (4, 2) of the random force and torque
    C: Array  # (2, 4)
    W: Array  # (2, 2) covariance of w
    V: Array  # (2, 2) covariance of v


class Filtered(NamedTuple):
    """True states, estimates and covariances of a run."""

    true: Array  # (k, 4)
    estimates: Array  # (k, 4) before the measurement of that sample
    covariance: Array  # (4, 4) of the last sample, by the recursion of the filter
    steady: Array  # (4, 4) by the Riccati equation


def cart_pendulum() -> Any:
    """Return the cart with its pole; the regulator and two random loads act on it."""
    model = rtmbs.Model("cart_pendulum")
    model.add_body("cart", mass=1.0)
    model.add_body("pole", mass=0.1, inertia=(0.01, 0.01, 0.001), center_of_mass=(0.0, 0.0, 0.5))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", "cart", point=(0, 0, 0))
    model.add_joint("pivot", rtmbs.Revolute(axis=(0, 1, 0)), "cart", "pole", point=(0, 0, 0))
    for name, joint in (("push", "rail"), ("gust", "rail"), ("shake", "pivot")):
        model.add_force(name, rtmbs.Motor(rtmbs.Input(0.0)), joint=joint)
    return model


def sampled_plant(sim: Any) -> Plant:
    """Return the linear mechanism at the pose of ``sim``, sampled with zero-order hold."""
    inputs, outputs = ["push.force", "gust.force", "shake.torque"], ["rail.displacement", "pivot.angle"]
    lin = rtmbs.linearise(sim, inputs=inputs, outputs=outputs)
    A, B, C, _, _ = cont2discrete((lin.A, lin.B, lin.C, lin.D), PERIOD)
    return Plant(A, B[:, :1], B[:, 1:], C, np.diag([GUST**2, SHAKE**2]), np.diag([one**2 for one in NOISE.values()]))


class Regulator:
    """State feedback on the estimates of a Kalman filter; ``sim.add_controller`` calls it every period.

    Estimates are rows by the number of the sample, so that a Simulation that goes back takes the same ones again.
    """

    def __init__(self, model: Any, plant: Plant, samples: int, seed: int) -> None:
        cost = solve_discrete_are(plant.A, plant.B, DESIRED, EFFORT)
        self.gain = np.linalg.solve(EFFORT + plant.B.T @ cost @ plant.B, plant.B.T @ cost @ plant.A)
        self.plant = plant
        self.encoders = [rtmbs.Encoder(model, joint, noise=sigma, seed=seed) for joint, sigma in NOISE.items()]
        self.estimates, self.covariances = np.zeros((samples + 2, 4)), np.zeros((samples + 2, 4, 4))
        self.covariances[0] = np.diag([0.01, 0.01, 0.1, 0.1])
        self.loads = np.random.default_rng(seed).normal(size=(samples + 2, 2)) * np.sqrt(np.diag(plant.W))

    def __call__(self, sim: Any) -> dict[str, float]:
        """Return the force of the regulator and the random loads until the next sample."""
        k, (A, B, G, C, W, V) = round(sim.t / PERIOD), self.plant
        measured = np.array([encoder.read(sim)["position"] for encoder in self.encoders])
        P = self.covariances[k]
        L = np.linalg.solve(C @ P @ C.T + V, C @ P).T
        estimate = self.estimates[k] + L @ (measured - C @ self.estimates[k])
        left = np.eye(4) - L @ C  # Joseph's form keeps the covariance symmetric and positive
        P = left @ P @ left.T + L @ V @ L.T
        force = -self.gain @ estimate
        self.estimates[k + 1], self.covariances[k + 1] = A @ estimate + B @ force, A @ P @ A.T + G @ W @ G.T
        gust, shake = self.loads[k].tolist()
        return {"push.force": float(force[0]), "gust.force": gust, "shake.torque": shake}


def regulated(t_end: float = T_END, seed: int = 1) -> Filtered:
    """Return the states and estimates of a run from a leaning pole."""
    model = cart_pendulum()
    system, samples = model.compile(), round(t_end / PERIOD)
    plant = sampled_plant(rtmbs.Simulation(system, h=PERIOD))
    sim = rtmbs.Simulation(system, h=PERIOD / 4)
    sim.set("pivot.angle", 0.1)
    regulator = Regulator(model, plant, samples, seed)
    sim.add_controller(regulator, period=PERIOD)
    result = sim.run(t_end, record=rtmbs.Every(PERIOD))
    joints = ("rail.displacement", "pivot.angle", "rail.rate", "pivot.rate")
    true = np.column_stack([result[name] for name in joints])
    steady = solve_discrete_are(plant.A.T, plant.C.T, plant.G @ plant.W @ plant.G.T, plant.V)
    return Filtered(true, regulator.estimates[: len(true)], regulator.covariances[len(true) - 1], steady)


def main() -> int:
    """Print the errors of the estimates beside their predicted deviations; 1 when they do not agree."""
    found = regulated()
    errors = (found.true - found.estimates)[SETTLED:]
    predicted, seen = np.sqrt(np.diag(found.steady)), np.sqrt(np.mean(errors**2, axis=0))
    names = "cart [m]", "angle [rad]", "rate of the cart [m/s]", "rate of the angle [rad/s]"
    for name, one, other in zip(names, predicted, seen, strict=True):
        print(f"{name:26s} error of the estimate {other:.2e}, predicted {one:.2e}")
    size = np.mean(np.einsum("ki,ij,kj->k", errors, np.linalg.inv(found.steady), errors))
    riccati = np.abs(found.covariance - found.steady).max() / np.abs(found.steady).max()
    print(f"squared errors over their covariance: {size:.2f} (4 is expected); covariance from Riccati's {riccati:.1e}")
    cart, angle = np.abs(found.true[SETTLED:, :2]).max(axis=0)
    print(f"largest angle {angle:.3f} rad, largest way of the cart {cart:.3f} m")
    good = riccati < 1e-9 and np.all(np.abs(seen / predicted - 1.0) < 0.15) and 3.4 < size < 4.6
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
