"""Every error that the package makes has a message that leads to an anchor of the page on errors."""

import re

import pytest

import rtmbs
from rtmbs.commands.arguments import anchor
from tests.raised_messages import DEEPEST, PACKAGE, Site, errors, repeats, said_at, sites


def without_anchor(site: Site) -> list[str]:
    """Return the forms of a message that lead nowhere; names are followed only where the words at hand do not tell."""
    at_hand = said_at(site, 0)
    if at_hand and all(map(anchor, at_hand)):
        return []
    followed = said_at(site, DEEPEST)
    lost = [text for text in followed if re.search("[a-z]", text) and not anchor(text)]
    wordless = not any(re.search("[a-z]", text) for text in followed)
    return (lost or [f"{site.place} has no words"] if lost or wordless else []) if not repeats(site) else []


def test_every_message_leads_to_an_anchor():
    lost = {site.place: found for site in sites() if (found := without_anchor(site))}
    assert not lost


def test_every_place_is_looked_at():
    classes = "|".join(sorted(errors() - {"RtmbsError"}))
    written = sum(
        len(re.findall(rf"\braise (?:{classes})\(", path.read_text(encoding="utf-8"))) for path in PACKAGE.rglob("*.py")
    )
    assert len(sites()) >= written > 600
    assert {"InputError", "ModelError", "NoEquilibrium", "StateError", "WriteError", "MotionError"} <= errors()


def site_of(source: str) -> Site:
    """Return the error that a function raises."""
    import ast

    function = ast.parse(source).body[0]
    call = next(node.exc for node in ast.walk(function) if isinstance(node, ast.Raise))
    return Site("here", call, function)


@pytest.mark.parametrize(
    ("source", "lost"),
    [
        ("def none(x):\n    raise InputError(f'{x} is quite odd')", ["{} is quite odd"]),
        (
            "def none(x):\n    why = 'so so' if x else 'it must be'\n    raise InputError(f'{x}: {why}')",
            ["{}: so so"],
        ),
        ("def none(x):\n    raise InputError(f'{x} is 1; it must be 2')", []),
        (
            "def none(x):\n    try:\n        g()\n    except ModelError as e:\n        raise InputError(f'{x}: {e}')",
            [],
        ),
        (
            "def none(x):\n    try:\n        g()\n    except OSError as e:\n        raise InputError(f'so {x}: {e}')",
            ["so {}: {}"],
        ),
    ],
)
def test_a_message_without_an_anchor_is_found(source, lost):
    assert without_anchor(site_of(source)) == lost


def test_messages_lead_to_what_they_are_about():
    with pytest.raises(rtmbs.RtmbsError) as caught:
        rtmbs.Model("m").add_body("b", mass=1.0, inertia=(1.0, 1.0, 5.0))
    assert anchor(str(caught.value)) == "inertia-wrong"
    assert anchor("file 'a/b.npz' cannot be written: there is no folder 'a'; make it first") == "no-folder"
    assert anchor("result file 'a.npz' does not exist") == "file-not-there"
    assert anchor("pictures need OpenGL or matplotlib; pip install 'rtmbs[plot]' brings matplotlib") == "missing-extra"
    assert anchor("h is -1 s; it must lie between 1e-9 and 1 s") == "wrong-value"
