"""The implicit trapezoidal rule with position penalties and projections, readable, for any equations.

Equations 10 to 26 of the paper as corrected in METHODS 1.2 to 1.5. A step whose Newton iteration fails is tried
further: damped, from other starts (METHODS 1.11). ``semirecursive/step.py`` and ``semirecursive/newton_restarts.py``
are the same fused into kernels; contract tests hold them together.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.bounds import BEYOND, are_rotations
from rtmbs.integrators.contract import NotFinite, SingularTangent, StepEquations
from rtmbs.integrators.newton import (
    ACCEPT,
    BISECTIONS,
    BOUND_ROUNDS,
    DIVERGED,
    ENDLESS,
    FLAT,
    FOUND,
    MOST_BY_SLOPE,
    MOST_EVALUATIONS,
    NOT_A_NUMBER,
    PAPER_RATE,
    SHORTEST,
    SLOW_RATE,
    SUSPICIOUS,
    UNBALANCED,
    acceleration_allowance,
    contraction_rate,
    descends,
    impulse_share,
    largest_acceleration,
    largest_imbalance,
    leads_away,
    leaps,
    load_floors,
    may_reuse,
    may_yield,
    reuse_pays,
    scaled_norm,
    share_closed,
    share_of_floor,
    shorter,
    slack,
    still_missing,
    sure_below,
    suspicious,
    too_far,
    velocity_allowance,
    verdict,
    yet_to_come,
)
from rtmbs.integrators.projection import largest, project_repeatedly, project_velocities, slowest
from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import (
    ACCELERATION_VIOLATION,
    BY_SLOPE,
    EVALUATIONS,
    FACTORISATIONS,
    FIRST_CORRECTION,
    FOLLOWED,
    FORCES,
    GIVEN,
    ITERATIONS,
    ITERATIONS_TO_TOLERANCE,
    JACOBIANS,
    LAGGED,
    LEFT,
    LOOPS,
    NEAR_SINGULAR,
    OPEN,
    PAPER,
    PHASES,
    POSITION_VIOLATION,
    PROJECTIONS,
    PUSHED,
    REMAINS,
    RESIDUAL_TICKS,
    RESTING,
    SHORTENED,
    SLOWEST,
    STEADY,
    STEADY_TRY,
    TRIES,
    TRY_START,
    TRY_TERMS,
    VELOCITY_VIOLATION,
    Settings,
    StateArrays,
)

Array = NDArray[np.float64]


class Trying(Protocol):
    """The step that is tried again."""

    equations: StepEquations
    settings: Settings
    stats: Array
    lam: Array

    def iterate_at(self, increment: Array, old: StateArrays) -> tuple[Array, Array, Array]: ...
    def residual(self, increment: Array, old: StateArrays) -> Array: ...
    def fresh_correction(self, f: Array, terms: int, old: StateArrays) -> Array: ...
    def correction_norm(self, dz: Array, increment: Array) -> float: ...
    def sure_below(self, old: StateArrays) -> float: ...


class Damped:
    """One further try of ``step`` from ``old``; the multipliers of its last linear solution go to ``step.lam``."""

    def __init__(self, step: Trying, old: StateArrays, number: int) -> None:
        self.step, self.old, self.terms = step, old, TRY_TERMS[number - 1]
        self.lam: Array = old.lam.copy()  # those of the increment that is tried
        self.last: Array | None = None  # correction that was found last, at ``tried``
        h, start = step.settings.h, TRY_START[number - 1]
        self.increment: Array = h * old.zd + (0.0 if start == STEADY else 0.5 * h**2 * old.zdd)
        if start == RESTING:
            self.increment = np.zeros_like(old.z)
        self.tried: Array = self.increment
        step.stats[TRIES] = number
        restart(step.stats)

    def take(self, most: int) -> bool:
        """Take a share of a correction when the one found behind it is shorter; True when Newton's test is met.

        The readable form of ``semirecursive.damped_tries``. Shares are judged by the next correction, which costs a
        factor, because the residual of a stiff penalty says little; every other loop with shares looks at residuals.
        """
        step, stats = self.step, self.step.stats
        share, norm, previous = 1.0, np.inf, 0.0
        base, way, lam_base, lam_way = self.increment, self.increment, self.lam, self.lam
        for _ in range(most):
            dz, found = self.correction(step.residual(self.increment, self.old))
            if descends(found, norm, share):
                previous, norm = norm if share == 1.0 and np.isfinite(norm) else 0.0, found
                step.lam = step.equations.multipliers(dz)
                if self.small_enough(norm, previous):
                    return self.arrive(dz)
                base, way, lam_base, lam_way = self.increment, self.added(dz), self.lam, step.lam
                share = min(1.0, 2.0 * share)
            elif np.isfinite(norm):
                stats[SHORTENED] += 1
                share = shorter(share, found, norm)
            if not np.isfinite(norm) or share < SHORTEST:
                return False
            self.increment, self.lam = base + share * way, lam_base + share * (lam_way - lam_base)
        return False

    def take_by_slope(self) -> bool:
        """Go the whole way unless the work of the residual changes its sign on it, then to where it is small."""
        step, stats = self.step, self.step.stats
        before, previous, f = stats[EVALUATIONS], 0.0, step.residual(self.increment, self.old)
        for _ in range(MOST_EVALUATIONS):
            dz, norm = self.correction(f)
            if not np.isfinite(norm):
                return False
            step.lam = step.equations.multipliers(dz)
            if self.small_enough(norm, previous):
                return self.arrive(dz)
            if stats[EVALUATIONS] - before > MOST_BY_SLOPE - BISECTIONS:
                return False
            share, f = self.walk_down(self.added(dz), f)
            previous = norm if share == 1.0 else 0.0
        return False

    def walk_down(self, way: Array, f: Array) -> tuple[float, Array]:
        """Go along the correction until the work on it is FLAT; return the share and the residual there."""
        base, first, low, high, share = self.increment, float(way @ -f), 0.0, 1.0, 1.0
        for _ in range(BISECTIONS):
            self.increment = base + share * way
            f = self.step.residual(self.increment, self.old)
            slope = float(way @ -f)
            if (share == 1.0 and slope * first >= 0.0) or abs(slope) <= FLAT * abs(first):
                return share, f
            low, high = (share, high) if slope * first >= 0.0 else (low, share)
            self.step.stats[SHORTENED] += 1
            share = 0.5 * (low + high)
        return 0.0, f

    def small_enough(self, norm: float, previous: float) -> bool:
        """Note a correction; True when Newton's test is met (``previous`` 0 without a whole correction before)."""
        stats = self.step.stats
        stats[FIRST_CORRECTION + int(stats[ITERATIONS])] = norm
        stats[ITERATIONS] += 1
        rate, sure = contraction_rate(norm, previous), self.step.sure_below(self.old)
        return bool(verdict(2 if previous > 0.0 else 1, norm, rate, 0, sure) == ACCEPT)

    def correction(self, f: Array) -> tuple[Array, float]:
        """Return the correction for a residual by a factor of its own, and its scaled norm, infinite without one.

        FOLLOWED terms are those of LAGGED with the accelerations and multipliers of the iterate.
        """
        step, here, terms = self.step, self.old, self.terms
        self.tried, self.last = self.increment, None
        if terms == FOLLOWED:
            zs = dict(zip(("z", "zd", "zdd"), step.iterate_at(self.increment, self.old), strict=True))
            here = self.old._replace(**zs, lam=self.lam)
            terms = LAGGED
        try:
            dz = step.fresh_correction(f, terms, here)
        except (SingularTangent, NotFinite):
            return f, np.inf
        self.last = dz
        norm = step.correction_norm(dz, self.increment + dz)
        return dz, (norm if np.isfinite(norm) else np.inf)

    def at_last(self) -> tuple[Outcome, Array]:
        """Take the correction that was found last anyhow, and say that it was not enough."""
        if self.last is None:
            raise SingularTangent("the last of the fixed iterations found no correction")
        self.step.lam = self.step.equations.multipliers(self.last)
        return Outcome.UNFINISHED, self.tried + self.added(self.last)

    def added(self, dz: Array) -> Array:
        """Return what the correction ``dz`` found at the last evaluation adds to the increment (n,)."""
        return self.step.equations.corrected(np.zeros_like(dz), dz)

    def arrive(self, dz: Array) -> bool:
        """Take the last correction; True when it ends in the neighbourhood of the predictor."""
        step, settings, old = self.step, self.step.settings, self.old
        self.increment = self.increment + self.added(dz)
        if too_far(settings.h, self.increment, old.zd, old.zdd, settings.typical):
            return False
        step.stats[ITERATIONS_TO_TOLERANCE] = step.stats[ITERATIONS]
        return True


def restart(stats: Array) -> None:
    """Forget the corrections of the tries before, not their number and their work."""
    stats[ITERATIONS_TO_TOLERANCE] = stats[ITERATIONS] = 0.0
    stats[FIRST_CORRECTION:] = 0.0


class TrapezoidalStep:
    """One step from ``old`` to ``new``; ``stats`` is filled as by the fused step, phases in seconds."""

    def __init__(self, equations: StepEquations, settings: Settings, stats: Array) -> None:
        self.equations, self.settings, self.stats = equations, settings, stats
        self.lam: Array = np.zeros(equations.m)  # multipliers of the last correction
        self.left: tuple[Array, Array] = self.lam, self.lam  # Phid, Phidd that the projections left

    def advance(self, old: StateArrays, new: StateArrays) -> Outcome:
        """Predict, correct, project; ``new`` is complete only when the answer is good.

        Where that fails there are further tries; when none of them helps it is done again, so that a report tells of
        it. A matrix that the solver refuses is first left to a pivoted one, and fixed iterations to ``spend``.
        """
        self.stats[:] = 0.0
        if not self.startable(old):
            return Outcome.NOT_FINITE
        tries = 0 if self.settings.fixed_iterations else self.settings.tries
        outcome = self.attempt(0, old, new)
        if (
            outcome.accepted
            or tries == 0
            or (outcome is Outcome.SINGULAR_TANGENT and not self.equations.solver.pivoted)
        ):
            return outcome
        for number in range(1, tries + 1):
            outcome = self.attempt(number, old, new)
            if outcome.accepted:
                return outcome
        return self.attempt(0, old, new)

    def attempt(self, number: int, old: StateArrays, new: StateArrays) -> Outcome:
        """Take the step by the plain iteration (0) or by a further try (1, 2, ...)."""
        half = 0.5 * self.settings.h
        self.equations.follow_states(old.s + half * old.sd, half)
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # NOT_FINITE says it
                if number == 0:
                    restart(self.stats)
                    outcome, increment = self.correct(self.predict(old), old)
                else:
                    damped = Damped(self, old, number)
                    found = damped.take_by_slope() if number == BY_SLOPE else damped.take(MOST_EVALUATIONS)
                    outcome = Outcome.CONVERGED if found else Outcome.NOT_CONVERGED
                    increment = damped.increment
                if not outcome.accepted:
                    return outcome
                finished = self.project(increment, old, new)
                return self.judged(outcome, new) if finished is Outcome.CONVERGED else finished
        except SingularTangent:
            return Outcome.SINGULAR_TANGENT
        except NotFinite:
            return Outcome.NOT_FINITE

    def startable(self, old: StateArrays) -> bool:
        """True when a step may start from ``old``: numbers in range, penalties positive, rotations that are such."""
        alpha = self.equations.alpha
        sound = bool(np.all((alpha > 0.0) & np.isfinite(alpha))) and in_range(
            old.z, old.zd, old.zdd, old.lam, old.s, old.sd
        )
        return sound and bool(np.all(np.isfinite(old.R0)) and np.all(are_rotations(old.R0)))

    def predict(self, old: StateArrays) -> Array:
        """Return the increment of constant accelerations (n,)."""
        return self.settings.h * old.zd + 0.5 * self.settings.h**2 * old.zdd

    def iterate_at(self, increment: Array, old: StateArrays) -> tuple[Array, Array, Array]:
        """z, zd, zdd from the increment and the history terms (Eqs. 13 and 14)."""
        h = self.settings.h
        zdd = 4.0 / h**2 * increment - 4.0 / h * old.zd - old.zdd
        return old.z + increment, 2.0 / h * increment - old.zd, zdd

    def correct(self, increment: Array, old: StateArrays) -> tuple[Outcome, Array]:
        """Newton's iteration on the increment (Eqs. 15 to 18); an older factor serves again where it pays.

        The readable form of ``semirecursive.step.correct``; both are judged by ``integrators.newton``.
        """
        settings, stats = self.settings, self.stats
        terms, previous, slow, lam, reusable, leapt = settings.tangent_terms, 0.0, 0, old.lam, False, False
        sure = np.inf
        for iteration in range(1, settings.max_iterations + 1):
            f = self.residual(increment, old)
            here = self.followed(increment, old, lam) if terms == FOLLOWED else old
            dz, norm = self.reused_correction(f, increment, previous, sure) if reusable else (None, 0.0)
            if dz is None:
                dz = self.fresh_correction(f, *((LAGGED, here) if terms == FOLLOWED else (terms, old)))
                norm, sure = self.correction_norm(dz, increment + dz), self.sure_below(old)
                reusable = may_reuse(settings.refactor, terms, dz, settings.typical, settings.reuse_below)
            lam = self.equations.multipliers(dz) if terms == FOLLOWED else lam
            increment = self.equations.corrected(increment, dz)
            rate = contraction_rate(norm, previous)
            stats[ITERATIONS], stats[FIRST_CORRECTION + iteration - 1] = iteration, norm
            slow += iteration > 1 and rate > SLOW_RATE
            leapt = leaps(settings, iteration, leapt, norm, dz, 1.0)
            answer = verdict(iteration, norm, rate, slow, sure)
            if answer == NOT_A_NUMBER:
                return Outcome.NOT_FINITE, increment
            if leapt and answer == ACCEPT and leads_away(increment, settings.h * old.zd, 1.0, settings.typical):
                answer = DIVERGED  # to another solution
            if answer == ACCEPT and not stats[ITERATIONS_TO_TOLERANCE]:
                stats[ITERATIONS_TO_TOLERANCE] = iteration
            if not settings.fixed_iterations and answer == DIVERGED:
                return Outcome.NOT_CONVERGED, increment
            if self.may_spend(answer, iteration):
                return self.spend(settings.max_iterations - iteration, old)
            if (answer == ACCEPT and not settings.fixed_iterations) or iteration == settings.max_iterations:
                self.lam = self.equations.multipliers(dz)
                return self.ending(), increment
            if iteration > 1 and rate > PAPER_RATE:
                terms = PAPER
            previous = norm
        return Outcome.NOT_CONVERGED, increment

    def residual(self, increment: Array, old: StateArrays) -> Array:
        """Return q4 (M zdd - Q + Phi_z^T alpha Phi) (n,) at z_n + increment."""
        self.stats[EVALUATIONS] += 1
        with self.phase("residual"):
            q4 = 0.25 * self.settings.h**2
            return np.asarray(q4 * self.equations.residual(*self.iterate_at(increment, old), old.R0))

    def followed(self, increment: Array, old: StateArrays, lam: Array) -> StateArrays:
        """Return the iterate with the multipliers ``lam`` (m,) that linear solutions gave on the way to it."""
        z, zd, zdd = self.iterate_at(increment, old)
        return old._replace(z=z, zd=zd, zdd=zdd, lam=lam)

    def may_spend(self, answer: int, iteration: int) -> bool:
        """True when fixed iterations diverge, and some are left to try another way."""
        settings = self.settings
        wanted = settings.fixed_iterations and settings.tries > 0 and not self.stats[ITERATIONS_TO_TOLERANCE]
        return bool(wanted and answer == DIVERGED and iteration < settings.max_iterations)

    def spend(self, left: int, old: StateArrays) -> tuple[Outcome, Array]:
        """Spend the remaining fixed iterations on one damped try from constant rates."""
        damped = Damped(self, old, STEADY_TRY)
        if damped.take(left):
            return Outcome.CONVERGED, damped.increment
        return damped.at_last()

    def correction_norm(self, dz: Array, increment: Array) -> float:
        """Return the scaled norm of a correction against the increment it leads to, up to the typical size."""
        settings = self.settings
        reached = np.minimum(np.abs(increment), settings.typical)
        return float(scaled_norm(dz, reached, settings.absolute, settings.relative))

    def sure_below(self, old: StateArrays) -> float:
        """Return the largest correction by the last factor that a bend of a force law leaves right."""
        return float(sure_below(self.settings, self.equations.stiffness, old.z))

    def reused_correction(self, f: Array, increment: Array, previous: float, sure: float) -> tuple[Array | None, float]:
        """Return the correction by the last factor and its scaled norm; None when a new factor pays more."""
        settings = self.settings
        with self.phase("solve"):
            dz = self.equations.solve(-f, refined=False)
        norm = self.correction_norm(dz, increment + dz)
        done = self.stats[ITERATIONS_TO_TOLERANCE] > 0.0  # fixed iterations go on for the same work's sake
        pays = done or reuse_pays(settings.refactor, norm, contraction_rate(norm, previous), sure)
        return (dz if pays else None), norm

    def fresh_correction(self, f: Array, terms: int, old: StateArrays) -> Array:
        """Return the correction by the Newton matrix of the iterate; raises SingularTangent, NotFinite."""
        self.stats[JACOBIANS] += 1
        self.stats[FACTORISATIONS] += 1
        with self.phase("tangent"):
            h = self.settings.h
            self.equations.factor(0.5 * h, 0.25 * h**2, terms, old)
        with self.phase("solve"):
            return self.equations.solve(-f, refined=True)

    def ending(self) -> Outcome:
        """How the iteration ended: with fixed iterations a step is taken also when Newton's test was not met."""
        if self.stats[ITERATIONS_TO_TOLERANCE]:
            return Outcome.CONVERGED
        return Outcome.UNFINISHED if self.settings.fixed_iterations else Outcome.NOT_CONVERGED

    def project(self, increment: Array, old: StateArrays, new: StateArrays) -> Outcome:
        """Check the loops, project velocities and accelerations (METHODS 1.12), fill ``new``."""
        settings, stats, equations = self.settings, self.stats, self.equations
        with self.phase("projection"):
            z, zd, zdd = self.iterate_at(increment, old)
            Phi = equations.close(z, old.R0)
            self.note(Phi, POSITION_VIOLATION)
            stats[OPEN] = largest(Phi, settings)
            if not stats[OPEN] <= settings.loop_tolerance:
                return Outcome.LOOP_OPEN
            lam = self.lam
            if settings.mass_metric and equations.m:
                equations.factor_mass_metric(0.25 * settings.h**2)
                stats[FACTORISATIONS] += 1
            zd, Phid, weight = project_velocities(equations, settings, old, z, zd, stats)
            self.note(Phid, VELOCITY_VIOLATION)
            new.z[:], new.zd[:], new.zdd[:] = z, zd, zdd
            stats[GIVEN] = equations.hold_energies(settings.hold_energy, settings.h, old, new)
            zd = new.zd.copy()
            equations.keep_states(new)
            Phidd = equations.closure_accelerations(zd, zdd)
            if settings.project_accelerations:
                zdd, Phidd, sizes, _ = project_repeatedly(equations, settings, weight, zdd, Phidd, lam.__iadd__)
                stats[PROJECTIONS] += len(sizes) - 1
                stats[PUSHED] += settings.held * sum(sizes[1:])
                stats[SLOWEST] = max(stats[SLOWEST], slowest(sizes))
                stats[REMAINS] = settings.held * yet_to_come(sizes[-1], sizes[-2]) if len(sizes) > 1 else 0.0
            self.note(Phidd, ACCELERATION_VIOLATION)
            self.left = Phid, Phidd
            for target, value in zip(new, (z, zd, zdd, lam, old.R0), strict=False):
                target[:] = value
            equations.commit(new)
        sound = in_range(new.z, new.zd, new.zdd, new.lam, new.s, new.sd) and bool(np.all(np.isfinite(stats)))
        return Outcome.CONVERGED if sound else Outcome.NOT_FINITE

    def judged(self, outcome: Outcome, new: StateArrays) -> Outcome:
        """UNPROJECTED or UNBALANCED in place of CONVERGED when loops or multipliers miss their bound."""
        stats = self.stats
        if stats[NEAR_SINGULAR]:
            return Outcome.NEAR_SINGULAR if outcome is Outcome.CONVERGED else outcome
        if self.loops_left(new):
            stats[LEFT] = LOOPS
            return Outcome.UNPROJECTED if outcome is Outcome.CONVERGED else outcome
        if outcome is Outcome.CONVERGED and self.equations.m and self.unbalanced(new):
            stats[LEFT] = FORCES
            return Outcome.UNBALANCED
        return outcome

    def loops_left(self, new: StateArrays) -> bool:
        """True when iterations reached their number before the loops met their bound."""
        settings, stats = self.settings, self.stats
        if stats[PROJECTIONS] < settings.max_projections or len(new.z) == 0:
            return False
        rate, acceleration = (np.max(np.abs(values) / settings.typical) for values in (new.zd, new.zdd))
        Phid, Phidd = (np.max(np.abs(violation) / settings.scale, initial=0.0) for violation in self.left)
        left = settings.project_velocities and Phid > velocity_allowance(settings, rate)
        return bool(
            left or (settings.project_accelerations and Phidd > acceleration_allowance(settings, rate, acceleration))
        )

    def unbalanced(self, new: StateArrays) -> bool:
        """True when the multipliers miss their bound: solved for in the metric M where the free bounds do not tell.

        Raises NotFinite when a force is no number at the end of the step, SingularTangent.
        """
        settings, equations = self.settings, self.equations
        if self.yielding(new) > FOUND:
            return True
        rate, acceleration = self.paces(new.zd, new.zdd)
        if not suspicious(settings, self.stats, rate, acceleration, equations.stiffness):
            return False
        floor = self.floors(new.lam, new.zd, new.zdd)
        force = equations.imbalance(new)
        if not np.all(np.isfinite(force)):
            raise NotFinite("a force at the end of the step is no number")
        if self.stats[REMAINS] <= SUSPICIOUS * acceleration and self.harmless(force, floor):
            return False
        return self.miss(force, floor, self.left[1]) > FOUND

    def yielding(self, new: StateArrays) -> float:
        """Return by how much of its floor a multiplier is off because its loops yield; 0 where they hardly do.

        Where loops are closed Phi_z^T is another one, by dP. What balances dP lam is the error of lam.
        """
        settings, equations, gap = self.settings, self.equations, self.stats[OPEN]
        if not slack(settings, self.stats):
            return 0.0
        Phi = equations.close(new.z, new.R0)
        way = equations.solve_for_impulse(0.25 * settings.h**2 * equations.alpha * Phi)
        share = share_closed(gap, largest(Phi + equations.apply_Phi_z(way), settings))
        if not may_yield(gap, np.max(np.abs(way) / settings.typical, initial=0.0) / share):
            return 0.0
        there = equations.close(new.z + way, new.R0)
        force = equations.pull_back(new.lam)
        here = equations.close(new.z, new.R0)
        force = force - equations.pull_back(new.lam)
        if not (np.all(np.isfinite(there)) and np.all(np.isfinite(here))):
            raise NotFinite("loops that yield are open by what is no number")
        return self.miss(force, self.floors(new.lam, new.zd, new.zdd), np.zeros_like(new.lam)) / float(share)

    def harmless(self, force: Array, floor: Array) -> bool:
        """True when forces left over are small, and so are the multipliers that the last factor answers them with."""
        if not largest_imbalance(force, self.settings, floor) <= UNBALANCED:
            return False
        pushed = self.equations.apply_factored(self.equations.solve(-force, refined=False))
        if not np.all(np.isfinite(pushed)):
            raise NotFinite("what would balance the forces at the end of the step is no number")
        return bool(impulse_share(pushed, self.settings, self.equations.alpha, floor) <= UNBALANCED)

    def miss(self, force: Array, floor: Array, Phidd: Array) -> float:
        """Return the largest error of a multiplier in terms of its floor, by an augmented Lagrangian in the metric M.

        ``force`` (n,) is what does not balance at the finished state, which was evaluated last, and ``Phidd`` (m,) what
        its projection left. Raises NotFinite, SingularTangent.
        """
        settings, equations, alpha = self.settings, self.equations, self.equations.alpha
        equations.factor_mass_metric(0.25 * settings.h**2)
        self.stats[FACTORISATIONS] += 1
        q4, left = 0.25 * settings.h**2, Phidd
        lam, wanted, shares = np.zeros_like(left), equations.solve(-force, refined=False), [ENDLESS, ENDLESS]
        for k in range(BOUND_ROUNDS):
            change = wanted + equations.solve_for_impulse(lam) if k > 0 else wanted
            violation = left + equations.apply_Phi_z(change)
            shares.append(impulse_share(violation, settings, alpha, floor))
            lam += q4 * alpha * violation
        found = share_of_floor(lam, settings, floor) + still_missing(shares[-1], shares[-2])
        if not (np.all(np.isfinite(lam)) and np.isfinite(found)):
            raise NotFinite("what would balance the forces at the end of the step is no number")
        return float(found)

    def floors(self, lam: Array, zd: Array, zdd: Array) -> Array:
        """Return the sizes (m,) that errors of multipliers are compared with."""
        floor = np.zeros_like(lam)
        load_floors(self.settings, lam, self.paces(zd, zdd)[1], floor)
        return floor

    def paces(self, zd: Array, zdd: Array) -> tuple[float, float]:
        """Return the largest rate and the largest acceleration of all coordinates that loops feel."""
        settings = self.settings
        rate, acceleration = (float(np.max(np.abs(values) / settings.pace, initial=0.0)) for values in (zd, zdd))
        return rate, float(largest_acceleration(settings, rate, acceleration))

    def note(self, violation: Array, where: int) -> None:
        """Write the largest translation and rotation violation to the stats."""
        size, rotation = np.abs(violation), self.settings.rotation
        self.stats[where] = np.max(size[~rotation], initial=0.0)
        self.stats[where + 3] = np.max(size[rotation], initial=0.0)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time spent inside to the phase ``name``; the factorisation counts as tangent here."""
        start = time.perf_counter()
        yield
        self.stats[RESIDUAL_TICKS + PHASES.index(name)] += time.perf_counter() - start


def in_range(*arrays: Array) -> bool:
    """True when every entry is a number that a mechanism may have."""
    return all(bool(np.all(np.abs(values) <= BEYOND)) for values in arrays)
