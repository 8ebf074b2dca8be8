"""Ranks of message passing: equal to one rank, and one end for all when one of them fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rtmbs.errors import InputError
from rtmbs.recursive import ranks
from rtmbs.recursive.motion import Alone
from tests.patches import ROOT
from tests.patience import LONGEST

PLACES = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
MPIEXEC = shutil.which("mpiexec", path=PLACES)
needs_mpi = pytest.mark.skipif(MPIEXEC is None, reason="mpiexec is not installed")


def started(count, what, file):
    """Run ranks until they end; return exit code, output and errors."""
    pytest.importorskip("mpi4py")
    command = [MPIEXEC, "-n", str(count), sys.executable, "-m", "tests.recursive.ranked", what, str(file)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
    )
    return done.returncode, done.stdout, done.stderr


@needs_mpi
@pytest.mark.parametrize("count", [pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(4, marks=pytest.mark.slow)])
def test_ranks_equal_one_rank(count, tmp_path):
    code, out, err = started(count, "motion", tmp_path / "found")
    assert code == 0, err
    assert f"ranks {count}" in out
    z, zd, z1, zd1 = np.split(np.frombuffer((tmp_path / "found").read_bytes()), 4)
    assert np.abs(z - z1).max() <= 1e-12 * np.abs(z1).max()
    assert np.abs(zd - zd1).max() <= 1e-12 * np.abs(zd1).max()


@needs_mpi
def test_all_end_when_one_is_killed(tmp_path):
    code, _, _ = started(2, "killed", tmp_path / "found")
    assert code != 0
    assert not (tmp_path / "found").exists()


@pytest.mark.slow
@needs_mpi
def test_all_end_with_one_message_when_one_raises(tmp_path):
    code, _, err = started(2, "raising", tmp_path / "found")
    assert code == 1
    assert err.count("RuntimeError: a disk is full") == 1, err
    assert err.count("rtmbs: rank 1 of 2 failed") == 1


@needs_mpi
@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "what", "says"),
    [
        (2, "version", "rank 1 has another version of rtmbs than rank 0, 1.0 and"),
        (2, "mechanism", "rank 1 has another mechanism than rank 0"),
        (14, "motion", "has 4 branches for 14 ranks"),
    ],
)
def test_what_ranks_refuse_together(count, what, says, tmp_path):
    code, _, err = started(count, what, tmp_path / "found")
    assert code == 1
    assert err.count(says) == 1, err


def test_without_mpi4py(monkeypatch, capsys):
    """Alone with a line, or refused where a launcher started several ranks."""
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    for name in ranks.LAUNCHERS:
        monkeypatch.delenv(name, raising=False)
    assert isinstance(ranks.world(), Alone)
    assert (
        "mpi4py is absent, one rank works alone; install it: pip install 'rtmbs[parallel]'" in capsys.readouterr().err
    )
    monkeypatch.setenv("PMI_SIZE", "4")
    with pytest.raises(InputError, match="4 ranks were started, and mpi4py is missing"):
        ranks.world()


class Two(Alone):
    """A rank beside another one that says something else."""

    ranks = 2

    def together(self, mine):
        return [mine, "another"]


def test_other_ranks_are_compared():
    import rtmbs

    system = rtmbs.library.build("slider_crank").compile()
    ranks.demand_same_system(Alone(), system, "1.0")
    with pytest.raises(InputError, match=r"rank 1 has another version of rtmbs than rank 0, another and 1\.0"):
        ranks.demand_same_system(Two(), system, "1.0")


def test_a_launch_of_one_rank_raises_as_it_is():
    with pytest.raises(ZeroDivisionError):
        ranks.launch(lambda exchange: 1 / 0, Alone())
