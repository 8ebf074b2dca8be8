"""``refined`` with the variational midpoint rule: orders on smooth mechanisms, estimates on irregular ones.

Orders: random mechanisms in the plane and in space, against equations of their own. The order of a quantity is that of
its largest error over all bodies and samples, from a step to half of it: of the last two steps whose errors are above
rounding. No order is lower than it should be. One may be higher: the leading coefficient of a small motion may be
small, and errors then fall faster until rounding hides them. Errors a h^6 + b h^8 of opposite signs fall to nearly
nothing at one step, by a power of ten and more, and by less than the sixth power from there to the next one. In both
cases the estimate must be honest: no error of the finest result exceeds it. An order that is too low counts where the
errors of the equations of their own do not explain it, neither there nor in the next half of the step. They are what
these move by with a third of their tolerance, three times. Steps so large that a run ends in words show no order.
Estimates: the campaign ``refined-errors`` with this method.
"""

import numpy as np
from numpy.typing import NDArray

from bench.campaigns import refined_errors
from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.variational_orders import QUANTITIES, Case, case_of, errors_at
from rtmbs import RefinedResult, Simulation, VariationalMidpoint, refined
from rtmbs.errors import StepError

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


def errors_of_halvings(
    case: Case, runs: int, t_end: float, exact: dict[str, Array], tally: Tally
) -> tuple[dict[str, list[float]], float]:
    """Return the errors of every quantity, each half of the step of the one before, and the last over its estimate."""
    system, rounding, over = case.model.compile(), ROUNDING[case.in_space], 0.0
    steps = round(t_end * case.rate / TURNS[runs] / SAMPLES) * SAMPLES
    errors: dict[str, list[float]] = {}
    for k in range(HALVINGS):
        if errors and len(next(iter(errors.values()))) > 1 and max(one[-1] for one in errors.values()) < DEEP[runs]:
            break
        all_steps = steps * 2**k
        last = all_steps // SAMPLES * np.arange(1, SAMPLES + 1)
        try:
            result = refined(system, t_end / all_steps, t_end, runs=runs, method=FINE, threads=1)
        except StepError:
            count(tally, f"steps of {runs} runs that are too large")
            if k == HALVINGS - 1:
                raise
            errors = {}
            continue
        for name, error in errors_at(result, exact, last).items():
            errors.setdefault(name, []).append(error)
        over = beyond_estimate(result, exact, last, rounding)
    return errors, over


def unsure(case: Case, start: Simulation, times: Array, exact: dict[str, Array]) -> dict[str, float]:
    """Return what errors of the reference may make of every error."""
    other, found = case.exact(start, times, RTOL / 3.0), {}
    for name in (*QUANTITIES, "reaction"):
        channels = [channel for channel in exact if channel.endswith(name)]
        size = max(float(np.abs(exact[channel]).max(initial=0.0)) for channel in channels)
        moved = max(float(np.abs(other[channel] - exact[channel]).max(initial=0.0)) for channel in channels)
        found[name] = 3.0 * moved / max(size, 1e-300)
    return found


def explained(found: list[float], last: int, least: float, off: float) -> bool:
    """Return True where errors that are ``off`` admit an order at the step ``last`` or at half of it."""
    pairs = [(found[k - 1], found[k]) for k in (last, last + 1) if k < len(found)]
    return any(larger + off >= 2.0**least * (smaller - off) for larger, smaller in pairs)


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with the orders of one mechanism."""
    case = case_of(seed, 3303)
    t_end, rounding = STEPS * TURNS[2] / case.rate, ROUNDING[case.in_space]
    times = t_end * np.arange(1, SAMPLES + 1) / SAMPLES
    start = Simulation(case.model.compile(), t_end / STEPS, FINE)
    exact, off = case.exact(start, times, RTOL), {}
    wrong: list[str] = []
    for runs, (least, most) in ORDERS.items():
        errors, over = errors_of_halvings(case, runs, t_end, exact, tally)
        tally.largest(f"error over its estimate, {runs} runs", over)
        for name, found in errors.items():
            seen = [k for k in range(1, len(found)) if found[k] > rounding and found[k - 1] < FAR[runs]]
            if not seen:
                count(tally, f"orders of {runs} runs that rounding or a wild motion hides")
                continue
            orders = [float(np.log2(found[k - 1] / found[k])) for k in seen]
            order = orders[-1]
            tally.largest(f"order of {name} in {runs} runs", order)
            tally.largest(f"less than {2 * runs}, {name}", 2.0 * runs - order)
            changed = (
                len(orders) == 1 and seen[0] > 1 and float(np.log2(found[seen[0] - 2] / found[seen[0] - 1])) > SIGN
            )
            if changed and order < least:
                count(tally, f"orders of {runs} runs behind a change of sign")
            elif order < least:
                off = off or unsure(case, start, times, exact)
                changed = explained(found, seen[-1], least, off[name])
                count(tally, f"orders of {runs} runs that errors of the reference explain", float(changed))
            if (order < least and not changed) or (not least <= order <= most and over > 1.0):
                wrong.append(
                    f"{runs} runs, {name} {order:.2f} ({', '.join(f'{one:.1e}' for one in found)}), {over:.2f}"
                )
            if order > most:
                count(tally, f"quantities of {runs} runs that fall faster, with an honest estimate")
    return f"{case.text}: {'; '.join(wrong)}" if wrong else ""


def count(tally: Tally, key: str, more: float = 1.0) -> None:
    """Count what a tally has seen."""
    tally.largest(key, tally.worst.get(key, 0.0) + more)


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
