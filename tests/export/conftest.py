"""The native library, made once for all tests of this room, and mechanisms in it."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench.native_host import Mechanism, opened
from rtmbs.export.packages import exported, native_library
from rtmbs.library import build

FOLDER = Path(__file__).parent
NATIVE = {"library_file", "library", "load", "host"}  # fixtures
WHOLE = (
    "test_car",
    "test_native_library",
    "test_hosts",
    "test_fmu",
    "test_co_simulation",
    "test_model_exchange",
    "test_random_mechanisms",
    "test_targets",
)

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave to the long runs what needs the native library: all kernels are compiled for it, which takes a minute."""
    for item in items:
        if item.path.parent == FOLDER and (NATIVE & {*getattr(item, "fixturenames", ())} or item.path.stem in WHOLE):
            item.add_marker(pytest.mark.slow)
