"""All machines: to import this is to know them."""

from . import coactive, convex, filtering, metrics, multiclass, rewards  # noqa: F401

OTHERS = ("metric.Full", "metric.Diagonal", "metric.Dual")  # machines of what is no learner
