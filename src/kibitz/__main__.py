"""`python -m kibitz`: the command line."""

from kibitz.cli import main

main()
