// A tenon plugin in JavaScript: it tells the model the scripts of the project's package.json, and lists them when asked. tenon.mjs is the
// library of sdk/node; plugin.json follows from this file.
import { readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { plugin } from "./tenon.mjs";

/** Returns the scripts of the package.json in a directory, as lines. */
function scripts(directory) {
  const text = readFileSync(join(directory, "package.json"), "utf8");
  return Object.entries(JSON.parse(text).scripts ?? {}).map(([name, command]) => `${name}: ${command}`);
}

plugin({
  name: "process-node",
  version: "1.0.0",
  description: "Tells the model the scripts of package.json, and counts how often it asked for them",
  capabilities: [
    { name: "fs.read", scope: ["$PROJECT"], reason: "reads package.json" },
    { name: "kv", reason: "remembers how often it was asked" },
  ],

  hooks: {
    "chat.system.transform": {
      writes: ["/system/-"], // it appends, and neither reads nor changes what is there
      run(input, value, { project }) {
        if (input.purpose !== "turn") return;
        try {
          value.system.push(`Scripts of package.json, to run with npm run:\n${scripts(project.Worktree).join("\n")}`);
        } catch {
          // without a package.json, there is nothing to say
        }
      },
    },
  },

  tools: {
    npm_scripts: {
      description: "Lists the scripts of a package.json of the project.",
      parameters: {
        type: "object",
        properties: { directory: { type: "string", description: "where the package.json is, relative to the project; default its root" } },
        additionalProperties: false,
      },
      async run(args, call) {
        const { worktree } = call.tool;
        const directory = resolve(worktree, args.directory ?? ".");
        if (relative(worktree, directory).startsWith("..")) throw new Error("directory: is outside of the project");
        call.progress("reading package.json", { directory });
        const lines = scripts(directory);
        const asked = Number((await call.kv.get("asked")) ?? 0) + 1;
        await call.kv.set("asked", String(asked));
        return { title: "package.json", output: lines.join("\n"), metadata: { asked } };
      },
    },
  },
});
