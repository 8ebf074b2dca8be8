"""One browser for all tests of pages; they are skipped where there is none."""

from collections.abc import Iterator

import pytest

from tests.viewer.web.browser import MISSING, Browser, program


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if program() is None:
        pytest.skip(MISSING)
    with Browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened
