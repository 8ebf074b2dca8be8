"""What every test may use."""

import gc

import hypothesis

# One profile for all: the same examples every run, and no deadline, because the first call of a kernel compiles it.
# All phases but the explanation of a failure, for which every line of every example would be traced.
hypothesis.settings.register_profile(
    "rtmbs",
    deadline=None,
    derandomize=True,
    max_examples=40,
    phases=[phase for phase in hypothesis.Phase if phase != hypothesis.Phase.explain],
)
hypothesis.settings.load_profile("rtmbs")


def pytest_addoption(parser, pluginmanager):
    """Leave pytest-qt out where Qt cannot be loaded: it would end the whole run."""
    try:
        import PySide6.QtWidgets  # noqa: F401
    except ImportError:
        if plugin := pluginmanager.get_plugin("pytest-qt"):
            pluginmanager.unregister(plugin)


def pytest_collection():
    """Look for no garbage while tests are collected: next to nothing is thrown away."""
    gc.disable()


def pytest_collection_finish():
    """Leave alone what the tests are made of: a million objects that every full search for garbage would walk through.

    In a run of one minute that is a tenth of the time.
    """
    gc.freeze()
    gc.enable()
