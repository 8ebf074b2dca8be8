"""Bounds of the error of multipliers at the end of a step, from the impulses of the projections (METHODS 1.12).

At the end of a step forces balance but for what the projections changed: with rates moved by dv and accelerations by da
they are off by C dv - (h/2 C + h^2/4 K) da. The projection of rates used the impulse (M + h/2 C + h^2/4 K) dv, that of
accelerations the like. So the impulses bound what is off, and only where they are large is the balance evaluated.
Compiled, and used by the readable step and by the fused step alike.
"""

import numpy as np

from rtmbs.integrators.settings import FIRST_CORRECTION, ITERATIONS, OPEN, PUSHED, REMAINS, SLOWEST, SMALL_FIRST
from rtmbs.jit.compiled import kernel

MISS = 1e-2  # of its floor: what a multiplier may be off by
SUSPICIOUS = MISS  # bound on the error, as impulses give it, from which on the balance is evaluated
UNBALANCED = 0.05 * MISS  # forces left over, and what the last factor makes of them: then the error is solved for
FOUND = 0.5 * MISS  # error that was solved for, near singular poses to some 50 %, from which on a step says so
ENDLESS = 1e100  # in place of what is infinite: stats hold numbers
ROUNDS = 3  # of the augmented Lagrangian that solves for it
NOISE = 1e-2 * MISS  # share of a floor that is rounding when it does not contract
STUCK = 1e-9  # contraction that is none
FAR = 1e-2 * FOUND  # square of the way back to closed loops, over their gap, from which on a yielding is looked at
SLACK = 0.1 * FAR  # the same, as the slowest projection bounds it, from which on the way back is solved for
LEAST_CLOSED = 1e-2  # share of the gap of loops that one solution closes, at least, as far as it is extrapolated


@kernel
def load_floors(settings, lam, acceleration, floor):
    """floor (m,) [J] = what an error of a multiplier, times the scale of its row, is compared with.

    The largest multiplier of its closure, or what its effective mass takes at the largest ``acceleration`` [1/s^2], in
    typical sizes, whichever is larger.
    """
    begin, top = 0, 0.0
    for row in range(len(floor) + 1):
        if row == len(floor) or settings.first[row]:
            for k in range(begin, row):
                floor[k] = max(top, settings.mass[k] * settings.scale[k] * settings.scale[k] * acceleration)
            begin, top = row, 0.0
        if row < len(floor):
            top = max(top, abs(lam[row]) * settings.scale[row])


@kernel
def largest_acceleration(settings, rate, acceleration):
    """Largest of accelerations, rates squared and what moves by Newton's tolerance in a step [1/s^2]."""
    return max(acceleration, rate * rate, settings.absolute[0] / settings.typical[0] * 4.0 / settings.h / settings.h)


@kernel
def share_of_floor(multipliers, settings, floor):
    """Largest |multiplier| scale / floor; one that is not finite counts as ENDLESS."""
    top = 0.0
    for row in range(len(floor)):
        size = abs(multipliers[row]) * settings.scale[row]
        if not size <= top * floor[row]:
            top = size / floor[row] if np.isfinite(size) and floor[row] > 0.0 else ENDLESS
    return top


@kernel
def impulse_share(violation, settings, alpha, floor):
    """Largest multiplier h^2/4 alpha violation in terms of its floor: what an iteration adds that leaves this
    violation.
    """
    q4, top = 0.25 * settings.h * settings.h, 0.0
    for row in range(len(floor)):
        size = q4 * alpha[row] * abs(violation[row]) * settings.scale[row]
        if not size <= top * floor[row]:
            top = size / floor[row] if np.isfinite(size) and floor[row] > 0.0 else ENDLESS
    return top


@kernel
def yet_to_come(last, before):
    """Sum of the changes still to come when the last two were these: last q / (1 - q), q their rate."""
    if last < before:
        return last * last / (before - last)
    return ENDLESS if last > 0.0 else 0.0


@kernel
def still_missing(last, before):
    """``yet_to_come`` of shares of floors: NOISE that does not contract at all is rounding, and no more comes.

    Redundant equations that agree keep the rounding of Phidd, which no multiplier takes away.
    """
    return last if last <= NOISE and before - last <= STUCK * before else yet_to_come(last, before)


@kernel
def suspicious(settings, stats, rate, acceleration, stiff):
    """True when the projections or Newton's corrections still to come may have cost the multipliers their bound.

    ``stiff`` is the largest share of applied forces in the diagonal of the Newton matrix. Where there are any, C dv is
    no larger than the impulse says; the diagonal tells no smaller bound, for a loop of light bodies carries forces
    that its heavy bodies hardly feel. Otherwise velocity terms and weight turn by h sqrt(acceleration).
    """
    if not stats[REMAINS] <= SUSPICIOUS * acceleration:
        return True
    turn = settings.h * np.sqrt(acceleration)
    last = FIRST_CORRECTION + max(int(stats[ITERATIONS]), 1) - 1
    norm, left = stats[last], stats[last]
    if norm > SMALL_FIRST and last > FIRST_CORRECTION:
        left = min(yet_to_come(norm, stats[last - 1]), norm)
    moves = settings.absolute[0] / settings.typical[0] + settings.relative * min(settings.h * rate, 1.0)
    newton = 4.0 / (settings.h * settings.h) * left * moves
    pushed = stats[PUSHED] if stiff > 0.0 else min(turn + 0.25 * turn * turn, 1.0) * stats[PUSHED]
    return not pushed + newton <= SUSPICIOUS * acceleration


@kernel
def slack(settings, stats):
    """True when loops hold a direction so weakly that they may yield, as the projections tell.

    An iteration leaves 1 / (1 + held s^2) of a violation in a direction that loops hold by s. The way back to closed
    loops is gap / s there, so its square over the gap is held gap times that share. SLACK is a thousandth of FOUND,
    for most of a violation may lie in other directions. Where no iteration was made, nothing is known of s.
    """
    slowest = stats[SLOWEST] if stats[SLOWEST] > 0.0 else 1.0
    return not slowest * settings.held * stats[OPEN] <= SLACK


@kernel
def share_closed(before, after):
    """Share of the gap of loops that a solution closed, LEAST_CLOSED at least."""
    return max((before - after) / before, LEAST_CLOSED) if before > 0.0 else 1.0


@kernel
def may_yield(gap, way):
    """True when loops that are open by ``gap`` lead multipliers astray, ``way`` the motion that closes them.

    Both are in typical sizes. Loops hold that direction by gap / way, and its bend in a size changes this by about way.
    """
    return not way * way <= FAR * gap


@kernel
def largest_imbalance(force, settings, floor):
    """Largest |force| typical size of a coordinate, in terms of the smallest floor."""
    lowest, top = ENDLESS, 0.0
    for row in range(len(floor)):
        lowest = min(lowest, floor[row])
    for i in range(len(force)):
        top = max(top, abs(force[i]) * settings.typical[i])
    if top == 0.0:
        return 0.0
    return top / lowest if lowest > 0.0 else ENDLESS
