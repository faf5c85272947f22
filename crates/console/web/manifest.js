import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const MANIFEST = 'manifest.json';

/** Returns the paths of all files below `folder`, with `/` between the parts. */
function filesBelow(folder, prefix = '') {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = prefix + entry.name;
    return entry.isDirectory() ? filesBelow(join(folder, entry.name), `${path}/`) : [path];
  });
}

/** Vite plugin: writes the size and the hash of every built file to `manifest.json`. */
export function manifest() {
  let folder = '';
  return {
    name: 'interlock-manifest',
    apply: 'build',
    configResolved(config) {
      folder = resolve(config.root, config.build.outDir);
    },
    closeBundle: {
      sequential: true,
      order: 'post',
      handler() {
      const files = {};
      for (const path of filesBelow(folder).sort()) {
        if (path === MANIFEST) continue;
        const content = readFileSync(join(folder, path));
        const sha256 = createHash('sha256').update(content).digest('hex');
        files[path] = { bytes: content.length, sha256 };
      }
      writeFileSync(join(folder, MANIFEST), `${JSON.stringify({ files }, null, 2)}\n`);
      },
    },
  };
}
