"""All machines: to import this is to know them."""

from . import coactive, convex, filtering, multiclass, rewards  # noqa: F401

OTHERS = ()  # machines of what is no learner
