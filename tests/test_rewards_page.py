"""The code of docs/rewards.md runs from top to bottom and gives what the comments say."""

import ast
import re
from pathlib import Path

from test_package_readme import comments

PAGE = Path(__file__).resolve().parent.parent / "docs" / "rewards.md"


def test_the_page(tmp_path, monkeypatch):
    """All blocks in one namespace; an expression's value is what its comment says."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    names, compared = {}, 0
    for source in blocks:
        said = comments(source)
        for statement in ast.parse(source).body:
            text = ast.get_source_segment(source, statement)
            if not isinstance(statement, ast.Expr):
                exec(text, names)
                continue
            value = eval(text, names)
            if value is not None:
                assert repr(value) == said.get(statement.end_lineno), text
                compared += 1
    assert len(blocks) >= 10 and compared >= 20
