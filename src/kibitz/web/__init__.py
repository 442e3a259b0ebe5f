"""The table in the browser: `kibitz serve`. What needs the extra `web` is loaded by its verb only."""
