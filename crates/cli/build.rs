//! How the program is linked.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let of = |name: &str| std::env::var(name).unwrap_or_default();
    if of("CARGO_CFG_TARGET_OS") != "linux" || of("CARGO_CFG_TARGET_ENV") != "gnu" {
        return;
    }
    // A client starts it at every tool call. At an address of its own choosing 43,000 places in its
    // tables would be written anew each time, which takes longer than a call is judged.
    println!("cargo:rustc-link-arg-bins=-no-pie");
    // What unwinds the stack is linked in, where the compiler brings it: one library less to be
    // found, mapped and searched at each start.
    if of("HOST") == of("TARGET")
        && let Some(folder) = folder_of("libgcc_eh.a")
    {
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
    }
}

/// Asks the linker's driver where a library lies; `None`: it has none.
fn folder_of(library: &str) -> Option<PathBuf> {
    let asked = Command::new("cc")
        .arg(format!("-print-file-name={library}"))
        .output()
        .ok()?;
    let path = PathBuf::from(String::from_utf8(asked.stdout).ok()?.trim());
    // Where it has none, it repeats the bare name.
    path.is_absolute()
        .then(|| path.parent().map(Path::to_owned))?
}
