/**
 * Turns a title into a URL slug.
 * @param {string} title
 * @returns {string}
 */
export function slug(title) {
  return title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}

/** Makes a slug unique among those taken, by a number at its end. */
export function uniqueSlug(title, taken) {
  const base = slug(title);
  let candidate = base;
  for (let n = 2; taken.includes(candidate); n += 1) candidate = `${base}-${n}`;
  return candidate;
}
