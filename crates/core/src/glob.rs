//! Patterns of paths: `*` within a segment, `**` any depth, `?`, `[...]`, `{a,b}`.

use globset::{GlobBuilder, GlobMatcher};

/// Tells whether `path`, relative to the project root, matches `pattern`.
///
/// An invalid pattern matches nothing; loading a workflow refuses it.
#[must_use]
pub fn path_matches(pattern: &str, path: &str) -> bool {
    compile(pattern).is_ok_and(|matcher| matcher.is_match(path))
}

/// Compiles `pattern`, or says why it is invalid.
///
/// # Errors
/// The pattern is not valid.
pub fn compile(pattern: &str) -> Result<GlobMatcher, String> {
    GlobBuilder::new(pattern.strip_prefix("./").unwrap_or(pattern))
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| error.kind().to_string())
}
