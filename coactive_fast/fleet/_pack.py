"""Learners of rewards as the numbers of a record, and back.

A record keeps ``A^-1 = U D U^T``, a learner A and its inverse; of A, LAPACK makes one from the
other: with ``A = L L^T``, ``U = (L / diag L)^-T`` and ``D = 1 / diag(L)^2``.
"""

import numpy as np
from scipy.linalg import solve_triangular

from ..metric._single import Moving

HEAD = 4  # words of a head before those of the kind: sequence, sum, key, rounds
ROUNDS = 3
LEARNED, NUMBERS = 1, 2  # in a block


def factors(A):
    """``(U packed by columns, D)``."""
    d = len(A)
    try:
        lower = np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        raise ValueError("the learner's A is not positive definite in float64") from None
    diagonal = np.diag(lower).copy()
    U = solve_triangular(lower / diagonal, np.eye(d), lower=True, unit_diagonal=True).T
    return np.concatenate([U[:j, j] for j in range(d)] or [np.zeros(0)]), diagonal**-2.0


def matrix(D, packed):
    """A of the factors of its inverse."""
    d = len(D)
    U = np.eye(d)
    for j in range(d):
        U[:j, j] = packed[j * (j - 1) // 2:j * (j + 1) // 2]
    inner = solve_triangular(U, np.eye(d), unit_diagonal=True)
    A = inner.T @ (inner / D[:, None])
    return (A + A.T) / 2.0


def blocks_of(learner):
    """``(d, rounds, [(learned, w, A, share), ...])`` of a learner of rewards."""
    state = learner._engine.state()
    blocks = []
    for form in state["forms"] if state["d"] else []:
        A = Moving.from_state(form["metric"]).matrix() * form["scale"]
        blocks.append((form["learned"], form["w"], A, form["share"]))
    return state["d"], state["learned"], blocks


def scaled(blocks, ridge, weight):
    """The same with the evidence weighed: ``A <- ridge I + f (A - share ridge I)``, w with it."""
    out = []
    for learned, w, A, share in blocks:
        eye = np.eye(len(w))
        new = ridge * eye + weight * (A - share * ridge * eye)
        out.append((learned, np.linalg.solve(new, weight * (A @ w)), new, 1.0))
    return out


def filled(layout, extra, rounds, blocks, forgets, ridge):
    """The words of a record with these blocks; None: of a model that has learned nothing."""
    record = np.zeros(layout.record, dtype=np.int64)
    record[ROUNDS] = rounds
    d = layout.d
    for i in range(layout.k):
        block = record[layout.head + i * layout.block:][:layout.block]
        numbers = block[NUMBERS:].view(np.float64)
        if blocks:
            learned, w, A, share = blocks[i]
            packed, diagonal = factors(A)
        else:
            learned, w, packed, diagonal, share = 0, 0.0, 0.0, 1.0 / ridge, 1.0
        block[LEARNED] = learned
        numbers[:d], numbers[d:2 * d], numbers[2 * d:2 * d + d * (d - 1) // 2] = w, diagonal, packed
        if forgets:
            numbers[2 * d + d * (d - 1) // 2] = share
    return record


def taken(layout, record, forgets):
    """``(rounds, blocks)`` of a record."""
    d, blocks = layout.d, []
    for i in range(layout.k):
        block = record[layout.head + i * layout.block:][:layout.block]
        numbers = block[NUMBERS:].view(np.float64)
        packed = numbers[2 * d:2 * d + d * (d - 1) // 2]
        share = float(numbers[2 * d + d * (d - 1) // 2]) if forgets else 1.0
        blocks.append((int(block[LEARNED]), numbers[:d].copy(), matrix(numbers[d:2 * d], packed),
                       share))
    return int(record[ROUNDS]), blocks


def give(learner, d, rounds, blocks, ridge):
    """What a fresh learner is to have learned."""
    forms = []
    for learned, w, A, share in blocks:
        metric = Moving.from_matrix(A, share * ridge).state()
        forms.append({"d": d, "learned": learned, "w": w, "scale": 1.0, "share": share,
                      "metric": metric})
    state = learner._engine.state()
    state.update({"k": len(forms), "d": d, "learned": rounds, "forms": forms})
    learner._engine.restore(state)
    return learner
