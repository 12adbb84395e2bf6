"""Rows from plain text: a JSON object a line, its words hashed and weighted by TF-IDF.

A word's column is scikit-learn's hash of it, so that no vocabulary is kept and any stream has the
same columns. A document's weights are those of its `TfidfTransformer` with ``sublinear_tf``: for a
word that occurs tf times in it and in df of N documents,

    (1 + ln tf) (1 + ln((1 + N) / (1 + df))),

and the row has length 1. That class wants to see all documents before it weights one; here N and
df count the documents so far, this one among them, so a stream is gone through once and no row is
made with the help of what comes later. They are kept in the model's file, and go on with it; who
only asks the model weights with what they were when it was saved.
"""

import copy
import sys

import numpy as np
import scipy.sparse

from coactive_fast import _memory
from coactive_fast.learner._extras import require

from . import Trouble, _rows, _streams, troubles

COLUMNS = 1 << 18  # where nobody says how many
PIECE = 1 << 16  # bytes of text that are read at once, at most
KIND = "text"
TOKENS = r"(?u)\b\w\w+\b"  # two letters, digits or underscores and more


class Words:
    """How text becomes a row: the settings, and in how many documents each column has occurred.

    `df` holds counts of at most `documents`, one a column.
    """

    def __init__(self, columns, fields):
        self.columns, self.fields = columns, fields
        self.documents, self.df = 0, np.zeros(columns, dtype=np.int64)
        text = require("sklearn.feature_extraction.text", "sklearn", "--text")
        self.hashing = text.HashingVectorizer(
            n_features=columns, lowercase=True, token_pattern=TOKENS, alternate_sign=False,
            norm=None)

    @property
    def settings(self):
        return {"kind": KIND, "columns": self.columns, "lowercase": True, "tokens": TOKENS,
                "weights": "sublinear tf, smooth idf, length 1"}

    def rows(self, texts, count):
        """A CSR row a text; with `count` each is one more document."""
        X = scipy.sparse.csr_matrix(self.hashing.transform(texts))
        X.sort_indices()
        for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            places, tf = X.indices[begin:end], X.data[begin:end]
            if count:
                self.documents += 1
                self.df[places] += 1
            weight = ((1.0 + np.log(tf))
                      * (1.0 + np.log((1.0 + self.documents) / (1.0 + self.df[places]))))
            X.data[begin:end] = weight / np.sqrt(weight @ weight) if len(weight) else weight
        return X

    def header(self, classes, **more):
        """For `_store.save`: plain data and arrays; with `more` of the labels."""
        places = np.flatnonzero(self.df)
        return ({**self.settings, "fields": list(self.fields), "documents": self.documents,
                 "classes": list(classes), **more}, {"places": places, "df": self.df[places]})

    @classmethod
    def of(cls, beside, path):
        """What `header` returned, and the classes; trouble where this version reads text in another
        way, or where the file is damaged."""
        head, arrays = beside
        with troubles(f"{path}: how it reads text is damaged",
                      (KeyError, TypeError, ValueError, IndexError, AttributeError)):
            words = cls(int(head["columns"]), tuple(map(str, head["fields"])))
            classes, places, df = [*map(str, head["classes"])], arrays["places"], arrays["df"]
            words.documents = int(head["documents"])
            if not (places.shape == df.shape and places.dtype.kind == df.dtype.kind == "i"
                    and np.all((0 < df) & (df <= words.documents)) and np.all(np.diff(places) > 0)):
                raise ValueError("its counts of words do not go together")
            words.df[places] = df
            for name, value in words.settings.items():
                if head[name] != value:
                    raise Trouble(f"{path} was trained on text with {name} = {head[name]!r}, and "
                                  f"this version makes rows with {value!r}: train it again")
        return words, classes


def fields_of(option):
    """``--text title,body``: the fields whose strings are the text, one behind the other."""
    fields = tuple(name.strip() for name in option.split(","))
    if not all(fields) or len(set(fields)) < len(fields):
        raise Trouble(f"--text {option}: expected names of fields, with commas between")
    return fields


class TextRows(_rows.Rows):
    """The documents of a file or of standard input, as `_rows.Rows`.

    Parameters
    ----------
    path : str
    words : Words
        As they are before the first document.
    label : str, optional
        The field of the label or of the list of labels; None: they are not read, and the
        documents are not counted.
    labels : Labels, optional
    single : str, optional
        As in `Rows`.
    count : bool
        Whether each document is one more.
    """

    def __init__(self, path, words, *, label=None, labels=None, single=None, count=True):
        if _streams.kind_of(path) == "converted":
            raise Trouble(f"{path} is a converted file, and text is wanted")
        super().__init__(path, words.columns, labels=labels, single=single)
        self.words = self.start = words
        self.label, self.count = label, count and label is not None

    def _parsed(self):
        self.words = copy.deepcopy(self.start) if self.count else self.start
        with _streams.source(self.path) as file:
            for lines in _blocks(file, self.name):
                found = [self._document(line, f"{self.name}: line {number}")
                         for number, line in lines]
                if found:
                    texts, labels = zip(*found, strict=True)
                    numbers = np.array([number for number, _ in lines])
                    yield _rows.Piece.of(self.words.rows(texts, self.count), labels, numbers)

    def _document(self, line, where):
        """The text of a line, and its labels."""
        found = _streams.object_of(line, where)
        for name in self.start.fields:
            if not isinstance(found.get(name), str):
                raise Trouble(f"{where}: field {name!r}: expected a string, got "
                              f"{found.get(name)!r:.60} (--text FIELD names others)")
        text = "\n".join(found[name] for name in self.start.fields)
        if not text.isascii() and any("\ud800" <= mark <= "\udfff" for mark in text):
            raise Trouble(f"{where}: the text holds half of a character (a lone surrogate)")
        return text, [0.0] if self.label is None else self._labels(found, where)

    def _labels(self, found, where):
        with troubles(f"{where}: field {self.label!r}"):
            if self.label not in found:
                raise ValueError("there is none (--label FIELD names another)")
            given = found[self.label]
            given = given if isinstance(given, list) else [given]
            for one in given:
                if not (one.isprintable() if isinstance(one, str) else
                        isinstance(one, (bool, int, float)) and abs(one) <= sys.float_info.max):
                    raise ValueError("expected a number, a name in one line, or a list of these, "
                                     f"got {one!r:.60}")
            return [self.labels.of(one) for one in given]


def _blocks(file, name):
    """Lists of ``(number, line)``: as many whole lines as can be read at once, without blank ones.
    """
    rest, buffer, number = bytearray(), bytearray(PIECE), 1
    while got := file.readinto(buffer):
        rest += buffer[:got]
        if b"\n" in buffer[:got]:
            *lines, rest = rest.split(b"\n")
            yield _numbered(lines, number)
            number += len(lines)
        if len(rest) > _memory.longest_line:
            _memory.refuse_long_line(name, number)
    yield _numbered([rest], number)


def _numbered(lines, first):
    if first == 1:
        lines[0] = lines[0].removeprefix(_streams.BOM)
    return [(number, line) for number, line in enumerate(lines, first) if line.strip()]
