"""Results as HTML for notebooks."""

from html import escape

from rtmbs.limits.notebook import folded_html
from rtmbs.results.result import TIME, Result


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
        lines.append(folded_html(owner, ("channel", "components", "unit", "axes of"), rows))
    return "\n".join(lines)
