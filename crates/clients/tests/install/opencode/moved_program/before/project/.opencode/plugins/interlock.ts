// Written by interlock init; interlock init --remove takes it out.
old
