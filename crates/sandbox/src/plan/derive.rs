//! Computes a plan from a state's policy and a line's facts. Pure.

use std::path::{Path, PathBuf};

use interlock_core::{
    facts::{CommandClass, NetworkDirection, ShellFacts},
    keeps_running,
    policy::{Policy, Stance},
};

use crate::level::Level;
use crate::plan::{
    Calls, Column, Confinement, LeftOver, Network, Plan, PostCheck, Protected, Start,
    WritablePlace, environment, places,
};

/// Context of a line and the person's decisions about it.
#[derive(Debug, Clone, Default)]
pub struct PlanContext {
    /// The project root of the run, absolute.
    pub project: PathBuf,
    /// The person's home, absolute.
    pub home: PathBuf,
    /// Temporary directories (`/tmp`, `/var/tmp`, `TMPDIR`).
    pub temporary: Vec<PathBuf>,
    /// Cache directories (`~/.cache`).
    pub caches: Vec<PathBuf>,
    /// The repository's own directories, if they are not `.git` of the project.
    pub repository: Vec<PathBuf>,
    /// `[sandbox] writable` of the person's configuration.
    pub writable: Vec<PathBuf>,
    /// `[sandbox] sockets` of the person's configuration.
    pub sockets: Vec<PathBuf>,
    /// Directories a line may not read: the state directory.
    pub hidden: Vec<PathBuf>,
    /// Local ports that a line may not access: those of consoles.
    pub consoles: Vec<u16>,
    /// Protected files, with absolute paths.
    pub protected: Vec<Protected>,
    /// Patterns of the machine's interrupts.
    pub interrupts: Vec<String>,
    /// Directory to which new files in protected places are moved.
    pub aside: Option<PathBuf>,
    /// The stricter `[sandbox] require` of person and project.
    pub require: Option<Level>,
}

/// A judged line.
#[derive(Debug, Clone, Copy)]
pub struct JudgedLine<'a> {
    /// The policy of the state.
    pub policy: &'a Policy,
    /// Facts of the line.
    pub facts: &'a ShellFacts,
    /// What is started.
    pub start: &'a Start,
    /// Directory in which it starts, absolute.
    pub directory: &'a Path,
    /// Names of programs that match an entry of `allowed_commands`.
    pub covered: &'a [&'a str],
    /// Whether `[shell] allow` of the person covers the line, so that the kernel does not confine it.
    pub person_allows: bool,
}

impl Plan {
    /// Creates the plan of a judged line.
    #[must_use]
    pub fn for_line(asked: &JudgedLine<'_>, context: &PlanContext) -> Self {
        let column = column(asked);
        let confinement = match column {
            Column::Free => None,
            _ if asked.person_allows => None,
            _ => Some(confinement(column, asked, context)),
        };
        let post_check = match column {
            Column::Free => PostCheck::default(),
            _ => PostCheck {
                protected: context.protected.clone(),
                reported: context.interrupts.clone(),
                aside: context.aside.clone(),
            },
        };
        let mut environment = environment::of(asked.policy, column);
        let elsewhere = asked
            .facts
            .commands
            .iter()
            .any(|command| command.contained && command.class == CommandClass::VersionControl);
        if column == Column::NoWrite && elsewhere {
            environment::quiet_repository(&mut environment);
        }
        Self {
            column,
            start: asked.start.clone(),
            probes: Vec::new(),
            directory: asked.directory.to_path_buf(),
            project: context.project.clone(),
            environment,
            confinement,
            post_check,
            require: context.require.unwrap_or(Level::Environment),
        }
    }
}

fn column(asked: &JudgedLine<'_>) -> Column {
    match asked.policy.stance() {
        Stance::Free => Column::Free,
        Stance::NoWrite if asked.covered.is_empty() => Column::NoWrite,
        Stance::NoWrite => Column::Matched,
        Stance::Writing => Column::Writing,
    }
}

/// Returns whether the line uses the network in `direction` and in no other way, as the verdict assumed.
fn only_reaches(asked: &JudgedLine<'_>, direction: NetworkDirection) -> bool {
    let network = &asked.facts.network;
    !network.is_empty() && network.iter().all(|reach| reach.direction == direction)
}

fn confinement(column: Column, asked: &JudgedLine<'_>, context: &PlanContext) -> Confinement {
    let reading = column == Column::NoWrite;
    Confinement {
        writable: writable(column, asked, context),
        own_directory: column != Column::Writing,
        hidden: context.hidden.clone(),
        network: match column {
            Column::NoWrite if only_reaches(asked, NetworkDirection::Get) => Network::Fetch,
            Column::NoWrite => Network::Off,
            _ => Network::On,
        },
        closed_ports: context.consoles.clone(),
        sockets: sockets(asked.policy, context),
        calls: if reading {
            Calls::Reading
        } else {
            Calls::Working
        },
        left_over: if column == Column::Writing && keeps_running(asked.policy, asked.facts) {
            LeftOver::Stay
        } else {
            LeftOver::End
        },
    }
}

/// Returns the Unix sockets that the state or the person names, absolute.
fn sockets(policy: &Policy, context: &PlanContext) -> Vec<PathBuf> {
    let named = policy
        .sockets
        .iter()
        .map(|text| match text.strip_prefix("~/") {
            Some(below) => context.home.join(below),
            None => PathBuf::from(text),
        });
    named
        .chain(context.sockets.iter().cloned())
        .filter(|path| path.is_absolute())
        .collect()
}

/// Returns the places that a line of `column` may write, without duplicates.
fn writable(column: Column, asked: &JudgedLine<'_>, context: &PlanContext) -> Vec<WritablePlace> {
    let at = |paths: &[PathBuf]| {
        paths
            .iter()
            .cloned()
            .map(WritablePlace::at)
            .collect::<Vec<_>>()
    };
    let places = match column {
        Column::Free | Column::NoWrite => Vec::new(),
        Column::Matched => {
            let of = |name: &&str| places::of_program(name, asked.directory, context);
            let mut places: Vec<_> = asked.covered.iter().flat_map(of).collect();
            places.extend(at(&context.writable));
            places
        }
        Column::Writing => {
            let mut places = at(std::slice::from_ref(&context.project));
            places.extend(at(&context.temporary));
            places.extend(at(&context.caches));
            places.extend(places::of_all(context));
            places.extend(at(&context.repository));
            places.extend(at(&context.writable));
            places.extend(at(&[PathBuf::from("/dev/shm")]));
            places
        }
    };
    let mut once: Vec<WritablePlace> = Vec::with_capacity(places.len());
    for mut place in places {
        place.within = above(&place.path, context);
        // As text: comparing paths component by component takes longer.
        let same = |known: &WritablePlace| known.path.as_os_str() == place.path.as_os_str();
        if !once.iter().any(|known| same(known) && *known == place) {
            once.push(place);
        }
    }
    once
}

/// Finds the ancestor of `path` that lines of a writing state may write.
fn above(path: &Path, context: &PlanContext) -> Option<PathBuf> {
    std::iter::once(&context.project)
        .chain(&context.caches)
        .chain(&context.temporary)
        .find(|place| path.starts_with(place) && path != place.as_path())
        .cloned()
}
