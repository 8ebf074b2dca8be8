"""How a body looks in pictures: shapes by name, a colour, an opacity. Triangles and mesh files stay in Python."""

from dataclasses import fields
from typing import Any

from rtmbs.errors import ModelError, nearest_names
from rtmbs.language.given import Given, sole_name
from rtmbs.language.scope import Call
from rtmbs.language.values import taken
from rtmbs.model import Bar, Box, Cylinder, Sphere

SHAPES: dict[str, type] = {"box": Box, "cylinder": Cylinder, "sphere": Sphere, "bar": Bar}
KEYS = ("color", "opacity", "edges")  # and ``shape``, which may stand several times


def looks(given: Given) -> dict[str, Any]:
    """Return the arguments of ``Model.set_looks`` that a statement gives; raises LanguageError."""
    said: dict[str, Any] = {"shape": [shape(given, argument.value) for argument in given.keys.get("shape", [])] or None}
    if given.has("color"):
        name = sole_name(given.code("color"))
        if name is None:
            raise given.source.error(given.place("color"), f'{given.said}: color takes a name, or "#rrggbb" in quotes')
        said["color"] = name.text
    return said | {"opacity": given.number("opacity", 1.0), "edges": given.switch("edges", True)}


def shape(given: Given, code: Any) -> Any:
    """Return the shape that a call such as ``box(size = (1, 2, 3))`` means."""
    value, at = given.scope.evaluate(code), code[-1].at
    if not isinstance(value, Call) or value.name.lower() not in SHAPES:
        near = nearest_names(value.name.lower(), SHAPES) if isinstance(value, Call) else []
        hint = f"did you mean {near[0]}?" if near else f"write one of {', '.join(SHAPES)}, such as sphere(radius = 0.1)"
        raise given.source.error(at, f"{given.said}: shape takes a shape; {hint}", near or list(SHAPES))
    kind = SHAPES[value.name.lower()]
    names = [field.name for field in fields(kind)]
    for word in value.named:
        if word not in names:
            raise given.source.error(value.at, f"{value.name} takes no {word!r}; it takes {', '.join(names)}", names)
    if len(value.items) > len(names):
        raise given.source.error(value.at, f"{value.name} takes {len(names)} values, not {len(value.items)}")
    arguments = dict(zip(names, value.items, strict=False)) | value.named
    try:
        return kind(**{name: taken(given, "shape", one) for name, one in arguments.items()})
    except TypeError:
        raise given.source.error(value.at, f"{value.name} needs {', '.join(required(kind))}") from None
    except ModelError as error:
        raise given.source.error(value.at, str(error)) from None


def required(kind: type) -> list[str]:
    """Return what a shape cannot be without."""
    return [name for name in ("size", "radius", "length", "start", "end") if name in kind.__annotations__]
