"""Every URDF, SDF and MJCF of the installed packages: read, or refused with a sentence; a table with counts.

Parts of models, whose root is ``<mujocoinclude>``, are no mechanisms and are counted apart. So are the thousand single
bodies of pybullet's random_urdfs. Run: ``python -m bench.robots.files [FOLDER ...] [--refusals]``.
"""

import argparse
import re
import site
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import rtmbs

ENDINGS = {".urdf": "URDF", ".sdf": "SDF", ".world": "SDF", ".xml": "MJCF"}
ROOT = re.compile(rb"<\s*(mujoco|mujocoinclude)\b")
MOST_LOOKED_AT = 4000  # bytes in which the root element of an XML file stands
WANTED = 0.95
PACKAGES = (
    "cmeel.prefix/share/example-robot-data", "rtbdata", "pybullet_data", "gymnasium", "gymnasium_robotics",
    "dm_control", "mujoco",
)  # fmt: skip


class Answer(NamedTuple):
    """What became of one file."""

    path: Path
    form: str
    said: str  # "" for a file that was read


def described(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of a folder that describe robots, with their format."""
    for path in sorted(folder.rglob("*")):
        form = ENDINGS.get(path.suffix.lower(), "")
        if form == "MJCF":
            root = ROOT.search(path.read_bytes()[:MOST_LOOKED_AT])
            form = "" if root is None else "part" if root[1] == b"mujocoinclude" else "MJCF"
        if form and path.is_file():
            yield path, "single bodies" if "random_urdfs" in path.parts else form


def answer(path: Path, form: str, root: Path) -> Answer:
    """Read one file and compile it; an error that is no RtmbsError ends the bench."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rtmbs.read(path, meshes=False, packages={"package": root})
    except rtmbs.RtmbsError as error:
        return Answer(path, form, str(error.args[0]).removeprefix(str(path)))
    return Answer(path, form, "")


def table(answers: dict[str, list[Answer]]) -> list[str]:
    """Return the lines of the table."""
    lines = ["| package | format | files | read | refused |", "|---|---|---|---|---|"]
    for package, found in answers.items():
        for form in dict.fromkeys(one.form for one in found):
            those = [one for one in found if one.form == form]
            read = sum(not one.said for one in those)
            lines.append(f"| {package} | {form} | {len(those)} | {read} | {len(those) - read} |")
    return lines


def main() -> int:
    """Print the table, and the share of files that were read; 1 where it is below 95 %."""
    parser = argparse.ArgumentParser(prog="python -m bench.robots.files", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--refusals", action="store_true", help="print the sentence of every refusal")
    options = parser.parse_args()
    places = [Path(one) for one in site.getsitepackages()]
    folders = options.folders or [place / name for place in places for name in PACKAGES if (place / name).is_dir()]
    answers: dict[str, list[Answer]] = defaultdict(list)
    for folder in folders:
        for path, form in described(folder):
            answers[folder.name].append(answer(path, form, folder.resolve()))
    print("\n".join(table(answers)))
    counted = [one for found in answers.values() for one in found if one.form not in ("part", "single bodies")]
    read = sum(not one.said for one in counted)
    share = read / max(len(counted), 1)
    everything = [one for found in answers.values() for one in found]
    whole = sum(not one.said for one in everything)
    print(f"\n{whole} of {len(everything)} files are read, {whole / max(len(everything), 1):.1%}")
    print(f"{read} of {len(counted)} without parts and single bodies, {share:.1%}")
    foreign = sum("MuJoCo refuses" in one.said or "mesh that is missing" in one.said for one in counted)
    print(f"{foreign} of the {len(counted) - read} that are refused are refused by MuJoCo itself, or lack their meshes")
    if options.refusals:
        print("\n".join(f"{one.path.name}: {one.said}" for one in counted if one.said))
    return 0 if whole >= WANTED * len(everything) else 1


if __name__ == "__main__":
    sys.exit(main())
