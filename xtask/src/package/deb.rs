//! The package for Debian and its derivatives.

use std::{path::Path, process::Command};

use anyhow::{Context as _, Result, bail};

use super::{
    Packing, VERSION, archive::write_sums, copy, copy_program, emptied, epoch, ran, write,
    write_pages,
};
use crate::tools;

/// Install paths of the generated pages.
const PAGES: [(&str, &str); 3] = [
    (
        "completions/interlock.bash",
        "usr/share/bash-completion/completions/interlock",
    ),
    (
        "completions/_interlock",
        "usr/share/zsh/vendor-completions/_interlock",
    ),
    (
        "completions/interlock.fish",
        "usr/share/fish/vendor_completions.d/interlock.fish",
    ),
];

/// The version of glibc on the oldest system that releases are built on; the program does not start with older ones.
const LIBC_MIN: &str = "2.35";

/// Builds the package in the folder of the archives.
pub(super) fn make(packing: &Packing) -> Result<()> {
    let folder = packing.to.join("archive");
    let root = emptied(&folder.join("deb"))?;
    copy_program(&packing.binary, &root.join("usr/bin/interlock"))?;
    let pages = emptied(&folder.join("pages"))?;
    write_pages(&packing.binary, &pages)?;
    for (from, to) in PAGES {
        copy(&pages.join(from), &root.join(to))?;
    }
    let manual = root.join("usr/share/man/man1/interlock.1");
    copy(&pages.join("man/interlock.1"), &manual)?;
    ran(Command::new("gzip").args(["-9", "-n"]).arg(manual))?;
    copy(
        &tools::root().join("LICENSE"),
        &root.join("usr/share/doc/interlock/copyright"),
    )?;
    std::fs::remove_dir_all(pages)?;
    let package = Package {
        name: "interlock",
        needs: "",
        recommends: "git",
        description: "state machine between an AI coding agent and its tools
 A workflow file defines the phases of the work, what the agent may do in each
 phase, and which conditions must hold before it moves on. The state machine
 decides; the model can only ask.",
    };
    package.pack(packing, &root)
}

/// A package and what it says about itself.
pub(super) struct Package {
    pub(super) name: &'static str,
    /// Packages that it needs besides glibc, with a comma before each.
    pub(super) needs: &'static str,
    pub(super) recommends: &'static str,
    pub(super) description: &'static str,
}

impl Package {
    /// Packs the folder `root` as the package, removes it, and writes the checksums of all packages.
    pub(super) fn pack(&self, packing: &Packing, root: &Path) -> Result<()> {
        let machine = match packing.target.split('-').next() {
            Some("x86_64") => "amd64",
            Some("aarch64") => "arm64",
            _ => bail!("Debian has no name for `{}`", packing.target),
        };
        let size = ran(Command::new("du").args(["-sk"]).arg(root))?;
        let size = size.split_whitespace().next().context("no size is known")?;
        let Self {
            name,
            needs,
            recommends,
            description,
        } = self;
        write(
            &root.join("DEBIAN/control"),
            &format!(
                "Package: {name}
Version: {VERSION}
Architecture: {machine}
Maintainer: Interlock <interlock-cli@users.noreply.github.com>
Installed-Size: {size}
Depends: libc6 (>= {LIBC_MIN}){needs}
Recommends: {recommends}
Section: devel
Priority: optional
Homepage: https://github.com/interlock-cli/interlock
Description: {description}
"
            ),
        )?;
        let folder = packing.to.join("archive");
        let package = folder.join(format!("{name}_{VERSION}_{machine}.deb"));
        let mut build = Command::new("dpkg-deb");
        build
            .env("SOURCE_DATE_EPOCH", epoch())
            .args(["--root-owner-group", "--build"])
            .arg(root)
            .arg(&package);
        ran(&mut build)?;
        std::fs::remove_dir_all(root)?;
        println!("{}", package.display());
        write_sums(&folder)
    }
}
