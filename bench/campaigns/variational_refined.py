"""``refined`` with the variational midpoint rule: orders on smooth mechanisms, estimates on irregular ones.

Orders: random planar mechanisms, against equations of their own. The order of a quantity is that of its largest error
over all bodies and samples, from a step to half of it: of the last two steps whose errors are above rounding. No order
is lower than it should be. One that is higher counts against the method only where the pair of steps before shows the
same, within CONSTANT: errors of small motions may fall faster until rounding hides them.
Estimates: the campaign ``refined-errors`` with this method.
"""

import numpy as np

from bench.campaigns import refined_errors
from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.own_mechanisms import planar_model
from bench.campaigns.variational_orders import KINDS, errors_at
from rtmbs import Simulation, VariationalMidpoint, refined

TURNS = {2: 0.08, 3: 0.24}  # runs: of the fastest part at the start, in the longest step [rad]
ORDERS = {2: (3.9, 4.1), 3: (5.8, 6.2)}
HALVINGS, STEPS, SAMPLES = 7, 32, 8  # halvings at most: until errors are below DEEP
ROUNDING = 4e-12  # of the size: errors below it show no order
FAR, DEEP = {2: 1e-5, 3: 1e-8}, {2: 3e-10, 3: 3e-11}  # of the size: errors from which steps show an order, and the last
CONSTANT = 0.2
RTOL = 1e-13
FINE = VariationalMidpoint(tol=1e-13)


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with the orders of one mechanism."""
    rng = np.random.default_rng((seed, 3303))
    rate = float(10.0 ** rng.uniform(-1.0, 2.0))
    both = planar_model(rng, KINDS[seed % len(KINDS)], rate, 9.81 * min(rate, 1.0) ** 2)
    system, t_end = both.model.compile(), STEPS * TURNS[2] / rate
    times = t_end * np.arange(1, SAMPLES + 1) / SAMPLES
    start = Simulation(system, t_end / STEPS, FINE)
    exact = {**both.motion(start, times, RTOL, np.inf), "reaction": both.pulls(start, times, RTOL)}
    wrong: list[str] = []
    for runs, (least, most) in ORDERS.items():
        steps = round(t_end * rate / TURNS[runs] / SAMPLES) * SAMPLES
        errors: dict[str, list[float]] = {}
        for k in range(HALVINGS):
            if k > 1 and max(found[-1] for found in errors.values()) < DEEP[runs]:
                break
            count = steps * 2**k
            result = refined(system, t_end / count, t_end, runs=runs, method=FINE, threads=1)
            for name, error in errors_at(result, exact, count // SAMPLES * np.arange(1, SAMPLES + 1)).items():
                errors.setdefault(name, []).append(error)
        for name, found in errors.items():
            seen = [k for k in range(1, len(found)) if found[k] > ROUNDING and found[k - 1] < FAR[runs]]
            if not seen:
                key = f"orders of {runs} runs that rounding or a wild motion hides"
                tally.largest(key, tally.worst.get(key, 0.0) + 1.0)
                continue
            orders = [float(np.log2(found[k - 1] / found[k])) for k in seen]
            order = orders[-1]
            tally.largest(f"order of {name} in {runs} runs", order)
            tally.largest(f"less than {2 * runs}, {name}", 2.0 * runs - order)
            constant = len(orders) > 1 and abs(orders[-1] - orders[-2]) < CONSTANT
            if order < least or (constant and order > most):
                wrong.append(f"{runs} runs, {name} {order:.2f} ({', '.join(f'{one:.1e}' for one in found)})")
    return f"{KINDS[seed % len(KINDS)]}, {rate:.3g} rad/s: {'; '.join(wrong)}" if wrong else ""


def run(cases: int, seed: int) -> Tally:
    """Measure the orders of every mechanism, and the estimates of as many irregular ones."""
    tally = each(judged, cases, seed)
    other = refined_errors.run(cases, seed, VariationalMidpoint())
    for name, value in other.worst.items():
        tally.largest(name, value)
    for _ in range(other.survived):
        tally.survive()
    for failure in other.failures:
        tally.fail(failure)
    return tally


CAMPAIGN = Campaign(
    "variational refined",
    "two runs of the variational midpoint rule have order 3.9 to 4.1 and three 5.8 to 6.2 in positions, velocities,"
    " accelerations and reactions of smooth mechanisms, and estimates are at least a third of the error of any",
    full=500,
    bounded=10,
    run=run,
)
