"""How a body looks in pictures: shapes by name, a colour, an opacity. A mesh is a file in the folder of the model."""

import os
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from rtmbs.errors import ModelError, nearest_names, shown
from rtmbs.language.arguments import Arguments, model_value, sole_name
from rtmbs.language.scope import Call, Word
from rtmbs.language.syntax import inside
from rtmbs.model import Bar, Box, Cylinder, Mesh, Sphere, Surface
from rtmbs.model.mesh import ENDINGS

SHAPES: dict[str, type] = {
    "box": Box, "cylinder": Cylinder, "sphere": Sphere, "bar": Bar, "surface": Surface, "mesh": Mesh,
}  # fmt: skip
KEYS = ("color", "opacity", "edges")  # and ``shape``, which may stand several times
FILE, FACES = "file", "faces"  # arguments that are no numbers, or whole ones
MOST_BYTES = 100_000_000  # of a mesh file


def looks(args: Arguments) -> dict[str, Any]:
    """Return the arguments of ``Model.set_looks`` that a statement gives; raises LanguageError."""
    values: dict[str, Any] = {"shape": [shape(args, argument.value) for argument in args.keys.get("shape", [])] or None}
    if args.has("color"):
        name = sole_name(args.code("color"))
        if name is None:
            raise args.source.error(args.place("color"), f'{args.subject}: color takes a name, or "#rrggbb" in quotes')
        values["color"] = name.text
    return values | {"opacity": args.number("opacity", 1.0), "edges": args.switch("edges", True)}


def shape(args: Arguments, code: Any) -> Any:
    """Return the shape that a call such as ``box(size = (1, 2, 3))`` means."""
    value, at = args.scope.evaluate(code), code[-1].at
    if not isinstance(value, Call) or value.name.lower() not in SHAPES:
        near = nearest_names(value.name.lower(), SHAPES) if isinstance(value, Call) else []
        hint = f"did you mean {near[0]}?" if near else f"write one of {', '.join(SHAPES)}, such as sphere(radius = 0.1)"
        raise args.source.error(at, f"{args.subject}: shape takes a shape; {hint}", near or list(SHAPES))
    kind = SHAPES[value.name.lower()]
    names = [field.name for field in arguments_of(kind)]
    for word in value.named:
        if word not in names:
            raise args.source.error(value.at, f"{value.name} takes no {word!r}; it takes {', '.join(names)}", names)
    if len(value.items) > len(names):
        raise args.source.error(value.at, f"{value.name} takes {len(names)} values, not {len(value.items)}")
    arguments = dict(zip(names, value.items, strict=False)) | value.named
    try:
        return kind(**{name: argument(args, name, one) for name, one in arguments.items()})
    except TypeError:
        raise args.source.error(value.at, f"{value.name} needs {', '.join(required(kind))}") from None
    except ModelError as error:
        raise args.source.error(value.at, str(error)) from None


def arguments_of(kind: type) -> list[Field[Any]]:
    """Return the fields that make a shape."""
    return [field for field in fields(kind) if field.init]


def required(kind: type) -> list[str]:
    """Return the fields without a default."""
    return [field.name for field in arguments_of(kind) if field.default is MISSING]


def argument(args: Arguments, name: str, value: Any) -> Any:
    """Return one argument of a shape as the model takes it."""
    if name == FILE:
        return mesh_file(args, value)
    found = model_value(args, "shape", value)
    return whole(found) if name == FACES else found


def mesh_file(args: Arguments, value: Any) -> str:
    """Return the path of a mesh file that a name in quotes means; raises LanguageError with the nearest file."""
    if not isinstance(value, Word):
        raise args.source.error(value.at, f'{args.subject}: mesh takes a file in quotes, such as mesh("hull.stl")')
    name = value.name.text
    path = inside(args.source, args.scope.folder, name, value.at, "name")
    assert args.source.path is not None
    here = args.source.path.parent
    if os.path.isfile(path):
        if (size := path.stat().st_size) > MOST_BYTES:
            most = f"a mesh file has at most {MOST_BYTES / 1e6:g} MB"
            raise args.source.error(value.at, f"{args.subject}: {shown(name)} has {size / 1e6:.0f} MB; {most}")
    elif found := nearest_file(path, here):
        raise args.source.error(
            value.at, f"{args.subject}: there is no file {shown(name)}; did you mean {shown(found)}?", [found]
        )
    return str(here / name)


def nearest_file(path: Path, here: Path) -> str:
    """Return the mesh file beside ``path`` with the nearest name, as seen from ``here``; nothing when none is near."""
    beside = path.parent.iterdir() if os.path.isdir(path.parent) else ()
    names = {one.stem: one for one in beside if one.suffix.lower() in ENDINGS}
    near = nearest_names(path.stem, names)
    return os.path.relpath(names[near[0]], here.resolve()) if near else ""


def whole(value: Any) -> Any:
    """Return numbers without a fraction as integers, whatever else as it is: the shape refuses it."""
    if isinstance(value, list):
        return [whole(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
