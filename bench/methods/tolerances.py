"""Work over error of the DAE family and its peers, at tolerances from 1e-3 to 1e-11: five problems, one figure.

``python bench/methods/tolerances.py`` measures and writes tolerances.json, the table of docs/methods-compared.md and
the figure; ``--problems`` and ``--methods`` choose by beginnings of names, ``--page`` writes from what was measured.
Peers run without rtmbs: solvers of SciPy and CVODE on reduced coordinates, IDA and scipy_dae on the equations of Gear,
Gupta and Leimkuhler, made of the same functions of the system. A peer that is not installed is left out. Time is that
of the processor, the least of three runs, or of fewer where a run is long.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
from scipy.integrate import solve_ivp

mpl.use("Agg")
import matplotlib.pyplot as plt

from rtmbs import library
from rtmbs.dae import (
    CVODE,
    HHT,
    IDA,
    ODAE,
    GeneralisedAlpha,
    HalfExplicit,
    RadauGGL,
    SolveIVP,
    TangentSpace,
    integrate,
)
from rtmbs.errors import RtmbsError
from rtmbs.formulations import FunctionSystem, JointCoordinates, Partitioning, consistent_state
from rtmbs.formulations.function_system import CRANK, ROD, slider_crank
from rtmbs.formulations.rate_constraints import holonomic_rows, with_rate_rows

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent.parent))
from documents import DOCS, insert  # noqa: E402

from bench.methods.problems import ANDREWS_END, ANDREWS_START, andrews_system  # noqa: E402

PICTURE = DOCS / "methods_tolerances.png"
TOLERANCES = tuple(10.0 ** -np.arange(3.0, 12.0, 2.0))
LOW = 1e-6  # the least tolerance of methods of order two
LONG = 0.3  # [s] of all repeats
GAVE_UP = 60.0  # [s] of a run, after which finer ones are left out
ERRORS = (1e-3, 1e-4, 1e-6, 1e-8, 1e-10)  # columns of the table


def slider_crank_case():
    """Return the slider-crank, its start, the end, and the equation of the crank angle."""
    system = slider_crank()
    M, weight = np.diag([0.01, 0.5, 0.5, 0.015, 1.0]), np.array([0.0, 0.0, -0.5 * 9.81, 0.0, 0.0])
    ratio = CRANK / ROD

    def place(y):
        rod = -np.arcsin(ratio * np.sin(y[0]))
        x, z = CRANK * np.cos(y[0]), CRANK * np.sin(y[0])
        return np.array([y[0], x + ROD / 2 * np.cos(rod), z + ROD / 2 * np.sin(rod), rod, x + ROD * np.cos(rod)])

    def ways(y):
        """Return dq/dangle, and its rate."""
        s, c, w = np.sin(y[0]), np.cos(y[0]), y[1]
        rod = -np.arcsin(ratio * s)
        sr, cr = np.sin(rod), np.cos(rod)
        b = -ratio * c / cr
        bd = ratio * s * w / cr + b * sr / cr * b * w
        N = np.array([1.0, -CRANK * s - ROD / 2 * sr * b, CRANK * c + ROD / 2 * cr * b, b, -CRANK * s - ROD * sr * b])
        turn, lift = cr * b * b * w + sr * bd, -sr * b * b * w + cr * bd
        along, across = -CRANK * c * w, -CRANK * s * w
        return N, np.array([0.0, along - ROD / 2 * turn, across + ROD / 2 * lift, bd, along - ROD * turn])

    def rates(t, y):
        N, Nd = ways(y)
        return np.array([y[1], N @ (weight - M @ Nd * y[1]) / (N @ M @ N)])

    y0, t_end = np.array([0.7, 2.0]), 1.0
    return system, place(y0), ways(y0)[0] * y0[1], t_end, exact_end(rates, y0, t_end, place), (rates, y0, place)


def satellite_case():
    """Return a free body in Euler parameters, mass matrix singular, and Euler's equations."""
    J = np.diag([1.0, 2.3, 2.9])

    def L(p):
        a, b, c, d = p
        return np.array([[-b, a, d, -c], [-c, -d, a, b], [-d, c, -b, a]])

    system = FunctionSystem(
        4,
        1,
        lambda p, t: 4.0 * L(p).T @ J @ L(p),
        lambda p, v, t: -8.0 * L(v).T @ (J @ (L(p) @ v)),
        lambda p, t: [p[0] ** 2 + p[1] ** 2 + p[2] ** 2 + p[3] ** 2 - 1.0],
    )
    w0, p0, t_end = np.array([0.1, 3.0, 0.2]), np.array([1.0, 0.0, 0.0, 0.0]), 4.0

    def rates(t, y):
        w = y[4:]
        return np.concatenate((0.5 * L(y[:4]).T @ w, np.linalg.solve(J, np.cross(J @ w, w))))

    y0 = np.concatenate((p0, w0))
    place = lambda y: y[:4]  # noqa: E731
    return system, p0, 0.5 * L(p0).T @ w0, t_end, exact_end(rates, y0, t_end, place), (rates, y0, place)


def sleigh_case():
    """Return Chaplygin's sleigh, a knife edge, and its equations in quasi-velocities."""
    m, a, inertia = 1.3, 0.4, 0.3

    def mass(q, t):
        s, c = m * a * np.sin(q[2]), m * a * np.cos(q[2])
        return np.array([[m, 0.0, -s], [0.0, m, c], [-s, c, inertia + m * a * a]])

    system = FunctionSystem(
        3,
        0,
        mass,
        lambda q, v, t: m * a * v[2] ** 2 * np.array([np.cos(q[2]), np.sin(q[2]), 0.0]),
        lambda q, t: [],
        rate_constraints=lambda q, v, t: [np.sin(q[2]) * v[0] - np.cos(q[2]) * v[1]],
        rate_rows=1,
    )

    def rates(t, y):
        u, w = y[3:]
        return np.array([u * np.cos(y[2]), u * np.sin(y[2]), w, a * w * w, -m * a * u * w / (inertia + m * a * a)])

    y0, t_end = np.array([0.0, 0.0, 0.0, 0.3, 1.8]), 2.0
    place = lambda y: y[:3]  # noqa: E731
    end = exact_end(rates, y0, t_end, place)
    return system, np.zeros(3), np.array([0.3, 0.0, 1.8]), t_end, end, (rates, y0, place)


def andrews_case():
    """Return Andrews' squeezer and the end of the test set."""
    system = andrews_system()
    return system, ANDREWS_START.copy(), np.zeros(7), 0.03, ANDREWS_END, None


def fourbars_case():
    """Return 4 x 40 parallelogram four-bars in joint coordinates; the reference is DOP853 at 1e-13."""
    compiled = library.build("fourbar", ny=4, nz=40).compile()
    system = JointCoordinates(compiled)
    q, v = consistent_state(system, compiled.z0, 10.0 * compiled.zd0, 0.0)
    t_end = 0.2
    end = integrate(system, SolveIVP("DOP853", Partitioning(), 1e-12, 1e-13), q, v, t_end, t_end).q[-1]
    return system, q, v, t_end, end, None


PROBLEMS = {
    "slider-crank": slider_crank_case,
    "satellite": satellite_case,
    "sleigh": sleigh_case,
    "andrews": andrews_case,
    "4 x 40 four-bars": fourbars_case,
}


def exact_end(rates, y0, t_end, place):
    """Return q at the end by the reduced equations."""
    return place(solve_ivp(rates, (0.0, t_end), y0, "DOP853", rtol=1e-13, atol=1e-14).y[:, -1])


def methods():
    """Return the methods of rtmbs by name, each a function of the tolerance."""
    return {
        "RadauGGL": lambda tol: RadauGGL(rtol=tol, atol=tol),
        "HalfExplicit": lambda tol: HalfExplicit(rtol=tol, atol=tol),
        "ODAE 5": lambda tol: ODAE(5, rtol=tol, atol=tol),
        "TangentSpace adams 5": lambda tol: TangentSpace("adams", 5, rtol=tol, atol=tol),
        "GeneralisedAlpha 2": lambda tol: GeneralisedAlpha(index=2, rtol=tol, atol=tol) if tol > LOW else None,
        "HHT 3": lambda tol: HHT(rtol=tol, atol=tol) if tol > LOW else None,
        "SolveIVP DOP853": lambda tol: SolveIVP("DOP853", Partitioning(), tol, tol),
        "SolveIVP LSODA": lambda tol: SolveIVP("LSODA", Partitioning(), tol, tol),
        "CVODE adams": lambda tol: CVODE("adams", Partitioning(), tol, tol),
        "IDA": lambda tol: IDA(tol, tol),
    }


def own(case, make):
    """Return a function of the tolerance that runs a method of rtmbs and returns q at the end."""
    system, q, v, t_end, _, _ = case

    def run(tol):
        method = make(tol)
        return None if method is None else integrate(system, method, q, v, t_end, t_end).q[-1]

    return run


def stabilised(case):
    """Return the equations of Gear, Gupta and Leimkuhler: n, unknowns and their rates at the start, and F(t, y, y')."""
    system, q, v, _, _, _ = case
    system = with_rate_rows(system)
    n, m, held = system.n, system.m, holonomic_rows(system)

    def parts(y, multipliers):
        return y[:n], y[n : 2 * n], multipliers[:m], multipliers[m:]

    def residual(t, y, yp, multipliers):
        q, v, lam, mu = parts(y, multipliers)
        P = system.constraint_jacobian(q, t)
        balance = system.mass(q, t) @ yp[n : 2 * n] + P.T @ lam - system.force(q, v, t)
        rows = P @ v + system.constraint_rate_terms(q, v, t)[0], system.constraints(q, t)[:held]
        return np.concatenate((yp[:n] - v + P[:held].T @ mu, balance, *rows))

    P, M = system.constraint_jacobian(q, 0.0), system.mass(q, 0.0)
    saddle = np.block([[M, P.T], [P, np.zeros((m, m))]])
    right = np.concatenate((system.force(q, v, 0.0), system.constraint_rate_terms(q, v, 0.0)[1]))
    found = np.linalg.lstsq(saddle, right, rcond=1e-13)[0]
    return n, m, held, np.concatenate((q, v)), np.concatenate((v, found[:n])), found[n:], residual


def peers(case):
    """Return the peers that are installed, each a function of the tolerance."""
    *_, t_end, _, reduced = case
    found = {}
    if reduced is not None:
        rates, y0, place = reduced
        for solver in ("DOP853", "LSODA", "Radau"):
            found[f"scipy {solver}, reduced"] = lambda tol, solver=solver: place(
                solve_ivp(rates, (0.0, t_end), y0, solver, rtol=max(tol, 1e-13), atol=tol).y[:, -1]
            )
    n, m, held, y, yp, lam, residual = stabilised(case)
    try:
        from sksundae.cvode import CVODE as RawCVODE
        from sksundae.ida import IDA as RawIDA

        if reduced is not None:
            found["sundials CVODE, reduced"] = lambda tol: raw_cvode(RawCVODE, reduced, t_end, tol)
        found["sundials IDA, GGL"] = lambda tol: raw_ida(RawIDA, (n, m, held, y, yp, lam, residual), t_end, tol)
    except ImportError:
        pass
    try:
        from scipy_dae.integrate import solve_dae

        z0, zp0 = np.concatenate((y, np.zeros(m + held))), np.concatenate((yp, lam, np.zeros(held)))

        def equations(t, z, zp):  # multipliers are rates of further unknowns
            return residual(t, z[: 2 * n], zp[: 2 * n], zp[2 * n :])

        for solver in ("Radau", "BDF"):
            found[f"scipy_dae {solver}, GGL"] = lambda tol, solver=solver: solve_dae(
                equations, (0.0, t_end), z0, zp0, method=solver, rtol=tol, atol=tol
            ).y[:n, -1]
    except ImportError:
        pass
    return found


def raw_cvode(kind, reduced, t_end, tol):
    """Return q at the end by CVODE, Adams formulas, on reduced coordinates."""
    rates, y0, place = reduced

    def rhs(t, y, out):
        out[:] = rates(t, y)

    solver = kind(rhs, method="Adams", rtol=tol, atol=tol, max_num_steps=10**6)
    solver.init_step(0.0, y0)
    return place(np.ravel(solver.step(t_end).y))


def raw_ida(kind, equations, t_end, tol):
    """Return q at the end by IDA."""
    n, m, held, y, yp, lam, residual = equations

    def left(t, z, zp, out):
        out[:] = residual(t, z[: 2 * n], zp[: 2 * n], z[2 * n :])

    atol = np.concatenate((np.full(2 * n, tol), np.full(m + held, 1e12)))
    algebraic = list(range(2 * n, 2 * n + m + held))
    solver = kind(left, rtol=tol, atol=atol, algebraic_idx=algebraic, max_num_steps=10**6)
    solver.init_step(0.0, np.concatenate((y, lam, np.zeros(held))), np.concatenate((yp, np.zeros(m + held))))
    found = solver.step(t_end)
    return np.ravel(found.y)[:n] if found.success else None


def measured(case, run, name, problem):
    """Return the rows of one method."""
    rows, end = [], case[4]
    for tol in TOLERANCES:
        least, spent = np.inf, 0.0
        try:
            for _ in range(3):
                began = time.process_time()
                q = run(tol)
                took = time.process_time() - began
                least, spent = min(least, took), spent + took
                if q is None or spent > LONG:
                    break
        except (RtmbsError, ValueError, RuntimeError, np.linalg.LinAlgError) as error:
            print(f"{problem}, {name}, {tol:.0e}: {str(error)[:120]}", flush=True)
            continue
        if q is None:
            continue
        error = float(np.max(np.abs(q - end) / np.maximum(1.0, np.abs(end))))
        rows.append({"problem": problem, "method": name, "tolerance": float(tol), "error": error, "time": least})
        print(f"{problem:18}{name:28}{tol:9.0e}{error:10.1e}{least:9.3f} s", flush=True)
        if least > GAVE_UP:
            break
    return rows


def time_at(rows, error):
    """Return the time of an error, between two runs by straight lines of logarithms; None beyond what was run."""
    pairs = sorted((row["error"], row["time"]) for row in rows if row["error"] > 0.0)
    if not pairs or pairs[0][0] > error:
        return None
    best = min((took for found, took in pairs if found <= error), default=None)
    above = [pair for pair in pairs if pair[0] > error]
    below = [pair for pair in pairs if pair[0] <= error]
    if above and below:
        (e1, t1), (e0, t0) = above[0], below[-1]
        share = np.log(error / e0) / np.log(e1 / e0)
        best = min(best, float(np.exp((1 - share) * np.log(t0) + share * np.log(t1))))
    return best


def table(rows):
    """Return a table: the fastest of rtmbs and the fastest peer at each error."""
    head = ["problem", "error", "fastest of rtmbs", "[s]", "fastest peer", "[s]", "peer / rtmbs"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    ours = set(methods())
    for problem in dict.fromkeys(row["problem"] for row in rows):
        here = [row for row in rows if row["problem"] == problem]
        names = list(dict.fromkeys(row["method"] for row in here))
        for error in ERRORS:
            times = {name: time_at([row for row in here if row["method"] == name], error) for name in names}
            best = [
                min(((took, name) for name, took in times.items() if took and (name in ours) == mine), default=None)
                for mine in (True, False)
            ]
            cells = [(f"{one[1]}", f"{one[0]:.3f}") if one else ("-", "-") for one in best]
            ratio = f"{best[1][0] / best[0][0]:.2f}" if all(best) else "-"
            lines.append(f"| {problem} | {error:.0e} | {' | '.join((*cells[0], *cells[1]))} | {ratio} |")
    return "\n".join(lines)


def picture(rows):
    """Draw error over time, a panel a problem; peers are dashed."""
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    names, ours = list(dict.fromkeys(row["method"] for row in rows)), set(methods())
    figure, axes = plt.subplots(2, 3, figsize=(15, 9))
    colours = plt.get_cmap("tab20").colors
    for axis, problem in zip(axes.flat, problems, strict=False):
        for i, name in enumerate(names):
            here = [row for row in rows if (row["problem"], row["method"]) == (problem, name) and row["error"]]
            points = [(row["time"], row["error"]) for row in here]
            if points:
                style = {"ls": "-" if name in ours else "--", "marker": "o" if name in ours else "s"}
                axis.loglog(*zip(*points, strict=True), color=colours[i % 20], lw=1, ms=4, label=name, **style)
        axis.set(title=problem, xlabel="time of the processor [s]", ylabel="error of q at the end")
        axis.grid(alpha=0.3)
    for axis in list(axes.flat)[len(problems) :]:
        axis.axis("off")
    handles = {label: line for axis in axes.flat for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    axes.flat[-1].legend(handles.values(), handles.keys(), fontsize=8, ncol=2, loc="center")
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="*", default=[], help="beginnings of names")
    parser.add_argument("--methods", nargs="*", default=[], help="beginnings of names")
    parser.add_argument("--page", action="store_true", help="write the page from what was measured")
    arguments = parser.parse_args()
    place = HERE / "tolerances.json"
    rows = json.loads(place.read_text(encoding="utf-8"))["rows"] if place.exists() else []
    for problem, make in PROBLEMS.items():
        if arguments.page or (arguments.problems and not problem.startswith(tuple(arguments.problems))):
            continue
        case = make()
        runs = {name: own(case, one) for name, one in methods().items()} | peers(case)
        for name, run in runs.items():
            if not arguments.methods or name.startswith(tuple(arguments.methods)):
                rows = [row for row in rows if (row["problem"], row["method"]) != (problem, name)]
                rows += measured(case, run, name, problem)
                place.write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")
    insert(DOCS / "methods-compared.md", "tolerances", table(rows))
    picture(rows)


if __name__ == "__main__":
    main()
