"""``format``: a text in its usual form. Words, numbers and comments stay; spaces, lines and case of keywords change."""

import re
from collections.abc import Iterator
from itertools import pairwise

from lark import Token

from rtmbs.language.builder import STATEMENTS
from rtmbs.language.parse import Sheet, is_whole, parse, tokens
from rtmbs.language.syntax import Source

WIDTH = 120
BLOCK = "  "  # before statements of a block
COMMENT = re.compile(r"#[^\n]*|//[^\n]*|/\*.*?\*/", re.DOTALL)
OPENING, CLOSING = ("LPAR", "LSQB"), ("RPAR", "RSQB")
SPACED = ("PLUS", "MINUS", "STAR", "SLASH", "EQUAL", "COMPARISON")
BEFORE_SIGN = (*OPENING, *SPACED, "COMMA", "CIRCUMFLEX")  # what follows these is a sign, not an operator
CAPITALS = ("body", "system")  # as the paper writes them


def format(sheet: Sheet | Source | str, large: bool = False) -> str:
    """Return the text of statements in its usual form; a formatted text stays as it is.

    A text that does not begin with MODEL is a file to include. large: it may have more than the usual number of words.
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
    words = spelled(piece)
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


def spelled(piece: list[Token]) -> list[str]:
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
