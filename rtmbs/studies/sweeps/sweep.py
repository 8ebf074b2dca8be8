"""``sweep``: many runs of one function that makes a Model, in one table."""

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from rtmbs.errors import InputError, shown
from rtmbs.integrators.checks import positive, step_size, switches
from rtmbs.simulation.observers.observer import Schedule
from rtmbs.studies.sweeps.designs import Column, Design, check_arguments, design_of, read_parameters
from rtmbs.studies.sweeps.engines import Chunks, Engine, Processes, Serial, make_all_runs, with_functions_by_value
from rtmbs.studies.sweeps.folder import Folder, RowTable
from rtmbs.studies.sweeps.result import SweepResult, readings
from rtmbs.studies.sweeps.task import LEAST, MOST, Task
from rtmbs.system.user_functions import identity


def sweep(
    make: Callable[..., Any],
    parameters: Mapping[str, Any],
    measure: Callable[[Any], Mapping[str, float]] | Mapping[str, str],
    *,
    t_end: float,
    h: float = 5e-3,
    method: Any = None,
    record: Schedule | None = None,
    tolerance: float | None = None,
    design: Design | Any = None,
    runs: int | None = None,
    engine: Engine | None = None,
    folder: str | Path | None = None,
    timeout: float | None = None,
    memory: float | None = None,
    progress: bool = False,
) -> SweepResult:
    """Run ``make(**parameters)`` for many parameters, and return one row a run.

    A run that fails, by whatever its functions raise, also KeyboardInterrupt in a worker, has a row with the sentence
    in the column ``error``. A run whose worker is killed or runs out of memory is made once more, alone, and has such a
    row when this worker ends too.

    Ctrl+C carries the table so far as ``result``.

    Parameters
    ----------
    make : Callable[..., object]
        Returns a Model, or a Simulation with options of its own, in which case h and method do not count.
    parameters : Mapping[str, object]
        By the name of an argument of ``make`` a list of values, one value, or a distribution: ``rtmbs.Uniform(a, b)``,
        ``LogUniform(a, b)``, ``Normal(mean, deviation)``, or a frozen one of scipy.stats.
    measure : Callable[[object], Mapping[str, float]] | Mapping[str, str]
        A function of the Result that returns numbers by name, or words: ``{"peak": "largest crank.rate"}``.
    t_end : float
        End of each run [s].
    h : float, default 0.005
        Step of the Simulation of each run.
    method : object, optional
        Method of the Simulation of each run.
    record : Schedule, optional
        Record of ``Simulation.run``.
    tolerance : float, optional
        Tolerance of ``Simulation.run``.
    design : Design or object, optional
        Which combinations are run: ``Grid()`` unless given, ``LatinHypercube(n, seed)``, ``MonteCarlo(n, seed)``, or a
        sampler of ``scipy.stats.qmc`` with ``runs``.
    runs : int, optional
        Number of points of a sampler.
    engine : Engine, optional
        ``Processes()`` of this machine unless given, ``Dask(address)``, or ``Serial()`` in this process.
    folder : str or Path, optional
        Where finished rows are kept (extra ``sweep``), about every second. The same sweep goes on from there.
    timeout : float, optional
        Timeout of each run [s]; a run that takes longer is ended, and its row says so. Not with ``Serial()``.
    memory : float, optional
        Largest memory of a worker beyond that at its start [bytes].
    progress : bool, default False
        Show a bar.

    Returns
    -------
    SweepResult
        One row a run.

    Raises
    ------
    InputError
        For what cannot be a sweep.
    UnknownNameError
        For a parameter that ``make`` does not take.
    CrewError
        When no worker starts.
    ResultError
        For a damaged folder.

    Examples
    --------
    >>> def make(c):
    ...     model = rtmbs.library.build("pendulum")
    ...     ...

    >>> if __name__ == "__main__":  # each worker imports a script; a notebook needs no such line
    ...     table = rtmbs.sweep(make, {"c": [1.0, 2.0]}, {"peak": "largest pivot.rate"}, t_end=2.0)
    """
    switches(progress=progress)
    chosen = with_memory_bound(Processes() if engine is None else engine, timeout, memory)
    task = task_of(make, measure, t_end, h, method, record, tolerance)
    task = replace(task, timeout=timeout, memory=getattr(chosen, "memory", None))
    if not callable(getattr(chosen, "open", None)):
        raise InputError(f"engine is {shown(engine)}; it must be one such as rtmbs.Processes(4)")
    values = read_parameters(parameters)
    check_arguments(make, values)
    columns = columns_of(design_of(design, runs), values)
    if isinstance(chosen, Processes):
        task = with_functions_by_value(task)
    kept = Folder(folder, study_of(task, columns)) if folder is not None else None
    with tqdm(total=runs_of(columns), desc="runs", unit="run", disable=not progress) as bar:
        return run_sweep(chosen, task, columns, RowTable(columns, kept, bar))


def with_memory_bound(engine: Any, timeout: Any, memory: Any) -> Any:
    """Return the engine with a bound of memory; InputError for a bound that it cannot keep."""
    if timeout is not None:
        positive(timeout=timeout)
        if not LEAST <= timeout <= MOST:
            raise InputError(f"timeout is {shown(timeout)}; it must lie between {LEAST:g} and {MOST:g} s")
        if isinstance(engine, Serial):
            raise InputError("Serial() makes the runs in this process, which no timeout can end; take Processes(1)")
    if memory is None:
        return engine
    if not isinstance(engine, Processes):
        raise InputError("memory bounds the workers of Processes(); dask worker takes --memory-limit")
    return replace(engine, memory=memory)


def run_sweep(engine: Engine, task: Task, columns: Mapping[str, Column], keeper: RowTable) -> SweepResult:
    """Make the runs that are not finished, and return the whole table."""
    listed = {name: column.tolist() for name, column in columns.items()}
    chunks = Chunks(
        np.flatnonzero(~keeper.done).tolist(), lambda run: {name: values[run] for name, values in listed.items()}
    )
    begun, workers = time.perf_counter(), 0
    try:
        workers = make_all_runs(engine, task, chunks, keeper)
    except BaseException as error:
        keeper.flush()
        error.result = keeper.result(workers, time.perf_counter() - begun)  # type: ignore[attr-defined]
        raise
    keeper.flush()
    return keeper.result(workers, time.perf_counter() - begun)


def task_of(make: Any, measure: Any, t_end: Any, h: Any, method: Any, record: Any, tolerance: Any) -> Task:
    """Return the task of a worker; InputError for an option out of range."""
    if not callable(make):
        raise InputError(f"make is {shown(make)}; it must be a function that returns a Model")
    if isinstance(measure, Mapping):
        measure = readings(measure)
    if not callable(measure):
        raise InputError(f"measure is {shown(measure)}; it must be a function of a Result, or words by name")
    positive(t_end=t_end)
    step_size(h)
    if not (record is None or isinstance(record, Schedule)):
        raise InputError(f"record is {shown(record)}; it must be a schedule such as rtmbs.Every(0.1)")
    options: dict[str, Any] = {} if record is None else {"record": record}
    if tolerance is not None:
        positive(tolerance=tolerance)
        options["tolerance"] = float(tolerance)
    return Task(make, measure, float(t_end), float(h), method, options)


def columns_of(design: Any, values: Mapping[str, Any]) -> dict[str, Column]:
    """Return the parameters of each run; InputError for values that are no design."""
    if not callable(getattr(design, "columns", None)):
        raise InputError(f"design is {shown(design)}; it must be one such as rtmbs.LatinHypercube(100)")
    return dict(design.columns(values))


def runs_of(columns: Mapping[str, Column]) -> int:
    """Return the number of runs."""
    return len(next(iter(columns.values())))


def study_of(task: Task, columns: Mapping[str, Column]) -> dict[str, Any]:
    """Return the identity of a sweep, so that no folder mixes rows of two."""
    digest = hashlib.sha256()
    for name, column in columns.items():
        digest.update(f"{name} {column.dtype.str} {column.tolist()!r}\n".encode())
    return {
        "runs": runs_of(columns),
        "parameters": digest.hexdigest(),
        "make": identity(task.make),
        "measure": identity(task.measure),
        "t_end": task.t_end,
        "h": task.h,
        "options": identity_of(task.method, task.options),
    }


def identity_of(method: Any, options: Mapping[str, Any]) -> str:
    """Return the identity of the method and of the options of a run."""
    parts = [identity(method), *(f"{name} {identity(value)}" for name, value in sorted(options.items()))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
