"""Lines of an invoice and their sum."""

from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal

from .tax import rate_for

CENT = Decimal("0.01")


@dataclass
class Line:
    """One article: how many, at what price each, before tax."""

    name: str
    quantity: int
    unit_price: Decimal

    def net(self):
        return self.quantity * self.unit_price

    def tax(self, country):
        return (self.net() * rate_for(country)).quantize(CENT, ROUND_HALF_UP)


@dataclass
class Invoice:
    """Lines that go to one country."""

    country: str
    lines: list = field(default_factory=list)

    def net(self):
        return sum((line.net() for line in self.lines), Decimal("0.00"))

    def total(self):
        return self.net() + sum((line.tax(self.country) for line in self.lines), Decimal("0.00"))
