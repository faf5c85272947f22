import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

import { budget } from './budget.js';
import { exported } from './exported.js';
import { manifest } from './manifest.js';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [svelte(), budget(), exported(), manifest()],
  build: {
    // Elsewhere where somebody compares it with what is there.
    outDir: process.env.CONSOLE_DIST ?? '../dist',
    emptyOutDir: true,
    target: 'es2022',
    sourcemap: false,
    modulePreload: false,
    // `img-src 'self'`: nothing becomes a data: address.
    assetsInlineLimit: 0,
    reportCompressedSize: true,
  },
});
