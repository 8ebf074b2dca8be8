"""``ImportReport``: the parts of a file that a Model does not have, and the limits of its joints."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rtmbs.errors import with_count

LISTED = 20  # notes that a report shows


class ImportNote(NamedTuple):
    """One element of a file that a Model does not have as written."""

    element: str  # such as ``joint 'elbow'``
    line: int  # of the file, from 1; 0 unknown
    what: str  # of the element, and its treatment

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        return f"{place}{self.element}: {self.what}"


class JointLimits(NamedTuple):
    """Limits of a joint coordinate as a file states them; infinite where it states none."""

    lower: float  # [rad, m]
    upper: float  # [rad, m]
    velocity: float  # [rad/s, m/s]
    effort: float  # [N m, N]


@dataclass(frozen=True)
class ImportReport:
    """Parts of a file that a Model does not have as written, and the limits of its joints.

    No element of a file is dropped without a note. Limits are data: no joint stops at them in a simulation.

    Parameters
    ----------
    file : str
        Path of the file.
    format : str
        Name of the format: URDF, SDF or MJCF.
    notes : tuple of ImportNote
        Elements that the Model does not have as written, in the order of the file.
    limits : mapping
        ``JointLimits`` by name of the joint.
    """

    file: str
    format: str
    notes: tuple[ImportNote, ...] = ()
    limits: Mapping[str, JointLimits] = field(default_factory=dict)

    def __str__(self) -> str:
        head = f"{self.format} file {self.file!r}: {with_count(len(self.notes), 'note')}"
        shown = [f"  {note}" for note in self.notes[:LISTED]]
        more = len(self.notes) - LISTED
        return "\n".join([head, *shown, *([f"  and {more} more in import_report.notes"] if more > 0 else [])])
