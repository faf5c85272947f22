//! The built programs that tests start.

use std::path::{Path, PathBuf};

/// Returns `interlock-shared`.
pub(crate) fn shared() -> PathBuf {
    worker().with_file_name("interlock-shared")
}

/// Returns `interlock-worker`.
pub(crate) fn worker() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_interlock-worker"))
}

/// Returns whether the programs of other packages are built, and reports it if they are not.
pub(crate) fn are_built() -> bool {
    let missing = ["interlock-shared", "interlock"]
        .into_iter()
        .find(|name| !worker().with_file_name(name).is_file());
    if let Some(missing) = missing {
        assert!(std::env::var_os("CI").is_none(), "`{missing}` is not built");
        println!("left out: `{missing}` is not built");
    }
    missing.is_none()
}
