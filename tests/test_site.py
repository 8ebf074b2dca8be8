"""The site is built strictly, and its pages name everything that they must."""

import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import rtmbs
from rtmbs.errors import ERRORS_PAGE, RtmbsError

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CONFIG = DOCS / "site" / "mkdocs.yml"


def test_every_page_has_its_place():
    nav = CONFIG.read_text(encoding="utf-8").split("\nnav:")[1]
    named = re.findall(r"([\w/-]+\.md)", nav)
    assert sorted(named) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def test_every_cited_section_of_the_theory_has_its_place():
    """The index of docs/methods.md leads every number of a citation, METHODS 1.34, to an anchor of a chapter."""
    index = page_of("methods")
    rows = dict(re.findall(r"^\| ([\d.]+) \|.*?\]\((theory/\w+\.md#[\d.]+)\)", index, re.MULTILINE))
    chapters = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "theory").glob("*.md"))
    anchors = re.findall(r'<a id="(.*?)"></a>', chapters)
    assert len(anchors) == len(set(anchors))
    for number, link in rows.items():
        page, _, anchor = link.partition("#")
        assert anchor == number
        assert f'<a id="{number}"></a>\n\n' in (DOCS / page).read_text(encoding="utf-8"), link
    sources = [path for room in ("rtmbs", "bench", "tests") for path in (ROOT / room).rglob("*.py")]
    texts = [path.read_text(encoding="utf-8") for path in [*sources, *DOCS.glob("*.md")]]
    cited = {number for text in texts for number in re.findall(r"METHODS\s+(\d+(?:\.\d+)*)", text)}
    assert len(cited) > 40
    assert not cited - rows.keys()


def test_the_reference_has_every_public_name():
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    named = re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE)
    for one in ("force_laws", "benchmarks.drive_pose"):  # names of the library, not of rtmbs
        named.remove(f"rtmbs.library.{one}")
    rooms = {f"rtmbs.{room}.": getattr(rtmbs, room) for room in ("contact", "gym", "vehicle")}
    home = {name: next((room for start, room in rooms.items() if name.startswith(start)), rtmbs) for name in named}
    for room in (*rooms.values(), rtmbs):
        public = rtmbs.HOMES if room is rtmbs else room.__all__
        assert sorted(name.rpartition(".")[2] for name in named if home[name] is room) == sorted(public)
    for name, room in home.items():
        module, _, what = name.rpartition(".")
        public = getattr(room, what)  # first: a function is replaced at home when it becomes public
        assert getattr(importlib.import_module(module), what) is public


def kinds(base=RtmbsError):
    """Return every kind of error that the package has."""
    found = {base}
    for below in base.__subclasses__():
        found |= kinds(below)
    return {kind for kind in found if kind.__module__.startswith("rtmbs.")}


def test_every_kind_of_error_has_its_section():
    for module in pkgutil.walk_packages(rtmbs.__path__, "rtmbs."):
        if module.name.rpartition(".")[2] in ("errors", "engines", "static", "archive", "events", "step_choice"):
            importlib.import_module(module.name)
    sections = re.findall(r"^## (\w+)$", (ROOT / ERRORS_PAGE).read_text(encoding="utf-8"), re.MULTILINE)
    assert {kind.__name__ for kind in kinds()} | {"RtmbsWarning"} == set(sections)
    assert len(sections) == len(set(sections))


def test_an_error_knows_its_section():
    with pytest.raises(rtmbs.errors.UnknownNameError) as caught:
        rtmbs.library.build("fuorbar")
    assert caught.value.page == "docs/errors.md#unknownnameerror"
    assert caught.value.__notes__ == [
        "see docs/errors.md#unknownnameerror, or run: rtmbs explain (it asks for the message)"
    ]


def page_of(name):
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def resolved(name):
    """Return the object of a dotted name, None where there is none."""
    module = next((k for k, part in enumerate(name.split(".")) if part[0].isupper()), len(name.split(".")) - 1)
    try:
        return pkgutil.resolve_name(":".join((".".join(name.split(".")[:module]), ".".join(name.split(".")[module:]))))
    except (AttributeError, ImportError):
        return None


def check_reference(page):
    """Every row of a table of parameters is one of the object above it, with its text in the column of texts."""
    assert "ChannelRecorder" in page
    rows = 0
    for part in re.split('(?=<h[34] id=")', page)[1:]:  # of a function or a class, or of a method
        name = re.match('<h[34] id="([^"]+)"', part)[1]
        if "Parameters:" not in part or not (target := resolved(name)):
            continue
        own = set(inspect.signature(target).parameters)
        table = part.split("Parameters:")[1].split("</table>")[0]
        for row in re.findall(r"<tr class=\"doc-section-item\">(.*?)</tr>", table, re.DOTALL):
            cells = [re.sub("<[^>]+>", "", cell).strip() for cell in re.findall("<td>(.*?)</td>", row, re.DOTALL)]
            assert cells[0].lstrip("*") in own, (name, cells)
            assert len(cells[2]) > 3, (name, cells)
            rows += 1
    assert rows > 60


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mkdocs") is None or find_spec("mkdocstrings") is None, reason="needs the extra docs")
def test_the_site_is_built_strictly(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-f", str(CONFIG), "-d", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    errors = (tmp_path / "errors.html").read_text(encoding="utf-8")
    assert 'id="unknownnameerror"' in errors
    check_reference((tmp_path / "api.html").read_text(encoding="utf-8"))
    patches = (tmp_path / "extending.html").read_text(encoding="utf-8")
    assert patches.count('class="filename"') == len(re.findall("^```.* file=", page_of("extending"), re.MULTILINE)) > 40
    pages = [*tmp_path.glob("*.html"), *(tmp_path / "theory").glob("*.html")]
    for page in pages:
        told = re.sub(r"<(pre|code).*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert "```" not in told, page.name
        assert not re.search(r"<strong>(init|main|name)</strong>", told), page.name
    for page in pages:  # nothing is fetched from elsewhere while reading
        fetched = re.findall(
            r'<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]+)"', page.read_text(encoding="utf-8")
        )
        assert not [address for address in fetched if "canonical" not in address], (page.name, fetched)
