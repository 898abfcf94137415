"""A window report as one HTML file: plots and tables, readable without a network, in print and by a screen reader."""

from unmask.consumers.report_html.page import to_html

__all__ = ["to_html"]
