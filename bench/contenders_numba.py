"""The contenders that numba compiles: plain loops as one writes them, with fastmath.

Imported only where numba is installed; see `contenders.have`.
"""

import numba as nb


@nb.njit
def top_k_insertion(scores, k, values, places):
    """A sorted list of the k best so far."""
    filled = 0
    for i in range(scores.size):
        value = scores[i]
        if filled == k and not value > values[k - 1]:
            continue
        p = min(filled, k - 1)
        filled = min(filled + 1, k)
        while p > 0 and values[p - 1] < value:
            values[p], places[p] = values[p - 1], places[p - 1]
            p -= 1
        values[p], places[p] = value, i


@nb.njit(fastmath=True)
def rank(rows, w, k, scores, values, places):
    n, d = rows.shape
    for i in range(n):
        s = w.dtype.type(0)
        for j in range(d):
            s += rows[i, j] * w[j]
        scores[i] = s
    top_k_insertion(scores, k, values, places)


@nb.njit
def rank_loop(queries, w, k, scores, values, places, at, rounds):
    for t in range(at, at + rounds):
        rank(queries[t], w, k, scores, values, places)


@nb.njit(fastmath=True)
def update_full(inverse, x, v, c):
    d = x.shape[0]
    for i in range(d):
        s = 0.0
        for j in range(d):
            s += inverse[i, j] * x[j]
        v[i] = s
    q = 0.0
    for j in range(d):
        q += x[j] * v[j]
    f = 1.0 / (1.0 / c + q)
    for i in range(d):
        g = -f * v[i]
        for j in range(d):
            inverse[i, j] += g * v[j]
    return q


@nb.njit(fastmath=True)
def update_lower(inverse, x, v, c):
    """Every element of the triangle serves its row and its column."""
    d = x.shape[0]
    for i in range(d):
        s = 0.0
        xi = x[i]
        for j in range(i):
            b = inverse[i, j]
            s += b * x[j]
            v[j] += b * xi
        v[i] = s + inverse[i, i] * xi
    q = 0.0
    for j in range(d):
        q += x[j] * v[j]
    f = 1.0 / (1.0 / c + q)
    for i in range(d):
        g = -f * v[i]
        for j in range(i + 1):
            inverse[i, j] += g * v[j]
    return q


@nb.njit
def loop_full(inverse, rows, v, c, at, rounds):
    for t in range(at, at + rounds):
        update_full(inverse, rows[t % rows.shape[0]], v, c)


@nb.njit
def loop_lower(inverse, rows, v, c, at, rounds):
    for t in range(at, at + rounds):
        update_lower(inverse, rows[t % rows.shape[0]], v, c)


@nb.njit(fastmath=True)
def project_scores(z, q, total, v, kept):
    """Condat's filter (a running bound drops most entries), then Michelot's passes."""
    n = z.shape[0]
    kept[0] = 0
    m, sum_z, sum_q = 1, z[0], q[0]
    lam = (total - sum_z) / sum_q
    for i in range(1, n):
        if z[i] + lam * q[i] > 0.0:
            kept[m] = i
            m += 1
            sum_z += z[i]
            sum_q += q[i]
            lam = (total - sum_z) / sum_q
    while True:
        left, sum_z, sum_q = 0, 0.0, 0.0
        for r in range(m):
            i = kept[r]
            if z[i] + lam * q[i] > 0.0:
                kept[left] = i
                left += 1
                sum_z += z[i]
                sum_q += q[i]
        if left == m:
            break
        m = left
        lam = (total - sum_z) / sum_q
    for i in range(n):
        t = z[i] + lam * q[i]
        v[i] = t if t > 0.0 else 0.0
    return lam
