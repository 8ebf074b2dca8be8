"""The tables and the picture of docs/methods-compared.md from what was measured.

``python -m bench.methods --json bench/methods/bench.json`` measures, and ``drift.py``, ``robustness.py`` and
``solvers.py`` of this folder with drift.json, robustness.json and solvers.json, and ``python -m bench.methods.survey
--json bench/methods/survey.json`` the items. ``python -m bench.methods.page``
writes. robustness_feedback.json has shares of 200 linkages that were measured before runs were kept one by one; their
forms correct nothing.
"""

import json
from pathlib import Path

from bench.documents import DOCS, insert, table
from bench.methods.panels import draw
from bench.methods.survey import words

HERE = Path(__file__).parent
PAGE = DOCS / "methods-compared.md"
PICTURE = DOCS / "methods_compared.png"
KEPT = 0.1  # of the largest kinetic energy: change of energy of a run that counts as kept


def read(name):
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


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


def style(i, method):
    """Return marker and line of a curve: beyond the twenty colours they change."""
    return {"marker": "osv^D"[i // 20 % 5], "ls": "-" if i < 20 else "--"}


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


def survey():
    """Return the table of every item of the survey and the notes beside it."""
    found = read("survey")
    head = ("group", "item", "measured", "allowed", "")
    body = [(row["group"], *words(row)) for row in found["rows"]]
    works = sum(row["works"] for row in found["rows"])
    return f"{table(head, body)}\n\n{works} of {len(body)} work, in {found['seconds']:.0f} s of the processor."


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
    insert(PAGE, "survey", survey())
    draw(PICTURE, rows, "wall", "wall time [s]", style)


if __name__ == "__main__":
    main()
