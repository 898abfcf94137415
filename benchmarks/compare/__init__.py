"""The comparison: one run in which our worker and what a user would otherwise pick count the same events."""
