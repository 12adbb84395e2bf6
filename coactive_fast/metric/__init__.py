"""A positive definite matrix ``A = ridge I + sum c x x^T`` and its inverse.

``Full``      the whole matrix, one triangle stored; drift watched and repaired
``Diagonal``  the diagonal alone, for many features
``Dual``      the same matrix through the Gram matrix of stored rows, for kernels and for many
              more features than rows
"""

from ._metrics import Diagonal, Dual, Full

__all__ = ["Diagonal", "Dual", "Full"]
