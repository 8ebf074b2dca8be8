"""Compile the entry kernels: ``python -m rtmbs.export.native_code FOLDER TARGET ...``, a process of its own.

The folder holds ``example.pickle``, any Instance, and gets ``kernels.TARGET.o``.
"""

import pickle
import sys
from pathlib import Path

from rtmbs.jit.native_code import TARGETS, keep_text, kernels_module, machine_code


def main(folder: Path, targets: list[str]) -> None:
    """Write an object file for every target."""
    keep_text()
    from rtmbs.export.entry_kernels import ENTRIES

    example = pickle.loads((folder / "example.pickle").read_bytes())
    text = str(kernels_module(ENTRIES, example))
    for name in targets:
        (folder / f"kernels.{name}.o").write_bytes(machine_code(text, TARGETS[name], ENTRIES))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
