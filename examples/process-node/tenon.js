// The process protocol of tenon, version 1, as docs/process-protocol.md describes it.
'use strict';

const path = require('node:path');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');
const { selfSigned } = require('./certificate');

const maxMessage = 16 << 20;
const namespace = 'io.github.tenonhq';

// json encodes a bytes field.
const json = (value) => Buffer.from(JSON.stringify(value));

// serve runs a plugin until the host ends it.
//
// plugin.manifest is the plugin.json. plugin.hooks holds async functions by the names of hooks: (request, context) => answer.
// plugin.tools holds async functions by the ids of tools: (call, context) => result. The context has project and options,
// host(operation, request), log(level, message, attributes) and, for tools, progress(title, metadata); signal is an AbortSignal.
function serve(plugin) {
  if (process.env.TENON_PLUGIN !== 'tenon.v1.Plugin') {
    console.error(`${plugin.manifest.name} is a plugin of tenon; tenon starts it.`);
    process.exit(1);
  }
  // The host never writes to the standard input; its end says that the host is gone.
  process.stdin.resume().on('end', () => process.exit(0));

  const link = new Link();
  let start = { hooks: [], tools: [] };
  const context = (token, more) => ({
    project: start.project,
    options: start.options,
    host: (operation, request) => link.ask(token, operation, request),
    log: (level, message, attributes) => link.log(level, message, attributes),
    ...more,
  });

  const methods = {
    describe(call, callback) {
      const { name, version, description } = plugin.manifest;
      callback(null, { description: json({ name, version, description, ...plugin.manifest.extensions[namespace] }) });
    },

    host(stream) {
      link.open(stream);
    },

    start(call, callback) {
      start = JSON.parse(call.request.request);
      const missing = [...start.hooks.map((h) => h.name).filter((n) => !plugin.hooks?.[n]), ...start.tools.filter((id) => !plugin.tools?.[id])];
      if (missing.length > 0) return callback({ code: grpc.status.NOT_FOUND, message: `the plugin has no ${missing.join(', ')}` });
      return callback(null, {});
    },

    hooks(stream) {
      const running = new Map(); // by the id of the call
      stream.on('data', async ({ id, hook, request, token, timeout_ms, cancel }) => {
        if (cancel) return running.get(id)?.abort();
        const abort = new AbortController();
        running.set(id, abort);
        const timer = timeout_ms > 0 ? setTimeout(() => abort.abort(), timeout_ms) : undefined;
        try {
          const run = plugin.hooks[start.hooks[hook].name];
          const answer = await run(JSON.parse(request), context(token, { signal: abort.signal }));
          stream.write({ id, answer: answer === undefined ? Buffer.alloc(0) : json(answer) });
        } catch (error) {
          stream.write({ id, error: String(error?.message ?? error) || 'failed' });
        } finally {
          clearTimeout(timer);
          running.delete(id);
        }
      });
      stream.on('end', () => stream.end());
    },

    async tool(stream) {
      const { tool, call, token } = stream.request;
      const abort = new AbortController();
      stream.on('cancelled', () => abort.abort());
      const progress = (title, metadata) => stream.write({ progress: { title, metadata: metadata === undefined ? Buffer.alloc(0) : json(metadata) } });
      try {
        const result = await plugin.tools[start.tools[tool]](JSON.parse(call), context(token, { progress, signal: abort.signal }));
        stream.write({ result: json(result) });
      } catch (error) {
        stream.write({ failure: { message: String(error?.message ?? error) } });
      }
      stream.end();
    },

    stop(call, callback) {
      callback(null, {});
      setImmediate(() => process.exit(0));
    },
  };

  const file = loader.loadSync(path.join(__dirname, 'plugin.proto'), { keepCase: true, longs: Number, enums: Number, defaults: true, oneofs: true });
  const server = new grpc.Server({ 'grpc.max_receive_message_length': maxMessage, 'grpc.max_send_message_length': maxMessage });
  server.addService(grpc.loadPackageDefinition(file).tenon.v1.Plugin.service, methods);
  listen(server);
}

// listen opens the socket with a certificate of this process, and says so to the host.
function listen(server) {
  const own = selfSigned();
  const credentials = grpc.ServerCredentials.createSsl(
    Buffer.from(process.env.PLUGIN_CLIENT_CERT), // the one client that may connect
    [{ private_key: Buffer.from(own.key), cert_chain: Buffer.from(own.pem) }],
    true,
  );
  const socket = process.platform === 'win32' ? undefined : path.join(process.env.PLUGIN_UNIX_SOCKET_DIR, 'plugin.sock');
  server.bindAsync(socket ? `unix:${socket}` : '127.0.0.1:0', credentials, (error, port) => {
    if (error) {
      console.error(`listen: ${error.message}`);
      process.exit(1);
    }
    const address = socket ? `unix|${socket}` : `tcp|127.0.0.1:${port}`;
    console.log(`1|1|${address}|grpc|${own.der.toString('base64').replace(/=+$/, '')}`);
  });
}

// Link is the plugin's way to the host.
class Link {
  #stream;
  #last = 0;
  #waiting = new Map(); // functions that take an answer, by the id of the request

  open(stream) {
    this.#stream = stream;
    stream.on('data', (answer) => {
      this.#waiting.get(answer.id)?.(answer);
      if (!answer.more) this.#waiting.delete(answer.id);
    });
    stream.on('end', () => process.exit(0)); // the host is done
  }

  // ask uses an ability of the host on behalf of the call with the token.
  ask(token, name, request = {}) {
    return new Promise((resolve, reject) => {
      const id = ++this.#last;
      this.#waiting.set(id, ({ status, body }) => {
        if (status === 0) return resolve(JSON.parse(body));
        const error = new Error(`${name}: ${body}`);
        error.status = status;
        return reject(error);
      });
      this.#stream.write({ id, token, operation: { name, request: json(request) } });
    });
  }

  log(level, message, attributes = {}) {
    this.#stream?.write({ log: { level, message, attributes: json(attributes) } });
  }
}

module.exports = { serve };
