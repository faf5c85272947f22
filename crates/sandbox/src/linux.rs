//! Linux: Landlock, a filter of system calls, mounts, and no privileges.
//!
//! Everything that allocates memory is done before the fork. The new process then performs these steps, in this order, and starts
//! the program: own mounts, no new privileges, no capabilities, Landlock, no other descriptors, the filter.

use std::ffi::CString;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::unistd::Pid;
use seccompiler::BpfProgram;

use crate::level::{Level, Reach, Unconfined};
use crate::links::Links;
use crate::outcome::{Exit, RunError, Watcher};
use crate::plan::{Calls, Column, Confinement, Free, LeftOver, Network, Plan, Protected};

pub mod behind;
mod calls;
mod end;
mod files;
mod mounts;
pub(crate) mod probe;
mod raw;
mod sockets;

use calls::Reachable;
use end::{LeftOvers, Watch};
use mounts::Mounts;
use probe::{Channel, FarEnd};

/// `CAP_CHOWN`, `CAP_DAC_OVERRIDE`, `CAP_FOWNER`, `CAP_FSETID`: owner and mode of files.
const KEPT_CAPABILITIES: u64 = 1 | 1 << 1 | 1 << 3 | 1 << 4;

/// `CAP_SYS_ADMIN`: may mount without a user namespace.
const MAY_MOUNT: u64 = 1 << 21;

/// Returns the kernel's features, trying namespaces only with `try_namespaces`.
pub(crate) fn reach(try_namespaces: bool) -> Reach {
    Reach {
        landlock: raw::landlock_version(),
        seccomp: raw::can_filter(),
        namespaces: try_namespaces && namespaces_work(),
    }
}

/// Tries in a separate process whether it may have its own mounts.
fn namespaces_work() -> bool {
    let probe = [Protected {
        path: PathBuf::from("/etc"),
        free: Free::Nothing,
    }];
    let probe: Vec<_> = probe.iter().collect();
    let mounts = Mounts::of(&probe, &[], &[], may_mount());
    let mut command = Command::new("/bin/true");
    raw::before_start(&mut command, move || {
        let answer = mounts.enter();
        // Only the answer is needed: no program starts.
        Err(answer.err().unwrap_or(Errno::EALREADY).into())
    });
    let answer = command.spawn().err().and_then(|error| error.raw_os_error());
    answer == Some(Errno::EALREADY as i32)
}

fn may_mount() -> bool {
    raw::capabilities().is_ok_and(|held| held & MAY_MOUNT != 0)
}

/// A command that has ended, and how it was confined.
#[derive(Debug)]
pub(crate) struct ConfinedExit {
    pub(crate) exit: Exit,
    pub(crate) level: Level,
    pub(crate) unconfined: Vec<Unconfined>,
    /// Whether a process that should have ended may still be running.
    pub(crate) left_over: bool,
    /// Number of leftover processes that were ended.
    pub(crate) ended: usize,
}

/// The mounts that a plan needs on this disk.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// Existing writable places, without links.
    pub(crate) writable: Vec<PathBuf>,
    /// Whether the command's own new directory is the only one: nothing protected is there.
    own_alone: bool,
    /// Existing hidden directories, without links.
    pub(crate) hidden: Vec<PathBuf>,
    /// Protected files that can be mounted read-only.
    pub(crate) sealed: Vec<Protected>,
    /// Sockets, and directories of sockets, to cover: those that are not allowed.
    covered: Vec<PathBuf>,
}

impl Places {
    fn hidden_inside(&self) -> Vec<PathBuf> {
        let inside = |one: &&PathBuf| self.writable.iter().any(|place| one.starts_with(place));
        self.hidden.iter().filter(inside).cloned().collect()
    }

    /// Returns whether the kernel alone keeps `one` from changing.
    pub(crate) fn hold(&self, one: &Protected, reach: Reach, links: &Links) -> bool {
        if reach.landlock < 3 {
            return false;
        }
        if self.own_alone {
            return true;
        }
        let inside = |path: &Path| self.writable.iter().any(|place| path.starts_with(place));
        match links.real(&one.path) {
            Some(real) => {
                let sealed = self.sealed.iter().any(|known| known.path == real);
                !inside(&real) && !inside(&one.path)
                    || reach.namespaces && sealed && real == one.path
            }
            // It does not exist yet: an ancestor may be protected.
            None => {
                let above = one.path.ancestors().find_map(|above| links.real(above));
                !inside(&one.path) && above.is_some_and(|above| !inside(&above))
            }
        }
    }

    /// Returns whether something inside a writable place must be protected.
    pub(crate) fn need_mounts(&self) -> bool {
        !self.sealed.is_empty() || !self.hidden_inside().is_empty() || !self.covered.is_empty()
    }
}

/// Determines the features with which the plan runs, or refuses it.
pub(crate) fn decide(plan: &Plan, places: &Places, most: Reach) -> Result<Reach, RunError> {
    let mut reach = reach(false).and(most);
    // This is tried by doing it; see `run`.
    reach.namespaces = most.namespaces;
    require(plan, reach.level(places.need_mounts()))?;
    Ok(reach)
}

fn require(plan: &Plan, reached: Level) -> Result<(), RunError> {
    if reached < plan.require && plan.confinement.is_some() {
        return Err(RunError::BelowRequired {
            reached,
            required: plan.require,
        });
    }
    Ok(())
}

/// Runs `command` according to `plan`, with the features of `reach`.
///
/// `without_mounts` is called before a second attempt, if mounts turn out to be refused.
pub(crate) fn run(
    plan: &Plan,
    places: &Places,
    mut reach: Reach,
    command: &mut dyn FnMut() -> Command,
    without_mounts: &mut dyn FnMut(Reach),
    channel: Option<&mut Channel>,
    told: Watcher<'_, '_>,
) -> Result<ConfinedExit, RunError> {
    let Watcher { started, wanted } = told;
    let signals = end::Signals::hold().map_err(start("hold back signals"))?;
    raw::hear_of_children();
    let ends = plan.confinement.as_ref().map(|c| c.left_over) == Some(LeftOver::End);
    let known = end::children().unwrap_or_default();
    let adopts = ends || wanted.is_some();
    let mut watch = Watch::new(wanted, &known);
    if adopts {
        nix::sys::prctl::set_child_subreaper(true).map_err(start("adopt orphans"))?;
    }
    let far_end = || channel.as_deref().map(Channel::far_end).transpose();
    let far = far_end().map_err(pipe)?;
    let tried = begin(plan, places, reach, signals.before(), far, command);
    let (child, hides) = match tried {
        Err(Failed::Step(step, _)) if step == Step::Mounts && reach.namespaces => {
            reach.namespaces = false;
            require(plan, reach.level(places.need_mounts()))?;
            without_mounts(reach);
            let far = far_end().map_err(pipe)?;
            begin(plan, places, reach, signals.before(), far, command)?
        }
        tried => tried?,
    };
    let confinement = plan.confinement.as_ref();
    let level = confinement.map_or(Level::Environment, |_| reach.level(places.need_mounts()));
    let unconfined = confinement.map_or_else(Vec::new, |one| {
        unconfined(one, reach, places.need_mounts(), hides)
    });
    started(level, &unconfined);
    let exit = signals
        .follow(child, channel, &mut watch)
        .map_err(start("wait for the command"))?;
    let left = if ends || watch.ended {
        let may_end_itself = plan.column == Column::Writing && !watch.ended;
        end::end_left_over(&known, may_end_itself)
    } else {
        LeftOvers::default()
    };
    // Otherwise orphans continue to be reparented to this process.
    if ends || watch.ended {
        let _ = nix::sys::prctl::set_child_subreaper(false);
    }
    Ok(ConfinedExit {
        exit,
        level,
        unconfined,
        left_over: left.remain,
        ended: left.ended,
    })
}

fn pipe(source: io::Error) -> RunError {
    RunError::Start {
        step: "make a pipe",
        source,
    }
}

fn start(step: &'static str) -> impl Fn(Errno) -> RunError {
    move |error| RunError::Start {
        step,
        source: error.into(),
    }
}

/// Why a command did not start.
enum Failed {
    Step(Step, io::Error),
    Run(RunError),
}

impl From<Failed> for RunError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Run(error) => error,
            Failed::Step(step, source) => Self::Start {
                step: step.as_str(),
                source,
            },
        }
    }
}

/// A step of the new process before its program starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Step {
    Signals = 1,
    Mounts,
    Directory,
    Privileges,
    Capabilities,
    Rules,
    Descriptors,
    Filter,
}

impl Step {
    const ALL: [Self; 8] = [
        Self::Signals,
        Self::Mounts,
        Self::Directory,
        Self::Privileges,
        Self::Capabilities,
        Self::Rules,
        Self::Descriptors,
        Self::Filter,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Signals => "set the signals of the command",
            Self::Mounts => "give the command mounts of its own",
            Self::Directory => "enter the directory of the command",
            Self::Privileges => "refuse new privileges",
            Self::Capabilities => "drop capabilities",
            Self::Rules => "enter the rules of files",
            Self::Descriptors => "close other descriptors",
            Self::Filter => "install the filter of system calls",
        }
    }
}

/// What the new process does before its program starts.
#[derive(Debug)]
struct Entry {
    signals: SigSet,
    parent: Pid,
    ends_with_parent: bool,
    mounts: Mounts,
    directory: CString,
    /// Kept capabilities; `None` to drop nothing.
    capabilities: Option<u64>,
    rules: Option<files::Rules>,
    filters: Vec<BpfProgram>,
    /// Channel of the line's probes; `None` if it has none.
    far: Option<FarEnd>,
    /// Pipe that names a failed step.
    report: std::io::PipeWriter,
}

impl Entry {
    fn enter(&self) -> io::Result<()> {
        self.steps().map_err(|(step, error)| {
            // If this fails, the parent names no step; the command does not start either way.
            let _ = nix::unistd::write(self.report.as_fd(), &[step as u8]);
            error.into()
        })
    }

    fn steps(&self) -> Result<(), (Step, Errno)> {
        let at = |step: Step| move |error: Errno| (step, error);
        sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.signals), None)
            .map_err(at(Step::Signals))?;
        if self.ends_with_parent {
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).map_err(at(Step::Signals))?;
            if nix::unistd::getppid() != self.parent {
                return Err((Step::Signals, Errno::ESRCH));
            }
        }
        if !self.mounts.is_empty() {
            self.mounts.enter().map_err(at(Step::Mounts))?;
        }
        nix::unistd::chdir(self.directory.as_c_str()).map_err(at(Step::Directory))?;
        if let Some(kept) = self.capabilities {
            nix::sys::prctl::set_no_new_privs().map_err(at(Step::Privileges))?;
            raw::keep_capabilities(kept).map_err(at(Step::Capabilities))?;
        }
        if let Some(ruleset) = self.rules.as_ref().and_then(|rules| rules.ruleset.as_ref()) {
            raw::restrict_self(ruleset.as_fd()).map_err(at(Step::Rules))?;
        }
        raw::close_others().map_err(at(Step::Descriptors))?;
        if let Some(far) = &self.far {
            raw::leave_open(far.parked).map_err(at(Step::Descriptors))?;
            nix::unistd::dup2_stdout(&far.far).map_err(at(Step::Descriptors))?;
        }
        for filter in &self.filters {
            seccompiler::apply_filter(filter).map_err(|_| (Step::Filter, Errno::last()))?;
        }
        Ok(())
    }
}

/// Starts the command; returns its process id and whether hidden directories are hidden.
fn begin(
    plan: &Plan,
    places: &Places,
    reach: Reach,
    signals: SigSet,
    far: Option<FarEnd>,
    command: &mut dyn FnMut() -> Command,
) -> Result<(Pid, bool), Failed> {
    let (mut reader, writer) = io::pipe().map_err(|error| Failed::Run(pipe(error)))?;
    let (mut entry, hides) = entry(plan, places, reach, signals, writer).map_err(Failed::Run)?;
    entry.far = far;
    let mut command = command();
    raw::before_start(&mut command, move || entry.enter());
    let program = command.get_program().to_string_lossy().into_owned();
    let started = command.spawn();
    // Closes the writing end on this side.
    drop(command);
    match started {
        Ok(child) => Ok((Pid::from_raw(child.id().cast_signed()), hides)),
        Err(source) => {
            let mut named = [0_u8];
            let read = reader.read(&mut named).unwrap_or(0);
            let step = Step::ALL.into_iter().find(|step| *step as u8 == named[0]);
            Err(match step {
                Some(step) if read == 1 => Failed::Step(step, source),
                _ => Failed::Run(RunError::Program { program, source }),
            })
        }
    }
}

fn entry(
    plan: &Plan,
    places: &Places,
    reach: Reach,
    signals: SigSet,
    report: std::io::PipeWriter,
) -> Result<(Entry, bool), RunError> {
    let directory = CString::new(plan.directory.as_os_str().as_bytes())
        .map_err(|_| RunError::Plan("the directory of the command contains NUL".to_owned()))?;
    let mut entry = Entry {
        signals,
        parent: nix::unistd::getpid(),
        ends_with_parent: false,
        mounts: Mounts::default(),
        directory,
        capabilities: None,
        rules: None,
        filters: Vec::new(),
        far: None,
        report,
    };
    let Some(confinement) = &plan.confinement else {
        return Ok((entry, true));
    };
    let held = raw::capabilities().unwrap_or(0);
    entry.ends_with_parent = confinement.left_over == LeftOver::End;
    entry.capabilities = Some(held & KEPT_CAPABILITIES);
    let hidden_inside = places.hidden_inside();
    if reach.namespaces && places.need_mounts() {
        let sealed: Vec<_> = places.sealed.iter().collect();
        let may_mount = held & MAY_MOUNT != 0;
        let mut covered = hidden_inside.clone();
        covered.extend(places.covered.iter().cloned());
        entry.mounts = Mounts::of(&sealed, &covered, &places.writable, may_mount);
    }
    let mut hides = hidden_inside.is_empty() || reach.namespaces;
    if reach.landlock > 0 {
        let outside: Vec<_> = places
            .hidden
            .iter()
            .filter(|one| !hidden_inside.contains(one))
            .cloned()
            .collect();
        let rules = files::rules(confinement, reach.landlock, &places.writable, &outside)
            .map_err(RunError::Plan)?;
        hides &= rules.hides;
        entry.rules = Some(rules);
    }
    if reach.seccomp {
        let reachable = Reachable {
            network: confinement.network,
            unix: !confinement.sockets.is_empty(),
            closed: !confinement.closed_ports.is_empty(),
        };
        entry.filters = calls::filters(confinement.calls, reachable).map_err(RunError::Plan)?;
    }
    Ok((entry, hides))
}

/// Lists what is not confined.
pub(crate) fn unconfined(
    confinement: &Confinement,
    reach: Reach,
    need_mounts: bool,
    hides: bool,
) -> Vec<Unconfined> {
    let reading = confinement.calls == Calls::Reading;
    let off = confinement.network == Network::Off;
    let version = reach.landlock;
    let rows = [
        (Unconfined::Files, version == 0),
        (Unconfined::Truncate, (1..3).contains(&version)),
        (Unconfined::Moves, version == 1),
        (Unconfined::Modes, !reading || !reach.seccomp),
        (
            Unconfined::ProtectedInside,
            need_mounts && !reach.namespaces,
        ),
        (
            Unconfined::Sockets,
            !reach.seccomp || !confinement.sockets.is_empty() && !reach.namespaces,
        ),
        (
            Unconfined::Tcp,
            version < 4 && (off && !reach.seccomp || !off && !confinement.closed_ports.is_empty()),
        ),
        (Unconfined::Network, off && !reach.seccomp),
        (Unconfined::Signals, version < 6),
        // If the process that enforces it is killed, something may be left behind.
        (Unconfined::LeftBehind, version < 6),
        (Unconfined::Processes, version == 0),
        (Unconfined::Terminal, !reach.seccomp),
        (Unconfined::Devices, version < 5),
        (
            Unconfined::StateDirectory,
            !confinement.hidden.is_empty() && (version == 0 || !hides),
        ),
    ];
    rows.into_iter()
        .filter_map(|(what, holds_not)| holds_not.then_some(what))
        .collect()
}

/// Resolves the links of a plan's places and drops missing ones.
pub(crate) fn places(
    confinement: &Confinement,
    own: Option<&Path>,
    protected: &[Protected],
    links: &Links,
) -> Places {
    let mut writable: Vec<_> = confinement
        .writable
        .iter()
        .filter_map(|place| links.resolved(place))
        .collect();
    writable.extend(own.map(Path::to_path_buf));
    let hidden = confinement
        .hidden
        .iter()
        .filter_map(|path| links.real(path))
        .collect();
    let inside = |path: &PathBuf| writable.iter().any(|place| path.starts_with(place));
    let own_alone = confinement.writable.is_empty();
    let sealed = protected
        .iter()
        .filter(|_| !own_alone)
        .filter(|one| matches!(one.free, Free::Nothing | Free::Below(_)))
        .filter_map(|one| {
            let path = links.real(&one.path)?;
            Some(Protected {
                path,
                free: one.free.clone(),
            })
        })
        .filter(|one| inside(&one.path))
        .collect();
    Places {
        writable,
        own_alone,
        hidden,
        sealed,
        covered: sockets::covered(&confinement.sockets),
    }
}
