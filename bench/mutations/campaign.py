"""The campaign: records of the tests, mutants drawn by a seed, verdicts kept in a file, and the summary."""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue

from tqdm import tqdm

from bench.mutations.draw import Mutant, drawn
from bench.mutations.record import Record, read_records
from bench.mutations.trial import Verdict, Workspace, judged, search_path

REASONS = Path(__file__).with_name("reasons.toml")
ROOMS = tuple(
    f"rtmbs/{room}"
    for room in ("semirecursive", "forces", "results", "kinematics", "dae", "formulations", "studies/sensitivities")
)
TESTS = tuple(
    f"tests/{part}"
    for part in (
        *("results", "kinematics", "dae", "formulations", "studies", "semirecursive", "forces", "numerics"),
        *("contracts", "physics", "recursive", "simulation", "system", "vehicle", "contact"),
        *("test_bad_input.py", "test_force_laws.py"),
    )
)
BOUNDS = {"compiled": 30.0, "plain": 3.0}  # [s] of processor time that a recorded test may take


@dataclass(frozen=True)
class Summary:
    """Counts of a campaign, and its mutants without a kill."""

    verdicts: Sequence[Verdict]
    reasons: dict[tuple[str, str, str], str]  # by file, lines before, lines after

    def of(self, outcome: str) -> list[Verdict]:
        """Return the verdicts of one outcome; a survivor with a reason is ``equivalent``."""
        return [verdict for verdict in self.verdicts if self.outcome(verdict) == outcome]

    def outcome(self, verdict: Verdict) -> str:
        return "equivalent" if verdict.outcome != "killed" and self.reason(verdict.mutant) else verdict.outcome

    def reason(self, mutant: Mutant) -> str:
        """Return why a mutant needs no test, "" when nothing is known."""
        return self.reasons.get((mutant.file, mutant.before, mutant.after), "")

    @property
    def share(self) -> float:
        """Share of killed mutants among those that are not equivalent."""
        counted = len(self.verdicts) - len(self.of("equivalent"))
        return len(self.of("killed")) / counted if counted else 1.0

    def __str__(self) -> str:
        lines = [f"drawn {len(self.verdicts)}"]
        for outcome in ("killed", "equivalent", "survived", "untested", "unclear"):
            lines.append(f"{outcome} {len(self.of(outcome))}")
        lines.append(f"killed of those that are not equivalent: {100.0 * self.share:.1f} %")
        for outcome in ("survived", "untested", "unclear", "equivalent"):
            for verdict in self.of(outcome):
                lines.append(f"{outcome} ({verdict.ran} tests ran, {verdict.left} left out): {verdict.mutant}")
                if said := self.reason(verdict.mutant) or verdict.by:
                    lines.append(f"    {said}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Campaign:
    """A package below ``root``, the folders that are mutated, and the tests."""

    root: Path
    folder: Path  # of records and verdicts
    rooms: tuple[str, ...]
    tests: tuple[str, ...]

    def recorded(self) -> bool:
        return any(self.folder.glob("compiled.*.json"))

    def record(self) -> None:
        """Run every test in both ways, and keep what it executes; a test that fails or takes too long is not used."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for part in self.tests:
            for mode, bound in BOUNDS.items():
                target = self.folder / f"{mode}.{part.replace('/', '_')}.json"
                folders = [word for room in self.rooms for word in ("--lines-of", str(self.root / room))]
                command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", part]
                command += ["-p", "bench.mutations.lines", *folders, "--lines-to", str(target)]
                settings = {
                    "NUMBA_DISABLE_JIT": "1" if mode == "plain" else "0",
                    "OPENBLAS_NUM_THREADS": "1",
                    "PYTHONPATH": os.pathsep.join([str(self.root), *search_path()]),
                }
                subprocess.run(
                    [*command, "--processor-bound", str(bound)],
                    cwd=self.root,
                    env=os.environ | settings,
                    check=False,
                )

    def draw(self, count: int, seed: int) -> list[Mutant]:
        """Return the mutants of a seed."""
        return drawn(self.root, self.rooms, count, seed)

    @cached_property
    def kernel_files(self) -> set[str]:
        """Files of kernels, relative to the root."""
        from rtmbs.jit.cache_folder import PACKAGE, kernel_sources

        return {(Path("rtmbs") / path.relative_to(PACKAGE)).as_posix() for path in kernel_sources()}

    def run(self, mutants: Sequence[Mutant], processes: int, budget: float, again: bool = False) -> list[Verdict]:
        """Return the verdicts of mutants, also of an earlier run; ``again`` tries what was not killed once more."""
        log = self.folder / "verdicts.jsonl"
        known = {verdict.mutant: verdict for verdict in read(log)}
        open_ones = [one for one in mutants if one not in known or (again and known[one].outcome != "killed")]
        records = {mode: read_records(self.folder, mode, self.root) for mode in BOUNDS}
        with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(processes) as pool:
            idle: SimpleQueue[Workspace] = SimpleQueue()
            places = [Path(scratch, str(number)) for number in range(min(processes, len(open_ones)))]
            workspaces = [Workspace(self.root, place, kernels()) for place in places]
            for workspace in workspaces:
                idle.put(workspace)
            jobs = [pool.submit(self.try_one, one, idle, records, budget) for one in open_ones]
            with log.open("a", encoding="utf-8") as out:
                for job in tqdm(as_completed(jobs), total=len(jobs), unit="mutant", disable=None):
                    verdict = job.result()
                    known[verdict.mutant] = verdict
                    out.write(json.dumps(asdict(verdict)) + "\n")
                    out.flush()
            for workspace in workspaces:
                workspace.close()
        return [known[one] for one in mutants]

    def try_one(
        self, mutant: Mutant, idle: "SimpleQueue[Workspace]", records: dict[str, Record], budget: float
    ) -> Verdict:
        """Try one mutant in a free copy: a file of kernels with numba switched off."""
        workspace = idle.get()
        try:
            plain = mutant.file in self.kernel_files
            verdict = judged(workspace, mutant, records["plain" if plain else "compiled"], plain, budget)
            if verdict.outcome == "untested":  # tests that were cut off in one way may pass in the other
                verdict = judged(workspace, mutant, records["compiled" if plain else "plain"], not plain, budget)
            return verdict
        finally:
            idle.put(workspace)

    def summary(self, verdicts: Sequence[Verdict]) -> Summary:
        """Return the counts, with the reasons of ``reasons.toml``."""
        return Summary(verdicts, read_reasons(REASONS))


def kernels() -> Path | None:
    """Return the folder of compiled kernels of these sources."""
    from rtmbs.jit.cache_folder import PLACE

    return PLACE.folder


def read(log: Path) -> Iterator[Verdict]:
    """Yield the verdicts of a file, in their order."""
    if log.exists():
        for line in log.read_text(encoding="utf-8").splitlines():
            found = json.loads(line)
            yield Verdict(**(found | {"mutant": Mutant(**found["mutant"])}))


def read_reasons(path: Path) -> dict[tuple[str, str, str], str]:
    """Return the reasons of survivors by (file, lines before, lines after)."""
    found = tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])
    return {(one["file"], one["before"], one["after"]): one["reason"] for one in found}
