# Feasible sets as the engines see them; part of _rules.pyx; see _rules.pxd and cf_region.h.

cdef double UNIT = 1e-9  # how far from 1 rounding may take the length of a direction
cdef double NEAR = 1e-6  # relative to a point: how far outside its set it may have been written


cdef double unit(Py_ssize_t n, double *v) noexcept nogil:
    """Scales v to length 1; returns the length it had, and leaves v where that is 0."""
    cdef double norm = sqrt(K.dot(n, v, v)), scale
    cdef Py_ssize_t i
    if norm > 0.0:
        scale = 1.0 / norm
        for i in range(n):
            v[i] *= scale
    return norm


cdef bint is_unit(Py_ssize_t n, const double *v) noexcept nogil:
    return fabs(sqrt(K.dot(n, v, v)) - 1.0) <= UNIT


cdef void fill_square(const double *triangle, np.ndarray out) noexcept:
    """Both halves of a symmetric matrix in panels."""
    cdef Py_ssize_t n = np.PyArray_DIM(out, 0), i, j
    cdef cf_triangle b
    b.data, b.n, b.ld = <double *>triangle, n, 0
    for i in range(n):
        for j in range(i + 1):
            data_of(out)[i * n + j] = data_of(out)[j * n + i] = cf_triangle_row(&b, i)[j]


cdef class Region:
    cdef int project(self, const double *z, double *w) noexcept nogil:
        return CF_EVALUE

    cdef int prepare(self) except -1:
        return 0

    cdef int newton(self, cf_full *A, double gain, const double *g, const double *y, double *w,
                    double *lam, signed char *face) noexcept nogil:
        return CF_EVALUE

    cdef bint holds(self, const double *z, double *scratch) noexcept nogil:
        return True

    cdef int draw(self, Chance chance, double *v) noexcept nogil:
        return CF_EVALUE


cdef class BuiltIn(Region):
    """One of the sets of this package: everything in C."""

    def __cinit__(self):
        self.scratch = self.room = NULL

    def __init__(self, Py_ssize_t n, cf_region_kind kind, double total, *, double floor=0.0,
                 span=None):
        self.n = n
        self.compiled = True
        self.set.n, self.set.kind, self.set.total, self.set.floor = n, kind, total, floor
        if span is not None:
            self.lower, self.upper = (numpy.array(limit) for limit in span)
            self.set.lower, self.set.upper = data_of(self.lower), data_of(self.upper)
        self.ones = <np.ndarray>numpy.ones(n)
        self.scratch = <double *>take_scratch(L.region_scratch(n), sizeof(double))

    def __dealloc__(self):
        L.free(self.scratch)
        L.free(self.room)

    cdef int prepare(self) except -1:
        if self.room == NULL:
            self.room = <double *>take_scratch(L.region_newton_scratch(self.n), sizeof(double))
        return 0

    cdef int project(self, const double *z, double *w) noexcept nogil:
        return L.region_project(&self.set, K, z, w, self.scratch)

    cdef int newton(self, cf_full *A, double gain, const double *g, const double *y, double *w,
                    double *lam, signed char *face) noexcept nogil:
        return L.region_newton(&self.set, A, K, gain, g, y, w, lam, face, self.room)

    cdef bint holds(self, const double *z, double *scratch) noexcept nogil:
        cdef double largest = 1.0
        cdef Py_ssize_t i
        if self.project(z, scratch) != CF_OK:
            return False
        for i in range(self.n):
            largest = max(largest, fabs(z[i]))
        for i in range(self.n):
            if not fabs(scratch[i] - z[i]) <= NEAR * largest:
                return False
        return True

    cdef int draw(self, Chance chance, double *v) noexcept nogil:
        cdef Py_ssize_t i
        cdef double mean
        while True:  # a length of 0 has probability 0
            chance.normals(self.n, v)
            if self.set.kind == CF_REGION_SIMPLEX:
                mean = K.dot(self.n, data_of(self.ones), v) / self.n
                for i in range(self.n):
                    v[i] -= mean
            if unit(self.n, v) > 0.0:
                return CF_OK


cdef class Own(Region):
    """A set of the user's own: an object with the methods of `FeasibleSet`."""

    def __cinit__(self):
        self.room = NULL

    def __init__(self, Py_ssize_t n, feasible):
        self.n = n
        self.compiled = False
        self.feasible = feasible

    def __dealloc__(self):
        L.free(self.room)

    cdef int prepare(self) except -1:
        if self.room == NULL:
            self.room = <double *>take_scratch(cf_pad(self.n) + L.full_scratch(self.n),
                                               sizeof(double))
        return 0

    cdef int project(self, const double *z, double *w) noexcept nogil:
        with gil:
            return self.ask_project(z, w)

    cdef int newton(self, cf_full *A, double gain, const double *g, const double *y, double *w,
                    double *lam, signed char *face) noexcept nogil:
        with gil:
            return self.ask_newton(A, gain, g, y, w)

    cdef int draw(self, Chance chance, double *v) noexcept nogil:
        with gil:
            return self.ask_direction(chance, v)

    cdef int ask_project(self, const double *z, double *w) noexcept:
        try:
            take(self.n, self.feasible.project(vector_of(z, self.n)), "project", w)
        except BaseException as error:
            self.error = error
            return CF_EVALUE
        return CF_OK

    cdef int ask_newton(self, cf_full *A, double gain, const double *g, const double *y,
                        double *w) noexcept:
        """The update is proposed, the set is asked, and only then the update accepted."""
        cdef double *v = self.room
        cdef double *work = v + cf_pad(self.n)
        cdef double q
        cdef int status = L.full_propose(A, K, g, 1.0, work, v, &q)
        if status != CF_OK:
            return status
        if q == 0.0:  # nothing moves
            memcpy(w, y, <size_t>self.n * sizeof(double))
            return CF_OK
        try:
            z = vector_of(y, self.n)
            K.axpy(self.n, gain / (1.0 + q), v, data_of(z))
            if not K.all_finite(self.n, data_of(z)):
                return CF_ENONFINITE
            inverse = numpy.empty((self.n, self.n))
            if L.newton_inverse(A, K, g, 1.0, work):
                fill_square(work, inverse)
            else:
                L.full_inverse(A, K, work, data_of(inverse))
                step = vector_of(v, self.n)
                inverse -= numpy.outer(step, step) / (1.0 + q)
            take(self.n, self.feasible.project_in(z, inverse), "project_in", w)
        except BaseException as error:
            self.error = error
            return CF_EVALUE
        L.full_accept(A, K, g, 1.0, v, q, work)
        return CF_OK

    cdef int ask_direction(self, Chance chance, double *v) noexcept:
        """A direction that is refused costs no chance."""
        try:
            bits = chance.generator.bit_generator
            before = bits.state
            try:
                take(self.n, self.feasible.direction(chance.generator, self.n), "direction", v)
                if not is_unit(self.n, v):
                    raise ValueError("feasible.direction() must have length 1")
            except BaseException:
                bits.state = before
                raise
        except BaseException as error:
            self.error = error
            return CF_EVALUE
        return CF_OK


cdef int take(Py_ssize_t n, value, str method, double *out) except -1:
    """What a method of a set gave, checked."""
    cdef np.ndarray point = finite_vector(value, f"feasible.{method}()", n, "the dimension")
    memcpy(out, data_of(point), <size_t>n * sizeof(double))
    return 0


def region_of(feasible, Py_ssize_t n):
    """The set in dimension n: compiled where it is exactly one of this package's."""
    if type(feasible) is Shrunk and type(feasible.whole) is Simplex:
        return BuiltIn(n, CF_REGION_SIMPLEX, 1.0 - feasible.gamma, floor=feasible.gamma / n)
    return built_in(type(feasible), feasible, n) or Own(n, feasible)


cdef Region built_in(object kind, object feasible, Py_ssize_t n):
    """The set as one of that class of this package; None where the class is another one."""
    if kind is Ball:
        return BuiltIn(n, CF_REGION_BALL, feasible.radius)
    if kind is L1Ball:
        return BuiltIn(n, CF_REGION_L1, feasible.radius)
    if kind is Box:
        return BuiltIn(n, CF_REGION_BOX, 0.0, span=feasible.span(n))
    if kind is Simplex:
        return BuiltIn(n, CF_REGION_SIMPLEX, 1.0)
    return None


def nearest(feasible, np.ndarray z):
    """The Euclidean projection on one of this package's sets, or on that which a subclass is of."""
    cdef Py_ssize_t n = np.PyArray_DIM(z, 0)
    if n == 0:
        raise ValueError("z must not be empty")
    cdef Region region = None
    for kind in type(feasible).__mro__:
        region = region or built_in(kind, feasible, n)
    cdef np.ndarray out = new_vector(n)
    cdef int status = region.project(data_of(z), data_of(out))
    if status != CF_OK:
        refuse(status, "the projection of z")
    return out
