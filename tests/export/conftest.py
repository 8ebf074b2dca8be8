"""The native library, made once for all tests of this room, and mechanisms in it."""

import shutil
from importlib.util import find_spec

import pytest

from bench.native_host import Mechanism, opened
from rtmbs.export.native_library import native_library
from rtmbs.export.packages import exported
from rtmbs.library import build

if not shutil.which("cc") and find_spec("ziglang") is None:
    pytest.skip("no C compiler", allow_module_level=True)


@pytest.fixture(scope="session")
def library_file():
    """The native library as a file."""
    return native_library(exported(build("slider_crank").compile(), (), (), 1e-3, None).instance)


@pytest.fixture(scope="session")
def library(library_file):
    """The native library, opened."""
    return opened(library_file)


@pytest.fixture
def load(library):
    """Load a Simulation or a System into the native library."""

    def load_it(system, inputs=(), outputs=(), h=1e-3):
        return Mechanism(library, exported(system, inputs, outputs, h, None).file)

    return load_it
