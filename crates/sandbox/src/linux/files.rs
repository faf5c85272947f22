//! The rules for files and TCP, for Landlock.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, NetPort, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, Scope,
};

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat2};

use super::raw;
use crate::plan::{Calls, Confinement, Network};

/// Maximum number of entries next to hidden directories that get one rule each.
const SIBLINGS_MAX: usize = 2_000;

/// Device files that every command may use.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"];

/// Devices of programs that create terminals.
const TERMINAL_MAKERS: &[&str] = &["/dev/ptmx", "/dev/pts"];

/// The rules of one command, ready to be applied.
#[derive(Debug)]
pub(super) struct Rules {
    /// Ruleset of the kernel.
    pub(super) ruleset: Option<OwnedFd>,
    /// Whether the hidden directories cannot be read.
    pub(super) hides: bool,
}

/// Creates the rules of `confinement` for a kernel with `version`.
///
/// `writable` are the existing places, `masked` the hidden directories that mounts cover.
pub(super) fn rules(
    confinement: &Confinement,
    version: u8,
    writable: &[PathBuf],
    hidden: &[PathBuf],
) -> Result<Rules, String> {
    let abi = ABI::from(i32::from(version));
    let beside = if hidden.is_empty() {
        Some(Vec::new())
    } else {
        beside(hidden)
    };
    let hides = beside.is_some();
    let handled = Handled::new(abi, !hidden.is_empty() && hides);
    let say = |error: &dyn std::fmt::Display| format!("cannot make the rules of files: {error}");
    let mut rules = handled.create(confinement).map_err(|error| say(&error))?;
    for path in writable {
        rules = handled
            .add(rules, path, handled.place())
            .map_err(|e| say(&e))?;
    }
    let mut devices = DEVICES.to_vec();
    if confinement.calls == Calls::Working {
        devices.extend(TERMINAL_MAKERS);
    }
    for path in devices {
        rules = handled
            .add(rules, Path::new(path), handled.device())
            .map_err(|e| say(&e))?;
    }
    for stream in [
        io::stdin().as_fd(),
        io::stdout().as_fd(),
        io::stderr().as_fd(),
    ] {
        rules = handled.add_stream(rules, stream).map_err(|e| say(&e))?;
    }
    if closes(confinement) && handled.knows_ports() {
        rules = open_ports(rules, confinement).map_err(|e| say(&e))?;
    }
    let ruleset: Option<OwnedFd> = rules.into();
    if let Some(ruleset) = &ruleset {
        for beside in beside.iter().flatten() {
            beside.let_read(ruleset.as_fd()).map_err(|e| say(&e))?;
        }
    }
    Ok(Rules { ruleset, hides })
}

/// Returns whether single ports are closed where all others are open.
fn closes(confinement: &Confinement) -> bool {
    confinement.network != Network::Off && !confinement.closed_ports.is_empty()
}

/// Opens every port except the closed ones: kernel rules can only allow.
fn open_ports(
    rules: RulesetCreated,
    confinement: &Confinement,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let closed = &confinement.closed_ports;
    let open = (0..=u16::MAX).filter(|port| !closed.contains(port));
    rules.add_rules(
        open.map(|port| Ok::<_, landlock::RulesetError>(NetPort::new(port, AccessNet::ConnectTcp))),
    )
}

/// The rights that the rules restrict.
struct Handled {
    abi: ABI,
    rights: BitFlags<AccessFs>,
}

impl Handled {
    fn new(abi: ABI, reading: bool) -> Self {
        let mut rights = AccessFs::from_write(abi);
        if reading {
            rights |= AccessFs::ReadFile;
        }
        Self { abi, rights }
    }

    fn create(&self, confinement: &Confinement) -> Result<RulesetCreated, landlock::RulesetError> {
        let mut ruleset = Ruleset::default().handle_access(self.rights)?;
        let all = AccessNet::from_all(self.abi);
        let tcp = match confinement.network {
            Network::Off => all,
            Network::Fetch if closes(confinement) => all,
            Network::Fetch => all & AccessNet::BindTcp,
            Network::On if closes(confinement) => all & AccessNet::ConnectTcp,
            Network::On => BitFlags::empty(),
        };
        if !tcp.is_empty() {
            ruleset = ruleset.handle_access(tcp)?;
        }
        let scope = Scope::from_all(self.abi);
        if !scope.is_empty() {
            ruleset = ruleset.scope(scope)?;
        }
        ruleset.create()
    }

    /// Returns whether the kernel has rules for ports.
    fn knows_ports(&self) -> bool {
        AccessNet::from_all(self.abi).contains(AccessNet::ConnectTcp)
    }

    /// Returns everything except devices, which nobody creates in a place for files.
    fn place(&self) -> BitFlags<AccessFs> {
        self.rights & !(AccessFs::MakeChar | AccessFs::MakeBlock)
    }

    fn device(&self) -> BitFlags<AccessFs> {
        self.rights
            & (AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev)
    }

    /// Adds a rule for what is at `path`; a missing path needs no rule.
    fn add(
        &self,
        rules: RulesetCreated,
        path: &Path,
        rights: BitFlags<AccessFs>,
    ) -> Result<RulesetCreated, landlock::RulesetError> {
        let Ok(kind) = fs::symlink_metadata(path).map(|about| about.file_type()) else {
            return Ok(rules);
        };
        let rights = if kind.is_dir() {
            rights & self.rights
        } else if kind.is_symlink() || kind.is_socket() {
            return Ok(rules);
        } else {
            rights & self.rights & AccessFs::from_file(self.abi)
        };
        if rights.is_empty() {
            return Ok(rules);
        }
        match open_in_place(AT_FDCWD, path, OFlag::O_PATH) {
            Ok(opened) => rules.add_rule(PathBeneath::new(opened, rights)),
            Err(_) => Ok(rules),
        }
    }

    /// Lets a file or terminal that was passed for writing be reopened by its path.
    fn add_stream(
        &self,
        rules: RulesetCreated,
        stream: BorrowedFd<'_>,
    ) -> Result<RulesetCreated, landlock::RulesetError> {
        if !writes(stream) {
            return Ok(rules);
        }
        let rights = if stream.is_terminal() {
            self.device()
        } else {
            self.rights & (AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate)
        };
        rules.add_rule(PathBeneath::new(stream, rights))
    }
}

/// Opens what is at `path`, which has no links: a link created meanwhile is not followed.
fn open_in_place<P: nix::NixPath + ?Sized>(
    directory: BorrowedFd<'_>,
    path: &P,
    flags: OFlag,
) -> Result<OwnedFd, Errno> {
    let how = OpenHow::new()
        .flags(flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    openat2(directory, path, how)
}

/// Returns whether `stream` is a file or terminal opened for writing.
fn writes(stream: BorrowedFd<'_>) -> bool {
    let Ok(flags) = nix::fcntl::fcntl(stream, nix::fcntl::FcntlArg::F_GETFL) else {
        return false;
    };
    let Ok(about) = nix::sys::stat::fstat(stream) else {
        return false;
    };
    let kind = about.st_mode & libc::S_IFMT;
    flags & libc::O_ACCMODE != libc::O_RDONLY
        && (kind == libc::S_IFREG && about.st_nlink > 0 || stream.is_terminal())
}

/// An ancestor of hidden directories, with the entries that are not hidden and lead to nothing hidden.
struct Beside {
    directory: Dir,
    names: Vec<CString>,
}

impl Beside {
    /// Reads the directory at `path`; returns `None` if it cannot be read.
    fn look(path: &Path, on_the_way: &BTreeSet<&OsStr>) -> Option<Self> {
        let opened = open_in_place(AT_FDCWD, path, OFlag::O_RDONLY | OFlag::O_DIRECTORY).ok()?;
        let mut directory = Dir::from_fd(opened).ok()?;
        let mut names = Vec::new();
        for entry in directory.iter() {
            let entry = entry.ok()?;
            let name = entry.file_name();
            let is_itself = matches!(name.to_bytes(), b"." | b"..");
            // Nothing is read through these: their targets count.
            let leads_on = matches!(entry.file_type(), Some(Type::Symlink | Type::Socket));
            if !is_itself && !leads_on && !on_the_way.contains(OsStr::from_bytes(name.to_bytes())) {
                names.push(name.to_owned());
            }
        }
        Some(Self { directory, names })
    }

    /// Allows reading all of it; entries that are gone meanwhile need no rule.
    fn let_read(&self, ruleset: BorrowedFd<'_>) -> Result<(), Errno> {
        let open = |name: &CStr| open_in_place(self.directory.as_fd(), name, OFlag::O_PATH);
        for opened in self.names.iter().flat_map(|name| open(name)) {
            raw::allow_beneath(ruleset, opened.as_fd(), AccessFs::ReadFile as u64)?;
        }
        Ok(())
    }
}

/// Finds everything that may be read except `hidden`: the entries next to it.
///
/// Landlock has no rule that removes a right, so everything else gets it. Returns `None` if that is too much.
fn beside(hidden: &[PathBuf]) -> Option<Vec<Beside>> {
    let mut found = Vec::new();
    let mut left = SIBLINGS_MAX;
    let mut open = vec![PathBuf::from("/")];
    while let Some(path) = open.pop() {
        let on_the_way: BTreeSet<&OsStr> = hidden
            .iter()
            .filter_map(|one| one.strip_prefix(&path).ok()?.iter().next())
            .collect();
        let beside = Beside::look(&path, &on_the_way)?;
        left = left.checked_sub(beside.names.len())?;
        found.push(beside);
        let above = on_the_way.iter().map(|name| path.join(name));
        open.extend(above.filter(|path| !hidden.contains(path)));
    }
    Some(found)
}
