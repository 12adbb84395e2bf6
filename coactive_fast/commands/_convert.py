"""``coactive-fast convert``: text as a file of arrays, which is mapped instead of parsed."""

from coactive_fast import data

from . import Trouble, _clicks, _rows, _streams


def convert(options):
    if _streams.is_stdin(options.file):
        raise Trouble("convert reads a file, not standard input")
    kind = _streams.kind_of(options.file)
    if kind == "converted":
        raise Trouble(f"{options.file} is converted already: only text is")
    form = _rows.text_form(_streams.start_of(options.file))
    if kind != "clicks" and (form.vw or form.labels or form.features):
        raise Trouble(f"{options.file} has names of labels or features: what is converted has "
                      "numbers and indices")
    _streams.check_target("OUT", options.out, options.file)
    if kind == "clicks":
        print(f"{options.out}: {_clicks.write_log(options.file, options.out):,} queries of a log")
        return
    if kind == "ranking":
        found = data.RankingData.from_svmlight(  # not in memory: the text is gone through twice
            options.file, zero_based=options.zero_based, into=options.out)
        print(f"{options.out}: {found!r}")
        return
    rows, columns = _rows.write_rows(options.file, options.out, options.multilabel,
                                     options.zero_based)
    print(f"{options.out}: {rows:,} rows, {columns:,} columns")
