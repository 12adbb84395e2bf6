"""The compiled loops that read logs (the glue to cf_log.h), and the columns of their names."""

import numpy

cimport numpy as np
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.string cimport memcpy, memset

from coactive_fast._table cimport (
    CF_EVALUE,
    CF_LOG_PLACE,
    CF_LOG_PLAIN,
    cf_get_library,
    cf_log,
    cf_log_heads,
    cf_log_name,
    cf_log_names,
    cf_log_names_room,
    cf_log_pairs_room,
    cf_log_rounds_room,
    cf_log_rules,
)
from coactive_fast.data._compiled cimport Pieces

from coactive_fast.data._compiled import PIECE

np.import_array()

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

    cdef int make_room(self, Py_ssize_t length) except -1:
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
            cf_get_library().log_place_names(&self.names)
        self.attach()
        return 0

    def __len__(self):
        return self.names.n

    def told(self, Py_ssize_t begin):
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
        cf_get_library().log_columns(&self.names, begin, bits, chain,
                                     <int64_t *>np.PyArray_DATA(found))
        return found


cdef np.ndarray larger(np.ndarray array, Py_ssize_t size, Py_ssize_t used):
    """The array, or one of `size` bytes and more with its first `used` ones."""
    if np.PyArray_SIZE(array) >= size:
        return array
    cdef np.ndarray grown = numpy.empty(2 * size, numpy.uint8)
    memcpy(np.PyArray_DATA(grown), np.PyArray_DATA(array), used)
    return grown


cdef int refuse_place(Pieces self, cf_log *log, int status) except -1:
    """The error, which names the file, the line and the field."""
    message = (<bytes>cf_get_library().status_message(status)).decode()
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


cdef class Rounds(Pieces):
    """The rounds of a file. The arrays of a piece: actions and shared (numbers of names) with
    action_values and shared_values, row_ends (pairs), round_ends (rows), shared_ends (pairs),
    chosen, costs, probabilities.

    `text`: whether the file is cb_adf text; None: it is unless it begins with a brace.
    """

    cdef cf_log log
    cdef cf_log_rules rules
    cdef Names names
    cdef readonly object text
    cdef readonly np.ndarray actions, action_values, shared, shared_values
    cdef readonly np.ndarray row_ends, round_ends, shared_ends, chosen, costs, probabilities

    def __init__(self, file, name, Names names, text, skip_unlabelled, before=None, piece=PIECE):
        Pieces.__init__(self, file, name, piece)
        self.names, self.text = names, text
        self.rules.skip_unlabelled = skip_unlabelled
        if before is not None:  # a file of the same log
            self.log.taken = (<Rounds?>before).log.taken
            self.log.drop = (<Rounds?>before).log.drop

    cdef int make_room(self) except -1:
        cdef Py_ssize_t pairs = cf_log_pairs_room(len(self.buffer))
        cdef Py_ssize_t rounds = cf_log_rounds_room(len(self.buffer))
        cdef dict found = {}
        self.arrays = found
        for name in ("row_end", "round_end", "shared_end", "chosen"):
            found[name] = numpy.empty(rounds, numpy.int64)
        for name in ("action", "shared"):
            found[name] = numpy.empty(pairs, numpy.int32)
        for name, size in (("action_value", pairs), ("shared_value", pairs), ("cost", rounds),
                           ("probability", rounds)):
            found[name] = numpy.empty(size)
        found["scratch"] = numpy.empty(len(self.buffer), numpy.uint8)
        self.log.scratch = <char *>np.PyArray_DATA(found["scratch"])
        self.log.actions.name = <int32_t *>np.PyArray_DATA(found["action"])
        self.log.actions.value = <double *>np.PyArray_DATA(found["action_value"])
        self.log.shared.name = <int32_t *>np.PyArray_DATA(found["shared"])
        self.log.shared.value = <double *>np.PyArray_DATA(found["shared_value"])
        self.log.row_end = <int64_t *>np.PyArray_DATA(found["row_end"])
        self.log.round_end = <int64_t *>np.PyArray_DATA(found["round_end"])
        self.log.shared_end = <int64_t *>np.PyArray_DATA(found["shared_end"])
        self.log.chosen = <int64_t *>np.PyArray_DATA(found["chosen"])
        self.log.cost = <double *>np.PyArray_DATA(found["cost"])
        self.log.probability = <double *>np.PyArray_DATA(found["probability"])
        return 0

    cdef int64_t lines_before(self) noexcept:
        return self.log.line

    cdef str unit(self):
        return "round" if self.text else "line"

    cdef int read(self, const char *begin) except -1:
        cdef int status
        cdef bint text
        if self.log.line == 0 and self.length >= 3 and begin[:3] == b"\xef\xbb\xbf":
            memset(<char *>begin, b" "[0], 3)   # what some editors put in front of UTF-8
        if self.text is None:
            start = self.buffer[:self.length].lstrip()
            if start:
                self.text = not start.startswith(b"{")
        text = self.text is not False
        self.names.make_room(self.length)
        self.log.names = &self.names.names
        self.log.actions.n = self.log.shared.n = self.log.n_rows = self.log.n_rounds = 0
        self.rules.last = self.ended and self.length == self.have
        with nogil:
            if text:
                status = cf_get_library().log_read_text(&self.log, &self.rules, begin,
                                                        self.length)
            else:
                status = cf_get_library().log_read_json(&self.log, &self.rules, begin,
                                                        self.length)
        if status:
            refuse_place(self, &self.log, status)
        self.length = self.log.used
        actions, shared, rounds = self.log.actions.n, self.log.shared.n, self.log.n_rounds
        self.actions, self.action_values = (self.arrays["action"][:actions],
                                            self.arrays["action_value"][:actions])
        self.shared, self.shared_values = (self.arrays["shared"][:shared],
                                           self.arrays["shared_value"][:shared])
        self.row_ends = self.arrays["row_end"][:self.log.n_rows]
        self.round_ends, self.shared_ends, self.chosen, self.costs, self.probabilities = (
            self.arrays[name][:rounds]
            for name in ("round_end", "shared_end", "chosen", "cost", "probability"))
        return 0

    @property
    def left_out(self):
        """How many rounds had no decision, were not to be learned from, had no label."""
        return {"dangling": self.log.n_dangling, "not learned": self.log.n_unlearned,
                "unlabelled": self.log.n_unlabelled}


cdef class Lines(Pieces):
    """Rows of a file, a line each: features by name, and what stands in front of them. The arrays
    of a piece: names (numbers), values, row_ends (pairs), lines (numbers of lines).

    `bare`: a line is ``label name:value ...``; else VW's ``... |namespace name:value ...``.
    """

    cdef cf_log log
    cdef cf_log_heads places
    cdef Names table
    cdef bint bare
    cdef readonly np.ndarray names, values, row_ends, lines

    def __init__(self, file, name, Names names, bare, piece=PIECE):
        Pieces.__init__(self, file, name, piece)
        self.table, self.bare = names, bare

    cdef int make_room(self) except -1:
        cdef Py_ssize_t pairs = cf_log_pairs_room(len(self.buffer))
        cdef Py_ssize_t rows = cf_log_rounds_room(len(self.buffer))
        self.arrays = {"name": numpy.empty(pairs, numpy.int32), "value": numpy.empty(pairs),
                       **{name: numpy.empty(rows, numpy.int64) for name in ("row_end", "line")},
                       **{name: numpy.empty(rows, numpy.intp) for name in ("begin", "end")}}
        self.log.actions.name = <int32_t *>np.PyArray_DATA(self.arrays["name"])
        self.log.actions.value = <double *>np.PyArray_DATA(self.arrays["value"])
        self.log.row_end = <int64_t *>np.PyArray_DATA(self.arrays["row_end"])
        self.places.line = <int64_t *>np.PyArray_DATA(self.arrays["line"])
        self.places.begin = <ptrdiff_t *>np.PyArray_DATA(self.arrays["begin"])
        self.places.end = <ptrdiff_t *>np.PyArray_DATA(self.arrays["end"])
        return 0

    cdef int64_t lines_before(self) noexcept:
        return self.log.line

    cdef int read(self, const char *begin) except -1:
        cdef int status
        if self.log.line == 0 and self.length >= 3 and begin[:3] == b"\xef\xbb\xbf":
            memset(<char *>begin, b" "[0], 3)   # what some editors put in front of UTF-8
        self.table.make_room(self.length)
        self.log.names = &self.table.names
        self.log.actions.n = self.log.n_rows = 0
        with nogil:
            status = cf_get_library().log_read_lines(&self.log, &self.places, self.bare, begin,
                                                     self.length)
        if status:
            refuse_place(self, &self.log, status)
        pairs, rows = self.log.actions.n, self.log.n_rows
        self.names, self.values = self.arrays["name"][:pairs], self.arrays["value"][:pairs]
        self.row_ends, self.lines = self.arrays["row_end"][:rows], self.arrays["line"][:rows]
        return 0

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
