"""The stream jobs: the exact ledger and the tables built on its snapshots."""
