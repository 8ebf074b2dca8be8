"""Writing of model files: a Model as text, and a text in its usual form.

``write``: a Model as text that reads back to the same fingerprint. Numbers are written with all their digits.

``format``: a text in its usual form. Words, numbers and comments stay; spaces, lines and case of keywords change.
"""

import re
from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from lark import Token

from rtmbs.errors import ModelError
from rtmbs.language.builder import STATEMENTS, callables
from rtmbs.language.document import Analysis, Document
from rtmbs.language.expressions import PARAMETER, CamCurve, Curve, Expression, ExpressionRow, written
from rtmbs.language.parse import Sheet, Source, is_whole, parse, tokens
from rtmbs.language.statements.elements import (
    ANALYSES,
    CHOICES,
    FILE,
    NUMBERS,
    SHAPES,
    TITLES,
    arguments_of,
    key_of,
    spelled,
)
from rtmbs.model import (
    FORCE_TYPES,
    JOINT_TYPES,
    Body,
    Coupler,
    Driver,
    Force,
    Initial,
    Input,
    Joint,
    KnifeEdge,
    Looks,
    Marker,
    Mesh,
    Model,
    RollingContact,
)
from rtmbs.model.constraints import MARKER_AXES
from rtmbs.model.joints import is_number_field

WIDTH = 120
BLOCK = "  "  # before statements of a block
COMMENT = re.compile(r"#[^\n]*|//[^\n]*|/\*.*?\*/", re.DOTALL)
OPENING, CLOSING = ("LPAR", "LSQB"), ("RPAR", "RSQB")
SPACED = ("PLUS", "MINUS", "STAR", "SLASH", "EQUAL", "COMPARISON")
BEFORE_SIGN = (*OPENING, *SPACED, "COMMA", "CIRCUMFLEX")  # what follows these is a sign, not an operator
CAPITALS = ("body", "system")  # as the paper writes them


def format(sheet: Sheet | Source | str, large: bool = False) -> str:
    """Return the text of statements in its usual form; a formatted text stays as it is.

    A text that does not begin with MODEL is a file to include.

    Parameters
    ----------
    sheet : Sheet, Source or str
        Statements, or a text.
    large : bool, default False
        The text may have more than the usual number of words.

    Returns
    -------
    str
        The text in its usual form.
    """
    source = Source("text", sheet) if isinstance(sheet, str) else sheet if isinstance(sheet, Source) else sheet.source
    fragment = not is_whole(source)
    parse(source, fragment=fragment, large=large)  # refuses what is no text of the language
    pieces = list(split(list(tokens(source, fragment))))
    lines: list[str] = []
    last = depth = 0
    for k, piece in enumerate(pieces):
        begins, ends = opens(piece)
        depth -= ends
        trailing, before = between(source.text[last : piece[0].start_pos], first=k == 0)
        if trailing:
            lines[-1] += f"  {trailing}"
        inside = [text for a, b in pairwise(piece) for text in found(source.text, a, b)]
        lines += [*before, *inside, *(BLOCK * depth + line for line in statement_lines(piece))]
        depth += begins
        last = piece[-1].end_pos or 0
    trailing, after = between(source.text[last:], first=not pieces)
    if trailing:
        lines[-1] += f"  {trailing}"
    return "\n".join([*lines, *after]).rstrip() + "\n"


def opens(piece: list[Token]) -> tuple[int, int]:
    """Return 1 for a statement that begins a block, and 1 for one that ends a block."""
    words = [str(token).lower() for token in piece[:2] if token.type == "WORD"]
    return int(words[:1] in (["repeat"], ["submodel"])), int(words in (["end", "repeat"], ["end", "submodel"]))


def split(all_tokens: list[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of the header, of each statement and of the footer."""
    piece: list[Token] = []
    for k, token in enumerate(all_tokens):
        if token.type == "$END":
            continue
        piece.append(token)
        after = all_tokens[k + 1].type if k + 1 < len(all_tokens) else "$END"
        headed = len(piece) == 2 and piece[0].type == "MODEL"
        if token.type == "SEMICOLON" or ((headed or token.type == "ENDMODEL") and after != "SEMICOLON"):
            yield piece
            piece = []


def found(text: str, first: Token, second: Token) -> list[str]:
    """Return the comments between two tokens."""
    return [one.rstrip() for one in COMMENT.findall(text[first.end_pos : second.start_pos])]


def between(gap: str, first: bool) -> tuple[str, list[str]]:
    """Return the comment that ends the line of the statement before, and the other comments and blank lines."""
    trailing, end = "", 0
    lines: list[str] = []
    for one in COMMENT.finditer(gap):
        space = gap[end : one.start()]
        if not end and not first and "\n" not in space:
            trailing = one.group().rstrip()
        else:
            lines += [""] * (space.count("\n") > 1 and bool(lines or not first)) + [one.group().rstrip()]
        end = one.end()
    if gap[end:].count("\n") > 1 and (lines or not first):
        lines.append("")
    return trailing, lines


def statement_lines(piece: list[Token]) -> list[str]:
    """Return one statement, on several lines when it is long."""
    words = token_texts(piece)
    line = joined(piece, words, 0, len(piece))
    cuts = top_commas(piece)
    head = list_begin(piece)
    if len(line) <= WIDTH or not cuts or head is None:
        return [line]
    lines = [joined(piece, words, 0, head)]
    part, start = "", head
    for cut in [*cuts, len(piece) - 3]:
        argument = joined(piece, words, start, cut + 1)
        if part and len(part) + 1 + len(argument) + 6 > WIDTH:
            lines.append(f"    {part}")
            part = argument
        else:
            part = f"{part} {argument}" if part else argument
        start = cut + 1
    return [*lines, f"    {part}", f"{piece[-2]};"]


def list_begin(piece: list[Token]) -> int | None:
    """Return where the list of a statement begins: its arguments, or the row of a constant; None without one."""
    value = 3 if str(piece[0]).lower() == "constant" else 0  # behind the equal sign
    head = next((k for k in range(value, len(piece)) if value or piece[k].type == "LPAR"), None)
    if head is None or piece[head].type not in OPENING:
        return None
    depth = 0
    for k in range(head, len(piece)):
        depth += (piece[k].type in OPENING) - (piece[k].type in CLOSING)
        if not depth:
            return head + 1 if k == len(piece) - 2 else None
    return None


def top_commas(piece: list[Token]) -> list[int]:
    """Return the commas between the arguments of a statement."""
    depth, cuts = 0, []
    for k, token in enumerate(piece):
        depth += (token.type in OPENING) - (token.type in CLOSING)
        if token.type == "COMMA" and depth == 1:
            cuts.append(k)
    return cuts


def token_texts(piece: list[Token]) -> list[str]:
    """Return the words of a statement, keywords in their usual case."""
    words = [str(token) for token in piece]
    if piece[0].type in ("MODEL", "ENDMODEL"):
        return [words[0].upper(), *words[1:]]
    count = next((k for k, token in enumerate(piece) if token.type not in ("WORD", "STRING")), len(piece))
    title = " ".join(words[:count]).lower()
    kind = STATEMENTS.get(title) or STATEMENTS.get(" ".join(words[: count - 1]).lower())
    size = 1 if title.startswith(("constant ", "include ")) else len(kind.title.split()) if kind else 0
    for k in range(size):
        words[k] = words[k].upper() if kind and kind.title in CAPITALS else words[k].lower()
    if kind and not kind.free:
        spell_keys(piece, words, (*kind.keys, *kind.repeated), kind.flags)
    return words


def spell_keys(piece: list[Token], words: list[str], keys: tuple[str, ...], flags: tuple[str, ...]) -> None:
    """Write keys in small letters, and flags of several words in capitals."""
    depth, start = 0, 0
    for k, token in enumerate(piece):
        at_end = depth == 1 and token.type in ("COMMA", "EQUAL", "RPAR")
        if at_end and start < k and piece[start - 1].type in ("LPAR", "COMMA"):
            text = " ".join(words[start:k]).lower()
            if token.type == "EQUAL" and text in keys:
                words[start:k] = [word.lower() for word in words[start:k]]
            elif token.type != "EQUAL" and text in flags:
                words[start:k] = [word.upper() if " " in text else word.lower() for word in words[start:k]]
        depth += (token.type in OPENING) - (token.type in CLOSING)
        if token.type in ("COMMA", "LPAR") and depth == 1:
            start = k + 1


def joined(piece: list[Token], words: list[str], start: int, end: int) -> str:
    """Return a part of a statement with its usual spaces."""
    parts = []
    for k in range(start, end):
        if k > start and gap(piece, k):
            parts.append(" ")
        parts.append(words[k])
    return "".join(parts)


def gap(piece: list[Token], k: int) -> bool:
    """True when token ``k`` follows a space."""
    before, here = piece[k - 1].type, piece[k].type
    if before in OPENING or here in (*CLOSING, "COMMA", "SEMICOLON", "DOT", "CIRCUMFLEX"):
        return False
    if before in ("DOT", "CIRCUMFLEX"):
        return False
    if before in ("MINUS", "PLUS"):  # a sign holds what follows
        return not (k < 2 or piece[k - 2].type in BEFORE_SIGN)
    if here == "LSQB" and before in ("WORD", "STRING"):  # an index
        return False
    if here == "LPAR":
        return before not in ("WORD", "STRING") or all(token.type in ("WORD", "STRING") for token in piece[:k])
    return True


BARE = re.compile(r"(?!(?:end)?model$)[^\W\d]\w*", re.IGNORECASE)
EYE = np.eye(3).tobytes()


def write(model: Model | Document, analysis: Analysis | None = None, folder: str | Path | None = None) -> str:
    """Return a model and its analysis as text; raises ModelError for a function that only Python has.

    Names, numbers and order are those of the model; constants, units and comments of a file it was read from are not
    kept (``format`` keeps them).
    folder: where the text is to stand, for it names mesh files from there; ModelError for one outside. Unless given, it
    is that of the file that a Document was read from, otherwise the present one.
    """
    if isinstance(model, Document):
        text = write(model.model, analysis or model.analysis, Path(model.path).parent if folder is None else folder)
        more = [*(constraint(one) for one in model.constraints), *(measure(*one) for one in model.measures.items())]
        return format("\n".join([text.rstrip().removesuffix("ENDMODEL"), *more, "ENDMODEL\n"])) if more else text
    here = Path(folder or ".")
    parts = [f"MODEL {quoted(model.name)}", system(model, analysis or Analysis(kind="dynamic"))]
    if model.ground.name in model.looks:
        parts.append(statement("BODY", model.ground.name, ["ground", *looks(model, model.ground, here)]))
    parts += [body(model, one, here) for one in model.bodies.values() if one is not model.ground]
    parts += [triad(one) for one in model.markers.values()]
    parts += [joint(model, one) for one in model.joints.values()]
    for rod in model.rods.values():
        parts.append(statement("rod", rod.name, [*triads(rod.between), f"length = {number(rod.length)}"]))
    parts += [contact(one) for one in model.contacts.values()]
    parts += [coupler(one) for one in model.couplers.values()]
    for name in model.constraints:
        raise ModelError(f"constraint {name!r} is a function written in Python, which a file cannot hold")
    for name in model.contact_sets:
        raise ModelError(f"contacts {name!r} is a contact set, which a file cannot hold")
    parts += [force(one) for one in model.forces.values()]
    parts += [driver(model, one) for one in model.drivers.values()]
    parts += [initial(one) for one in model.initials.values()]
    for name, (translation, rotation) in model.reaction_stiffness.items():
        said = [f"translation = {number(translation)}", f"rotation = {number(rotation)}"]
        parts.append(statement("reaction stiffness", name, said))
    return format("\n".join([*parts, "ENDMODEL\n"]))


def quoted(name: str) -> str:
    """Return a name, in quotes where it is no plain word."""
    if BARE.fullmatch(name):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def number(value: Any) -> str:
    return repr(float(value))


def row(values: Any) -> str:
    return f"({', '.join(number(value) for value in np.ravel(values))})"


def matrix(values: Any) -> str:
    return f"[{', '.join(row(line) for line in values)}]"


def same(a: Any, b: Any) -> bool:
    """True when two arrays hold the same bytes."""
    return np.asarray(a, np.float64).tobytes() == np.asarray(b, np.float64).tobytes()


def statement(title: str, name: str, arguments: list[str]) -> str:
    return f"{title} {quoted(name)} ({', '.join(arguments)});"


def triads(pair: tuple[Marker, Marker]) -> list[str]:
    return [f"triad = {quoted(marker.name)}" for marker in pair]


def system(model: Model, analysis: Analysis) -> str:
    """Return SYSTEM with every value that the analysis has."""
    title = next(words for words, kind in ANALYSES.items() if kind == analysis.kind)
    arguments = [title.upper()]
    for key, (field, _) in NUMBERS.items():
        if (value := getattr(analysis, field)) is not None:
            arguments.append(f"{key} = {number(value)}")
    arguments += [f"{key} = {value}" for key in CHOICES if (value := getattr(analysis, key)) is not None]
    return f"SYSTEM ({', '.join([*arguments, f'gravity = {row(model.gravity)}'])});"


def body(model: Model, one: Body, folder: Path) -> str:
    """Return the statement of a body without zero values and defaults."""
    arguments = [f"mass = {number(one.mass)}"]
    if not same(one.center_of_mass, np.zeros(3)):
        arguments.append(f"center of mass = {row(one.center_of_mass)}")
    if not same(one.inertia, np.zeros((3, 3))):
        J = one.inertia
        six = (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
        arguments.append(f"inertia = {row(six if any(number(x) != '0.0' for x in six[3:]) else six[:3])}")
    if not same(one.position, np.zeros(3)):
        arguments.append(f"position = {row(one.position)}")
    if one.orientation.tobytes() != EYE:
        arguments.append(f"orientation = {matrix(one.orientation)}")
    return statement("BODY", one.name, [*arguments, *looks(model, one, folder)])


def looks(model: Model, one: Body, folder: Path) -> Iterator[str]:
    """Yield shape, colour and opacity of a body without defaults; raises ModelError for other shapes."""
    seen = model.looks.get(one.name, Looks())
    for shape in seen.shapes:
        kind = type(shape).__name__.lower()
        if SHAPES.get(kind) is not type(shape):
            raise ModelError(
                f"body {one.name!r} has a {type(shape).__name__}, which a file cannot name; it names "
                f"{', '.join(SHAPES)}"
            )
        values = {field.name: getattr(shape, field.name) for field in arguments_of(type(shape))}
        if isinstance(shape, Mesh):
            values[FILE] = mesh_name(one, shape, folder)
        arguments = [f"{name} = {argument(value)}" for name, value in values.items()]
        yield f"shape = {kind}({', '.join(arguments)})"
    if seen.color:
        yield f"color = {quoted(seen.color)}"
    if seen.opacity != 1.0:
        yield f"opacity = {number(seen.opacity)}"
    if not seen.edges:
        yield "edges = no"


def argument(value: Any) -> str:
    """Return one argument of a shape: a file, a number, a row, or rows."""
    if isinstance(value, str):
        return quoted(value)
    return number(value) if np.ndim(value) == 0 else row(value) if np.ndim(value) == 1 else matrix(value)


def mesh_name(one: Body, mesh: Mesh, folder: Path) -> str:
    """Return the file of a mesh as a text in ``folder`` names it; ModelError for one outside."""
    path, here = Path(mesh.file).resolve(), folder.resolve()
    if not path.is_relative_to(here):
        raise ModelError(
            f"body {one.name!r}: {mesh.file!r} is outside the folder {str(folder)!r} of the text, and a model file "
            "names files in its own folder only; give write the folder of the mesh, or move the mesh"
        )
    return path.relative_to(here).as_posix()


def triad(one: Marker) -> str:
    arguments = [f"associated body = {quoted(one.body.name)}", f"origin = {row(one.point)}"]
    if np.ascontiguousarray(one.axes).tobytes() != EYE:
        arguments.append(f"axes = {matrix(one.axes)}")
    return statement("triad", one.name, arguments)


def joint(model: Model, one: Joint) -> str:
    """Return a joint between two bodies with its points and axes."""
    name = type(one.type).__name__
    if JOINT_TYPES.get(name) is not type(one.type):
        raise ModelError(
            f"joint {one.name!r} is {name}, which is not in JOINT_TYPES; a file cannot name it before "
            f"rtmbs.register({name})"
        )
    arguments = [f"body = {quoted(one.a.name)}", f"body = {quoted(one.b.name)}"]
    for field in fields(one.type):
        value = getattr(one.type, field.name)
        arguments.append(f"{key_of(field.name)} = {number(value) if is_number_field(field) else row(value)}")
    arguments += [f"point a = {row(one.point_a)}", f"point b = {row(one.point_b)}", *frame(model, one)]
    if one.cut:
        arguments.append("cut = yes")
    if one.closure:
        arguments.append(f"closure = {one.closure}")
    return statement(TITLES.get(name, (f"{spelled(name)} joint",))[0], one.name, arguments)


def frame(model: Model, one: Joint) -> Iterator[str]:
    """Yield the axes of a joint: none for world axes, a body with the same axes, or all numbers."""
    bodies = {other.name: other for other in (model.ground, one.a, one.b, *model.bodies.values())}
    for other in bodies.values():
        axes_a, axes_b = one.a.orientation.T @ other.orientation, one.b.orientation.T @ other.orientation
        if same(axes_a, one.axes_a) and same(axes_b, one.axes_b):
            if other is not model.ground:
                yield f"frame = {quoted(other.name)}"
            return
    yield from (f"axes a = {matrix(one.axes_a)}", f"axes b = {matrix(one.axes_b)}")


def force(one: Force) -> str:
    """Return the statement of a force with a law of FORCE_TYPES."""
    law, what = one.law, f"force {one.name!r}"
    name = type(law).__name__
    if FORCE_TYPES.get(name) is not type(law):
        raise ModelError(f"{what} follows a law written in Python, which a file cannot hold; take one of FORCE_TYPES")
    arguments = []
    if one.between:
        arguments += triads(one.between)
    elif one.joint:
        arguments.append(f"joint = {coordinate(*one.joint)}")
    elif one.body is not None:
        arguments += [f"body = {quoted(one.body.name)}", f"point = {row(one.point)}"]
    values = ((key_of(field.name), getattr(law, field.name)) for field in fields(law))
    arguments += [f"{key} = {value_text(what, value)}" for key, value in values if value is not None]
    title = {"SpringDamper": "spring"}.get(name, spelled(name))
    return statement(title, one.name, arguments)


def coupler(one: Coupler) -> str:
    """Return a coupler by its kind, with the number that the user gave."""
    names = [coordinate(joint, k) for joint, k, _ in one.terms]
    value = number(one.number)
    arguments = {
        "gear": lambda: [f"joint = {names[0]}", f"joint = {names[1]}", f"ratio = {value}"],
        "rack and pinion": lambda: [f"rack = {names[0]}", f"pinion = {names[1]}", f"radius = {value}"],
        "screw": lambda: [f"joint = {quoted(one.terms[0][0].name)}", f"pitch = {value}"],
        "differential": lambda: [
            f"carrier = {names[2]}", f"first = {names[0]}", f"second = {names[1]}", f"ratio = {value}",
        ],
        "coupler": lambda: [*(f"joint = {name}" for name in names), f"ratios = {row_of(one.factors)}"],
    }[one.kind]()  # fmt: skip
    if callable(one.offset) or one.offset != 0.0:
        arguments.append(f"offset = {value_text(f'{one.kind} {one.name!r}', one.offset)}")
    return statement(one.kind, one.name, arguments)


def coordinate(one: Joint, k: int) -> str:
    return f"{quoted(one.name)}.{quoted(one.type.coordinates[k])}"


def driver(model: Model, one: Driver) -> str:
    """Return a driver with its profile."""
    if one.joint:
        key = coordinate(*one.joint)
        owner = one.joint[0]
        if owner.name in model.bodies:
            key = f"joint({quoted(owner.name)}, {quoted(owner.type.coordinates[one.joint[1]])})"
    elif one.between:
        key = f"distance({quoted(one.between[0].name)}, {quoted(one.between[1].name)})"
    elif one.body:
        key = f"{quoted(one.body[0].name)}.{one.body[1]}"
        if one.body[0].name in model.joints:
            key = f"body({quoted(one.body[0].name)}, {one.body[1]})"
    else:
        assert one.axes is not None
        key = f"angle({', '.join(f'{quoted(marker.name)}.{MARKER_AXES[k]}' for marker, k in one.axes)})"
    return statement("driver", one.name, [f"{key} = {value_text(f'driver {one.name!r}', one.profile)}"])


def contact(one: RollingContact | KnifeEdge) -> str:
    """Return the statement of a nonholonomic constraint."""
    if isinstance(one, RollingContact):
        arguments = [f"wheel = {quoted(one.wheel.name)}", f"plane = {quoted(one.plane.name)}"]
        arguments += [f"radius = {number(one.radius)}", *([f"crown = {number(one.crown)}"] if one.crown else [])]
        return statement("rolling", one.name, arguments)
    arguments = [f"triad = {quoted(one.blade.name)}", f"body = {quoted(one.base.name)}"]
    return statement("knife edge", one.name, [*arguments, f"direction = {row(one.direction)}"])


def constraint(one: Any) -> str:
    """Return the statement of a constraint of kinematics that a file made."""
    if hasattr(one, "profile"):
        value = value_text(f"driver {one.name!r}", one.profile)
        return statement("driver", one.name, [f"{quoted(one.marker)}.{one.coordinate} = {value}"])
    if not isinstance(getattr(one, "curve", None), Curve):
        raise ModelError(f"{type(one).__name__} {one.name!r} comes from Python, which a file cannot hold")
    rows = ", ".join(written(steps, variable=PARAMETER) for steps in one.curve.rows)
    arguments = [f"triad = {quoted(one.marker)}", f"body = {quoted(one.body)}", f"curve = ({rows})"]
    arguments.append(f"start = {number(one.start)}")
    if isinstance(one.curve, CamCurve):
        arguments[2] = f"radius = {rows}"
        arguments += [f"origin = {row(one.curve.origin)}", f"axes = {matrix(one.curve.axes)}"]
        arguments.append(f"roller = {number(one.curve.roller)}")
        return statement("cam", one.name, arguments)
    return statement("point on curve", one.name, arguments)


def measure(name: str, target: Any) -> str:
    """Return the statement of a measured quantity."""
    if "marker" in target:
        marker, axis = target["marker"]
        return statement("measure", name, [f"{quoted(marker.name)}.{axis}"])
    if "between" in target:
        return statement("measure", name, [f"distance({', '.join(quoted(one.name) for one in target['between'])})"])
    if "axes" in target:
        return statement(
            "measure", name, [f"angle({', '.join(f'{quoted(one.name)}.{axis}' for one, axis in target['axes'])})"]
        )
    ((kind, owner),) = target.items()
    return statement("measure", name, [f"{kind}({quoted(owner[0].name)}, {quoted(owner[1])})"])


def value_text(what: str, value: Any) -> str:
    """Return a number, numbers, a word, an expression, or a profile by name; raises ModelError for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, Expression):
        return written(value.steps, partial(value_text, what))
    if isinstance(value, ExpressionRow):
        return f"({', '.join(written(steps, partial(value_text, what)) for steps in value.rows)})"
    if callable(value) or isinstance(value, Input):
        kind = callables().get(type(value).__name__.lower())
        if kind is not type(value):
            raise ModelError(
                f"{what} follows a function written in Python, which a file cannot hold; write it as an expression of "
                "TIME in the file, or as a profile such as Sine"
            )
        names = [field.name for field in fields(kind) if field.repr and field.init]
        arguments = ", ".join(f"{name} = {value_text(what, getattr(value, name))}" for name in names)
        return f"{spelled(type(value).__name__)}({arguments})"
    array = np.asarray(value, np.float64)
    if array.ndim == 0:
        return number(array)
    return f"[{', '.join(value_text(what, part) for part in array)}]" if array.ndim > 1 else row_of(array)


def row_of(array: Any) -> str:
    """Return numbers in square brackets, where one number is a row too."""
    return f"[{', '.join(number(value) for value in array)}]"


def initial(one: Initial) -> str:
    arguments = [f"{key} = {row_of(value)}" for key in ("position", "rate") if (value := getattr(one, key)) is not None]
    if not one.pin:
        arguments.append("pin = no")
    return statement("initial", one.joint.name, [*arguments, f"weight = {number(one.weight)}"])
