"""Labels as numbers: those that are names get numbers in the order in which they come."""

import math

from . import Trouble

MODELS = ", as the model's classes are"
UNKNOWN = -1.0  # a name that is none of those known, where no new one is taken


class Labels:
    """The labels of a stream, which are all names or all numbers.

    Parameters
    ----------
    names : list of str
        Those known already, by their numbers.
    most : int, optional
        No more classes than these.
    named : bool, optional
        Whether they are names; None: the first one tells.
    closed : bool
        A name that is not known is `UNKNOWN`, instead of a new one or an error.
    why : str, optional
        Why they are names or numbers, for messages.
    """

    def __init__(self, names=(), *, most=None, named=None, closed=False, why=None):
        self.numbers = {name: i for i, name in enumerate(names)}
        self.most, self.named, self.closed = most, True if self.numbers else named, closed
        self.why = why or (", as the other labels are" if named is None else "")

    @property
    def names(self):
        """By their numbers; none where labels are numbers."""
        return list(self.numbers)

    def closed_copy(self):
        return Labels(self.numbers, named=self.named, closed=True, why=self.why)

    def of(self, one, where):
        """The number of a label: a str is a name."""
        named = isinstance(one, str)
        if self.named is None:
            self.named = named
        elif self.named != named:
            raise Trouble(f"{where}: expected a {'name' if self.named else 'number'}{self.why}, "
                          f"got {one!r:.60}")
        if not named:
            return float(one)
        if one in self.numbers:
            return float(self.numbers[one])
        if self.closed:
            return UNKNOWN
        if self.most is not None and len(self.numbers) >= self.most:
            raise Trouble(f"{where}: {one!r:.60} is none of the model's classes: "
                          f"{', '.join(self.numbers)[:200]}")
        return float(self.numbers.setdefault(one, len(self.numbers)))

    def number_of(self, relevant):
        """The number of the label that --relevant names."""
        if relevant is None or isinstance(relevant, float) and not self.named:
            return relevant
        name = f"{relevant:.10g}" if isinstance(relevant, float) else relevant
        return float(self.numbers.setdefault(name, len(self.numbers)))


def read(text, where):
    """A label as it is written in a row: a finite number, or a name."""
    try:
        value = float(text)
    except ValueError:
        if not text.isprintable():
            raise Trouble(f"{where}: expected a label that can be printed, got {text!r:.60}") \
                from None
        return text
    if not math.isfinite(value):
        raise Trouble(f"{where}: expected a label that is a finite number or a name, got {text!r}")
    return value
