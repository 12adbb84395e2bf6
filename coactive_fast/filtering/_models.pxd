# What a filter learns with: the models behind the margins of SPEC 4.
#
# A model answers m = w.x and, where its margin wants it, q = x^T A^-1 x (else 0): the margin of
# all filters is m / (1 + q). `look` may keep work for the `take` of the same x that follows it.

from libc.stdint cimport int64_t

from coactive_fast._table cimport cf_row
from coactive_fast.learner._rows cimport RowBuffer, Rows
from coactive_fast.metric._kept cimport Forms


cdef class Model:
    # Invariants. d = 0: no dimension yet and no memory. learned counts the examples. A call that
    # answers a negative status has changed nothing that can be seen.
    cdef Py_ssize_t d
    cdef int64_t learned

    cdef int start(self, Py_ssize_t d) except -1
    # Scratch for the GIL-free calls on x: `forms` is the caller's.
    cdef int fit(self, const cf_row *x, Forms forms) except -1
    # Doubles of scratch that `read` needs.
    cdef Py_ssize_t scratch(self) noexcept nogil
    # A pure reading: by any number of threads at once.
    cdef int read(self, const cf_row *x, Forms forms, double *scratch, double *m,
                  double *q) noexcept nogil
    # A reading by the one who may change the model.
    cdef int look(self, const cf_row *x, Forms forms, double *m, double *q) noexcept nogil
    # Rows t ... t + count - 1 of X are looked at next, in this order, while the model may learn:
    # work that can be shared is done now, for as many of them as the answer says (at least one).
    # `look_at` is the look at row t + i.
    cdef Py_ssize_t ahead(self, Rows X, Py_ssize_t t, Py_ssize_t count, RowBuffer buffer,
                          Forms forms) noexcept nogil
    cdef int look_at(self, Py_ssize_t i, const cf_row *x, Forms forms, double *m,
                     double *q) noexcept nogil
    # Whether `take` of x can do without `make_room`.
    cdef bint has_room(self, const cf_row *x, Forms forms) noexcept nogil
    cdef int make_room(self, const cf_row *x, Forms forms) except -1
    # Learns x with y = +-1; m and q are those of the look at x just before.
    cdef int take(self, const cf_row *x, Forms forms, double y, double m, double q) noexcept nogil
    # ln det A - ln det(ridge I), for the rule "ucb".
    cdef double information(self) noexcept nogil
    # The sum of what a budget has left out.
    cdef double left_out(self) noexcept nogil
    # Raises what says more than the status, where there is that: a user's kernel's own error.
    cdef int raise_error(self, int status) except -1
    cdef bint busy(self) noexcept nogil      # a reading takes long enough to let the GIL go
    cdef int adopt(self, Model other) except -1
    cdef dict extra(self)
    cdef int take_extra(self, dict state) except -1


cdef class Share(Model):
    cdef int64_t relevant


cdef class Perceptron(Model):
    cdef double *w             # d, owned
    cdef double *next          # room for the entries of one row


cdef class Diagonal(Model):
    # A = scale diag(a). sums = sum ln(a / ridge).
    cdef double ridge, forget
    cdef bint projected        # P2 on the unit ball after each step
    cdef double scale, sums
    cdef double *a             # d, owned; w, a_next, w_next follow in the same block
    cdef double *w
    cdef double *a_next
    cdef double *w_next

    cdef int step(self, const cf_row *x, double y, double m, double q) noexcept nogil
    cdef double growth(self, const cf_row *x) noexcept nogil
    cdef void fold(self) noexcept nogil


# m = w.x; refused where x.x overflows, whatever w is.
cdef int linear(const cf_row *x, const double *w, double *m) noexcept nogil

cdef double *taken(Py_ssize_t count, str what) except NULL
cdef int load(double *to, dict state, str name, Py_ssize_t n) except -1
cdef object copied(const double *values, Py_ssize_t n)
