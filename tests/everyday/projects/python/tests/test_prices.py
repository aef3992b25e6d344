import sqlite3
import tempfile
import unittest
from pathlib import Path

from basket import total


class Prices(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1.1, 2.2]), 3.3)

    def test_temporary_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "prices.db")
            with sqlite3.connect(path) as database:
                database.execute("create table prices (price real)")
            self.assertGreater(path.stat().st_size, 0)
