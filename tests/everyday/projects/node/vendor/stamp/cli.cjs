#!/usr/bin/env node
const fs = require("node:fs");
for (const file of process.argv.slice(2)) {
  const text = fs.readFileSync(file, "utf8");
  if (!text.startsWith("// stamped\n")) fs.writeFileSync(file, "// stamped\n" + text);
  console.log("stamped", file);
}
