"""Work over error of the DAE family and its peers, at tolerances from 1e-3 to 1e-11: one figure.

``python -m bench.methods.tolerances`` measures and writes tolerances.json, the table of docs/methods-compared.md and
the figure; ``--problems`` and ``--methods`` choose by beginnings of names, ``--page`` writes from what was measured.
Peers run without rtmbs: solvers of SciPy and CVODE on reduced coordinates, IDA and scipy_dae on the equations of Gear,
Gupta and Leimkuhler, made of the same functions of the system. A peer that is not installed is left out. Time is that
of the processor, the least of three runs, or of fewer where a run is long.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from bench.documents import DOCS, insert, table
from bench.methods.panels import draw
from bench.methods.peers import peers
from bench.methods.reduced_problems import PROBLEMS
from rtmbs import Simulation, VariationalMidpoint
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
from rtmbs.formulations import Baumgarte, Compiled, FunctionSystem, Partitioning, Recursive

HERE = Path(__file__).parent

PICTURE = DOCS / "methods_tolerances.png"
TOLERANCES = tuple(10.0 ** -np.arange(3.0, 12.0, 2.0))
LOW = 1e-6  # the least tolerance of methods of order two
LONG = 0.3  # [s] of all repeats
GAVE_UP = 60.0  # [s] of a run, after which finer ones are left out
SIMULATED = "Simulation.run(tolerance=), VariationalMidpoint"
ERRORS = (1e-3, 1e-4, 1e-6, 1e-8, 1e-10)  # columns of the table


def compiled(system):
    """Return the formulation that a compiled call serves: of recorded functions, or of a System by recursion."""
    return Compiled() if isinstance(system, FunctionSystem) else Baumgarte(20.0, 20.0, within=Recursive())


def methods(system=None):
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
        "SolveIVP DOP853, compiled": lambda tol: SolveIVP("DOP853", compiled(system), tol, tol),
        "SolveIVP LSODA, compiled": lambda tol: SolveIVP("LSODA", compiled(system), tol, tol),
        "CVODE adams, compiled": lambda tol: CVODE("adams", compiled(system), tol, tol),
        "CVODE adams": lambda tol: CVODE("adams", Partitioning(), tol, tol),
        "IDA": lambda tol: IDA(tol, tol),
    }


def simulated(case):
    """Return the runs of a Simulation by name, each a function of the tolerance; none where there is no mechanism."""

    def run(tol):
        simulation = Simulation(case.mechanism, case.t_end, method=VariationalMidpoint())
        simulation.run(case.t_end, tolerance=tol)
        return simulation.state.z

    return {} if case.mechanism is None else {SIMULATED: run}


def own(case, make):
    """Return a function of the tolerance that runs a method of rtmbs and returns q at the end."""
    system, q, v, t_end = case[:4]

    def run(tol):
        method = make(tol)
        return None if method is None else integrate(system, method, q, v, t_end, t_end).q[-1]

    return run


def measured(case, run, name, problem):
    """Return the rows of one method."""
    rows, end = [], case.end
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


def fastest(rows):
    """Return a table: the fastest of rtmbs, and the fastest peer on reduced and on constrained equations."""
    head = ["problem", "error", "fastest of rtmbs", "[s]"]
    head += ["peer on reduced equations", "[s]", "peer / rtmbs", "peer on the same equations", "[s]", "peer / rtmbs"]
    lines, ours = [], {*methods(), SIMULATED}
    for problem in dict.fromkeys(row["problem"] for row in rows):
        here = [row for row in rows if row["problem"] == problem]
        names = list(dict.fromkeys(row["method"] for row in here))
        groups = [
            [name for name in names if name in ours],
            [name for name in names if name not in ours and name.endswith("reduced")],
            [name for name in names if name not in ours and not name.endswith("reduced")],
        ]
        for error in ERRORS:
            times = {name: time_at([row for row in here if row["method"] == name], error) for name in names}
            own, *others = [
                min(((times[name], name) for name in group if times[name]), default=None) for group in groups
            ]
            cells = [own[1], f"{own[0]:.4f}"] if own else ["-", "-"]
            for one in others:
                cells += [one[1].split(",")[0], f"{one[0]:.4f}"] if one else ["-", "-"]
                cells.append(f"{one[0] / own[0]:.2f}" if one and own else "-")
            lines.append([problem, f"{error:.0e}", *cells])
    return f"{table(head, lines)}\n\n{behind(lines)}"


def behind(lines):
    """Return a sentence on where a peer takes less time than the fastest of rtmbs."""
    told = []
    for first, what in ((4, "on reduced equations"), (7, "on the same equations")):
        pairs = [line for line in lines if line[first + 2] != "-"]
        less = [line for line in pairs if float(line[first + 2]) < 1.0]
        where = ", ".join(f"{line[0]} at {line[1]} ({line[first]}, {line[first + 2]})" for line in less)
        told.append(f"A peer {what} takes less time in {len(less)} of {len(pairs)} rows{': ' * bool(less)}{where}.")
    return "\n".join(told)


def style(_, name):
    """Return marker and line of a curve; peers are dashed."""
    ours = name in {*methods(), SIMULATED}
    return {"ls": "-" if ours else "--", "marker": "D" if name == SIMULATED else "o" if ours else "s"}


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
        runs = {name: own(case, one) for name, one in methods(case.system).items()} | simulated(case) | peers(case)
        for name, run in runs.items():
            if not arguments.methods or name.startswith(tuple(arguments.methods)):
                rows = [row for row in rows if (row["problem"], row["method"]) != (problem, name)]
                rows += measured(case, run, name, problem)
                place.write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")
    insert(DOCS / "methods-compared.md", "tolerances", fastest(rows))
    draw(PICTURE, rows, "time", "time of the processor [s]", style)


if __name__ == "__main__":
    main()
