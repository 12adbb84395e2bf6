# The bounds of a catalogue, and the choice by them: part of _catalogue.pyx.
#
# What holds. By the inequality of Cauchy and Schwarz in the norm of A_s,
#     m_t = x.w_t <= m_s + sqrt(q_s) ||w_t - w_s||_{A_s},      q_t <= q_s <= r^2,
# and likewise over two steps, s to j and j to t. So with F[s] = width + ||w_t - w_s||, or the sum
# by way of a check j, m_s + r F[s] bounds the score of t. The width may change in each round.
# Rounding. q of the inverse as it is kept is that of A but for a share, which is measured as often
# as it may have grown beyond DRIFT / 5; by DRIFT the tables are rounded up. Where it cannot be held
# that small all rows are passed over instead. What products lose goes into m and r when a row is
# looked at (blur, drop, rest; n is the number of features):
#     |fl(x.w) - x.w| <= (n + 16) u |x| |w|,   |fl(q) - q| <= 4 (n + 16) u sqrt(n) |x|^2 ||A^-1||.
# Looks at rows of float32 multiply in float32, and lose (n / 16 + 3) u' |x| |w|, u' = 2^-24; and
# what is too small for it: of products n 2^-149, which the kernel adds, of weights n 2^-149 |x|.

cdef double DRIFT = 1e-4
cdef double UNIT = 2.0 ** -53
cdef double NARROW = 2.0 ** -24
cdef double LEAST_NARROW = 2.0 ** -149
cdef double MOST_NARROW = 1e30  # of weights and terms that float32 is to hold
cdef double FAR = 1e24     # distances beyond this are not for float32
cdef double LATER = 0.125  # of the rounds so far: rows to be reached by then are looked at now,
cdef double LATEST = 0.5   # more of them the more rounds there were: it is rarely wanted then
cdef int CHAIN = 12        # past rounds whose terms are worth their products
cdef int BASE = 16         # rounds that the weights of each are kept for, at the least

cdef enum:
    AHEAD = 16             # open blocks whose rows are asked for together


cdef int level(int64_t time) noexcept nogil:
    """How often two divides it; the weights of time 0, which are 0, stay for ever."""
    cdef int l = 0
    if time == 0:
        return 40
    while time & 1 == 0:
        time >>= 1
        l += 1
    return l


cdef int64_t period(int64_t age) noexcept nogil:
    """Rounds between two measures of a check: by then the steps add an eighth to a distance that
    grows like the root of the age, at the most."""
    return <int64_t>(sqrt(<double>age) / 8.0)


cdef bint among(int64_t index, const int64_t *taken, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        if taken[i] == index:
            return True
    return False


cdef class Bounds:
    """What is known of the scores of fixed rows, and the choice that goes by it."""

    # --- what is there ------------------------------------------------------------------------

    cdef uint64_t left(self, Py_ssize_t b) noexcept nogil:
        """The rows of a block that may be chosen."""
        cdef uint64_t alive = self.block[b].alive, out = 0, rest = alive
        cdef int i
        if self.mask == NULL:
            return alive
        while rest:
            i = cf_first_bit(rest)
            rest &= rest - 1
            if self.mask[self.block[b].first + i]:
                out |= <uint64_t>1 << i
        return out

    cdef bint any_left(self) noexcept nogil:
        cdef Py_ssize_t b
        for b in range(self.blocks):
            if self.left(b):
                return True
        return False

    cdef int64_t count_left(self) noexcept nogil:
        cdef int64_t count = 0
        cdef Py_ssize_t b
        for b in range(self.blocks):
            count += cf_count_bits(self.left(b))
        return count

    cdef int64_t number(self, int64_t wanted, const int64_t *taken, Py_ssize_t count) noexcept:
        """The index of row number `wanted` of those that may be chosen and were not taken, in
        order of their indices."""
        cdef Py_ssize_t b, i
        cdef uint64_t which
        cdef int64_t behind
        for b in range(self.blocks):
            which = self.left(b)
            for i in range(count):
                behind = taken[i] - self.block[b].first
                if 0 <= behind < BLOCK and behind < self.block[b].held:
                    which &= ~(<uint64_t>1 << behind)
            if wanted >= cf_count_bits(which):
                wanted -= cf_count_bits(which)
                continue
            while wanted:
                which &= which - 1
                wanted -= 1
            return self.block[b].first + cf_first_bit(which)
        return -1

    cdef const char *row_at(self, int64_t place) noexcept nogil:
        cdef const Block *b = self.block + place // BLOCK
        return b.base + (place % BLOCK) * b.stride * (4 if self.floats else 8)

    # --- the weights move ---------------------------------------------------------------------

    cdef bint vouched(self, Regressions model, double width) noexcept nogil:
        """Whether bounds may be built on: what they stand on holds, and float32 holds them."""
        cdef double widest = 1.0 / model.ridge
        if model.d:
            if model.d != self.d or not (<Single>model.at[0]).steady():
                return False
            widest = (<Single>model.at[0]).norm_of_inverse()
        if self.floats and not self.is_narrow(model, widest):
            return False
        return self.largest * sqrt(widest) <= 1e12 and width <= 1e20

    cdef bint is_narrow(self, Regressions model, double widest) noexcept nogil:
        """Whether float32 holds the weights, and the terms by which q falls."""
        cdef const double *w = (<Single>model.at[0]).means() if model.d else NULL
        cdef Py_ssize_t j
        for j in range(self.d if w != NULL else 0):
            if not fabs(w[j]) <= MOST_NARROW:
                return False
        return sqrt(widest) <= MOST_NARROW

    cdef int follow(self, int64_t era, Regressions model, Scratch s, double width) noexcept nogil:
        """The tables for the weights as they are now."""
        cdef Past past
        memset(&past, 0, sizeof(past))
        if model.d:
            (<Single>model.at[0]).tell_past(&past)
        if era != self.era or past.failures != self.failures:
            self.restart(model, &past, width)
            self.era = era
        elif model.learned == self.learned and width == self.width:
            return CF_OK
        if not self.right(model, &past, s):
            self.era = 0
            return NOT_THIS_WAY
        self.next_slot(model, s, &past, width)
        self.learned, self.width = model.learned, width
        self.updates, self.renewals, self.failures = past.updates, past.renewals, past.failures
        if not self.measure(model, s):
            self.era = 0
            return NOT_THIS_WAY
        self.thin(model, s)
        self.tabulate(width)
        return CF_OK

    cdef bint right(self, Regressions model, const Past *past, Scratch s) noexcept nogil:
        """Whether the inverse is near enough that of A."""
        if model.d == 0:
            self.drift = 0.0
            return True
        self.drift += ((<Single>model.at[0]).drift_to_come()
                       * <double>(past.updates - self.updates))
        if past.renewals != self.renewals or not self.drift <= 0.2 * DRIFT:
            self.drift = (<Single>model.at[0]).drift(s)
        return self.drift <= 0.2 * DRIFT

    cdef void restart(self, Regressions model, const Past *past, double width) noexcept nogil:
        """Nothing is known but lengths: as if all rows had been looked at when w was 0, with q as
        large as it can be."""
        cdef Py_ssize_t b
        cdef double widest = 1.0 / model.ridge
        if model.d:
            widest = (<Single>model.at[0]).norm_of_inverse()
        self.norm = widest * (1.0 + DRIFT)
        self.tight = past.updates == 0 and model.learned == 0
        self.time = 0
        self.slots, self.now, self.oldest = 1, 0, 0
        self.off[0], self.ref[0], self.width_at[0] = 0.0, 0, width
        self.checks, self.order[0], self.check_time[0], self.distance[0] = 1, 0, 0, 0.0
        self.bare[0] = True
        memset(self.check_w, 0, <size_t>self.padded * sizeof(double))
        self.updates, self.renewals, self.drift = past.updates, past.renewals, INFINITY
        if self.tight:
            self.drift = 0.0
        self.seeded = self.next_seed = 0
        self.found = 0
        for b in range(self.blocks):
            self.fill_from(b, 0)

    cdef void fill_from(self, Py_ssize_t b, Py_ssize_t i) noexcept nogil:
        """The rows of a block from i on, as a restart has them."""
        cdef Py_ssize_t t
        cdef double root = sqrt(self.norm)
        for t in range(b * BLOCK + max(i, 0), (b + 1) * BLOCK):
            self.slot[t] = 0
            if self.block[b].alive >> (t % BLOCK) & 1:
                self.m[t], self.r[t] = FLT_MIN, up(self.length[t] * root)
                if not self.tight:
                    self.slot[t] = CF_STALE
            else:
                self.m[t], self.r[t] = -FLT_MAX, 0.0
        self.top[b], self.radius[b], self.seen[b] = FLT_MAX, 0.0, 0

    cdef void next_slot(self, Regressions model, Scratch s, const Past *past,
                        double width) noexcept nogil:
        """The round that begins: a slot, a check, and by what q has fallen."""
        cdef const double *w = (<Single>model.at[0]).means() if model.d else NULL
        cdef double *term
        cdef double share
        cdef Py_ssize_t j
        cdef int32_t now, bit
        cdef int id = 0
        if self.checks == CHECKS:
            self.restart(model, past, width)
        if self.slots == CF_CATALOGUE_SLOTS:
            self.rebase()
        now = self.slots
        bit = 1 << (now & (CF_CATALOGUE_TERMS - 1))
        self.slots += 1
        self.now = now
        self.time += 1
        id = self.free_check()
        self.order[self.checks] = id
        self.checks += 1
        self.check_time[id] = self.time
        self.off[now], self.ref[now], self.width_at[now] = 0.0, id, width
        memset(self.check_w + id * self.padded, 0, <size_t>self.padded * sizeof(double))
        if w != NULL:
            memcpy(self.check_w + id * self.padded, w, <size_t>self.d * sizeof(double))
            (<Single>model.at[0]).keep_matrix(self.check_a[id], s)
        self.bare[id] = w == NULL
        self.idle |= bit
        self.renewed &= ~bit
        if past.updates > self.updates + 1 or (past.updates != self.updates and past.term == NULL):
            self.oldest = now
        elif past.renewals != self.renewals:  # its term is gone; q has fallen all the same
            self.renewed |= bit
        elif past.updates != self.updates:
            term = self.terms + (now & (CF_CATALOGUE_TERMS - 1)) * self.padded
            share = sqrt(1.0 / past.scale)
            for j in range(self.d):
                term[j] = share * past.term[j]
            self.idle &= ~bit
        self.oldest = max(self.oldest, now - CHAIN)
        if not self.tight:
            self.oldest = max(self.oldest, 1)

    cdef int free_check(self) noexcept nogil:
        """A check that is not in use, or -1."""
        cdef bint used[CHECKS]
        cdef int i
        memset(used, 0, sizeof(used))
        for i in range(self.checks):
            used[self.order[i]] = True
        for i in range(CHECKS):
            if not used[i]:
                return i
        return -1

    cdef double apart_from(self, Regressions model, Scratch s, int id,
                           const double *w) noexcept nogil:
        """How far weights are from those of a check, in the norm of its A; before anything was
        learned that is ridge I."""
        cdef const double *u = self.check_w + id * self.padded
        cdef double length
        cdef Py_ssize_t j
        for j in range(self.d):
            self.apart[j] = w[j] - u[j]
        if self.bare[id]:
            length = K.dot(self.d, self.apart, self.apart) / self.norm
        else:
            length = (<Single>model.at[0]).length(self.check_a[id], self.apart, s)
        return sqrt(max(length, 0.0)) * (1.0 + 1e-9)

    cdef bint measure(self, Regressions model, Scratch s) noexcept nogil:
        """How far the weights have moved since each check. A measure reads a matrix, so those of
        old checks are rare; meanwhile the last step is added, in the norm of the last A, which is
        not below theirs."""
        cdef const double *w = self.check_w + self.ref[self.now] * self.padded
        cdef double step = INFINITY
        cdef int64_t age
        cdef int i, id
        for i in range(self.checks - 1, -1, -1):
            id = self.order[i]
            age = self.time - self.check_time[id]
            if step < INFINITY and (self.time + self.check_time[id]) % max(period(age), 1):
                self.distance[id] = (self.distance[id] + step) * (1.0 + 4.0 * UNIT)
            else:
                self.distance[id] = self.apart_from(model, s, id, w)
            if age == 1:
                step = self.distance[id]
            if not self.distance[id] <= FAR:
                return False
        return True

    cdef void thin(self, Regressions model, Scratch s) noexcept nogil:
        """A check of time 2^l (odd) is kept for `base` 2^l rounds; its slots then go by way of the
        next one of level l + 2 or higher."""
        cdef int i, j, l, kept = 0, id, next
        cdef int32_t t
        cdef float more
        for i in range(self.checks):
            id = self.order[i]
            l = level(self.check_time[id])
            next = -1
            if l < 40 and self.time - self.check_time[id] > <int64_t>self.base << l and model.d:
                j = i + 1
                while j < self.checks and level(self.check_time[self.order[j]]) < l + 2:
                    j += 1
                if j < self.checks:
                    next = self.order[j]
            if next < 0:
                self.order[kept] = id
                kept += 1
                continue
            more = up(self.apart_from(model, s, id, self.check_w + next * self.padded))
            for t in range(self.slots):
                if self.ref[t] == id:
                    self.off[t], self.ref[t] = up(<double>self.off[t] + more), next
        self.checks = kept

    cdef void tabulate(self, double width) noexcept nogil:
        """What the bounds of each slot have grown by: of a row, and of a block."""
        cdef int32_t t
        cdef double share = min(LATEST, max(LATER, self.time / 4000.0))
        cdef double d, late = self.time - max(share * self.time, 8.0)
        cdef int i
        for t in range(self.slots):
            d = <double>self.off[t] + self.distance[self.ref[t]]
            self.row_table[t] = up((1.0 + DRIFT) * (d + width))
            self.block_table[t] = up((1.0 + DRIFT) * (d + max(width - self.width_at[t], 0.0))
                                     + DRIFT * width)
        self.row_table[self.now] = up(width)
        self.block_table[self.now] = 0.0
        self.near = 0.0
        for i in range(self.checks):
            self.near = self.distance[self.order[i]]
            if self.check_time[self.order[i]] >= late:
                break

    cdef void rebase(self) noexcept nogil:
        """There is no slot left: all rows go by way of their checks, which become the slots."""
        cdef Py_ssize_t i
        cdef int32_t s, flag
        cdef int32_t to[CHECKS]
        cdef double m
        for i in range(self.checks):
            to[self.order[i]] = <int32_t>i
        for i in range(self.blocks * BLOCK):
            flag = self.slot[i] & CF_STALE
            s = self.slot[i] & (CF_STALE - 1)
            if self.r[i] > 0.0 and self.off[s] > 0.0:
                m = <double>self.m[i]
                self.m[i] = up(m + <double>self.r[i] * self.off[s] * (1.0 + DRIFT))
            self.slot[i] = to[self.ref[s]] | flag
        for i in range(self.checks):
            self.off[i], self.ref[i], self.width_at[i] = 0.0, self.order[i], 0.0
        for i in range(self.blocks):
            self.top[i], self.radius[i], self.seen[i] = FLT_MAX, 0.0, 0
        self.slots = self.checks
        self.oldest = self.slots

    # --- the choice ---------------------------------------------------------------------------

    cdef double worst(self) noexcept nogil:
        """What a score has to reach, for a place."""
        return self.score[self.places - 1] if self.found == self.places else -INFINITY

    cdef void offer(self, double z, int64_t place) noexcept nogil:
        """A score, which takes its place: the highest first, then the lowest index."""
        cdef int64_t index = self.block[place // BLOCK].first + place % BLOCK
        cdef Py_ssize_t i
        if self.found == self.places:
            i = self.places - 1
            if z < self.score[i] or (z == self.score[i] and index >= self.index[i]):
                return
        for i in range(self.found):
            if self.index[i] == index:
                return
        i = min(self.found, self.places - 1)
        while i > 0 and (z > self.score[i - 1]
                         or (z == self.score[i - 1] and index < self.index[i - 1])):
            self.score[i], self.index[i], self.place[i] = (
                self.score[i - 1], self.index[i - 1], self.place[i - 1])
            i -= 1
        self.score[i], self.index[i], self.place[i] = z, index, place
        if self.found < self.places:
            self.found += 1

    cdef int pick(self, int64_t era, Regressions model, Rule rule, Scratch s,
                  Py_ssize_t k) noexcept nogil:
        """The k best, into `index`; a status."""
        cdef double width = rule.bonus(model, 0) if rule.kind == UCB else 0.0
        cdef Py_ssize_t before = self.found, i, count = 0
        cdef int64_t seeds[BLOCK]
        cdef int status
        if not self.vouched(model, width):
            self.era = 0
            return NOT_THIS_WAY
        if era != self.era:
            before = 0
        status = self.follow(era, model, s, width)
        if status != CF_OK:
            return status
        for i in range(min(before, <Py_ssize_t>BLOCK - SEEDS)):
            count += self.may(self.place[i], seeds + count)
        for i in range(self.seeded):
            count += self.may(self.seeds[i], seeds + count)
        self.places, self.found, self.looked = k, 0, count
        status = self.score_some(seeds, count, model, rule, s, width)
        if status == CF_OK:
            status = self.scan(model, rule, s, width)
        for i in range(min(self.found, <Py_ssize_t>SEEDS) if status == CF_OK else 0):
            self.plant(self.place[i])
        return status

    cdef bint may(self, int64_t place, int64_t *out) noexcept nogil:
        """Whether the row there may be chosen; its place."""
        out[0] = place
        return self.left(place // BLOCK) >> (place % BLOCK) & 1

    cdef void plant(self, int64_t place) noexcept nogil:
        """One more to be scored first."""
        cdef int i
        for i in range(self.seeded):
            if self.seeds[i] == place:
                return
        if self.seeded < SEEDS:
            self.seeds[self.seeded] = place
            self.seeded += 1
        else:
            self.seeds[self.next_seed] = place
            self.next_seed = (self.next_seed + 1) % SEEDS

    cdef float least(self) noexcept nogil:
        """The bound to reach; sums in float32 may be off by a share of it."""
        cdef double worst = self.worst()
        if worst == -INFINITY:
            return -FLT_MAX
        return -up(-(worst - 1e-6 * fabs(worst)))

    cdef void describe(self, Regressions model, double width, cf_look *how) noexcept nogil:
        """What looks go by in this round."""
        cdef const double *w = self.check_w + self.ref[self.now] * self.padded
        cdef double unit = (self.d + 16) * UNIT, narrow
        how.n, how.w, how.terms, how.apart = self.d, w, self.terms, self.padded
        how.width, how.afresh = width, width + self.near
        how.blur = 4.0 * unit * sqrt(K.dot(self.d, w, w))
        how.drop = 2.0 * unit * sqrt(self.norm)
        if self.floats:
            narrow = 2.0 * (self.d / 16.0 + 4.0) * NARROW
            how.blur += narrow * sqrt(K.dot(self.d, w, w)) + 2.0 * self.d * LEAST_NARROW
            how.drop += narrow * sqrt(self.norm) + 2.0 * self.d * LEAST_NARROW
        how.rest = 16.0 * unit * sqrt(<double>self.d) * self.norm
        how.drift = 2.1 * DRIFT
        how.slot, how.oldest, how.idle, how.renewed = self.now, self.oldest, self.idle, self.renewed

    cdef int scan(self, Regressions model, Rule rule, Scratch s, double width) noexcept nogil:
        """All rows whose bounds reach."""
        cdef cf_look how
        cdef uint64_t which[AHEAD]
        cdef Py_ssize_t i = 0, l, n, b, count
        cdef int status = CF_OK
        cdef float least
        self.describe(model, width, &how)
        if self.found < self.places:
            status = self.best_block(model, rule, s, width)
        n = K.catalogue_scan(self.blocks, self.top, self.radius, self.seen, self.block_table,
                             self.least(), self.open)
        while i < n:
            count = min(n - i, <Py_ssize_t>AHEAD)
            least = self.least()
            for l in range(i + count, min(i + count + AHEAD, n)):
                self.fetch_bounds(self.open[l])
            for l in range(count):
                b = self.open[i + l]
                which[l] = K.catalogue_open(self.m + b * BLOCK, self.r + b * BLOCK,
                                            self.slot + b * BLOCK, self.row_table,
                                            <float>self.near, least, self.top + b, self.radius + b)
                self.seen[b] = self.now
                if self.top[b] < least:
                    which[l] = 0
                    continue
                which[l] &= self.left(b)
                self.fetch(b, which[l])
            for l in range(count):
                if which[l]:
                    status = self.look(self.open[i + l], which[l], &how, model, rule, s, width)
                    if status != CF_OK:
                        return status
            i += count
        return status

    cdef void fetch_bounds(self, Py_ssize_t b) noexcept nogil:
        """Those of a block are wanted soon."""
        cdef Py_ssize_t t
        for t in range(b * BLOCK, (b + 1) * BLOCK, 16):
            cf_prefetch(self.m + t)
            cf_prefetch(self.r + t)
            cf_prefetch(self.slot + t)

    cdef void fetch(self, Py_ssize_t b, uint64_t which) noexcept nogil:
        """These rows are wanted soon."""
        cdef Py_ssize_t size = self.d * (4 if self.floats else 8), j
        cdef const char *x
        if cf_count_bits(which) > BLOCK // 2:  # the machine sees that itself
            return
        while which:
            x = self.row_at(b * BLOCK + cf_first_bit(which))
            which &= which - 1
            for j in range((size + 63) // 64):
                cf_prefetch(x + 64 * j)

    cdef int look(self, Py_ssize_t b, uint64_t which, cf_look *how, Regressions model, Rule rule,
                  Scratch s, double width) noexcept nogil:
        """m of these rows anew, q where it matters, and the scores of those that reach."""
        cdef const Block *block = self.block + b
        cdef float *m = self.m + b * BLOCK
        cdef float *r = self.r + b * BLOCK
        cdef int32_t *slot = self.slot + b * BLOCK
        cdef double worst = self.worst()
        cdef int status = CF_OK
        how.best = worst if worst == -INFINITY else worst - 1e-15 * fabs(worst)
        self.looked += cf_count_bits(which)
        if model.d == 0:
            status = self.score_fresh(b, which, model, width)
        else:
            if self.floats:
                which = K.catalogue_look_f32(how, <const float *>block.base, block.stride, which,
                                             block.size, m, r, slot)
            else:
                which = K.catalogue_look(how, <const double *>block.base, block.stride, which,
                                         block.size, m, r, slot)
            if which:
                status = self.score_block(b, which, model, rule, s, width)
        K.catalogue_open(m, r, slot, self.row_table, 0.0, FLT_MAX, self.top + b, self.radius + b)
        return status

    cdef int score_fresh(self, Py_ssize_t b, uint64_t which, Regressions model,
                         double width) noexcept nogil:
        """Before anything is learned: m = 0, and q = x.x / ridge as `choose` has it."""
        cdef const Block *block = self.block + b
        cdef double z
        cdef int i
        if self.floats:
            K.rows_square_f32(self.d, block.held, <const float *>block.base, block.stride,
                              self.q_now)
        else:
            K.rows_square(self.d, block.held, <const double *>block.base, block.stride,
                          self.q_now)
        while which:
            i = cf_first_bit(which)
            which &= which - 1
            z = 0.0 + width * sqrt(self.q_now[i] / model.ridge)
            if not z <= DBL_MAX:
                return CF_ENONFINITE
            if not z < self.worst():
                self.offer(z, b * BLOCK + i)
        return CF_OK

    cdef int best_block(self, Regressions model, Rule rule, Scratch s, double width) noexcept nogil:
        """The block of the highest bound, where nothing is known of the best score."""
        cdef Py_ssize_t b, best = 0
        cdef uint64_t which
        for b in range(self.blocks):
            K.catalogue_open(self.m + b * BLOCK, self.r + b * BLOCK, self.slot + b * BLOCK,
                             self.row_table, 0.0, FLT_MAX, self.top + b, self.radius + b)
            self.seen[b] = self.now
            if self.top[b] > self.top[best]:
                best = b
        which = self.left(best)
        self.looked += cf_count_bits(which)
        return self.score_block(best, which, model, rule, s, width) if which else CF_OK

    cdef int score_block(self, Py_ssize_t b, uint64_t which, Regressions model, Rule rule,
                         Scratch s, double width) noexcept nogil:
        cdef int64_t places[BLOCK]
        cdef Py_ssize_t count = 0
        while which:
            places[count] = b * BLOCK + cf_first_bit(which)
            which &= which - 1
            count += 1
        return self.score_some(places, count, model, rule, s, width)

    cdef int score_some(self, const int64_t *places, Py_ssize_t count, Regressions model,
                        Rule rule, Scratch s, double width) noexcept nogil:
        """The scores of some rows by the form's own reading, as `choose` has them."""
        cdef Crossed alone
        cdef double unit = (self.d + 16) * UNIT, rest, size, z
        cdef const double *w = self.check_w + self.ref[self.now] * self.padded
        cdef double blur = 4.0 * unit * sqrt(K.dot(self.d, w, w))
        cdef Py_ssize_t l
        cdef int status
        cdef bint told = True
        if count == 0:
            return CF_OK
        alone.p, alone.c = 0, NULL
        self.lay_out(places, count)
        self.some.n = count
        status = model.read_rows(self.some, alone, s, self.m_now, self.q_now)
        if status == CF_ENOTPOSITIVE and rule.kind == GREEDY:  # which asks for no q
            told = False
            status = model.read_rows(self.some, alone, s, self.m_now, NULL)
        if status != CF_OK:
            return status
        rest = 16.0 * unit * sqrt(<double>self.d) * self.norm
        for l in range(count):
            size = self.length[places[l]]
            z = self.m_now[l]
            if rule.kind == UCB:
                z += width * sqrt(self.q_now[l])
            if not fabs(z) <= DBL_MAX:
                return CF_ENONFINITE
            self.m[places[l]] = up(self.m_now[l] + blur * size)
            self.slot[places[l]] = self.now if told else self.now | CF_STALE
            if told:
                self.r[places[l]] = up(sqrt(self.q_now[l] + rest * size * size))
            if not z < self.worst():
                self.offer(z, places[l])
        return CF_OK

    cdef void lay_out(self, const int64_t *places, Py_ssize_t count) noexcept nogil:
        """Some rows, written out as float64."""
        cdef const char *x
        cdef double *to
        cdef Py_ssize_t l, j
        for l in range(count):
            x = self.row_at(places[l])
            to = self.wide + l * self.padded
            if self.floats:
                for j in range(self.d):
                    to[j] = (<const float *>x)[j]
            else:
                memcpy(to, x, <size_t>self.d * sizeof(double))
