"""The learner that an adapter is given, as a pattern."""

from coactive_fast.multiclass import Confidit
from coactive_fast.multiclass._learners import MulticlassLearner


def fresh(pattern, n_classes):
    """A learner like `pattern` (None: Confidit) that has learned nothing, of so many classes."""
    if pattern is None:
        return Confidit(n_classes)
    if not isinstance(pattern, MulticlassLearner):
        raise TypeError("learner must be a multiclass learner, as coactive_fast.Confidit(2), got "
                        f"{pattern!r}")
    return pattern.clone().set_params(n_classes=n_classes)
