// A tenon plugin in JavaScript: it tells the model the scripts of the project's package.json, and lists them when asked.
// What it says of itself stands in plugin.json; tenon.js speaks the protocol.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { serve } = require('./tenon');

// scripts returns the scripts of the package.json in a directory, as lines.
function scripts(directory) {
  const text = fs.readFileSync(path.join(directory, 'package.json'), 'utf8');
  return Object.entries(JSON.parse(text).scripts ?? {}).map(([name, command]) => `${name}: ${command}`);
}

serve({
  manifest: JSON.parse(fs.readFileSync(path.join(__dirname, 'plugin.json'), 'utf8')),

  hooks: {
    // A hook gets what it reads and answers with its changes; nothing stands for none.
    'chat.system.transform': async ({ input, value }, { project }) => {
      if (input.purpose !== 'turn') return undefined;
      let lines;
      try {
        lines = scripts(project.Worktree);
      } catch {
        return undefined; // no package.json is no reason to say anything
      }
      const text = `Scripts of package.json, to run with npm run:\n${lines.join('\n')}`;
      return { changes: [{ pointer: '/system', value: [...(value.system ?? []), text] }] };
    },
  },

  tools: {
    npm_scripts: async (call, { progress, host }) => {
      const directory = path.resolve(call.worktree, call.args.directory ?? '.');
      if (path.relative(call.worktree, directory).startsWith('..')) throw new Error('directory: is outside of the project');
      progress('reading package.json', { directory });
      const lines = scripts(directory);
      const { found, value } = await host('kv.get', { key: 'asked' });
      const asked = (found ? Number(value) : 0) + 1;
      await host('kv.set', { key: 'asked', value: String(asked) });
      return { title: 'package.json', output: lines.join('\n'), metadata: { asked } };
    },
  },
});
