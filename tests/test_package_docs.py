"""README, CONTRIBUTING and the pages in docs/: links, sections that the code points to, rooms."""

import importlib
import re
from itertools import chain
from pathlib import Path

import public_names
import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PACKAGE = ROOT / "coactive_fast"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
KINDS = {".py", ".pyi", ".pyx", ".pxd", ".pxi", ".h", ".c"}
SOURCES = [path for folder in ("csrc", "coactive_fast", "tests", "bench")
           for path in sorted((ROOT / folder).rglob("*.*")) if path.suffix in KINDS
           and not (path.suffix == ".c" and path.with_suffix(".pyx").exists())]  # made by Cython


def text(path):
    return path.read_text(encoding="utf-8")


def section(page, title):
    """The text between the heading with this title and the next of its level."""
    found = re.search(rf"^(#+) {re.escape(title)}$(.*?)(?=^\1 |\Z)", text(page), re.M | re.S)
    assert found, f"{page.name} has no section {title!r}"
    return found[2]


def folders():
    """The folders of the package that hold sources."""
    return sorted(path.name for path in PACKAGE.iterdir()
                  if path.is_dir() and any(path.glob("*.py*")) and path.name != "__pycache__")


def anchors(page):
    """The names under which a page's headings are linked to."""
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-")
            for title in HEADING.findall(text(page))}


# --- the pages ------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page):
    """Every relative link leads to a file that is there, and to a heading that it has."""
    for target in LINK.findall(re.sub(r"`[^`]*`", "", text(page))):
        if re.match(r"\w+:", target):
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        assert there.exists(), f"{page.name}: {target}"
        assert there.is_relative_to(ROOT), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(there), f"{page.name}: {target}"


def test_every_page_is_in_the_index():
    listed = set(LINK.findall(text(DOCS / "index.md")))
    assert {page.name for page in DOCS.glob("*.md")} - listed == {"index.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_are_short(page):
    """Lines of tables may be long: Markdown cannot break them."""
    assert not [n for n, line in enumerate(text(page).splitlines(), 1)
                if len(line) > 105 and not line.lstrip().startswith("|")]


def test_examples_of_the_pages_run():
    import doctest

    for page in PAGES:
        failed, _ = doctest.testfile(str(page), module_relative=False)
        assert failed == 0, page.name


def listed_names():
    """Full names in the lists from which Sphinx makes the API reference."""
    found = []
    for page in sorted(DOCS.glob("api*.rst")):
        module = None
        for line in text(page).splitlines():
            if line.startswith(".. currentmodule:: "):
                module = line.split()[-1]
            elif re.fullmatch(r"   \w+", line):
                found.append(f"{module}.{line.strip()}")
    return found


def test_every_public_name_is_in_the_api():
    """Sphinx makes a page of each, which its index of all names leads to."""
    listed = listed_names()
    assert len(listed) == len(set(listed))
    assert not set(public_names.objects()) - set(listed)
    for name in listed:  # and what stands there is there
        module, _, last = name.rpartition(".")
        if module in {found.__name__ for found in public_names.modules()}:
            assert hasattr(importlib.import_module(module), last), name


def test_glossary():
    entries = re.findall(r"^- \*\*(.+?)\*\*: (.+)$", text(DOCS / "glossary.md"), re.MULTILINE)
    words = [word for word, _ in entries]
    assert 10 <= len(words) <= 20
    assert words == sorted(set(words))
    assert text(DOCS / "glossary.md").count("\n- ") == len(entries)  # one line each


# --- what the code points to ----------------------------------------------------------------


def test_sections_that_are_pointed_to():
    """Every "DEFINITIONS 3" or "DEFINITIONS P2" in the sources is there to be read."""
    page = text(DOCS / "DEFINITIONS.md")
    there = set(re.findall(r"^(?:## |\*\*)(P?\d+)\. ", page, re.MULTILINE))
    assert {"1", "2", "3", "4", "5", "6", "9", "P1", "P4"} <= there
    for path in SOURCES:
        if path == Path(__file__).resolve():
            continue
        for found in re.findall(r"DEFINITIONS ((?:P?\d+(?:, | and )?)+)", text(path)):
            assert set(re.findall(r"P?\d+", found)) <= there, f"{path.name}: DEFINITIONS {found}"


def test_papers_and_corrections_that_are_pointed_to():
    page = text(DOCS / "papers.md")
    papers = set(re.findall(r"^(\d+)\. ", section(DOCS / "papers.md", "Papers"), re.M))
    body = text(DOCS / "DEFINITIONS.md") + section(DOCS / "papers.md", "Corrections")
    cited = set(re.findall(r"\d+", " ".join(re.findall(r"\[(\d+(?:, \d+)*)\]", body))))
    cited -= {"0", "1"} - papers  # intervals: [0, 1]
    assert cited <= papers | {"0"}
    assert papers <= cited, "a paper that nothing points to"
    fixes = set(re.findall(r"^\| (C\d+) \|", page, re.M))
    assert set(re.findall(r"\bC\d+\b", body)) == fixes


# --- the folders ----------------------------------------------------------------------------


def test_every_folder_is_on_the_map():
    table = section(ROOT / "README.md", "Working on it")
    assert "docs/map.md" in LINK.findall(table)
    for page in (table, section(DOCS / "map.md", "Folders"),
                 section(DOCS / "map.md", "Who may import whom")):
        named = re.findall(r"`(?:coactive_fast/)?([a-z]+)/`", page)
        assert set(folders()) <= set(named), set(folders()) - set(named)


def ranks():
    """The map's order of imports: {folder or module: its line}, and which names go together."""
    lines = re.findall(r"^(\d+)\. (.+)$", section(DOCS / "map.md", "Who may import whom"), re.M)
    rank, together = {}, {}
    for number, line in lines:
        for group in re.findall(r"`[^`]+`(?: with `[^`]+`)?", line):
            names = [name.strip("/").split(".")[0] for name in re.findall(r"`([^`]+)`", group)]
            for name in names:
                rank[name], together[name] = int(number), frozenset(names)
    return rank, together


def imported(path):
    """The folders and modules of the package that a source imports when it runs, by their first
    name; not `_typing`, which is names of types."""
    outer = ".." if path.parent != PACKAGE else "."
    code = re.sub(r'"""(?:.*?)"""', "", text(path), flags=re.DOTALL)
    code = re.sub(r"^if TYPE_CHECKING:.*\n(?: +.*\n|\n(?= ))*", "", code, flags=re.MULTILINE)
    for where, names in re.findall(r"^\s*from\s+([\w.]+)\s+c?import\s+(\([^)]*\)|[^\n#]+)", code,
                                   re.MULTILINE):
        inner = where.removeprefix("coactive_fast").lstrip(".")
        if not (where == "coactive_fast" or where.startswith("coactive_fast.")
                or (where.startswith(outer) and not where.startswith(outer + "."))):
            continue
        if inner != "_typing":
            yield from [inner.split(".")[0]] if inner else re.findall(r"\w+", names)


def test_folders_import_what_stands_above_them():
    rank, together = ranks()
    wrong = []
    for path in chain.from_iterable(PACKAGE.rglob(f"*.{kind}") for kind in ("py", "pyx", "pxd")):
        parts = path.relative_to(PACKAGE).parts
        own = parts[0].split(".")[0]
        if path.name in ("__main__.py", "__init__.py") and len(parts) == 1 or own not in rank:
            continue
        wrong += [f"{'/'.join(parts)} imports {name}" for name in imported(path)
                  if name in rank and name not in together[own] and rank[name] >= rank[own]
                  and path.name != "__main__.py"]
    assert not wrong, wrong


def test_twins_stand_alone():
    for path in PACKAGE.rglob("*.p*"):
        if path.suffix in (".py", ".pyx", ".pxd"):
            twin = path.relative_to(PACKAGE).parts[0] == "reference"
            found = set(imported(path))
            assert not found if twin else "reference" not in found, path


def test_versions_agree():
    version = re.search(r'"(.+)"', text(PACKAGE / "_version.py"))[1]
    assert re.search(r"^version: (.+)$", text(ROOT / "CITATION.cff"), re.M)[1] == version
    assert re.search(r"^## (\S+)", text(ROOT / "CHANGELOG.md"), re.M)[1] == version
