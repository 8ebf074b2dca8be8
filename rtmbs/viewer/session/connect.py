"""Connections to a factory, a file, a mechanism of the library, a Model, a Simulation or a Result."""

import ast
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rtmbs import library
from rtmbs.core.files import DamagedFile, text
from rtmbs.errors import InputError, unknown_name
from rtmbs.model import Model
from rtmbs.viewer.session.commands import KeepHistory
from rtmbs.viewer.session.connection import Connection, Message
from rtmbs.viewer.session.disk_head import is_history
from rtmbs.viewer.session.origin import MODEL_FILE, FromFactory, FromModel, FromSimulation, Origin
from rtmbs.viewer.session.process_connection import ProcessConnection, pickling_error

if TYPE_CHECKING:
    from rtmbs.results.result import Result
    from rtmbs.viewer.scene.description import SceneDescription
    from rtmbs.viewer.session.playback import PlaybackConnection


MODES = ("process", "thread", "manual")
RESULT = (".npz", ".h5", ".hdf5")  # how the name of a result file ends


def connect(
    target: Any,
    mode: str = "process",
    *,
    parameters: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    disk: float | tuple[float, str] = 0.0,
    model: Model | None = None,
    **settings: Any,
) -> Connection:
    """Return the Connection to a new session, or to a recorded Result.

    target: a name of the library ("fourbar"), a factory "module:function", a file "mechanism.py",
        "mechanism.py:function" or "mechanism.mks", a Model or a Simulation. A Result with bodies, its file "run.npz"
        or a history on disk is played back in this process, as by ``playback``.
    mode: "process", "thread", or "manual" for a Simulation that its own program steps. What cannot be sent to a
        process runs in a thread, and a message says so; so does a session of a script without
        ``if __name__ == "__main__":``, which a process would run again.
    parameters: of the factory.  options: of the Simulation, such as h=2e-3; a Simulation brings its own.
    settings: ``shapes`` of bodies by name, ``history`` in memory (states, bytes), ``playing``, ``speed``.
    disk: bytes of the history that are kept in a folder too, or (bytes, folder); memory alone unless given.
    model: of a Result that was loaded, for its shapes and joints.

    Raises InputError or UnknownNameError when the target is none of these. Errors of a model are raised by
    ``describe``, once it was built.
    """
    if mode not in MODES:
        raise unknown_name("mode", mode, MODES)
    kept = history_command(disk)
    if is_result(target):
        given = {"parameters": parameters, "options": options, "disk": disk, **settings}
        return connect_result(target, mode, model, [name for name, value in given.items() if value])
    origin = origin_of(target, parameters, options)
    if isinstance(target, str) and target in library.WATCHED_AT:
        settings = {"speed": library.WATCHED_AT[target], **settings}
    connection = connect_manual(target, **settings) if mode == "manual" else connect_session(origin, mode, settings)
    if kept is not None:
        connection.send(kept)
    return connection


def connect_result(target: Any, mode: str, model: Model | None, given: list[str]) -> Connection:
    """Return the Connection to a recorded Result; InputError for what a replay does not take."""
    if mode == "manual":
        given = ["mode='manual'", *given]
    if given:
        raise InputError(f"{', '.join(given)}: a recorded result is played back as it is; it takes model= only")
    return playback(target, model)


def history_command(disk: Any) -> KeepHistory | None:
    """Return the KeepHistory command of ``connect(disk=...)``, None for memory alone; InputError for no size."""
    size, *folder = disk if isinstance(disk, tuple) else (disk,)
    if not (isinstance(size, float | int) and size >= 0.0) or len(folder) > 1:
        raise InputError(f"disk is {disk!r}; it must be a number of bytes such as 2e9, or (bytes, folder)")
    return KeepHistory(size, *folder) if size else None


def connect_session(origin: Origin, mode: str, settings: dict[str, Any]) -> Connection:
    """Return the Connection to a session in a process or, where that cannot be, in a thread."""
    why = ""
    if mode == "process" and not (why := reimport_error() or pickling_error(origin, settings)):
        return ProcessConnection(origin, **settings)
    from rtmbs.viewer.session.worker import ThreadConnection  # loads the kernels, which mode "process" loads elsewhere

    connection = ThreadConnection(origin, **settings)
    if why:
        text = f"{origin.name} cannot go to a process of its own ({why}); it runs in a thread of this one"
        connection.tell(Message("warning", text))
    return connection


def connect_manual(sim: Any, **settings: Any) -> Connection:
    """Return the Connection to a Simulation that its own program steps; InputError for anything else."""
    from rtmbs.simulation import Simulation
    from rtmbs.viewer.session.worker import ManualConnection

    if not isinstance(sim, Simulation):
        raise InputError(f"mode 'manual' takes the Simulation that the program steps, not {type(sim).__name__}")
    return ManualConnection(sim, **settings)


def playback(result: Any, model: Model | None = None) -> "PlaybackConnection":
    """Return the Connection to a recorded Result, its file, or a history on disk; ``model`` brings shapes and joints.

    A Result that was not loaded knows its System, and a history its scene; they need no ``model``.
    ``messages`` report the missing parts of a damaged history.
    Raises InputError for a file that cannot be read, and for the model of another mechanism.
    """
    from rtmbs.viewer.session.describe import describe_recorded
    from rtmbs.viewer.session.playback import PlaybackConnection

    found, scene = recorded(result)
    connection = PlaybackConnection(
        found, describe_recorded(found, model) if scene is None or model is not None else scene
    )
    for warning in found.warnings if is_history(result) else ():
        connection.tell(Message("warning", warning))
    return connection


def recorded(target: Any) -> "tuple[Result, SceneDescription | None]":
    """Return a Result, that of a file, or that of a history on disk, which brings its scene."""
    from rtmbs.results.result import Result, load_result

    if isinstance(target, Result):
        return target, None
    if is_history(target):
        from rtmbs.viewer.session.disk_history import load_history

        return load_history(target)
    return load_result(Path(target)), None


def is_result(target: Any) -> bool:
    """True for a Result, the path of one, or that of a history on disk."""
    if not isinstance(target, str | Path):
        return any(one.__name__ == "Result" for one in type(target).__mro__)  # the class itself takes long to load
    return str(target).endswith(RESULT) or is_history(target)


def origin_of(target: Any, parameters: Mapping[str, Any] | None, options: Mapping[str, Any] | None) -> Origin:
    """Return where the Simulation of ``target`` comes from; InputError or UnknownNameError when it is no target."""
    if isinstance(target, str | Path):
        if str(target).endswith(RESULT):
            raise InputError(f"{str(target)!r} is a recorded result; open it with playback")
        return FromFactory(factory_of(str(target)), parameters, options)
    if parameters:
        raise InputError(f"parameters are for a factory; {type(target).__name__} is built already")
    if isinstance(target, Model):
        return FromModel(target, options)
    from rtmbs.simulation import Simulation  # loads the kernels: only when it is needed

    if isinstance(target, Simulation):
        if options:
            raise InputError("options are for a model; change those of a Simulation with sim.change(...)")
        return FromSimulation(target)
    raise InputError(
        f"{target!r} cannot be viewed; give a mechanism's name, 'module:function', a Model or a Simulation"
    )


def factory_of(name: str) -> str:
    """Return the factory of a name of the library; a reference with a colon or to a file is returned as it is."""
    if ":" in name or name.endswith((".py", MODEL_FILE)):
        return name
    if function := library.MECHANISMS.get(name):
        return f"{function.__module__}:{function.__name__}"
    if "/" in name or "\\" in name:
        raise InputError(f"there is no file or folder {name!r}, and a folder of a history holds history.json")
    raise unknown_name("mechanism", name, library.MECHANISMS)


# ---- whether a script may be imported again --------------------------------------------------------------------------

LARGEST = 10_000_000  # bytes of a script
UNGUARDED = (
    "a process of its own imports this script again; write the call under if __name__ == '__main__': for a process"
)


def reimport_error() -> str:
    """Return why another process must not import the user's script, "" when it may.

    A process of its own imports the script, and would come to the same call outside of
    ``if __name__ == "__main__":``. A script that comes from a pipe cannot be imported at all. Without a file, as in a
    notebook, nothing is imported.
    """
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None)
    if path is None or getattr(main, "__spec__", None) is not None:  # python -m: a package, which is guarded itself
        return ""
    if not Path(path).is_file():
        return f"a process of its own imports this script again, and {path} is no file; save the script for a process"
    try:
        tree = ast.parse(text(path, LARGEST))
    except (DamagedFile, SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    guarded = any(isinstance(one, ast.If) and asks_for_name(one.test) for one in tree.body)
    return "" if guarded else UNGUARDED


def asks_for_name(test: ast.expr) -> bool:
    """True for a comparison with ``__name__``."""
    return any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(test))
