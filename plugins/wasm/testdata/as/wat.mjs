// Compiles WebAssembly's text format: node wat.mjs < module.wat > module.wasm
import { readFileSync, writeFileSync } from "node:fs";
import wabt from "wabt";

const compiler = await wabt();
const module = compiler.parseWat("module.wat", readFileSync(0, "utf8"));
writeFileSync(1, module.toBinary({}).buffer);
