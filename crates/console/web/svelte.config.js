export default {
  compilerOptions: {
    runes: true,
    // The page is served with `require-trusted-types-for 'script'`: markup is built node by node.
    fragments: 'tree',
  },
};
