"""Make the library of kernels that a wheel carries: ``python .ci/prebuilt.py FOLDER [TARGET ...]``.

One process runs what users run, and notes the kernels that Python called. Another compiles these without Python, and
the C compiler links them. The folder gets a library for each target, and the table ``kernels.json``. ``make wheel``
calls this; RTMBS_KERNELS=FOLDER lets the source tree run by the library.
"""

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import zlib
from pathlib import Path

ROOT = Path(__file__).parents[1]
NUMBA = {"RTMBS_KERNELS": "numba", "RTMBS_PLAIN_JIT": "0"}
ASKED = ("sched_yield", "numba_attempt_nocopy_reshape")  # of the system, and of prebuilt.c
LEVEL = {"x86_64_v3-linux": ["-DRTMBS_V3"], "x86_64_v2-linux": []}
FLAGS = ("-shared", "-O2", "-std=c11", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wl,-s")


def main(folder: Path, targets: list[str]) -> None:
    """Write libraries and their table."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        run("keep", scratch, NUMBA)
        run("note", scratch, NUMBA)
        compile_apart(scratch, targets)
        put_together(Path(scratch), folder, targets)


def compile_apart(scratch: str, targets: list[str]) -> None:
    """Compile what ``scratch/wishes`` lists for the oldest processor that the targets are for."""
    from rtmbs.jit.native_code import BASELINE

    run("compile", scratch, {**BASELINE, **NUMBA, "RTMBS_CACHE_DIR": scratch}, *targets)


def run(task: str, scratch: str, environment: dict[str, str], *words: str) -> None:
    """Run a task in a process of its own."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    given = {**os.environ, **environment, "PYTHONPATH": path}
    subprocess.run([sys.executable, __file__, f"--{task}", scratch, *words], env=given, check=True)


def keep() -> None:
    """Run what users run, so that all of its kernels are on disk.

    A process that compiles a kernel for a caller does not see the later call from Python: its list would be short.
    """
    from rtmbs.commands.further_kernels import run_everything

    run_everything()


def note(scratch: Path) -> None:
    """Run what users run, and write down the kernels that Python called; all of them are on disk."""
    from rtmbs.commands.further_kernels import run_everything
    from rtmbs.jit.prebuilt_code import noted, packed

    with noted() as wishes:
        run_everything()
    (scratch / "wishes").write_bytes(packed(wishes))


def compile_all(scratch: Path, targets: list[str]) -> None:
    """Write an object file for each target, and the table."""
    from rtmbs.jit.native_code import TARGETS, keep_text, machine_code

    keep_text()
    from rtmbs.jit.cache_folder import sources_digest
    from rtmbs.jit.prebuilt_code import prebuilt_module, unpacked

    text, table = prebuilt_module(unpacked((scratch / "wishes").read_bytes()))
    symbols = [symbol for types in table.values() for symbol, _, _ in types.values()]
    for target in targets:
        code = machine_code(text, TARGETS[target], dict.fromkeys(symbols), ASKED)
        (scratch / f"{target}.o").write_bytes(code)
    (scratch / "kernels.json").write_text(json.dumps({"sources": sources_digest(), "kernels": table}))


def put_together(scratch: Path, folder: Path, targets: list[str]) -> None:
    """Link the libraries of all targets, and write the table with their checksums."""
    table = json.loads((scratch / "kernels.json").read_text())
    for target in targets:
        link(scratch, folder, target)
    table["checksums"] = {f"{one}.so": zlib.crc32((folder / f"{one}.so").read_bytes()) for one in targets}
    (folder / "kernels.json").write_text(json.dumps(table, indent=0))


def link(scratch: Path, folder: Path, target: str) -> None:
    """Link the kernels of a target with the calls from Python."""
    from rtmbs.export.packages import linker

    source, headers = ROOT / "rtmbs" / "jit" / "prebuilt.c", sysconfig.get_path("include")
    words = [*linker(target), *FLAGS, *LEVEL[target], f"-I{headers}", source, scratch / f"{target}.o", "-lm"]
    subprocess.run([*words, "-o", folder / f"{target}.so"], check=True)


if __name__ == "__main__":
    first, *rest = sys.argv[1:]
    if first == "--keep":
        keep()
    elif first == "--note":
        note(Path(rest[0]))
    elif first == "--compile":
        compile_all(Path(rest[0]), rest[1:])
    else:
        main(Path(first), rest or list(LEVEL))
