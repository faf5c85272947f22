import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

import { teamBudget } from './budget.js';
import { manifest } from './manifest.js';
import { compilerOptions } from './svelte.config.js';

/** The console of a team: one script and one style sheet, which `interlock-shared` embeds. */
export default defineConfig({
  root: `${import.meta.dirname}/team`,
  publicDir: '../public',
  plugins: [svelte({ configFile: false, compilerOptions }), teamBudget(), manifest()],
  build: {
    // Elsewhere where somebody compares it with what is there.
    outDir: process.env.TEAM_DIST ?? '../../../shared/dist',
    emptyOutDir: true,
    target: 'es2022',
    sourcemap: false,
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: true,
    rolldownOptions: {
      output: {
        codeSplitting: false,
        entryFileNames: 'team.js',
        assetFileNames: 'team.[ext]',
      },
    },
  },
});
