"""``sweep``: many runs of one function that makes a Model, from Python or from a study file.

``sweep``: many runs of one function that makes a Model, in one table.

Study files: the arguments of ``rtmbs.sweep`` in TOML.
"""

import hashlib
import importlib
import re
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from rtmbs.core.files import DamagedFile
from rtmbs.core.files import text as text_of_file
from rtmbs.errors import InputError, UnknownNameError, shown, unknown_name
from rtmbs.integrators.checks import one_of, positive, step_size, switches
from rtmbs.library import MECHANISMS
from rtmbs.simulation.observers.observer import Schedule
from rtmbs.studies.sweeps.designs import (
    Column,
    Design,
    Grid,
    LatinHypercube,
    LogUniform,
    MonteCarlo,
    Normal,
    Uniform,
    check_arguments,
    design_of,
    read_parameters,
)
from rtmbs.studies.sweeps.engines import (
    LEAST_TIMEOUT,
    MOST_TIMEOUT,
    Chunks,
    Engine,
    Processes,
    Serial,
    Task,
    make_all_runs,
    with_functions_by_value,
)
from rtmbs.studies.sweeps.result import Folder, RowTable, SweepResult, readings
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
        if not LEAST_TIMEOUT <= timeout <= MOST_TIMEOUT:
            raise InputError(
                f"timeout is {shown(timeout)}; it must lie between {LEAST_TIMEOUT:g} and {MOST_TIMEOUT:g} s"
            )
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


KEYS = ("model", "measure", "t_end", "h", "tolerance", "design", "runs", "seed", "folder", "timeout", "memory",
        "parameters", "measures")  # fmt: skip
NEEDED = ("model", "t_end", "parameters")
RANDOM = {"latin hypercube": LatinHypercube, "monte carlo": MonteCarlo}
DESIGNS = ("grid", *RANDOM)
DISTRIBUTIONS: dict[str, Callable[[Any, Any], Any]] = {"uniform": Uniform, "log_uniform": LogUniform, "normal": Normal}
LARGEST = 1_000_000  # bytes
DEEPEST = 16  # parts of a dotted key: tomllib takes a time that grows with their square
PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
LONG_KEY = re.compile(rf"(?<![\w-])(?:{PART}\.[ \t]*+){{{DEEPEST}}}{PART}")


def read_study(path: str | Path) -> dict[str, Any]:
    """Return the arguments of ``sweep`` that a study file stands for; ``folder`` counts from the place of the file.

        model = "dampers.py:make"       # or a mechanism of the library: "crank_rocker"
        measure = "dampers.py:measure"  # or a table [measures]
        t_end = 2.0
        design = "latin hypercube"      # "grid" unless given, "monte carlo"
        runs = 1000
        folder = "rows"

        [parameters]
        damping = { log_uniform = [100.0, 1e4] }
        mass = 2.0

        [measures]
        peak = "largest body.rate"

    Raises InputError and UnknownNameError that name the file and the key at fault.
    """
    where = Path(path)
    words = read_words(where)
    try:
        return arguments(words, where.resolve().parent)
    except (InputError, UnknownNameError) as error:
        raise type(error)(f"{where}: {error}") from error


def read_words(path: Path) -> dict[str, Any]:
    """Return the keys of a file; InputError where it is no TOML."""
    try:
        words = text_of_file(path, LARGEST)
    except DamagedFile as error:
        raise InputError(f"{path} cannot be read as a study: the file {error}") from None
    if found := LONG_KEY.search(words):
        line = words.count("\n", 0, found.start()) + 1
        raise InputError(f"{path}: line {line} has a key of more than {DEEPEST} parts; a study has two at most")
    try:
        return tomllib.loads(words)
    except RecursionError:
        raise InputError(f"{path} is no TOML: its lists or tables are nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{path} is no TOML: {error}") from None


def arguments(words: Mapping[str, Any], home: Path) -> dict[str, Any]:
    """Return the arguments of ``sweep``."""
    for key in words:
        if key not in KEYS:
            raise unknown_name("key of a study", key, KEYS)
    for key in NEEDED:
        if key not in words:
            raise InputError(f"{key} is missing; a study needs {', '.join(NEEDED)}")
    found = {key: words[key] for key in ("t_end", "h", "tolerance", "timeout", "memory") if key in words}
    found["make"] = function("model", words["model"], home, MECHANISMS)
    found["measure"] = measure_of(words, home)
    found["design"] = design_from_table(words)
    found["parameters"] = parameters_of(words["parameters"])
    if "folder" in words:
        found["folder"] = home / text("folder", words["folder"])
    return found


def measure_of(words: Mapping[str, Any], home: Path) -> Any:
    """Return the function of ``measure``, or the words of ``measures``."""
    if ("measure" in words) == ("measures" in words):
        raise InputError("a study needs measure = 'file.py:function' or a table [measures], one of the two")
    if "measure" in words:
        return function("measure", words["measure"], home, {})
    if not isinstance(words["measures"], dict):
        raise InputError(f"measures is {shown(words['measures'])}; it must be a table: peak = 'largest crank.rate'")
    return words["measures"]


def design_from_table(words: Mapping[str, Any]) -> Design:
    """Return the design."""
    name = words.get("design", "grid")
    one_of("design", name, DESIGNS)
    if name in RANDOM:
        if "runs" not in words:
            raise InputError(f"runs is missing; design = {name!r} needs the number of runs")
        return RANDOM[name](words["runs"], words.get("seed", 0))
    for key in ("runs", "seed"):
        if key in words:
            raise InputError(f"{key} is for a random design; write design = 'latin hypercube', or leave {key} out")
    return Grid()


def parameters_of(words: Any) -> dict[str, Any]:
    """Return values and distributions by name."""
    if not isinstance(words, dict):
        raise InputError(f"parameters is {shown(words)}; it must be a table: damping = [10.0, 20.0]")
    return {name: values_of(name, given) for name, given in words.items()}


def values_of(name: str, given: Any) -> Any:
    """Return the values of a parameter: a table with one key is a distribution."""
    if not isinstance(given, dict):
        return given
    if len(given) != 1:
        raise InputError(f"parameter {name!r} is {shown(given)}; it must have one distribution: {{ uniform = [1, 2] }}")
    ((kind, numbers),) = given.items()
    if kind not in DISTRIBUTIONS:
        raise unknown_name(f"distribution of parameter {name!r}", kind, DISTRIBUTIONS)
    if not isinstance(numbers, list) or len(numbers) != 2:
        raise InputError(f"parameter {name!r} has {kind} = {shown(numbers)}; it must be two numbers: [1, 2]")
    return DISTRIBUTIONS[kind](*numbers)


def function(key: str, given: Any, home: Path, named: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Return the function that 'file.py:name' means, the file beside the study, or one of those ``named``."""
    said = text(key, given)
    file, colon, name = said.rpartition(":")
    if not colon:
        if said in named:
            return named[said]
        if named:
            raise unknown_name("mechanism", said, named)
    if not colon or not file.endswith(".py"):
        raise InputError(f"{key} is {shown(said)}; it must be a file and a function: 'file.py:function'")
    module = module_of(home / file)
    if not callable(found := getattr(module, name, None)):
        raise unknown_name(f"function of {file}", name, callables(module))
    return found


def callables(module: Any) -> Iterable[str]:
    """Return the names of the functions of a module."""
    return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


def module_of(path: Path) -> Any:
    """Import a file by its stem, so that workers import it in the same way: its folder joins the path of modules."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(path.stem)
    except Exception as error:
        raise InputError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    if Path(getattr(module, "__file__", None) or "").resolve() != path.resolve():
        raise InputError(f"{path} has the name of another module; rename the file")
    return module


def text(key: str, given: Any) -> str:
    """Return a text, or refuse another value."""
    if not isinstance(given, str):
        raise InputError(f"{key} is {shown(given)}; it must be a text")
    return given
