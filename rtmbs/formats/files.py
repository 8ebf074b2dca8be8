"""``read`` and ``write``: the Model of a file of any known format.

``read``: the Model of a file of any known format, chosen by its ending and its content.

``write``: the URDF, SDF or MJCF of a Model, chosen by the ending of the file.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rtmbs.core.files import DamagedFile, replacing, whole
from rtmbs.errors import InputError, LanguageError, ModelError, shown
from rtmbs.formats.mjcf import read_mjcf
from rtmbs.formats.mjcf_writer import mjcf_text
from rtmbs.formats.sdf import read_sdf
from rtmbs.formats.sdf_writer import sdf_text
from rtmbs.formats.urdf import read_urdf
from rtmbs.formats.urdf_writer import urdf_text
from rtmbs.formats.xml_tree import MOST_BYTES, Element, parse_xml
from rtmbs.model import Model
from rtmbs.model.description import ImportReport

OWN = ".mks"
ROBOTS = (".urdf", ".sdf", ".world", ".xml", ".mjcf", ".xacro")
FORMATS = {"robot": "URDF", "sdf": "SDF", "gazebo": "SDF", "mujoco": "MJCF"}
READERS: dict[str, Callable[..., Model]] = {"URDF": read_urdf, "MJCF": read_mjcf, "SDF": read_sdf}
OTHERS = {
    ".step": "a STEP file has shapes without joints", ".stp": "a STEP file has shapes without joints",
    ".usd": "USD is not read", ".usda": "USD is not read", ".slx": "Simulink files are not read",
    ".adm": "Adams files are not read", ".dae": "a mesh is no mechanism", ".stl": "a mesh is no mechanism",
}  # fmt: skip
XACRO = "files of xacro need the package xacro; pip install 'rtmbs[robots]' brings it"


def read(
    path: str | Path,
    *,
    strict: bool = False,
    floating: bool | None = None,
    meshes: bool = True,
    packages: Mapping[str, str | Path] | None = None,
    friction: bool = False,
    loops: str | Path | None = None,
    keyframe: str | None = None,
) -> Model:
    """Return the Model of a file: URDF, SDF, MJCF, or a model file of rtmbs.

    The root element tells the format of an XML file: ``<robot>``, ``<sdf>`` or ``<mujoco>``. Elements that a Model does
    not have as written are listed in ``Model.import_report``.

    Parameters
    ----------
    path : str or Path
        File that ends in .urdf, .xacro, .sdf, .world, .xml, .mjcf or .mks. A xacro file is a program, which the package
        xacro runs: read only those that you trust.
    strict : bool, default False
        True to refuse a file with an element that the Model does not have as written.
    floating : bool, optional
        True to let the root link of a URDF float, False to fix it to ground; by default it floats where no joint of the
        file moves.
    meshes : bool, default True
        False to leave out shapes for pictures, which takes less time.
    packages : mapping, optional
        Folders of packages by name, for ``package://NAME/PATH`` and ``model://NAME/PATH``.
    friction : bool, default False
        True to add the dry friction of hinges and slides by ``Model.add_friction``; otherwise it is noted.
    loops : str or Path, optional
        YAML file with the closed loops of a URDF: ``closed_loop``, ``type``, ``name_mot``.

    keyframe : str, optional
        Keyframe of an MJCF that the motion starts from; the first one of the file unless given.

    Returns
    -------
    Model
        Mechanism of the file, which ``compile`` makes a System of.

    Raises
    ------
    LanguageError
        For a file that cannot be read, is damaged or is no mechanism; the message has file, line and column.
    InputError
        For an unknown ending, and for a missing package.

    Examples
    --------
    >>> model = rtmbs.read(path, floating=True)  # of a robot.urdf
    >>> print(model.import_report)
    >>> sim = rtmbs.Simulation(model.compile(), h=1e-3)
    """
    place = Path(path)
    ending = place.suffix.lower()
    if ending == OWN:
        from rtmbs.language import read as read_own

        return read_own(str(path)).model
    if ending not in ROBOTS:
        why = f"{OTHERS[ending]}; " if ending in OTHERS else ""
        known = ", ".join((OWN, *ROBOTS))
        raise InputError(f"file {str(path)!r}: {why}the ending must be one of {known}")
    root = root_of(place, ending)
    if root.tag == "mujocoinclude":
        raise root.fault("<mujocoinclude> is a part of a model, which other files include; read one that includes it")
    if root.tag not in FORMATS:
        raise root.fault(f"the file begins with <{root.tag}>; it must be <robot> (URDF), <sdf> or <mujoco> (MJCF)")
    form = FORMATS[root.tag]
    given: dict[str, Any] = {"strict": strict, "meshes": meshes, "packages": packages, "friction": friction}
    own: dict[str, dict[str, Any]] = {
        "URDF": {"floating": floating, "loops": loops},
        "MJCF": {"keyframe": keyframe},
        "SDF": {},
    }
    for others in own.keys() - {form}:
        for name, value in own[others].items():
            if value is not None:
                raise InputError(f"{name}= belongs to {others}, and {str(path)!r} is {form}; leave it out")
    try:
        return READERS[form](root, place, **given, **own[form])
    except LanguageError:
        raise
    except ModelError as error:
        raise LanguageError(str(error), file=str(path)) from error


def root_of(path: Path, ending: str) -> Element:
    """Return the root element of a file; LanguageError for a file that cannot be read, or is no XML."""
    try:
        data = whole(path, MOST_BYTES)
    except DamagedFile as error:
        raise LanguageError(f"the file {error}", file=str(path)) from None
    if ending == ".xacro":
        data = expanded(path)
    return parse_xml(data, str(path))


def expanded(path: Path) -> bytes:
    """Return the URDF that the package xacro makes of a file; InputError without it."""
    try:
        import xacro
    except ImportError:
        raise InputError(XACRO) from None
    try:
        return str(xacro.process_file(str(path)).toxml()).encode()
    except Exception as error:  # noqa: BLE001 - the file is a program and may raise anything
        raise LanguageError(f"xacro cannot expand the file: {type(error).__name__}: {error}", file=str(path)) from None


WRITERS = {
    ".urdf": ("URDF", urdf_text), ".sdf": ("SDF", sdf_text), ".xml": ("MJCF", mjcf_text), ".mjcf": ("MJCF", mjcf_text),
}  # fmt: skip


def write(model: Model, path: str | Path) -> ImportReport:
    """Write a Model as URDF, SDFormat or MJCF: bodies, joints, loops, limits, dampers, couplings of two coordinates.

    Shapes, markers, initial values, drivers, contacts, force laws but dampers of hinges and slides, and gravity of URDF
    are not written. The report lists each.

    Parameters
    ----------
    model : Model
        Mechanism.
    path : str or Path
        File that ends in .urdf, .sdf, .xml or .mjcf. An older file stays as it is until the new one is whole.

    Returns
    -------
    ImportReport
        Elements that the format has not.

    Raises
    ------
    InputError
        For another ending, and for a joint that the format has not.
    WriteError
        For a file that cannot be written.

    Examples
    --------
    >>> report = rtmbs.write(model, "robot.urdf")
    >>> print(report)
    """
    if not isinstance(model, Model):
        raise InputError(f"write takes a Model, not {shown(model)}; rtmbs.read returns one")
    ending = Path(path).suffix.lower()
    if ending not in WRITERS:
        raise InputError(f"file {str(path)!r} cannot be chosen a format by its ending; it must be .urdf, .sdf or .xml")
    form, writer = WRITERS[ending]
    text, notes = writer(model)
    with replacing(str(path)) as file:
        file.write(text.encode())
    return ImportReport(str(path), form, notes)
