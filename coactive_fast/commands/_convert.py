"""``coactive-fast convert``: text as a file of arrays, which is mapped instead of parsed."""

import os

from coactive_fast import data

from . import Trouble, _streams


def convert(options):
    kind = _streams.kind_of(options.file)
    if kind is None:
        raise Trouble("convert reads a file, not standard input")
    if kind in ("clicks", "converted"):
        raise Trouble(f"{options.file} holds {kind}: only svmlight and LETOR text is converted")
    if os.path.exists(options.out) and os.path.samefile(options.file, options.out):
        raise Trouble(f"{options.out} is the text itself: give another OUT")
    if kind == "ranking":
        found = data.RankingData.from_svmlight(options.file, zero_based=options.zero_based)
        found.save(options.out)
        print(f"{options.out}: {found!r}")
        return
    rows, columns = _streams.write_rows(options.file, options.out, options.multilabel,
                                        options.zero_based)
    print(f"{options.out}: {rows:,} rows, {columns:,} columns")
