"""Patches that a document describes, applied to a copy of the package: so a document cannot be wrong about them.

Fenced blocks with ``file=PATH`` in a section of a page are edits, in their order: ``python`` is a new file, and in
``diff`` the lines with ``-`` stand in the file, once and together, and those with ``+`` take their place. Kernels of a
copy would be compiled for minutes, so its code runs with numba switched off. What takes a name away is a patch too.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"```(python|diff) file=(\S+)\n(.*?)```", re.S)


class Edit(NamedTuple):
    """One block of a page."""

    kind: str  # python, diff
    path: str
    text: str


def edits(page: str, heading: str) -> list[Edit]:
    """Return the edits of one section of a page in ``docs``; its heading is the line after ``## ``."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.S | re.M)
    assert section, f"{page} has no section {heading!r}"
    found = [Edit(*block) for block in BLOCK.findall(section.group(1))]
    assert found, f"section {heading!r} of {page} describes no edit"
    return found


def applied(found: list[Edit], folder: Path) -> Path:
    """Return a copy of the package below ``folder`` with the edits applied, each of which must fit."""
    # The bytecode comes along: it holds for every file that is not edited.
    shutil.copytree(ROOT / "rtmbs", folder / "rtmbs")
    for edit in found:
        path = folder / edit.path
        if edit.kind == "python":
            assert not path.exists(), f"{edit.path} is there already"
            path.write_text(edit.text, encoding="utf-8")
            continue
        lines = edit.text.splitlines()
        assert all(line[:1] in "+-" for line in lines), f"{edit.path}: a line of a diff begins with + or -"
        old, new = ("\n".join(line[1:] for line in lines if line[0] == sign) + "\n" for sign in "-+")
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{edit.path} holds these lines {text.count(old)} times:\n{old}"
        path.write_text(text.replace(old, new), encoding="utf-8")
    return folder


def check_removal(
    room: str, register: str, places: Mapping[str, tuple[str, str]], name: str, code: str, folder: Path
) -> None:
    """A family is one file of a room and one line of a register a name: without them ``code`` prints the others."""
    copy = folder / "COPY"
    shutil.copytree(ROOT / "rtmbs", copy / "rtmbs")
    (copy / "rtmbs" / room / f"{places[name][0].replace('.', '/')}.py").unlink()
    family = {one for one, place in places.items() if place[0] == places[name][0]}
    registry = copy / "rtmbs" / register
    lines = registry.read_text(encoding="utf-8").splitlines(keepends=True)
    left = [line for line in lines if not any(line.strip().startswith(f'"{one}":') for one in family)]
    assert len(left) == len(lines) - len(family)
    registry.write_text("".join(left), encoding="utf-8")
    assert run(copy, code).split() == [one for one in places if one not in family]


def run(folder: Path, code: str, *paths: Path) -> str:
    """Run code on a copy, and return what it prints."""
    where = os.pathsep.join(str(path) for path in (folder, *paths))
    settings = {"PYTHONPATH": where, "NUMBA_DISABLE_JIT": "1", "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-c", code]
    with TemporaryDirectory() as kernels:  # none are compiled, but the folder for them is made
        environment = os.environ | settings | {"RTMBS_CACHE_DIR": kernels}
        how = {"capture_output": True, "text": True, "timeout": 300, "env": environment, "cwd": folder}
        done = subprocess.run(command, check=False, **how)
    assert done.returncode == 0, done.stderr
    return done.stdout
