"""For the benchmarks and tests of other projects: streams, ratios, and rows in pytest-benchmark.

With the package installed pytest finds the fixtures `coactive_streams` and `coactive_ratio` by
itself (`pytest_coactive_fast`); nothing here is loaded before a test asks for one of them. The
functions need neither pytest nor pytest-benchmark.
"""

from ._ratio import Ratio, add_rows, assert_ratio, assert_same, measure_ratio, versions
from ._streams import Streams
from ._timing import Contender, Timing, interleaved, player

__all__ = ["Contender", "Ratio", "Streams", "Timing", "add_rows", "assert_ratio", "assert_same",
           "interleaved", "measure_ratio", "player", "versions"]
