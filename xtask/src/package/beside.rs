//! The programs that `interlock` starts from its own folder: for each an archive, and where there is Debian a package, which
//! needs `interlock` of the same version.

use std::{fs, path::Path};

use anyhow::Result;

use super::{Packing, VERSION, archive, copy, copy_own, copy_program, deb::Package, emptied};
use crate::tools;

/// A program that `interlock` starts.
pub(super) struct Beside {
    /// Name of the program; `interlock` looks for it in its own folder.
    pub(super) program: &'static str,
    /// Packages of Debian that most of its users need.
    recommends: &'static str,
    /// One line, and a paragraph, in the form of Debian.
    description: &'static str,
}

/// The program of `interlock shared`.
pub(super) const SHARED: Beside = Beside {
    program: "interlock-shared",
    recommends: "postgresql",
    description: "log of a team of coding agents in PostgreSQL
 The program behind `interlock shared` and `interlock serve --shared`: one log
 of runs, approvals and evidence for the machines of a team.",
};

/// The program of `interlock worker`.
pub(super) const WORKER: Beside = Beside {
    program: "interlock-worker",
    recommends: "git",
    description: "carries durable runs of coding agents on many machines
 The program behind `interlock worker`: it carries durable runs of a log in
 PostgreSQL, whenever a server of Restate says that they are due.",
};

/// Writes the archive and the package for one target, and the checksums of all.
pub(super) fn make(beside: &Beside, binary: &Path, packing: &Packing) -> Result<()> {
    let program = beside.program;
    let name = format!("{program}-{VERSION}-{}", packing.target);
    let folder = packing.to.join("archive");
    fs::create_dir_all(&folder)?;
    let content = emptied(&folder.join(&name))?;
    copy_program(binary, &content.join(program))?;
    copy_own(&["LICENSE"], &content)?;
    archive::pack(&folder, &name)?;
    if !packing.target.contains("linux") {
        return Ok(());
    }
    let root = emptied(&folder.join(format!("deb-{program}")))?;
    copy_program(binary, &root.join("usr/bin").join(program))?;
    copy(
        &tools::root().join("LICENSE"),
        &root.join("usr/share/doc").join(program).join("copyright"),
    )?;
    let package = Package {
        name: program,
        needs: concat!(", interlock (= ", env!("CARGO_PKG_VERSION"), ")"),
        recommends: beside.recommends,
        description: beside.description,
    };
    package.pack(packing, &root)
}
