//! The archive: the program, completions, the manual, README and licence; beside it, `SHA256SUMS`.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, Result};

use super::{Packing, VERSION, copy_own, copy_program, emptied, epoch, ran, write, write_pages};
use crate::tools;

/// Writes the archive for one target, and the checksums of all archives.
pub(super) fn make(packing: &Packing) -> Result<()> {
    let name = format!("interlock-{VERSION}-{}", packing.target);
    let folder = packing.to.join("archive");
    fs::create_dir_all(&folder)?;
    let content = emptied(&folder.join(&name))?;
    copy_program(&packing.binary, &content.join("interlock"))?;
    write_pages(&packing.binary, &content)?;
    copy_own(&["LICENSE", "README.md", "CHANGELOG.md"], &content)?;
    pack(&folder, &name)
}

/// Packs the folder `name` in `folder` as an archive, removes it, and writes the checksums of all archives.
pub(super) fn pack(folder: &Path, name: &str) -> Result<()> {
    let archive = folder.join(format!("{name}.tar.gz"));
    // Sorted, with a fixed owner and time, so that the archive is reproducible.
    let mut tar = Command::new("tar");
    tar.current_dir(folder)
        .env("GZIP", "-n")
        .args(["--create", "--gzip", "--sort=name", "--format=gnu"])
        .args(["--owner=0", "--group=0", "--numeric-owner"])
        .arg(format!("--mtime=@{}", epoch()))
        .arg("--file")
        .arg(&archive)
        .arg(name);
    ran(&mut tar)?;
    fs::remove_dir_all(folder.join(name))?;
    println!("{}", archive.display());
    write_sums(folder)
}

/// Writes `SHA256SUMS` for every archive and package in a folder, for `sha256sum --check`.
pub(super) fn write_sums(folder: &Path) -> Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".tar.gz") || name.ends_with(".deb") {
            names.push(name);
        }
    }
    names.sort();
    let mut sums = String::new();
    for name in names {
        sums.push_str(&format!("{}  {name}\n", sum(&folder.join(&name))?));
    }
    write(&folder.join("SHA256SUMS"), &sums)
}

/// Returns the SHA-256 of a file.
pub(super) fn sum(path: &Path) -> Result<String> {
    // Without coreutils, Perl's program is used.
    let programs: [&[&str]; 2] = [&["sha256sum"], &["shasum", "-a", "256"]];
    let said = programs.iter().find_map(|words| {
        let (program, options) = words.split_first()?;
        tools::answer(Command::new(program).args(options).arg(path))
    });
    let said = said.context("neither `sha256sum` nor `shasum` is here")?;
    let sum = said.split_whitespace().next();
    Ok(sum.context("no checksum was printed")?.to_owned())
}
