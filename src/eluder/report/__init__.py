"""Figures and tables. Needs the `cli` extra: pip install 'eluder[cli]'."""
