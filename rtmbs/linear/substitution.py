"""Compiled: what solve and multiply do with one front, four own rows at a time (see symbolic for the storage)."""

from numpy import uint64 as at

from rtmbs.jit.compiled import inner_kernel


@inner_kernel
def forward(values, b, order, rest_rows, width, rest, upper, lower):
    """Solve with L of one front: take its own rows out of the rows below, four at a time."""
    stride = width + rest
    for p in range(0, width - 3, 4):
        row, low = upper + p * (stride + 1), lower + p * rest
        x0 = b[at(order[p])]
        x1 = b[at(order[p + 1])] - values[at(row + stride)] * x0
        x2 = b[at(order[p + 2])] - values[at(row + 2 * stride)] * x0 - values[at(row + 2 * stride + 1)] * x1
        x3 = b[at(order[p + 3])] - values[at(row + 3 * stride)] * x0 - values[at(row + 3 * stride + 1)] * x1
        x3 -= values[at(row + 3 * stride + 2)] * x2
        b[at(order[p + 1])], b[at(order[p + 2])], b[at(order[p + 3])] = x1, x2, x3
        for q in range(4, width - p):
            k = row + q * stride
            first, second = values[at(k)] * x0 + values[at(k + 1)] * x1, values[at(k + 2)] * x2 + values[at(k + 3)] * x3
            b[at(order[p + q])] -= first + second
        for j in range(rest):
            k = low + j
            first = values[at(k)] * x0 + values[at(k + rest)] * x1
            second = values[at(k + 2 * rest)] * x2 + values[at(k + 3 * rest)] * x3
            b[at(rest_rows[j])] -= first + second
    for p in range(width - width % 4, width):
        x0 = b[at(order[p])]
        for q in range(p + 1, width):
            b[at(order[q])] -= values[at(upper + q * stride + p)] * x0
        for j in range(rest):
            b[at(rest_rows[j])] -= values[at(lower + p * rest + j)] * x0


@inner_kernel
def backward(values, b, order, rest_rows, width, rest, upper):
    """Solve with U of one front: the last own rows one by one, the others four at a time."""
    stride = width + rest
    whole = width - width % 4
    for p in range(width - 1, whole - 1, -1):
        row = upper + p * stride
        x0 = b[at(order[p])]
        for q in range(p + 1, width):
            x0 -= values[at(row + q)] * b[at(order[q])]
        for j in range(rest):
            x0 -= values[at(row + width + j)] * b[at(rest_rows[j])]
        b[at(order[p])] = x0 * values[at(row + p)]
    for p in range(whole - 4, -1, -4):
        row = upper + p * stride
        x0, x1, x2, x3 = b[at(order[p])], b[at(order[p + 1])], b[at(order[p + 2])], b[at(order[p + 3])]
        for q in range(p + 4, width):
            k, x = row + q, b[at(order[q])]
            x0 -= values[at(k)] * x
            x1 -= values[at(k + stride)] * x
            x2 -= values[at(k + 2 * stride)] * x
            x3 -= values[at(k + 3 * stride)] * x
        for j in range(rest):
            k, x = row + width + j, b[at(rest_rows[j])]
            x0 -= values[at(k)] * x
            x1 -= values[at(k + stride)] * x
            x2 -= values[at(k + 2 * stride)] * x
            x3 -= values[at(k + 3 * stride)] * x
        k = row + p
        x3 *= values[at(k + 3 * stride + 3)]
        x2 = (x2 - values[at(k + 2 * stride + 3)] * x3) * values[at(k + 2 * stride + 2)]
        x1 = (x1 - values[at(k + stride + 2)] * x2 - values[at(k + stride + 3)] * x3) * values[at(k + stride + 1)]
        x0 = x0 - values[at(k + 1)] * x1 - values[at(k + 2)] * x2 - values[at(k + 3)] * x3
        b[at(order[p])], b[at(order[p + 1])] = x0 * values[at(k)], x1
        b[at(order[p + 2])], b[at(order[p + 3])] = x2, x3


@inner_kernel
def subtract_front(original, x, out, scale, scaled, own, rows, width, rest, upper, lower):
    """out -= A x for the entries of one front, four own rows at a time; when ``scaled``, scale += |A| |x| as well."""
    stride = width + rest
    for p in range(0, width, 4):
        last = width - 1 - p  # rows past the last own row repeat it and count for nothing
        q1, q2, q3 = min(1, last), min(2, last), min(3, last)
        i0, i1, i2, i3 = own[at(p)], own[at(p + q1)], own[at(p + q2)], own[at(p + q3)]
        x0, x1 = x[at(i0)], x[at(i1)] if last > 0 else 0.0
        x2, x3 = x[at(i2)] if last > 1 else 0.0, x[at(i3)] if last > 2 else 0.0
        a0 = upper + p * stride
        a1, a2, a3 = a0 + q1 * stride, a0 + q2 * stride, a0 + q3 * stride
        b0 = lower + p * rest
        b1, b2, b3 = b0 + q1 * rest, b0 + q2 * rest, b0 + q3 * rest
        r0 = r1 = r2 = r3 = s0 = s1 = s2 = s3 = 0.0
        for j in range(stride):
            k = own[at(j)] if j < width else rows[at(j - width)]
            y = x[at(k)]
            t0, t1 = original[at(a0 + j)] * y, original[at(a1 + j)] * y
            t2, t3 = original[at(a2 + j)] * y, original[at(a3 + j)] * y
            r0, r1, r2, r3 = r0 + t0, r1 + t1, r2 + t2, r3 + t3
            if scaled:
                s0, s1, s2, s3 = s0 + abs(t0), s1 + abs(t1), s2 + abs(t2), s3 + abs(t3)
        for j in range(rest):
            t0, t1 = original[at(b0 + j)] * x0, original[at(b1 + j)] * x1
            t2, t3 = original[at(b2 + j)] * x2, original[at(b3 + j)] * x3
            k = rows[at(j)]
            out[at(k)] -= (t0 + t1) + (t2 + t3)
            if scaled:
                scale[at(k)] += (abs(t0) + abs(t1)) + (abs(t2) + abs(t3))
        for q in range(min(4, width - p)):
            i = own[p + q]
            out[i] -= r0 if q == 0 else r1 if q == 1 else r2 if q == 2 else r3
            if scaled:
                scale[i] += s0 if q == 0 else s1 if q == 1 else s2 if q == 2 else s3
