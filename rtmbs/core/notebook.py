"""Tables as HTML for notebooks. Every text is escaped."""

from collections.abc import Iterable, Sequence
from html import escape

CELL = ' style="text-align:left"'
MOST_ROWS = 200  # of a table of a notebook


def table_html(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a titled table; a long one ends with how many rows are left out."""
    listed = list(rows)
    heads = "".join(f"<th{CELL}>{escape(word)}</th>" for word in head)
    shown = listed[:MOST_ROWS]
    body = "".join("<tr>" + "".join(f"<td{CELL}>{escape(word)}</td>" for word in row) + "</tr>" for row in shown)
    if len(listed) > MOST_ROWS:
        body += f'<tr><td colspan="{len(head)}"{CELL}>and {len(listed) - MOST_ROWS} more</td></tr>'
    return f"{title_html(title) if title else ''}<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def title_html(title: str) -> str:
    """Return a line in bold."""
    return f"<p><b>{escape(title)}</b></p>"


def folded_html(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table folded below its title, which counts the rows; nothing for no rows."""
    listed = list(rows)
    if not listed:
        return ""
    return f"<details><summary>{escape(title)} ({len(listed)})</summary>{table_html('', head, listed)}</details>"


def number_text(value: object) -> str:
    """Return a number, or several, as a cell."""
    try:
        return ", ".join(f"{float(one):.6g}" for one in value)  # type: ignore[attr-defined]
    except TypeError:
        return f"{float(value):.6g}"  # type: ignore[arg-type]
