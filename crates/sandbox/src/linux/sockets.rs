//! Unix sockets that a command may not access although it may access some: all that are not named.
//!
//! A filter of system calls sees no path, so mounts cover what is not named.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Maximum number of sockets that are covered; more are not examined one by one.
const COVERED_MAX: usize = 512;

/// Sockets of terminals, sessions and containers, which are never accessible, even if named.
const NEVER: &[&str] = &[
    "/run/user",
    "/run/dbus",
    "/run/screen",
    "/run/screens",
    "/run/uscreens",
    "/run/tmux",
    "/run/docker",
    "/run/docker.sock",
    "/run/containerd",
    "/run/podman",
    "/run/crio",
    "/run/k3s",
    "/run/libvirt",
    "/run/lxd.socket",
    "/run/incus",
    "/run/snapd.socket",
    "/run/snapd-snap.socket",
    "/run/systemd/private",
    "/run/systemd/notify",
    "/run/at-spi",
    "/tmp/.X11-unix",
    "/tmp/.ICE-unix",
    "/var/lib/lxd/unix.socket",
    "/var/lib/incus/unix.socket",
    "/var/snap/lxd/common/lxd/unix.socket",
];

/// Paths below home that are never accessible, even if named.
const NEVER_BELOW_HOME: &[&str] = &[
    ".screen",
    ".docker/run",
    ".docker/desktop",
    ".colima",
    ".lima",
    ".orbstack/run",
    ".rd",
    ".ssh/agent",
    ".gnupg/S.gpg-agent",
    ".gnupg/S.gpg-agent.ssh",
    ".gnupg/S.gpg-agent.extra",
    ".local/share/wezterm",
    ".local/share/kitty-ssh-kitten",
];

/// Prefixes of directories that such programs create below `/tmp` and `TMPDIR`.
const DIRECTORIES: &[&str] = &["tmux-", "zellij-", "ssh-", "dbus-", "screens", "uscreens"];

/// Prefixes of sockets that such programs create.
const SOCKETS: &[&str] = &[
    "dbus-", "kitty", "mykitty", "wezterm", "docker", "gpg-", "ssh-",
];

/// Lists what is covered if a command may access the sockets in `named`; empty if it may access none.
pub(super) fn covered(named: &[PathBuf]) -> Vec<PathBuf> {
    if named.is_empty() {
        return Vec::new();
    }
    let named: Vec<PathBuf> = named
        .iter()
        .filter_map(|path| path.canonicalize().ok())
        .collect();
    let mut covered: Vec<PathBuf> = never();
    for path in listening() {
        let is_named = named.iter().any(|known| path.starts_with(known));
        if !is_named && !covered.iter().any(|known| path.starts_with(known)) {
            covered.push(path);
        }
    }
    covered.truncate(COVERED_MAX);
    covered
}

/// Lists the existing sockets of terminals, sessions and containers.
fn never() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let below_home = home
        .iter()
        .flat_map(|home| NEVER_BELOW_HOME.iter().map(|name| home.join(name)));
    let mut found: Vec<PathBuf> = NEVER.iter().map(PathBuf::from).chain(below_home).collect();
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let temporary = [
        Some(PathBuf::from("/tmp")),
        variable("TMPDIR"),
        variable("TMUX_TMPDIR"),
    ];
    for directory in temporary.into_iter().flatten() {
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        found.extend(
            entries
                .map(|entry| entry.path())
                .filter(|path| is_never(path)),
        );
    }
    let mut real: Vec<PathBuf> = found
        .iter()
        .filter_map(|path| path.canonicalize().ok())
        .collect();
    real.sort();
    // A covered directory covers its contents.
    real.dedup_by(|one, before| one.starts_with(&*before));
    real
}

fn is_never(path: &Path) -> bool {
    let Ok(about) = path.symlink_metadata() else {
        return false;
    };
    let known = if about.is_dir() {
        DIRECTORIES
    } else if about.file_type().is_socket() {
        SOCKETS
    } else {
        return false;
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    known.iter().any(|known| name.starts_with(known))
}

/// Lists the sockets that processes have bound to a path, as far as the system shows them.
fn listening() -> Vec<PathBuf> {
    let shown = fs::read("/proc/net/unix").unwrap_or_default();
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let below_root = shown.lines().filter_map(|line| line.split_once(" /"));
    below_root
        .map(|(_, path)| PathBuf::from(format!("/{path}")))
        .filter(|path| {
            path.symlink_metadata()
                .is_ok_and(|about| about.file_type().is_socket())
        })
        .filter_map(|path| path.canonicalize().ok())
        .collect()
}
