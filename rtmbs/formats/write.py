"""``write``: the URDF, SDF or MJCF of a Model, chosen by the ending of the file."""

from pathlib import Path

from rtmbs.core.files import replacing
from rtmbs.errors import InputError, shown
from rtmbs.formats.mjcf_writer import mjcf_text
from rtmbs.formats.sdf_writer import sdf_text
from rtmbs.formats.urdf_writer import urdf_text
from rtmbs.model import Model
from rtmbs.model.description import ImportReport

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
