"""Origins of Simulations, for another process or other parameters: a factory, a model file, a Model, a Simulation."""

import importlib
import importlib.util
import inspect
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rtmbs.errors import InputError, unknown_name
from rtmbs.model import Model

if TYPE_CHECKING:
    from rtmbs.simulation import Simulation

BUILD = "build"  # function of a file that is given without one
MODEL_FILE = ".mks"  # how the name of a file of the model language ends


class Origin(Protocol):
    """Recipe of a Simulation, to make it once and to make it anew."""

    name: str  # for the user
    parameters: dict[str, Any]  # that ``make`` may change
    renewable: bool  # False: ``make`` answers once, and starting anew means going back to the first state
    notes: dict[str, str]  # of the parameters: meaning and unit
    model: Model | None  # of the last Simulation made, as the user wrote it; None when there is no Model

    def make(self, changes: Mapping[str, Any], options: Mapping[str, Any]) -> "Simulation":
        """Return a new Simulation with some parameters and options of the Simulation changed.

        Raises the exceptions of the user's code, and RtmbsError when the model is refused.
        """

    def with_parameters(self, parameters: Mapping[str, Any]) -> "Origin":
        """Return an origin that starts with these parameters, of those that it still has."""


class FromFactory:
    """A function that returns a Model: "package.module:function", or a file "mechanism.py" or "mechanism.py:function".

    parameters: keyword arguments of the function; those it has defaults for can be changed as well.
    options: of the Simulation, such as h=2e-3.
    """

    renewable = True

    def __init__(
        self, reference: str, parameters: Mapping[str, Any] | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        self.name = reference
        self._options = dict(options or {})
        self._given = self._first = dict(parameters or {})
        self._before: dict[str, Any] = {}  # of an earlier session; the function may have lost some of them
        self._tried = False
        self.model: Model | None = None
        self.parameters, self.notes = dict(self._given), dict[str, str]()

    def make(self, changes: Mapping[str, Any], options: Mapping[str, Any]) -> "Simulation":
        again, self._tried = self._tried, True
        function = load_function(self.name, again)
        known = inspect.signature(function).parameters
        defaults = {name: p.default for name, p in known.items() if p.default is not inspect.Parameter.empty}
        before = {name: value for name, value in self._before.items() if name in known}
        wanted = {**self._given, **before, **changes}
        if not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values()):
            for name in wanted:
                if name not in known:
                    raise unknown_name(f"parameter of {self.name!r}", name, known)
        made, self.notes = function(**wanted), parameter_notes(function)
        sim = simulation(made, self.name, {**self._options, **options})
        self.model = made if isinstance(made, Model) else None
        self._given, self._before = wanted, {}  # defaults are asked for again: a file may have been edited
        self.parameters = {**defaults, **wanted}
        return sim

    def with_parameters(self, parameters: Mapping[str, Any]) -> "FromFactory":
        other = FromFactory(self.name, self._first, self._options)
        other._before, other._tried = dict(parameters), self._tried
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tried": False, "model": None}  # imported again by the receiving process


class FromModel:
    """A Model that a program has made. It is compiled again by ``make``; it has no parameters of its own."""

    renewable = True

    def __init__(self, model: Model, options: Mapping[str, Any] | None = None) -> None:
        self.name, self.parameters, self.notes = model.name, dict[str, Any](), dict[str, str]()
        self._options = dict(options or {})
        self.model: Model | None = model

    def with_parameters(self, parameters: Mapping[str, Any]) -> "FromModel":
        return self

    def make(self, changes: Mapping[str, Any], options: Mapping[str, Any]) -> "Simulation":
        refuse_parameters(self.name, changes)
        return simulation(self.model, self.name, {**self._options, **options})


class FromSimulation:
    """A Simulation that a program has made, in its present state. It stays in its process."""

    renewable = False
    model: Model | None = None

    def __init__(self, sim: "Simulation") -> None:
        self.name, self.parameters, self.notes = sim.system.name, dict[str, Any](), dict[str, str]()
        self._sim = sim

    def __reduce__(self) -> Any:
        raise TypeError("a Simulation stays in its process; give its Model")

    def with_parameters(self, parameters: Mapping[str, Any]) -> "FromSimulation":
        return self

    def make(self, changes: Mapping[str, Any], options: Mapping[str, Any]) -> "Simulation":
        refuse_parameters(self.name, changes)
        return self._sim


def simulation(made: Any, name: str, options: Mapping[str, Any]) -> "Simulation":
    """Return the Simulation of a Model or a System that a factory returned; InputError for anything else.

    A System is taken as it is.
    """
    from rtmbs.simulation import Simulation
    from rtmbs.simulation.options import by_name
    from rtmbs.system.system import System

    if isinstance(made, Model):
        options = options if made.h is None else {"h": made.h, **options}
        made = made.compile()
    if not isinstance(made, System):
        raise InputError(f"{name!r} returned {type(made).__name__}; it must return an rtmbs.Model")
    return Simulation(made, **by_name(**options))


def options_of(sim: "Simulation") -> dict[str, Any]:
    """Return the options with which a Simulation steps now, for ``make``."""
    from rtmbs.simulation.simulation import store_of

    options = store_of(sim).options
    return {"h": sim.h, **{f.name: getattr(options, f.name) for f in fields(options)}}


PARAMETER = re.compile(r"(\w+(?:, \w+)*) ?: ")  # the head of a parameter in a docstring of numpydoc


def parameter_notes(function: Callable[..., Any]) -> dict[str, str]:
    """Return the sentences of a numpydoc docstring about each parameter of a function; none without a docstring."""
    found: dict[str, str] = {}
    names: list[str] = []
    _, _, section = (inspect.getdoc(function) or "").partition("Parameters\n----------\n")
    for line in section.splitlines():
        if not line.strip():
            break
        if line[0] != " ":
            head = PARAMETER.match(line)
            names = head[1].split(", ") if head else []
            continue
        for name in names:
            found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return found


def title(name: str) -> str:
    """Return the name of an origin for a file: that of its function, or of the file with ``build``."""
    where, _, function = name.replace("\\", "/").rpartition(":")
    plain = name if where in ("", name) or "/" in function else function
    return Path(plain).stem if plain.endswith((".py", MODEL_FILE)) else plain


def refuse_parameters(name: str, changes: Mapping[str, Any]) -> None:
    """Raise InputError for changes of parameters of a model without a factory."""
    if changes:
        raise InputError(f"{name!r} has no parameters to build it with; start from a factory 'module:function'")


def load_function(reference: str, again: bool = False) -> Callable[..., Any]:
    """Return the function that "module:function" or "file.py:function" names, or that reads "file.mks".

    again: a file is read anew, and so is a module of the user's own; those of rtmbs stay as they are.
    Raises InputError when the module or the function does not exist; what the module itself raises passes through.
    """
    if reference.endswith(MODEL_FILE):
        return partial(steppable_model, reference)
    where, _, function = reference.rpartition(":")
    if not where or where.endswith((":", "\\")) or (len(where) == 1 and Path(reference).suffix == ".py"):
        where, function = reference, ""
    module = load_file(where) if where.endswith(".py") else load_module(where, again)
    found = getattr(module, function or BUILD, None)
    if not callable(found):
        raise InputError(f"{where!r} has no function {function or BUILD!r}; a factory is named as 'module:function'")
    return found


class FromSource(SourceFileLoader):
    """Loads the text of a file: kept bytecode is dated to the second, and an edit may come within the same second."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the file."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def load_file(path: str) -> ModuleType:
    """Run a Python file and return it as a module; imports beside it are found."""
    file = Path(path).resolve()
    if not file.is_file():
        raise InputError(f"model file {path!r} does not exist")
    loader = FromSource(file.stem, str(file))
    spec = importlib.util.spec_from_file_location(file.stem, file, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.parent))
    try:
        loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))
    return module


def load_module(name: str, again: bool) -> ModuleType:
    """Import a module, anew when it is known already and not part of rtmbs."""
    try:
        known = importlib.util.find_spec(name) is not None
    except (ModuleNotFoundError, ValueError):
        known = False
    if not known:
        raise InputError(f"there is no module {name!r}; a factory is named as 'module:function' or 'file.py:function'")
    module = importlib.import_module(name)
    return importlib.reload(module) if again and name.partition(".")[0] != "rtmbs" else module


# ---- model files -----------------------------------------------------------------------------------------------------


def steppable_model(path: str) -> Model:
    """Return the mechanism of a model file with the step that its dynamic analysis states.

    That of a kinematic analysis is ``draggable``. Raises InputError for another analysis, and as ``language.read``.
    """
    from rtmbs.language import read  # the language is loaded when it is needed

    document = read(path)
    analysis = document.analysis
    if analysis.kind == "kinematic":
        return draggable(document)
    if analysis.kind != "dynamic":
        raise InputError(
            f"{path!r} asks for a {analysis.kind} analysis, which a window cannot step; make its result with "
            f"rtmbs run {path} --out FILE.h5, and view that"
        )
    document.model.h = analysis.h or analysis.dt
    return document.model


def draggable(document: Any) -> Model:
    """Return the mechanism of a kinematic file to be moved by the mouse: free of drivers and gravity, with unit masses.

    InputError for points on curves, cams and gears, which a kinematic analysis alone follows.
    """
    from rtmbs.kinematics import PointDriver
    from rtmbs.viewer.session.describe import drawable

    for one in document.constraints:
        if not isinstance(one, PointDriver):
            raise InputError(
                f"{document.path!r} has {one.name!r}, which a KINEMATIC ANALYSIS alone follows; make its result with "
                f"rtmbs run {document.path} --out FILE.h5, and view that"
            )
    document.model.drivers.clear()
    document.model.gravity = np.zeros(3)
    return drawable(document.model, heavy=True)


# ---- names of files --------------------------------------------------------------------------------------------------

LONGEST = 60  # letters of a title
NO_NAME = re.compile(r"[^\w.+-]+")  # what no name of a file should have


def free_name(title: str, ending: str) -> str:
    """Return a name in the present folder, ``ending`` at its end; signs that no file should have become "_"."""
    stem = "_".join(["rtmbs", NO_NAME.sub("_", title).strip("_")[:LONGEST], time.strftime("%Y%m%d_%H%M%S")])
    path, number = Path(stem + ending), 1
    while path.exists():
        number += 1
        path = Path(f"{stem}_{number}{ending}")
    return str(path)
