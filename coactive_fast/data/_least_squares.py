"""Least squares over many rows, without a second copy of them."""

import numpy as np
import scipy.linalg


def least_squares(rows, targets, step=None):
    """The shortest w that minimises ``||rows @ w - targets||``, in float64.

    R of a QR factorisation is carried from block to block: its cost is 2 rows columns^2 flops, and
    unlike the normal equations it does not square the condition. Singular values below
    ``eps * max(rows.shape)`` times the largest count as zero, as in `numpy.linalg.lstsq`; where R's
    condition is far from that, nobody asks for them and R is solved as it is. A block has `step`
    rows; None: so many that what is carried is a small part of it.
    """
    n, d = rows.shape
    r = _triangle(rows, targets, max(4 * (d + 1), 1024) if step is None else step)
    if not np.isfinite(r).all():  # mapped from a damaged file, or too large
        raise ValueError("features and relevance must be finite, and their norms too")
    cond = np.finfo(np.float64).eps * max(n, d)
    if len(r) > d and hasattr(scipy.linalg.lapack, "dtrcon"):  # not in old versions
        square = np.asfortranarray(r[:d, :d])
        if scipy.linalg.lapack.dtrcon(square)[0] > 100.0 * d * cond:
            return scipy.linalg.lapack.dtrtrs(square, r[:d, d])[0]
    w, *_ = scipy.linalg.lstsq(r[:, :d], r[:, d], cond=cond, check_finite=False)
    return w


def _triangle(rows, targets, step):
    """R of ``[rows, targets]``: at most columns + 1 rows."""
    n, d = rows.shape
    geqrf, geqrf_lwork = scipy.linalg.get_lapack_funcs(("geqrf", "geqrf_lwork"))
    best, _ = geqrf_lwork(step + d + 1, d + 1)  # with its default LAPACK would go by single columns
    work = np.empty((min(n, step + d + 1), d + 1), order="F")
    carried = done = 0
    while done < n:
        new = min(len(work) - carried, n - done)
        block = work[:carried + new] if carried + new == len(work) else \
            np.asfortranarray(work[:carried + new])
        block[carried:, :d] = rows[done:done + new]
        block[carried:, d] = targets[done:done + new]
        factored, *_, info = geqrf(block, lwork=int(best), overwrite_a=1)
        if info:
            raise np.linalg.LinAlgError(f"geqrf answers {info}")
        r = np.triu(factored[:d + 1])
        carried, done = len(r), done + new
        work[:carried] = r
    return r
