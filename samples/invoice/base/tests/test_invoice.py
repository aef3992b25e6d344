import unittest
from decimal import Decimal

from invoice import Invoice, Line


class InvoiceTest(unittest.TestCase):
    def test_total_adds_tax_per_line(self):
        invoice = Invoice("DE", [Line("pen", 3, Decimal("1.05")), Line("ink", 1, Decimal("4.99"))])
        self.assertEqual(invoice.net(), Decimal("8.14"))
        self.assertEqual(invoice.total(), Decimal("9.69"))


if __name__ == "__main__":
    unittest.main()
