"""The tables and the picture of docs/methods-compared.md from what was measured.

``python -m bench.methods --json bench/methods/bench.json`` measures, and ``drift.py``, ``robustness.py`` and
``solvers.py`` of this folder with drift.json, robustness.json and solvers.json. This script writes.
robustness_feedback.json has shares of 200 linkages that were measured before runs were kept one by one; their forms
correct nothing.
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import matplotlib.ticker

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from documents import DOCS, insert  # noqa: E402

PAGE = DOCS / "methods-compared.md"
PICTURE = DOCS / "methods_compared.png"
KEPT = 0.1  # of the largest kinetic energy: change of energy of a run that counts as kept


def read(name):
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


def table(head, rows):
    """Return a table of Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def small(x):
    return "-" if x is None else f"{x:.0e}".replace("e-0", "e-").replace("e+0", "e")


def count(number):
    return "-" if number is None else str(number)


def runs(rows, problem):
    """Return the table of one problem: the finest run of each method, and why there is none."""
    finest = {}
    for row in rows:
        if row["problem"] == problem and (row["error"] is not None or row["method"] not in finest):
            finest[row["method"]] = row
    head = (
        "method",
        "h or tol",
        "error",
        "Phi",
        "Phid",
        "Phidd",
        "energy",
        "time [s]",
        "evaluations",
        "factorisations",
    )
    body = []
    for row in finest.values():
        name, level = row["method"], small(row["level"])
        if row["error"] is None:
            body.append((name, level, row["remark"].split(";")[0], *[""] * 7))
            continue
        numbers = [small(x) for x in (row["error"], *row["violations"], row["energy"])]
        body.append(
            (name, level, *numbers, f"{row['wall']:.2f}", count(row["evaluations"]), count(row["factorisations"]))
        )
    return table(head, body)


def picture(rows):
    """Draw error over wall time, one panel a problem."""
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure, axes = plt.subplots(2, 3, figsize=(15, 9))
    colours = plt.get_cmap("tab20").colors
    for axis, problem in zip(axes.flat, problems, strict=False):
        for i, method in enumerate(methods):
            points = [
                (r["wall"], r["error"]) for r in rows if (r["problem"], r["method"]) == (problem, method) and r["error"]
            ]
            if points:
                style = {"marker": "osv^D"[i // 20 % 5] if i >= 20 else "o", "color": colours[i % 20], "label": method}
                axis.loglog(*zip(*points, strict=True), lw=1, ms=4, ls="-" if i < 20 else "--", **style)
        axis.set(title=problem, xlabel="wall time [s]", ylabel="error of q at the end")
        axis.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
        axis.grid(alpha=0.3)
    for axis in list(axes.flat)[len(problems) :]:
        axis.axis("off")
    handles = {label: line for axis in axes.flat for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    axes.flat[-1].legend(handles.values(), handles.keys(), fontsize=8, ncol=2, loc="center")
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=80)


def robustness():
    """Return the table of shares: closed at 10 ms, or at halved steps where a run failed, and energy kept at 10 ms."""
    steps = (1e-2, 5e-3, 2.5e-3, 1.25e-3)
    head = ("formulation", "linkages", "closed, 10 ms", "or 5 ms", "or 2.5 ms", "or 1.25 ms", "energy kept, 10 ms")
    body = [(name, "200", percent(share), *["-"] * 4) for name, share in read("robustness_feedback").items()]
    for name, rows in read("robustness").items():
        reached = [sum(row["h"] is not None and row["h"] >= h for row in rows) / len(rows) for h in steps]
        kept = sum(row["h"] == steps[0] and row["energy"] < KEPT for row in rows) / len(rows)
        body.append((name, str(len(rows)), *map(percent, (*reached, kept))))
    return table(head, body)


def solvers():
    """Return the table of one evaluation by each linear solver [ms]."""
    rows = read("solvers")
    names = list(dict.fromkeys(row["solver"] for row in rows))
    body = []
    for form, bodies in dict.fromkeys((row["form"], row["bodies"]) for row in rows):
        here = {r["solver"]: r for r in rows if (r["form"], r["bodies"]) == (form, bodies)}
        unknowns = next(iter(here.values()))["unknowns"]
        times = [f"{1e3 * here[name]['seconds']:.2f}" if name in here else "-" for name in names]
        body.append((form, str(bodies), str(unknowns), *times, small(max(r["difference"] for r in here.values()))))
    head = ("coordinates", "bodies", "n + m", *(f"{name} [ms]" for name in names), "largest difference")
    return table(head, sorted(body, key=lambda row: row[0]))


def percent(share):
    return f"{100 * share:.1f} %"


def main():
    rows = read("bench")["rows"]
    for problem in dict.fromkeys(row["problem"] for row in rows):
        insert(PAGE, problem, runs(rows, problem))
    head = ("method", "Phi to 10 s", "Phi to 100 s", "Phid to 100 s", "energy")
    insert(PAGE, "drift", table(head, [(name, *map(small, row.values())) for name, row in read("drift").items()]))
    insert(PAGE, "robustness", robustness())
    insert(PAGE, "solvers", solvers())
    picture(rows)


if __name__ == "__main__":
    main()
