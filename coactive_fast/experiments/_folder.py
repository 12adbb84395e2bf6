"""Where the data are: a folder of real ones, or nothing, which stands for generated ones."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

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

    @property
    def real(self):
        return self.folder is not None

    def file(self, name):
        """The path of a file of the folder; the name may lack its ``.gz``."""
        for there in (name, f"{name}.gz", name.removesuffix(".gz")):
            path = Path(self.folder, there)
            if path.is_file():
                return path
        about = ABOUT.get(name.split("/")[0])
        raise FileNotFoundError(
            f"{name} is not in the data folder {self.folder}" + (f": it is of {about}" if about
                                                                 else ""))

    def checksums(self, names):
        """SHA-256 of each file, by name; refuses what is missing."""
        found = {}
        for name in names:
            with open(self.file(name), "rb") as file:
                digest = hashlib.sha256()
                while block := file.read(1 << 20):
                    digest.update(block)
            found[name] = digest.hexdigest()
        return found
