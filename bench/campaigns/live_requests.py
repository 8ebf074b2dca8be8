"""Hostile viewers of a live page: random, mutated and wild requests through its socket.

Each case is one viewer with ``MESSAGES`` messages. A refused request is answered by one sentence. The server opens no
file, starts no process and connects to nothing, and the session shows finite pictures to the next viewer. One more
viewer asks much and reads no answer; it holds up nobody.
"""

import asyncio
import json
import math
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from bench.campaigns.campaign import Campaign, Tally, each
from rtmbs.library import build
from rtmbs.viewer.session.connect import connect
from rtmbs.viewer.web.live import LiveServer
from rtmbs.viewer.web.requests import LONGEST, REQUESTS

MESSAGES = 20
PATIENCE = 60.0  # [s] that an answer is waited for
LONGEST_SENTENCE = 400  # letters
FORBIDDEN = ("open", "subprocess.Popen", "os.system", "os.exec", "os.remove", "os.rename", "os.mkdir", "socket.connect")
GOOD: list[dict[str, Any]] = [
    *({"do": name} for name, (wanted, _) in REQUESTS.items() if not wanted),
    {"do": "step", "count": 3},
    {"do": "seek", "step": 2},
    {"do": "loop", "on": True},
    {"do": "speed", "factor": 2.0},
    {"do": "reactions", "on": True},
    {"do": "input", "name": "gravity", "value": [0.0, 0.0, -9.81]},
    {"do": "option", "name": "h", "value": 0.002},
    {"do": "grab", "body": "crank", "point": [0.0, 0.0, 0.0], "target": [1.0, 0.0, 0.0]},
    {"do": "move", "target": [0.5, 0.0, 0.5]},
    {"do": "drag", "body": "crank", "point": [0.0, 0.0, 0.0], "target": [0.5, 0.0, 0.5], "gesture": 1},
    {"do": "spectrum", "on": True},
    {"do": "drawn", "picture": 3},
    {"do": "subscribe", "names": ["Energy balance", "Loop violation"]},
    {"do": "subscribe", "names": ["t"]},
    {"do": "window", "window": 2.0},
    {"do": "window", "window": [0.0, 0.5]},
    {"do": "time", "t": 0.1},
]
WILD: list[Any] = [
    0, -1, 1, 2**53, 2**63, -(2**70), 1e-300, 1e12, 1e308, -0.0, math.nan, math.inf, True, False, None, "",
    "../../etc/passwd", "file:///etc/passwd", "__class__", "__import__('os')", "{0.__class__}", "\x00", "\ud800",
    "a" * 5000, [], {}, [[]] * 9, [1e308] * 3, [None] * 3, ["x"] * 40, {"__proto__": 1}, {"do": "play"},
]  # fmt: skip


class Watch:
    """What the process does beside the session, from its audit events; only the thread of the server is looked at."""

    def __init__(self) -> None:
        self.thread: int | None = None
        self.seen: list[str] = []
        sys.addaudithook(self)

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        if event in FORBIDDEN and threading.get_ident() == self.thread:
            self.seen.append(f"{event} {given[0]!r}"[:200])


class Served:
    """Live page of a crank-rocker in a thread of this process."""

    def __init__(self, watch: Watch) -> None:
        self.connection = connect(build("crank_rocker"), "thread", options={"h": 5e-3})
        self.server = LiveServer(self.connection)
        self.address, self._known, self._watch = "", threading.Event(), watch
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._known.wait(PATIENCE), "the server does not start"

    def _run(self) -> None:
        def ready(address: str) -> None:
            self.address = f"{address.replace('http', 'ws', 1)}live"
            self._watch.thread = threading.get_ident()
            self._known.set()

        asyncio.run(self.server.run("127.0.0.1", 0, ready))

    def close(self) -> str:
        """End the session; return what is wrong with the end."""
        self.connection.close()
        self._thread.join(PATIENCE)
        self._watch.thread = None
        return "the server goes on after its session" if self._thread.is_alive() else ""


@contextmanager
def served(watch: Watch) -> Iterator[Served]:
    """Give a server, and end it."""
    one = Served(watch)
    try:
        yield one
    finally:
        one.close()


def hostile(rng: random.Random) -> str | bytes:
    """Return one message: noise, a mutated request, or a request with a wild value."""
    kind = rng.randrange(6)
    good = dict(rng.choice(GOOD))
    if kind == 0:
        return rng.randbytes(rng.randrange(200))
    if kind == 1:
        return "".join(chr(rng.randrange(1, 0xD7FF)) for _ in range(rng.randrange(100)))
    if kind == 2:
        return rng.choice('[{"') * rng.randrange(LONGEST)
    if kind == 3:
        text = list(json.dumps(good))
        for _ in range(rng.randrange(1, 4)):
            text[rng.randrange(len(text))] = chr(rng.randrange(32, 127))
        return "".join(text)
    if kind == 4:
        good[rng.choice([*good, "path", "__proto__"])] = rng.choice(WILD)
    else:
        for key in [*good][1:]:
            good[key] = rng.choice(WILD)
    return json.dumps(good)


def finite_start(picture: bytes) -> bool:
    """Return whether a picture shows the start of the session in numbers that are finite."""
    end = 4 + int.from_bytes(picture[:4], "little")
    return json.loads(picture[4:end])["step"] == 0 and bool(np.isfinite(np.frombuffer(picture[end:], "<f4")).all())


def judged(seed: int, tally: Tally, one: Served, watch: Watch) -> str:
    """Return what is wrong after one hostile viewer."""
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect as socket_to

    rng = random.Random(seed)
    messages = [hostile(rng) for _ in range(MESSAGES)]
    with socket_to(one.address, max_size=None, max_queue=None) as socket, suppress(ConnectionClosed):
        for message in messages:
            socket.send(message.encode("utf-8", "replace").decode() if isinstance(message, str) else message)
    with socket_to(one.address, max_size=None, max_queue=None) as socket:
        socket.send(json.dumps({"do": "save_results", "path": "x"}))
        while not isinstance(data := socket.recv(timeout=PATIENCE), str) or "save_results" not in data:
            for told in json.loads(data).get("messages", []) if isinstance(data, str) else []:
                if told["kind"] == "failure":
                    return f"the session ended: {told['text']}"
                tally.largest("letters of a sentence", float(len(told["text"])))
        for name in ("pause", "release", "reset"):
            socket.send(json.dumps({"do": name}))
        while isinstance(data := socket.recv(timeout=PATIENCE), str) or not finite_start(data):
            pass
    if watch.seen:
        return f"the server did {watch.seen[0]}"
    if tally.worst.get("letters of a sentence", 0.0) > LONGEST_SENTENCE:
        return "a sentence is longer than a person reads"
    return "the session has ended" if one.connection.ended else ""


def run(cases: int, seed: int) -> Tally:
    """Let ``cases`` hostile viewers look at one session."""
    from websockets.sync.client import connect as socket_to

    watch = Watch()
    with served(watch) as one, socket_to(one.address, max_size=None, max_queue=1, ping_interval=None) as deaf:
        for _ in range(MESSAGES):
            deaf.send(json.dumps({"do": "spectrum", "on": True}))
        return each(lambda case, tally: judged(case, tally, one, watch), cases, seed)


CAMPAIGN = Campaign(
    name="live_requests",
    claim="a hostile viewer of a live page reaches nothing beside the session, which goes on for others",
    full=500,
    bounded=6,
    run=run,
)
