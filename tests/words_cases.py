"""What the tests of labels and features that are words share."""

from command_cases import call, learnable_rows, text_of

from coactive_fast.learner import _store

CLASSES = ["sport", "tax", "sea"]
FEATURES = ["goal", "duty", "c#", "é", "w^x", "7", "tide", "a,b", "f", "g", "h", "i"]


def lines_of(X, labels, names, vw=False):
    """A row a line, in one form or the other; some features have words instead of numbers."""
    lines = []
    for x, label in zip(X.tolist(), labels, strict=True):
        pairs = [f"{name}:{v!r}" for name, v in zip(names, x, strict=True) if v]
        head = f"{label} 1.0 'tag |" if vw else f"{label}"
        lines.append(f"{head} {' '.join(pairs)}".rstrip())
    return "\n".join(lines) + "\n"


def written(tmp_path):
    """The learnable rows: indices and labels from 1; words; VW's text; indices under names."""
    path, X, y = learnable_rows(tmp_path)
    (tmp_path / "rows.names").write_text(lines_of(X, [CLASSES[i] for i in y], FEATURES))
    (tmp_path / "rows.vw").write_text(lines_of(X, y + 1, FEATURES, vw=True))
    (tmp_path / "rows.labels").write_text(text_of(X, [CLASSES[i] for i in y]))
    return tmp_path, X, y


def predictions(capsys, *arguments):
    capsys.readouterr()
    assert call("choose", *arguments) == 0
    return capsys.readouterr().out.split()


def beside(model):
    return _store.loaded(model)[1][0]
