//! Embeds the built page: every file in the folder of `dist/manifest.json`.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let dist = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files = Vec::new();
    find(&dist, &dist, &mut files)?;
    files.sort();
    let mut table = "[\n".to_owned();
    for (name, path) in files {
        let path = path.display().to_string();
        table.push_str(&format!("    ({name:?}, include_bytes!({path:?})),\n"));
    }
    table.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("files.rs"), table)
}

/// Lists the files below `directory`, with paths relative to `root`.
fn find(root: &Path, directory: &Path, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            find(root, &path, files)?;
        } else if let Ok(name) = path.strip_prefix(root) {
            files.push((name.to_string_lossy().replace('\\', "/"), path));
        }
    }
    Ok(())
}
