"""The order of the variational midpoint rule on random mechanisms, against equations of their own.

Half of the mechanisms are planar, with reactions. The others are in space: skew axes, all joints, floating bases,
loops, couplers.

Runs of h, h/2 and h/4; the order of a quantity is that of the largest error of a run, over all bodies and samples, from
the second to the third. A motion that multiplies errors is no measure of an order: a case whose second run is further
off than FAR, of the largest value, is counted and not judged. A spring whose ends pass close by each other turns its
pull within a step. There errors fall faster at first, and the order is that of finer steps: up to three halvings more.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.campaigns import spatial_mechanisms
from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.own_mechanisms import planar_model
from rtmbs import At, Model, Result, Simulation, VariationalMidpoint
from rtmbs.integrators.contract import Method

KINDS = "chain", "space", "crank_rocker", "space", "slider_crank", "space", "rotor", "space", "planar", "space"
LEAST, MOST = 1.95, 2.05
TURN = 0.01  # of the fastest part at the start, in the longest step [rad]
STEPS = 128  # of the longest in a run
SAMPLES = 8
RTOL = 1e-12
ROUNDING = 1e-8  # of the size: errors below it show no order
FINER, DEEP = 3, 1e-10  # halvings more of a case that shows another order, and its rounding
FAR = 5e-4
QUANTITIES = "position", "velocity", "acceleration"
VARIATIONAL = VariationalMidpoint()

Array = NDArray[np.float64]


class Case(NamedTuple):
    """A mechanism with exact channels."""

    model: Model
    rate: float  # of its fastest part at the start [1/s]
    exact: Callable[[Simulation, Array, float], dict[str, Array]]  # from a Simulation, at times, with rtol
    text: str
    in_space: bool


def case_of(seed: int, number: int) -> Case:
    """Return a random mechanism; ``number`` tells draws of one seed apart."""
    kind = KINDS[seed % len(KINDS)]
    if kind == "space":
        space = spatial_mechanisms.drawn(seed)

        def in_space(start: Simulation, times: Array, rtol: float) -> dict[str, Array]:
            found = spatial_mechanisms.exact_channels(space.model, start, times, rtol)
            return {**found, "reaction": spatial_mechanisms.no_pulls(times)}

        return Case(space.model, space.rate, in_space, space.text, True)
    rng = np.random.default_rng((seed, number))
    rate = float(10.0 ** rng.uniform(-1.0, 2.0))
    both = planar_model(rng, kind, rate, 9.81 * min(rate, 1.0) ** 2)

    def planar(start: Simulation, times: Array, rtol: float) -> dict[str, Array]:
        return {**both.motion(start, times, rtol, np.inf), "reaction": both.pulls(start, times, rtol)}

    return Case(both.model, rate, planar, f"{kind}, {rate:.3g} rad/s", False)


def errors_of(sim: Simulation, exact: dict[str, Array], times: Array) -> dict[str, float]:
    """Return the largest error of every quantity in a run, each over the largest value."""
    return errors_at(sim.run(float(times[-1]), record=At(times)), exact, np.arange(-len(times), 0))


def errors_at(result: Result, exact: dict[str, Array], last: NDArray[np.int64]) -> dict[str, float]:
    """Return the largest error of every quantity at the samples ``last`` of a result, each over the largest value."""
    pulls, found = exact["reaction"], {}
    for name in QUANTITIES:
        channels = [channel for channel in exact if channel.endswith(name)]
        size = max(float(np.abs(exact[channel]).max()) for channel in channels)
        found[name] = max(float(np.abs(result[c][last] - exact[c]).max()) for c in channels) / max(size, 1e-300)
    if pulls.shape[1]:
        forces = np.stack([result[f"j{k}.reaction"][last][:, :2] for k in range(pulls.shape[1])], axis=1)
        found["reaction"] = float(np.abs(forces - pulls).max() / np.abs(pulls).max())
    return found


def judged(seed: int, tally: Tally, method: Method = VARIATIONAL) -> str:
    """Return what is wrong with the orders of a method on one mechanism."""
    case = case_of(seed, 3301)
    system, h = case.model.compile(), TURN / case.rate
    times = h * STEPS * np.arange(1, SAMPLES + 1) / SAMPLES
    start = Simulation(system, h, method)
    exact = case.exact(start, times, RTOL)
    runs = [errors_of(Simulation(system, h / parts, method), exact, times) for parts in (1, 2, 4)]
    if max(runs[1].values()) > FAR:
        tally.largest("cases that are not judged", tally.worst.get("cases that are not judged", 0.0) + 1.0)
        return ""
    names = [name for name in runs[0] if runs[2][name] > ROUNDING]
    orders = {name: order_of(runs, name) for name in names}
    if any(not LEAST <= order <= MOST for order in orders.values()):
        tally.largest("cases of finer steps", tally.worst.get("cases of finer steps", 0.0) + 1.0)
        runs += [errors_of(Simulation(system, h / 2**k, method), exact, times) for k in range(3, 3 + FINER)]
        orders = {name: order_of(runs, name) for name in names}
    wrong: list[str] = []
    for name, order in orders.items():
        tally.largest(f"order of {name}", order)
        tally.largest(f"less than two, {name}", 2.0 - order)
        if not LEAST <= order <= MOST:
            wrong.append(f"{name} {order:.2f} ({', '.join(f'{found[name]:.1e}' for found in runs)})")
    return f"{case.text}: {'; '.join(wrong)}" if wrong else ""


def order_of(runs: list[dict[str, float]], name: str) -> float:
    """Return the order of a quantity from the last two runs, each of half the step, whose errors are above rounding."""
    last = max(k for k in range(2, len(runs)) if k == 2 or runs[k][name] > DEEP)
    return float(np.log2(runs[last - 1][name] / runs[last][name]))


def run(cases: int, seed: int) -> Tally:
    """Measure the orders of every mechanism."""
    return each(judged, cases, seed)


CAMPAIGN = Campaign(
    "variational orders",
    f"positions, velocities, accelerations and reactions of the variational midpoint rule have order {LEAST} to {MOST}"
    " against equations of their own",
    full=1000,
    bounded=25,
    run=run,
)
