"""Invoices for a small shop."""

from .lines import Invoice, Line
from .tax import rate_for

__all__ = ["Invoice", "Line", "rate_for"]
