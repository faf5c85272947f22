//! The workflows that are shipped.

/// Their names: each is a file in `workflows`, with properties and cases beside it.
pub const SHIPPED: [&str; 7] = [
    "bugfix",
    "feature",
    "migration",
    "refactor",
    "release",
    "research",
    "review",
];
