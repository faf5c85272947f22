import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

import { manifest } from './manifest.js';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [svelte(), manifest()],
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    target: 'es2022',
    sourcemap: false,
    modulePreload: false,
    // `img-src 'self'`: nothing becomes a data: address.
    assetsInlineLimit: 0,
    reportCompressedSize: true,
  },
});
