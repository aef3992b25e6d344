// Makes the pictures in docs/pictures: comment, step summary and page of a run, and comment and page of a large run that failed.
//   MODULES=DIR CHROMIUM=PROGRAM [EMOJI=FONT.woff2] node pictures.mjs RUN LARGE_RUN FOLDER
// EMOJI is for machines without a font of coloured signs, such as the one in the npm package @fontsource/noto-color-emoji.
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

/** A page that shows Markdown about as GitHub does. */
function rendered(folder, name) {
  const page = path.join(folder, `${name}.html`);
  const body = marked.parse(fs.readFileSync(path.join(folder, `${name}.md`), 'utf8'));
  fs.writeFileSync(page, `<!DOCTYPE html><meta charset="utf-8"><style>${style} body { margin: 0 } article { padding: 24px }</style>
    <article class="markdown-body">${body}</article>`);
  return page;
}

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
});
try {
  fs.mkdirSync(folder, { recursive: true });
  const page = path.join(run, 'report.html');
  const failed = path.join(large, 'report.html');
  const [desktop, narrow, phone] = [{ width: 1100, height: 900 }, { width: 860, height: 900 }, { width: 375, height: 800 }];
  await picture('comment', rendered(run, 'comment'), narrow, 'light');
  await picture('comment-failing', rendered(large, 'comment'), narrow, 'light');
  await picture('summary', rendered(run, 'summary'), narrow, 'light');
  await picture('page', page, desktop, 'light');
  await picture('page-dark', page, desktop, 'dark');
  await picture('page-phone', page, phone, 'light');
  await picture('page-phone-dark', page, phone, 'dark');
  await picture('page-failing', failed, desktop, 'light');
  await picture('page-600-files', failed, desktop, 'light', '#files');
} finally {
  await browser.close();
}

async function picture(name, file, size, scheme, part = '') {
  const page = await browser.newPage();
  await page.setViewport(size);
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  await page.setBypassCSP(true);
  await page.goto(pathToFileURL(file).href + part);
  if (process.env.EMOJI) {
    const font = fs.readFileSync(process.env.EMOJI).toString('base64');
    await page.addStyleTag({ content: `@font-face { font-family: Emoji; src: url(data:font/woff2;base64,${font}); unicode-range: U+2600-27BF, U+1F300-1FAFF; }
      body, .markdown-body { font-family: Emoji, system-ui, sans-serif; }` });
    await page.evaluate(() => document.fonts.ready);
  }
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
  await page.close();
}
