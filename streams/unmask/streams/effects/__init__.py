"""The effects ledger: who may make a non-idempotent effect, decided by one writer per key, in log order.

`fold` decides and is pure; `service` is its shell on Kafka transactions.
"""
