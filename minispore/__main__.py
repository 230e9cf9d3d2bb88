"""`python -m minispore` is the command `minispore`."""

import sys

from minispore._cli import main

if __name__ == "__main__":
    sys.exit(main())
