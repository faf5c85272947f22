//! STOP: see NOTE-TO-THE-AUTHOR.md in the root of this worktree before writing here.
