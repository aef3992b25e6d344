"""Renames a function everywhere: codemod.py OLD NEW."""

import re
import sys
from pathlib import Path

old, new = sys.argv[1:]
for path in sorted(Path(".").glob("[st]*/**/*.py")):
    text = path.read_text()
    changed = re.sub(rf"\b{old}\b", new, text)
    if changed != text and path != Path(__file__).relative_to(Path.cwd()):
        path.write_text(changed)
        print("changed", path)
