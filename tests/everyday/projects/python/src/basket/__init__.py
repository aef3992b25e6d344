"""A basket of things with prices."""

from basket.prices import total

__all__ = ["total"]
