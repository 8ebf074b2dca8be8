"""Arithmetic of Newton's iteration: norm, contraction rate, verdict (METHODS 1.11); bounds of multipliers (1.12).

At the end of a step forces balance but for what the projections changed: with rates moved by dv and accelerations by da
they are off by C dv - (h/2 C + h^2/4 K) da. The projection of rates used the impulse (M + h/2 C + h^2/4 K) dv, that of
accelerations the like. So the impulses bound what is off, and only where they are large is the balance evaluated.
Compiled, and used by the readable step and by the fused step alike, so that both stop at the same iteration.
"""

import numpy as np

from rtmbs.integrators.settings import (
    ADAPTIVE,
    EVERY_ITERATION,
    EVERY_STEP,
    EXACT,
    FIRST_CORRECTION,
    ITERATIONS,
    OPEN,
    PUSHED,
    REMAINS,
    SLOWEST,
    SMALL_FIRST,
)
from rtmbs.jit.compiled import kernel

GO_ON, ACCEPT, DIVERGED, NOT_A_NUMBER = 0, 1, 2, 3
REMAINDER = 0.1  # accept when the corrections still to come, theta / (1 - theta) e, are below this
SLOW_RATE = 0.9  # twice slower than this is divergence
PAPER_RATE = 0.5  # above this the rest of the step uses the tangent of Eq. 17
REUSE_RATE = 0.1  # an older factor that contracts worse costs more iterations than it saves factorisations
STALE_RATE = 0.5  # the same for the user who asked for one factorisation a step: beyond it the factor misleads
BENT = 0.1  # of the tolerance: what a bend of a force law within the last correction may leave
ROUNDING = 1e-15  # of the size of a coordinate: no smaller correction can be asked for

# Further tries, METHODS 1.11
MOST_EVALUATIONS = 24  # of one try
MOST_BY_SLOPE = 96  # of that one
BISECTIONS = 20  # of one correction by slopes
FLAT = 0.5  # of the slope at the beginning of a correction: where it is flatter than that, the share is taken
DESCENT = 0.05  # a share s of a correction is taken when the next correction is shorter by this times s at least
SHORTEST = 1.0 / 128.0  # share below which a try gives up
LEFT_OVER = 1e-6  # of the largest joint rate (acceleration): what iterations may leave that ended at their number
FAR = 0.25  # largest distance from h zd_n + h^2/2 zdd_n, in typical sizes, that a further try may end at


@kernel
def scaled_norm(dz, predicted, absolute, relative):
    """Return sqrt(mean((dz_i / (absolute_i + relative |predicted_i|))^2)); 0 for no coordinates."""
    total = 0.0
    for i in range(len(dz)):
        scaled = dz[i] / (absolute[i] + relative * abs(predicted[i]))
        total += scaled * scaled
    return np.sqrt(total / max(len(dz), 1))


@kernel
def contraction_rate(norm, previous):
    """Return e_k / e_{k-1}; 0 when the previous correction was zero."""
    return norm / previous if previous > 0.0 else 0.0


@kernel
def sure_below(settings, stiff, z):
    """Largest scaled correction behind which a bend of a force law leaves no more than BENT; infinite without laws.

    A correction by a factor J ends where the residual is what the slopes changed on the way, (J - J_there) dz. Behind a
    bend where a law is slack this is J / M - 1 of the correction, ``stiff`` the share of forces in J (METHODS 1.11).
    Rates of earlier corrections tell nothing of that.
    """
    if not settings.may_bend:
        return np.inf
    largest = 1.0
    for i in range(len(z)):
        largest = max(largest, abs(z[i]) / settings.typical[i])
    return max(BENT / max(stiff, 1.0), ROUNDING * largest * settings.typical[0] / settings.absolute[0])


@kernel
def verdict(iteration, norm, rate, slow, sure):
    """Judge iteration 1, 2, ... by its scaled correction, its rate and how often it was slow before.

    No correction above ``sure`` is the last. Returns GO_ON, ACCEPT, DIVERGED or NOT_A_NUMBER. Not finite comes first: a
    comparison with NaN is false.
    """
    if not np.isfinite(norm):
        return NOT_A_NUMBER
    if norm <= min(SMALL_FIRST, sure):
        return ACCEPT
    if iteration == 1:
        return GO_ON
    if rate < 1.0 and rate * norm <= REMAINDER * (1.0 - rate) and norm <= sure:
        return ACCEPT
    return DIVERGED if slow >= 2 else GO_ON


@kernel
def may_reuse(policy, terms, dz, typical, reuse_below):
    """True when the factor behind the correction ``dz`` may serve the next iteration too.

    Phi_z changes by dP ~ dz over the correction, and an older Phi_z in the factor holds directions that are free now
    with c dP^2, c the dimensionless penalty (METHODS 1.10): ADAPTIVE asks for sqrt(c) |dz| <= 5e-3. Newton would bear
    more, but the projections work with this factor too, and in singular poses they turn dP into speed along the motion.
    EXACT is made anew always: alpha Phi of an earlier iterate in the factor would go into the projections.
    """
    if policy == EVERY_ITERATION or terms == EXACT:
        return False
    if policy == EVERY_STEP:
        return True
    free = 0
    for i in range(len(dz)):
        free += 0 if abs(dz[i]) <= reuse_below * typical[i] else 1
    return free == 0


@kernel
def reuse_pays(policy, norm, rate, sure):
    """True when the correction by an older factor is good enough to be taken; otherwise the matrix is made anew."""
    return norm <= min(SMALL_FIRST, sure) or rate <= (REUSE_RATE if policy == ADAPTIVE else STALE_RATE)


@kernel
def descends(found, norm, share):
    """True when the correction ``found`` after a share of a correction ``norm`` is shorter, as Newton's flow promises.

    Along the flow the next correction is 1 - share of the last. Both come from factors of their own iterates: with an
    older Phi_z the penalty would multiply its change, METHODS 1.10, and no share would be short enough.
    """
    return np.isfinite(found) and found <= (1.0 - DESCENT * share) * norm


@kernel
def shorter(share, found, norm):
    """Return the share to try after one that did not descend."""
    return share * (0.5 if found < 4.0 * norm else 0.25)


@kernel
def too_far(h, increment, zd, zdd, typical):
    """True when the end of a step lies FAR from where constant accelerations lead: h^2/4 times their change.

    The equations of a large step have solutions beside the one wanted; what the plain iteration does not find from
    its predictor is believed only in the neighbourhood.
    """
    for i in range(len(increment)):
        if not abs(increment[i] - h * zd[i] - 0.5 * h * h * zdd[i]) <= FAR * typical[i]:
            return True
    return False


@kernel
def velocity_allowance(settings, rate):
    """Largest |Phid| / scale that a finished projection leaves, ``rate`` the largest joint rate in typical sizes."""
    return max(LEFT_OVER * rate, settings.absolute[0] / settings.typical[0] / settings.h)


@kernel
def acceleration_allowance(settings, rate, acceleration):
    """Largest |Phidd| / scale that a finished projection leaves, of the largest joint rate and acceleration.

    rate^2 stands for what turns without accelerating; a loop that moves by less than Newton's tolerance in a step is
    as good as still.
    """
    still = settings.absolute[0] / settings.typical[0] * 4.0 / (settings.h * settings.h)
    return max(LEFT_OVER * max(acceleration, rate * rate), still)


# ---- rounds at the end of a variational step (METHODS 6.6) ----------------------------------------------------------

TRUSTED = 5  # iterations: what more of them find counts only near the predictor (METHODS 1.11)
STRAYED = 0.5  # of a correction: by Kantorovich's theorem the next one is shorter than this near a solution
SHORT = 1e-2  # typical sizes: shorter corrections may contract slowly
STIFFER = 100.0  # times c are the loops in that factor: a round leaves 1 / (100 c) of a violation
ROUNDS = 8  # at most
ENOUGH = 1e-15  # of the largest rate: what the momentum left over would change in one coordinate
ENOUGH_OF_FORCES = 1e-10  # of the largest acceleration, which no step adds up
MISSED = 1e-12  # of the largest rate: what loops may miss behind the last round
MISSED_BY_FORCES = 1e-10  # of the largest acceleration
SETTLED = 1e-10  # of the largest multiplier: what another round may change
ANY_IMPULSE = 1e300  # the same for impulses at the end of a step, which nobody sees
LOST_DIRECTION = 1e-11  # of the largest rate or acceleration: rows that rounds leave open by more hold nothing
STILL = 1e-4  # of a rate that moves by Newton's tolerance in a step: what rows leave open below it is no lost direction
PROGRESS = 0.5  # of a round: a smaller one ends them, for what is left is rounding


@kernel
def strays(settings, norm, previous):
    """True when a correction is no sure way to the solution near the first increment, ``previous`` the one before.

    Both are found by factors of their own. What they lead to may be another solution of the equations of the step.
    """
    tolerance = settings.absolute[0] / settings.typical[0]
    return norm > STRAYED * previous and previous * tolerance > SHORT


# ---- steps that may be another solution (METHODS 1.11) --------------------------------------------------------------

LEAP = 1.0  # typical sizes: beyond it sines and levers of the first increment tell nothing of the solution


@kernel
def leaps(settings, iteration, leapt, norm, dz, times):
    """True when the first correction, ``times`` dz, moves a coordinate by more than LEAP, and the second is not SHORT.

    LEAP is 1 rad, or the characteristic length. Equations that are linear on this way have one solution, however far
    it is: their second correction is short. ``leapt`` is the answer of the iteration before. One compare where the
    scaled norm cannot hold such a move.
    """
    if iteration > 1 and not leapt:
        return False
    if iteration > 2:
        return leapt
    most = norm * np.sqrt(len(dz)) * (settings.absolute[0] / settings.typical[0] + settings.relative)
    if iteration == 2:
        return most > SHORT
    if not times * most > LEAP:
        return False
    far = 0
    for i in range(len(dz)):
        far += 0 if times * abs(dz[i]) <= LEAP * settings.typical[i] else 1
    return far > 0


@kernel
def leads_away(way, ahead, times, typical):
    """True when a coordinate moves LEAP more than rates lead the fastest; ``times`` way and ahead (n,) are moves.

    What dampers, friction and stops take from a motion never does that, and a clutch gives no more than the fastest
    has. Another solution of a large step does: its rates feed themselves.
    """
    fastest, far = 0.0, 0
    for i in range(len(way)):
        fastest = max(fastest, times * abs(ahead[i]) / typical[i])
    for i in range(len(way)):
        far += 0 if times * abs(way[i]) <= (fastest + LEAP) * typical[i] else 1
    return far > 0


# ---- stages of a TR-BDF2 step: its numbers, and first increments (METHODS 7.2, 7.5) ---------------------------------

GAMMA = 2.0 - np.sqrt(2.0)  # share of a step that the first stage takes
NEWER, OLDER = 0.5 * (np.sqrt(2.0) + 1.0), 0.5 * (np.sqrt(2.0) - 1.0)  # 1 / (gamma (2 - gamma)), NEWER (1 - gamma)^2
ONWARD = (1.0 - GAMMA) / GAMMA  # the second part of a step beside the first
BESIDE = 1e-3  # typical sizes: an acceleration may lead so far from constant rates anyway


@kernel
def ahead_of_step(h, rate, acceleration, typical):
    """Return the increment of constant acceleration over ``h``, its second part no larger than the first.

    A damper that was just set to a high value stops a coordinate: its acceleration over a step is then no prediction.
    """
    most = max(abs(h * rate), BESIDE * typical)
    return h * rate + min(max(0.5 * h * h * acceleration, -most), most)


@kernel
def ahead_of_stage(half, right, first, second, typical):
    """Return the rate that the second stage is expected to end with: right + half zdd, zdd going on from both.

    ``first`` and ``second`` are the accelerations at both ends of the first stage. Where they have opposite signs, or
    would change the rate by more than itself, the rate stays.
    """
    onward = second + (second - first) * ONWARD
    most = max(abs(right), BESIDE * typical / half)
    if first * second < 0.0 and abs(half * second) > most:
        return right
    return right + min(max(half * onward, -most), most)


@kernel
def starts_stiffly(h, zd, zdd, typical):
    """True when accelerations at the start would move a coordinate further over ``h`` than the fastest rate does.

    So they do behind a damper that was just set to a high value: what they ask for is over long before the step ends.
    """
    way, push = BESIDE, 0.0
    for i in range(len(zd)):
        way = max(way, h * abs(zd[i]) / typical[i])
        push = max(push, 0.5 * h * h * abs(zdd[i]) / typical[i])
    return push > way


MISS = 1e-2  # of its floor: what a multiplier may be off by
SUSPICIOUS = MISS  # bound on the error, as impulses give it, from which on the balance is evaluated
UNBALANCED = 0.05 * MISS  # forces left over, and what the last factor makes of them: then the error is solved for
FOUND = 0.5 * MISS  # error that was solved for, near singular poses to some 50 %, from which on a step says so
ENDLESS = 1e100  # in place of what is infinite: stats hold numbers
BOUND_ROUNDS = 3  # of the augmented Lagrangian that solves for it
NOISE = 1e-2 * MISS  # share of a floor that is rounding when it does not contract
STUCK = 1e-9  # contraction that is none
FAR_BACK = 1e-2 * FOUND  # square of the way back to closed loops, over their gap, from which on a yielding is looked at
SLACK = 0.1 * FAR_BACK  # the same, as the slowest projection bounds it, from which on the way back is solved for
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
    return not way * way <= FAR_BACK * gap


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
