"""The page of channels has every channel that elements offer now."""

from bench.channels import NAME, PAGE, text
from bench.documents import inserted


def test_the_page_is_what_elements_offer():
    page = PAGE.read_text(encoding="utf-8")
    assert inserted(page, NAME, text()) == page, f"the channels have changed; run {NAME} --write"
