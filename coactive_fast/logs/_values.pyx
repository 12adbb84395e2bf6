"""What estimators sum up over the rounds of a log, without the GIL.

The long sums are compensated (Neumaier 1974), so that no digit depends on how long the log is.
"""

import numpy

cimport cython
cimport numpy as np
from libc.math cimport NAN, fabs, log, sqrt
from libc.stdint cimport int64_t

from coactive_fast._arrays cimport data_of, new_vector
from coactive_fast._table cimport CF_ENOMEM, CF_OK, cf_get_table, cf_row, cf_table
from coactive_fast.rows._rows cimport RowBuffer, Rows, rows_of, write_out

np.import_array()

cdef const cf_table *K = cf_get_table()

cdef double NEAR = 1e-4        # by which the probabilities of a round may miss 1: sums of float32


cdef struct Sum:
    double high, low


cdef inline void add(Sum *sum, double x) noexcept nogil:
    cdef double high = sum.high + x
    if fabs(sum.high) >= fabs(x):
        sum.low += (sum.high - high) + x
    else:
        sum.low += (x - high) + sum.high
    sum.high = high


def total(np.ndarray x):
    """The sum of a vector of float64."""
    cdef Sum sum
    cdef Py_ssize_t t, n = np.PyArray_DIM(x, 0)
    sum.high = sum.low = 0.0
    with nogil:
        for t in range(n):
            add(&sum, data_of(x)[t])
    return sum.high + sum.low


def effective_size(np.ndarray w):
    """``(sum w)^2 / sum w^2``; 0 where all are 0. Scaled by the largest: no square overflows."""
    cdef Sum once, twice
    cdef Py_ssize_t t, n = np.PyArray_DIM(w, 0)
    cdef double most = 0.0, x
    once.high = once.low = twice.high = twice.low = 0.0
    with nogil:
        for t in range(n):
            most = max(most, data_of(w)[t])
        for t in range(n if most > 0.0 else 0):
            x = data_of(w)[t] / most
            add(&once, x)
            add(&twice, x * x)
    return (once.high + once.low) ** 2 / (twice.high + twice.low) if most > 0.0 else 0.0


def error_of_mean(np.ndarray z, np.ndarray code, Py_ssize_t groups):
    """``sqrt(G / (G - 1) sum S^2) / n``, S the sums of z less its mean over G groups.

    Parameters
    ----------
    z : ndarray of float64
    code : ndarray of intp or None
        The number of each one's group; None: each its own.
    groups : int
        G.
    """
    cdef Sum squares
    cdef Py_ssize_t t, n = np.PyArray_DIM(z, 0), count = n if code is None else groups
    cdef double mean = total(z) / n
    cdef np.ndarray sums = None if code is None else <np.ndarray>numpy.zeros(groups)
    cdef double apart
    if count < 2:
        return NAN
    squares.high = squares.low = 0.0
    with nogil:
        if code is None:
            for t in range(n):
                apart = data_of(z)[t] - mean
                add(&squares, apart * apart)
        else:
            for t in range(n):
                data_of(sums)[(<const Py_ssize_t *>np.PyArray_DATA(code))[t]] += (
                    data_of(z)[t] - mean)
            for t in range(count):
                apart = data_of(sums)[t]
                add(&squares, apart * apart)
    return sqrt(<double>count / (count - 1) * (squares.high + squares.low)) / n


def take_law(np.ndarray law, np.ndarray offsets, Py_ssize_t first, np.ndarray chosen,
             np.ndarray taken):
    """The probability of the logged action of some rounds.

    Parameters
    ----------
    law : ndarray of float64
        Of all actions of these rounds; each round's must sum to 1.
    offsets : ndarray of int64
        The ends of these rounds in the log, one more than there are rounds.
    first : int
        The number of the first of them.
    chosen : ndarray of int64
    taken : ndarray of float64
        Written to.
    """
    cdef const int64_t *ends = <const int64_t *>np.PyArray_DATA(offsets)
    cdef const int64_t *choice = <const int64_t *>np.PyArray_DATA(chosen)
    cdef const double *p = data_of(law)
    cdef Py_ssize_t n = np.PyArray_DIM(chosen, 0), t, i, count, bad = -1
    cdef double sum
    cdef bint good
    with nogil:
        for t in range(n):
            count, sum, good = ends[t + 1] - ends[t], 0.0, True
            for i in range(count):
                good = good and p[i] >= 0.0
                sum += p[i]
            if not (good and fabs(sum - 1.0) <= NEAR):
                bad = t
                break
            data_of(taken)[t] = p[choice[t]]
            p += count
    if bad >= 0:
        begin = ends[bad] - ends[0]
        raise ValueError("policy must give probabilities that sum to 1 in every round, got "
                         f"{law[begin:begin + ends[bad + 1] - ends[bad]]} in round {first + bad}")


# --- at all times -----------------------------------------------------------------------------

cdef double DOUBT = log(40.0)  # ln(2 / 0.05): both ends together fail with 0.05 at the most


cdef struct Stream:
    double mean, variance, best, sum, squares, gained, lost, bets


cdef inline double below(Stream *s, double x, Py_ssize_t i, double log_next) noexcept nogil:
    """The lower end after the i-th term x >= 0."""
    cdef double bet = min(0.5, sqrt(2.0 * DOUBT / (s.variance * i * log_next)))
    cdef double apart = x - s.mean, gain
    s.gained += bet * x
    s.lost += (K.log1p_one(bet / (1.0 - bet)) - bet) * (apart * apart)
    s.bets += bet
    gain = s.gained - DOUBT - s.lost
    if gain > s.best * s.bets:
        s.best = gain / s.bets
    s.sum += x
    s.mean = min(1.0, (0.5 + s.sum) / (i + 1))
    apart = x - s.mean
    s.squares += apart * apart
    s.variance = (0.25 + s.squares) / (i + 1)
    return s.best


@cython.final
cdef class Sequence:
    """The value after each round, and the predictable empirical-Bernstein sequence around it.

    Parameters
    ----------
    n : int
        Rounds.
    a, b : float
        The range of rewards; NaN: there is none to go by.
    """

    cdef readonly np.ndarray value, lower, upper
    cdef Stream low, high
    cdef double a, b, earned
    cdef Py_ssize_t i

    def __init__(self, Py_ssize_t n, double a, double b):
        self.value, self.lower, self.upper = new_vector(n), new_vector(n), new_vector(n)
        self.a, self.b, self.i, self.earned = a, b, 0, 0.0
        self.low.mean, self.low.variance = 0.5, 0.25
        self.low.best = self.low.sum = self.low.squares = 0.0
        self.low.gained = self.low.lost = self.low.bets = 0.0
        self.high = self.low

    def advance(self, np.ndarray w, np.ndarray reward):
        """Some rounds more: their weights and their rewards."""
        cdef Py_ssize_t t, n = np.PyArray_DIM(w, 0)
        with nogil:
            for t in range(n):
                self.step(data_of(w)[t], data_of(reward)[t], self.i)
                self.i += 1

    cdef void step(self, double w, double r, Py_ssize_t i) noexcept nogil:
        cdef double size = self.b - self.a, part, log_next
        self.earned += w * r
        data_of(self.value)[i] = self.earned / (i + 1)
        if not size > 0.0:
            data_of(self.lower)[i] = data_of(self.upper)[i] = NAN
            return
        part, log_next = (r - self.a) / size, K.log_one(i + 2.0)
        data_of(self.lower)[i] = self.a + size * below(&self.low, w * part, i + 1, log_next)
        data_of(self.upper)[i] = self.a + size * (
            1.0 - below(&self.high, w * (1.0 - part), i + 1, log_next))


# --- what a regression expects ----------------------------------------------------------------


@cython.final
cdef class Expected:
    """What a linear model of each fold expects of the actions in a log.

    Parameters
    ----------
    log : BanditLog
    fold : ndarray of intp
        Of every round.
    weights : ndarray of float64, shape (folds, (p + 1) d)
        Block 0 goes with the features of an action, block j with c_j times them.
    """

    cdef Rows actions, contexts
    cdef RowBuffer row, told, blend
    cdef np.ndarray offsets, chosen, fold, weights

    def __init__(self, log, np.ndarray fold, np.ndarray weights):
        self.actions = rows_of(log.features, "features")
        self.contexts = None if log.context is None else rows_of(log.context, "context")
        self.offsets, self.chosen, self.fold, self.weights = log.offsets, log.chosen, fold, weights
        self.row, self.told, self.blend = RowBuffer(), RowBuffer(), RowBuffer()
        self.row.fit(self.actions.most)
        self.blend.fit(self.actions.d)
        if self.contexts is not None:
            self.told.fit(self.contexts.d)

    def fill(self, Py_ssize_t first, np.ndarray law, np.ndarray mean, np.ndarray taken):
        """``sum_a law(a) f(a)`` and f of the logged action, from round `first` on; law has one
        number a row of as many rounds as there is room for in `mean`."""
        cdef Py_ssize_t n = np.PyArray_DIM(mean, 0), t
        cdef const double *p = data_of(law)
        cdef int status = CF_OK
        with nogil:
            for t in range(n):
                status = self.expect(self.actions, first + t, p, data_of(mean) + t,
                                     data_of(taken) + t)
                if status != CF_OK:
                    break
                p += self.end(first + t + 1) - self.end(first + t)
        if status != CF_OK:
            raise MemoryError("a row to be sorted")

    cdef Py_ssize_t end(self, Py_ssize_t t) noexcept nogil:
        return (<const int64_t *>np.PyArray_DATA(self.offsets))[t]

    cdef int expect(self, Rows actions, Py_ssize_t t, const double *law, double *mean,
                    double *taken) noexcept nogil:
        cdef Py_ssize_t first = self.end(t), i
        cdef const double *w = self.blended(t)
        cdef cf_row row
        cdef double f, sum = 0.0
        if w == NULL:
            return CF_ENOMEM
        for i in range(self.end(t + 1) - first):
            if not actions.at(first + i, self.row, &row):
                return CF_ENOMEM
            f = K.ridge_dot(&row, w)
            sum += law[i] * f
            if i == (<const int64_t *>np.PyArray_DATA(self.chosen))[t]:
                taken[0] = f
        mean[0] = sum
        return CF_OK

    cdef const double *blended(self, Py_ssize_t t) noexcept nogil:
        """The weights of round t's fold, its context contracted out of them."""
        cdef Py_ssize_t fold = (<const Py_ssize_t *>np.PyArray_DATA(self.fold))[t], j
        cdef Py_ssize_t d = self.actions.d
        cdef const double *w = data_of(self.weights) + fold * np.PyArray_DIM(self.weights, 1)
        cdef cf_row row
        if self.contexts is None:
            return w
        if not self.contexts.at(t, self.told, &row):
            return NULL
        write_out(&row, self.told)
        for j in range(d):
            self.blend.value[j] = w[j]
        for j in range(self.contexts.d):
            K.axpy(d, row.value[j], w + (j + 1) * d, self.blend.value)
        return self.blend.value
