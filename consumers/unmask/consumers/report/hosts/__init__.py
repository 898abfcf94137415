"""Hosts' own counts, as their accounts carry them, against the durable record; every difference with its reason."""

from unmask.consumers.report.hosts.compare import Comparison, compare_hosts
from unmask.consumers.report.hosts.explain import Difference, Kind
from unmask.consumers.report.hosts.read import HostRequest

__all__ = ["Comparison", "Difference", "HostRequest", "Kind", "compare_hosts"]
