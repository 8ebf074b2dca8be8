"""Ranks as threads of one process, which need no launcher, and count their messages."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier


class Meeting:
    """The place where ranks meet."""

    def __init__(self, ranks):
        self.barrier, self.ranks, self.told, self.shares = Barrier(ranks), ranks, [None] * ranks, 0

    def exchanged(self, rank, mine):
        """Return the contributions of all ranks."""
        self.told[rank] = mine
        self.barrier.wait()
        found = list(self.told)
        self.barrier.wait()
        return found


class MeetingRank:
    """A rank, as an Exchange that counts its messages and their numbers."""

    def __init__(self, meeting, rank):
        self.meeting, self.rank, self.ranks, self.messages, self.numbers = meeting, rank, meeting.ranks, 0, 0

    def share(self, message, messages):
        self.messages, self.numbers = self.messages + 1, self.numbers + len(message)
        for row, other in zip(messages, self.meeting.exchanged(self.rank, message.copy()), strict=True):
            row[:] = other

    def together(self, mine):
        return self.meeting.exchanged(self.rank, mine)


def on_ranks(count, work):
    """Return what ``work(exchange)`` answers on every rank."""
    meeting = Meeting(count)

    def called(rank):
        try:
            return work(MeetingRank(meeting, rank))
        except BaseException:
            meeting.barrier.abort()
            raise

    with ThreadPoolExecutor(count) as pool:
        calls = [pool.submit(called, rank) for rank in range(count)]
        errors = [call.exception() for call in calls]
    if any(errors):
        raise next((one for one in errors if type(one).__name__ != "BrokenBarrierError" and one), errors[0])
    return [call.result() for call in calls]
