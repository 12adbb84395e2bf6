"""The pytest plugin of coactive_fast: fixtures for benchmarks that use its kernels.

It lies beside the package, not in it: pytest loads every installed plugin in every run, and this
one imports nothing but pytest before a test asks for one of its fixtures.

..
  PYTEST_DONT_REWRITE
"""

import sys

import pytest


@pytest.fixture(scope="session")
def coactive_streams():
    """Generated rows, labels and rankings, the same in every run.

    A `coactive_fast.testing.Streams`.
    """
    from coactive_fast.testing import Streams

    return Streams()


@pytest.fixture
def coactive_ratio(request):
    """Asserts that two callables agree and how many times faster the first one is.

    As `coactive_fast.testing.assert_ratio`. Where the test also asks for the fixture `benchmark`,
    both get a row in the table and the files of pytest-benchmark. With ``--benchmark-disable`` and
    ``--benchmark-skip`` only the results are compared, and None is answered.
    """
    from coactive_fast.testing._ratio import checker

    return checker(request)


@pytest.hookimpl(optionalhook=True, trylast=True)
def pytest_benchmark_update_machine_info(config, machine_info):
    """Files of pytest-benchmark say which build was timed, where one was."""
    if "coactive_fast.testing" in sys.modules and "coactive_fast" not in machine_info:
        machine_info["coactive_fast"] = sys.modules["coactive_fast.testing"].versions()
