"""``python -m coactive_fast.experiments [NAME ...]`` is ``coactive-fast reproduce [NAME ...]``."""

import sys

from coactive_fast.cli import main

if __name__ == "__main__":
    sys.exit(main(["reproduce", *sys.argv[1:]]))
