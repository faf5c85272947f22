//! Limits beyond any workflow file, checked before parsing.

use super::{Scalars, SyntaxError};
use crate::source::BYTE_ORDER_MARK;

/// Maximum size of a file in bytes.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// Maximum nesting of lists and objects.
pub(super) const DEPTH_MAX: usize = 64;
/// Maximum number of values in a file, counting repeated aliases each time.
pub(super) const VALUES_MAX: usize = 500_000;
/// The same, in a file whose scalars are kept as written.
const WRITTEN_VALUES_MAX: usize = 100_000;
/// Maximum size of such a file in bytes.
const WRITTEN_BYTES_MAX: usize = 1024 * 1024;

impl Scalars {
    /// Returns the maximum number of values in a file.
    pub(super) const fn values_max(self) -> usize {
        match self {
            Self::Typed => VALUES_MAX,
            Self::AsWritten => WRITTEN_VALUES_MAX,
        }
    }

    const fn bytes_max(self) -> usize {
        match self {
            Self::Typed => BYTES_MAX,
            Self::AsWritten => WRITTEN_BYTES_MAX,
        }
    }
}

/// Refuses a text that is too long or contains forbidden characters.
pub(super) fn check(text: &str, scalars: Scalars) -> Result<(), SyntaxError> {
    let max = scalars.bytes_max();
    if text.len() > max {
        let message = format!("the file has {} bytes and {max} is the limit", text.len());
        return Err(SyntaxError::new(0..0, message).code("too_large"));
    }
    match text
        .char_indices()
        .find(|(_, c)| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}'))
    {
        Some((at, c)) => {
            let message = format!(
                "a control character (U+{:04X}) has no place in a workflow",
                u32::from(c)
            );
            Err(SyntaxError::new(at..at + c.len_utf8(), message)
                .help("remove it, or write it as an escape in quotes"))
        }
        None => Ok(()),
    }
}

/// Returns the length of a byte-order mark at the start.
pub(super) fn mark_len(text: &str) -> usize {
    if text.starts_with(BYTE_ORDER_MARK) {
        BYTE_ORDER_MARK.len_utf8()
    } else {
        0
    }
}

/// Returns the error for excessive nesting.
pub(super) fn too_deep(at: usize) -> SyntaxError {
    SyntaxError::new(
        at..at + 1,
        format!("lists and objects are nested more than {DEPTH_MAX} deep"),
    )
    .code("too_deep")
}

/// Returns the error for too many values.
pub(super) fn too_many(at: usize, max: usize) -> SyntaxError {
    let message = format!("the file contains more than {max} values, with aliases expanded");
    SyntaxError::new(at..at + 1, message).code("too_large")
}
