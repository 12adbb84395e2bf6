"""Text: svmlight files as CSR and as dense rows.

With COACTIVE_DATA the file is MQ2008, repeated; else one of the same shape is made.
"""

import atexit
import gzip
import os
import tempfile
from pathlib import Path

import contenders as others
import numpy as np
import threads
from ratio import Case, Contender, Plan, times_faster

from coactive_fast.data import RankingData, load_svmlight
from coactive_fast.data._svmlight import load_dense

SKLEARN = "scikit-learn load_svmlight_file"


def like_mq2008(digits=6):
    rng = np.random.default_rng(0)
    values = rng.random((3000, 46)) * (rng.random((3000, 46)) < 0.6)
    rows = (" ".join(f"{i}:{v:.{digits}f}" for i, v in enumerate(row, 1)) for row in values)
    return "".join(f"{q % 3} qid:{q // 20} {row} #docid = GX{q:07d} inc = 1\n"
                   for q, row in enumerate(rows)).encode()


def mq2008():
    folder = os.environ.get("COACTIVE_DATA")
    if not folder:
        return like_mq2008()
    return b"".join(gzip.decompress((Path(folder) / "mq2008" / f"S{i}.txt.gz").read_bytes())
                    for i in range(1, 6))


def file_of(text, size):
    """The path of a file of at least `size` bytes: the text, over and over."""
    handle, path = tempfile.mkstemp(suffix=".txt")
    atexit.register(os.unlink, path)
    with open(handle, "wb") as file:
        for _ in range(-(-size // len(text))):
            file.write(text)
    return path


def rounds(function, *arguments, **options):
    def play(n):
        for _ in range(n):
            function(*arguments, **options)
    return play


def read_file(path):
    """The least that any reader does: the bytes go through the same small buffer."""
    buffer = bytearray(1 << 18)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def check(path):
    """All numbers are those of scikit-learn, or of Python where it is not installed."""
    X, y = load_svmlight(path)
    rows, labels = load_dense(path, dtype=np.float64)
    assert (labels == y).all() and (X.toarray() == rows).all()
    if others.have("sklearn"):
        from sklearn.datasets import load_svmlight_file

        expected, grades = load_svmlight_file(path, zero_based=False)
        assert (expected != X).nnz == 0 and (grades == y).all()
        return
    with open(path, "rb") as file:
        for row, line in zip(rows, file, strict=True):
            pairs = [token.split(b":") for token in line.split(b"#")[0].split()[2:]]
            places = [int(index) - 1 for index, _ in pairs]
            assert [float(value) for _, value in pairs] == row[places].tolist()


def case(name, text, megabytes, asked=()):
    check(file_of(text, 1))
    path = file_of(text, 1 if threads.quick() else int(megabytes * 1e6))
    size = os.path.getsize(path) / 1e6
    ours = Contender("coactive_fast load_svmlight", rounds(load_svmlight, path))
    rivals = [Contender("the same, float32", rounds(load_svmlight, path, dtype=np.float32),
                        own=True),
              Contender("RankingData.from_svmlight, grouped",
                        rounds(RankingData.from_svmlight, path, group=True), own=True)]
    if others.have("sklearn"):
        from sklearn.datasets import load_svmlight_file

        rivals.append(Contender(SKLEARN, rounds(load_svmlight_file, path, zero_based=False)))
    limit = Contender("the file's bytes", rounds(read_file, path))
    return Case("text", f"{name}, {size:.0f} MB", ours, rivals, limit, asked,
                (load_svmlight, (path,)))


def plans():
    asked = (times_faster(5, "scikit-learn", SKLEARN),)
    return [
        Plan("mq2008", lambda: case("MQ2008", mq2008(), 20, asked)),
        Plan("mq2008-200MB", lambda: case("MQ2008", mq2008(), 200, asked), smoke=False),
        Plan("17-digits", lambda: case("17 digits", like_mq2008(17), 20), smoke=False),
    ]


def test_text(compare, plan):
    compare(plan)
