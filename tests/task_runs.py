"""Tasks of experiments without processes of their own."""

from coactive_fast.experiments._run import timed


class Here:
    """In this process, one after another."""

    def each(self, tasks, sets):
        for i, task in enumerate(tasks):
            yield i, timed(task, sets)
