import os
from typing import Any

def load(path: str | os.PathLike[str], task: object = None) -> Any: ...
