// Clicks through report.html in headless Chromium: desktop and phone, light and dark, without network.
// Accessibility is judged by axe, and a large report has to answer without effort.
// The pages of a batch and of a run with every section are looked at and judged in the same way.
//   MODULES=DIR CHROMIUM=PROGRAM node page.mjs REPORT.html [LARGE_REPORT.html [BATCH.html [RICH_REPORT.html]]]
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(`${path.resolve(process.env.MODULES)}/`));
const puppeteer = (await import(pathToFileURL(require.resolve('puppeteer-core')).href)).default;
const axe = require.resolve('axe-core/axe.min.js');
const [file, large, batch, rich] = process.argv.slice(2);
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
});
try {
  for (const [device, width, height] of [['desktop', 1280, 900], ['phone', 375, 800]]) {
    for (const scheme of ['light', 'dark']) {
      const page = await browser.newPage();
      const faults = [];
      page.on('pageerror', (error) => faults.push(error.message));
      page.on('console', (message) => { if (message.type() === 'error') faults.push(message.text()); });
      page.on('request', (request) => { if (!request.url().startsWith('file:')) faults.push(`asked for ${request.url()}`); });
      await page.setViewport({ width, height });
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      if (batch) {
        await page.goto(pathToFileURL(path.resolve(batch)).href);
        await look(page, `batch, ${device}, ${scheme}`);
        await judge(page, `batch, ${device}, ${scheme}`);
        await count(page);
      }
      if (rich) {
        await page.goto(pathToFileURL(path.resolve(rich)).href);
        await look(page, `rich, ${device}, ${scheme}`);
        await judge(page, `rich, ${device}, ${scheme}`);
        await sections(page);
      }
      await page.goto(pathToFileURL(path.resolve(file)).href);
      await look(page, `${device}, ${scheme}`);
      await judge(page, `${device}, ${scheme}`);
      if (device === 'desktop' && scheme === 'light') {
        await click(page);
        await print(page);
      }
      assert.deepEqual(faults, [], `${device}, ${scheme}`);
      await page.close();
    }
  }
  if (large) await survey(await browser.newPage());
} finally {
  await browser.close();
}
console.log('the page works');

/** Nothing is wider than the page, and text can be told from its ground. */
async function look(page, where) {
  const found = await page.evaluate(() => {
    const parts = (color) => color.match(/[\d.]+/g).map(Number);
    const light = (color) => {
      const [r, g, b] = parts(color).map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const probe = document.createElement('div');
    probe.style.background = 'Canvas';
    document.body.append(probe);
    const ground = light(getComputedStyle(probe).backgroundColor);
    probe.remove();
    const dim = [];
    for (const element of document.querySelectorAll('h1, h2, p, td, th, code, .muted, .ok, .bad, .facts, .time')) {
      const ink = light(getComputedStyle(element).color);
      const contrast = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
      if (contrast < 4.5) dim.push(`${element.tagName}.${element.className} ${contrast.toFixed(1)}`);
    }
    return { wide: document.documentElement.scrollWidth - innerWidth, dim: [...new Set(dim)] };
  });
  assert.ok(found.wide <= 0, `${where}: ${found.wide} pixels too wide`);
  assert.deepEqual(found.dim, [], `${where}: text that is hard to read`);
}

/** The page has no faults of accessibility, best practices included. Its policy lets no other script in but by the browser. */
async function judge(page, where) {
  await page.setBypassCSP(true);
  await page.reload();
  await page.addScriptTag({ path: axe });
  const { violations } = await page.evaluate(() => window.axe.run(document));
  const told = violations.map(({ id, nodes }) => `${id} ×${nodes.length}: ${nodes[0].html}`);
  assert.deepEqual(told, [], `${where}: accessibility`);
}

/** What tests lost and what was found comes before the task; the table of hosts is one of those that are judged. */
async function sections(page) {
  const ids = await page.$$eval('main section', (all) => all.map((section) => section.id));
  const [weakened, review, task] = ['weakened-tests-and-checks', 'review', 'task'].map((id) => ids.indexOf(id));
  assert.ok(weakened >= 0 && weakened < review && review < task, `the sections are ${ids}`);
  const heads = await page.$$eval('th', (all) => all.map((head) => head.textContent));
  for (const head of ['Hook', 'Host']) assert.ok(heads.includes(head), `no table has the column ${head}`);
}

/** A batch has one row for each task, the ones that failed with what their gates said, and links to the tasks' own reports. */
async function count(page) {
  const { tasks } = JSON.parse(await readFile(path.resolve(batch, '../batch.json'), 'utf8'));
  const text = await page.evaluate(() => document.body.innerText);
  for (const { id } of tasks) assert.ok(text.includes(id), `${id} is not on the page of the batch`);
  const failed = tasks.filter((task) => task.failed_gates?.length > 0);
  assert.ok(failed.length > 0, 'no task of the batch failed at a gate');
  const told = await page.$$eval('td details', (folds) => folds.map((fold) => fold.textContent));
  for (const { excerpts } of failed) {
    for (const { gate, output } of excerpts) {
      assert.ok(told.some((words) => words.includes(gate) && words.includes(output)), `what ${gate} printed is not on the page`);
    }
  }
  const links = await page.$$eval('a[href]', (links) => links.map((link) => link.getAttribute('href')));
  for (const { folder } of tasks) assert.ok(links.includes(`${folder}/report.html`), `nothing links ${folder}`);
  const missing = links.filter((link) => !/^[a-z]+:|^#/.test(link) && !existsSync(path.resolve(batch, '..', decodeURI(link.split('#')[0]))));
  assert.deepEqual(missing, [], 'links of the batch that lead nowhere');
}

/** Of hundreds of files and calls, what failed comes first, is found at once, and can be filtered by the keyboard. */
async function survey(page) {
  await page.setViewport({ width: 1280, height: 900 });
  const started = performance.now();
  await page.goto(pathToFileURL(path.resolve(large)).href);
  const loaded = performance.now() - started;
  assert.ok(loaded < 5_000, `loaded in ${Math.round(loaded)} ms`);
  const first = await page.$eval('main section', (section) => ({ id: section.id, top: section.getBoundingClientRect().top }));
  assert.ok(first.id === 'quality-gates' && first.top < 300, `first comes ${first.id} at ${first.top}`);
  const shown = () => page.$$eval('.call', (calls) => calls.filter((call) => call.checkVisibility()).length);
  const all = await shown();
  assert.equal(all, 300);
  await page.focus('#tool-calls .filters [data-filter="failed"]');
  await page.keyboard.press('Space');
  const failed = await shown();
  const counted = await page.$eval('#tool-calls .filters [data-filter="failed"]', (button) => Number(button.textContent.split(' ')[1]));
  assert.ok(failed === counted && failed > 0 && failed < all, `${failed} of ${counted} that failed`);
  await page.keyboard.press('Space');
  assert.equal(await shown(), all);
  const busy = await page.evaluate(() => {
    const began = performance.now();
    const field = document.getElementById('search');
    field.value = 'price\\(net_120';
    field.dispatchEvent(new Event('input'));
    document.body.getBoundingClientRect();
    return performance.now() - began;
  });
  assert.equal(await shown(), 1, 'a search is found by what it was for');
  assert.ok(busy < 1_000, `a search took ${Math.round(busy)} ms`);
  await judge(page, 'large');
}

/** On paper everything is unfolded, nothing is cut off, and nothing is there to click; afterwards all is as before. */
async function print(page) {
  const folded = () => page.$$eval('details', (folds) => folds.filter((fold) => !fold.open).length);
  const before = await folded();
  await page.emulateMediaType('print');
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  assert.equal(await folded(), 0, 'all is unfolded');
  const seen = await page.$$eval('.bar, nav, .filters', (parts) => parts.filter((part) => part.checkVisibility()).length);
  assert.equal(seen, 0, 'there is nothing to click');
  const cut = await page.$$eval('pre', (parts) => parts.filter((part) => part.scrollWidth > part.clientWidth + 1).length);
  assert.equal(cut, 0, 'no line is cut off');
  await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
  await page.emulateMediaType('screen');
  assert.equal(await folded(), before);
  const pdf = await page.pdf({ format: 'A4' });
  assert.ok(pdf.length > 10_000, `${pdf.length} bytes`);
  assert.equal(await folded(), before, 'as before it was printed');
}

/** Search, folds, and the way from the timeline to a call. */
async function click(page) {
  const shown = () => page.$$eval('.call', (calls) => calls.filter((call) => call.checkVisibility()).length);
  const all = await shown();
  assert.ok(all > 2, `${all} calls`);
  await page.keyboard.press('/');
  await page.type('#search', 'edit_file');
  const some = await shown();
  assert.ok(some > 0 && some < all, `${some} of ${all} after searching`);
  const text = await page.$$eval('.call', (calls) => calls.filter((call) => call.checkVisibility()).map((call) => call.textContent));
  assert.ok(text.every((call) => call.includes('edit_file')), 'what is shown holds what was searched');
  const colours = await page.$$eval('#files .diff .tk, #files .diff .ts', (parts) => new Set(parts.map((part) => getComputedStyle(part).color)).size);
  assert.ok(colours >= 2, `words of the language and texts have ${colours} colours`);
  assert.ok(await page.$$eval('.call .diff', (diffs) => diffs.some((diff) => diff.checkVisibility())), 'a diff is open');
  assert.match(await page.$eval('#count', (count) => count.textContent), /^\d+ of \d+$/);
  const reached = async (key) => {
    await key();
    return page.$$eval('.item', (items) => items.map((item, index) => (item.classList.contains('hit') ? index : -1)).filter((index) => index >= 0));
  };
  const back = async () => { await page.keyboard.down('Shift'); await page.keyboard.press('Enter'); await page.keyboard.up('Shift'); };
  const enter = () => page.keyboard.press('Enter');
  const [one, two, again] = [await reached(enter), await reached(enter), await reached(back)];
  assert.ok(one.length === 1 && two.length === 1 && two[0] > one[0], `Enter goes from ${one} to ${two}`);
  assert.deepEqual(again, one, 'Shift+Enter goes back');
  assert.ok(await page.$eval('.hit', (hit) => { const { top, bottom } = hit.getBoundingClientRect(); return bottom > 0 && top < innerHeight; }), 'the hit is in view');
  await page.type('#search', ' no-such-word-anywhere');
  assert.deepEqual(await reached(enter), [], 'nothing is hit');
  assert.equal(await shown(), 0);
  await page.keyboard.press('Escape');
  assert.equal(await shown(), all, 'all is back');
  assert.equal(await page.$eval('#count', (count) => count.textContent), '');
  const open = () => page.$$eval('details', (folds) => folds.filter((fold) => fold.open).length);
  const folds = (await page.$$('details')).length;
  await page.click('#unfold');
  assert.equal(await open(), folds);
  await page.click('#unfold');
  assert.equal(await open(), 0);
  await page.click('.timeline .name a[href^="#call-"]');
  const target = await page.evaluate(() => location.hash);
  assert.match(target, /^#call-\d+$/);
  const isReached = await page.$eval(target, (call) => {
    const { top, bottom } = call.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight && (call.querySelector('details')?.open ?? true);
  });
  assert.ok(isReached, 'the call is in view, and open');
}
