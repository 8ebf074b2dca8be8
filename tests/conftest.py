"""What every test may use."""

import hypothesis

# One profile for all: the same examples every run, and no deadline, because the first call of a kernel compiles it.
hypothesis.settings.register_profile("rtmbs", deadline=None, derandomize=True, max_examples=40)
hypothesis.settings.load_profile("rtmbs")


def pytest_addoption(parser, pluginmanager):
    """Leave pytest-qt out where Qt cannot be loaded: it would end the whole run."""
    try:
        import PySide6.QtWidgets  # noqa: F401
    except ImportError:
        if plugin := pluginmanager.get_plugin("pytest-qt"):
            pluginmanager.unregister(plugin)
