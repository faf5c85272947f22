//! The formula for Homebrew, with the checksums of the existing archives.

use anyhow::Result;

use super::{Packing, VERSION, archive::sum, write};
use crate::tools;

/// The targets of the formula, with the placeholders of their checksums.
const TARGETS: [(&str, &str); 4] = [
    ("aarch64-apple-darwin", "@SHA256_DARWIN_ARM64@"),
    ("x86_64-apple-darwin", "@SHA256_DARWIN_X64@"),
    ("aarch64-unknown-linux-gnu", "@SHA256_LINUX_ARM64@"),
    ("x86_64-unknown-linux-gnu", "@SHA256_LINUX_X64@"),
];

/// Fills in the template; a target without an archive keeps its placeholder, so that the formula is visibly incomplete.
pub(super) fn make(packing: &Packing) -> Result<()> {
    let template = tools::root().join("packaging/homebrew/interlock.rb");
    let mut formula = tools::read(&template)?.replace("@VERSION@", VERSION);
    let folder = packing.to.join("archive");
    for (target, word) in TARGETS {
        let archive = folder.join(format!("interlock-{VERSION}-{target}.tar.gz"));
        if archive.is_file() {
            formula = formula.replace(word, &sum(&archive)?);
        } else {
            println!("no archive for {target}: `{word}` stays in the formula");
        }
    }
    let formula_file = packing.to.join("interlock.rb");
    write(&formula_file, &formula)?;
    println!("{}", formula_file.display());
    Ok(())
}
