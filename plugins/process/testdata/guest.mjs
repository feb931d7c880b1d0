// A plugin in JavaScript for the tests of this package.
import { spawnSync } from "node:child_process";

import { deny, halt, plugin, ProviderError } from "../../../sdk/node/tenon.mjs";

console.log("while it is imported");
plugin({
  name: "guest-plain",
  version: "1.2.3",
  capabilities: [{ name: "kv" }, { name: "ask" }],
  options: { type: "object", properties: { add: { type: "number", default: 0.5 } } },
  hooks: [
    { point: "chat.params", name: "warm", reads: [""], writes: [""], run: (input, value, call) => void (value.temperature += call.options.add) },
    { point: "chat.params", name: "nothing", reads: [""], writes: [""], run() {} },
    { point: "chat.params", name: "returned", reads: [""], writes: [""], run: () => ({ temperature: 2 }) },
    { point: "chat.params", name: "itself", reads: [""], writes: [""], run: (input, value) => Object.assign(value, { message: { role: "user" } }) },
    { point: "chat.params", name: "blind", writes: ["/options"], run() { throw new Error("no options"); } },
    { point: "chat.params", name: "error", run() { throw new Error("no luck today"); } },
    { point: "chat.params", name: "refuse", run: () => deny("not today") },
    { point: "chat.params", name: "list", writes: ["/options/list/-"], run: (input, value) => void value.options.list.push("a") },
    { point: "chat.params", name: "huge", writes: [""], run: (input, value) => void (value.options = { x: "x".repeat(16 << 20) }) },
    { point: "chat.params", name: "print", run: () => console.log("on stdout") },
    {
      point: "chat.params", name: "count",
      async run(input, value, call) {
        await call.kv.set("count", "1");
        return { reason: await call.kv.get("count") };
      },
    },
  ],
  tools: {
    echo: { description: "", run: (args) => ({ title: "echo", output: JSON.stringify(args) }) },
    big: {
      description: "",
      async run(args, call) {
        call.log("x".repeat(17 << 20));
        const { message } = await call.kv.set("k", "x".repeat(17 << 20)).catch((e) => e);
        throw new ProviderError({ message, body: "x".repeat(17 << 20) });
      },
    },
    throw: { description: "", run() { throw new Error("boom"); } },
    refuse: { description: "", run: () => halt("not on a Sunday") },
    crash: { description: "", run: () => new Promise(() => setTimeout(() => { throw new Error("too late"); })) },
    steps: { description: "", run(args, call) { for (let n = 0; n < 3; n++) call.progress(`step ${n}`, { n }); return "done"; } },
    ask: { description: "", async run(args, call) { await call.ask({ permission: "deploy", patterns: ["prod"] }); return "granted"; } },
    kv: {
      description: "",
      async run(args, call) {
        await call.kv.set("k", "v");
        await call.kv.set("empty", "");
        if ((await call.kv.get("missing")) !== undefined || (await call.kv.get("empty")) !== "") throw new Error("a missing value is the same as an empty one");
        return await call.kv.get("k");
      },
    },
    secret: { description: "", run: (args, call) => call.secret("TOKEN") },
    inherit: { description: "", run: () => String(spawnSync("sh", ["-c", "exec 2>/dev/null; : >&3"]).status === 0) },
    wait: { description: "", run: (args, call) => { call.progress("waiting"); return new Promise((_, fail) => call.signal.addEventListener("abort", () => fail(new Error("over")))); } },
    deploy: { description: "", run: () => "done", prepare: ({ to }) => [{ permission: "deploy", patterns: [to] }] },
  },
});
