"""Random force laws from a grammar, recorded and compiled with every index checked, against a complex step.

The laws run in a process of its own, with ``NUMBA_BOUNDSCHECK=1``, which has kernels of its own in the cache. Were that
process to die, the law that it had begun counts as failed, and another goes on behind it.

An error is measured in units of what rounding may do: every node of the reference is evaluated again with noise of
``NOISE``, which says how far the noise of one rounding a node would move value and derivative.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import rtmbs
from bench.campaigns.campaign import Campaign, Tally
from bench.campaigns.law_growth import NOISE, Leaves, Plant, grown, reading
from bench.campaigns.law_rules import M, S, V
from rtmbs.ad import evaluate, memory_of
from rtmbs.model.checks import rotation_of_quaternion

Array = Any
STATES = 2
LARGEST = 10_000  # operations, most of them on vectors
EVERY = 50  # one law of the largest size
ROUNDING = 2.3e-16
ALLOWED = 100.0  # roundings: what noise of one rounding a node does, and one rounding of the largest entry
SMALL = 1e-6  # values and derivatives below it are compared with it
UNITS = ("value", "derivative")
PARAMETERS = {"a": 0.7, "b": np.array([0.3, -0.4, 0.5])}
KINDS = ("joint", "joints", "body")


# --------------------------------------------------------------------------------------------------------------- models


def leaves(kind: str) -> Leaves:
    """Return the inputs of a law of this kind: kinematics, then time and parameters."""
    taken = {"joint": (S, S), "joints": (V, V), "body": (V, M, V, V)}[kind]

    def split(x: Array, p: Array) -> list[Array]:
        rows = len(x)
        if kind == "joint":
            parts = [x[:, 0], x[:, 1]]
        elif kind == "joints":
            parts = [x[:, :3], x[:, 3:]]
        else:
            parts = [x[:, :3], x[:, 3:12].reshape(rows, 3, 3), x[:, 12:15], x[:, 15:]]
        return [*parts, p[:, 0], p[:, 1], p[:, 2:]]

    return Leaves((*taken, S, S, V), split)


def points(kind: str, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return inputs (STATES, n) and parameters (STATES, k) for a law; first the reference pose, at rest."""
    x, p = np.zeros((STATES, {"joint": 2, "joints": 6, "body": 18}[kind])), rng.uniform(-1.0, 1.0, (STATES, 5))
    x[1:] = rng.uniform(-1.0, 1.0, x[1:].shape)
    p[0] = [0.0, PARAMETERS["a"], *PARAMETERS["b"]]
    if kind == "body":
        turns = np.eye(4)[:1], rng.normal(size=(STATES - 1, 4))
        x[:, 3:12] = [rotation_of_quaternion(turn).ravel() for turn in np.concatenate(turns)]
    return x, p


def model_of(kind: str, law: Any) -> rtmbs.Model:
    """Return three hinges in a chain with a law on one, on all, or on the last body."""
    model, last = rtmbs.Model("law", gravity=(0, 0, 0)), "ground"
    for k, axis in enumerate(np.eye(3)):
        body = model.add_body(f"b{k}", mass=1.0, center_of_mass=(0.1, 0.2, -0.3), inertia=(0.1, 0.2, 0.3))
        model.add_joint(f"j{k}", rtmbs.Revolute(axis=tuple(axis)), last, body)
        last = body
    where = {"joint": {"joint": "j0"}, "joints": {"joints": ["j0", "j1", "j2"]}, "body": {"body": last}}[kind]
    model.add_force("law", law, parameters=PARAMETERS, **where)
    return model


def outputs(plant: Plant, kind: str, rng: np.random.Generator) -> list[int]:
    """Return the nodes that a law returns: what all others flow into, and one of them for a torque."""
    rows = [plant.add("row", (k,)) for k in plant.ends(M)]
    vector = plant.gathered([k for k in plant.ends(V) if k not in rows] + [k for k in rows if k >= 0], "vector sum")
    scalar = plant.gathered(plant.ends(S), "add")
    if kind == "joint":
        flat = plant.add("sum", (vector,)) if vector >= 0 else -1
        total = plant.add("add", (scalar, flat)) if flat >= 0 else -1
        return [total if total >= 0 else scalar]
    total = plant.add("vector of a scalar", (scalar, vector)) if min(scalar, vector) >= 0 else vector
    first = next(k for k in (total, vector, plant.places(V)[0]) if k >= 0)
    return [first] if kind == "joints" else [first, int(rng.choice(plant.places(V)))]


# ------------------------------------------------------------------------------------------------------------- one case


def compiled(kind: str, plant: Plant, results: list[int], x: Array, p: Array) -> tuple[Array, Array, int]:
    """Return values (STATES, m) and derivatives (STATES, m, n) by the program of a compiled model, and its length."""

    def law(t: Any, k: Any, given: Any) -> Any:
        motion = [k.r, k.R, k.v, k.w] if kind == "body" else [k.z, k.zd]
        found = reading(plant.nodes, [*motion, t, given["a"], given["b"]], results)
        return tuple(found) if kind == "body" else found[0]

    laws = model_of(kind, law).compile().tables.laws
    if laws.counts[0] + laws.counts[1] == 0:
        raise ValueError("the law was not recorded")
    program, n = laws.program, x.shape[1]
    m, entry = (6, laws.wrench_entry[:, 1:]) if kind == "body" else (int(laws.counts[1]), laws.force_entry[:, :2])
    memory, y = memory_of(program), np.zeros(len(program.output))
    values, J = np.zeros((STATES, m)), np.zeros((STATES, m, n))
    for state in range(STATES):
        evaluate(program, memory, x[state], p[state], y)
        values[state], J[state][tuple(entry.T)] = y[:m], y[m:]
    return values, J, int(program.count.sum())


def one_law(seed: int) -> dict[str, Any]:
    """Return the largest errors of one law in roundings, and its faults in words."""
    rng = np.random.default_rng([seed, 8])
    kind = KINDS[rng.integers(len(KINDS))]
    size = LARGEST if seed % EVERY == 0 else int(3 * (LARGEST / 3) ** rng.random() ** 2)
    x, p = points(kind, rng)
    plant = grown(rng, leaves(kind), x, p, size, depth=rng.choice((0.1, 0.5, 0.95)))
    results = outputs(plant, kind, rng)
    what = f"seed {seed}: {kind} law of {len(plant.nodes)} nodes"
    try:
        values, J, length = compiled(kind, plant, results, x, p)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        return {"seed": seed, "failure": f"{what}: {type(error).__name__}: {error}"}
    worst = {"instructions": length} | errors(plant, results, values, J)
    wrong = [f"{name} {worst[name]:.3g}" for name in UNITS if not worst[name] <= ALLOWED]
    return {"seed": seed, "worst": worst, "failure": f"{what}: {', '.join(wrong)} roundings" if wrong else ""}


def errors(plant: Plant, results: list[int], values: Array, J: Array) -> dict[str, float]:
    """Return the errors of values and derivatives in roundings, the derivative's relative to its largest entry too."""
    exact, slope, moved = plant.answer(results)
    sizes = np.abs(exact).max(axis=1), np.abs(slope).max(axis=(1, 2))
    apart = np.abs(values - exact).max(axis=1), np.abs(J - slope).max(axis=(1, 2))
    found = {
        name: float(np.max(error / (ROUNDING * (moved / NOISE + np.maximum(size, SMALL)))))
        for name, error, size in zip(UNITS, apart, sizes, strict=True)
    }
    return found | {"derivative, relative": float(np.max(apart[1] / np.maximum(sizes[1], SMALL)))}


# ------------------------------------------------------------------------------------------------- under bounds checks


def run(count: int, seed: int) -> Tally:
    """Try laws of so many seeds in a process that checks every index; begin another behind a law that ended it."""
    tally, last = Tally(), seed + count
    while seed < last:
        for answer in answers(seed, last):
            for name, value in answer.get("worst", {}).items():
                tally.largest(name, value)
            tally.fail(answer["failure"]) if answer["failure"] else tally.survive()
            seed = answer["seed"] + 1
        if seed < last:
            tally.fail(f"seed {seed}: the process ended")
            seed += 1
    return tally


def answers(first: int, last: int) -> Iterator[dict[str, Any]]:
    """Yield what the process says of each law, until it ends."""
    command = [sys.executable, "-m", "bench.campaigns.laws", str(first), str(last)]
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            yield json.loads(line)


CAMPAIGN = Campaign(
    name="laws",
    claim="random laws of up to 10,000 operations compile under bounds checks, with the derivatives of a complex step",
    full=2000,
    bounded=50,
    run=run,
)

if __name__ == "__main__":
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        print(json.dumps(one_law(number)), flush=True)
