"""``coactive-fast train`` for rows: multiclass learners and filters."""

import copy

import numpy as np

from . import Trouble, _answer, _streams, _text, warn
from ._board import FIRST, Board, Forwarded, order_of, refuse_second_pass
from ._labels import MODELS, Labels
from ._reading import Reading, form_of, shown

MOST = 1 << 31  # classes; what a label is checked against before there is a learner
WIDE = 2000  # columns, from where on a whole matrix over them is not what one wants


class Multiclass:
    """Mistakes of what was chosen; labels count from `first`."""

    what = "mistakes/row"

    def __init__(self, maker, options, rows, seen, first):
        self.rows, self.option, self.first = rows, options.first_label, first
        self.refuse_names()
        if self.first is None:
            self.first = 0 if rows.labels.named else self.guessed(maker, seen)
        self.defaults = {}
        if maker.lacks("n_classes"):
            self.refuse(seen.fraction, seen.least, seen.most)
            self.defaults["n_classes"] = max(2, int(seen.most) - self.first + 1)

    @staticmethod
    def single(options):
        return "a class is one label a row"

    @staticmethod
    def labels(maker, reading):
        """Those of a saved model are names or numbers; those of a new one are what comes."""
        if maker.saved is None:
            return Labels(most=maker.given.get("n_classes"))
        return Labels(reading.classes, most=maker.saved.n_classes, named=bool(reading.classes),
                      why=MODELS)

    def refuse_names(self):
        if self.rows.labels.named and self.option is not None:
            raise Trouble(f"--first-label {self.option}: the labels of {self.rows.name} are names")

    def guessed(self, maker, seen):
        """What classes count from, as the labels have it; those of another file may differ."""
        if seen is None or seen.least not in (0, 1):
            return 0
        if maker.saved is not None and seen.least == 1 and seen.most < maker.saved.n_classes:
            raise Trouble("say where the labels count from, --first-label 0 or 1: "
                          f"{self.rows.name} does not tell")
        return int(seen.least)

    def refuse(self, fraction, least, most, classes=MOST):
        """Refuses labels that cannot be classes, counted as they are in the file."""
        if fraction is not None:
            raise Trouble(f"{fraction} is no class: classes are whole numbers")
        if not (self.first <= least and most < self.first + classes):
            raise Trouble(f"{self.rows.name}: labels {least:.10g} ... {most:.10g} cannot be "
                          f"classes, which count from {self.first} (--first-label)"
                          + (f" to {self.first + classes - 1}" if classes < MOST else ""))

    def begin(self, learner, seen):
        self.refuse(seen.fraction, seen.least, seen.most, learner.n_classes)

    def play(self, learner, piece):
        labels = piece.labels
        self.refuse_names()
        self.refuse(self.rows.fraction(piece), labels.min(), labels.max(), learner.n_classes)
        return learner.run(piece.X, labels.astype(np.int64) - self.first).mistakes

    def wrong(self, learner, piece):
        """Of rows that are not learned from: which are mistaken."""
        if not self.rows.labels.named:
            _answer.refuse_below(piece.labels, self.first)
        return learner.predict(piece.X) + self.first != piece.labels

    def told(self, learner):
        if self.rows.labels.named:
            return f"{learner.n_classes} classes: {', '.join(self.rows.labels.names)}"
        where = "" if self.first == 0 else "; they count from 1, and the model remembers it"
        return f"{learner.n_classes} classes{where}"


class Filtering:
    """Wrong decisions: forwarded what was not relevant, or kept what was."""

    what = "wrong/row"
    first = None

    def __init__(self, maker, options, rows, seen, first):
        self.label, self.defaults = rows.number_of(options.relevant), {}
        if maker.lacks("horizon") and "explore" not in maker.given and seen is not None:
            self.defaults["horizon"] = seen.rows * options.passes
        self.asked, self.rows, self.found = options.relevant, rows, Forwarded()

    @staticmethod
    def single(options):
        return None if options.relevant is not None else \
            "--relevant LABEL says which of many labels counts"

    @staticmethod
    def labels(maker, reading):
        return Labels(reading.classes, why=MODELS if reading.classes else None)

    def begin(self, learner, seen):
        if self.label is not None and not seen.found:
            print(f"no row has the label {shown(self.asked)}")

    def counts(self, piece):
        """Which rows are relevant."""
        if self.label is None and self.rows.labels.named:
            raise Trouble(f"{self.rows.name}: the labels are names: say which one is relevant, "
                          "--relevant NAME")
        return piece.labels > 0 if self.label is None else piece.holds(self.label)

    def play(self, learner, piece):
        relevant = self.counts(piece)
        return self.found.add(learner.run(piece.X, relevant).forwarded, relevant)

    def wrong(self, learner, piece):
        """Of rows that are not learned from: which are decided wrongly."""
        own = copy.deepcopy(learner)  # a decision counts a round
        return np.array([own.forward(row) for row in piece.singly()]) != self.counts(piece)

    def told(self, learner):
        if not self.found.relevant:
            warn("train", "no row was relevant" if self.asked is None else
                 f"no row has the label {shown(self.asked)} of --relevant")
        return self.found.told()


FAMILIES = {"multiclass": Multiclass, "filtering": Filtering}


# --- where rows come from -------------------------------------------------------------------------


class Svmlight:
    """Rows of svmlight text, of names, of VW's text, or converted ones."""

    def __init__(self, maker, options, family):
        if options.label is not None:
            raise Trouble("--label is for plain text (--text), and for --by")
        self.maker, self.options, self.family = maker, options, family
        if maker.saved is None:
            self.reading = Reading.asked(options)
            if options.hash_bits is not None and options.features is not None:
                raise Trouble("--features and --hash-bits both say how many columns there are")
        else:
            self.reading = Reading.of(maker.beside, options.start)
            self.reading.refuse_other(options, options.start)
        self.first = options.first_label
        if maker.saved is not None:
            self.first = self.reading.first_label(options.first_label, options.start)
            options.relevant = self.reading.relevant_label(options.relevant, options.start)
        self.rows = self.reading.rows(options.file, options, maker.limit, single=self.single,
                                      labels=family.labels(maker, self.reading), grow=True,
                                      fixed=maker.most is None)

    @property
    def single(self):
        return self.family.single(self.options)

    def held_out(self, learner):
        """The pieces of --held-out, which teach no name."""
        self.reading.take_names(self.rows)
        rows = self.reading.rows(self.options.held_out, self.options, self.maker.limit,
                                 labels=self.rows.labels.closed_copy(), single=self.single,
                                 fixed=self.maker.most is None)
        return rows.pieces(_answer.width(learner) if self.maker.most is None else None)

    def told(self, first):
        """What goes into the model's file."""
        self.reading.take_names(self.rows)
        self.reading.first = None if self.rows.labels.named else first
        if first is not None:
            self.reading.classes = self.rows.labels.names
        self.reading.relevant = self.options.relevant
        return None if self.reading.plain else self.reading.told()

    def warn(self):
        left_out = getattr(self.rows, "left_out", 0)
        if left_out and self.reading.features == "names":
            print(f"{left_out:,} features of {self.rows.name} have no column, since their names "
                  "were new: they were left out")


class Plain:
    """Rows of plain text."""

    def __init__(self, maker, options, family):
        if maker.saved is not None and not _answer.is_text(maker.beside):
            raise Trouble(f"{options.start} was not trained on text: it has no words to go by")
        for name in ("zero_based", "names", "hash_bits", "format"):
            if getattr(options, name):
                raise Trouble(f"--{name.replace('_', '-')} is for svmlight text")
        self.options, self.first, reading = options, options.first_label, Reading()
        if maker.beside is None:
            words = _text.Words(maker.columns or _text.COLUMNS, ("text",))
        else:
            words, reading = _answer.text_of(maker.beside, options.start)
            self.first = reading.first_label(options.first_label, options.start)
            options.relevant = reading.relevant_label(options.relevant, options.start)
        if options.text:
            words.fields = _text.fields_of(options.text)
        self.single = family.single(options)
        self.rows = _text.TextRows(options.file, words, label=options.label or "label",
                                   labels=family.labels(maker, reading), single=self.single)
        self.rows.number_of(options.relevant)  # its name is known before the first document

    def held_out(self, learner):
        rows = _text.TextRows(self.options.held_out, self.rows.words, label=self.rows.label,
                              labels=self.rows.labels.closed_copy(), single=self.single,
                              count=False)
        return rows.pieces(rows.columns)

    def told(self, first):
        return self.rows.told(None if self.rows.labels.named else first, self.options.relevant)

    def warn(self):
        pass


# --- the training ---------------------------------------------------------------------------------


def train_rows(maker, options, save):
    """Rows in pieces."""
    family = FAMILIES[maker.family]
    text = options.text is not None or _answer.is_text(maker.beside)
    source = (Plain if text else Svmlight)(maker, options, family)
    if options.held_out is not None:
        _refuse_held_out(options, text)
    rows = source.rows
    grows = maker.most is not None
    columns = None if grows and not text else maker.columns or rows.columns
    seen = _seen(rows, options, columns is None and not grows or maker.lacks("n_classes"))
    if columns is None and not grows:
        columns = max(1, seen.columns)
    work = family(maker, options, rows, seen, source.first)
    learner = _made(maker, work, columns)
    if seen is not None:
        work.begin(learner, seen)
    judge = None if options.held_out is None else (lambda: _share(work, learner, source))
    board = Board(family.what, judge=judge, report=options.report,
                  expected=None if seen is None else seen.rows * options.passes)
    save.of(learner, lambda: source.told(work.first))
    for number in range(options.passes):
        for piece in _mixed(rows, columns, options, number):
            begin = 0
            while begin < len(piece):
                end = min(len(piece), begin + board.room())
                board.add(work.play(learner, piece.cut(begin, end)))
                save.sometimes()
                begin = end
    board.end()
    print(work.told(learner))
    source.warn()
    return learner


def _made(maker, work, columns):
    defaults = dict(work.defaults)
    if columns is not None and columns > WIDE and maker.lacks("covariance"):
        defaults["covariance"] = "diagonal"  # the only one whose rounds cost what a row holds
        print(f"{columns:,} columns: covariance=diagonal (another by --set covariance=...)")
    return maker.make(**defaults)


def _seen(rows, options, needed):
    """A first reading of the rows; of standard input only where it is needed, and then all of it
    stays in memory."""
    if _streams.is_stdin(options.file):
        refuse_second_pass(options)
        if not needed:
            return None
    seen = rows.scan(rows.number_of(options.relevant))
    if seen.rows == 0:
        raise Trouble(f"{rows.name} holds no rows")
    if _streams.is_stdin(options.file):
        print(f"standard input was read to its end, {seen.rows:,} rows, to know its columns and "
              "labels: with --features or --hash-bits, and --set n_classes=K, it is learned as it "
              "comes")
    if seen.ordered and seen.rows > FIRST and options.shuffle is None:
        print("the labels come in order, one class after another: --shuffle mixes the rows")
    return seen


def _mixed(rows, columns, options, number):
    """The pieces as they come, or one of all rows, mixed."""
    if options.shuffle is None:
        yield from rows.pieces(columns)
    else:
        whole = rows.whole.take(order_of(len(rows.whole), options, number))
        yield whole if columns is None else whole.widened(columns)


def _refuse_held_out(options, text):
    """What cannot be held out, before anything is learned."""
    if _streams.is_stdin(options.held_out):
        raise Trouble("--held-out - cannot be: it is read again and again, and needs a file")
    if not text:
        form_of(options.held_out, options)


def _share(work, learner, source):
    """The share of the rows held out that the learner has wrong."""
    wrong, rows, name = 0, 0, source.options.held_out
    try:
        for piece in source.held_out(learner):
            wrong += int(np.sum(work.wrong(learner, piece)))
            rows += len(piece)
    except ValueError as error:
        raise Trouble(f"--held-out {name}: {error}") from error
    if rows == 0:
        raise Trouble(f"--held-out {name} holds no rows")
    return wrong / rows
