import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
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

/** Starts a plugin, given as code. Returns its process, its connection, and a function that sends a message. */
function start(t, code) {
  code = `import { plugin } from ${JSON.stringify(new URL("./tenon.mjs", import.meta.url).href)};\n${code}`;
  const env = { ...process.env, TENON_PLUGIN: "tenon.v1.Plugin", TENON_LINES: "" };
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], { env, stdio: ["pipe", "ignore", "inherit", "pipe"] });
  t.after(() => child.kill());
  const connection = child.stdio[3];
  return { child, connection, send: (message) => connection.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n") };
}

test("a hook that appends to lists in a map sees no key *", async (t) => {
  const { connection, send } = start(t, `
    const run = (input, value) => { value.temperature = Object.keys(value.options).length; };
    plugin({ name: "p", hooks: { "chat.params": { writes: ["/temperature", "/options/*/-"], run } } });`);
  send({ id: 1, method: "start", params: { request: { hooks: [{ point: "chat.params", name: "chat.params" }] } } });
  send({ id: 2, method: "hook", params: { hook: 0, request: { input: {}, value: { options: {} } } } });
  for await (const line of createInterface(connection)) {
    const { id, result } = JSON.parse(line);
    if (id !== 2) continue;
    assert.deepEqual(result, { changes: [{ pointer: "/temperature", value: 0 }] });
    break;
  }
});

test("a gate returns nothing or a verdict, an observer anything", async (t) => {
  const { connection, send } = start(t, `
    const answers = [undefined, {}, { verdict: "deny" }, { verdit: "deny", reason: "no" }, { decision: "deny" }, "deny", false];
    const next = ({ n }) => answers[n];
    plugin({ name: "p", hooks: { "permission.ask": { run: next }, event: { run: next } } });`);
  send({ id: 100, method: "start", params: { request: { hooks: ["permission.ask", "event"].map((point) => ({ point, name: point })) } } });
  for (let n = 0; n < 14; n++) send({ id: n + 1, method: "hook", params: { hook: n < 7 ? 0 : 1, request: { input: { n: n % 7 } } } });
  const got = [];
  for await (const line of createInterface(connection)) {
    const { id, result, error } = JSON.parse(line);
    if (id < 100) got[id - 1] = error ? "error" : result;
    if (got.filter((g) => g !== undefined).length === 14) break;
  }
  const verdicts = [null, null, { verdict: "deny" }, { verdit: "deny", reason: "no" }, "error", "error", "error"];
  assert.deepEqual(got, [...verdicts, ...verdicts.map(() => null)]);
});

test("an error in the code has its place", async (t) => {
  const { connection, send } = start(t, `
    const bad = () => undefined.text;
    const wrong = () => { throw new Error("no such city"); };
    plugin({ name: "p", tools: { bad: { description: "", run: bad }, wrong: { description: "", run: wrong } } });`);
  send({ id: 1, method: "start", params: { request: { tools: ["bad", "wrong"] } } });
  for (const n of [0, 1]) send({ id: n + 2, method: "tool", params: { tool: n, call: { args: {} } } });
  const errors = [];
  for await (const line of createInterface(connection)) {
    const { error } = JSON.parse(line);
    if (error && errors.push(error.message) === 2) break;
  }
  assert.match(errors[0], /reading 'text'.* \(.*eval1.*:\d+:\d+\)$/);
  assert.equal(errors[1], "no such city");
});

test("asynchronous calls: a late signal has ended, and an answer that is not JSON is an error", async (t) => {
  const { child, connection, send } = start(t, `
    async function wait(args, call) {
      call.progress("started");
      while (!call.canceled) await new Promise(setImmediate);
      return String(call.signal.aborted);
    }
    const bad = async () => ({ output: 1n });
    plugin({ name: "p", tools: { wait: { description: "", run: wait }, bad: { description: "", run: bad } } });`);
  send({ id: 1, method: "start", params: { request: { tools: ["wait", "bad"] } } });
  send({ id: 2, method: "tool", params: { tool: 0, call: { args: {} } } });
  send({ id: 3, method: "tool", params: { tool: 1, call: { args: {} } } });
  const answers = {};
  for await (const line of createInterface(connection)) {
    const message = JSON.parse(line);
    if (message.method === "progress") send({ method: "cancel", params: { id: 2 } });
    if (message.id) answers[message.id] = message.result ?? message.error;
    if (Object.keys(answers).length === 3) break;
  }
  assert.deepEqual(answers[2], { output: "true" });
  assert.match(answers[3].message, /BigInt/);
  child.stdin.end(); // ends the plugin
  assert.deepEqual(await once(child, "exit"), [0, null]);
});
