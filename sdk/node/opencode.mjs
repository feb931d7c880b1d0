// Runs plugins of opencode (https://opencode.ai/docs/plugins) as plugins of tenon. docs/plugin-opencode.md of tenon describes what runs
// unchanged and what differs. It needs tenon.mjs, and Node.js 18 or newer, or Bun.
import { AsyncLocalStorage } from "node:async_hooks";
import { EventEmitter, once } from "node:events";
import { isDeepStrictEqual } from "node:util";
import { plugin, deny } from "./tenon.mjs";

const timeout = 60_000; // ms of a hook: tenon's maximum, because opencode has no limit
const builtin = ["build", "plan", "general", "explore", "title", "compaction", "summary"]; // tenon's own agents
const levels = { debug: -4, info: 0, success: 0, warn: 4, warning: 4, error: 8 };

/** The fields of each point that opencode's contract lets plugins read and change. At config, these are the fields that tenon lets them change. */
const points = {
  config: {
    reads: ["/model", "/small_model", "/default_agent", "/username", "/agent", "/command", "/instructions", "/permission", "/tools", "/compaction", "/experimental"],
    writes: [
      ...["/model", "/small_model", "/username", "/compaction"],
      ...["model", "variant", "temperature", "top_p", "prompt", "description", "hidden", "color", "steps", "options"].map((f) => `/agent/*/${f}`),
    ],
  },
  event: {},
  "chat.message": both("/message", "/parts"),
  "command.execute.before": both("/parts"),
  "tool.definition": both("/description", "/parameters"),
  "chat.messages.transform": both("/messages"),
  "chat.system.transform": both("/system"),
  "chat.params": both("/temperature", "/topP", "/topK", "/maxOutputTokens", "/options"),
  "chat.headers": both("/headers"),
  "tool.execute.before": { ...both("/args"), onError: "deny" },
  "permission.ask": {},
  "shell.env": { reads: ["/env"] },
  "tool.execute.after": both("/title", "/output", "/metadata", "/attachments"),
  "text.complete": both("/text"),
  "session.compacting": both("/context", "/prompt"),
  "compaction.autocontinue": both("/enabled"),
  "provider.small_model": both("/model"),
};

function both(...fields) {
  return { reads: fields, writes: fields };
}

/**
 * Runs a plugin of opencode: a module, or its factory. about has the name and version of the plugin in tenon, the capabilities that it
 * requests, in env the names of the variables that its hook at shell.env sets, and in readOnly the points where its hooks change nothing.
 */
export function opencode(module, about) {
  process.on("unhandledRejection", (error) => report(`a promise of the plugin failed: ${error?.stack ?? error}`));
  const described = () => {
    process.off("beforeExit", unfinished);
    if (process.argv.includes("--describe")) setTimeout(() => process.exit(), 1000).unref(); // timers of the plugin would keep the process alive
  };
  const failed = (error) => {
    console.error(error);
    process.exit(1);
  };
  const unfinished = () => failed("a factory of the plugin does not finish, or its hook at config");
  process.once("beforeExit", unfinished);
  plugin((call) => inside(call, () => define(module, about, call))).then(described, failed);
}

const calls = new AsyncLocalStorage();
let started; // the call of start, for work of the plugin that belongs to no other call

/** Runs f with the call that requests to the host belong to until f has ended, and its session. */
async function inside(call, f, session) {
  started ??= call;
  const own = { call, session };
  try {
    return await calls.run(own, f);
  } catch (error) {
    if (call && error?.code === "EACCES") error.message += "; tenon confines the plugin to the capabilities in main.mjs";
    throw error;
  } finally {
    own.call = undefined;
  }
}

const current = () => calls.getStore()?.call ?? started;

/** Returns the session of a hook's input. */
function sessionOf({ sessionID, properties: event }) {
  return sessionID ?? event?.sessionID ?? event?.info?.sessionID ?? event?.part?.sessionID ?? event?.info?.id;
}

/** Tells the user something: in the log, or when the plugin is described on stderr. */
function report(message, level = levels.warn, attributes) {
  if (started) current().log(message, attributes, level);
  else if (level >= levels.warn) console.error(message);
}

const reported = new Set();

function reportOnce(message) {
  if (!reported.has(message)) report(message);
  reported.add(message);
}

/** Names a part of opencode that the plugin needs and tenon does not have, and fails. */
function leftOut(name, remedy = "tenon has no equivalent") {
  reportOnce(`left out: ${name}; ${remedy}`);
  throw named("LeftOutError", `${name} of opencode: ${remedy}`);
}

const named = (name, message) => Object.assign(new Error(message), { name });

/** Returns the definition of the plugin for tenon. Without a call, it is described. */
async function define(module, { env = [], readOnly = [], ...about }, call) {
  if (call) process.chdir(call.project.Directory); // opencode runs there
  const unknown = readOnly.filter((name) => !Object.hasOwn(points, canonical(name)));
  if (unknown.length > 0) throw new Error(`readOnly in main.mjs names unknown points: ${unknown.join(", ")}`);
  const all = [];
  for (const factory of factoriesOf(module)) all.push((await factory(factoryInput(call), Object.keys(call?.options ?? {}).length > 0 ? call.options : undefined)) ?? {});
  const { changes, ...offered } = await configured(all, call);
  const hooks = {};
  const own = []; // points and tools of the plugin
  for (const [point, fields] of Object.entries(points)) {
    const handlers = all.map((h) => h[point] ?? h[`experimental.${point}`]).filter((f) => typeof f === "function");
    if (!call && (handlers.length === 0 || (point === "config" && !changes))) continue; // a started plugin answers at every point: its manifest may list more than it has this time
    if (handlers.length > 0 && point !== "config") own.push(point); // what config changes may depend on the place
    observed ||= handlers.length > 0;
    hooks[point] = { ...fields, ...(readOnly.map(canonical).includes(point) && { writes: undefined }), timeout, run: (input, value, call) => inside(call, () => run(point, handlers, input, value, offered), sessionOf(input)).catch((error) => fail(point, error)) };
  }
  if (observed && !all.some((h) => h["chat.message"]) && !readOnly.includes("chat.message")) hooks["chat.message"] = { writes: ["/parts/-"], timeout, run: deliver };
  if (observed || call) hooks["session.start"] = { timeout, run: ({ session }) => keep(session) };
  if (hooks["shell.env"]) hooks["shell.env"].writes = env.map((name) => `/env/${name}`);
  const tools = await toolsOf(Object.assign({}, ...all.map((h) => h.tool)));
  own.push(...Object.keys(tools).map((id) => `tool ${id}`));
  reportLeftOut(all, env);
  if (!call && [hooks, tools, ...Object.values(offered)].every((parts) => Object.keys(parts).length === 0)) {
    throw new Error(`${about.name} has no hooks and no tools here; if they depend on a setting or a file, create it first`);
  }
  const start = (_, { hooks = [], tools = [] }) => {
    const listed = [...hooks.map(({ point }) => canonical(point)), ...tools.map((id) => `tool ${id}`)];
    const missing = own.filter((name) => !listed.includes(name));
    if (missing.length > 0) report(`not called, because they are not in the description that you approved: ${missing.join(", ")}; run tenon plugin build again`);
  };
  const stop = async () => {
    for (const h of all) await inside(call, () => h.dispose?.()).catch((error) => report(`dispose failed: ${error?.message ?? error}`));
    for (const [session, list] of texts) report(`not delivered: ${list.length} texts of client.session.prompt(), because the session ${session} had no other message`);
  };
  return { ...about, options: { type: "object" }, hooks, tools, ...offered, start, stop };
}

/** Returns the factories of a module as opencode finds them: that of the default export { server }, or all exports. */
function factoriesOf(module) {
  if (typeof module === "function") return [module];
  if (typeof module.default?.server === "function") return [module.default.server];
  const exported = Object.entries(module)
    .flatMap(([name, value]) => (isCommonJS(name, value) ? Object.entries(value) : [[name, value]]))
    .filter(([name, value]) => name !== "__esModule" && (typeof value === "function" || value !== module.default));
  const factories = exported.map(([name, value]) => {
    const factory = value?.server ?? value;
    if (typeof factory !== "function") throw new TypeError(`the export ${name} is not a plugin of opencode: every export must be a function`);
    return factory;
  });
  return [...new Set(factories)];
}

const isCommonJS = (name, value) => (name === "default" || name === "module.exports") && typeof value === "object" && value !== null;

/** Returns the input of a factory. */
function factoryInput(call) {
  const { ID: id = "global", Directory: directory = process.cwd(), Worktree: worktree = directory } = call?.project ?? {};
  return {
    client: clientOf("client", { id, directory, worktree }),
    project: { id, worktree, vcs: "git", time: { created: Date.now() }, sandboxes: [] },
    directory,
    worktree,
    $: globalThis.Bun?.$ ?? (() => leftOut("$", "it is Bun's shell: write bun instead of node in the command of plugin.json")),
    get serverUrl() {
      if (!call) reportOnce("left out: serverUrl; tenon has no server"); // here only, because many plugins name it and do not use it
      return undefined;
    },
    experimental_workspace: { register: () => leftOut("experimental_workspace.register()") },
  };
}

/**
 * Returns the commands and agents that the plugin adds to an empty configuration, for its description, and whether its hook at config must be
 * called with the user's: adding is all that it does otherwise. An agent of tenon's is changed there; as an agent of the plugin it would lose its rules.
 */
async function configured(all, call) {
  const empty = { agent: Object.fromEntries(builtin.map((name) => [name, {}])), command: {} };
  const config = structuredClone(empty);
  let failed = false;
  for (const h of all) {
    try {
      await h.config?.(config);
    } catch (error) {
      failed = true;
      if (!call) report(`its hook at config fails for an empty configuration, so agents and commands may be missing: ${error.message}`);
    }
  }
  const list = (entries) => Object.entries(entries ?? {}).map(([name, entry]) => ({ ...entry, name }));
  const agents = list(config.agent).filter(({ name, disable }) => !builtin.includes(name) && !disable).map((agent) => {
    const { name, description, mode = "all", model, variant, prompt, temperature, top_p, maxSteps, steps = maxSteps, options, hidden, color } = agent;
    const [providerID, ...modelID] = model?.split("/") ?? [];
    const same = { name, description, mode, variant, prompt, temperature, top_p, steps, options, hidden, color };
    return { ...same, model: model && { providerID, modelID: modelID.join("/") }, permission: rulesOf(agent) };
  });
  const commands = list(config.command).map(({ name, description, template, agent, model, subtask }) => ({ name, description, template, agent, model, subtask }));
  const adds = agents.length + commands.length > 0;
  withoutOffered(config, empty, { agents, commands });
  return { agents, commands, changes: failed || !adds || !isDeepStrictEqual(config, empty) };
}

const canonical = (point) => point.replace(/^experimental\./, "");

const edits = ["write", "patch", "multiedit", "apply_patch"]; // have the permission edit

/** Returns the permission rules of an agent, in tenon's form; the host decides which of them a plugin may set. */
function rulesOf({ tools = {}, permission = {} }) {
  const rules = Object.entries(tools).map(([tool, on]) => ({ permission: edits.includes(tool) ? "edit" : tool, pattern: "*", action: on ? "allow" : "deny" }));
  for (const [key, actions] of Object.entries(typeof permission === "string" ? { "*": permission } : permission)) {
    for (const [pattern, action] of Object.entries(typeof actions === "string" ? { "*": actions } : actions)) rules.push({ permission: key, pattern, action });
  }
  return rules.length > 0 ? rules : undefined;
}

/** Names the parts of the plugin that have no equivalent. */
function reportLeftOut(all, env) {
  for (const h of all) {
    for (const key of Object.keys(h)) {
      if (!["dispose", "tool"].includes(key) && !(canonical(key) in points)) reportOnce(`left out: ${key}; tenon has no equivalent`);
    }
    if (h["shell.env"] && env.length === 0) reportOnce("shell.env sets no variable: list their names in env of main.mjs");
  }
}

/** Runs the handlers of a point. */
async function run(point, handlers, input, value, offered) {
  if (point === "tool.execute.after" && input.outcome !== "ok") return; // opencode calls it after success only
  if (point === "permission.ask") return ask(handlers, input);
  const kept = point === "config" && structuredClone(value);
  if (kept) Object.assign(value, { agent: {}, command: {}, ...value }); // opencode's configuration always has them
  if (input.type?.startsWith("session.") && input.properties.info) keep(input.properties.info);
  for (const handler of handlers) {
    if (point === "event") await inside(current(), () => handler({ event: input }), sessionOf(input)).catch((error) => reportOnce(`its hook at event failed: ${error?.message ?? error}`));
    else if (point === "config") await handler(value);
    else await handler(inputOf(input), value);
  }
  if (kept) withoutOffered(value, kept, offered);
  if (point === "chat.message") deliver(input, value);
}

/** Adds the texts of client.session.prompt() to a message. */
function deliver({ sessionID }, { parts }) {
  for (const text of taken(sessionID)) parts.push({ type: "text", text, synthetic: true });
}

/** Fails like a handler: in opencode, an error before a tool refuses the call. */
function fail(point, error) {
  if (point === "tool.execute.before") deny(String(error?.message ?? error));
  throw error;
}

/** Returns the input of a handler in the form of opencode. */
function inputOf(input) {
  const { model, provider } = input;
  return {
    ...input,
    ...(model?.limit && { model: { ...model, modelID: model.id, api: { id: model.apiID ?? model.id, npm: model.npm, url: model.baseURL } } }),
    ...(provider && { provider: { ...provider, info: provider, source: "config", env: [], options: {}, models: {} } }),
  };
}

/** Restores the commands and agents of a configuration: the plugin's own belong to its description. */
function withoutOffered(value, kept, { agents, commands }) {
  for (const [field, names] of [["agent", agents], ["command", commands]]) {
    for (const { name } of names) {
      if (kept[field]?.[name]) value[field][name] = kept[field][name];
      else delete value[field]?.[name];
    }
    if (kept[field] === undefined && Object.keys(value[field] ?? {}).length === 0) delete value[field];
  }
}

/** Calls the handlers at permission.ask and returns the verdict. */
async function ask(handlers, input) {
  const permission = { ...input, type: input.permission, pattern: input.patterns, title: input.permission, ...input.tool, id: input.id, time: { created: Date.now() } };
  const output = { status: "ask" };
  for (const handler of handlers) await handler(permission, output);
  return output.status === "ask" ? undefined : { verdict: output.status };
}

/** Returns the tools of the plugin. */
async function toolsOf(definitions) {
  const tools = {};
  for (const [id, { description, args = {}, execute }] of Object.entries(definitions)) {
    const run = async (args, call) => {
      const result = await execute(args, contextOf(call));
      const texts = taken(call.tool.sessionID);
      if (texts.length === 0) return result;
      const { output = result, ...rest } = typeof result === "string" ? {} : result;
      return { ...rest, output: [output, ...texts].join("\n\n") };
    };
    tools[id] = { description, parameters: await schemaOf(id, args), run: (args, call) => inside(call, () => run(args, call), call.tool.sessionID) };
  }
  return tools;
}

/** Returns the JSON schema of a tool's arguments: values of zod, or properties of a JSON schema. */
async function schemaOf(id, args) {
  const values = Object.values(args);
  if (values.length === 0 || !values.every((v) => v?._zod)) {
    if (values.some((v) => v?._def)) throw new Error(`the arguments of the tool ${id} are values of zod 3, which opencode does not support either`);
    return { type: "object", properties: args, required: Object.keys(args) };
  }
  const { $schema, ...schema } = (await zod()).toJSONSchema((await zod()).object(args), { io: "input" });
  return schema;
}

/** Returns zod 4, which is a dependency of @opencode-ai/plugin. */
async function zod() {
  const sources = [import("@opencode-ai/plugin").then(({ tool }) => tool.schema), import("zod")];
  const found = (await Promise.allSettled(sources)).find(({ value }) => value?.toJSONSchema);
  if (!found) throw new Error("zod 4 not found: run npm install zod@4 in the directory of the plugin");
  return found.value;
}

/** Returns the context of a tool call. */
function contextOf(call) {
  const { sessionID, messageID, callID, agent } = call.tool;
  const { Directory: directory, Worktree: worktree } = call.project;
  return {
    sessionID, messageID, callID, agent, directory, worktree,
    abort: call.signal,
    extra: {},
    metadata: ({ title = "", metadata } = {}) => call.progress(title, metadata),
    ask: ({ permission, patterns, always, metadata }) => call.ask({ permission, patterns, always, metadata }),
  };
}

const sessions = new Map(); // by id
const found = new EventEmitter(); // of the sessions, by id
let observed = false; // the host sends the sessions

function keep(session) {
  sessions.set(session.id, session);
  found.emit(session.id);
}

const texts = new Map(); // for the model, by session: of client.session.prompt() without a reply

/** Returns the texts of a session and forgets them. */
function taken(session) {
  const list = texts.get(session) ?? [];
  texts.delete(session);
  return list;
}

/** The calls of opencode's client that the host has. Each returns a promise of the data. */
const operations = {
  "client.app.log": async ({ body: { service, level, message, extra } = {} } = {}) => {
    report(service ? `${service}: ${message}` : message, levels[level] ?? 0, extra);
    return true;
  },
  "client.tui.showToast": async ({ body: { title, message, variant } = {} } = {}) => {
    report(title ? `${title}: ${message}` : message, levels[variant] ?? 0);
    return true;
  },
  "client.session.get": async ({ path: { id } }) => {
    if (!observed) leftOut("client.session.get() in a plugin without hooks");
    if (!sessions.has(id)) {
      ownSession(id, "client.session.get()");
      await once(found, id, { signal: current().signal }); // the host does not wait until the plugin knows the session
    }
    return sessions.get(id);
  },
  "client.session.prompt": async ({ path, body }) => {
    if (!body.noReply) leftOut("client.session.prompt() with a reply");
    if (body.parts.some(({ type }) => type !== "text")) reportOnce("left out: parts of client.session.prompt() that are not texts");
    texts.set(path.id, [...(texts.get(path.id) ?? []), ...body.parts.filter(({ type }) => type === "text").map(({ text }) => text)]);
  },
  "client.session.messages": async ({ path, query }) => (await messagesOf(path.id)).slice(-(query?.limit ?? 0)),
  "client.session.message": async ({ path }) => {
    const message = (await messagesOf(path.id)).find(({ info }) => info.id === path.messageID);
    if (!message) throw named(notFound, `message ${path.messageID} not found`);
    return message;
  },
  "client.config.get": () => current().operation("config"),
  "client.project.current": async (_, { id, worktree }) => ({ id, worktree }),
  "client.path.get": async (_, { directory, worktree }) => ({ directory, worktree }),
};

const notFound = "NotFoundError";

/** Fails for a session that the current call does not belong to. */
function ownSession(id, name) {
  if (id !== calls.getStore()?.session) throw named(notFound, `session ${id} not found: ${name} has only the session of the current hook or tool call`);
}

function messagesOf(id) {
  ownSession(id, "client.session.messages()");
  return current().messages();
}

/** Calls the client. Like opencode's, it returns an error and does not throw it, unless the request says so. */
async function answer(name, request, project) {
  try {
    return { data: await (operations[name] ?? (() => leftOut(`${name}()`)))(request ?? {}, project) };
  } catch (error) {
    if (request?.throwOnError) throw error;
    if (error.name !== notFound && error.name !== "LeftOutError") reportOnce(`${name}(): ${error.message}`);
    return { error: { name: error.name, data: { message: error.message } } };
  }
}

/** Returns the client or, after a dot in the name, a namespace or a call: each is a function, because some calls have no namespace. */
function clientOf(name, project) {
  return new Proxy(() => {}, {
    get: (at, key) => (typeof key === "symbol" || key === "then" || key in at ? at[key] : clientOf(`${name}.${key}`, project)),
    apply: (_, __, [request]) => answer(name, request, project),
  });
}
