// The suite imports fs.globSync, which Node.js 20 does not have; its client mode does not call it.
import { register } from "node:module";

const shim = "export * from 'node:fs'; export { default } from 'node:fs'; export function globSync() { throw new Error('fs.globSync needs Node.js 22') }";
const hooks = `export function resolve(specifier, context, next) {
  return specifier === "fs" && context.parentURL?.includes("conformance")
    ? { url: "data:text/javascript," + encodeURIComponent(${JSON.stringify(shim)}), shortCircuit: true } : next(specifier, context);
}`;
register("data:text/javascript," + encodeURIComponent(hooks));
