# The one scratch of a round: part of _rows.pyx; see _rows.pxd.

cdef void *larger(Py_ssize_t count, size_t size) except NULL:
    refuse_beyond_limit(<double>count * size, "a row", "sparse rows take less")
    cdef void *block = L.alloc(<size_t>count, size)
    if block == NULL:
        raise MemoryError(f"{count * <Py_ssize_t>size} bytes for a row")
    return block


cdef class Forms:
    def __dealloc__(self):
        L.free(self.dense)
        L.free(self.index)
        L.free(self.value)

    cdef int fit(self, const cf_row *x, bint dense) except -1:
        """Room for x; dense: also written out."""
        cdef double *wide
        if dense and self.wide < x.n and (x.i32 != NULL or x.i64 != NULL):
            wide = <double *>larger(x.n, sizeof(double))
            memset(wide, 0, <size_t>x.n * sizeof(double))
            L.free(self.dense)
            self.dense, self.wide = wide, x.n
        if self.room < x.nnz:
            index = larger(x.nnz, sizeof(int64_t))
            L.free(self.index)
            self.index, self.room = <int64_t *>index, 0
            value = larger(x.nnz, sizeof(double))
            L.free(self.value)
            self.value, self.room = <double *>value, x.nnz
        return 0

    cdef const double *whole(self, const cf_row *x) noexcept nogil:
        """x written out; `clear` gives the scratch back."""
        cdef Py_ssize_t e
        if x.i32 != NULL:
            for e in range(x.nnz):
                self.dense[x.i32[e]] = x.value[e]
        elif x.i64 != NULL:
            for e in range(x.nnz):
                self.dense[x.i64[e]] = x.value[e]
        else:
            return x.value
        return self.dense

    cdef void clear(self, const cf_row *x) noexcept nogil:
        cdef Py_ssize_t e
        if x.i32 != NULL:
            for e in range(x.nnz):
                self.dense[x.i32[e]] = 0.0
        elif x.i64 != NULL:
            for e in range(x.nnz):
                self.dense[x.i64[e]] = 0.0

    cdef void gather(self, const cf_row *x) noexcept nogil:
        """The entries of x that are not zero."""
        cdef Py_ssize_t e, n = 0
        for e in range(x.nnz):
            self.value[n] = x.value[e]
            self.index[n] = e
            if x.i32 != NULL:
                self.index[n] = x.i32[e]
            elif x.i64 != NULL:
                self.index[n] = x.i64[e]
            n += x.value[e] != 0.0
        self.nnz = n


cdef class Scratch:
    def __cinit__(self):
        self.buffer, self.view, self.last = RowBuffer(), RowBuffer(), RowBuffer()
        self.scaled = RowBuffer()
        self.forms = Forms()
        self.known_round = -1

    def __dealloc__(self):
        L.free(self.m)
        L.free(self.v)

    cdef int fit(self, Py_ssize_t k, Py_ssize_t doubles) except -1:
        """Room for k classes and so many doubles of v; what was read is lost where it grows."""
        cdef Py_ssize_t lanes = cf_pad(k)
        cdef double *block
        if lanes > self.lanes:
            self.taken += 1
            block = new_doubles(5, lanes + cf_scores_scratch(k), f"scratch for {k} classes")
            L.free(self.m)
            self.m, self.lanes = block, lanes
            self.q, self.c, self.z = block + lanes, block + 2 * lanes, block + 3 * lanes
            self.forget()
        if doubles > self.v_room:
            self.taken += 1
            block = new_doubles(doubles, 1, "scratch")
            L.free(self.v)
            self.v, self.v_room = block, doubles
            self.forget()
        return 0

    cdef int expect(self, Rows rows) except -1:
        self.buffer.fit(rows.most)
        self.row.n, self.row.nnz, self.row.i32 = rows.d, rows.most, NULL
        self.row.i64 = <const int64_t *>rows.place  # that it is not NULL is all that counts
        return 0

    cdef int take_from(self, Rows rows, Py_ssize_t t) noexcept nogil:
        if not rows.at(t, self.buffer, &self.row):
            return CF_ENOMEM
        self.null = K.row_check(self.row.nnz, self.row.value) == CF_ROW_NULL
        return CF_OK

    cdef int remember(self, const cf_row *row, int64_t round, int64_t stamp) except -1:
        cdef Py_ssize_t nnz = row.nnz
        self.last.fit(nnz)
        memcpy(self.last.value, row.value, <size_t>nnz * sizeof(double))
        if row.i32 != NULL:
            memcpy(self.last.place, row.i32, <size_t>nnz * 4)
        elif row.i64 != NULL:
            memcpy(self.last.place, row.i64, <size_t>nnz * 8)
        self.known, self.known_null = row[0], self.null
        self.known_round, self.known_stamp = round, stamp
        return 0

    cdef bint knows(self, const cf_row *row, int64_t round, int64_t stamp) noexcept:
        """Whether what was read last is what this row would give."""
        cdef size_t nnz = <size_t>row.nnz
        if (self.known_round != round or self.known_stamp != stamp or self.known.n != row.n
                or self.known.nnz != row.nnz or (self.known.i32 == NULL) != (row.i32 == NULL)
                or (self.known.i64 == NULL) != (row.i64 == NULL)):
            return False
        if row.i32 != NULL and memcmp(self.last.place, row.i32, nnz * 4):
            return False
        if row.i64 != NULL and memcmp(self.last.place, row.i64, nnz * 8):
            return False
        return memcmp(self.last.value, row.value, nnz * sizeof(double)) == 0
