// Written by interlock init; interlock init --remove takes it out.
const PROGRAM = "/opt/my tools/interlock";