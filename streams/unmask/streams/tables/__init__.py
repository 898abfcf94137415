"""The tables: windows with evidence, verdicts and alerts, merged from the ledger's absolute snapshots.

A pure core (`window_table`, `sessions`, `partition`, ...) holds everything that decides; Faust (`app`) and
confluent-kafka (`replay`, `publisher`) only move bytes in and out of it. Seeing a snapshot twice, late or out of
order changes nothing, and all of it can be rebuilt from the compacted inputs.
"""
