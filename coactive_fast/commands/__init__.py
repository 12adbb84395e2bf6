"""What the command line does with files and learners; never loaded by ``import coactive_fast``."""


class Trouble(Exception):
    """Something the user can put right: the command line prints it without a traceback."""


class Stopped(KeyboardInterrupt):
    """A signal that ends the process; `number` says which."""

    def __init__(self, number):
        super().__init__()
        self.number = number
