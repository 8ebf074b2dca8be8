"""``mpiexec -n N python -m bench.recursion.worker WHAT [NUMBER ...]``: one rank of a measurement; rank 0 prints."""

import json
import sys

from bench.recursion import growth, slider_crank, two_hosts
from rtmbs.recursive.motion import world


def main() -> None:
    """Run the requested measurements."""
    what, *numbers = sys.argv[1:]
    if what == "growth":
        answer = growth.of_ranks([int(k) for k in numbers] or growth.SIZES)
    elif what == "threads":
        answer = growth.of_threads([int(k) for k in numbers[1:]] or growth.SIZES, int(numbers[0]))
    elif what == "latency":
        answer = growth.of_exchange()
    elif what == "addresses":
        answer = two_hosts.addresses()
    elif what == "steps":
        answer = slider_crank.of_steps(*map(float, numbers))
    else:
        answer = slider_crank.of_ranks(float(numbers[0]))
    if world().rank == 0:
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
