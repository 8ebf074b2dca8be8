"""Worker thread that runs jobs one after the other.

An interrupt may come between any two instructions of the main thread. A lock that is taken there may then stay
taken, and the next job of an executor would wait for ever. Here the main thread only puts into a ``SimpleQueue``, made
for that, and looks at a flag.
"""

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")
LOOK = 1e-4  # [s] between two looks at a flag
PAUSE = 1e-6  # [s] long enough for the system to let another thread run


class Job(Generic[T]):
    """A call, and what came of it."""

    def __init__(self, call: Callable[[], T]) -> None:
        self.call = call
        self.value: T | None = None
        self.error: BaseException | None = None
        self.done = False

    def run(self) -> None:
        """Make the call, and keep its value or its error."""
        try:
            self.value = self.call()
        except BaseException as error:  # noqa: BLE001 - it comes out where the job is waited for
            self.error = error
        self.done = True

    def result(self) -> T:
        """Return the value of a job that is done, or raise its error."""
        if self.error is not None:
            raise self.error
        assert self.value is not None
        return self.value


def give_way() -> None:
    """Let a thread go on that waits for the interpreter.

    A step ends in compiled code that runs beside this thread. Its thread would then wait 5 ms, the switch interval of
    the interpreter, which is many steps.
    """
    time.sleep(PAUSE)


def serve(jobs: "SimpleQueue[Job[object] | None]") -> None:
    """Do the jobs that come, until None does."""
    while (job := jobs.get()) is not None:
        job.run()


class WriterThread:
    """The thread; it holds nothing but its queue, and ends with the process."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Job[object] | None] = SimpleQueue()
        self.thread = threading.Thread(target=serve, args=(self.jobs,), daemon=True)
        self.thread.start()

    def submit(self, call: Callable[[], T]) -> Job[T]:
        """Let a call be made after all others."""
        job: Job[T] = Job(call)
        self.jobs.put(job)  # type: ignore[arg-type]
        return job

    def wait(self, job: Job[T]) -> T:
        """Wait for a job; return its value, or raise its error."""
        while not job.done:
            if not self.thread.is_alive():  # the interpreter is about to end
                job.run()
            time.sleep(LOOK)
        return job.result()

    def end(self) -> None:
        """Wait for all jobs, and end the thread."""
        if self.thread.is_alive():
            self.wait(self.submit(lambda: True))
            self.jobs.put(None)
