"""What pip installs for the least versions that pyproject.toml declares: of ``dependencies``, of an
extra. Usage: ``python .ci/least.py dependencies sklearn ...``; one requirement a line."""

import re
import sys
from pathlib import Path

text = (Path(__file__).resolve().parent.parent / "pyproject.toml").read_text(encoding="utf-8")
for name in sys.argv[1:]:
    listed = re.search(rf"^{name} = \[(.*?)\]$", text, re.MULTILINE | re.DOTALL)[1]
    print(*re.findall(r'"([^"]+)"', listed.replace(">=", "==")), sep="\n")
