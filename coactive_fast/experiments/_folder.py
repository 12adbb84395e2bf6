"""Where the data are: a folder of real ones; without it scikit-learn's, or generated ones."""

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from coactive_fast.data._open import opened

from . import _sources


@dataclass(frozen=True)
class Sets:
    """The data of a run; the same for every task of it, small enough to be sent along."""

    folder: str | None = None
    bundled: bool = False  # without a folder: what scikit-learn brings along, where that fits

    @classmethod
    def at_hand(cls, folder=None):
        """Of this folder; None: scikit-learn's where that is installed."""
        if folder is not None:
            return cls(str(folder))
        return cls(None, importlib.util.find_spec("sklearn") is not None)

    @property
    def real(self):
        return self.folder is not None

    @property
    def kind(self):
        """In a word, for manifests and reports."""
        if self.real:
            return "real"
        return "generated and scikit-learn's" if self.bundled else "generated"

    def called(self, name, bundled=None):
        """What to call the data that stand for the set of this name; `bundled`: scikit-learn's."""
        if self.real:
            return name
        return bundled if self.bundled and bundled else f"made like {name}"

    def there(self, name):
        """The path of a file of the folder, or None; the name may lack its ``.gz``."""
        for there in (name, f"{name}.gz", name.removesuffix(".gz")):
            if self.real and (path := Path(self.folder, there)).is_file():
                return path
        return None

    def has(self, key):
        """Whether the folder holds all files of a set of `_sources`."""
        return all(map(self.there, _sources.SOURCES[key].files))

    def file(self, name):
        """The same; an error where it is not there."""
        path = self.there(name)
        if path is not None:
            return path
        raise FileNotFoundError(f"{name} is not in the data folder {self.folder}"
                                + _sources.origin(name))

    def files(self, key, which=slice(None)):
        """The paths of the files of a set of `_sources`, or of some of them."""
        return [self.file(name) for name in _sources.SOURCES[key].files[which]]

    def checksums(self, names):
        """SHA-256 of each file, by name; refuses what is missing, and what is empty."""
        found = {}
        for name in names:
            path = self.file(name)
            with opened(path) as (file, _):
                if not file.read(1):
                    raise ValueError(f"{path} is empty{_sources.origin(name)}")
            with open(path, "rb") as file:
                digest = hashlib.sha256()
                while block := file.read(1 << 20):
                    digest.update(block)
            found[name] = digest.hexdigest()
        return found
