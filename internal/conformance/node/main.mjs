// The plugin of the conformance suite (internal/conformance/plugin_test.go) in JavaScript.
import { readFileSync } from "node:fs";
import { deny, halt, plugin } from "../../../sdk/node/tenon.mjs";

const name = "conformance";
const again = "again";
const panicText = "strings: negative Repeat count";
let calls = 0;
let options = {};

/** Encodes as Go does: its encoder escapes these characters. */
const encode = (v) => JSON.stringify(v).replace(/[<>&\u2028\u2029]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

const forever = () => new Promise(() => {});

async function commit(fault, call) {
  switch (fault) {
    case undefined:
    case "":
      return;
    case "panic":
      throw new Error(panicText);
    case "hang":
      return new Promise((_, reject) => call.signal.addEventListener("abort", () => reject(new Error("canceled"))));
    case "deaf":
      return forever();
    case "loop":
      for (;;);
    case "recursion":
      return (function deeper(n) {
        return deeper(n + 1) + 1;
      })(1);
    case "memory":
      for (let i = 0, kept = []; i < 96; i++) kept.push(Buffer.alloc(1 << 20, i));
      process.exit(137);
    case "exit":
      process.exit(3);
    case "flood":
      throw new Error("flood ".repeat((20 << 20) / 6));
    case "chatter":
      for (;;) {
        console.log("stdout ".repeat(1000));
        console.error("stderr ".repeat(1000));
      }
  }
  throw new Error(`unknown fault ${fault}`);
}

const unescape = (s) => s.replaceAll("~1", "/").replaceAll("~0", "~");

/** Makes a change in a value. */
function apply(value, { pointer, value: now, remove }) {
  const segments = pointer.split("/").slice(1).map(unescape);
  const last = segments.pop();
  if (pointer.includes("/parts/") && last === "type") throw new Error("type of a part or a message cannot be changed");
  if (last === undefined) {
    for (const key of Object.keys(value)) delete value[key];
    Object.assign(value, now);
    return;
  }
  let at = value;
  for (const segment of segments) at = at[segment] ??= {};
  if (Array.isArray(at) && last === "-") at.push(now);
  else if (Array.isArray(at) && remove) at.splice(Number(last), 1);
  else if (remove) delete at[last];
  else at[last] = structuredClone(now);
}

const excesses = {
  segments: () => [{ pointer: "/args" + "/a".repeat(1 << 20), value: 1 }],
  pointer: () => [{ pointer: "/args/" + "a".repeat(1 << 20), value: 1 }],
  changes: () => Array(100_000).fill({ pointer: "/args/a", value: 1 }),
  bytes: () => [{ pointer: "/args/a", value: "x".repeat(16 << 20) }],
  depth: () => [{ pointer: "/args/a", value: Array(9000).fill(0).reduce((inner) => ({ a: inner }), 1) }],
  members: () => [{ pointer: "/args", value: Object.fromEntries(Array.from({ length: 8192 }, (_, i) => ["k" + i, 1])) }],
};

async function run(hook, input, value, call) {
  const count = ++calls;
  let script = options.hooks?.[hook];
  while (script?.when && !encode(input).includes(script.when)) script = script.otherwise;
  if (!script) return;
  if (script.record) await call.kv.set(script.record, encode({ input, ...(value !== undefined && { value }) }));
  await commit(script.fault, call);
  if (script.error) throw new Error(script.error);
  const { verdict, reason, message } = script;
  if (value === undefined) return { verdict: verdict ?? (hook === "turn.stop" ? "allow" : undefined), reason, message };
  const was = encode(value);
  for (const change of script.set ?? []) apply(value, change);
  if (script.input) apply(value, { pointer: script.input, value: encode(input) });
  if (script.value) apply(value, { pointer: script.value, value: was });
  if (script.count) apply(value, { pointer: script.count, value: String(count) });
  if (script.excess) return { changes: excesses[script.excess]() };
  if (verdict === "deny") deny(reason ?? "");
  if (verdict === "halt") halt(reason ?? "");
}

const points = readFileSync(new URL("../points.txt", import.meta.url), "utf8").trim().split("\n");
const hooks = points.map((point) => ({ point, run: (input, value, call) => run(point, input, value, call) }));
hooks.push({ point: "chat.system.transform", name: again, run: (input, value, call) => run(again, input, value, call) });

const tool = (properties, run, more) => ({ description: "", parameters: { type: "object", properties }, run, ...more });
const tools = {
  echo: tool({}, (args, call) => echo(call)),
  progress: tool({}, (args, call) => {
    for (let step = 1; step <= args.steps; step++) call.progress(`step ${step}`, { step });
    return "done";
  }),
  ask: tool({}, async ({ permission, pattern }, call) => {
    await call.ask({ permission, patterns: [pattern], always: [pattern] });
    return "granted";
  }),
  count: tool({}, async ({ key }, call) => {
    const next = String(Number((await call.kv.get(key)) ?? 0) + 1);
    await call.kv.set(key, next);
    return next;
  }),
  recorded: tool({}, async ({ key }, call) => {
    const value = await call.kv.get(key);
    if (value === undefined) throw new Error(`nothing was recorded as ${key}`);
    return value;
  }),
  nested: tool({}, async ({ tool, args }, call) => "nested: " + (await call.callTool(tool, args)).output),
  secret: tool({}, async ({ name }, call) => String((await call.secret(name)).length)),
  fail: tool({}, async ({ text, fault }, call) => {
    await commit(fault, call);
    throw new Error(text);
  }),
  big: tool({}, ({ bytes }) => "x".repeat(bytes)),
  prepared: tool({}, (args, call) => echo(call), {
    permission: name,
    timeout: 7000,
    prepare({ patterns = [], refuse }) {
      if (refuse) throw new Error(refuse);
      return patterns.map((p) => ({ permission: name, patterns: [p], always: ["*"], metadata: { why: "because" } }));
    },
  }),
};

function echo({ tool: t }) {
  return {
    title: "echo of " + t.callID,
    output: encode(t.args),
    metadata: {
      tool: t.tool, sessionID: t.sessionID, messageID: t.messageID, agent: t.agent, directory: t.directory, worktree: t.worktree,
      big: 12345678901234567890n,
    },
    attachments: [{ type: "file", mime: "image/png", filename: "dot.png", url: "data:image/png;base64,iVBORw0KGgo=" }],
    keepTail: true,
  };
}
BigInt.prototype.toJSON = function () {
  return JSON.rawJSON ? JSON.rawJSON(String(this)) : Number(this);
};

const provider = "conformance-provider";
const auth = [
  {
    provider, id: "browse", name: "Conformance account",
    async login(call) {
      await call.operation("signin.notice", { text: "a notice" });
      await call.operation("signin.code", { address: "https://conformance.example/device", code: "AB-CD" });
      const { redirect } = await call.operation("signin.visit", { address: "https://conformance.example/login" });
      return { access: "access " + redirect, refresh: "refresh", expires: 7, metadata: { account: "a1" } };
    },
    refresh: (t) => ({ ...t, access: t.access + "+", refresh: t.refresh + "+", expires: t.expires + 1 }),
    headers(t) {
      if (t.metadata.account === "bad") return { "X-Account": "a\r\nb" };
      return { Authorization: "Conformance " + t.access, "X-Account": t.metadata.account };
    },
  },
  { provider, id: "plain", login: () => ({ access: "0 options" }) },
  {
    provider, id: "denied",
    login() {
      throw new Error("the user said no");
    },
  },
];

plugin({
  name, version: "1.2.3", hooks, tools, auth,
  async start(call) {
    options = call.options ?? {};
    const script = options.start ?? {};
    if (script.record) await call.kv.set(script.record, encode({ options: call.options, project: call.project }));
    await commit(script.fault, call);
    if (script.error) throw new Error(script.error);
  },
});
