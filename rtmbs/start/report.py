"""What the start did: how far it moved what the user wrote, and what it found out about the loops."""

from dataclasses import dataclass

from rtmbs.errors import LISTED
from rtmbs.topology import Topology

LOCKED = "no degree of freedom is left"  # how the warning begins that a run repeats


@dataclass(frozen=True)
class StartReport:
    """Answers of the consistent start; ``str`` of it is what the user reads."""

    moved_coordinate: str  # coordinate that moved most during assembly, "" when none did
    moved_position: float  # by how much [rad or m]
    moved_rate_coordinate: str
    moved_rate: float  # largest change of a rate [rad/s or m/s]
    gap: float  # largest |Phi| after assembly, translation [m]
    gap_rotation: float
    rank: int
    degrees_of_freedom: int
    degrees_of_freedom_nearby: int  # at a random assembled pose close by
    redundant: tuple[str, ...]  # loop equations that other loop equations already hold
    alpha_min: float
    alpha_max: float
    penalty: float | None  # dimensionless c, None when alpha was fixed
    without_effect: tuple[str, ...]  # blocks of loop equations that constrain nothing at this pose
    warnings: tuple[str, ...]
    laws: tuple[str, ...] = ()  # how each force law of the user is evaluated
    topology: Topology | None = None  # the printable tree, cuts and mobility

    def __str__(self) -> str:
        lines = [
            f"degrees of freedom   {self.degrees_of_freedom}"
            + (f" ({self.degrees_of_freedom_nearby} nearby)" if self.singular else ""),
            f"redundant equations  {len(self.redundant)}",
            f"assembly moved       {moved(self.moved_position, self.moved_coordinate)}",
            f"rates moved          {moved(self.moved_rate, self.moved_rate_coordinate)}",
            f"gap left             {self.gap:.2e} m, {self.gap_rotation:.2e} rad",
            f"penalty              {'alpha fixed' if self.penalty is None else f'c = {self.penalty:g}'},"
            f" alpha {self.alpha_min:.3g} to {self.alpha_max:.3g}",
            *([f"without effect here  {listed(self.without_effect)}"] if self.without_effect else []),
            *(f"force law            {text}" for text in self.laws),
            *(f"warning: {text}" for text in self.warnings),
        ]
        return "\n".join(lines)

    @property
    def locked(self) -> str:
        """The warning of loops that nothing can move; empty where there is none."""
        return next((text for text in self.warnings if text.startswith(LOCKED)), "")

    @property
    def singular(self) -> bool:
        """True when the mobility at the start differs from that nearby."""
        return self.degrees_of_freedom != self.degrees_of_freedom_nearby


def moved(size: float, name: str) -> str:
    """Return the sentence for a movement."""
    return f"{name} by {size:.3g}" if name else "nothing"


def listed(names: tuple[str, ...]) -> str:
    """Return the first names and how many more there are."""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more
