"""A real browser without a display, driven through its debugging pipe: opens pages, runs scripts, takes pictures.

Every message is JSON that ends with a zero byte; a page answers with the number of the question.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.patience import LONGEST, LONGEST_MS

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--force-device-scale-factor=1",
)  # fmt: skip
# A browser reads from file 3 and writes to file 4; higher numbers first, so that neither is overwritten.
START = """import os, sys
ours = [os.dup(int(number)) for number in sys.argv[1:3]]
ours = [os.dup2(one, 50 + k) for k, one in enumerate(ours)]
for k, one in enumerate(ours):
    os.dup2(one, 3 + k)
os.execvp(sys.argv[3], sys.argv[3:])
"""
# What an output may do where an editor is strict: no address of the network, and modules from memory alone.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data:; "
    "connect-src https:; child-src https: data:"
)
MISSING = "no browser is installed (Debian: chromium)"
READY = f"""new Promise((done, fail) => {{
  const end = Date.now() + {LONGEST_MS};
  const said = () => (window.rtmbs ? "" : document.querySelector("#told.bad")?.textContent);
  const look = () => {{
    if (%s) done();
    else if (said() || Date.now() > end) fail(new Error(`the page is not ready: ${{said() || "too late"}}`));
    else setTimeout(look, 10);
  }};
  look();
}})"""
HELPERS = (
    f"    const LONGEST = {LONGEST_MS};"
    + """
    const page = window.rtmbs;
    const told = {};
    const wait = (ms) => new Promise((done) => setTimeout(done, ms));
    const sure = async (true_, named = `this never held: ${true_}`, turn = () => wait(20), longest = LONGEST) => {
      for (const end = Date.now() + longest; !true_(); await turn()) if (Date.now() > end) throw new Error(named);
    };
    const frame = () => Promise.race([new Promise((done) => requestAnimationFrame(done)), wait(1000)]);
    const drawn = async (name = "the next picture", longest = LONGEST) => {
      const before = page.drawn, named = `${name} was not drawn within ${longest / 1000} s, after ${before} pictures`;
      await sure(() => page.drawn !== before, named, frame, longest);
    };
    const press = (key, more) => dispatchEvent(new KeyboardEvent("keydown", { key, ...more }));
    const click = (id) => document.getElementById(id).click();
"""
)


def program() -> str | None:
    """Return a browser, None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One process of a browser with one tab, with ``flags`` of the command."""

    def __init__(self, profile: Path, flags: Sequence[str] = FLAGS) -> None:
        found = program()
        assert found is not None, MISSING
        theirs, self._out = os.pipe()
        self._in, answers = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, str(theirs), str(answers), found, *flags, f"--user-data-dir={profile}"],
            pass_fds=(theirs, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs)
        os.close(answers)
        self._number, self._rest, self._session = 0, b"", ""
        self._waiting: deque[dict[str, Any]] = deque()
        self.said: list[str] = []  # errors and warnings of the page
        self.asked: list[str] = []  # addresses that the page asked for
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{part}.enable")

    @property
    def pid(self) -> int:
        """The process of the browser, which starts all others."""
        return self._process.pid

    def ask(self, method: str, **parameters: Any) -> Any:
        """Send a command, and return what it answers."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._note(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            assert select.select([self._in], [], [], 2.0 * LONGEST)[0], "the browser does not answer"
            data = os.read(self._in, 1 << 20)
            assert data, "the browser has ended"
            self._rest += data
        first, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(first)
        return found

    def _note(self, event: dict[str, Any]) -> None:
        """Keep what a page says, and what it asks for."""
        about = event.get("params", {})
        if event["method"] == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.said.append(details.get("exception", {}).get("description", details["text"]))
        elif event["method"] == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.said.append(" ".join(str(word.get("value", word.get("description"))) for word in about["args"]))
        elif event["method"] == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.said.append(about["entry"]["text"])
        elif event["method"] == "Network.requestWillBeSent":
            self.asked.append(about["request"]["url"])

    # ---- pages ------------------------------------------------------------------------------------------------------

    def open(self, page: Path | str, size: tuple[int, int] = (800, 500), ready: str = "window.rtmbs") -> None:
        """Open a page, and wait until the expression ``ready`` is true."""
        width, height = size
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.said, self.asked = [], []
        address = page.resolve().as_uri() if isinstance(page, Path) else page
        self.ask("Page.navigate", url=address)
        self.run(f"await {READY % 'document.readyState === `complete`'}; await {READY % ready};", "")

    def run(self, script: str, helpers: str = HELPERS) -> dict[str, Any]:
        """Return what a script wrote into ``told``.

        The script may use ``page`` (window.rtmbs), ``wait(ms)``, ``drawn(name)`` for the next picture,
        ``sure(condition)`` to wait until a function returns true, ``press(key)`` and ``click(id)``.
        """
        start = helpers or "const told = {};"
        text = f"(async () => {{ {start} {script}\n return JSON.stringify(told); }})()"
        answer = self.ask("Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]["exception"].get("description")
        told: dict[str, Any] = json.loads(answer["result"]["value"])
        return told

    def picture(self, path: Path) -> None:
        """Write a picture of the page (.png)."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

    def __enter__(self) -> "Browser":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
