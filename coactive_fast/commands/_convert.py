"""``coactive-fast convert``: text as a file of arrays, which is mapped instead of parsed."""

from . import Trouble, _rows, _streams, _target


def convert(options):
    if _streams.is_stdin(options.file):
        raise Trouble("convert reads a file, not standard input")
    kind = _streams.kind_of(options.file)
    if kind in ("clicks", "converted"):
        what = "is a log of clicks" if kind == "clicks" else "is converted already"
        raise Trouble(f"{options.file} {what}: only svmlight and LETOR text is converted")
    _target.check("OUT", options.out, options.file)
    if kind == "ranking":
        found = _streams.ranking_data(options.file, zero_based=options.zero_based)
        found.save(options.out)
        print(f"{options.out}: {found!r}")
        return
    rows, columns = _rows.write_rows(options.file, options.out, options.multilabel,
                                     options.zero_based)
    print(f"{options.out}: {rows:,} rows, {columns:,} columns")
