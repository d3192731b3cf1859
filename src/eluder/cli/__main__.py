"""`python -m eluder.cli`."""

from eluder.cli import main

main()
