"""Value-added tax by country."""

from decimal import Decimal

RATES = {
    "DE": Decimal("0.19"),
    "FR": Decimal("0.20"),
}


def rate_for(country):
    """The standard rate of a country, given by its two-letter code."""
    return RATES[country]
