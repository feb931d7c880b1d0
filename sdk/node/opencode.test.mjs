import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Writes a package around a plugin of opencode, given as code. Returns its directory. */
function write(t, code, { about = "", ...files } = {}) {
  const dir = mkdtempSync(join(tmpdir(), "opencode-"));
  t.after(() => rmSync(dir, { recursive: true }));
  for (const name of ["tenon.mjs", "opencode.mjs"]) cpSync(fileURLToPath(new URL(name, import.meta.url)), join(dir, name));
  const main = `import { opencode } from "./opencode.mjs"; import * as module from "./plugin.mjs"; opencode(module, { name: "p", version: "1.0.0", ${about} });`;
  for (const [name, text] of Object.entries({ "main.mjs": main, "plugin.mjs": code, ...files })) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  return dir;
}

/** Returns the description of a plugin and what it prints. */
async function describe(t, code, more) {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["main.mjs", "--describe"], { cwd: write(t, code, more) });
  return { ...JSON.parse(stdout), stderr };
}

/** Starts a plugin with hooks at these points and these tools. Returns a function that calls it, and the messages that it sends. */
async function start(t, code, points, tools = [], { answer = () => null, ...more } = {}) {
  const dir = write(t, code, more);
  const env = { ...process.env, TENON_PLUGIN: "tenon.v1.Plugin", TENON_LINES: "" };
  const child = spawn(process.execPath, ["main.mjs"], { cwd: dir, env, stdio: ["pipe", "ignore", "inherit", "pipe"] });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  t.after(async () => {
    child.stdin.end();
    await ended;
  });
  const send = (message) => child.stdio[3].write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  const sent = [];
  const waiting = new Map();
  createInterface(child.stdio[3]).on("line", (line) => {
    const message = JSON.parse(line);
    if (message.method) sent.push({ method: message.method, ...message.params });
    if (message.method === "operation") send({ id: message.id, ...answer(message.params) });
    if (!message.method) waiting.get(message.id)(message);
  });
  let last = 0;
  const call = async (method, params) => {
    const id = ++last;
    const answered = new Promise((resolve) => waiting.set(id, resolve));
    send({ id, method, params: { token: method, ...params } });
    const { result, error } = await answered;
    if (error) throw new Error(error.message);
    return result;
  };
  await call("start", { request: { project: { ID: "x", Directory: dir, Worktree: dir }, hooks: points.map((point) => ({ point, name: point })), tools } });
  const hook = (point, input, value) => call("hook", { hook: points.indexOf(point), request: { input, value } });
  const tool = (id, args) => call("tool", { tool: tools.indexOf(id), call: { tool: id, args, sessionID: "ses_1", callID: "c1", messageID: "msg_1", agent: "build" } });
  return { hook, tool, stop: () => call("stop"), sent };
}

test("the description has the hooks, tools, agents and commands, and stderr names the rest", async (t) => {
  const { stderr, ...described } = await describe(t, `
    setInterval(() => {}, 1000);
    export const One = async () => ({
      event: async () => {},
      "experimental.chat.system.transform": async () => {},
      "shell.env": async () => {},
      auth: { provider: "x", methods: [] }, extra: 1,
      "session.stopped": () => {},
      config: async (c) => {
        c.command.hi = { template: "Say hi", description: "Hi" };
        c.agent.r = { mode: "subagent", prompt: "Review.", model: "a/b/c", maxSteps: 3, variant: "v", options: { n: 1 }, tools: { write: false }, permission: { bash: { "rm *": "deny" } } };
      },
    });
    export default async () => ({ tool: { t: { description: "T.", args: { n: { type: "string" } }, execute: async () => "" }, none: { description: "N.", args: {}, execute: async () => "" } } });`,
    { about: `env: ["A"], capabilities: [{ name: "kv" }]` });
  assert.deepEqual(described.hooks.map(({ point, writes }) => [point, writes]), [
    ["event", undefined], ["chat.system.transform", ["/system"]], ["shell.env", ["/env/A"]], ["chat.message", ["/parts/-"]], ["session.start", undefined],
  ]);
  assert.deepEqual(described.tools, [{ id: "t", description: "T.", parameters: { type: "object", properties: { n: { type: "string" } }, required: ["n"] } },
    { id: "none", description: "N.", parameters: { type: "object", properties: {}, required: [] } }]);
  assert.deepEqual(described.commands, [{ name: "hi", description: "Hi", template: "Say hi" }]);
  assert.deepEqual(described.agents, [{
    name: "r", mode: "subagent", prompt: "Review.", model: { providerID: "a", modelID: "b/c" }, steps: 3, variant: "v", options: { n: 1 },
    permission: [{ permission: "edit", pattern: "*", action: "deny" }, { permission: "bash", pattern: "rm *", action: "deny" }],
  }]);
  assert.deepEqual(described.capabilities, [{ name: "kv" }]);
  assert.equal(stderr, "left out: auth; tenon has no equivalent\nleft out: extra; tenon has no equivalent\nleft out: session.stopped; tenon has no equivalent\n");
});

test("agents of tenon are changed at config and not replaced, and a point that is read only has no writes", async (t) => {
  const code = `export const P = async () => ({
      "tool.execute.before": async () => {},
      config: async (c) => {
        for (const name of ["plan", "build"]) c.agent[name] = { ...c.agent[name], model: "a/b" };
        c.agent.off = { disable: true };
        c.agent.mine = { prompt: "x" };
      },
    });`;
  const { agents, hooks } = await describe(t, code, { about: `readOnly: ["tool.execute.before"]` });
  assert.deepEqual(agents.map(({ name }) => name), ["mine"]);
  assert.deepEqual(hooks.map(({ point, reads, writes, onError }) => [point, reads?.[0], writes?.[0], onError]).slice(0, 2), [
    ["config", "/model", "/model", undefined], ["tool.execute.before", "/args", undefined, "deny"],
  ]);
  const { hook } = await start(t, code, ["config"]);
  const changes = [{ pointer: "/agent/plan/model", value: "a/b" }, { pointer: "/agent/build", value: { model: "a/b" } }, { pointer: "/agent/off", value: { disable: true } }];
  assert.deepEqual(await hook("config", {}, { agent: { plan: { prompt: "y" } } }), { changes });
  const [{ pointer, value }] = (await hook("config", {}, {})).changes;
  assert.deepEqual([pointer, value.plan], ["/agent", { model: "a/b" }]);
});

test("a module of version 1, a plugin that offers nothing, and an export that is not a plugin", async (t) => {
  await assert.rejects(describe(t, `export default () => new Promise(() => {});`), /does not finish/);
  const commonJS = `exports.__esModule = true; exports.default = exports; exports.P = async () => ({ event() {} });`;
  assert.equal((await describe(t, `export { default } from "./compiled.cjs"; export * from "./compiled.cjs";`, { "compiled.cjs": commonJS })).hooks[0].point, "event");
  const { hooks } = await describe(t, `export const version = "1"; export default { id: "x", server: async () => ({ event() {} }) };`);
  assert.equal(hooks[0].point, "event");
  await assert.rejects(describe(t, `export default async () => ({});`), /p has no hooks and no tools here/);
  await assert.rejects(describe(t, `export const limit = 3; export const P = async () => ({ event() {} });`), /the export limit is not a plugin of opencode/);
});

test("hooks change what they get, a throw before a tool is a denial, and a failed tool has no hook after it", async (t) => {
  const { hook } = await start(t, `export const P = async () => ({
      "experimental.chat.system.transform": async ({ model }, output) => void output.system.push(model.api.id),
      "tool.execute.before": async ({ tool }, { args }) => { if (args.path === ".env") throw new Error("no " + tool); args.path += "!"; },
      "tool.execute.after": async ({ args }, output) => { output.output = args.path + output.output; },
      "permission.ask": async ({ type, callID }, output) => { output.status = type === "bash" && callID === "c1" ? "deny" : "ask"; },
      config: async (c) => { c.agent.mine = { prompt: "x" }; c.agent.build.prompt = "y"; },
    });`, ["chat.system.transform", "tool.execute.before", "tool.execute.after", "permission.ask", "config", "text.complete"]);
  assert.deepEqual(await hook("chat.system.transform", { model: { id: "m", limit: {} } }, { system: ["a"] }), { changes: [{ pointer: "/system/-", value: "m" }] });
  assert.deepEqual(await hook("tool.execute.before", { tool: "read" }, { args: { path: "a" } }), { changes: [{ pointer: "/args/path", value: "a!" }] });
  assert.deepEqual(await hook("tool.execute.before", { tool: "read" }, { args: { path: ".env" } }), { verdict: "deny", reason: "no read" });
  const after = (outcome) => hook("tool.execute.after", { outcome, args: { path: "a" } }, { output: "b" });
  assert.deepEqual([await after("ok"), await after("error")], [{ changes: [{ pointer: "/output", value: "ab" }] }, null]);
  const ask = (permission) => hook("permission.ask", { permission, patterns: ["*"], tool: { callID: "c1" } });
  assert.deepEqual([await ask("bash"), await ask("edit")], [{ verdict: "deny" }, null]);
  assert.deepEqual(await hook("config", {}, { agent: { build: { prompt: "x" } } }), { changes: [{ pointer: "/agent/build/prompt", value: "y" }] });
  assert.equal(await hook("text.complete", {}, { text: "x" }), null); // the manifest has it, the plugin this time not
});

test("the client: sessions, messages, logs, texts without a reply; a missing call returns an error and is named once", async (t) => {
  const answer = ({ name }) => (name === "session" ? { result: { messages: [{ info: { id: "a" } }, { info: { id: "b" } }] } } : { error: { code: 2, message: "no" } });
  const { hook, sent } = await start(t, `export const P = async ({ client }) => ({
      "chat.message": async ({ sessionID }, output) => {
        const { data } = await client.session.get({ path: { id: sessionID } });
        const { data: messages } = await client.session.messages({ path: { id: sessionID }, query: { limit: 1 } });
        await client.app.log({ body: { service: "s", level: "warn", message: data.title + messages[0].info.id } });
        await client.session.prompt({ path: { id: sessionID }, body: { noReply: true, parts: [{ type: "text", text: "context" }] } });
        for (const n of [1, 2]) output.parts[0].text += (await client.session.create({})).error.data.message;
        output.parts[0].text += (await client.postSessionIdPermissionsPermissionId({})).error.name;
        for (const call of ["get", "messages", "message"]) output.parts[0].text += " " + (await client.session[call]({ path: { id: "ses_2" } })).error.name;
        await client.session.get({ path: { id: "ses_2" }, throwOnError: true }).catch((e) => { output.parts[0].text += " " + e.message; });
      },
    });`, ["chat.message", "session.start"], [], { answer });
  const changed = hook("chat.message", { sessionID: "ses_1" }, { message: {}, parts: [{ type: "text", text: "" }] });
  await hook("session.start", { session: { id: "ses_1", title: "T" } });
  const unknown = "session ses_2 not found: client.session.get() has only the session of the current hook or tool call";
  const missing = "client.session.create() of opencode: tenon has no equivalent";
  assert.deepEqual(await changed, { changes: [{ pointer: "/parts", value: [{ type: "text", text: `${missing}${missing}LeftOutError${" NotFoundError".repeat(3)} ${unknown}` }, { type: "text", text: "context", synthetic: true }] }] });
  assert.deepEqual(sent.filter(({ method }) => method === "log").map(({ level, message }) => [level, message]), [
    [4, "s: Tb"], [4, "left out: client.session.create(); tenon has no equivalent"],
    [4, "left out: client.postSessionIdPermissionsPermissionId(); tenon has no equivalent"],
  ]);
});

test("an error at event is logged once, a timer outlives its call, a failing dispose skips nothing, and lost texts are named", async (t) => {
  const { hook, stop, sent } = await start(t, `const of = (name) => async ({ client }) => ({
      event: async ({ event }) => {
        await client.session.prompt({ path: { id: event.properties.sessionID }, body: { noReply: true, parts: [{ type: "text", text: name }, { type: "file" }] } });
        setTimeout(() => client.config.get());
        throw new Error("broken");
      },
      dispose() { throw new Error("no " + name); },
    });
    export const A = of("a"), B = of("b");`, ["event", "chat.message"]);
  for (const sessionID of ["ses_1", "ses_2"]) assert.equal(await hook("event", { type: "x", properties: { sessionID } }), null);
  assert.equal((await hook("chat.message", { sessionID: "ses_1" }, {})).changes.length, 2);
  await stop();
  assert.deepEqual([...new Set(sent.filter(({ method }) => method === "operation").map(({ token }) => token))], ["start"]);
  assert.deepEqual(sent.filter(({ method }) => method === "log").map(({ message }) => message), [
    "left out: parts of client.session.prompt() that are not texts", "its hook at event failed: broken", "dispose failed: no a", "dispose failed: no b",
    "not delivered: 2 texts of client.session.prompt(), because the session ses_2 had no other message",
  ]);
});

test("parts that the approved description does not list are named once, and unknown points in readOnly refused", async (t) => {
  const code = `export const P = async () => ({
      "experimental.chat.system.transform": async () => {},
      "chat.params": async () => {},
      config: async (c) => { c.command.hi = { template: "Say hi" }; },
      tool: { t: { description: "T.", execute: async () => "" }, late: { description: "L.", execute: async () => "" } },
    });`;
  const { sent } = await start(t, code, ["chat.system.transform"], ["t"]);
  assert.deepEqual(sent.map(({ message }) => message), ["not called, because they are not in the description that you approved: chat.params, tool late; run tenon plugin build again"]);
  const complete = await start(t, code, ["chat.system.transform", "chat.params"], ["t", "late"]);
  assert.deepEqual(complete.sent, []);
  await assert.rejects(describe(t, code, { about: `readOnly: ["chat.parms", "experimental.chat.system.transform"]` }), /readOnly in main.mjs names unknown points: chat.parms\n/);
});

test("a tool has its context, asks for permission, and its arguments have a schema of zod", async (t) => {
  const code = `import { tool } from "@opencode-ai/plugin";
    export const P = async ({ client }) => ({ tool: { t: { description: "T.", args: { n: tool.schema.string() }, execute: async ({ n }, context) => {
      context.metadata({ title: "half" });
      if (n === "ask") await context.ask({ permission: "t", patterns: [n], always: ["*"], metadata: {} });
      await client.session.prompt({ path: { id: context.sessionID }, body: { noReply: true, parts: [{ type: "text", text: "more" }] } });
      return { title: "T", output: [n, context.agent, context.abort.aborted].join(), metadata: { n } };
    } } } });`;
  const zod = { // the part of zod that the adapter uses
    "node_modules/@opencode-ai/plugin/package.json": `{ "exports": "./index.mjs" }`,
    "node_modules/@opencode-ai/plugin/index.mjs": `export const tool = { schema: {
      string: () => ({ _zod: "string" }),
      object: (shape) => shape,
      toJSONSchema: (shape, { io }) => ({ $schema: "x", io, properties: Object.fromEntries(Object.entries(shape).map(([k, v]) => [k, { type: v._zod }])) }),
    } };`,
  };
  assert.deepEqual((await describe(t, code, zod)).tools[0].parameters, { io: "input", properties: { n: { type: "string" } } });
  const answer = ({ name, request }) => ({ error: { code: 1, message: `${name} ${request.permission}: refused` } });
  const { tool, sent } = await start(t, code, [], ["t"], { answer, ...zod });
  assert.deepEqual(await tool("t", { n: "a" }), { title: "T", output: "a,build,false\n\nmore", metadata: { n: "a" } });
  assert.deepEqual(sent[0], { method: "progress", id: 2, title: "half" });
  await assert.rejects(tool("t", { n: "ask" }), /ask t: refused/);
});
