// Makes the pictures in docs/pictures: the comment and the page of a run, and the page of a large run that failed.
//   MODULES=DIR CHROMIUM=PROGRAM node pictures.mjs RUN LARGE_RUN FOLDER
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(`${path.resolve(process.env.MODULES)}/`));
const load = async (name) => import(pathToFileURL(require.resolve(name)).href);
const puppeteer = (await load('puppeteer-core')).default;
const { marked } = await load('marked');
const style = fs.readFileSync(require.resolve('github-markdown-css/github-markdown.css'), 'utf8');
const [run, large, folder] = process.argv.slice(2).map((argument) => path.resolve(argument));

const comment = path.join(run, 'comment.html');
const body = marked.parse(fs.readFileSync(path.join(run, 'comment.md'), 'utf8'));
fs.writeFileSync(comment, `<!DOCTYPE html><meta charset="utf-8"><style>${style} body { margin: 0 } article { padding: 24px }</style>
  <article class="markdown-body">${body}</article>`);
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
});
try {
  fs.mkdirSync(folder, { recursive: true });
  const page = path.join(run, 'report.html');
  await picture('comment', comment, { width: 860, height: 900 }, 'light');
  await picture('page', page, { width: 1100, height: 900 }, 'light');
  await picture('page-phone-dark', page, { width: 375, height: 800 }, 'dark');
  await picture('page-600-files', path.join(large, 'report.html'), { width: 1100, height: 900 }, 'light');
} finally {
  await browser.close();
}

async function picture(name, file, size, scheme) {
  const page = await browser.newPage();
  await page.setViewport(size);
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  await page.goto(pathToFileURL(file).href);
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
  await page.close();
}
