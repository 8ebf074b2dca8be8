"""What an analysis answers: a Result, with counters and a word on assembly, rank and singular poses."""

from dataclasses import dataclass

from rtmbs.kinematics.assembly import Assembly
from rtmbs.kinematics.channels import motion_sources
from rtmbs.kinematics.programs import Programs
from rtmbs.kinematics.rank import Mobility
from rtmbs.kinematics.samples import Samples
from rtmbs.kinematics.singular import SingularPose
from rtmbs.results.result import Result


@dataclass(frozen=True)
class Counters:
    """What an analysis took, counted as the paper counts."""

    iterations: tuple[int, ...]  # of Newton at each time
    evaluations: dict[str, int]  # of the tape, by kind
    factorisations: int
    solutions: int
    refined: int  # times between samples that Newton asked for

    @property
    def total_iterations(self) -> int:
        return sum(self.iterations)

    def __str__(self) -> str:
        times = len(self.iterations)
        most = max(self.iterations, default=0)
        kinds = ", ".join(f"{kind} {count}" for kind, count in self.evaluations.items())
        return "\n".join(
            [
                f"times                {times}, {self.refined} more between them",
                f"Newton iterations    {self.total_iterations}, at most {most} at a time",
                f"evaluations          {kinds}",
                f"linear systems       {self.factorisations} factorised, {self.solutions} solved",
            ]
        )


class Motion(Result):
    """A Result of kinematics; ``counters``, ``assembly``, ``mobility`` and ``singular`` say how it came about."""

    def __init__(
        self,
        programs: Programs,
        samples: Samples,
        counters: Counters,
        assembly: Assembly,
        mobility: Mobility,
        singular: tuple[SingularPose, ...],
        notes: tuple[str, ...] = (),
    ) -> None:
        told = dict.fromkeys([*map(str, singular), *notes], 1)
        super().__init__(
            lambda: motion_sources(programs, samples),
            programs.equations.model.name,
            outcomes={"CONVERGED": len(samples.t)},
            warnings=told,
        )
        self.samples, self.counters = samples, counters
        self.assembly, self.mobility, self.singular, self.notes = assembly, mobility, singular, notes
