//! The program of `interlock shared`: an archive, and where there is Debian a package, which needs `interlock` of the same
//! version.

use std::fs;

use anyhow::Result;

use super::{Packing, VERSION, archive, copy, copy_own, copy_program, deb::Package, emptied};
use crate::tools;

/// Name of the program; `interlock` looks for it in its own folder.
const PROGRAM: &str = "interlock-shared";

/// Writes the archive and the package for one target, and the checksums of all.
pub(super) fn make(packing: &Packing) -> Result<()> {
    let name = format!("{PROGRAM}-{VERSION}-{}", packing.target);
    let folder = packing.to.join("archive");
    fs::create_dir_all(&folder)?;
    let content = emptied(&folder.join(&name))?;
    copy_program(&packing.shared_binary, &content.join(PROGRAM))?;
    copy_own(&["LICENSE"], &content)?;
    archive::pack(&folder, &name)?;
    if !packing.target.contains("linux") {
        return Ok(());
    }
    let root = emptied(&folder.join("deb-shared"))?;
    copy_program(&packing.shared_binary, &root.join("usr/bin").join(PROGRAM))?;
    copy(
        &tools::root().join("LICENSE"),
        &root.join("usr/share/doc/interlock-shared/copyright"),
    )?;
    let package = Package {
        name: PROGRAM,
        needs: concat!(", interlock (= ", env!("CARGO_PKG_VERSION"), ")"),
        recommends: "postgresql",
        description: "log of a team of coding agents in PostgreSQL
 The program behind `interlock shared` and `interlock serve --shared`: one log
 of runs, approvals and evidence for the machines of a team.",
    };
    package.pack(packing, &root)
}
