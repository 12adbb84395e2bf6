"""What the tests of the command line share: files to read, and how the commands are called."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

import coactive_fast as cf
from coactive_fast import cli


def train(*arguments):
    return call("train", *arguments)


def call(*arguments):
    """Runs a command here; its exit code."""
    return cli.main([str(argument) for argument in arguments])


def text_of(X, labels):
    """svmlight text; zeros are left out."""
    lines = []
    for x, label in zip(X, labels, strict=True):
        pairs = " ".join(f"{i + 1}:{v!r}" for i, v in enumerate(x.tolist()) if v)
        lines.append(f"{label} {pairs}".rstrip())
    return "\n".join(lines) + "\n"


def three_classes(n=300, d=12):
    """A learnable problem: rows with gaps, and classes from 0."""
    rng = np.random.default_rng(5)
    X = np.where(rng.random((n, d)) < 0.4, rng.standard_normal((n, d)), 0.0)
    return X, np.argmax(X @ rng.standard_normal((d, 3)), axis=1)


def learnable_rows(folder):
    """That problem as a file, whose labels count from 1, and as arrays."""
    X, y = three_classes()
    path = folder / "rows.svm"
    path.write_text(text_of(X, y + 1))
    return path, X, y


def feed(monkeypatch, content):
    """These bytes are standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))


def started(tmp_path, *arguments, **streams):
    """The command in a process of its own, away from the sources."""
    environment = {**os.environ, "PYTHONPATH": str(Path(cf.__file__).parent.parent)}
    environment.pop("PYTHONUNBUFFERED", None)  # what is left in a buffer must count too
    return subprocess.Popen([sys.executable, "-m", "coactive_fast", *map(str, arguments)],
                            cwd=tmp_path, env=environment,
                            preexec_fn=heed_signals if os.name == "posix" else None, **streams)


def heed_signals():
    """Also those that the tests' own process was told to ignore, by nohup say."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
