"""Build hook of hatchling: a wheel takes the kernels of the folder RTMBS_WHEEL_KERNELS, and the name of their platform.

Without the variable the wheel is plain Python, and compiles its kernels by numba.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

OLDEST = 17  # glibc 2.17, that of manylinux2014


class KernelsHook(BuildHookInterface):  # type: ignore[misc]
    """Hook that adds the libraries of kernels."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files, and the tag of the oldest C library that has what they ask for."""
        chosen = os.environ.get("RTMBS_WHEEL_KERNELS")
        if not chosen or version != "standard":
            return
        files = sorted(Path(self.root, chosen).iterdir())
        for path in files:
            build_data["force_include"][str(path)] = f"rtmbs/jit/prebuilt_kernels/{path.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_{oldest_library(files)}_x86_64"


def oldest_library(files: list[Path]) -> int:
    """Return the minor version of the oldest glibc 2 that the libraries run with."""
    found = [int(minor) for path in files for minor in re.findall(rb"GLIBC_2\.(\d+)", path.read_bytes())]
    return max([OLDEST, *found])
