"""One browser for all tests of pages; they are skipped where there is none."""

from collections.abc import Iterator

import pytest

from tests.viewer.web.browser import MISSING, Browser, program


@pytest.fixture(scope="session")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if program() is None:
        pytest.skip(MISSING)
    with Browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module")
def browser(process: Browser) -> Iterator[Browser]:
    yield process
    process.ask("Page.navigate", url="about:blank")  # a page that goes on drawing would slow down all later tests
