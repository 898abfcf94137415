"""Latency: how soon what a host tells shows on the other side."""
