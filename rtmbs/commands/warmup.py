"""Compile every kernel ahead: one step each of a few small mechanisms that together have every element."""

import importlib
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from rtmbs import library
from rtmbs.integrators.penalty_trapezoidal import KERNEL, PenaltyTrapezoidal
from rtmbs.integrators.settings import arrays_of, one_row_chunk
from rtmbs.jit import compile_progress as apart
from rtmbs.jit.compile_progress import EVERYTHING, Compilations, announced
from rtmbs.jit.compiled import compile_for, compile_lazy
from rtmbs.numerics.linear.sparse_lu import factor, solve, solve_refined
from rtmbs.results.sample_kernels import resample_energies
from rtmbs.results.samples import samples_of
from rtmbs.semirecursive.balance import hold_energies
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.evaluation import assemble_tangent
from rtmbs.semirecursive.newton_restarts import retry
from rtmbs.semirecursive.projection_kernels import loses_direction, project_rates
from rtmbs.semirecursive.sources import source_names
from rtmbs.semirecursive.step import check_multipliers, march
from rtmbs.simulation import Simulation
from rtmbs.simulation.observers import EnergyMeter
from rtmbs.simulation.options import by_name
from rtmbs.state import State

# A mechanism and its options; together they hold every kind of step, closure row, force and driver.
MECHANISMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("fourbar", {"ny": 1, "nz": 1}),
    ("top", {}),
    ("slider_crank", {}),
    ("governor", {}),
    ("driven_fourbar", {}),
)
STEP = 1e-3  # [s]
FURTHER = "rtmbs.commands.further_kernels"  # a module of its own: a run of the main job does not load the analyses


def compile_kernels(jobs: int = 1) -> tuple[int, float]:
    """Take one step of every mechanism and by every source of K and C, and run the tasks of ``FURTHER``.

    An empty cache is first filled by up to ``jobs`` processes; this one compiles what they left.
    Returns the number of compilations, zero when the cache had them all, and the seconds it took.
    """
    start = time.perf_counter()
    further: dict[str, Callable[[], None]] = importlib.import_module(FURTHER).TASKS
    with announced(EVERYTHING) as compilations:
        fill_cache(compilations, TASKS, jobs, further)
        for task in (TASKS["tries"], TASKS["sources"], TASKS["results"], *further.values()):
            task()
        compile_lazy()
    return compilations.count, time.perf_counter() - start


def fill_cache(compilations: Compilations, tasks: Iterable[str], jobs: int, further: Iterable[str] = ()) -> None:
    """Let processes fill an empty cache with the kernels of tasks, then of tasks of ``FURTHER``."""
    if jobs > 1 and apart.cache_is_empty():
        commands = [apart.command(__name__, task) for task in tasks]
        commands += [apart.command(FURTHER, task) for task in further]
        with suppress(OSError):  # no process can be started: this one compiles everything
            apart.compile_in_processes(commands, jobs, compilations)


@contextmanager
def compiling_processes(compilations: Compilations, tasks: Iterable[str], jobs: int) -> Iterator[None]:
    """Let up to ``jobs`` processes compile later kernels for this one, when the cache is empty."""
    if jobs > 0 and apart.cache_is_empty():
        names = list(tasks)
        shares = [names[k::jobs] for k in range(min(jobs, len(names)))]
        with apart.compiled_in_parallel([apart.command(__name__, *share) for share in shares], jobs, compilations):
            yield
    else:
        yield


def compile_step() -> None:
    """Compile the plain step, the largest kernel, and the kernels of rare elements."""
    arguments = arguments_of_a_step()
    compile_for(march, (*arguments, arguments[6].u[0], arguments[6].u[0], False))
    compile_lazy()


def compile_linear() -> None:
    """Compile the factorisation and solution of the plain step, which share nothing with mechanics."""
    _, lu, work, _, _, _, _, ws, _ = arguments_of_a_step()
    compile_for(factor, (lu, work.factored, work))
    compile_for(solve, (lu, work.factored, work, ws.dz))
    compile_for(solve_refined, (lu, work.original, work.factored, work, ws.residual, ws.dz))


def compile_later_kernels() -> None:
    """Compile the later kernels of the plain step, in their order."""
    tables, lu, work, settings, alpha, old, chunk, ws, _ = arguments_of_a_step()
    u, stats, h = chunk.u[0], chunk.stats[0], settings.h
    rates = (old.zd, old.zdd, old.energy)
    compile_for(hold_energies, (tables, u, h, *rates, *rates, ws))
    compile_for(assemble_tangent, (tables, settings.tangent_terms, h, h, h, u, alpha, old, ws, work.original))
    rest = (old.lam, 0.0, stats)
    compile_for(project_rates, (tables, lu, work, settings, alpha, h, old.zd, ws.Phid, ws, *rest))
    compile_for(loses_direction, (tables, settings, u, old, old, ws))
    compile_for(check_multipliers, (tables, lu, work, settings, alpha, u, 0, old, ws, stats))


def compile_meters() -> None:
    """Compile the kernel that measures energies of a run."""
    tables, _, _, _, _, _, chunk, ws, _ = arguments_of_a_step()
    compile_for(resample_energies, (tables, samples_of(np.zeros(1), chunk), ws, np.zeros((3, 1))))


def compile_tries() -> None:
    """Compile the further tries of a step that fails."""
    compile_for(retry, arguments_of_a_step()[:-1])


def arguments_of_a_step() -> tuple[Any, ...]:
    """Return arguments of the types that a step is compiled for: no step needs to be possible yet."""
    name, built = MECHANISMS[0]
    system = library.build(name, **built).compile()
    equations = SemiRecursiveEquations(system)
    method = PenaltyTrapezoidal()
    at_rest = (system.z0, system.zd0, np.zeros_like(system.z0), np.zeros(equations.m))
    memory = method.remember(equations, STEP)
    state = State(
        system.fingerprint, 0.0, 0, STEP, *at_rest, system.R0, equations.u, memory, system.s0, np.zeros_like(system.s0)
    )
    work, fused = method.start(equations, state), equations.step_kernel(KERNEL)
    assert fused is not None
    return fused.arguments(work.settings, arrays_of(state), one_row_chunk(state, work.stats))


def compile_start() -> None:
    """Prepare a mechanism for its first step."""
    small_simulation(*MECHANISMS[0], fused=False)


def compile_sources() -> None:
    """Take one readable step by every source of K and C."""
    for jacobian in source_names():
        small_simulation(*MECHANISMS[0], jacobian=jacobian, fused=False).run(STEP)


def compile_results() -> None:
    """Step every mechanism once, ask for its energy in both ways and for every channel of its result."""
    for name, options in MECHANISMS:
        sim = small_simulation(name, options)
        result = sim.run(STEP, observers=[EnergyMeter()])
        sim.equations.energies(sim.state.z, sim.state.zd, sim.state.R0)
        for channel in result.names():
            result.read(channel)


def small_simulation(name: str, options: dict[str, Any], **settings: Any) -> Simulation:
    """Return a mechanism ready for its first step."""
    return Simulation(library.build(name, **options).compile(), h=STEP, **by_name(**settings))


# In the order in which workers take them. Two that compile the same kernel at once do it twice: the process that
# compiles the step begins with mechanics, and comes to what others do when it is there. Further tries come behind.
ONE_RUN = {"linear": compile_linear, "ending": compile_later_kernels, "meters": compile_meters}
STEP_TASKS: dict[str, Callable[[], None]] = {
    "step": compile_step,
    "linear": compile_linear,
    "ending": compile_later_kernels,
}
TASKS = STEP_TASKS | {"sources": compile_sources, "tries": compile_tries, "results": compile_results}

if __name__ == "__main__":
    apart.run_worker(TASKS | ONE_RUN)
