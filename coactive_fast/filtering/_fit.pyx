"""What margins have meant; see _fit.pxd."""

import numpy

cimport numpy as np
from libc.stddef cimport size_t
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport data_of, new_doubles
from coactive_fast._table cimport cf_get_library, cf_library
from coactive_fast.learner._state cimport State, vector_of

np.import_array()

cdef const cf_library *L = cf_get_library()


cdef class Fit:
    """Isotonic regression of the labels learned on their margins (pool adjacent violators: Ayer,
    Brunk, Ewing, Reid and Silverman, "An empirical distribution function for sampling with
    incomplete information", 1955), linear between its knots and constant beyond.

    An example is noted in O(1), 16 bytes; the fit is made when it is asked for (32 bytes more).
    """

    def __dealloc__(self):
        L.free(self.margin)
        L.free(self.knot)

    cdef bint has_room(self) noexcept nogil:
        return self.n < self.room

    cdef int make_room(self) except -1:
        if self.n < self.room:
            return 0
        return self.take_room(self.room + self.room // 2 + 64)

    cdef int take_room(self, Py_ssize_t room) except -1:
        cdef double *block = new_doubles(2, room, f"the margins of {room} learned examples")
        if self.n:
            memcpy(block, self.margin, <size_t>self.n * sizeof(double))
            memcpy(block + room, self.label, <size_t>self.n * sizeof(double))
        L.free(self.margin)
        self.margin, self.label, self.room = block, block + room, room
        return 0

    cdef void add(self, double margin, bint relevant) noexcept nogil:
        self.margin[self.n], self.label[self.n] = margin, 1.0 if relevant else 0.0
        self.n += 1

    cdef void clear(self) noexcept:
        self.n = self.fitted = self.knots = 0

    # --- the fit ------------------------------------------------------------------------------

    cdef int refresh(self) except -1:
        cdef np.ndarray margins, labels
        cdef double *block
        if self.fitted == self.n:
            return 0
        if self.knot_room < self.n:
            block = new_doubles(4, self.room, f"the fit of {self.n} learned examples")
            L.free(self.knot)
            self.knot, self.value, self.knot_room = block, block + self.room, self.room
            self.weight, self.span = block + 2 * self.room, block + 3 * self.room
        margins, labels = vector_of(self.margin, self.n), vector_of(self.label, self.n)
        order = numpy.argsort(margins, kind="stable")  # O(n) where all but the last are in order
        margins, labels = margins[order], labels[order]
        memcpy(self.margin, data_of(margins), <size_t>self.n * sizeof(double))
        memcpy(self.label, data_of(labels), <size_t>self.n * sizeof(double))
        with nogil:
            self.pool()
        self.fitted = self.n
        return 0

    cdef void pool(self) noexcept nogil:
        """Equal margins are one knot; where the mean of a pool of knots is not above that of the
        one before, the two become one. Pools stand at the front of value (sums), weight and span
        (knots), and are then written out from the back."""
        cdef Py_ssize_t i, k = 0, last = -1
        cdef double mean
        for i in range(self.n):
            if k and self.knot[k - 1] == self.margin[i]:
                self.value[k - 1] += self.label[i]
                self.weight[k - 1] += 1.0
            else:
                self.knot[k], self.value[k], self.weight[k] = self.margin[i], self.label[i], 1.0
                k += 1
        self.knots = k
        for i in range(k):
            last += 1
            self.value[last], self.weight[last] = self.value[i], self.weight[i]
            self.span[last] = 1.0
            while last and (self.value[last - 1] * self.weight[last]
                            >= self.value[last] * self.weight[last - 1]):
                last -= 1
                self.value[last] += self.value[last + 1]
                self.weight[last] += self.weight[last + 1]
                self.span[last] += self.span[last + 1]
        while last >= 0:
            mean = self.value[last] / self.weight[last]
            for i in range(<Py_ssize_t>self.span[last]):
                k -= 1
                self.value[k] = mean
            last -= 1

    cdef double at(self, double margin) noexcept nogil:
        cdef Py_ssize_t low = 0, high = self.knots - 1, middle
        cdef double part
        if high < 0:
            return min(max((1.0 + margin) / 2.0, 0.0), 1.0)
        if margin <= self.knot[0]:
            return self.value[0]
        if margin >= self.knot[high]:
            return self.value[high]
        while high - low > 1:  # knot[low] < margin < knot[high], or it is one of the two
            middle = (low + high) // 2
            if self.knot[middle] <= margin:
                low = middle
            else:
                high = middle
        part = (margin - self.knot[low]) / (self.knot[high] - self.knot[low])
        return self.value[low] + part * (self.value[high] - self.value[low])

    # --- state --------------------------------------------------------------------------------

    cdef dict told(self):
        """In the order of the margins, so that a reading before does not show."""
        cdef np.ndarray margins = vector_of(self.margin, self.n)
        cdef np.ndarray labels = vector_of(self.label, self.n)
        order = numpy.lexsort((labels, margins))
        return {"margins": margins[order], "relevant": labels[order].astype(numpy.int64)}

    @staticmethod
    cdef Fit restored(State state, Py_ssize_t learned):
        cdef Fit fit = Fit()
        cdef np.ndarray margins = state.vector("margins", learned)
        cdef np.ndarray labels = state.counts("relevant", learned, 0, 1)
        cdef Py_ssize_t i
        fit.take_room(learned + 64)
        for i in range(learned):
            fit.add(data_of(margins)[i], (<const int64_t *>np.PyArray_DATA(labels))[i])
        return fit
