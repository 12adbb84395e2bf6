# Choices among the rows of a catalogue: part of _engine.pyx.
#
# ucb and greedy go by the catalogue's bounds where they can; thompson is one pass over the rows;
# all else has m and q of all rows, as `choose(X)` has. The catalogue's lock is taken after the
# engine's; the generator's, where one draws, after both.

cdef enum:
    SLATE = 4096       # places up to which the bounds are gone by


cdef object answer_items(LinearEngine engine, Scratch s, Choice at, int what, Py_ssize_t k,
                         Py_ssize_t samples, int *status):
    """The answer, with the engine's lock held; a status tells why there is none."""
    cdef Catalogue items = <Catalogue>at.items
    cdef Rule rule = engine.rule
    cdef np.ndarray mask = at.mask
    items.guard.begin_write()
    try:
        refuse_mask(items, mask)
        items.mask = NULL if mask is None else <const char *>np.PyArray_DATA(mask)
        engine.refuse_actions(items.d, "X")
        at.d = max(engine.model.d, items.d * (engine.contexts + 1))
        if rule.kind == THOMPSON and what != SCORES:
            return draw_items(engine, items, s, at, what, k, samples, status)
        if ((what == PICK or what == DECISION) and k <= SLATE and engine.contexts == 0
                and rule.kind != SQUARECB):
            found = pick_items(engine, items, s, at, what, k, status)
            if found is not None or status[0] != CF_OK:
                return found
        return read_items(engine, items, s, at, what, k, samples, status)
    finally:
        items.mask = NULL
        items.guard.end_write()


cdef int refuse_mask(Catalogue items, np.ndarray mask) except -1:
    if items.living == 0:
        raise ValueError("X must have at least one row: all of this catalogue were removed")
    if mask is None:
        return 0
    if np.PyArray_NDIM(mask) != 1 or np.PyArray_DIM(mask, 0) != items.n:
        raise ValueError(f"allowed must have length {items.n}, one an index ever given, got shape "
                         f"{(<object>mask).shape}")
    items.mask = <const char *>np.PyArray_DATA(mask)
    if not items.any_left():
        raise ValueError("allowed must hold at least one True, of a row that is there")
    return 0


# --- by the bounds ----------------------------------------------------------------------------


cdef object pick_items(LinearEngine engine, Catalogue items, Scratch s, Choice at, int what,
                       Py_ssize_t k, int *status):
    """ucb and greedy; None: not this way, or a status."""
    cdef Regressions model = <Regressions>engine.model
    cdef Rule rule = engine.rule
    cdef Py_ssize_t wanted = min(max(k, 1), items.living)
    cdef int64_t era = engine.era
    cdef double p
    items.fit_choice(model, s, wanted)
    with nogil:
        status[0] = items.pick(era, model, rule, s, wanted)
    if status[0] != CF_OK:
        if status[0] == NOT_THIS_WAY:
            status[0] = CF_OK
        return None
    if what == PICK:
        found = places_of(engine, items, items.found)
        return int(found[0]) if k == 0 else found
    engine.know_for(at)
    i = int(places_of(engine, items, 1)[0])
    p = 1.0 if i == items.index[0] else 0.0
    if rule.floor > 0.0:
        p = rule.floor / items.count_left() + (1.0 - rule.floor) * p
    return engine.remember(at, s, i, p)


cdef np.ndarray places_of(LinearEngine engine, Catalogue items, Py_ssize_t wanted):
    """The best; with a floor, place after place, by chance one of those left."""
    cdef np.ndarray out = new_indices(wanted)
    cdef int64_t *found = <int64_t *>np.PyArray_DATA(out)
    cdef double floor = engine.rule.floor
    cdef bitgen_t *bits = engine.chance.bits
    cdef int64_t count = items.count_left() if floor > 0.0 else 0
    cdef Py_ssize_t i, next = 0
    for i in range(wanted):
        if floor > 0.0 and bits.next_double(bits.state) < floor:
            found[i] = items.number(min(<int64_t>((count - i) * bits.next_double(bits.state)),
                                        count - i - 1), found, i)
            continue
        while floor > 0.0 and among(items.index[next], found, i):
            next += 1
        found[i] = items.index[next]
        next += 1
    return out


# --- by one pass ------------------------------------------------------------------------------


cdef object draw_items(LinearEngine engine, Catalogue items, Scratch s, Choice at, int what,
                       Py_ssize_t k, Py_ssize_t samples, int *status):
    """thompson: the largest products with what is drawn."""
    cdef np.ndarray law = None
    cdef double p = NAN
    items.looked = items.living
    if what == LAW or samples:
        law = drawn_law(engine, items, s, at, samples, status)
        if status[0] != CF_OK or what == LAW:
            return law
    if what == DECISION:
        engine.know_for(at)
    found = drawn_places(engine, items, s, at, max(k, 1), status)
    if status[0] != CF_OK:
        engine.model.raise_error(CF_OK)
        return None
    if what == PICK:
        return int(found[0]) if k == 0 else found
    i = int(found[0])
    if law is not None:
        p = data_of(law)[i]
    return engine.remember(at, s, i, p)


cdef int draw_once(LinearEngine engine, Catalogue items, Scratch s, Choice at,
                   Chance chance) except? -1000:
    """v = w + width F z into at.drawn, a context contracted out of it; a status."""
    cdef Regressions model = <Regressions>engine.model
    cdef double width = engine.rule.width, whole = 1.0
    cdef Py_ssize_t j
    cdef int status
    for j in range(at.by.p):
        whole += at.by.c[j] * at.by.c[j]
    if not engine.rule.inside(model, at, whole, items.largest * items.largest):
        return CF_ENONFINITE
    at.fit_draws(at.d)
    model.fit_drawn(s)
    with chance.generator.bit_generator.lock:
        with nogil:
            chance.normals(at.d, at.drawn)
            status = model.drawn(s, at.d, width, at.drawn)
    for j in range(at.by.p if status == CF_OK else 0):
        K.axpy(items.d, at.by.c[j], at.drawn + (j + 1) * items.d, at.drawn)
    return status


cdef np.ndarray drawn_places(LinearEngine engine, Catalogue items, Scratch s, Choice at,
                             Py_ssize_t k, int *status):
    cdef np.ndarray out
    cdef double best
    cdef Py_ssize_t i
    status[0] = draw_once(engine, items, s, at, engine.chance)
    if status[0] != CF_OK:
        return None
    if k == 1 and engine.rule.floor == 0.0:
        out = new_indices(1)
        (<int64_t *>np.PyArray_DATA(out))[0] = items.largest_product(at.drawn, NULL, &best)
        return out
    all_left(items, at)
    items.largest_product(at.drawn, at.z, &best)
    out = new_indices(min(k, at.count))
    for i in range(np.PyArray_DIM(out, 0)):
        (<int64_t *>np.PyArray_DATA(out))[i] = engine.place(at)
    return out


cdef np.ndarray drawn_law(LinearEngine engine, Catalogue items, Scratch s, Choice at,
                          Py_ssize_t samples, int *status):
    """The frequencies of so many draws, of a generator of their own."""
    cdef Chance child = Chance(engine.chance.generator.spawn(1)[0])
    cdef np.ndarray law = new_vector(items.n)
    cdef double best
    cdef Py_ssize_t turn
    all_left(items, at)
    memset(at.p, 0, <size_t>at.n * sizeof(double))
    for turn in range(samples):
        PyErr_CheckSignals()
        status[0] = draw_once(engine, items, s, at, child)
        if status[0] != CF_OK:
            return None
        at.p[items.largest_product(at.drawn, NULL, &best)] += 1.0
    engine.rule.mix(at, samples)
    memcpy(data_of(law), at.p, <size_t>at.n * sizeof(double))
    return law


cdef int all_left(Catalogue items, Choice at) except -1:
    """`at` for all rows ever given, with what may be chosen of them."""
    cdef Py_ssize_t b
    cdef uint64_t which
    cdef int i
    at.fit(items.n)
    at.count = items.count_left()
    for b in range(items.blocks):
        which = items.left(b)
        for i in range(items.block[b].held):
            at.left[items.block[b].first + i] = which >> i & 1
    return 0


cdef object read_items(LinearEngine engine, Catalogue items, Scratch s, Choice at, int what,
                       Py_ssize_t k, Py_ssize_t samples, int *status):
    """m and q of all rows, or what else the rule compares, one array of rows after another."""
    cdef Regressions model = <Regressions>engine.model
    cdef Rule rule = engine.rule
    cdef bint widths = what == SCORES or k > 1 or (rule.kind == UCB and model.d == 0)
    cdef Py_ssize_t i, first
    cdef Rows rows
    items.looked = items.living
    all_left(items, at)
    at.scored = rule.kind == UCB and not widths
    for i in range(len(items.arrays)):
        rows, first = items.part(i), items.arrays[i][1]
        if rows.n == 0:
            continue
        model.fit_rows(rows, at.by, s)
        with nogil:
            if at.scored:
                status[0] = (<Single>model.at[0]).read_upper(
                    rows, at.by, s, rule.bonus(model, 0), at.left + first, at.m + first,
                    at.q + first, at.z + first)
            else:
                status[0] = model.read_rows(rows, at.by, s, at.m + first,
                                            at.q + first if widths else NULL)
        if status[0] != CF_OK:
            return None
    return engine.act(s, at, what, k, samples)
