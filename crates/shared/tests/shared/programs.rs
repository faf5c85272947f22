//! The built programs that tests start.

use std::path::PathBuf;

/// Returns `interlock-shared`.
pub(crate) fn shared() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_interlock-shared"))
}
