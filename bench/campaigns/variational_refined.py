"""``refined`` with the variational midpoint rule: orders on smooth mechanisms, estimates on irregular ones.

Orders: random mechanisms in the plane and in space, against equations of their own. The order of a quantity is that of
its largest error over all bodies and samples, from a step to half of it: of the last two steps whose errors are above
rounding. No order is lower than it should be. One may be higher: the leading coefficient of a small motion may be
small, and errors then fall faster until rounding hides them. Errors a h^6 + b h^8 of opposite signs fall to nearly
nothing at one step, by a power of ten and more, and by less than the sixth power from there to the next one. In both
cases the estimate must be honest: no error of the finest result exceeds it.
Estimates: the campaign ``refined-errors`` with this method.
"""

import numpy as np
from numpy.typing import NDArray

from bench.campaigns import refined_errors
from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.variational_orders import QUANTITIES, case_of, errors_at
from rtmbs import RefinedResult, Simulation, VariationalMidpoint, refined

Array = NDArray[np.float64]

TURNS = {2: 0.08, 3: 0.24}  # runs: of the fastest part at the start, in the longest step [rad]
ORDERS = {2: (3.9, 4.1), 3: (5.8, 6.2)}
HALVINGS, STEPS, SAMPLES = 7, 32, 8  # halvings at most: until errors are below DEEP
ROUNDING = {True: 4e-10, False: 4e-12}  # of the size, in space and in the plane: errors below it show no order
FAR, DEEP = {2: 1e-5, 3: 1e-8}, {2: 3e-10, 3: 3e-11}  # of the size: errors from which steps show an order, and the last
SIGN = 10.0  # order of errors that change their sign between two steps
RTOL = 1e-13
FINE = VariationalMidpoint(tol=1e-13)


def beyond_estimate(result: RefinedResult, exact: dict[str, Array], last: NDArray[np.int64], rounding: float) -> float:
    """Return the largest error at the samples ``last`` over its estimate and rounding."""
    worst = 0.0
    for channel, true in exact.items():
        if channel != "reaction":
            quantity = next(one for one in QUANTITIES if channel.endswith(one))
            size = max(float(np.abs(exact[one]).max()) for one in exact if one.endswith(quantity))
            off = np.abs(result[channel][last] - true)
            told = result.error(channel)[last] + rounding * size
            worst = max(worst, float(np.nanmax(off / told)))
    return worst


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with the orders of one mechanism."""
    case = case_of(seed, 3303)
    system, rate = case.model.compile(), case.rate
    t_end, rounding = STEPS * TURNS[2] / rate, ROUNDING[case.in_space]
    times = t_end * np.arange(1, SAMPLES + 1) / SAMPLES
    start = Simulation(system, t_end / STEPS, FINE)
    exact = case.exact(start, times, RTOL)
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
        over = beyond_estimate(result, exact, count // SAMPLES * np.arange(1, SAMPLES + 1), rounding)
        tally.largest(f"error over its estimate, {runs} runs", over)
        for name, found in errors.items():
            seen = [k for k in range(1, len(found)) if found[k] > rounding and found[k - 1] < FAR[runs]]
            if not seen:
                key = f"orders of {runs} runs that rounding or a wild motion hides"
                tally.largest(key, tally.worst.get(key, 0.0) + 1.0)
                continue
            orders = [float(np.log2(found[k - 1] / found[k])) for k in seen]
            order = orders[-1]
            tally.largest(f"order of {name} in {runs} runs", order)
            tally.largest(f"less than {2 * runs}, {name}", 2.0 * runs - order)
            changed = (
                len(orders) == 1 and seen[0] > 1 and float(np.log2(found[seen[0] - 2] / found[seen[0] - 1])) > SIGN
            )
            if changed and order < least:
                key = f"orders of {runs} runs behind a change of sign"
                tally.largest(key, tally.worst.get(key, 0.0) + 1.0)
            if (order < least and not changed) or (not least <= order <= most and over > 1.0):
                wrong.append(
                    f"{runs} runs, {name} {order:.2f} ({', '.join(f'{one:.1e}' for one in found)}), {over:.2f}"
                )
            if order > most:
                key = f"quantities of {runs} runs that fall faster, with an honest estimate"
                tally.largest(key, tally.worst.get(key, 0.0) + 1.0)
    return f"{case.text}: {'; '.join(wrong)}" if wrong else ""


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
    "two runs of the variational midpoint rule have order 3.9 at least and three 5.8 in positions, velocities,"
    " accelerations and reactions of smooth mechanisms; above 4.1 and 6.2 no error exceeds its estimate; and estimates"
    " are at least a third of the error of any",
    full=500,
    bounded=10,
    run=run,
)
