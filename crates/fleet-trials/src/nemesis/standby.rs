//! A standby of the database that is late, and a server of it.

use std::{
    fs::File,
    io::Write as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use super::link::Link;
use crate::{
    cluster::{answers, start, until},
    processes::Process,
    site::{Served, Site},
};

/// How late it is.
const LATE: &str = "recovery_min_apply_delay=2s";

/// A standby with its server.
pub(super) struct Standby {
    server: Served,
    _link: Link,
    _process: Process,
}

impl Standby {
    /// Copies the database and starts both.
    pub(super) fn start(site: &Site) -> Self {
        let rules = site.place().join("data/pg_hba.conf");
        let mut rules = File::options().append(true).open(rules).unwrap();
        rules.write_all(b"local replication all trust\n").unwrap();
        site.sql("SELECT pg_reload_conf()");
        let place: PathBuf = site.place().join("standby");
        until("the database is copied", || copied(site, &place));
        let settings = [
            "-c",
            "hot_standby=on",
            "-c",
            LATE,
            "-c",
            "max_connections=250",
        ];
        let process = Process::new(start(&place, &settings));
        until("the standby answers", || answers(&place));
        // A server does not start with a standby, so it is led there later.
        let link = Link::before(site.place());
        let server = site.server(&site.words_at(link.port));
        link.redirect(&place);
        Self {
            server,
            _link: link,
            _process: process,
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.server.address
    }
}

fn copied(site: &Site, place: &Path) -> bool {
    let _ = std::fs::remove_dir_all(place);
    std::fs::create_dir_all(place).unwrap();
    let mut command = Command::new("pg_basebackup");
    command
        .args(["-U", "postgres", "-R", "-X", "stream", "-c", "fast", "-h"])
        .arg(site.place())
        .arg("-D")
        .arg(place.join("data"));
    let is_copied = command.output().is_ok_and(|output| output.status.success());
    if rustix::process::getuid().is_root() {
        let own = Command::new("chown")
            .args(["-R", "nobody"])
            .arg(place)
            .status();
        assert!(own.is_ok_and(|status| status.success()));
    }
    is_copied
}
