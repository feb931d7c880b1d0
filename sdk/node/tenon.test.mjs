import assert from "node:assert/strict";
import { test } from "node:test";
import { describe, diff } from "./tenon.mjs";

const changes = (before, after) => {
  const out = [];
  diff(before, after, "", out);
  return out;
};

test("changes of objects", () => {
  assert.deepEqual(changes({ a: 1 }, { a: 1 }), []);
  assert.deepEqual(changes({ a: 1, b: 2 }, { a: 3, "c/d~": 4 }), [
    { pointer: "/b", remove: true },
    { pointer: "/a", value: 3 },
    { pointer: "/c~1d~0", value: 4 },
  ]);
  assert.deepEqual(changes({ a: 1 }, { a: undefined }), [{ pointer: "/a", remove: true }]);
  assert.deepEqual(changes({ a: null }, { a: {} }), [{ pointer: "/a", value: {} }]);
});

test("changes of lists", () => {
  assert.deepEqual(changes({ l: [1] }, { l: [1, 2] }), [{ pointer: "/l/-", value: 2 }]);
  assert.deepEqual(changes({ l: [1, 2, 3] }, { l: [1] }), [
    { pointer: "/l/2", remove: true },
    { pointer: "/l/1", remove: true },
  ]);
  assert.deepEqual(changes({ l: [1, 2] }, { l: [1, 3] }), [{ pointer: "/l/1", value: 3 }]);
  assert.deepEqual(changes({ l: [1, 2] }, { l: [0, 1, 2] }), [{ pointer: "/l", value: [0, 1, 2] }]);
});

test("another part replaces a part", () => {
  assert.deepEqual(changes([{ id: "a", text: "x" }], [{ id: "b", text: "x" }]), [{ pointer: "/0", value: { id: "b", text: "x" } }]);
});

test("the description has no functions and no empty lists", () => {
  const described = describe({
    name: "p",
    version: "1.0.0",
    hooks: { "chat.params": { writes: ["/temperature"], run() {} } },
    tools: { t: { description: "T.", run() {}, prepare() {} } },
    capabilities: [],
  });
  assert.deepEqual(described, {
    name: "p",
    version: "1.0.0",
    hooks: [{ point: "chat.params", writes: ["/temperature"] }],
    tools: [{ id: "t", description: "T.", parameters: { type: "object" }, prepares: true }],
  });
});

test("hooks and tools are functions", () => {
  assert.throws(() => describe({ name: "p", hooks: { "chat.params": () => {} } }), /hook at chat.params: run is not a function/);
  assert.throws(() => describe({ name: "p", tools: { t: { description: "T." } } }), /tool t: run is not a function/);
});
