# The twins have the names and signatures of what they define.
from ..kernels import exponentiated_weights as exponentiated_weights
from ..kernels import inverse_update as inverse_update
from ..kernels import project_ball as project_ball
from ..kernels import project_box as project_box
from ..kernels import project_l1 as project_l1
from ..kernels import project_scores as project_scores
from ..kernels import project_simplex as project_simplex
from ..kernels import rank as rank
from ..kernels import ranking_features as ranking_features
from ..kernels import top_k as top_k
from ..metric import Diagonal as Diagonal
from ..metric import Dual as Dual
from ..metric import Full as Full

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
