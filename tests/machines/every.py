"""All machines: to import this registers them."""

from . import coactive, convex, filtering, fleets, metrics, multiclass, rewards  # noqa: F401

OTHERS = ("metric.Full", "metric.Diagonal", "metric.Dual", "Fleet")  # no learners
