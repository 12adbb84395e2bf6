"""The pages of docs/, as they were installed with the package."""

from __future__ import annotations

import re
from pathlib import Path


def folder() -> Path:
    """Where the pages are: in the package, or beside it in a source tree."""
    package = Path(__file__).resolve().parent.parent
    return next(place for place in (package / "docs", package.parent / "docs")
                if (place / "index.md").is_file())


def listing() -> str:
    """A line a page: its name and what it tells, as in the index; then where they are."""
    index = (folder() / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[.+?\]\((\w+)\.md\) \| (.+) \|$", index, re.MULTILINE)
    width = max(len(name) for name, _ in rows)
    return "\n".join([*(f"{name:{width}}  {tells}" for name, tells in rows), "", str(folder())])


def page(name: str) -> str:
    """The text of a page, by its name in the list."""
    file = folder() / f"{name}.md"
    if not re.fullmatch(r"\w+", name) or not file.is_file():
        names = ", ".join(sorted(path.stem for path in folder().glob("*.md")))
        raise ValueError(f"there is no page {name!r}; there are {names}")
    return file.read_text(encoding="utf-8")
