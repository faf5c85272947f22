import { gzipSync } from 'node:zlib';

const KB = 1024;

/** The most that is loaded, compressed, for the first page, and beside it where a workflow is opened. */
const FIRST_MAX = 60 * KB;
const EDITOR_MAX = 160 * KB;
/** The most that the console of a team has, compressed: everything is loaded at once. */
const TEAM_MAX = 45 * KB;
const EDITOR = ['src/pages/Workflow.svelte', 'src/lib/editor.ts'];

/** Returns the names of all files that a chunk needs at once. */
function needs(bundle, name, found = new Set()) {
  const chunk = bundle[name];
  if (!chunk || found.has(name)) return found;
  found.add(name);
  for (const other of chunk.imports ?? []) needs(bundle, other, found);
  for (const style of chunk.viteMetadata?.importedCss ?? []) found.add(style);
  return found;
}

const sizeOf = ({ code, source }) => gzipSync(code ?? source).length;

/** Vite plugin: a console of a team that is too large fails. */
export function teamBudget() {
  return {
    name: 'interlock-team-budget',
    apply: 'build',
    generateBundle(_, bundle) {
      const size = Object.values(bundle).reduce((sum, file) => sum + sizeOf(file), 0);
      if (size > TEAM_MAX) this.error(`the console of a team has ${size} bytes compressed, at most ${TEAM_MAX} are allowed`);
      this.info(`console of a team: ${size} of ${TEAM_MAX} bytes compressed`);
    },
  };
}

/** Vite plugin: a build that is too large fails. */
export function budget() {
  return {
    name: 'interlock-budget',
    apply: 'build',
    generateBundle(_, bundle) {
      const chunks = Object.values(bundle).filter(({ type }) => type === 'chunk');
      const bytes = (names) => [...names].reduce((sum, name) => sum + sizeOf(bundle[name]), 0);
      const first = new Set(chunks.filter(({ isEntry }) => isEntry).flatMap(({ fileName }) => [...needs(bundle, fileName)]));
      const parts = EDITOR.map((source) => chunks.find(({ facadeModuleId }) => facadeModuleId?.endsWith(source)));
      if (first.size === 0 || parts.includes(undefined)) this.error('the first page or the editor is not found in the build');
      const editor = new Set(parts.flatMap(({ fileName }) => [...needs(bundle, fileName)]).filter((name) => !first.has(name)));
      for (const [what, names, max] of [['first page', first, FIRST_MAX], ['editor', editor, EDITOR_MAX]]) {
        const size = bytes(names);
        if (size > max) this.error(`the ${what} has ${size} bytes compressed, at most ${max} are allowed`);
        this.info(`${what}: ${size} of ${max} bytes compressed`);
      }
    },
  };
}
