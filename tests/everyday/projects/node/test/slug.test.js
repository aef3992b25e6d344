import assert from "node:assert/strict";
import http from "node:http";
import test from "node:test";
import { slug } from "../src/index.js";

test("spaces become dashes", () => {
  assert.equal(slug(" Good  Morning "), "good-morning");
});

test("a server on this machine answers", async () => {
  const server = http.createServer((_, response) => response.end(slug("It Works")));
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const response = await fetch(`http://127.0.0.1:${server.address().port}/`);
  assert.equal(await response.text(), "it-works");
  server.close();
});
