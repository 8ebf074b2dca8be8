"""Costs of derivatives in values of Q, beside bounds (5) and (6) of the paper: ``python -m bench.derivative_costs``.

The bounds (Griewank): one directional derivative with its value costs at most 2 to 2.5 values in forward mode (5), one
adjoint with its value 3 to 5 in reverse mode (6). Two things are measured. Counts are exact: the operations of the
recorded Q, of one forward direction and of one adjoint over its graph. Times are processor times, medians of rounds in
which value, direction and Jacobian take turns. ``--write`` puts both tables into docs/derivatives.md, ``--sizes`` takes
other parallel four-bars.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bench.documents import DOCS, insert, table
from bench.table1.measure import DIFFERENCES, FOOTING
from bench.table1.options import sizes
from bench.table1.pairs import ClosedForm, Question
from rtmbs import Simulation, library
from rtmbs.ad import Autograd, ComplexStep, FiniteDifference, Traced, recorder
from rtmbs.ad import operations as o
from rtmbs.ad.derivative_graph import Graph, linearised
from rtmbs.ad.tape import Tape, finished
from rtmbs.integrators.settings import PAPER
from rtmbs.semirecursive import page_elements
from rtmbs.semirecursive.sources import STRUCTURED, CompiledForce, PageForce
from rtmbs.system.system import System

PAGE = DOCS / "derivatives.md"
SIZES = ((1, 10), (4, 10), (4, 40))
ROUNDS, BUDGET = 9, 20.0  # rounds in turns, fewer when they last longer [s]
LEAST = 2e-3  # [s] that a timed block lasts
BOUNDS = {"forward": (2.0, 2.5), "reverse": (3.0, 5.0)}  # Eq. 5 and 6


class Source(NamedTuple):
    """What is timed of a source: a value, a value with one derivative of its mode, and the whole Jacobian."""

    mode: str
    value: Callable[[], Any]
    one: Callable[[], Any] | None
    jacobian: Callable[[], Any]


class Counts(NamedTuple):
    """Operations of a recorded Q and of its derivatives; an addition, a product and a sine are one operation each."""

    value: int
    linear: int  # of the value with the partial derivatives of every operation
    direction: int  # of one tangent, partial derivatives given
    adjoint: int  # of one adjoint, partial derivatives given
    active: int  # of the tangents of all inputs where those that are zero are left out

    def forward(self, directions: int) -> float:
        """Return the operations of the value with so many tangents at once, in values."""
        return (self.linear + directions * self.direction) / self.value

    @property
    def reverse(self) -> float:
        """Return the operations of the value with one adjoint, in values."""
        return (self.linear + self.adjoint) / self.value


def main() -> None:
    """Measure, print, and write the page when asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=sizes, default=SIZES, help="n_y x n_z, as 1x10,4x40")
    parser.add_argument("--write", action="store_true", help="write the tables of docs/derivatives.md")
    chosen = parser.parse_args()
    systems = {
        f"{ny} x {nz}": library.build("fourbar", ny=ny, nz=nz, layout="parallel").compile() for ny, nz in chosen.sizes
    }
    for name, text in (("derivative counts", counts_table(systems)), ("derivative bounds", times_table(systems))):
        print(f"{text}\n", flush=True)
        if chosen.write:
            insert(PAGE, name, text)


# ---- counts


def recorded(system: System) -> Traced:
    """Return Q recorded."""
    parameters = len(system.u0) + len(system.states) + system.R0.size
    return Traced(
        PageForce(system), 2 * system.n, system.n, k=parameters, batched=True, xp=page_elements.recursive(recorder)
    )


def count(tape: Tape) -> Counts:
    """Count the operations of a tape and of its derivatives.

    An edge of the graph is one product, save where its factor is 1 or -1. Additions join the edges that meet in a
    vertex, from its arguments in forward mode, from what uses it in reverse mode.
    """
    graph = linearised(tape)
    both = finished(graph.builder, np.concatenate((graph.value, graph.factor)), tape.n, tape.k)
    kept = graph.builder.code[graph.factor, 0] == o.CONSTANT
    products = ~(kept & (np.abs(graph.builder.value[graph.factor]) == 1.0))
    direction, adjoint = (
        int(np.sum(products)) + int(np.sum(np.maximum(np.bincount(side) - 1, 0)))
        for side in (graph.target, graph.source)
    )
    return Counts(operations(tape), operations(both), direction, adjoint, active(graph, products))


def operations(tape: Tape) -> int:
    """Return how many steps of a tape are operations: neither inputs nor constants."""
    return int(np.sum(tape.op > o.INPUT))


def active(graph: Graph, products: Any) -> int:
    """Return the operations of all tangents where those that are zero are left out."""
    reach = [0] * graph.vertices  # bits of the inputs that a vertex depends on
    for vertex, column in zip(graph.input.tolist(), graph.column.tolist(), strict=True):
        reach[vertex] |= 1 << column
    total = 0
    for source, target, product in zip(graph.source.tolist(), graph.target.tolist(), products.tolist(), strict=True):
        total += (reach[source] & reach[target]).bit_count() + product * reach[source].bit_count()
        reach[target] |= reach[source]
    return total


def counts_table(systems: dict[str, System]) -> str:
    """Return the counted operations, and the ratio of forward mode to differences that they give."""
    head = [
        "parallel n_y x n_z", "operations of Q", "value and one direction (5)", "value and one adjoint (6)",
        "2 n directions at once / differences", "the same without tangents of zero", "trace / differences",
    ]  # fmt: skip
    rows = []
    for name, system in systems.items():
        traced, n = recorded(system), 2 * system.n
        found = count(traced.tape)
        differences = (n + 1) * found.value
        entries = operations(traced.jacobian_entries.sparse.tape)
        rows.append([
            name, f"{found.value:,}", f"{found.forward(1):.2f}", f"{found.reverse:.2f}",
            f"{found.forward(n) / (n + 1):.2f}", f"{(found.linear + found.active) / differences:.3f}",
            f"{entries / differences:.4f}",
        ])  # fmt: skip
    return table(head, rows)


# ---- times


def sources_of(system: System) -> dict[str, Source]:
    """Return what is timed of every source, at a state after the first step."""
    sim = Simulation(system, h=5e-3)
    sim.step()
    state, n, m = sim.state, 2 * system.n, system.n
    u = np.concatenate((state.u, state.s))
    x, p = np.concatenate((state.z, state.zd)), np.concatenate((u, state.R0.ravel()))
    v, w = np.random.default_rng(0).normal(size=n), np.random.default_rng(1).normal(size=m)
    page, kernels = PageForce(system), CompiledForce(system, np.float64)
    closed, question = ClosedForm(system), Question(state.z, state.zd, state.R0, u)
    differences, central = FiniteDifference(kernels, n, m), FiniteDifference(kernels, n, m, scheme="central")
    steps = ComplexStep(CompiledForce(system, np.complex128), n, m)
    rows = FiniteDifference(page, n, m, batched=True)
    forward, reverse = (Autograd(page, n, m, mode=mode, batched=True) for mode in ("forward", "reverse"))
    traced = recorded(system)

    def compiled() -> Any:
        return kernels(x, p)

    def plain() -> Any:
        return rows.value(x, p)

    def tape() -> Any:
        return traced.value(x, p)

    def structured() -> None:
        closed.evaluate(question)
        closed.equations.fill(0.0, 0.0, 1.0, PAPER, None)
        closed.equations.fill(0.0, 1.0, 0.0, PAPER, None)

    one = v[:, None]
    return {
        "structured": Source("closed form", compiled, None, structured),
        "finite-difference": Source(
            "difference", compiled, lambda: (kernels(x + 1e-8 * v, p) - kernels(x, p)) / 1e-8,
            lambda: differences.jacobian(x, p),
        ),
        "central-difference": Source(
            "difference", compiled, lambda: (kernels(x + 6e-6 * v, p) - kernels(x - 6e-6 * v, p)) / 1.2e-5,
            lambda: central.jacobian(x, p),
        ),
        "complex-step": Source(
            "forward", compiled, lambda: steps.directions(x, one, p), lambda: steps.jacobian(x, p)
        ),
        "finite-difference-page": Source(
            "difference", plain, lambda: (rows.value(x + 1e-8 * v, p) - rows.value(x, p)) / 1e-8,
            lambda: rows.jacobian(x, p),
        ),
        "autograd": Source("reverse", plain, lambda: reverse.adjoints(x, w[None], p), lambda: reverse.jacobian(x, p)),
        "autograd-forward": Source(
            "forward", plain, lambda: forward.directions(x, one, p), lambda: forward.jacobian(x, p)
        ),
        "trace, forward pass": Source("forward", tape, lambda: traced.forward(x, v, p), lambda: traced.entries(x, p)),
        "trace, reverse pass": Source("reverse", tape, lambda: traced.reverse(x, w, p), lambda: traced.entries(x, p)),
    }  # fmt: skip


def seconds(work: Callable[[], Any]) -> float:
    """Return the processor time of one call, from a block of LEAST seconds or one call."""
    calls, start = 0, time.process_time()
    while True:
        work()
        calls += 1
        spent = time.process_time() - start
        if spent >= LEAST:
            return spent / calls


def measured(source: Source) -> tuple[float | None, float, float]:
    """Return one derivative and the whole Jacobian in values of Q, medians of rounds in turns, and a Jacobian [s]."""
    parts = [part for part in (source.value, source.one, source.jacobian) if part is not None]
    for part in parts:
        part()  # what is prepared at the first call
    rounds, begun = [], time.process_time()
    while len(rounds) < ROUNDS and (not rounds or time.process_time() - begun < BUDGET):
        rounds.append([seconds(part) for part in parts])
    value, *derivatives = np.array(rounds).T
    ratios = [float(np.median(times / value)) for times in derivatives]
    return (ratios[0] if source.one is not None else None), ratios[-1], float(np.median(derivatives[-1]))


def times_table(systems: dict[str, System]) -> str:
    """Return the measured costs of every source in values of the same Q."""
    head = ["source", "mode", "bound"]
    lines: dict[str, list[str]] = {}
    for name, system in systems.items():
        head += [f"{name}: one", "K and C", "K and C / differences"]
        found = {}
        for source, parts in sources_of(system).items():
            found[source] = measured(parts)
            one, whole, _ = found[source]
            footing = found[FOOTING.get(source, DIFFERENCES)][2] if source != STRUCTURED else None
            bound = f"{BOUNDS[parts.mode][0]:g} to {BOUNDS[parts.mode][1]:g}" if parts.mode in BOUNDS else ""
            cells = ["" if one is None else f"{one:.2f}", f"{whole:.3g}"]
            cells.append("" if footing is None else f"{found[source][2] / footing:.2g}")
            lines.setdefault(source, [source, parts.mode, bound]).extend(cells)
    return table(head, list(lines.values()))


if __name__ == "__main__":
    main()
