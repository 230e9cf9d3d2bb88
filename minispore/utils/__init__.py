"""Utilities for minispore and its extensions.

- `checks`: argument checks whose errors name the function and the argument.
- `atomic`: files that are replaced atomically.
- `threads`: background work, also where threads cannot be started.
- `unsupported`: errors for names that a module does not have.
- `tables`, `curves`: tables and small plots for terminals and notebooks.
- `warn`: warnings at the line of the user's program.

Its modules import no other package.
"""

# An error names the function that has called one of these.
_NAMED_IN_ERRORS = ()
