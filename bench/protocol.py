"""The virtual methods of the protocols: what a form or a rule may bring of its own.

    python bench/protocol.py            # of this tree
    python bench/protocol.py ../other   # of another one

Counted are the methods that the base classes declare, each name once in a chain of classes, without
those that are inline or final.
"""

import re
import sys
from pathlib import Path

ENGINE, FORMS = "coactive_fast/learner/_engine.pxd", "coactive_fast/metric/_forms.pxd"
CHAINS = [
    [(ENGINE, "Form"), (FORMS, "Ridges"), (FORMS, "Lines"), (FORMS, "Single"),
     (FORMS, "Regression")],
    [(ENGINE, "Rule")],
    [("coactive_fast/coactive/_rules.pxd", "WeightUpdate")],
    [("coactive_fast/convex/_rules.pyx", "PointUpdate")],
]


def methods(text, name):
    """The virtual methods that a class declares."""
    body = re.search(rf"^cdef class {name}\b[^\n]*:\n((?:[ #\n][^\n]*\n|\n)*)", text, re.MULTILINE)
    if body is None:
        return []
    lines = body[1].splitlines()
    found = []
    for before, line in zip(["", *lines], lines, strict=False):
        called = re.match(r"    cdef (?!inline )(?:[\w .*\[\]]*?[ *])?(\w+)\(", line)
        if called and "@cython.final" not in before:
            found.append(called[1])
    return found


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[1])
    total = 0
    for chain in CHAINS:
        seen = set()
        for file, name in chain:
            new = [method for method in methods((root / file).read_text(), name)
                   if method not in seen]
            seen.update(new)
            total += len(new)
            print(f"{name:12} {len(new):3}  {' '.join(new)}")
    print(f"{'all':12} {total:3}")


if __name__ == "__main__":
    main()
