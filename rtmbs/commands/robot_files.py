"""Options of commands for files of robots (URDF, SDF, MJCF), and the Model that they read."""

import argparse
from pathlib import Path

from rtmbs.commands.arguments import Parser
from rtmbs.errors import InputError
from rtmbs.formats.read import ROBOTS, read
from rtmbs.model import Model


def is_robot_file(word: str) -> bool:
    """True for a name with the ending of a robot's file."""
    return Path(word).suffix.lower() in ROBOTS


def add_reading(parser: Parser) -> None:
    """Add the options of reading to a parser."""
    reading = parser.add_argument_group("files of robots (URDF, SDF, MJCF)")
    base = reading.add_mutually_exclusive_group()
    base.add_argument("--floating", action="store_true", help="let the root link of a URDF float")
    base.add_argument("--fixed", action="store_true", help="fix the root link of a URDF to ground")
    reading.add_argument("--strict", action="store_true", help="refuse a file with elements that are not read")
    reading.add_argument(
        "--package", action="append", default=[], metavar="NAME=FOLDER", help="folder of a package; may be repeated"
    )
    reading.add_argument("--friction", action="store_true", help="add the dry friction of joints")
    reading.add_argument("--loops", metavar="FILE", help="YAML file with the closed loops of a URDF")
    reading.add_argument("--keyframe", metavar="NAME", help="keyframe of an MJCF that the motion starts from")


def robot_model(path: str, options: argparse.Namespace, meshes: bool) -> Model:
    """Return the Model of a robot's file as the options say."""
    return read(
        path, strict=options.strict, floating=True if options.floating else False if options.fixed else None,
        meshes=meshes, packages=packages_of(options.package), friction=options.friction, loops=options.loops,
        keyframe=options.keyframe,
    )  # fmt: skip


def packages_of(words: list[str]) -> dict[str, str]:
    """Return folders of packages by name; InputError for a word that is no NAME=FOLDER."""
    found = {}
    for word in words:
        name, equals, folder = word.partition("=")
        if not (equals and name and folder):
            raise InputError(f"--package takes NAME=FOLDER, not {word!r}, such as --package arm=robots/arm")
        found[name] = folder
    return found


def read_options(program: str, path: str, words: list[str], meshes: bool) -> Model:
    """Return the Model of a robot's file and its options on the command line."""
    parser = Parser(prog=f"{program} {path}", description="Read a file of a robot.")
    add_reading(parser)
    return robot_model(path, parser.read(words), meshes)
