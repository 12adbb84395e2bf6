# Whole streams through a fleet: part of _engine.pyx; see _engine.pxd.


cdef class StreamingFleet(FleetEngine):
    """Runs.

    Parameters
    ----------
    Those of `FleetEngine`.
    """

    def run(self, keys, X, tuple answers, weight, context, Py_ssize_t jobs):
        """Row after row; rows of one key in their order. What was predicted, for a regression."""
        cdef Stream s = self.stream_of(keys, X, answers, weight, context)
        cdef Py_ssize_t t = 0, end, step = SHARED if jobs > 1 else BLOCK
        cdef list workers
        cdef Worker w
        cdef Py_ssize_t d = self.crossed(s.rows.d, "X")
        cdef Key first
        if s.keys.n != s.rows.n:
            raise ValueError(f"keys must have length {s.rows.n}, one a row of X, got {s.keys.n}")
        if s.rows.n == 0:
            return self.told(s)
        first.is_text = s.keys.are_text
        if not self.records.laid:
            self.rehearse_first(s)
        while not (self.records.laid and self.hand.d == d):
            self.refuse_width(s.rows.d, "X")
            self.prepare(&first, d)
        workers = [self.worker(j, d, step if jobs > 1 else 0, s.rows) for j in range(jobs)]
        pool = ThreadPoolExecutor(jobs) if jobs > 1 else None
        try:
            while t < s.rows.n:
                PyErr_CheckSignals()
                end = min(t + step, s.rows.n)
                self.guard.begin_write()
                try:
                    self.refuse_writing()
                    self.refuse_width(s.rows.d, "X")
                    self.records.check_kind(s.keys.are_text, "keys")
                    for w in workers:
                        w.seen = self.records.seen
                    w = workers[0]
                    if pool is not None:
                        w = self.share(s, workers, pool, t, end)
                    else:
                        with nogil:
                            self.play(s, &self.records.core, w, w.form, w.scratch, s.rows, s.keys,
                                  t, end)
                    if w.status == MORE or w.status == ASTRAY:
                        end = w.row
                        if w.status == ASTRAY:
                            self.records.repair()
                        else:
                            self.records.make_room()
                    elif w.status != CF_OK:
                        self.refuse_status(w.status, f"row {w.row} of X", s.keys.word(w.row),
                                           s.keys.text(w.row))
                    t = end
                finally:
                    self.guard.end_write()
        finally:
            if pool is not None:
                pool.shutdown()
        return self.told(s)

    cdef int rehearse_first(self, Stream s) except -1:
        cdef Scratch scratch = Scratch()
        cdef Py_ssize_t arm = 0
        scratch.expect(s.rows)
        if scratch.take_from(s.rows, 0) != CF_OK:
            raise MemoryError("a row of X")
        if s.arm is not None:
            arm = (<Py_ssize_t *>np.PyArray_DATA(s.arm))[0]
        return self.rehearse(&scratch.row, s.context, s.keys.are_text, arm,
                             data_of(s.y)[0] if s.y is not None else 0.0, data_of(s.weight)[0]
                             if s.weight is not None else 1.0, scratch.null, s.what, "row 0 of X")

    cdef Worker worker(self, Py_ssize_t j, Py_ssize_t d, Py_ssize_t own, Rows rows):
        cdef Worker w = self.new_worker()
        w.area = j
        w.fit(d, own)
        w.scratch.expect(rows)
        return w

    cdef int play(self, Stream s, const cf_fleet *core, Worker w, PackedForm form, Scratch scratch,
                  Rows rows, Keys keys, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
        """The rows from begin to end or, where both are 0, those that are the worker's own."""
        cdef Py_ssize_t *own = w.own if end == 0 else NULL
        cdef Py_ssize_t count = end - begin if own == NULL else w.owns, i, t, arm
        cdef double m[2]
        cdef bint null
        w.status = CF_OK
        for i in range(min(<Py_ssize_t>FAR, count)):
            self.expect(core, keys, own[i] if own != NULL else begin + i)
        for i in range(min(<Py_ssize_t>NEAR, count)):
            self.fetch(core, keys, own[i] if own != NULL else begin + i)
        for i in range(count):
            if i + FAR < count:
                self.expect(core, keys, own[i + FAR] if own != NULL else begin + i + FAR)
            if i + NEAR < count:
                self.fetch(core, keys, own[i + NEAR] if own != NULL else begin + i + NEAR)
            t = own[i] if own != NULL else begin + i
            w.row = t
            w.status = scratch.take_from(rows, t)
            if w.status != CF_OK:
                break
            null = scratch.null
            self.lay(&scratch.row, s.context, t, w.x)
            if form is not None:
                form.weight = data_of(s.weight)[t]
            arm = 0
            if s.arm is not None:
                arm = (<Py_ssize_t *>np.PyArray_DATA(s.arm))[t]
            w.status = self.one(core, w, keys.word(t), keys.text(t), arm,
                                data_of(s.y)[t] if s.y is not None else 0.0, null, s.what, m)
            if w.status != CF_OK:
                break
            if s.m is not None:
                data_of(s.m)[t] = m[0]
            if s.forwarded is not None:
                (<char *>np.PyArray_DATA(s.forwarded))[t] = m[1] > 0.0
        return w.status

    cdef void expect(self, const cf_fleet *core, Keys keys, Py_ssize_t t) noexcept nogil:
        L.fleet_expect(core, keys.word(t) if keys.are_text else L.fleet_hash(keys.word(t)))

    cdef void fetch(self, const cf_fleet *core, Keys keys, Py_ssize_t t) noexcept nogil:
        L.fleet_fetch(core, keys.word(t) if keys.are_text else L.fleet_hash(keys.word(t)))

    # --- many threads ---------------------------------------------------------------------------

    cdef Worker share(self, Stream s, list workers, object pool, Py_ssize_t begin,
                      Py_ssize_t end):
        """A block by all workers: each has the keys whose hash falls to it, so that no model is
        in two hands. The one whose row failed first, or the first one.

        What they would share is done before, in the order of the rows: a key that has no record
        learns its first row, and records that are kept are moved."""
        cdef const cf_fleet *core = &self.records.core
        cdef Worker w, first = workers[0]
        cdef Keys keys = s.keys
        cdef Py_ssize_t t = begin, many = len(workers)
        cdef uint64_t hash
        cdef int status = CF_OK
        for w in workers:
            w.owns, w.status = 0, CF_OK
        for t in range(begin, min(begin + FAR, end)):
            self.expect(core, keys, t)
        for t in range(begin, end):
            if t + FAR < end:
                self.expect(core, keys, t + FAR)
            if t + NEAR < end:
                self.fetch(core, keys, t + NEAR)
            status = self.settle(s, core, first, t)
            if status == DONE:
                continue
            if status != CF_OK:
                break
            hash = keys.word(t) if keys.are_text else L.fleet_hash(keys.word(t))
            w = <Worker>workers[<Py_ssize_t>(hash % <uint64_t>many)]
            w.own[w.owns] = t
            w.owns += 1
        wait_for([pool.submit(self.play_own, s, w) for w in workers])
        for w in workers:
            if w.status != CF_OK and (first.status == CF_OK or w.row < first.row):
                first = w
        if first.status == CF_OK and status < DONE and status != CF_OK:
            first.status, first.row = status, t
        return first

    def play_own(self, Stream s, Worker w):
        """One worker's part of a block; the guard is held by who shares it out."""
        cdef Records records = self.records
        with nogil:
            self.play(s, &records.core, w, w.form, w.scratch, s.rows, s.keys, 0, 0)

    cdef int settle(self, Stream s, const cf_fleet *core, Worker w, Py_ssize_t t) noexcept nogil:
        """A row whose key has a record to be changed in its place is left to the workers; DONE: it
        was learned."""
        cdef uint64_t at
        cdef int64_t slot = L.fleet_find(core, s.keys.word(t), s.keys.text(t), &at)
        cdef int status
        if slot >= 0 and not L.fleet_is_kept(core, slot):
            return CF_OK
        if slot >= 0 and not L.fleet_seen_whole(core, w.seen, slot):
            return DAMAGED
        if slot >= 0:
            if not L.fleet_has_slot(core):
                return MORE
            if L.fleet_move(core, w.area, slot, at) == NULL:
                return ASTRAY
            L.fleet_put(core, w.area)
            return CF_OK
        status = self.play(s, core, w, w.form, w.scratch, s.rows, s.keys, t, t + 1)
        return DONE if status == CF_OK else status


def wait_for(futures):
    """All of them are done when this returns or raises: nobody works on behind the guard's back."""
    try:
        for future in futures:
            future.result()
    except BaseException:
        while not all(future.done() for future in futures):
            try:
                wait(futures)
            except BaseException:
                continue  # a second Ctrl-C: the first one is on its way
        raise
