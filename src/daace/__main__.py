"""`python -m daace` is the command `daace`."""

from daace.cli import main

if __name__ == "__main__":
    main()
