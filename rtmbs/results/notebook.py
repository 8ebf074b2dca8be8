"""Results as HTML for notebooks."""

from collections.abc import Sequence
from html import escape

from rtmbs.results.result import TIME, Result

CELL = ' style="text-align:left"'


def table_html(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a titled table."""
    heads = "".join(f"<th{CELL}>{escape(word)}</th>" for word in head)
    body = "".join("<tr>" + "".join(f"<td{CELL}>{escape(word)}</td>" for word in row) + "</tr>" for row in rows)
    above = f"<p><b>{escape(title)}</b></p>" if title else ""
    return f"{above}<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def result_html(result: Result) -> str:
    """Return the head of a result, and its channels folded below the elements that they belong to."""
    times = f"{len(result)} samples, t = {result.t[0]:g} s to {result.t[-1]:g} s" if len(result) else "no samples"
    lines = [f"<p><b>Result {escape(repr(result.name))}</b>: {times}, {len(result.names())} channels</p>"]
    told = [f"{count} steps {name}" for name, count in result.outcomes.items()]
    told += [f"warning: {what} ({count} times)" for what, count in result.warnings.items()]
    if told:
        lines.append("<ul>" + "".join(f"<li>{escape(one)}</li>" for one in told) + "</ul>")
    owners: dict[str, list[tuple[str, ...]]] = {}
    for name in result.names():
        owner, _, what = name.rpartition(".")
        axes, unit = result.about(name)
        if name != TIME:
            owners.setdefault(owner, []).append((what, " ".join(axes), unit, result.frame(name)))
    for owner, rows in owners.items():
        table = table_html("", ("channel", "components", "unit", "axes of"), rows)
        lines.append(f"<details><summary>{escape(owner)} ({len(rows)})</summary>{table}</details>")
    return "\n".join(lines)
