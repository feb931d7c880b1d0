// An MCP server over stdio without any dependency: one JSON-RPC message a line. It offers one tool and two interceptors.
import { createInterface } from "node:readline";

// Text that looks like a key must not reach the model.
const SECRET = /\b(?:sk-[A-Za-z0-9]{16,}|AKIA[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{36})\b/g;

const interceptors = [
  {
    name: "hide-keys",
    description: "Replaces keys in the results of tools and in what is sent to the model",
    type: "mutation",
    hook: { events: ["tools/call"], phase: "response" },
    invoke: ({ payload }) => {
      const text = JSON.stringify(payload);
      const clean = text.replace(SECRET, "[key removed]");
      return clean === text ? { modified: false } : { modified: true, payload: JSON.parse(clean) };
    },
  },
  {
    name: "keep-env",
    description: "Refuses to touch .env files, whichever tool wants to",
    type: "validation",
    hook: { events: ["tools/call"], phase: "request" },
    invoke: ({ payload }) => {
      const touched = JSON.stringify(payload.arguments).match(/[\w./-]*\.env\b/);
      if (!touched) return { valid: true };
      return {
        valid: false,
        severity: "error",
        messages: [{ path: "arguments", message: `${touched[0]} is off limits`, severity: "error" }],
      };
    },
  },
];

const tools = [
  {
    name: "check",
    description: "Says whether a text holds something that looks like a key.",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    annotations: { readOnlyHint: true },
    call: ({ text }) => (text.match(SECRET) ? "It holds a key." : "It holds no key."),
  },
];

// without removes the functions, which are not part of the protocol.
const without = (list) => list.map(({ invoke, call, ...rest }) => rest);

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion: protocolVersion === "2024-11-05" ? protocolVersion : "2025-06-18",
    serverInfo: { name: "key-guard", version: "1.0.0" },
    capabilities: { tools: {}, extensions: { "io.modelcontextprotocol/interceptors": {} } },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: without(tools) }),
  "tools/call": ({ name, arguments: args }) => {
    const tool = tools.find((t) => t.name === name);
    if (!tool) throw new Error(`unknown tool ${name}`);
    return { content: [{ type: "text", text: tool.call(args) }] };
  },
  "interceptors/list": () => ({ interceptors: without(interceptors) }),
  "interceptor/invoke": (params) => {
    const interceptor = interceptors.find((i) => i.name === params.name);
    if (!interceptor) throw new Error(`unknown interceptor ${params.name}`);
    return interceptor.invoke(params);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) continue; // a notification
  const answer = { jsonrpc: "2.0", id };
  try {
    if (!methods[method]) throw Object.assign(new Error(`unknown method ${method}`), { code: -32601 });
    answer.result = methods[method](params);
  } catch (error) {
    answer.error = { code: error.code ?? -32603, message: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
