"""The native library of a target: kernels compiled once, C sources linked with them, and both kept on disk."""

import hashlib
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import rtmbs
from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.export.instance import Instance, layout_digest, layout_header
from rtmbs.jit.cache_folder import PLACE, print_note
from rtmbs.jit.native_code import BASELINE, TARGETS

HERE = Path(__file__).parent
C = HERE / "c"
KERNELS = (HERE / "entry_kernels.py", HERE / "signal_kernels.py")  # what kernels are made of
SOURCES = ("runtime.c", "check.c", "linearise.c", "model_exchange.c", "fmu.c", "fmi2.c", "fmi3.c")
ENDINGS = {"linux": ".so", "windows": ".dll"}
ZIG = {
    "x86_64_v2-linux": "x86_64-linux-gnu.2.17",
    "x86_64_v3-linux": "x86_64-linux-gnu.2.17",
    "aarch64-linux": "aarch64-linux-gnu.2.17",
    "x86_64-windows": "x86_64-windows-gnu",
}  # triples with the oldest C library that serves
HOST = "x86_64_v2-linux"
FLAGS = ("-shared", "-O2", "-std=c11", "-fvisibility=hidden", "-ffp-contract=off", "-Wall", "-Wextra")
OF_LINUX = ("-fPIC", "-Wl,--no-undefined", "-Wl,-rpath,$ORIGIN", "-Wl,-s")


def native_library(example: Instance, target: str = HOST) -> Path:
    """Return the native library of a target; it is compiled when the kept one is of other sources.

    Parameters
    ----------
    example : Instance
        Any Instance: types and layout are the same for all.
    target : str
        Key of ``rtmbs.jit.native_code.TARGETS``.

    Returns
    -------
    Path
        Shared library.

    Raises
    ------
    InputError
        For an unknown target, without a linker, and for a folder that cannot be written.
    """
    if target not in TARGETS:
        raise unknown_name("target", target, TARGETS)
    header = layout_header(example, rtmbs.__version__)
    name = code_name(example, target)
    digest = digest_of(sorted(C.rglob("*.[ch]")), header + name)
    library = kept_folder() / f"librtmbs-{digest}.{target}{ending(target)}"
    if not library.is_file():
        linker(target)  # a missing one is told before kernels are compiled
        link(header, target, kernel_code(example, target), library)
    return library


def kernel_code(example: Instance, target: str = HOST) -> Path:
    """Return the object file of the kernels of a target; they are compiled when the kept one is of other sources."""
    code = kept_folder() / code_name(example, target)
    if not code.is_file():
        compile_kernels(example, target, code)
    return code


def code_name(example: Instance, target: str) -> str:
    """Return the name of the object file of the kernels."""
    return f"kernels-{digest_of(KERNELS, str(layout_digest(example)))}.{target}.o"


def ending(target: str) -> str:
    """Return the ending of shared libraries of a target."""
    return ENDINGS[target.rpartition("-")[2]]


def kept_folder() -> Path:
    """Return the folder of the libraries, beside the compiled kernels of Python; it is made if needed."""
    folder = (PLACE.folder or Path(tempfile.gettempdir()) / f"rtmbs-native-{os.getpid()}") / "native"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written ({error.strerror}), and a native library is kept there; set RTMBS_CACHE_DIR"
        ) from error
    return folder


def digest_of(files: Iterable[Path], text: str) -> str:
    """Return a digest of files and a text, for names of what is made of them."""
    digest = hashlib.sha256(text.encode())
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def compile_kernels(example: Instance, target: str, code: Path) -> None:
    """Write the object file of the kernels of a target, compiled by a process of its own."""
    print_note("compiling the native kernels, once for these sources; this takes a minute or more")
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "example.pickle").write_bytes(pickle.dumps(example))
        path = os.pathsep.join([str(HERE.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
        given = {**os.environ, **BASELINE, "RTMBS_CACHE_DIR": scratch, "PYTHONPATH": path}
        run([sys.executable, "-m", "rtmbs.export.native_code", scratch, target], "the native kernels", given)
        keep(Path(scratch) / f"kernels.{target}.o", code)


def link(header: str, target: str, code: Path, library: Path) -> None:
    """Compile the C sources of a target with the layout ``header``, and link them with the kernels."""
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / library.name
        (Path(scratch) / "layout.h").write_text(header)
        command = [*linker(target), *FLAGS, *(OF_LINUX if "linux" in target else ()), f"-I{scratch}", f"-I{C}"]
        command += [
            *told_target(target),
            f"-I{C / 'fmi'}",
            *(str(C / name) for name in SOURCES),
            str(code),
            "-lm",
            "-o",
            str(made),
        ]
        run(command, "the native library")
        keep(made, library)


def told_target(target: str) -> list[str]:
    """Return the flags that tell the C sources what they are compiled for."""
    return [f'-DRTMBS_TARGET="{target}"', *(["-DRTMBS_V3"] if "_v3-" in target else [])]


def keep(made: Path, place: Path) -> None:
    """Move a file to its place in one step: processes share the folder."""
    beside = place.with_name(f"{place.name}.{os.getpid()}")
    shutil.copyfile(made, beside)
    os.replace(beside, place)


def linker(target: str) -> list[str]:
    """Return the command of a C compiler for a target: ``cc`` for this machine, else that of the ziglang wheel."""
    compiler = os.environ.get("CC") or "cc"
    if target in ("x86_64_v2-linux", "x86_64_v3-linux") and sys.platform == "linux" and shutil.which(compiler):
        return [compiler]
    if find_spec("ziglang") is None:
        raise InputError(f"no C compiler for {target} was found; install one, or pip install 'rtmbs[export]'")
    return [sys.executable, "-m", "ziglang", "cc", "-target", ZIG[target]]


def run(command: list[str], what: str, environment: dict[str, str] | None = None) -> None:
    """Run a command that makes ``what``; InputError with its last line when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        raise InputError(f"{what} could not be made: {shown(lines[-1])}")
