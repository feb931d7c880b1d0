// The suite imports fs.globSync, which Node.js 20 does not have; its client mode does not call it.
import http from "node:http";
import { register } from "node:module";
import net from "node:net";

const shim = "export * from 'node:fs'; export { default } from 'node:fs'; export function globSync() { throw new Error('fs.globSync needs Node.js 22') }";
const hooks = `export function resolve(specifier, context, next) {
  return specifier === "fs" && context.parentURL?.includes("conformance")
    ? { url: "data:text/javascript," + encodeURIComponent(${JSON.stringify(shim)}), shortCircuit: true } : next(specifier, context);
}`;
register("data:text/javascript," + encodeURIComponent(hooks));

// When the suite's process gets no time for some seconds, its servers close idle connections before they look for new requests, which then fail with
// "connection reset by peer".
http.Server.prototype.listen = function (...args) {
  this.keepAliveTimeout = 0; // never
  return net.Server.prototype.listen.apply(this, args);
};
