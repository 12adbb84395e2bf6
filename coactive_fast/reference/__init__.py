"""The slow twins: every kernel and every metric, written in plain NumPy as its definition.

Nothing here is fast and nothing here is clever. Each function says in its docstring what is
computed and then computes it by the shortest safe road: full sorts, dense solves, exact
rational arithmetic where rounding would blur the answer. The compiled package is tested against
these functions, and they are the place to look up what a result means.

Names and signatures are those of `coactive_fast.kernels` and `coactive_fast.metric`.

Examples
--------
>>> from coactive_fast import reference
>>> reference.top_k([0.5, 2.0, 2.0], 2)
array([1, 2])
"""

from .dual import Dual
from .exponentiated import exponentiated_weights
from .kernels import inverse_update, rank, ranking_features, top_k
from .metric import Diagonal, Full
from .projections import (
    project_ball,
    project_box,
    project_l1,
    project_scores,
    project_simplex,
)

__all__ = [
    "Diagonal",
    "Dual",
    "Full",
    "exponentiated_weights",
    "inverse_update",
    "project_ball",
    "project_box",
    "project_l1",
    "project_scores",
    "project_simplex",
    "rank",
    "ranking_features",
    "top_k",
]
