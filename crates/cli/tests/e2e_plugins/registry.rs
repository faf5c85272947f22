//! A local npm registry, from which opencode fetches the package.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Stdio},
};

use interlock_testkit::room::{Room, expect_success};

/// A registry that runs until it is dropped.
pub(crate) struct Registry {
    child: Child,
    pub(crate) address: String,
}

impl Registry {
    /// Packs the package in `folder` and serves it.
    pub(crate) fn of(room: &Room, folder: &Path) -> Registry {
        let mut pack = room.command("npm");
        pack.args(["pack", "--silent", "--pack-destination"])
            .arg(room.path("tmp"))
            .arg(folder);
        let packed = pack.output().unwrap();
        expect_success("npm pack", &packed).unwrap();
        let name = String::from_utf8(packed.stdout).unwrap();
        let tarball = room.path("tmp").join(name.trim());
        let mut node = room.command("node");
        node.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e_plugins/registry.mjs"))
            .arg(tarball)
            .arg(folder.join("package.json"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = node.spawn().unwrap();
        let mut address = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut address).unwrap();
        Registry {
            child,
            address: address.trim().to_owned(),
        }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
