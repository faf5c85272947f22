// Written by interlock init; interlock init --remove takes it out.
const PROGRAM = "/opt/my tools/interlock";
    deny: `Interlock cannot be asked: install it, or remove its plugin with \`interlock init --remove\``,