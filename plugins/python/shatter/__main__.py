"""Runs the program shatter: python -m shatter run sweep.yaml."""

import os
import sys

from ._client import binary

if __name__ == "__main__":
    program = binary()
    os.execv(program, [program, *sys.argv[1:]])
