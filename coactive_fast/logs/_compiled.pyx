"""The compiled loops over logs: reading them (the glue to cf_log.h), what estimators sum up over
their rounds, and those rounds through a learner; without the GIL.

The long sums are compensated (Neumaier 1974), so that no digit depends on how long the log is.
"""

import numpy

cimport cython
cimport numpy as np
from libc.math cimport NAN, fabs, log, sqrt
from libc.stddef cimport ptrdiff_t, size_t
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport data_of, new_indices, new_vector
from coactive_fast._table cimport (
    CF_ENOMEM, CF_EVALUE, CF_LOG_PLACE, CF_LOG_PLAIN, CF_OK, cf_get_library, cf_get_table,
    cf_library, cf_log, cf_log_heads, cf_log_name, cf_log_names, cf_log_names_room, cf_log_pairs_room,
    cf_log_rounds_room, cf_log_rules, cf_row, cf_table,
)
from coactive_fast.data._compiled cimport Pieces
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._engine cimport Engine, RowEngine, Rule
from coactive_fast.learner._run cimport RowRun
from coactive_fast.rewards._rules cimport (
    THOMPSON, BanditEngine, BanditRounds, Choice, Exploration, Regressions,
)
from coactive_fast.rows._rows cimport SPARSE, RowBuffer, Rows, Workspace, rows_of, write_out

from coactive_fast.data._compiled import PIECE

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

# --- reading ----------------------------------------------------------------------------------

TABLE = 1 << 12     # slots of an empty table of names

RANGES = {
    "_label_probability": "must lie in (0, 1]",
    "action:cost:probability": "the probability must lie in (0, 1]",
    "_labelIndex": "must be that of an action of the round, counted from 0",
    "pdrop": "must lie in [0, 1)",
}


cdef class Names:
    """All names of a log, by number in the order first seen; one table for several files."""

    cdef cf_log_names names
    cdef np.ndarray entries, characters, slots

    def __init__(self):
        self.entries = numpy.empty(0, numpy.uint8)
        self.characters = numpy.empty(0, numpy.uint8)
        self.slots = numpy.zeros(TABLE, numpy.int32)
        self.attach()

    cdef int attach(self) except -1:
        self.names.name = <cf_log_name *>np.PyArray_DATA(self.entries)
        self.names.bytes = <char *>np.PyArray_DATA(self.characters)
        self.names.slot = <int32_t *>np.PyArray_DATA(self.slots)
        self.names.slots = np.PyArray_SIZE(self.slots)
        return 0

    cdef int reserve(self, Py_ssize_t length) except -1:
        """For what a piece of so many bytes may bring."""
        cdef Py_ssize_t most = self.names.n + cf_log_names_room(length)
        cdef Py_ssize_t size = sizeof(cf_log_name)
        if most >= INT32_MAX:
            raise ValueError("a log may have 2**31 different names at most")
        self.entries = larger(self.entries, most * size, self.names.n * size)
        self.characters = larger(self.characters, self.names.n_bytes + length,
                                 self.names.n_bytes)
        if 2 * self.names.slots <= 3 * most:
            self.slots = numpy.zeros(1 << int(2 * most).bit_length(), numpy.int32)
            self.attach()
            L.log_place_names(&self.names)
        self.attach()
        return 0

    def __len__(self):
        return self.names.n

    def since(self, Py_ssize_t begin):
        """``(name, line)`` of those from number `begin` on, as text; of namespaces None, and of
        what is no text, its bytes.

        A name is ``key``, ``key^word`` or ``[place]``, behind ``namespace^`` where there is one.
        """
        cdef Py_ssize_t i
        found = []
        for i in range(begin, self.names.n):
            if self.names.name[i].space < 0:
                found.append(None)
                continue
            raw = self.raw(i)
            try:
                found.append((raw.decode(), self.names.name[i].line))
            except UnicodeDecodeError:
                found.append((raw, self.names.name[i].line))
        return found

    cdef bytes raw(self, Py_ssize_t i):
        cdef cf_log_name name = self.names.name[i], space = self.names.name[name.space]
        cdef const char *text = self.names.bytes + name.begin
        cdef bytes before = (self.names.bytes + space.begin)[:space.key]
        if name.value == CF_LOG_PLACE:
            own = b"[%d]" % name.key
        elif name.value == CF_LOG_PLAIN:
            own = text[:name.key]
        else:
            own = text[:name.key] + b"^" + text[name.key:name.key + name.value]
        return before + b"^" + own if before else own

    def columns(self, Py_ssize_t begin, int bits, bint chain):
        """Columns of 2^bits by VW's hash, of the names from number `begin` on."""
        cdef np.ndarray found = numpy.empty(self.names.n - begin, numpy.int64)
        L.log_columns(&self.names, begin, bits, chain, <int64_t *>np.PyArray_DATA(found))
        return found


cdef np.ndarray larger(np.ndarray array, Py_ssize_t size, Py_ssize_t used):
    """The array, or one of `size` bytes and more with its first `used` ones."""
    if np.PyArray_SIZE(array) >= size:
        return array
    cdef np.ndarray grown = numpy.empty(2 * size, numpy.uint8)
    memcpy(np.PyArray_DATA(grown), np.PyArray_DATA(array), used)
    return grown


cdef class LogPieces(Pieces):
    """What files of logs and of rows have in common: features by name."""

    cdef cf_log log
    cdef Names table

    cdef int64_t lines_before(self) noexcept:
        return self.log.line

    cdef int begin(self, const char *begin) except -1:
        """Room for the names of the piece, and nothing read of it."""
        if self.log.line == 0 and self.length >= 3 and begin[:3] == b"\xef\xbb\xbf":
            memset(<char *>begin, b" "[0], 3)   # what some editors put in front of UTF-8
        self.table.reserve(self.length)
        self.log.names = &self.table.names
        self.log.actions.n = self.log.shared.n = self.log.n_rows = self.log.n_rounds = 0
        return 0

    cdef int refuse_place(self, int status) except -1:
        """The error, which names the file, the line and the field."""
        cdef cf_log *log = &self.log
        message = (<bytes>L.status_message(status)).decode()
        line = bytes(self.buffer[log.bad_line:self.buffer.index(b"\n", log.bad_line)])
        where, field = f"{self.name}: line {log.line}: ", None
        if log.field != NULL:
            field = (<bytes>log.field[:log.field_length]).decode("utf-8", "backslashreplace")
            where += f"field {short(field, 60)!r}: "
        if status == CF_EVALUE:
            message = f"{RANGES.get(field, message)}, got {log.got:.10g}"
        elif log.bad > log.bad_line:
            at = log.bad - log.bad_line
            rest = line[at:].decode("utf-8", "backslashreplace")
            message += f", got {short(rest, 40)!r} in column {at + 1}" if rest else \
                ", and the line ends"
        shown = short(line.decode("utf-8", "backslashreplace"), 80)
        raise ValueError(f"{where}{message}: {shown!r}")


cdef class Rounds(LogPieces):
    """The rounds of a file. The arrays of a piece: actions and shared (numbers of names) with
    action_values and shared_values, row_ends (pairs), round_ends (rows), shared_ends (pairs),
    chosen, costs, probabilities.

    `text`: whether the file is cb_adf text; None: it is unless it begins with a brace.
    """

    cdef cf_log_rules rules
    cdef readonly object text

    def __init__(self, file, name, Names names, text, skip_unlabelled, before=None, piece=PIECE):
        Pieces.__init__(self, file, name, piece)
        self.table, self.text = names, text
        self.rules.skip_unlabelled = skip_unlabelled
        if before is not None:  # a file of the same log
            self.log.taken = (<Rounds?>before).log.taken
            self.log.drop = (<Rounds?>before).log.drop

    cdef int reserve(self) except -1:
        cdef Py_ssize_t pairs = cf_log_pairs_room(len(self.buffer))
        cdef Py_ssize_t rounds = cf_log_rounds_room(len(self.buffer))
        self.log.scratch = <char *>self.room("scratch", len(self.buffer), "u1")
        self.log.actions.name = <int32_t *>self.room("actions", pairs, "i4")
        self.log.actions.value = <double *>self.room("action_values", pairs, "f8")
        self.log.shared.name = <int32_t *>self.room("shared", pairs, "i4")
        self.log.shared.value = <double *>self.room("shared_values", pairs, "f8")
        self.log.row_end = <int64_t *>self.room("row_ends", rounds, "i8")
        self.log.round_end = <int64_t *>self.room("round_ends", rounds, "i8")
        self.log.shared_end = <int64_t *>self.room("shared_ends", rounds, "i8")
        self.log.chosen = <int64_t *>self.room("chosen", rounds, "i8")
        self.log.cost = <double *>self.room("costs", rounds, "f8")
        self.log.probability = <double *>self.room("probabilities", rounds, "f8")
        return 0

    cdef str unit(self):
        return "round" if self.text else "line"

    cdef int read(self, const char *begin) except -1:
        cdef int status
        cdef bint text
        self.begin(begin)
        if self.text is None:
            start = self.buffer[:self.length].lstrip()
            if start:
                self.text = not start.startswith(b"{")
        text = self.text is not False
        self.rules.last = self.ended and self.length == self.have
        with nogil:
            if text:
                status = L.log_read_text(&self.log, &self.rules, begin, self.length)
            else:
                status = L.log_read_json(&self.log, &self.rules, begin, self.length)
        if status:
            self.refuse_place(status)
        self.length = self.log.used
        self.show(self.log.actions.n, "actions action_values")
        self.show(self.log.shared.n, "shared shared_values")
        self.show(self.log.n_rows, "row_ends")
        return self.show(self.log.n_rounds, "round_ends shared_ends chosen costs probabilities")

    @property
    def left_out(self):
        """How many rounds had no decision, were not to be learned from, had no label."""
        return {"dangling": self.log.n_dangling, "not learned": self.log.n_unlearned,
                "unlabelled": self.log.n_unlabelled}


cdef class Lines(LogPieces):
    """Rows of a file, a line each: features by name, and what stands in front of them. The arrays
    of a piece: names (numbers), values, row_ends (pairs), lines (numbers of lines).

    `bare`: a line is ``label name:value ...``; else VW's ``... |namespace name:value ...``.
    """

    cdef cf_log_heads places
    cdef bint bare

    def __init__(self, file, name, Names names, bare, piece=PIECE):
        Pieces.__init__(self, file, name, piece)
        self.table, self.bare = names, bare

    cdef int reserve(self) except -1:
        cdef Py_ssize_t pairs = cf_log_pairs_room(len(self.buffer))
        cdef Py_ssize_t rows = cf_log_rounds_room(len(self.buffer))
        self.log.actions.name = <int32_t *>self.room("names", pairs, "i4")
        self.log.actions.value = <double *>self.room("values", pairs, "f8")
        self.log.row_end = <int64_t *>self.room("row_ends", rows, "i8")
        self.places.line = <int64_t *>self.room("lines", rows, "i8")
        self.places.begin = <ptrdiff_t *>self.room("begin", rows, "p")
        self.places.end = <ptrdiff_t *>self.room("end", rows, "p")
        return 0

    cdef int read(self, const char *begin) except -1:
        cdef int status
        self.begin(begin)
        with nogil:
            status = L.log_read_lines(&self.log, &self.places, self.bare, begin, self.length)
        if status:
            self.refuse_place(status)
        self.show(self.log.actions.n, "names values")
        return self.show(self.log.n_rows, "row_ends lines")

    def heads(self):
        """``(text, touches)`` of each row: its head as bytes, and whether a | touches it."""
        cdef Py_ssize_t i
        cdef const char *begin = self.buffer
        return [(begin[self.places.begin[i]:self.places.end[i]],
                 begin[self.places.end[i]] == b"|"[0]) for i in range(self.log.n_rows)]


cdef str short(str text, Py_ssize_t most):
    return text if len(text) <= most else text[:most - 3] + "..."


def number_columns(np.ndarray names, np.ndarray alias, np.ndarray column, list order):
    """Turns numbers of names into columns, in place: those of ``column``, where a name has none
    yet (-1) the next one. `order` gets the names that were given one."""
    cdef int32_t *name = <int32_t *>np.PyArray_DATA(names)
    cdef const int32_t *same = <const int32_t *>np.PyArray_DATA(alias)
    cdef int32_t *place = <int32_t *>np.PyArray_DATA(column)
    cdef Py_ssize_t i, n = np.PyArray_SIZE(names)
    cdef int32_t one, next_one = <int32_t>len(order)
    cdef np.ndarray found = numpy.empty(min(n, np.PyArray_SIZE(column)), numpy.int32)
    cdef int32_t *new = <int32_t *>np.PyArray_DATA(found)
    cdef Py_ssize_t count = 0
    with nogil:
        for i in range(n):
            one = same[name[i]]
            if place[one] < 0:
                place[one] = next_one
                next_one += 1
                new[count] = one
                count += 1
            name[i] = place[one]
    order.extend(found[:count].tolist())


# --- what estimators sum up -------------------------------------------------------------------

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


@numpy.errstate(all="ignore")
def effective_size(np.ndarray w):
    """``(sum w)^2 / sum w^2``; 0 where all are 0. Scaled by the largest: no square overflows."""
    most = w.max(initial=0.0)
    if not most > 0.0:
        return 0.0
    scaled = w / most
    return total(scaled) ** 2 / total(scaled * scaled)


@numpy.errstate(all="ignore")
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
    cdef Py_ssize_t n = np.PyArray_DIM(z, 0), count = n if code is None else groups
    if count < 2:
        return NAN
    apart = z - total(z) / n
    if code is not None:
        apart = numpy.bincount(code, apart, groups)
    return sqrt(<double>count / (count - 1) * <double>total(apart * apart)) / n


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
        self.a, self.b = a, b
        self.low.mean, self.low.variance = 0.5, 0.25  # all else is 0
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
        self.row.reserve(self.actions.most)
        self.blend.reserve(self.actions.d)
        if self.contexts is not None:
            self.told.reserve(self.contexts.d)

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


# --- rounds through a learner -----------------------------------------------------------------


cdef class LoggedRounds(BanditRounds):
    """Rounds of a bandit whose actions are those of a log. For a bandit of arms the row is the
    context, and the first so many arms are allowed as the round had actions.

    Parameters
    ----------
    engine : BanditEngine
    log : BanditLog
    """

    cdef const char *first     # where the rows of the log begin: actions, or (arms) contexts
    cdef Rows contexts         # None where the bandit reads none beside its actions
    cdef RowBuffer told        # a context written out
    cdef np.ndarray offsets    # int64
    cdef Py_ssize_t most       # actions of the longest round

    def __init__(self, BanditEngine engine, log):
        self.arms = engine.arms
        self.offsets = log.offsets
        self.most = numpy.diff(log.offsets).max()
        self.seen = rows_of(log.context, "context") if self.arms else rows_of(log.features,
                                                                            "features")
        self.first = self.seen.ends if self.seen.kind == SPARSE else self.seen.value
        if engine.contexts:
            self.contexts, self.told = rows_of(log.context, "context"), RowBuffer()
        self.ws, self.at = Workspace(), Choice()
        self.at.arms, self.at.rows = self.arms, self.seen

    cdef int begin(self, Engine given) except -1:
        cdef BanditEngine engine = <BanditEngine>given
        if self.arms and engine.form.k < self.most:
            raise ValueError(f"log must have at most {engine.form.k} actions a round, one an arm, "
                             f"got {self.most}")
        self.at.reserve(engine.form.k if self.arms else self.most)
        self.at.by.p = 0
        if self.contexts is not None:
            self.at.by.p = self.contexts.d
            self.told.reserve(self.contexts.d)
        if engine.contexts != self.at.by.p:
            raise ValueError("context_features of the learner was changed during the run")
        return self.begin_rounds(engine)

    cdef int show(self, Rows seen, Choice at) noexcept nogil:
        """The actions of this round."""
        cdef Py_ssize_t t = self.done
        cdef const int64_t *offsets = <const int64_t *>np.PyArray_DATA(self.offsets)
        cdef Py_ssize_t count = offsets[t + 1] - offsets[t], row = t if self.arms else offsets[t]
        seen.n = 1 if self.arms else count
        if seen.kind == SPARSE:
            seen.ends = self.first + row * (8 if seen.wide_ends else 4)
        else:
            seen.value = self.first + row * seen.row_step
        if not self.arms:
            at.n = count
        at.allow_first(count)
        return self.show_context(self.contexts, self.told, at) if at.by.p else CF_OK

    cdef int show_context(self, Rows contexts, RowBuffer told, Choice at) noexcept nogil:
        cdef cf_row row
        if not contexts.at(self.done, told, &row):
            return CF_ENOMEM
        write_out(&row, told)
        at.by.c = row.value
        return CF_OK

    cdef int fail(self, Engine engine, int status) except -1:
        return (<BanditEngine>engine).fail(status, f"round {self.done} of the log")


@cython.final
cdef class LawRun(LoggedRounds):
    """The probabilities of all actions, block after block of rounds.

    Parameters
    ----------
    engine : BanditEngine
        Whose generator spawns another one for thompson.
    log : BanditLog
    samples : int
        Of thompson, a round.
    """

    cdef Py_ssize_t samples, written
    cdef Chance child
    cdef np.ndarray law

    def __init__(self, BanditEngine engine, log, Py_ssize_t samples):
        LoggedRounds.__init__(self, engine, log)
        self.samples, self.child = samples, engine.chance
        if engine.exploration.kind == THOMPSON:
            self.child = Chance(engine.chance.generator.spawn(1)[0])

    def fill(self, engine, Py_ssize_t until, np.ndarray law, report):
        """The rounds up to number `until`, one probability a row of theirs."""
        self.law, self.written, self.total = law, 0, until
        self.run(engine, report)

    cdef int round(self, Engine engine) noexcept nogil:
        return self.one(self.form, self.exploration, self.ws, self.at, self.child)

    cdef int one(self, Regressions form, Exploration rule, Workspace ws, Choice at,
                 Chance chance) noexcept nogil:
        cdef Py_ssize_t turn, count
        cdef int status = self.show(self.seen, at)
        if status == CF_OK:
            status = self.read(form, rule, ws, at, chance)
        if status != CF_OK:
            return status
        if rule.kind != THOMPSON:
            rule.law(at, form.learned)
        else:
            memset(at.p, 0, <size_t>at.n * sizeof(double))
            for turn in range(self.samples):
                if turn:
                    status = rule.score(form, ws, at, chance)
                if status != CF_OK:
                    return status
                at.p[at.best(at.z)] += 1.0
            rule.mix(at, self.samples)
        count = at.count  # arms beyond the round's actions are left out
        memcpy(data_of(self.law) + self.written, at.p, <size_t>count * sizeof(double))
        self.written += count
        return CF_OK


# --- replay -----------------------------------------------------------------------------------


@cython.final
cdef class Accepted:
    """The rounds that a learner has accepted so far.

    Parameters
    ----------
    chosen : ndarray of int64
    open : ndarray of bool
        Whether a round is accepted where the learner chooses what was chosen.
    """

    cdef np.ndarray chosen, open, rounds
    cdef Py_ssize_t count

    def __init__(self, np.ndarray chosen, np.ndarray open):
        self.chosen, self.open, self.count = chosen, open, 0
        self.rounds = new_indices(numpy.count_nonzero(open))

    cdef bint takes(self, Py_ssize_t t, Py_ssize_t choice) noexcept nogil:
        return ((<const int64_t *>np.PyArray_DATA(self.chosen))[t] == choice
                and (<const char *>np.PyArray_DATA(self.open))[t])

    cdef void keep(self, Py_ssize_t t) noexcept nogil:
        (<Py_ssize_t *>np.PyArray_DATA(self.rounds))[self.count] = t
        self.count += 1

    def so_far(self):
        return self.rounds[:self.count].copy()


@cython.final
cdef class BanditReplay(LoggedRounds):
    """Chooses in every round of the log, and learns in those that it accepts.

    Parameters
    ----------
    engine, log
        As for `LoggedRounds`.
    accepted : Accepted
    """

    cdef Accepted accepted
    cdef np.ndarray reward

    def __init__(self, BanditEngine engine, log, Accepted accepted):
        LoggedRounds.__init__(self, engine, log)
        self.accepted, self.reward = accepted, log.reward

    def up_to(self, engine, Py_ssize_t until, report):
        self.total = until
        self.run(engine, report)

    cdef int round(self, Engine engine) noexcept nogil:
        return self.one(self.form, self.exploration, self.ws, self.at, self.accepted)

    cdef int one(self, Regressions form, Exploration rule, Workspace ws, Choice at,
                 Accepted accepted) noexcept nogil:
        cdef Py_ssize_t i
        cdef int status
        status = self.show(self.seen, at)
        if status == CF_OK:
            status = self.read(form, rule, ws, at, self.chance)
        if status != CF_OK:
            return status
        i = rule.place(at, form.learned, self.chance.bits)
        if not accepted.takes(self.done, i):
            return CF_OK
        status = self.teach(form, ws, at, i, data_of(self.reward)[self.done])
        if status == CF_OK:
            accepted.keep(self.done)
        return status


@cython.final
cdef class LabelReplay(RowRun):
    """The same of a multiclass learner: the row is the context, the action its label.

    Parameters
    ----------
    engine : RowEngine
    log : BanditLog
        As many actions in each round as there are labels, rewards of 0 and 1.
    accepted : Accepted
    """

    cdef Accepted accepted
    cdef np.ndarray right
    cdef Py_ssize_t k

    def __init__(self, RowEngine engine, log, Accepted accepted):
        self.accepted, self.k = accepted, engine.form.k
        self.right = log.reward == 1.0
        self.set_rows(rows_of(log.context, "context"), 1, True)

    def up_to(self, engine, Py_ssize_t until, report):
        self.total = until
        self.run(engine, report)

    cdef int begin(self, Engine given) except -1:
        cdef RowEngine engine = <RowEngine>given
        if engine.form.k != self.k:
            raise ValueError(f"log must have {engine.form.k} actions in each round, one a class, "
                             f"got {self.k}")
        return RowRun.begin(self, engine)

    cdef int round(self, Engine engine) noexcept nogil:
        return self.one(self.rule, self.ws, self.accepted)

    cdef int one(self, Rule rule, Workspace ws, Accepted accepted) noexcept nogil:
        cdef int status = self.read_row(rule.form, ws)
        if status == CF_OK:
            status = rule.choose(ws)
        if status != CF_OK or not accepted.takes(self.done, ws.label):
            return status
        status = rule.learn(ws, ws.label,
                            1.0 if (<const char *>np.PyArray_DATA(self.right))[self.done] else -1.0)
        if status == CF_OK:
            accepted.keep(self.done)
        return status

    cdef int fail(self, Engine engine, int status) except -1:
        return (<RowEngine>engine).fail(status, f"round {self.done} of the log")
