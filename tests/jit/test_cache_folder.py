"""Where compiled kernels are kept: nobody else may write there, and nothing wrong with a folder ends a start."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import llvmlite
import numba
import pytest
from numba.core import config

from rtmbs.jit import cache_folder
from rtmbs.jit.cache_folder import PACKAGE, PLACE, cache_place, fingerprint, kernel_sources
from tests.patience import LONGEST

ROOT = PACKAGE.parent
COMPILED = pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
POSIX = pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners and modes of POSIX")
PLACES = ("RTMBS_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "TMPDIR", "TEMP", "TMP")
ONE_KERNEL = """
import json
from rtmbs.jit.cache_folder import PLACE
from rtmbs.jit.intrinsics import ticks
ticks()
print(json.dumps({"hits": sum(ticks.stats.cache_hits.values()), "folder": str(PLACE.folder)}))
"""


@pytest.fixture
def places(tmp_path, monkeypatch):
    """An environment of its own: a home and a place for temporary files."""
    for name in PLACES:
        monkeypatch.delenv(name, raising=False)
    for name, folder in (("HOME", "home"), ("TMPDIR", "temporary")):
        (tmp_path / folder).mkdir(0o700)
        monkeypatch.setenv(name, str(tmp_path / folder))
    return tmp_path


def spare(places):
    return places / "temporary" / f"rtmbs-{os.getuid()}" / fingerprint()


# ------------------------------------------------------------------------------------------------------------ in order


def test_the_home_directory_keeps_them(places):
    assert cache_place() == (places / "home" / ".cache" / "rtmbs" / fingerprint(), "")
    assert str(cache_place()) == f"kept in {cache_place().folder}"


def test_the_specification_of_caches_is_followed(places, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(places / "caches"))
    assert cache_place() == (places / "caches" / "rtmbs" / fingerprint(), "")


@pytest.mark.parametrize("value", ["", ".", "caches", "../caches"])
def test_an_empty_or_relative_value_counts_as_none(places, monkeypatch, value):
    """numba would unpickle, and so run, what lies in the working directory."""
    here = places / "downloaded"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    assert cache_place() == (places / "home" / ".cache" / "rtmbs" / fingerprint(), "")
    assert not any(here.iterdir())


def test_the_working_directory_is_no_place_for_temporary_files(places, monkeypatch):
    (places / "blocked").touch()
    monkeypatch.chdir(places)
    for name in ("HOME", "TMPDIR", "TEMP"):
        monkeypatch.setenv(name, "blocked")
    assert not any(str(root).startswith(str(places)) for root in cache_folder.temporary_roots())
    assert all(root.is_absolute() for root in cache_folder.temporary_roots())


def test_the_choice_of_the_user_is_taken_as_it_is(places, monkeypatch):
    """A team may share a folder: neither its owner nor its mode is looked at. A relative one is meant from here."""
    shared = places / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("RTMBS_CACHE_DIR", str(shared))
    monkeypatch.setenv("XDG_CACHE_HOME", str(places / "caches"))
    assert cache_place() == (shared / fingerprint(), "")
    monkeypatch.chdir(places)
    monkeypatch.setenv("RTMBS_CACHE_DIR", "shared")
    assert cache_place() == (shared / fingerprint(), "")
    monkeypatch.setenv("RTMBS_CACHE_DIR", "")
    assert cache_place() == (places / "caches" / "rtmbs" / fingerprint(), "")


def test_the_folder_follows_sources_versions_and_ways_to_compile(monkeypatch):
    found = [fingerprint()]
    assert fingerprint() == found[0]
    for target, name, value in (
        (numba, "__version__", "0.0.0"),
        (cache_folder, "kernel_sources", lambda: kernel_sources()[:-1]),
        (llvmlite, "__version__", "0.0.0"),
        (config, "BOUNDSCHECK", not config.BOUNDSCHECK),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(target, name, value)
            found.append(fingerprint())
    assert len(set(found)) == 5


# -------------------------------------------------------------------------------------------------------------- private


@POSIX
def test_folders_are_made_for_the_user_alone(places):
    folder = cache_place().folder
    for made in (folder, folder.parent, folder.parent.parent):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700


@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o702])
@pytest.mark.parametrize("which", ["root", "inner"])
def test_a_folder_that_others_may_write_to_is_refused(places, mode, which):
    folder = cache_place().folder
    opened = folder if which == "inner" else folder.parent
    opened.chmod(mode)
    found = cache_place()
    assert found.folder == spare(places)
    assert f"others may write to {opened} (chmod go-w mends it)" in found.note
    assert found.note.endswith(f"kept in {spare(places)}")
    opened.chmod(0o755)
    assert cache_place().folder == folder


@POSIX
def test_a_folder_of_somebody_else_is_refused(places, monkeypatch):
    folder, user = cache_place().folder, os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    found = cache_place()
    assert f"{folder.parent} belongs to somebody else" in found.note
    assert found.folder is None, "whatever this process makes belongs to the other user"
    assert str(found) == "kept nowhere"


@POSIX
def test_links_in_places_for_all_are_not_followed(places, monkeypatch):
    """Somebody else may have put a link, or a folder, where the user's would be."""
    (places / "home" / ".cache").touch()
    (places / "open").mkdir()
    (places / "open").chmod(0o777)
    monkeypatch.setenv("TMPDIR", str(places / "open"))
    monkeypatch.setattr(cache_folder, "temporary_roots", lambda: iter([places / "open" / "mine"]))
    assert cache_place().folder is None, "it lacks the sticky bit"
    (places / "open").chmod(0o1777)
    assert cache_place().folder == places / "open" / "mine" / fingerprint()
    (places / "open" / "mine").chmod(0o777)
    assert cache_place().folder is None


# ---------------------------------------------------------------------------------------------------------- unwritable


def test_a_folder_that_cannot_be_made_gives_way_to_a_private_one(places):
    (places / "home" / ".cache").touch()
    found = cache_place()
    assert found.folder == spare(places)
    assert "cannot be used (" in found.note
    assert "\n" not in found.note
    assert stat.S_IMODE(found.folder.parent.stat().st_mode) == 0o700


def test_without_a_home_there_is_a_private_one(places, monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert cache_place() == (
        spare(places),
        f"the home directory is not known; compiled kernels are kept in {spare(places)}",
    )


def test_a_folder_that_is_read_only_is_read_when_it_holds_kernels(places, monkeypatch):
    folder = cache_place().folder
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != folder)
    assert cache_place().folder == spare(places)
    (folder / "kernel.nbc").touch()
    assert cache_place() == (folder, "")


def run(code=ONE_KERNEL, check=True, **environment):
    """Run Python in a process of its own; return what it printed, and its standard error."""
    kept = {name: value for name, value in os.environ.items() if name not in PLACES}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=ROOT, env={**kept, **environment}, capture_output=True, text=True, timeout=LONGEST, check=check
    )
    return json.loads(done.stdout), done.stderr


@COMPILED
def test_an_unwritable_folder_is_said_in_one_line_and_the_next_start_finds_the_kernels(places):
    (places / "blocked").touch()
    found = [run(XDG_CACHE_HOME=str(places / "blocked"), TMPDIR=str(places / "temporary")) for _ in range(2)]
    assert [answer["hits"] for answer, _ in found] == [0, 1]
    assert {answer["folder"] for answer, _ in found} == {str(spare(places))}
    for _, said in found:
        assert said.count("\n") == 1
        assert said.startswith("rtmbs: ")


READ_ONLY = """
import os, sys
def refuse(event, arguments):
    writes = event == "open" and (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if event == "os.mkdir" or writes:
        raise OSError(30, "Read-only file system")
sys.addaudithook(refuse)
"""


@COMPILED
def test_nothing_can_be_written_at_all(places):
    """Kernels are compiled and run. NUMBA_OPT gives the fingerprint, and so the folders, that no other run has."""
    answer, said = run(READ_ONLY + ONE_KERNEL, HOME="/proc/nowhere", TMPDIR="/proc/nowhere", NUMBA_OPT="1")
    assert answer == {"hits": 0, "folder": "None"}
    assert said.count("\n") == 1
    assert "kept nowhere" in said


FULL = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
"""


@COMPILED
@POSIX
def test_a_full_disk_ends_no_start(places):
    """The kernel is compiled and runs; what could not be written whole is taken away."""
    answer, said = run(FULL + ONE_KERNEL, HOME=str(places / "home"))
    assert answer["hits"] == 0
    assert said.count("\n") == 1
    assert "are not kept" in said
    assert not any(Path(answer["folder"]).iterdir())


@COMPILED
def test_other_processes_do_not_repeat_the_line(places):
    (places / "blocked").touch()
    code = """
import multiprocessing, json
def work(): from rtmbs.jit.cache_folder import PLACE
if __name__ == "__main__":
    from rtmbs.jit.cache_folder import PLACE
    one = multiprocessing.get_context("fork").Process(target=work)
    one.start(); one.join()
    print(json.dumps(one.exitcode))
"""
    child = "import rtmbs.jit.cache_folder as c, multiprocessing.process as p\n"
    child += "c.PLACE; p._parent_process = p.current_process()\n"
    child += "c.print_note('twice'); print(0)"
    environment = {"XDG_CACHE_HOME": str(places / "blocked"), "TMPDIR": str(places / "temporary")}
    for script in (code, child):
        answer, said = run(script, **environment)
        assert (answer, said.count("\n")) == (0, 1)


def test_this_run_has_a_place():
    assert PLACE.folder is None or PLACE.folder.name == fingerprint()
