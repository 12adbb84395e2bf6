"""Streams of every learner give what version 0.2.1 gave.

Decisions, messages and types must be equal, and real numbers to the last bit. To 1e-9 they must be
equal in the streams of `MERGED`, where two implementations became one, and of `FOREIGN`, whose last
bits are those of another library; and everywhere on a machine without a fused multiply-add.
"""

import fnmatch

import pytest
from pins import all_streams, notes
from pins.play import played

import coactive_fast as cf

# name or pattern of streams -> why their last bits are others than those of 0.2.1
MERGED = {}
# name or pattern of streams -> which library decides their last bits
FOREIGN = {
    "RankingSVM/*": "scikit-learn solves",
    "logs.evaluate/*": "BLAS and LAPACK solve the regressions of dr",
    "Full/*": "BLAS and LAPACK draw the samples",
    "Diagonal/*": "as Full",
}
RECORDED = notes.read()
STREAMS = all_streams()
FUSED = cf.show_config("dicts")["isa"]["fused_multiply_add"]


def exact(name):
    near = [pattern for pattern in (*MERGED, *FOREIGN) if fnmatch.fnmatchcase(name, pattern)]
    return FUSED and not near


@pytest.mark.parametrize("name", RECORDED)
def test_a_stream_is_as_it_was(name):
    assert name in STREAMS, "the stream is not there any more: are its parameters refused?"
    if name.startswith("RankingSVM"):
        pytest.importorskip("sklearn")
    lines = notes.differences(RECORDED[name], played(STREAMS[name]), bits=exact(name))
    assert not lines, "\n".join([name, *lines])


def test_no_stream_is_new():
    assert [name for name in STREAMS if name not in RECORDED] == []
