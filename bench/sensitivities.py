"""What derivatives of a run cost and how exact they are: ``python -m bench.sensitivities`` prints the tables.

``--write`` writes them into docs/sensitivities.md, with the pictures of the two examples. Costs are those of one run of
1000 steps, programs recorded before, beside the same run with its record.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rtmbs
from bench.documents import DOCS, table, told
from rtmbs.results.catalogue import run_result
from rtmbs.results.samples import one_sample
from rtmbs.studies.sensitivities.channels import Channels, CheckpointedRun, RecordedCost, read_run
from rtmbs.studies.sensitivities.parameters import parameters_of
from rtmbs.studies.sensitivities.sensitivity import adjoint_method, direct_method, prepare, private_simulation
from rtmbs.studies.sensitivities.steps import LinearSteps, RunRecorder

PAGE, NAME = DOCS / "sensitivities.md", "python -m bench.sensitivities"
CASES = ("crank_rocker", "planar_slider_crank", "slider_crank", "fourbar", "bricard", "driven_fourbar")
STEPS, H, TAKES = 1000, 1e-3, 9
BLUE, GREY = "#1f5fa8", "#8a8a8a"


def fastest(make: Callable[[], Callable[[], Any]]) -> float:
    """Return the shortest processor time of some takes [s]; ``make`` prepares each."""
    times = []
    for _ in range(TAKES):
        function = make()
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def costs(name: str) -> list[str]:
    """Return a row of the table of costs of one mechanism."""
    model = rtmbs.library.build(name)
    sim = rtmbs.Simulation(model.compile(), h=H)
    bodies = list(sim.system.bodies)[1:]
    many = [f"{body}.{what}" for body in bodies[:3] for what in ("mass", "center_of_mass", "inertia")]
    alone, whole = linear(sim, model, ["gravity"]), linear(sim, model, ["gravity", *many])
    for one in (alone, whole):
        direct_method(*one)  # records the programs
    (entered, first), run_of = whole, whole[0].recorded
    steps = LinearSteps(entered.tape, run_of, entered.alpha, by_parameters=False)
    name_of, taken = f"{bodies[1]}.mass_center", CheckpointedRun(private_simulation(sim), STEPS)
    offered = run_result(sim.system, sim.equations.tables, one_sample(sim.state), {})
    cost = RecordedCost(lambda r: np.sum(r[name_of][:, 2] ** 2), offered, taken.t)
    readings = read_run(taken, cost)
    cost.take(readings.values)
    channels, samples = Channels(sim, cost.names, readings), run_of.samples

    def adjoint() -> None:
        weights = np.array([cost.split(row) for row in cost.by_channels().toarray()])
        adjoint_method(steps, first, channels.pulled_back(samples, 0, weights))

    adjoint()
    run, stepped = (
        fastest(lambda: partial(private_simulation(sim).run, STEPS * H)),
        fastest(lambda: partial(by_hand, private_simulation(sim))),
    )
    takes = partial(direct_method, *alone), partial(direct_method, *whole), adjoint
    few, all_of_them, back = (fastest(lambda one=one: one) for one in takes)  # type: ignore[misc]
    count = len(steps.tape.variations.inputs)
    each = max(all_of_them - few, 0.0) / (count - 3)
    numbers = [run, stepped, few, each, back]
    return [name, *(f"{1e6 * one / STEPS:.3g}" for one in numbers), *(f"{one / run:.2g}" for one in (few, each, back))]


def by_hand(sim: rtmbs.Simulation) -> None:
    """Take all steps one by one."""
    for _ in range(STEPS):
        sim.step()


def linear(sim: rtmbs.Simulation, model: rtmbs.Model, by: list[str]) -> tuple[LinearSteps, Any]:
    """Return the linear equations of the run and the change of its first state."""
    own = private_simulation(sim)
    _, tape, first = prepare(own, parameters_of(own, by, model, {}, CheckpointedRun(own, STEPS).t))
    alpha, watch = own.state.memory["alpha"].copy(), RunRecorder()
    own.run(STEPS * H, observers=[watch])
    return LinearSteps(tape, watch.recorded(), alpha), first


def examples() -> None:
    """Draw the two examples."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sys.path.insert(0, str(Path(__file__).parents[1] / "apps"))
    import identification
    import synthesis

    figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 4.2), layout="constrained")
    wanted, _ = synthesis.curve(synthesis.TRUE)
    for lengths, colour, label in ((synthesis.FIRST, GREY, "first guess"), (None, BLUE, "found")):
        if lengths is None:
            found = synthesis.synthesise(wanted, synthesis.FIRST, lambda text: None)
            lengths = dict(zip(synthesis.FIRST, found.x.tolist(), strict=True))
        points, _ = synthesis.curve(lengths)
        y, z = points.reshape(-1, 2)[[*range(synthesis.POINTS), 0]].T
        left.plot(y, z, color=colour, label=label)
    left.plot(*wanted.reshape(-1, 2).T, "o", color="#1a1a1a", markersize=4, label="wanted")
    left.set(xlabel="y [m]", ylabel="z [m]", title="coupler curve", aspect="equal")
    system = identification.linkage()
    exact, _ = identification.record(system, identification.TRUE)
    noisy = exact + identification.NOISE * np.random.default_rng(1).normal(size=exact.shape)
    answer = identification.identify(system, noisy, identification.FIRST)
    fitted, _ = identification.record(system, dict(zip(identification.TRUE, answer.values.tolist(), strict=True)))
    first, _ = identification.record(system, identification.FIRST)
    t = identification.H * identification.EVERY * np.arange(1, len(exact) + 1)
    right.plot(t, noisy - exact, ".", color="#1a1a1a", markersize=4, label="measured less true")
    right.plot(t, fitted - exact, color=BLUE, label="identified less true")
    right.plot(t, 0.01 * (first - exact), color=GREY, label="first guess less true, / 100")
    right.set(xlabel="t [s]", ylabel="angle [rad]", title="rocker of a linkage with a spring-damper")
    for panel in (left, right):
        panel.legend(frameon=False)
    figure.savefig(DOCS / "sensitivities.png", dpi=110)


def main() -> None:
    """Measure, print, and write on demand."""
    head = ["mechanism", "run [us a step]", "step by step [us]", "direct, 3 parameters [us]", "each more [us]",
            "adjoint, 48 at most [us]", "direct / run", "each more / run", "adjoint / run"]  # fmt: skip
    told(table(head, [costs(name) for name in CASES]), PAGE, NAME)
    if "--write" in sys.argv[1:]:
        examples()


if __name__ == "__main__":
    main()
