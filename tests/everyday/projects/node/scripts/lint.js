import fs from "node:fs";

let found = 0;
for (const name of fs.readdirSync(process.argv[2])) {
  fs.readFileSync(`${process.argv[2]}/${name}`, "utf8").split("\n").forEach((line, at) => {
    if (/\bvar\b/.test(line)) console.log(`${name}:${at + 1}: var`, ++found);
  });
}
console.log(`${found} findings`);
process.exitCode = found ? 1 : 0;
