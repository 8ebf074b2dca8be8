"""Pytest plugin: which tests execute which lines of the package, and the processor time of each test.

``python -m pytest -p bench.mutations.lines --lines-of FOLDER --lines-to FILE``: coverage.py records lines, one context
a test. A test that takes more than ``--processor-bound`` seconds of processor time is cut off and counts as failed.
``--only-tests FILE`` runs the named tests in their order, and ``--failure-to FILE`` writes the name of a test that
failed, with the reason.
"""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mutations")
    group.addoption(
        "--lines-of", action="append", default=[], help="folder whose files are recorded; many may be named"
    )
    group.addoption("--lines-to", type=Path, help="file that the record is written to")
    group.addoption("--only-tests", type=Path, help="file of the names of the tests to run, in their order")
    group.addoption("--failure-to", type=Path, help="file that the name of a failed test is written to")
    group.addoption("--processor-bound", type=float, default=0.0, help="seconds that a test may take; 0: no bound")


def pytest_configure(config: pytest.Config) -> None:
    if target := config.getoption("--lines-to"):
        folders = [str(Path(folder).absolute()) for folder in config.getoption("--lines-of")]
        config.pluginmanager.register(Recorder(folders, target, config.getoption("--processor-bound")))
    if target := config.getoption("--failure-to"):
        config.pluginmanager.register(Failure(target))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the named tests; a name that no test has any more is passed over."""
    if chosen := config.getoption("--only-tests"):
        found = {item.nodeid: item for item in items}
        items[:] = [found[name] for name in chosen.read_text(encoding="utf-8").splitlines() if name in found]


class Failure:
    """Writer of the test that failed."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            why = crash.message.splitlines()[0] if crash and crash.message else str(report.longrepr)[-200:]
            self.target.write_text(f"{report.nodeid}: {why}", encoding="utf-8")


class Recorder:
    """Record of one run of pytest."""

    def __init__(self, folders: list[str], target: Path, bound: float) -> None:
        self.folders, self.target, self.bound = folders, target, bound
        self.passed: dict[str, bool] = {}
        self.seconds: dict[str, float] = {}
        import coverage

        self.coverage = coverage.Coverage(data_file=None, config_file=False, source=folders, messages=False)
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        start = time.process_time()
        result = yield
        self.seconds[item.nodeid] = time.process_time() - start
        self.coverage.switch_context("")
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        signal.signal(signal.SIGVTALRM, cut_off)
        signal.setitimer(signal.ITIMER_VIRTUAL, self.bound)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        good = report.outcome == "passed" and self.passed.get(report.nodeid, True)
        self.passed[report.nodeid] = good

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        good = {name: self.seconds[name] for name, passed in self.passed.items() if passed}
        number = {name: index for index, name in enumerate(good)}
        lines = {
            file: {
                line: [number[name] for name in names if name in number]
                for line, names in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        failed = [name for name, passed in self.passed.items() if not passed]
        record = {"tests": list(good.items()), "failed": failed, "lines": lines}
        self.target.write_text(json.dumps(record), encoding="utf-8")


def cut_off(*_: object) -> None:
    pytest.fail("cut off: the bound of processor time", pytrace=False)
