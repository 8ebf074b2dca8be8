"""Steps of one thread beside the others in one kernel: messages in shared memory, a counter between the stages."""

from rtmbs.jit.compiled import kernel
from rtmbs.jit.intrinsics import count_up, give_way, read
from rtmbs.recursive.part_kernels import backward_part, forward_part, take_stage

PATIENT = 2000  # looks at the counter before the core is offered to others: some microseconds


@kernel
def march_part(
    threads, epoch, count, h, kutta, counter, tables, cuts, border, rows, layout, R0, u, none, red, ws, cut_ws, sc,
    row_sc, z, zd, sums, mine, others, mine_next, others_next,
):  # fmt: skip
    """Take ``count`` steps of ``h``; returns the status of ``forward_part``, the same on all threads.

    ``epoch`` evaluations were counted before. Messages alternate between two places: who writes one of them knows by
    the counter that all have read what stood there. kutta (4, 2) has the weight of each stage and the way to the next.
    """
    for step in range(4 * count):
        stage, even = step % 4, (epoch + step) % 2 == 0
        message, messages = (mine, others) if even else (mine_next, others_next)
        backward_part(tables, border, layout, R0, u, none, red, ws, sc, message)
        count_up(counter)
        looks = 0
        while read(counter) < threads * (epoch + step + 1):
            looks += 1
            if looks > PATIENT:
                give_way()
        status = forward_part(tables, cuts, border, rows, layout, u, messages, red, ws, cut_ws, sc, row_sc)
        if status:
            return status
        take_stage(tables.dofs, h, kutta[stage, 0], kutta[stage, 1], 1 if stage == 3 else 0, z, zd, R0, sums, ws, sc)
    return 0
