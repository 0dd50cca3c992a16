"""Quorate proves distributed protocols correct for any number of nodes, or shows exactly how they break."""

__version__ = "0.1.0"
