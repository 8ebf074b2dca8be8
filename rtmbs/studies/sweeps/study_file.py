"""Study files: the arguments of ``rtmbs.sweep`` in TOML."""

import importlib
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from rtmbs.core.files import DamagedFile
from rtmbs.core.files import text as text_of_file
from rtmbs.errors import InputError, UnknownNameError, shown, unknown_name
from rtmbs.integrators.checks import one_of
from rtmbs.library import MECHANISMS
from rtmbs.studies.sweeps.designs import Design, Grid, LatinHypercube, LogUniform, MonteCarlo, Normal, Uniform

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
    found["design"] = design_of(words)
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


def design_of(words: Mapping[str, Any]) -> Design:
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
