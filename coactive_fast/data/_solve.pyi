import numpy as np
from numpy.typing import NDArray

def solve_rows(
    starts: NDArray[np.intp],
    places: NDArray[np.intp],
    values: NDArray[np.float64],
    others: NDArray[np.float64],
    weight: float,
    out: NDArray[np.float64],
    begin: int,
    end: int,
) -> None: ...
