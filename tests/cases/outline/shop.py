"""A shop."""
from __future__ import annotations

import os
from typing import (
    TYPE_CHECKING,
    Iterable,
)

if TYPE_CHECKING:
    from .models import Order

TAX = 0.2


@dataclass(frozen=True)
class Cart:
    items: list[str]

    @property
    def total(self) -> float:
        def inner():
            return 1
        return inner()

    async def checkout(
        self,
        *,
        dry_run: bool = False,
    ) -> "Order":
        ...

    class Meta:
        def name(self): return "x"


def load(path: str, /, *rest: str) -> Iterable[Cart]:
    yield from ()
try:
    import fast
except ImportError:
    def fast(x): return x
