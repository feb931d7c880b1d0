// Types of tenon.mjs. The values of hook points are described in docs/hooks.md of tenon ("tenon docs hooks"); here they are JSON.

export type JSONValue = null | boolean | number | string | JSONValue[] | { [key: string]: JSONValue };
export type JSONSchema = { [key: string]: any };

/** A plugin. Its description, and so its plugin.json, follows from it: tenon plugin sync-manifest writes it. */
export interface Plugin<Options = any> {
  name: string;
  version?: string;
  description?: string;
  /** Hooks by their points, or a list if there are several at one point. */
  hooks?: { [point: string]: Hook<Options> } | (Hook<Options> & { point: string })[];
  /** Tools by their ids. */
  tools?: { [id: string]: Tool<Options> };
  capabilities?: { name: string; scope?: string[]; reason?: string }[];
  /** A JSON schema of the options; handlers get the options with its defaults. */
  options?: JSONSchema;
  providers?: any[];
  agents?: any[];
  commands?: any[];
  /** Wire protocols of model providers, by name. */
  protocols?: { [name: string]: Protocol<Options> };
  auth?: AuthMethod<Options>[];
  start?(call: Call<Options>): void | Promise<void>;
  stop?(): void | Promise<void>;
}

export interface Hook<Options = any> {
  name?: string;
  /** JSON pointers of the fields that run receives; "" is the whole value. Default: none. */
  reads?: string[];
  /** JSON pointers of the fields that run may change; "/list/-" permits only to append. Default: none. */
  writes?: string[];
  priority?: number;
  before?: string[];
  after?: string[];
  onError?: "skip" | "deny" | "stop";
  /** Milliseconds. */
  timeout?: number;
  /**
   * Changes value in place. A gate returns its verdict; deny() and halt() refuse. To avoid the comparison of the value with its copy,
   * return { changes: [{ pointer, value }] }.
   */
  run(input: any, value: any, call: Call<Options>): any;
}

export interface Verdict {
  verdict?: "allow" | "ask" | "deny" | "halt" | "continue";
  reason?: string;
  message?: string;
}

export interface Tool<Options = any> {
  description: string;
  parameters?: JSONSchema;
  permission?: string;
  /** Milliseconds. */
  timeout?: number;
  run(args: any, call: ToolCall<Options>): string | ToolResult | Promise<string | ToolResult>;
  /** Lists the permissions that a call requires. */
  prepare?(args: any, call: ToolCall<Options>): PermissionRequest[] | Promise<PermissionRequest[]>;
}

export interface ToolResult {
  output: string;
  title?: string;
  metadata?: { [key: string]: any };
  attachments?: any[];
  keepTail?: boolean;
}

export interface PermissionRequest {
  permission: string;
  patterns: string[];
  always?: string[];
  metadata?: { [key: string]: any };
}

export interface Protocol<Options = any> {
  stream(request: any, connection: any, call: Call<Options>): AsyncIterable<any> | Iterable<any>;
  listModels?(connection: any, call: Call<Options>): any[] | Promise<any[]>;
}

/** A sign-in to a provider. */
export interface Token {
  access: string;
  refresh?: string;
  /** End of access in milliseconds since 1970; 0: never, or unknown. */
  expires?: number;
  metadata?: { [key: string]: string };
}

/** A way to sign in to a provider. During a login, the operations signin.notice, signin.code and signin.visit reach the user. */
export interface AuthMethod<Options = any> {
  provider: string;
  id: string;
  name?: string;
  login(call: Call<Options>): Token | Promise<Token>;
  /** Without it, the user signs in again when the token ends. */
  refresh?(token: Token, call: Call<Options>): Token | Promise<Token>;
  /** The headers of requests. Without it, access is sent as a bearer token. */
  headers?(token: Token, call: Call<Options>): { [name: string]: string } | Promise<{ [name: string]: string }>;
}

/** A call of the host. Its methods send requests to the host. */
export interface Call<Options = any> {
  readonly options: Options;
  readonly project: { ID: string; Directory: string; Worktree: string; [key: string]: any };
  /** Ends with the call: at its deadline, or when the host cancels it. */
  readonly signal: AbortSignal;
  readonly canceled?: boolean;
  /** level: -4 debug, 0 info (default), 4 warning, 8 error. */
  log(message: string, attributes?: { [key: string]: any }, level?: number): void;
  /** Uses an ability of the host by the name of its operation; see docs/abilities.md. */
  operation(name: string, request?: object): Promise<any>;
  subscribe(types: string[], listener: (event: any) => void): () => void;
  kv: {
    get(key: string): Promise<string | undefined>;
    set(key: string, value: string): Promise<unknown>;
    delete(key: string): Promise<unknown>;
    keys(prefix?: string): Promise<string[]>;
  };
  secret(name: string): Promise<string>;
  fetch(request: { method?: string; url: string; headers?: object; body?: string; timeout?: number }): Promise<{ status: number; headers: any; body: any }>;
  callTool(tool: string, args?: object): Promise<ToolResult>;
  messages(): Promise<any[]>;
  /** Throws a Refusal if the permission is not granted. */
  ask(request: PermissionRequest): Promise<unknown>;
  question(questions: any[]): Promise<string[][]>;
  sample(request: any): Promise<{ text: string; model: string; finishReason: string; calls?: { id: string; tool: string; args: any }[] }>;
}

export interface ToolCall<Options = any> extends Call<Options> {
  readonly tool: { tool: string; callID: string; sessionID: string; messageID: string; agent: string; args: any; directory: string; worktree: string };
  progress(title: string, metadata?: { [key: string]: any }): void;
}

export class Refusal extends Error {
  constructor(reason: string, halt?: boolean);
  readonly halt: boolean;
}

export class HostError extends Error {
  readonly code: "failed" | "denied" | "unknown" | "limited";
}

export class ProviderError extends Error {
  constructor(fields: { [key: string]: any });
  readonly fields: { [key: string]: any };
}

/** Refuses this call; the model may try another way. */
export function deny(reason: string): never;
/** Refuses this call and ends the turn. */
export function halt(reason: string): never;
/** Runs the plugin. Call it once, at the end of the program. */
export function plugin<Options = any>(definition: Plugin<Options> | ((call?: Call<Options>) => Plugin<Options> | Promise<Plugin<Options>>)): Promise<void>;
/** Returns the description of a plugin. */
export function describe(definition: Plugin): object;
/** Adds the changes that turn before into after. */
export function diff(before: JSONValue, after: JSONValue, pointer: string, changes: object[]): void;
