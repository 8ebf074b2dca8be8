"""A display for the viewer's tests: an Xvfb of our own where there is one, Qt without OpenGL otherwise."""

import gc
import os
import shutil
import subprocess

import pytest

import rtmbs
from rtmbs.simulation import Simulation
from tests.viewer.mechanisms import motored
from tests.viewer.windows import open_window

XVFB = ("Xvfb", "-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-terminate")  # ends with us
NO_XVFB = "Xvfb is not installed (Debian: xvfb libgl1-mesa-dri libegl1 and those of .ci/run); no OpenGL to draw with"


@pytest.fixture(scope="session")
def display() -> bool:
    """Start a display for this process; False when there is none, and widgets are drawn without OpenGL."""
    os.environ["LP_NUM_THREADS"] = "1"
    if shutil.which(XVFB[0]) is None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        return False
    server = subprocess.Popen(XVFB, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert server.stdout is not None
    os.environ["DISPLAY"] = f":{server.stdout.readline().decode().strip()}"
    os.environ["QT_QPA_PLATFORM"] = "xcb"
    return True


@pytest.fixture(scope="session")
def qapp(display):
    """The application that pytest-qt uses."""
    from rtmbs.viewer.qt.application import application

    return application()


@pytest.fixture(autouse=True)
def windows_are_gone(request):
    """Let windows go with their test: left to a later event loop, fifty of them end in one test, and stop it."""
    if "qapp" not in request.fixturenames:
        yield
        return
    from rtmbs.viewer.qt.application import collect

    # The last window of the test before is free now only. Frozen, its items would keep their addresses, and Qt's new
    # objects would be taken for them.
    collect()
    gc.freeze()  # what was there before is not looked through
    yield
    collect()


@pytest.fixture
def opengl(display) -> None:
    """Skip where nothing can be drawn."""
    if not display:
        pytest.skip(NO_XVFB)


@pytest.fixture(scope="session")
def small_system():
    """A four-bar of two bays and two storeys."""
    return rtmbs.library.build("fourbar", ny=2, nz=2).compile()


@pytest.fixture
def sim(small_system) -> Simulation:
    """A fresh Simulation of it."""
    return Simulation(small_system)


@pytest.fixture
def window(qtbot):
    """A window on a four-bar with a motor and a spring, whose session steps when a test says so."""
    return open_window(qtbot, Simulation(motored().compile()))
