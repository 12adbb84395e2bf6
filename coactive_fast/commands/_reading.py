"""How the rows of files are made: what is asked for, and what a model's file keeps beside it."""

import math

from coactive_fast.logs import _vw

from . import Trouble, _rows, _streams, _text, refuse_options

KIND = "rows"
GOES_BY = {"indices": "indices of features", "names": "names of features",
           "hash": "hashes of names"}


class Reading:
    """How rows are read.

    Attributes
    ----------
    features : {"indices", "names", "hash"}
        What the columns go by.
    names : list of str
        Of the columns, with "names".
    bits : int or None
        Of VW's table, with "hash".
    zero_based : bool
        Where indices count from.
    first : int or None
        Where labels that are classes count from; None: unknown.
    classes : list of str
        Their names, if they have any.
    relevant : float, str or None
        The label that is relevant to a filter; None: what is above 0, or unknown.
    known : bool
        Whether all this stands in a model's file.
    words : Words or None
        Of plain text: how its words become a row. Nothing then goes by features.
    left_out : int
        Features without a column, in the last ranking that was read.
    """

    def __init__(self, features="indices", *, names=(), bits=None, zero_based=False, first=None,
                 classes=(), relevant=None, known=False, words=None):
        self.features, self.names, self.bits = features, list(names), bits
        self.zero_based, self.first, self.classes = zero_based, first, list(classes)
        self.relevant, self.known, self.words = relevant, known, words
        self.forms, self.left_out = {}, 0

    @classmethod
    def asked(cls, options, columns=None):
        """Of a new model: what the command line says, and the beginning of the file.

        `columns`: how many there are, of plain text; None: the usual number.
        """
        if options.text is not None:
            found = cls(words=_text.Words(columns or _text.COLUMNS, ("text",)))
            found.refuse_other(options, None)
            return found
        found = cls(bits=options.hash_bits, zero_based=options.zero_based)
        named = options.names or found.form_of(options.file, options).features
        if options.zero_based and (named or options.hash_bits is not None):
            raise Trouble("--zero-based is for indices of features, not for their names")
        if options.names and options.hash_bits is not None:
            raise Trouble("--names and --hash-bits: say one of them, names are hashed or kept")
        if options.hash_bits is not None:
            found.features = "hash"
        elif named:
            found.features = "names"
        return found

    # --- the model's file -----------------------------------------------------------------------

    def header(self):
        """For `_store.save`; None where there is nothing that a reader would not do by itself."""
        if self.words is not None:
            return self.words.header(self.classes, first_label=self.first, relevant=self.relevant)
        if (self.features == "indices" and not self.zero_based and self.first is None
                and not self.classes and self.relevant is None):
            return None
        return {"kind": KIND, "features": self.features, "names": self.names, "bits": self.bits,
                "zero_based": self.zero_based, "first_label": self.first,
                "classes": self.classes, "relevant": self.relevant}, {}

    @classmethod
    def of(cls, beside, path):
        """What `header` returned; of an older file, or a model trained otherwise, what is usual."""
        if beside is None:
            return cls()
        head = beside[0]
        if head.get("kind") == "log":
            raise Trouble(f"{path} has learned from a log of decisions: replay goes on with it, "
                          "and evaluate asks it")
        features, names, bits, zero_based, first, classes, relevant = (
            head.get(name) for name in ("features", "names", "bits", "zero_based", "first_label",
                                        "classes", "relevant"))
        good = first in (None, 0, 1) and (
            relevant is None or isinstance(relevant, str)
            or isinstance(relevant, float) and math.isfinite(relevant))
        if head.get("kind") == _text.KIND:
            words, classes = _text.Words.of(beside, path)
            if not good:
                raise Trouble(f"{path}: how it reads text is damaged: its labels")
            return cls(first=first, classes=classes, relevant=relevant, known=True, words=words)
        if not (good and head.get("kind") == KIND and features in list(GOES_BY)
                and isinstance(zero_based, bool) and _distinct(names) and _distinct(classes)
                and (bits in range(1, 32) if features == "hash" else bits is None)):
            raise Trouble(f"{path}: what it says of its rows is damaged")
        return cls(features, names=names, bits=bits, zero_based=zero_based, first=first,
                   classes=classes, relevant=relevant, known=True)

    def refuse_other(self, options, path):
        """Options that contradict what the model goes by."""
        if self.words is not None:
            refuse_options(options, ("zero_based", "names", "hash_bits", "format"),
                           "is for svmlight text")
            if options.text:
                self.words.fields = _text.fields_of(options.text)
            return
        if options.text is not None:
            raise Trouble(f"{path} was not trained on text: it has no words to go by")
        if options.hash_bits is not None and options.hash_bits != self.bits:
            raise Trouble(f"--hash-bits {options.hash_bits}: {path} goes by "
                          + (f"2**{self.bits} columns" if self.bits else GOES_BY[self.features]))
        if options.names and self.features != "names":
            raise Trouble(f"--names: {path} goes by {GOES_BY[self.features]}")
        if options.zero_based and not self.zero_based and self.known:
            raise Trouble(f"--zero-based: the features of {path} "
                          + ("count from 1" if self.features == "indices" else "have names"))
        self.zero_based = self.zero_based or options.zero_based

    def first_label(self, option, path):
        """Where the model's classes count from; None where nobody says."""
        if option is not None and self.classes:
            raise Trouble(f"--first-label {option}: the classes of {path} have names")
        if option is not None and self.first not in (None, option):
            raise Trouble(f"--first-label {option}: the classes of {path} count from {self.first}")
        return option if self.first is None else self.first

    def relevant_label(self, option, path):
        """The label that is relevant to a filter."""
        if None not in (option, self.relevant) and option != self.relevant:
            raise Trouble(f"--relevant {shown(option)}: {path} was trained with --relevant "
                          f"{shown(self.relevant)}")
        return self.relevant if option is None else option

    # --- files ----------------------------------------------------------------------------------

    def form_of(self, path, options):
        """The `Form` of a file, which is read once; --format says whether it is VW's."""
        if path in self.forms:
            return self.forms[path]
        form, name = _streams.form_of(_streams.start_of(path)), _streams.name_of(path)
        if form.kind == "clicks":
            raise Trouble(f"{name} is a log of clicks, which only ranking learners read; or plain "
                          "text, which --text reads")
        if form.kind == "converted" and options.format is not None:
            raise Trouble(f"--format {options.format}: {name} is a converted file")
        if options.format == "svmlight" and form.vw:
            raise Trouble(f"--format svmlight: {name} begins with a line of VW's, which has a |")
        if options.format == "vw":
            form = _streams.Form(True, False, True, form.kind)
        self.forms[path] = form
        return form

    def rows(self, path, options, columns, most=None, *, labels=None, single=None, grow=False):
        """The rows of a file.

        `columns`: how many there are, or None. `most`: how many there may be, of a learner that
        grows with its rows. With `grow` names that are new get columns, as far as there are any
        left. `labels`: as of `NamedRows`. Documents of plain text count with `grow`.
        """
        if self.words is not None:
            return _text.TextRows(path, self.words, labels=labels, single=single, count=grow,
                                  label=None if labels is None else options.label or "label")
        form, name = self.form_of(path, options), _streams.name_of(path)
        indices, named = self.features == "indices", labels is not None and labels.named
        converted, limit = form.kind == "converted", columns if most is None else most
        if indices and form.features:
            raise Trouble(f"{name} has names of features, and the model goes by their indices")
        if converted and not indices:
            raise Trouble(f"{name} is a converted file, whose features are indices, and the model "
                          f"goes by {GOES_BY[self.features]}")
        if converted and named:
            raise Trouble(f"{name} has numbers as labels, and the model's classes have names")
        if indices and not form.labels and not named:
            return _rows.Rows(path, limit, zero_based=self.zero_based, single=single,
                              labels=_rows.Labels(named=False))
        if indices:
            table = _rows.Indexed(name, int(not self.zero_based), limit)
        elif self.features == "names":
            table = _vw.Given(self.names, 0 if not grow else limit or _rows.MOST)
        else:
            table = _vw.Hashed(self.bits)
            columns = table.width()
        return _rows.NamedRows(path, table, columns, vw=form.vw, labels=labels, single=single)

    def ranking(self, path, options, columns, grow=False, graded=True):
        """The queries of a file; without `graded` no document of text with names needs a grade."""
        form = self.form_of(path, options)
        if self.features == "indices" and not (form.labels or form.features):
            return _streams.ranking_data(path, columns, self.zero_based)
        labels = _rows.Labels(named=False) if graded else None
        rows = self.rows(path, options, columns, labels=labels, grow=grow)
        found = _rows.ranking_data(rows, columns)
        self.keep_names(rows)
        self.left_out = rows.left_out
        return found

    def keep_names(self, rows):
        """Keeps the names of columns that a reading has found, or the counts of words."""
        if self.words is not None:
            self.words = rows.words
        elif self.features == "names" and isinstance(rows, _rows.NamedRows):
            self.names = list(rows.table.place)


def _distinct(names):
    """Whether it is a list of strings that all differ."""
    return (isinstance(names, list) and all(isinstance(name, str) for name in names)
            and len(set(names)) == len(names))


def shown(label):
    return label if isinstance(label, str) else f"{label:g}"
