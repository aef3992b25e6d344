"""Writes wheels/greeting-1.0-py3-none-any.whl, so that pip has something to install without a network."""

import zipfile
from pathlib import Path

Path("wheels").mkdir(exist_ok=True)
info = "greeting-1.0.dist-info"
files = {
    "greeting.py": "TEXT = 'good morning'\n",
    f"{info}/METADATA": "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: make_wheel\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
record = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
with zipfile.ZipFile("wheels/greeting-1.0-py3-none-any.whl", "w") as wheel:
    for name, text in [*files.items(), (f"{info}/RECORD", record)]:
        wheel.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), text)
