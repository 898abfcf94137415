"""The ledger: the only part that must see each batch exactly once.

A pure fold per source partition (`fold`, `advance`) over a state (`state`) that is kept in a compacted topic, moved
by a thin shell (`service`) of Kafka transactions.
"""
