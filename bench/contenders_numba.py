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


@nb.njit
def _insert(list_, filled, values, i):
    k = list_.size
    if filled == k and not values[i] > values[list_[k - 1]]:
        return filled
    p = min(filled, k - 1)
    while p > 0 and values[list_[p - 1]] < values[i]:
        list_[p] = list_[p - 1]
        p -= 1
    list_[p] = i
    return min(filled + 1, k)


@nb.njit(fastmath=True)
def _products(x, w, out, top):
    filled = 0
    for i in range(x.shape[0]):
        s = w.dtype.type(0)
        for j in range(x.shape[1]):
            s += x[i, j] * w[j]
        out[i] = s
        filled = _insert(top, filled, out, i)


@nb.njit(fastmath=True)
def _improve(x, shown, better, discount, w):
    for p in range(shown.size):
        a, b = shown[p], better[p]
        if a != b:
            for j in range(w.size):
                w[j] += discount[p] * (x[b, j] - x[a, j])


@nb.njit
def coactive_given(queries, best, w, discount, scores, shown, at, rounds):
    """Preference Perceptron, the feedback known beforehand."""
    for t in range(at, at + rounds):
        _products(queries[t], w, scores, shown)
        _improve(queries[t], shown, best[t], discount, w)


@nb.njit
def _gain(values, ranking, discount):
    s = 0.0
    for p in range(ranking.size):
        s += discount[p] * values[ranking[p]]
    return s


@nb.njit
def coactive_alpha(queries, truth, w, discount, alpha, scores, utility, shown, best, better, at,
                   rounds):
    """Preference Perceptron and an alpha-informative user; the regret is returned."""
    regret = 0.0
    for t in range(at, at + rounds):
        x = queries[t]
        _products(x, w, scores, shown)
        _products(x, truth, utility, best)
        now, top = _gain(utility, shown, discount), _gain(utility, best, discount)
        regret += top - now
        filled = 0
        for p in range(shown.size):
            filled = _insert(better, filled, utility, shown[p])
        last = shown[-1]
        while _gain(utility, better, discount) - now < alpha * (top - now):
            found = -1
            for i in range(scores.size):
                if utility[i] > utility[better[-1]] and (
                        scores[i] < scores[last] or (scores[i] == scores[last] and i > last)):
                    if found < 0 or scores[i] > scores[found]:
                        found = i
            if found < 0:
                break
            last = found
            _insert(better, filled, utility, found)
        _improve(x, shown, better, discount, w)
    return regret
