"""Unmask at work: five hosts, an upstream that fails on a schedule, one host killed, and every number checked.

Run it with `make demo`. Its processes are `demo.upstream`, `demo.host` and `demo.successor`, and two `unmask stream`.
"""
