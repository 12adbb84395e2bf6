"""Other people's Cython code calls the kernels: the README's example, built in a folder of its own.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_readme import fences

import coactive_fast as cf

pytest.importorskip("Cython", reason="extensions are built with Cython")
pytest.importorskip("setuptools", reason="extensions are built with setuptools")

MORE = '''
from coactive_fast cimport CF_BLOCK, CF_OK, CF_SIMPLEX, cf_get_library, cf_library

def isa():
    return K.isa.decode()

def ball_steps(n):
    return cf_get_library().ball_steps(n)

def status(number):
    return cf_get_library().status_message(number).decode()

def constants():
    return CF_OK, CF_SIMPLEX, CF_BLOCK
'''


@pytest.fixture(scope="module")
def call(tmp_path_factory):
    """Runs code with the freshly built extension at hand; returns what it printed."""
    folder = tmp_path_factory.mktemp("extension")
    files = {mark.removeprefix("file: "): text for mark, _, text in fences()
             if mark and mark.startswith("file: ")}
    assert set(files) == {"quad.pyx", "setup.py"}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    with open(folder / "quad.pyx", "a", encoding="utf-8") as file:
        file.write(MORE)
    root = str(Path(cf.__file__).resolve().parent.parent)

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=600,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([root, str(folder)])},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    run("setup.py", "-q", "build_ext", "--inplace")
    return lambda code: run("-c", code)


@pytest.mark.parametrize("n", [1, 7, 8, 33, 100])
def test_dot_and_symv(call, n):
    shown = call(f"""
import numpy as np, quad
from coactive_fast.kernels import inverse_update
rng = np.random.default_rng({n})
x, F = rng.standard_normal({n}), rng.standard_normal(({n}, {n}))
B = F @ F.T
same = inverse_update(B.copy(), x)
print(repr(float(quad.quad(B, x))), repr(float(x @ B @ x)), repr(same))
""")
    ours, plain, same = map(float, shown.split())
    np.testing.assert_allclose(ours, plain, rtol=1e-10)
    assert ours == pytest.approx(same, rel=1e-10)


def test_table_and_library_are_those_of_the_package(call):
    assert call("import quad; print(quad.isa())") == cf.show_config("dicts")["isa"]["chosen"]
    assert int(call("import quad; print(quad.ball_steps(100))")) > 0
    assert call("import quad; print(quad.status(0))") == "ok"
    assert call("import quad; print(*quad.constants())") == "0 0 16"
