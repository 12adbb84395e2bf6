"""The python blocks of README and of some pages run and give what the comments behind the lines
say: those of README each alone."""

import ast
import importlib.util
import io
import re
import tokenize
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
ALONE = [README, *(ROOT / "docs" / f"{name}.md" for name in ("examples", "filters", "dropin"))]
FENCE = re.compile(r"^(?:<!-- (?P<mark>[^\n]*) -->\n)?```(?P<kind>\w*)\n(?P<text>.*?)^```$",
                   re.MULTILINE | re.DOTALL)


def fences(page=README):
    """(marker or None, language, text) of each fenced block."""
    text = page.read_text(encoding="utf-8")
    return [(m["mark"], m["kind"], m["text"]) for m in FENCE.finditer(text)]


TOGETHER = ("frameworks", "many")  # a page in one session, as its reader types it
BLOCKS = [text for page in ALONE for mark, kind, text in fences(page)
          if kind == "python" and mark is None]


def comments(source):
    """The comment behind the code of each line."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}


@pytest.mark.parametrize("source", BLOCKS, ids=lambda s: s.strip().splitlines()[-1][:30])
def test_python_block(source, tmp_path, monkeypatch):
    """The value of an expression, where it has one, is what its comment says."""
    monkeypatch.chdir(tmp_path)
    assert played(source, {}) >= 1


@pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler")  # of old Dask
@pytest.mark.parametrize("name", TOGETHER)
def test_page(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = [text for _, kind, text in fences(ROOT / "docs" / f"{name}.md")
              if kind == "python" and ">>>" not in text]
    assert len(blocks) >= 2
    for text in blocks:
        extra = re.search(r"adapters\.(dask|river|sklearn)\b", text)
        if extra is None or at_hand(extra[1]):
            assert played(text, names) >= 1, text


def at_hand(name):
    """Whether what an adapter needs is there, and new enough."""
    try:
        importlib.import_module(f"coactive_fast.adapters.{name}")
        return importlib.util.find_spec(name) is not None
    except ImportError as error:
        if error.name != name:
            raise
        return False


def played(source, names):
    """Runs a block; how many of its values were compared."""
    said, compared = comments(source), 0
    for statement in ast.parse(source).body:
        text, comment = ast.get_source_segment(source, statement), said.get(statement.end_lineno)
        if not isinstance(statement, ast.Expr):
            exec(text, names)
            continue
        value = eval(text, names)
        if value is not None:
            written = repr(value).replace("np.True_", "True")
            older = re.sub(r"^np\.\w+\((.*)\)$", r"\1", comment)  # NumPy 1 names no types
            assert written == (comment if np.__version__ >= "2" else older), text
            compared += 1
    return compared


def test_commands():
    """The two commands stand alone, one line each, and use the pytest script (see there)."""
    commands = {mark: text for mark, _, text in fences() if mark and mark.startswith("command")}
    assert set(commands) == {"command: install", "command: test"}
    for text in commands.values():
        assert text.count("\n") == 1 and text.startswith("python3 -m venv ")
    assert commands["command: install"].rstrip().endswith("/bin/coactive-fast reproduce")
    assert commands["command: test"].rstrip().endswith("/bin/pytest tests")


def test_kept_short():
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 160
    assert not [n for n, line in enumerate(lines, 1)
                if len(line) > 105 and not line.startswith("|")]
