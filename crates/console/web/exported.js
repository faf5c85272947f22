import { svelte } from '@sveltejs/vite-plugin-svelte';
import { build } from 'vite';

/**
 * Vite plugin: builds the page of an exported run, one script and one style sheet beside the console's own files.
 *
 * A file that is opened from a disk loads nothing, so that both are put into it whole.
 */
export function exported() {
  let config;
  return {
    name: 'interlock-exported',
    apply: 'build',
    configResolved(resolved) {
      config = resolved;
    },
    closeBundle: {
      sequential: true,
      order: 'pre',
      async handler() {
        await build({
          configFile: false,
          root: config.root,
          publicDir: false,
          logLevel: 'warn',
          plugins: [svelte()],
          build: {
            outDir: config.build.outDir,
            emptyOutDir: false,
            target: config.build.target,
            modulePreload: false,
            assetsInlineLimit: 0,
            cssCodeSplit: false,
            rolldownOptions: {
              // Nothing is loaded later, so that nothing asks where this is.
              transform: { define: { 'import.meta': '{}' } },
              input: 'src/exported.ts',
              output: {
                format: 'iife',
                codeSplitting: false,
                entryFileNames: 'exported.js',
                assetFileNames: 'exported.[ext]',
              },
            },
          },
        });
      },
    },
  };
}
