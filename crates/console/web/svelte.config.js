const config = {
  compilerOptions: {
    runes: true,
    // The page is served with `require-trusted-types-for 'script'`: markup is built node by node.
    fragments: 'tree',
  },
};

export const { compilerOptions } = config;
export default config;
