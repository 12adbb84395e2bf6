"""Where the data are: a folder of real ones; without it scikit-learn's, or generated ones."""

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from coactive_fast.data._open import opened

ABOUT = {  # where to get what lies in a folder
    "mq2008": "LETOR 4.0, MQ2008: S1.txt ... S5.txt (Microsoft Research)",
    "ml-1m": "MovieLens 1M: ratings.dat (GroupLens)",
    "20newsgroups": "20 Newsgroups, bydate, as svmlight text",
    "reuters21578": "Reuters-21578 Distribution 1.0, ModApte, as svmlight text",
    "amazon_reviews": "multi-domain sentiment, the labelled part, as svmlight text",
    "tabular": "UCI and StatLib sets, as LIBSVM text",
    "stocks": "price relatives, a column a stock, from the OLPS toolbox",
}


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

    def file(self, name):
        """The path of a file of the folder; the name may lack its ``.gz``."""
        for there in (name, f"{name}.gz", name.removesuffix(".gz")):
            path = Path(self.folder, there)
            if path.is_file():
                return path
        raise FileNotFoundError(f"{name} is not in the data folder {self.folder}"
                                + self.origin(name))

    def origin(self, name):
        """Where to get a file, as the end of a sentence."""
        about = ABOUT.get(name.split("/")[0])
        return f"; it is of {about}" if about else ""

    def checksums(self, names):
        """SHA-256 of each file, by name; refuses what is missing, and what is empty."""
        found = {}
        for name in names:
            path = self.file(name)
            with opened(path) as (file, _):
                if not file.read(1):
                    raise ValueError(f"{path} is empty{self.origin(name)}")
            with open(path, "rb") as file:
                digest = hashlib.sha256()
                while block := file.read(1 << 20):
                    digest.update(block)
            found[name] = digest.hexdigest()
        return found
