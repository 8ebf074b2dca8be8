"""One mutant, one verdict: a copy of the package with the mutant runs the tests that execute it."""

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.mutations.draw import Mutant, mutated
from bench.mutations.prepared import Prepared
from bench.mutations.record import Record

REPOSITORY = Path(__file__).parents[2]
LEFT_OUT = {".git", ".venv", "venv", "build", "dist", "results"}  # folders of the root that tests do not need
FIRST = 60  # tests of the first run, which kills most mutants
MOST = 1500  # tests of the second
PASSED, FAILED = 0, 1  # exit codes of pytest
STOPPED = (-signal.SIGTERM, -signal.SIGINT)  # the same, of a run that somebody ended
SLOWER = 4.0  # times the processor time of its tests that a mutant may take, before it counts as one that never ends
SPARE = 60.0  # [s] of processor time for imports and collection


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    outcome: str  # killed, survived, untested
    by: str = ""  # the test that failed, or why the run ended
    ran: int = 0  # tests that were to run
    left: int = 0  # tests that execute the mutant and were left out for their time
    seconds: float = 0.0  # wall time


class Workspace:
    """Copy of the package in which mutants are tried, one after the other."""

    def __init__(self, root: Path, folder: Path, kernels: Path | None) -> None:
        self.root, self.folder, self.kernels = root, folder / "tree", kernels
        self.spare = folder
        self.prepared: dict[bool, Prepared] = {}  # by whether numba is switched off
        shutil.copytree(root, self.folder, ignore=lambda at, names: LEFT_OUT & set(names) if Path(at) == root else ())

    @contextlib.contextmanager
    def holding(self, mutant: Mutant) -> Iterator[None]:
        """Put a mutant into the copy; afterwards the file is as before, its time included, so bytecode stays valid."""
        path, original = self.folder / mutant.file, self.root / mutant.file
        source = path.read_text(encoding="utf-8")
        path.write_text(mutated(source, mutant.operator, mutant.occurrence), encoding="utf-8")
        try:
            yield
        finally:
            shutil.copy2(original, path)

    def run(self, tests: Sequence[str], plain: bool, seconds: float) -> tuple[int, str]:
        """Run tests up to the first failure; return pytest's exit code, and what failed."""
        with tempfile.TemporaryDirectory(dir=self.spare) as scratch:
            names, failure, log = (Path(scratch, name) for name in ("tests", "failure", "log"))
            names.write_text("\n".join(tests), encoding="utf-8")
            arguments = ["-x", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:pytest-qt"]
            arguments += ["-p", "bench.mutations.lines", "--failure-to", str(failure), "--only-tests", str(names)]
            arguments += sorted({name.partition("::")[0] for name in tests})
            environment = self.environment(Path(scratch), plain) | {"RUN_LOG": str(log)}
            if plain not in self.prepared:
                self.prepared[plain] = Prepared(environment | {"PYTHONPATH": os.pathsep.join(search_path())})
            code = self.prepared[plain].run(self.folder, environment, arguments, seconds)
            said = failure if failure.exists() else log
            return code, said.read_text(encoding="utf-8", errors="replace")[-400:]

    def close(self) -> None:
        """End the processes."""
        for process in self.prepared.values():
            process.close()

    def environment(self, scratch: Path, plain: bool) -> dict[str, str]:
        """Return the settings of a run: no bytecode is written, and compiled kernels are kept for this run only."""
        settings = dict(os.environ) | {
            "PYTHONPATH": os.pathsep.join([str(self.folder), *search_path()]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "NUMBA_NUM_THREADS": "1",
            "RTMBS_CACHE_DIR": str(scratch / "kernels"),
            "NUMBA_DISABLE_JIT": "1" if plain else "0",
        }
        if self.kernels and not plain:
            (scratch / "kernels").mkdir()
            copy = scratch / "kernels" / self.kernels.name
            shutil.copytree(self.kernels, copy, copy_function=os.link)
            copy.chmod(0o700)
        return settings


def search_path() -> list[str]:
    """Return where Python looks for modules, this repository included, which holds the plugin."""
    return list(filter(None, [str(REPOSITORY), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]))


def batches(tests: Sequence[str], record: Record, budget: float) -> list[list[str]]:
    """Return the first tests, and the others that fit into ``budget`` seconds of processor time."""
    chosen: list[str] = []
    total = 0.0
    for name in tests:
        if total + record.seconds[name] <= budget or not chosen:
            chosen.append(name)
            total += record.seconds[name]
    return [batch for batch in (chosen[:FIRST], chosen[FIRST : FIRST + MOST]) if batch]


def judged(workspace: Workspace, mutant: Mutant, record: Record, plain: bool, budget: float) -> Verdict:
    """Try one mutant with the tests that execute it."""
    start = time.perf_counter()
    tests = record.covering(mutant, (workspace.root / mutant.file).read_text(encoding="utf-8"))
    if not tests:
        return Verdict(mutant, "untested")
    plan = batches(tests, record, budget)
    ran = 0
    for batch in plan:
        ran += len(batch)
        allowed = SPARE + SLOWER * sum(record.seconds[name] for name in batch)
        with workspace.holding(mutant):
            code, said = workspace.run(batch, plain, allowed)
        if code in STOPPED or (code not in (PASSED, FAILED) and workspace.run(batch, plain, allowed)[0] != PASSED):
            return Verdict(mutant, "unclear", f"stopped from outside, or so without the mutant: {code}: {said}", ran)
        if code != PASSED:
            ended = said if code == FAILED else f"pytest ended with {code}: {said}"
            return Verdict(mutant, "killed", ended, ran, len(tests) - ran, time.perf_counter() - start)
    return Verdict(mutant, "survived", "", ran, len(tests) - ran, time.perf_counter() - start)
