"""Fixed rows to choose among, and bounds of their scores (DEFINITIONS 6; cf_catalogue.h)."""

import threading

import numpy

from libc.float cimport DBL_MAX, FLT_MAX, FLT_MIN
from libc.math cimport INFINITY, fabs, sqrt
from libc.stddef cimport size_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport (
    as_count, as_rows, new_doubles, refuse_masked, refuse_non_finite, row_stride,
)
from coactive_fast._table cimport (
    CF_CATALOGUE_SLOTS, CF_CATALOGUE_TERMS, CF_ENONFINITE, CF_ENOTPOSITIVE, CF_OK, CF_STALE,
    cf_get_library, cf_get_table, cf_library, cf_pad, cf_table,
)
from coactive_fast.metric._forms cimport Crossed, Single
from coactive_fast.rewards._rules cimport GREEDY, UCB
from coactive_fast.rows._rows cimport DOUBLES, GATHERED

from coactive_fast._initialized import not_initialized
from coactive_fast._memory import refuse_beyond_limit

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()
cdef extern from *:
    """
    #define cf_prefetch(p) __builtin_prefetch((const void *)(p))
    #define cf_count_bits(x) __builtin_popcountll(x)
    #define cf_first_bit(x) __builtin_ctzll(x)
    """
    void cf_prefetch(const void *) nogil
    int cf_count_bits(uint64_t) nogil
    int cf_first_bit(uint64_t) nogil

cdef Py_ssize_t LEAST_ADDED = 1024  # rows that memory is taken for when rows are added
cdef Py_ssize_t MOST_ROWS = 1 << 36  # places of blocks are 32 bits wide


cdef float up(double v) noexcept nogil:
    """Not below v, as float32."""
    v += 2e-7 * fabs(v) + FLT_MIN
    return FLT_MAX if v > FLT_MAX else -FLT_MAX if v < -FLT_MAX else <float>v


# --- the bounds of a catalogue, and the choice by them ----------------------------------------

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
        cdef Past past
        if model.d:
            (<Single>model.at[0]).tell_past(&past)
            if model.d != self.d or not past.steady:
                return False
            widest = past.norm
        if self.floats and not self.is_narrow(model, widest):
            return False
        return self.largest * sqrt(widest) <= 1e12 and width <= 1e20

    cdef bint is_narrow(self, Regressions model, double widest) noexcept nogil:
        """Whether float32 holds the weights, and the terms by which q falls."""
        cdef const double *w = (<Single>model.at[0]).w if model.d else NULL
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
        self.drift += ((<Single>model.at[0]).drift(None)
                       * <double>(past.updates - self.updates))
        if past.renewals != self.renewals or not self.drift <= 0.2 * DRIFT:
            self.drift = (<Single>model.at[0]).drift(s)
        return self.drift <= 0.2 * DRIFT

    cdef void restart(self, Regressions model, const Past *past, double width) noexcept nogil:
        """Nothing is known but lengths: as if all rows had been looked at when w was 0, with q as
        large as it can be."""
        cdef Py_ssize_t b
        self.norm = (past.norm if model.d else 1.0 / model.ridge) * (1.0 + DRIFT)
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
        cdef const double *w = (<Single>model.at[0]).w if model.d else NULL
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


cdef int enlarge(void **block, size_t size, Py_ssize_t used, Py_ssize_t room,
                 str what) except -1:
    """More of the same; what is beyond `used` is undefined."""
    cdef void *more = L.alloc(<size_t>max(room, 1), size)
    if more == NULL:
        raise MemoryError(what)
    if used:
        memcpy(more, block[0], <size_t>used * size)
    L.free(block[0])
    block[0] = more
    return 0


cdef class Catalogue(Bounds):
    """Catalogue(X, *, n_jobs=1)\n--\n
    Fixed rows to choose among round after round, up to many millions.

    ``bandit.choose(items)`` and ``bandit.decide(items)`` of a `LinearBandit` give the index that
    ``choose(X)`` gives, bit for bit the same scores compared, ties to the lower index; only most
    rows are not looked at. For "ucb" and "greedy" without forgetting and without a context a row's
    last score bounds its present one,
    ``m_t + width sqrt(q_t) <= m_s + sqrt(q_s) (width + ||w_t - w_s||_A)``, since q only falls and
    by the inequality of Cauchy and Schwarz in the norm of A; a row is scored anew only where its
    bound reaches the best. Everything else (thompson, forgetting, a context, squarecb) is one pass
    over the rows. What is known of the rows belongs to one learner at a time: `decay`, `merge`,
    `reset`, or another learner, start it afresh, which costs a pass and changes no choice.

    Rows of float32 and float64 stay where they are, also those of a read-only `numpy.memmap`, and
    must not be changed; where a row is not contiguous all are copied, other kinds as float64.
    Nothing of a catalogue is saved with a learner. Any number of threads may choose over one
    catalogue; they take turns.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Dense and finite; read once, for the lengths of the rows.
    n_jobs : int, default 1
        Threads that share a pass of "thompson" over the rows; -1: one a processor. What is chosen
        does not depend on it.

    See Also
    --------
    LinearBandit : What chooses among the rows.

    Notes
    -----
    Memory beside the rows: 16 bytes a row. A choice among a million rows of 64 features, learning
    from each, took 0.04 to 0.09 ms in the median of 10,000 rounds, by the kind of rows; the first
    hundred rounds take up to nine readings of all rows each.

    References
    ----------
    Yasin Abbasi-Yadkori, David Pal, Csaba Szepesvari: Improved Algorithms for Linear Stochastic
    Bandits, 2011 (the scores; the bounds are our own).

    Examples
    --------
    >>> import coactive_fast as cf
    >>> items = cf.Catalogue([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
    >>> bandit = cf.LinearBandit()
    >>> bandit.learn([1.0, 0.0], 4.0)
    >>> bandit.choose(items)
    0
    >>> items.remove(0)
    >>> items.add([[0.9, 0.1]])
    array([3])
    >>> bandit.choose(items, k=2), len(items)
    (array([3, 2]), 3)
    """

    def __cinit__(self, *args, **kwargs):
        self.guard, self.arrays, self.some = Guard(), [], Rows()
        self.guard.close(not_initialized(self))

    def __init__(self, X, *, n_jobs=1):
        cdef np.ndarray rows
        cdef Py_ssize_t jobs
        jobs = jobs_of(n_jobs)
        if self.d:
            raise RuntimeError("a catalogue is made once")
        rows = dense(X, "X")
        if np.PyArray_DIM(rows, 1) == 0 or np.PyArray_DIM(rows, 0) == 0:
            raise ValueError("X must have at least one row and one feature, got shape "
                             f"{(<object>rows).shape}")
        self.floats = np.PyArray_TYPE(rows) == np.NPY_FLOAT
        self.d, self.jobs, self.padded = (np.PyArray_DIM(rows, 1), jobs,
                                          cf_pad(np.PyArray_DIM(rows, 1)))
        try:
            self.wide = new_doubles(BLOCK, self.padded, "rows written out")
            self.m_now = new_doubles(2, BLOCK, "scores")
            self.q_now = self.m_now + BLOCK
            self.take(rows, np.PyArray_DIM(rows, 0), 0)
        except BaseException:
            self.d = 0
            raise
        self.some.d = self.some.most = self.d
        self.some.kind, self.some.floats = DOUBLES, False
        self.some.value = <const char *>self.wide
        self.some.row_step, self.some.column_step = 8 * self.padded, 8
        self.guard.open()

    def __dealloc__(self):
        cdef int id
        L.free(self.block)
        L.free(self.length)
        L.free(self.m)
        L.free(self.r)
        L.free(self.slot)
        L.free(self.top)
        L.free(self.radius)
        L.free(self.seen)
        L.free(self.open)
        L.free(self.off)
        L.free(self.ref)
        L.free(self.width_at)
        L.free(self.row_table)
        L.free(self.block_table)
        L.free(self.terms)
        L.free(self.check_w)
        for id in range(CHECKS):
            L.free(self.check_a[id])
        L.free(self.apart)
        L.free(self.score)
        L.free(self.index)
        L.free(self.place)
        L.free(self.wide)
        L.free(self.m_now)

    def __reduce__(self):
        raise TypeError("a Catalogue is not saved: make it anew from its rows")

    def __len__(self):
        """How many rows are there: removed ones do not count."""
        self.guard.settle_read()
        return self.living

    @property
    def scored(self):
        """How many rows the last choice scored anew."""
        self.guard.settle_read()
        return self.looked

    def add(self, rows):
        """More rows, copied in the kind of those that are there.

        Parameters
        ----------
        rows : array_like of shape (m, d)
            Dense and finite.

        Returns
        -------
        ndarray of intp, shape (m,)
            Their indices: those that follow the highest one ever given.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.Catalogue([[1.0], [2.0]]).add([[5.0], [6.0]])
        array([2, 3])
        """
        cdef np.ndarray given = dense(rows, "rows"), own
        cdef Py_ssize_t m = np.PyArray_DIM(given, 0), at = 0, count, used
        self.guard.settle_read()  # what is not initialized has no width to compare with
        if np.PyArray_DIM(given, 1) != self.d:
            raise ValueError(f"rows must have {self.d} features, got "
                             f"{np.PyArray_DIM(given, 1)}")
        with numpy.errstate(over="ignore"):
            own = <np.ndarray>numpy.array(given, dtype=numpy.float32 if self.floats else float)
        if not numpy.isfinite(own).all():
            refuse_non_finite(own, "rows")
        self.guard.begin_write()
        try:
            first = self.n
            while at < m:
                if not self.owned or self.arrays[-1][3] == len(self.arrays[-1][0]):
                    count = max(m - at, LEAST_ADDED,
                                2 * len(self.arrays[-1][0]) if self.owned else 0)
                    fresh = numpy.zeros(((count + BLOCK - 1) // BLOCK * BLOCK, self.d),
                                        dtype=own.dtype)
                    self.fit(self.blocks + len(fresh) // BLOCK)
                    self.arrays.append([fresh, self.n, self.blocks, 0])
                    self.owned = True
                part = self.arrays[-1]
                used = part[3]
                count = min(m - at, len(part[0]) - used)
                part[0][used:used + count] = own[at:at + count]
                self.take(part[0], count, -1)
                part[3] = used + count
                at += count
            return numpy.arange(first, first + m)
        finally:
            self.guard.end_write()

    def remove(self, indices):
        """Takes rows away for good; their indices are not given again.

        Parameters
        ----------
        indices : int or array_like of int
            Of rows that are there, each once.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> items = cf.Catalogue([[1.0], [3.0], [2.0]])
        >>> items.remove([1])
        >>> cf.LinearBandit().choose(items)
        2
        """
        cdef int64_t place
        cdef uint64_t bit
        cdef list places = []
        refuse_masked(indices, "indices")
        wanted = numpy.asarray(indices)
        if wanted.ndim > 1 or (wanted.size and wanted.dtype.kind not in "iu"):
            raise TypeError("indices must be an index or a list of them, got dtype "
                            f"{wanted.dtype} and shape {wanted.shape}")
        wanted = numpy.atleast_1d(wanted)
        if len(numpy.unique(wanted)) != len(wanted):
            raise ValueError("indices must be distinct")
        self.guard.begin_write()
        try:
            for index in wanted.tolist():
                if not 0 <= index < self.n:
                    raise ValueError(f"indices must be in 0 ... {self.n - 1}, got {index}")
                place = self.place_of(index)
                if not self.block[place // BLOCK].alive >> (place % BLOCK) & 1:
                    raise ValueError("indices must be those of rows that are there, got "
                                     f"{index}, which was removed")
                places.append(place)
            for place in places:
                bit = <uint64_t>1 << (place % BLOCK)
                self.block[place // BLOCK].alive &= ~bit
                self.living -= 1
                if self.begun:
                    self.m[place], self.r[place] = -FLT_MAX, 0.0
                    self.slot[place] = 0
        finally:
            self.guard.end_write()

    # --- rows ---------------------------------------------------------------------------------

    cdef int take(self, np.ndarray rows, Py_ssize_t n, Py_ssize_t first_block) except -1:
        """n rows, with the lock held: the first array, or rows of the last one that follow those
        in use (first_block < 0)."""
        cdef Py_ssize_t stride = row_stride(rows), width = 4 if self.floats else 8, used = 0
        cdef Py_ssize_t begin = 0, t, b, i, count
        cdef const char *base = <const char *>np.PyArray_DATA(rows)
        cdef double *square
        cdef list part
        if self.n + n > MOST_ROWS:
            raise ValueError(f"X must have at most {MOST_ROWS} rows")
        if first_block < 0:
            part = self.arrays[-1]
            used, begin = part[3], part[2]
        else:
            self.fit((n + BLOCK - 1) // BLOCK)
        square = new_doubles(1, BLOCK, "lengths")
        t = used
        while t < used + n:
            b, i = begin + t // BLOCK, t % BLOCK
            count = min(used + n - t, <Py_ssize_t>BLOCK - i)
            if i == 0:
                self.block[b].base, self.block[b].stride = base + t * stride * width, stride
                self.block[b].first, self.block[b].alive = self.n + t - used, 0
                self.block[b].size, self.block[b].held = 0.0, 0
                memset(self.length + b * BLOCK, 0, BLOCK * sizeof(float))
            self.squares(base + t * stride * width, stride, count, square)
            if not self.note_lengths(b, i, count, square):
                L.free(square)
                refuse_non_finite(rows, "X")
                raise ValueError("X has a row too long: its square is beyond float64")
            t += count
        L.free(square)
        if first_block >= 0:
            self.arrays.append([rows, 0, 0, n])
        self.blocks = begin + (used + n + BLOCK - 1) // BLOCK
        self.admit(begin, used, n)
        return 0

    cdef void squares(self, const char *x, Py_ssize_t stride, Py_ssize_t count,
                      double *out) noexcept nogil:
        if self.floats:
            K.rows_square_f32(self.d, count, <const float *>x, stride, out)
        else:
            K.rows_square(self.d, count, <const double *>x, stride, out)

    cdef bint note_lengths(self, Py_ssize_t b, Py_ssize_t i, Py_ssize_t count,
                           const double *square) noexcept nogil:
        """Whether these squares are finite; a NaN or an infinity in a row shows in its square."""
        cdef Py_ssize_t l
        cdef double size
        for l in range(count):
            if not square[l] <= DBL_MAX:
                return False
            size = sqrt(square[l]) * (1.0 + 1e-12)
            self.length[b * BLOCK + i + l] = up(size)
            self.block[b].size = max(self.block[b].size, size)
            self.largest = max(self.largest, size)
        return True

    cdef void admit(self, Py_ssize_t begin, Py_ssize_t used, Py_ssize_t n) noexcept nogil:
        """These rows are there."""
        cdef Py_ssize_t t
        for t in range(used, used + n):
            self.block[begin + t // BLOCK].held = t % BLOCK + 1
            self.block[begin + t // BLOCK].alive |= <uint64_t>1 << (t % BLOCK)
        for t in range(used // BLOCK, (used + n + BLOCK - 1) // BLOCK if self.begun else 0):
            self.fill_from(begin + t, used - t * BLOCK)
        self.n += n
        self.living += n

    cdef int64_t place_of(self, int64_t index) except -1:
        """Where the row of an index is."""
        cdef list part
        for part in reversed(self.arrays):
            if part[1] <= index:
                return part[2] * BLOCK + index - part[1]
        raise ValueError(f"no index {index}")

    cdef Rows part(self, Py_ssize_t i):
        """The rows of one array, which were checked when they came."""
        cdef Rows out = Rows()
        cdef np.ndarray rows = self.arrays[i][0]
        cdef Py_ssize_t width = 4 if self.floats else 8
        out.n, out.d, out.most = self.arrays[i][3], self.d, self.d
        out.kind, out.floats = GATHERED if self.floats else DOUBLES, self.floats
        out.value = <const char *>np.PyArray_DATA(rows)
        out.row_step, out.column_step = row_stride(rows) * width, width
        out.held = (rows,)
        return out

    cdef Rows one(self, Py_ssize_t index):
        cdef int64_t place = self.place_of(index)
        cdef Rows out = self.part(0)
        out.n, out.value = 1, self.row_at(place)
        out.held = tuple(part[0] for part in self.arrays)
        return out

    cdef np.ndarray mask_of(self, object allowed):
        """`allowed`, one an index ever given, as bytes; None where all are."""
        if allowed is None:
            return None
        refuse_masked(allowed, "allowed")
        try:
            given = numpy.asarray(allowed)
        except ValueError as error:
            raise TypeError(f"allowed must be a sequence of True and False: {error}") from None
        if given.dtype != bool and given.size:
            raise TypeError(f"allowed must hold True and False, got dtype {given.dtype}")
        return <np.ndarray>numpy.ascontiguousarray(given)

    # --- memory -------------------------------------------------------------------------------

    cdef int fit(self, Py_ssize_t blocks) except -1:
        """Room for so many blocks."""
        cdef Py_ssize_t room, used = self.blocks
        cdef str what = f"a catalogue of {blocks * BLOCK} rows"
        if blocks <= self.room:
            return 0
        room = blocks if self.room == 0 else max(blocks, self.room + self.room // 2)
        refuse_beyond_limit(16.0 * BLOCK * room, what, "there are more rows than memory for "
                            "their bounds")
        enlarge(<void **>&self.block, sizeof(Block), used, room, what)
        enlarge(<void **>&self.length, BLOCK * sizeof(float), used, room, what)
        if self.begun:
            self.fit_bounds(used, room, what)
        self.room = room
        return 0

    cdef int fit_bounds(self, Py_ssize_t used, Py_ssize_t room, str what) except -1:
        enlarge(<void **>&self.m, BLOCK * sizeof(float), used, room, what)
        enlarge(<void **>&self.r, BLOCK * sizeof(float), used, room, what)
        enlarge(<void **>&self.slot, BLOCK * sizeof(int32_t), used, room, what)
        enlarge(<void **>&self.top, sizeof(float), used, room, what)
        enlarge(<void **>&self.radius, sizeof(float), used, room, what)
        enlarge(<void **>&self.seen, sizeof(int32_t), used, room, what)
        enlarge(<void **>&self.open, sizeof(int32_t), 0, room, what)
        return 0

    cdef int fit_choice(self, Regressions model, Scratch s, Py_ssize_t k) except -1:
        cdef str what = "the bounds of a catalogue"
        cdef Crossed alone
        alone.p, alone.c = 0, NULL
        model.fit_rows(self.some, alone, s)
        if model.d:
            self.fit_check(model.form(0).fit_matrix(s))
        if k > self.places_room:
            self.places_room, self.found = 0, 0
            enlarge(<void **>&self.score, sizeof(double), 0, k, what)
            enlarge(<void **>&self.index, sizeof(int64_t), 0, k, what)
            enlarge(<void **>&self.place, sizeof(int64_t), 0, k, what)
            self.places_room = k
        if self.begun:
            return 0
        self.fit_bounds(0, self.room, what)
        enlarge(<void **>&self.off, sizeof(float), 0, CF_CATALOGUE_SLOTS, what)
        enlarge(<void **>&self.ref, sizeof(int32_t), 0, CF_CATALOGUE_SLOTS, what)
        enlarge(<void **>&self.width_at, sizeof(double), 0, CF_CATALOGUE_SLOTS, what)
        enlarge(<void **>&self.row_table, sizeof(float), 0, CF_CATALOGUE_SLOTS, what)
        enlarge(<void **>&self.block_table, sizeof(float), 0, CF_CATALOGUE_SLOTS, what)
        enlarge(<void **>&self.terms, self.padded * sizeof(double), 0, CF_CATALOGUE_TERMS, what)
        enlarge(<void **>&self.check_w, self.padded * sizeof(double), 0, CHECKS, what)
        enlarge(<void **>&self.apart, self.padded * sizeof(double), 0, 1, what)
        memset(self.apart, 0, <size_t>self.padded * sizeof(double))
        self.begun = True
        return 0

    cdef int fit_check(self, Py_ssize_t room) except -1:
        """Memory for the matrix of the check to come, which a restart may put into place 1. There
        are as many as cost a sixteenth of a pass over the rows."""
        cdef int id, free
        if room != self.matrix_room:
            self.era = self.era if self.matrix_room == 0 else 0
            for id in range(CHECKS):
                L.free(self.check_a[id])
                self.check_a[id] = NULL
            self.matrix_room = room
        free = self.free_check()
        for id in (1, 1 if free < 0 else free):
            if self.check_a[id] == NULL:
                enlarge(<void **>&self.check_a[id], sizeof(double), 0, room, "A of a check")
        self.base = BASE
        while self.base > 2 and 6 * self.base * 8 * self.d > self.n:
            self.base //= 2
        return 0

    # --- one pass -----------------------------------------------------------------------------

    cdef void sweep(self, const double *v, Py_ssize_t begin, Py_ssize_t end, double *z,
                    double *best, int64_t *index) noexcept nogil:
        """The products with v of the rows of some blocks: the largest, and where, among those that
        may be chosen; where z is given, all of them into it."""
        cdef double out[BLOCK]
        cdef uint64_t which
        cdef const Block *block
        cdef Py_ssize_t b
        cdef int i, count
        best[0], index[0] = -INFINITY, -1
        for b in range(begin, end):
            block = self.block + b
            which = self.left(b) if z == NULL else <uint64_t>-1
            if block.held == 0 or which == 0:
                continue
            if self.floats:
                K.rows_dot_f32(self.d, block.held, <const float *>block.base, block.stride, v, out)
            else:
                K.rows_dot(self.d, block.held, <const double *>block.base, block.stride, v, out)
            if z != NULL:
                memcpy(z + block.first, out, <size_t>block.held * sizeof(double))
                continue
            for i in range(block.held):
                if out[i] > best[0] and which >> i & 1:
                    best[0], index[0] = out[i], block.first + i

    cdef int64_t largest_product(self, const double *v, double *z, double *best) except? -2:
        cdef Py_ssize_t jobs = min(self.jobs, max(self.blocks // 64, 1)), i
        cdef int64_t index, found = -1
        cdef double most
        if jobs == 1:
            with nogil:
                self.sweep(v, 0, self.blocks, z, best, &index)
            return index
        parts = [Part.of(self, v, z, self.blocks * i // jobs, self.blocks * (i + 1) // jobs)
                 for i in range(jobs)]
        threads = [threading.Thread(target=part) for part in parts[1:]]
        for thread in threads:
            thread.start()
        try:
            parts[0]()
        finally:
            for thread in threads:
                thread.join()
        best[0] = -INFINITY
        for part in parts:
            most = (<Part>part).best
            if most > best[0]:
                best[0], found = most, (<Part>part).index
        return found


cdef class Part:
    """A thread's part of a pass, which lives as long as the call."""

    cdef Catalogue of_whom
    cdef const double *v
    cdef double *z
    cdef Py_ssize_t begin, end
    cdef double best
    cdef int64_t index

    @staticmethod
    cdef Part of(Catalogue items, const double *v, double *z, Py_ssize_t begin, Py_ssize_t end):
        cdef Part out = Part()
        out.of_whom, out.v, out.z, out.begin, out.end = items, v, z, begin, end
        return out

    def __call__(self):
        with nogil:
            self.of_whom.sweep(self.v, self.begin, self.end, self.z, &self.best, &self.index)


cdef Py_ssize_t jobs_of(object n_jobs) except -1:
    import os
    if type(n_jobs) is int and n_jobs == -1:
        return os.cpu_count() or 1
    jobs = as_count(n_jobs, "n_jobs")
    if jobs == 0:
        raise ValueError("n_jobs must be >= 1 or -1, got 0")
    return min(jobs, 256)


cdef np.ndarray dense(object X, str name):
    """Rows as they lie, or as float64; whether they are finite is not looked at."""
    if isinstance(X, numpy.memmap):
        X = numpy.asarray(X)
    return as_rows(X, name)
