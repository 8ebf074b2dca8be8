"""Head of a history on disk: the scene as JSON, without pickle, so that a replay needs no model."""

import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.files import from_json, replacing, whole
from rtmbs.errors import ResultError
from rtmbs.model.shapes import Shape, Surface
from rtmbs.viewer.scene import description as records
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import FrameLayout

Array = NDArray[np.float64]

HISTORY = "_history"  # how the name of a folder ends
NAME = "history.json"
RUN_PREFIX = "run_"  # before the number of a run
FORMAT = 1
LARGEST = 500_000_000  # bytes of a head: meshes are in it
NUMBERS = ("f8", "f4", "i8", "i4", "b1")  # types of arrays
KIND, ARRAY, TUPLE = "@record", "@array", "@tuple"  # what tells records, arrays and tuples from other values
KINDS = (*Shape.__subclasses__(), *vars(records).values())
RECORDS: dict[str, Any] = {
    kind.__name__: kind for kind in KINDS if isinstance(kind, type) and dataclasses.is_dataclass(kind)
}


class Places(NamedTuple):
    """Poses of the nb bodies on their dofs."""

    moving: NDArray[np.bool_]  # (nb,) False for a body that rests on ground
    rotations: Array  # (nb, 3, 3) body to dof axes
    positions: Array  # (nb, 3) body origin in dof axes [m]


class Head(NamedTuple):
    """Description, fingerprint and poses on dofs of one run."""

    description: SceneDescription
    fingerprint: str  # of the System
    places: Places


def write_head(folder: Path, description: SceneDescription, fingerprint: str, places: Places) -> None:
    """Write what no block says, without inputs, which a recorded motion has none of. OSError: the disk is full."""
    kept = dataclasses.replace(description, inputs=(), wrenches=(), channels=(), parameters={}, choices={})
    head = {"rtmbs_history": FORMAT, "fingerprint": fingerprint, "scene": encoded(kept), **encoded(places._asdict())}
    with replacing(folder / NAME) as file:
        file.write(json.dumps(head).encode("utf-8"))


def read_head(folder: Path) -> Head:
    """Return the head of a run; ResultError for a file of another kind."""
    path = folder / NAME
    try:
        head = from_json(whole(path, LARGEST))
        if head["rtmbs_history"] != FORMAT:
            raise ResultError(
                f"history {str(folder)!r} has format {head['rtmbs_history']}, this version reads format {FORMAT}"
            )
        places = Places(*(decoded(head[name]) for name in Places._fields))
        found = Head(decoded(head["scene"]), str(head["fingerprint"]), places)
    except ResultError:
        raise
    except Exception as error:  # a damaged file may raise anything
        raise ResultError(f"history {str(folder)!r} has a damaged {NAME} ({error})") from error
    if wrong := size_error(found):
        raise ResultError(f"history {str(folder)!r} has a damaged {NAME} ({wrong})")
    return found


def size_error(head: Head) -> str:
    """Return the fault of the sizes of a head, "" when they belong together."""
    description: Any = head.description
    if not isinstance(description, SceneDescription):
        return "it describes no scene"
    count = len(head.description.bodies)
    for name, shape in (("moving", (count,)), ("rotations", (count, 3, 3)), ("positions", (count, 3))):
        values: Any = getattr(head.places, name)  # a file may hold anything
        if not isinstance(values, np.ndarray) or values.shape != shape:
            return f"{name} are no numbers of shape {shape}"
    if head.places.moving.dtype != np.bool_:
        return "moving is no array of yes and no"
    return ""


def is_history(target: object) -> bool:
    """True for the folder of a history, one of its runs, or the head of one."""
    if not isinstance(target, str | Path):
        return False
    path = Path(target)
    if path.name == NAME:
        return path.is_file()
    return path.is_dir() and ((path / NAME).is_file() or any(path.glob(f"{RUN_PREFIX}*/{NAME}")))


def encoded(value: Any) -> Any:
    """Return a record as JSON takes it."""
    if isinstance(value, FrameLayout):
        return None
    if isinstance(value, Surface):  # with a file or without one
        return {KIND: Surface.__name__, "vertices": encoded(value.vertices), "faces": encoded(value.faces)}
    if dataclasses.is_dataclass(value):
        return {
            KIND: type(value).__name__,
            **{f.name: encoded(getattr(value, f.name)) for f in dataclasses.fields(value)},
        }
    if isinstance(value, np.ndarray):
        return {ARRAY: value.tolist(), "of": value.dtype.str, "shape": value.shape}
    if isinstance(value, tuple):
        return {TUPLE: [encoded(one) for one in value]}
    if isinstance(value, dict):
        return {str(key): encoded(one) for key, one in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    return value


def array_of(values: Any, kind: Any, shape: Any) -> Array:
    """Return an array of numbers; ValueError for another type."""
    if not isinstance(kind, str) or kind.lstrip("<>|=") not in NUMBERS:
        raise ValueError(f"an array is of type {str(kind)[:20]!r}")
    found = np.array(values, np.dtype(kind))
    if list(found.shape) != shape and found.size:
        raise ValueError(f"an array of shape {found.shape} says that its shape is {str(shape)[:40]}")
    return found.reshape(shape)


def decoded(value: Any) -> Any:
    """Return the record that ``encoded`` wrote; KeyError for a kind that does not exist."""
    if not isinstance(value, dict):
        return value
    if KIND in value:
        kind = RECORDS[value[KIND]]
        fields = {name: decoded(one) for name, one in value.items() if name != KIND}
        if kind is SceneDescription:
            fields["layout"] = FrameLayout(len(fields["bodies"]), 0, 0)
        return kind(**fields)
    if ARRAY in value:
        return array_of(value[ARRAY], value["of"], value["shape"])
    if TUPLE in value:
        return tuple(decoded(one) for one in value[TUPLE])
    return {name: decoded(one) for name, one in value.items()}
