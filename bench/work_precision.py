"""Error and processor time of methods and peers: ``python -m bench.work_precision PATH [NAMES]``.

Rings of bars in a plane, one bar on ground at each end, have equations of their own, compiled: angles of all bars, with
the two loop equations eliminated by multipliers. The stacked four-bars have those of the chain of their rods, 40 angles
without loops, compiled too. Andrews' squeezer and Bricard's mechanism have those of ``bench.own_equations``. They are
the reference, by DOP853 with 1e-13, and what CVODE and DOP853 integrate. The error is that of the angles at the end, in
rad. Exudyn (pip install exudyn) is left out where it is not installed, and has planar rings only. Times are processor
times of a run, the least of three. ``--page`` writes the tables of docs/measurements.md from the file.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import rtmbs
from bench.documents import DOCS, insert, table
from bench.own_equations import Andrews, Bricard, OwnEquations
from rtmbs import Every, PenaltyTrapezoidal, Simulation, VariationalMidpoint, library, refined
from rtmbs.bench.fourbar import coordinate
from rtmbs.library import references

LEVELS = 1e-4, 1e-6, 1e-8
G = 9.81
TRIES = 3
LONGEST = 1.0  # [s] of processor time that a finer step may be expected to take

# ---- rings of bars in a plane ---------------------------------------------------------------------------------------


@numba.njit
def ring_rates(t, y, L, m, g):
    """Return dy/dt of angles and rates (2 n,) of bars in a row, both ends on ground."""
    n = len(L)
    q, w = y[:n], y[n:]
    A, b = np.zeros((n + 2, n + 2)), np.zeros(n + 2)
    for k in range(n):
        A[k, k] += m[k] * L[k] ** 2 / 12.0
        for i in range(k + 1):
            a = L[i] if i < k else 0.5 * L[i]
            b[i] -= m[k] * g * a * np.cos(q[i])
            for j in range(k + 1):
                c = L[j] if j < k else 0.5 * L[j]
                A[i, j] += m[k] * a * c * np.cos(q[i] - q[j])
                b[i] -= m[k] * a * c * np.sin(q[i] - q[j]) * w[j] ** 2
    for k in range(n):
        A[n, k] = A[k, n] = -L[k] * np.sin(q[k])
        A[n + 1, k] = A[k, n + 1] = L[k] * np.cos(q[k])
        b[n] += L[k] * np.cos(q[k]) * w[k] ** 2
        b[n + 1] += L[k] * np.sin(q[k]) * w[k] ** 2
    return np.concatenate((w, np.linalg.solve(A, b)[:n]))


@dataclass
class Ring:
    """Bars in a row in the plane YZ, from the origin to (gap, 0)."""

    L: np.ndarray  # [m]
    m: np.ndarray  # [kg]
    gap: float  # [m]
    q: np.ndarray  # angles at the start [rad]
    w: np.ndarray  # rates at the start [rad/s]
    t_end: float  # [s]

    def rates(self, t: float, y: np.ndarray) -> np.ndarray:
        return ring_rates(t, y, self.L, self.m, G)

    def start(self) -> np.ndarray:
        return np.concatenate((self.q, self.w))

    def reference(self) -> np.ndarray:
        found = solve_ivp(self.rates, (0.0, self.t_end), self.start(), "DOP853", rtol=1e-13, atol=1e-13)
        return found.y[: len(self.L), -1]

    def model(self) -> rtmbs.Model:
        """Return the model, the last pin cut."""
        model, at, before, n = rtmbs.Model("ring", gravity=(0.0, 0.0, -G)), np.zeros(3), "ground", len(self.L)
        for k in range(n):
            u = np.array([0.0, np.cos(self.q[k]), np.sin(self.q[k])])
            inertia = self.m[k] * self.L[k] ** 2 / 12.0 * (np.eye(3) - np.outer(u, u)) + 1e-6 * np.outer(u, u)
            center = 0.5 * self.L[k] * u
            model.add_body(f"b{k}", mass=self.m[k], center_of_mass=tuple(center), inertia=inertia, position=tuple(at))
            model.add_joint(f"j{k}", rtmbs.Revolute((1, 0, 0)), before, f"b{k}", point=tuple(at))
            before, at = f"b{k}", at + self.L[k] * u
        model.add_joint("cut", rtmbs.Revolute((1, 0, 0)), "ground", before, point=(0.0, self.gap, 0.0), cut=True)
        for k in range(n - 2):
            model.set_initial(f"j{k}", rate=float(self.w[k] - (self.w[k - 1] if k else 0.0)))
        return model

    def angles(self, read: Callable[[str], float]) -> np.ndarray:
        return self.q + np.cumsum([float(read(f"j{k}.angle")) for k in range(len(self.L))])


def ring(L: list[float], m: list[float], gap: float, q: list[float], w: list[float], t_end: float) -> Ring:
    """Return a ring whose last two angles and rates close it."""
    lengths, free = np.array(L), len(L) - 2

    def gaps(last: np.ndarray) -> list[float]:
        all_q = np.concatenate((q[:free], last))
        return [float(lengths @ np.cos(all_q) - gap), float(lengths @ np.sin(all_q))]

    angles = np.concatenate((q[:free], fsolve(gaps, q[free:], xtol=1e-14)))
    J = np.array([-lengths * np.sin(angles), lengths * np.cos(angles)])
    rates = np.concatenate((w, np.linalg.solve(J[:, free:], -J[:, :free] @ np.array(w))))
    return Ring(lengths, np.array(m), gap, angles, rates, t_end)


CRANK = ring([0.3, 1.0, 0.8], [0.6, 1.2, 0.9], 0.9, [0.4, 0.9, -1.5], [6.0], 2.0)
FIVE = ring(
    [0.6, 0.7, 0.8, 0.7, 0.6], [1.0, 0.6, 1.7, 0.9, 1.3], 1.2, [1.9, 1.0, 0.1, -0.9, -2.0], [2.0, -1.5, 1.0], 1.5
)

# ---- stacked four-bars as a chain of angles -------------------------------------------------------------------------


@numba.njit
def chain_rates(t, y, W, weight):
    """Return dy/dt of the angles of the storeys and their rates (2 n,)."""
    n = len(weight)
    A, b = np.empty((n, n)), np.empty(n)
    for i in range(n):
        b[i] = -weight[i] * np.sin(y[i])
        for j in range(n):
            A[i, j] = W[i, j] * np.cos(y[i] - y[j])
            b[i] -= W[i, j] * np.sin(y[i] - y[j]) * y[n + j] ** 2
    return np.concatenate((y[n:], np.linalg.solve(A, b)))


@dataclass
class Stack:
    """Stacked four-bars as ``rtmbs.library.references.Chain`` has them."""

    chain: references.Chain
    t_end: float  # [s]

    def rates(self, t: float, y: np.ndarray) -> np.ndarray:
        return chain_rates(t, y, self.chain.W, self.chain.weight)

    def start(self) -> np.ndarray:
        n = len(self.chain.weight)
        return np.concatenate((np.full(n, np.radians(30.0)), [0.1], np.zeros(n - 1)))


# ---- programs: each yields (setting, error, seconds), the finer the later --------------------------------------------

Rows = Iterator[tuple[str, float, float]]


def timed(run: Callable[[], object]) -> tuple[object, float]:
    """Return what a run returned, and its processor time [s]."""
    start = time.process_time()
    found = run()
    return found, time.process_time() - start


def sweep(settings: list, run: Callable, error: Callable) -> Rows:
    """Yield runs of ever finer settings, until one is good enough or the next would take too long."""
    for setting in settings:
        try:
            tries = [run(setting) for _ in range(TRIES)]
        except (rtmbs.errors.RtmbsError, RuntimeError, ValueError):
            continue
        off, seconds = error(tries[-1][0]), min(one[1] for one in tries)
        yield f"{setting:g}", off, seconds
        if off < LEVELS[-1] / 3 or seconds > LONGEST:
            return


class OwnMechanism:
    """A mechanism, how it is read, and its reference."""

    def __init__(self, name: str) -> None:
        self.ring = {"crank-rocker": CRANK, "ring of five bars": FIVE}.get(name)
        self.own: Ring | Stack | OwnEquations | None = self.ring  # equations of its own
        if self.ring is not None:
            self.system, self.t_end, self.largest = self.ring.model().compile(), self.ring.t_end, 0.02
            self.exact = self.ring.reference()
            return
        if name == "4 x 40":
            self.system, self.t_end, self.largest = library.build("fourbar", ny=4, nz=40).compile(), 1.0, 0.02
            self.own = Stack(references.Chain(4, 40), self.t_end)
            self.exact = references.fourbar(4, 40, self.t_end).q
        else:
            own, self.largest = {"Andrews": (Andrews(), 5e-4), "Bricard": (Bricard(), 0.05)}[name]
            self.system, self.t_end = library.build(name.lower()).compile(), own.t_end
            self.own, self.exact = own, own.reference()
        self.start = Simulation(self.system, self.largest)

    def off(self, sim: Simulation) -> float:
        """Return the error of a Simulation at the end."""
        here = self.ring.angles(lambda name: sim[name]) if self.ring is not None else self.coordinates(sim.state.z)
        return float(np.abs(here - self.exact).max())

    def coordinates(self, z: np.ndarray) -> np.ndarray:
        """Return what the reference has: absolute angles of the first rods of a stack, or angles of joints."""
        if isinstance(self.own, OwnEquations):
            return np.array([coordinate(self.start, name, z) for name in self.own.joints])
        storeys = range(1, len(self.own.chain.weight) + 1)
        pins = np.array([coordinate(self.start, f"pin_{k}_0", z) for k in storeys])
        hinges = np.array([coordinate(self.start, f"hinge_{k}_0", z) for k in storeys[:-1]])
        pins[1:] += np.cumsum(pins[:-1] + hinges)
        return pins

    def off_of_result(self, result: rtmbs.Result) -> float:
        """Return the error of the last sample of a refined result."""
        if self.ring is not None:
            here = self.ring.angles(lambda name: float(result[name][-1]))
        else:
            here = self.coordinates(result.samples.z[-1])
        return float(np.abs(here - self.exact).max())

    def steps(self) -> list[float]:
        """Return steps that divide the run, halved again and again."""
        first = self.t_end / np.ceil(self.t_end / self.largest)
        return [float(first / 2**k) for k in range(13)]


def simulated(own: OwnMechanism, method: object, h: float, **options: object) -> tuple[Simulation, float]:
    """Return a Simulation at the end of its run, and the time of the run."""
    sim = Simulation(own.system, h, method)
    return sim, timed(lambda: sim.run(own.t_end, record=Every(own.t_end), **options))[1]


TOLERANCES = [10.0**-k for k in (2, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8, 8.5, 9)]


def rtmbs_rows(own: OwnMechanism) -> Iterator[tuple[str, Rows]]:
    """Yield the programs of rtmbs."""
    penalty, variational = PenaltyTrapezoidal(), VariationalMidpoint()
    for name, method in (("PenaltyTrapezoidal", penalty), ("VariationalMidpoint", variational)):
        yield name, sweep(own.steps(), lambda h, m=method: simulated(own, m, h), own.off)
    for name, method in (("PenaltyTrapezoidal", None), ("VariationalMidpoint", variational)):
        for runs in (2, 3):
            yield (
                f"{name}, refined, {runs} runs",
                sweep(
                    own.steps(),
                    lambda h, m=method, r=runs: timed(
                        lambda: refined(own.system, h, own.t_end, method=m, runs=r, threads=1)
                    ),
                    own.off_of_result,
                ),
            )
    yield (
        "PenaltyTrapezoidal, tolerance",
        sweep(TOLERANCES[:8], lambda tol: simulated(own, penalty, own.largest / 4, tolerance=tol), own.off),
    )
    yield (
        "VariationalMidpoint, tolerance",
        sweep(TOLERANCES, lambda tol: simulated(own, variational, own.largest / 4, tolerance=tol), own.off),
    )


def solver_rows(own: OwnMechanism) -> Iterator[tuple[str, Rows]]:
    """Yield DOP853 and CVODE over equations of their own, where there are some; angles are the first half of y."""
    system, tolerances = own.own, [10.0**-k for k in range(3, 13)]
    if system is None:
        return
    span = (0.0, system.t_end)

    def off(y: np.ndarray) -> float:
        here = system.angles(y) if isinstance(system, OwnEquations) else y[: len(own.exact)]
        return float(np.abs(here - own.exact).max())

    yield (
        "DOP853, own equations",
        sweep(
            tolerances,
            lambda tol: timed(
                lambda: solve_ivp(system.rates, span, system.start(), "DOP853", rtol=tol, atol=tol).y[:, -1]
            ),
            off,
        ),
    )
    from sksundae.cvode import CVODE

    def rhs(t: float, y: np.ndarray, out: np.ndarray) -> None:
        out[:] = system.rates(t, y)

    def adams(tol: float) -> np.ndarray:
        solver = CVODE(rhs, method="Adams", rtol=tol, atol=tol, max_num_steps=10**6)
        return solver.solve(np.array([0.0, system.t_end]), system.start()).y[-1]

    yield (
        "CVODE, own equations",
        sweep(
            tolerances,
            lambda tol: timed(lambda: adams(tol)),
            off,
        ),
    )


def exudyn_rows(own: OwnMechanism) -> Iterator[tuple[str, Rows]]:
    """Yield both integrators of Exudyn with planar bodies, over a ring."""
    if own.ring is None:
        return
    try:
        import exudyn as exu
    except ImportError:
        return
    ring, solvers = own.ring, exu.DynamicSolverType
    both = (("generalised alpha", solvers.GeneralizedAlpha, 0.9), ("trapezoidal", solvers.TrapezoidalIndex2, 1.0))
    for name, solver, radius in both:
        yield (
            f"Exudyn, {name}",
            sweep(
                own.steps(),
                lambda h, s=solver, r=radius: exudyn_ring(ring, round(ring.t_end / h), s, r),
                lambda q: float(np.abs(q - own.exact).max()),
            ),
        )


def exudyn_ring(ring: Ring, steps: int, solver: object, radius: float) -> tuple[np.ndarray, float]:
    """Return the angles of a ring at the end of a run of Exudyn, and the time of the run."""
    import exudyn as exu
    from exudyn import itemInterface as items

    mbs = exu.SystemContainer().AddSystem()
    ground = mbs.AddObject(items.ObjectGround())
    at, speed, before, nodes = np.zeros(2), np.zeros(2), (ground, [0.0, 0.0, 0.0]), []

    def pin(a: tuple, b: tuple) -> None:
        ends = [mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=body, localPosition=p)) for body, p in (a, b)]
        mbs.AddObject(items.RevoluteJoint2D(markerNumbers=ends))

    for length, mass, q, w in zip(ring.L, ring.m, ring.q, ring.w, strict=True):
        u, e = np.array([np.cos(q), np.sin(q)]), np.array([-np.sin(q), np.cos(q)])
        place, moving = at + 0.5 * length * u, speed + 0.5 * length * w * e
        node = mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=[*place, q], initialVelocities=[*moving, w]))
        body = mbs.AddObject(
            items.ObjectRigidBody2D(nodeNumber=node, physicsMass=mass, physicsInertia=mass * length**2 / 12.0)
        )
        weight = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=body))
        mbs.AddLoad(items.LoadMassProportional(markerNumber=weight, loadVector=[0.0, -G, 0.0]))
        nodes.append(node)
        pin(before, (body, [-0.5 * length, 0.0, 0.0]))
        before, at, speed = (body, [0.5 * length, 0.0, 0.0]), at + length * u, speed + length * w * e
    pin(before, (ground, [ring.gap, 0.0, 0.0]))
    mbs.Assemble()
    settings = exu.SimulationSettings()
    timing = settings.timeIntegration
    timing.numberOfSteps, timing.endTime, timing.verboseMode = steps, ring.t_end, 0
    timing.generalizedAlpha.spectralRadius = radius
    timing.generalizedAlpha.computeInitialAccelerations = True
    timing.newton.useModifiedNewton = True
    timing.newton.relativeTolerance, timing.newton.absoluteTolerance = 1e-10, 1e-12
    settings.solutionSettings.writeSolutionToFile = False
    _, seconds = timed(lambda: mbs.SolveDynamic(settings, solverType=solver))
    found = [np.asarray(mbs.GetNodeOutput(node, exu.OutputVariableType.Coordinates)).ravel()[2] for node in nodes]
    return np.array(found) + ring.q, seconds


NAMES = "crank-rocker", "ring of five bars", "4 x 40", "Andrews", "Bricard"


def times_to(rows: list[tuple[str, float, float]]) -> list[float | None]:
    """Return the least time of a program to every level of the error [ms]."""
    found = [min((seconds for _, off, seconds in rows if off <= level), default=None) for level in LEVELS]
    return [None if one is None else round(1e3 * one, 3) for one in found]


PAGE = DOCS / "measurements.md"


def on_page(found: dict[str, dict[str, dict]]) -> str:
    """Return the table of all mechanisms: the least time to every level [ms]."""
    rows = []
    for name in (one for one in NAMES if one in found):
        for program, row in found[name].items():
            rows.append([name, program, *("-" if ms is None else f"{ms:.3g}" for ms in row["ms"])])
    return table(["mechanism", "program", *(f"{level:.0e}" for level in LEVELS)], rows)


def main(path: str, names: list[str]) -> None:
    """Measure, print and write; with ``--page`` in place of names, write the page."""
    file = Path(path)
    if names == ["--page"]:
        insert(PAGE, "work precision", on_page(json.loads(file.read_text(encoding="utf-8"))))
        return
    found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    for name in names or NAMES:
        own = OwnMechanism(name)
        found[name] = {}
        for rows in (rtmbs_rows(own), solver_rows(own), exudyn_rows(own)):
            for program, tries in rows:
                every = list(tries)
                found[name][program] = {"ms": times_to(every), "runs": every}
                print(f"{name:18} {program:38}", found[name][program]["ms"], flush=True)
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
