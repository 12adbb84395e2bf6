"""What the engines of all families share; see _engine.pxd."""

from cpython.exc cimport PyErr_CheckSignals

from coactive_fast._guard cimport Guard

cdef extern from "<time.h>" nogil:
    """
    /* seconds of the C11 clock; what matters is differences of some hundredths */
    static double cf_seconds(void)
    {
        struct timespec t;
        timespec_get(&t, TIME_UTC);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    }
    """
    double cf_seconds()

cdef double PAUSE = 0.02  # seconds between two looks at signals: a fifth of what a Ctrl-C may take


cdef class Engine:
    def __cinit__(self):
        self.guard = Guard()


cdef class Ticker:
    """Pauses of a long run.

    Parameters
    ----------
    report : callable(done, total) or None
    total : int
        Rounds of the whole run.
    """

    def __init__(self, report, Py_ssize_t total):
        self.report = report
        self.total = total
        self.last = cf_seconds()

    cdef bint due(self) noexcept nogil:
        cdef double now = cf_seconds()
        return now - self.last >= PAUSE or now < self.last  # a clock set back counts as due

    cdef int pause(self, Py_ssize_t done) except -1:
        """Signals and the report; raises what they raise."""
        PyErr_CheckSignals()
        if self.report is not None:
            self.report(done, self.total)
        self.last = cf_seconds()
        return 0
