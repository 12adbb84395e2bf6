"""Learning from loss values: a point is asked for, and what was seen there is told."""

from ._history import ConvexHistory
from ._learners import OGD, OGDEG, ONS, ONSEG, DikinFTRL
from ._sets import Ball, Box, FeasibleSet, L1Ball, Simplex

__all__ = ["Ball", "Box", "ConvexHistory", "DikinFTRL", "FeasibleSet", "L1Ball", "OGD", "OGDEG",
           "ONS", "ONSEG", "Simplex"]
