"""Trajectories and identification by exact gradients: a swing-up, a torque of a four-bar, stiffness and damping.

python -m bench.trajectories
"""

import time

import numpy as np
from scipy.optimize import least_squares, minimize

import rtmbs
from bench.batches import cart_pole

TIGHT = rtmbs.PenaltyTrapezoidal(tol=1e-12, projection_tol=1e-13)


def swing_up() -> None:
    """Force over time that takes a pole from hanging to upright, at rest, with little effort."""
    model = cart_pole()
    model.set_initial("th", position=np.pi)
    sim = rtmbs.Simulation(model.compile(), h=1e-2, method=TIGHT)
    end = np.array([0.0, 0.0, 0.0, 0.0])
    names = ["x.displacement", "th.angle", "x.rate", "th.rate"]
    run = rtmbs.differentiable(sim, 1.6, names, controls=["push.force"])

    def cost(u: np.ndarray) -> tuple[float, np.ndarray]:
        value, pull_back = run.vjp(None, u)
        left = value - end
        gradient = pull_back(2.0 * left)[1][:, 0] + 2e-6 * u
        return float(left @ left + 1e-6 * u @ u), gradient

    begin = time.process_time()
    first = 8.0 * np.sin(np.linspace(0.0, 3.0 * np.pi, run.steps + 1))
    found = minimize(cost, first, jac=True, method="L-BFGS-B", options={"maxiter": 400})
    used, left = time.process_time() - begin, np.array2string(run(None, found.x), precision=3)
    print(f"swing-up: {found.nfev} runs with gradients by {len(first)} values, processor {used:.1f} s")
    print(f"  end (x, angle, rates): {left}, largest force {np.abs(found.x).max():.1f} N")


def torque_profile() -> None:
    """Torque of a four-bar's crank that turns it at one rate."""
    model = rtmbs.library.build("crank_rocker", rate=6.0)
    model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint="crank_pivot")
    sim = rtmbs.Simulation(model.compile(), h=4e-3, method=TIGHT)
    run = rtmbs.differentiable(
        sim, 1.0, lambda r: np.array([np.mean((r["crank_pivot.rate"] - 6.0) ** 2)]), controls=["push.torque"]
    )

    def cost(u: np.ndarray) -> tuple[float, np.ndarray]:
        value, pull_back = run.vjp(None, u)
        return float(value[0]), pull_back(np.ones(1))[1][:, 0]

    begin = time.process_time()
    free = float(run(None, np.zeros(run.steps + 1))[0])
    found = minimize(cost, np.zeros(run.steps + 1), jac=True, method="L-BFGS-B", options={"maxiter": 300})
    used, errors = time.process_time() - begin, np.sqrt([free, found.fun])
    print(f"four-bar: {found.nfev} runs with gradients by {run.steps + 1} values, processor {used:.1f} s")
    print(f"  root mean square error of the rate: {errors[0]:.3f} rad/s without, {errors[1]:.2e} rad/s with the torque")


def identification() -> None:
    """Stiffness, damping and first angle from noisy angles of five runs at once."""
    model = rtmbs.Model("pendulum", gravity=(0.0, 0.0, -9.81))
    model.add_body("bob", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.0, 0.0, -0.5))
    model.add_joint("hinge", rtmbs.Revolute(axis=(0, 1, 0)), "ground", "bob", point=(0, 0, 0))
    model.add_force("spring", rtmbs.TorsionSpring(stiffness=3.0, damping=0.2), joint="hinge")
    system = model.compile()
    truth, noise, rng = np.array([4.3, 0.11]), 2e-3, np.random.default_rng(3)
    runs, measured = [], []
    for angle in (0.3, 0.6, 0.9, 1.2, 1.5):
        sim = rtmbs.Simulation(system, h=1e-2)
        sim.set("hinge.angle", angle)
        run = rtmbs.differentiable(sim, 2.0, lambda r: r["hinge.angle"], ["spring.stiffness", "spring.damping"])
        runs.append(run)
        measured.append(run(truth) + noise * rng.normal(size=run.steps + 1))

    begin, count = time.process_time(), [0]

    def residual(p: np.ndarray) -> np.ndarray:
        return np.concatenate([run(p) - data for run, data in zip(runs, measured, strict=True)])

    def jacobian(p: np.ndarray) -> np.ndarray:
        count[0] += 1
        return np.vstack([run.jacobians(p)[1] for run in runs])

    found = least_squares(residual, [2.0, 0.5], jac=jacobian)
    used = time.process_time() - begin
    print(f"identification: {found.nfev} evaluations of 5 runs, {count[0]} jacobians, processor {used:.1f} s")
    print(f"  stiffness {found.x[0]:.3f} (true {truth[0]}), damping {found.x[1]:.4f} (true {truth[1]})")


def costs() -> None:
    """Time of a gradient by 100 inputs in time, over that of a run."""
    for name, model, joint in (("cart-pole", cart_pole(), "x"), ("crank-rocker", None, "crank_pivot")):
        if model is None:
            model = rtmbs.library.build("crank_rocker")
            model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint=joint)
        sim = rtmbs.Simulation(model.compile(), h=5e-3)
        control = next(one for one in sim.inputs if one.startswith("push"))
        channel = "th.angle" if name == "cart-pole" else "crank_pivot.angle"
        run = rtmbs.differentiable(sim, 99 * 5e-3, [channel], controls=[control])
        u, times = np.ones((run.steps + 1, 1)), {"run": [], "gradient": []}
        for turn in range(8):
            for what, call in (("run", run), ("gradient", run.vjp)):
                begin = time.process_time()
                call(None, u)
                if turn:
                    times[what].append(time.process_time() - begin)
        each = {what: 1e3 * float(np.median(values)) for what, values in times.items()}
        print(f"{name}: a run of 99 steps takes {each['run']:.1f} ms, with the gradient by 100 values "
              f"{each['gradient']:.1f} ms: {each['gradient'] / each['run']:.1f} runs")  # fmt: skip


if __name__ == "__main__":
    costs()
    identification()
    torque_profile()
    swing_up()
