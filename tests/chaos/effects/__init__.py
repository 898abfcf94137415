"""A soak of the effects ledger: hosts, workers and brokers are killed and stopped, and the whole history is checked."""
