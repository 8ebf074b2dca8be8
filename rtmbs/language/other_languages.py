"""Words and signs of other modelling and programming languages, and how a model file writes the same."""

import re

REPEAT = "repeat k (from = 1, to = 5); ... end repeat;"
CHOICE = "if(TIME < 1, 2, 3)"
STATEMENT = re.compile(r"\A\s*(?:(?:#|//)[^\n]*\s+|/\*.*?\*/\s*)*([^\W\d]\w*)", re.DOTALL)

WORDS = {  # statements elsewhere
    **dict.fromkeys(("for", "foreach", "while", "loop", "do"), REPEAT),
    **dict.fromkeys(("if", "when", "else"), f"driver NAME (hinge = {CHOICE});"),
    **dict.fromkeys(("let", "set", "var", "variable", "parameter", "real", "float", "const"), "constant NAME = VALUE;"),
    **dict.fromkeys(("part", "link", "solid", "component"), "BODY NAME (...);"),
    **dict.fromkeys(("marker", "frame", "point", "node"), "triad NAME (body = ..., origin = (x, y, z));"),
    **dict.fromkeys(("motion", "actuator", "drive"), "driver NAME (JOINT = ...);"),
    **dict.fromkeys(("hinge", "pin", "rotational"), "revolute joint NAME (...);"),
    **dict.fromkeys(("slider", "sliding"), "prismatic joint NAME (...);"),
    **dict.fromkeys(("ball", "ball and socket"), "spherical joint NAME (...);"),
    **dict.fromkeys(("hooke", "cardan"), "universal joint NAME (...);"),
    **dict.fromkeys(("weld", "rigid"), "fixed joint NAME (...);"),
    **dict.fromkeys(("function", "def", "class", "macro", "block"), "submodel NAME (a, b = 2); ... end submodel;"),
    **dict.fromkeys(("output", "print", "request", "sensor"), "measure NAME (TRIAD.x);"),
    **dict.fromkeys(("import", "use"), 'include "FILE";'),
}


def as_written_here(word: str) -> str:
    """Return the statement of this language for the first word of one elsewhere; empty where none is known."""
    return WORDS.get(word.lower(), "")


def hint(text: str, at: int) -> str:
    """Return what to write for a sign at the letter ``at`` that is of another language; empty where none is known."""
    sign, before = text[at : at + 1], text[:at].rstrip()[-1:]
    begun = STATEMENT.match(text[text.rfind(";", 0, at) + 1 : at])
    word = begun.group(1).lower() if begun else ""
    if WORDS.get(word) == REPEAT:
        return f"a loop is written {REPEAT}"
    if word == "if" or sign in "<>?":
        return f"a choice of values is written {CHOICE}"
    if sign == "*" and before == "*":
        return "a power is written with ^"
    if sign == "=" and before in "=<>!":
        return "a constant is written with one =, a comparison with <, <=, > or >="
    return {
        "%": "a comment begins with #",
        "{": "a block ends with end repeat; or end submodel;",
        "}": "a block ends with end repeat; or end submodel;",
        "'": 'a name in quotes is written "name"',
        ":": "a list is written [1, 2, 3], a loop with repeat",
    }.get(sign, "")
