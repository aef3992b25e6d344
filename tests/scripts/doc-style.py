#!/usr/bin/env python3
"""Checks how documentation begins, as STYLE.md says: that of functions with a verb in the third person ("Returns …"), and that of
modules with a noun or a verb, and not with a question.

    tests/scripts/doc-style.py [--list]

Fails if more than six in a hundred functions begin otherwise (`--list` prints those), or if any module does.
"""

import re
import sys
from pathlib import Path

LIMIT = 0.06
FUNCTION = re.compile(r"(pub(\([^)]*\))? )?(async |const |unsafe )*fn ")
VERB = re.compile(r"[A-Z][a-z]+s\b")
# Words of the same form that are no verbs.
OTHERS = {"This", "Its", "Us", "Whereas"}
QUESTION = re.compile(r"//! (What|Which|How|Where|Who|Whom|Whose|Whether|When|Why)(ever)?\b")


def functions(path):
    """Yields the line number of each documented function, and the first line of its documentation."""
    doc = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = line.strip()
        if text.startswith("///"):
            doc.append(text.removeprefix("///").strip())
        elif not text.startswith("#["):
            if doc and FUNCTION.match(text):
                yield number, doc[0]
            doc = []


sources = sorted(path for folder in ("src", "crates") for path in Path(folder).rglob("*.rs"))
found = [(path, number, first) for path in sources for number, first in functions(path)]
other = [entry for entry in found if not VERB.match(entry[2]) or entry[2].split(" ")[0] in OTHERS]
if "--list" in sys.argv:
    for path, number, first in other:
        print(f"{path}:{number}: {first}")
share = len(other) / max(len(found), 1)
print(f"{len(other)} of {len(found)} documented functions ({share:.1%}) do not begin with a verb")
questions = [path for folder in ("src", "crates", "tests") for path in sorted(Path(folder).rglob("*.rs"))
             if QUESTION.match(path.read_text(encoding="utf-8"))]
for path in questions:
    print(f"{path}: its documentation begins with a question; say what the module is, beginning with a noun or a verb")
sys.exit(share > LIMIT or bool(questions))
