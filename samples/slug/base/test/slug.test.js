import assert from 'node:assert/strict';
import { test } from 'node:test';

import { slug, uniqueSlug } from '../src/index.js';

test('words are joined by dashes', () => {
  assert.equal(slug('Hello, World!'), 'hello-world');
});

test('a taken slug gets a number', () => {
  assert.equal(uniqueSlug('Hello', ['hello', 'hello-2']), 'hello-3');
});
