"""A real browser without a display: opens a page, runs a script in it, and tells what came of it."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--hide-scrollbars",
    "--no-first-run", "--disable-extensions", "--disable-background-networking", "--force-device-scale-factor=1",
)  # fmt: skip
NONE = "no browser is installed (Debian: chromium)"
BUDGET = 4000  # [ms] of the page's own time

WATCH = """<script>
window.said = [];
addEventListener("error", (event) => said.push(String(event.message)));
addEventListener("unhandledrejection", (event) => said.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => said.push(`refused ${event.blockedURI}`));
for (const kind of ["error", "warn"]) {
  const write = console[kind];
  console[kind] = (...words) => { said.push(words.join(" ")); write(...words); };
}
</script>"""
LOOK = """<script>
(async () => {
  const told = {};
  try {
    for (let k = 0; k < 200 && !window.rtmbs; k++) await new Promise((done) => setTimeout(done, 10));
    const page = window.rtmbs;
    const wait = (ms) => new Promise((done) => setTimeout(done, ms));
    const drawn = async () => {
      for (const before = page.drawn; page.drawn === before;) await new Promise((done) => requestAnimationFrame(done));
    };
    const press = (key, more) => dispatchEvent(new KeyboardEvent("keydown", { key, ...more }));
    const click = (id) => document.getElementById(id).click();
    %s
  } catch (error) { said.push(String(error.stack ?? error)); }
  told.said = said;
  const note = document.createElement("pre");
  note.id = "told";
  note.textContent = JSON.stringify(told);
  document.body.append(note);
})();
</script>"""


def browser() -> str:
    """Return the program; skip where there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(NONE)
    return found


def look(page: Path, script: str, size: tuple[int, int] = (800, 500), budget: int = BUDGET) -> dict:
    """Open a copy of ``page`` and return what ``script`` wrote into ``told``; ``said`` has every error of the page.

    The script may use ``page`` (window.rtmbs), ``wait(ms)``, ``drawn()`` for the next picture, ``press(key)`` and
    ``click(id)``.
    """
    text = page.read_text(encoding="utf-8")
    copy = page.with_name(f"looked_at_{page.name}")
    copy.write_text(text.replace("<style>", WATCH + "<style>", 1) + LOOK % script, encoding="utf-8")
    done = run(copy, "--dump-dom", size=size, budget=budget)
    found = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    words = found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return json.loads(words)


def picture(page: Path, out: Path, size: tuple[int, int] = (800, 500), budget: int = BUDGET) -> Path:
    """Write a picture of a page."""
    run(page, f"--screenshot={out}", size=size, budget=budget)
    return out


def run(page: Path, *flags: str, size: tuple[int, int], budget: int) -> "subprocess.CompletedProcess[str]":
    """Run the browser on a page."""
    profile = page.with_name(f"profile_{page.stem}")
    own = f"--user-data-dir={profile}", f"--virtual-time-budget={budget}", f"--window-size={size[0]},{size[1]}"
    command = [browser(), *FLAGS, *own, *flags, page.resolve().as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
