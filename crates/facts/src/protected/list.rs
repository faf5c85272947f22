//! Lists every protected path of one project and one person, whether it exists or not.

use foldhash::{HashSet, HashSetExt as _};

use super::{
    files::join,
    table::{FILES, Row, Under},
};
use crate::{
    context::CallContext,
    disk::{Disk, Kind},
    path::plain,
};

/// A protected file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedPath {
    /// Absolute path as named; links at its end are not resolved.
    pub path: String,
    /// Description for people.
    pub what: &'static str,
    /// Whether everything below it is included.
    pub deep: bool,
    /// Names directly below it that are not protected.
    pub but: &'static [&'static str],
    /// How it is compared with the run's start.
    pub compared: Compared,
}

/// How a protected file or directory is compared with the run's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    /// Not at all.
    Not,
    /// Every byte, for a directory of every file below it.
    Whole,
    /// The keys of a client's JSON settings that determine what runs.
    Settings,
    /// The same for a client's TOML settings.
    Toml,
    /// The configuration of git, without the keys that may be written.
    Git,
    /// Lines that are neither empty nor comments.
    Lines,
    /// Only these parts of a directory.
    Parts(&'static [Part]),
}

/// A part of a protected directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Name below the directory.
    pub name: &'static str,
    /// How it is compared.
    pub compared: Compared,
}

/// Lists every protected path of the project and the person, whether it exists or not.
///
/// Rows that apply anywhere are listed for the project's root, the working directory and home; Interlock's own paths come last.
/// `context` must be resolved.
#[must_use]
pub fn protected_paths(context: &CallContext, disk: &dyn Disk) -> Vec<ProtectedPath> {
    let mut list = List::new(disk);
    list.of(context);
    // Not compared with the run's start: the working directory may differ each time.
    if context.site.cwd != context.project_root {
        list.of(&CallContext::of_project(context.site.cwd.clone()));
    }
    list.found
}

/// Lists the same without those of the working directory.
pub(crate) fn places(context: &CallContext, disk: &dyn Disk) -> Vec<ProtectedPath> {
    let mut list = List::new(disk);
    list.of(context);
    list.found
}

/// Returns the base directories of rows.
pub(super) fn bases(under: Under, context: &CallContext) -> Vec<String> {
    let home = context.home.clone();
    match under {
        Under::Root => vec![String::new()],
        Under::Home => home.into_iter().collect(),
        Under::Config => config_bases(context),
        Under::Any => {
            let mut bases = vec![context.project_root.clone()];
            bases.extend(home);
            bases
        }
    }
}

/// Returns the configuration directories: the configured one, and the default one.
pub(super) fn config_bases(context: &CallContext) -> Vec<String> {
    let set = context
        .config_directory
        .as_deref()
        .and_then(|own| own.rsplit_once('/'))
        .map(|(above, _)| above.to_owned());
    let usual = context.home.as_ref().map(|home| format!("{home}/.config"));
    let mut bases: Vec<String> = set.into_iter().chain(usual).collect();
    bases.dedup();
    bases
}

struct List<'a> {
    disk: &'a dyn Disk,
    known: HashSet<String>,
    found: Vec<ProtectedPath>,
}

/// Capacity that avoids growing the list.
const PLACES: usize = 256;

impl<'a> List<'a> {
    fn new(disk: &'a dyn Disk) -> Self {
        Self {
            disk,
            known: HashSet::with_capacity(PLACES),
            found: Vec::with_capacity(PLACES),
        }
    }

    /// Adds the paths of one project and one person that are not listed yet.
    fn of(&mut self, context: &CallContext) {
        let bases = [Under::Any, Under::Home, Under::Config, Under::Root]
            .map(|under| (under, bases(under, context)));
        for row in FILES {
            let below = bases.iter().filter(|(under, _)| *under == row.under);
            for base in below.flat_map(|(_, bases)| bases) {
                self.row(row, base);
            }
        }
        for (standard, actual) in &context.moved {
            let rows = FILES.iter().filter(|row| row.names.join("/") == *standard);
            for row in rows {
                self.add(actual.clone(), row);
            }
        }
        self.version_control(context);
        self.own(context);
    }

    fn row(&mut self, row: &Row, base: &str) {
        let path = join(base, row.names);
        // The only row that ends with a wildcard has two names.
        if row.names.last().is_some_and(|name| name.ends_with('*')) {
            self.add(format!("{path}c"), row);
        }
        self.add(path, row);
    }

    fn add(&mut self, path: String, row: &Row) {
        self.push(path, (row.what, row.deep, row.but), row.compared);
    }

    fn push(
        &mut self,
        path: String,
        (what, deep, but): (&'static str, bool, &'static [&'static str]),
        compared: Compared,
    ) {
        if !self.known.insert(path.clone()) {
            return;
        }
        self.found.push(ProtectedPath {
            path,
            what,
            deep,
            but,
            compared,
        });
    }

    /// Adds the repository that a work tree's `.git` file or an ancestor's directory leads to.
    fn version_control(&mut self, context: &CallContext) {
        // If `.git` is a file, it names the directory of hooks and configuration.
        let pointer = join(&context.project_root, &[".git"]);
        if self.disk.look(&pointer).map(|seen| seen.kind) == Some(Kind::File) {
            self.push(pointer, ("version control", false, &[]), Compared::Whole);
        }
        let Some(directory) = repository(&context.project_root, self.disk) else {
            return;
        };
        let rows = FILES
            .iter()
            .filter(|row| row.names.first() == Some(&".git"));
        for row in rows {
            let names = row.names.get(1..).unwrap_or_default();
            self.add(join(&directory, names), row);
        }
    }

    fn own(&mut self, context: &CallContext) {
        const WHAT: &str = "Interlock's files";
        let places = [
            (&context.config_directory, Compared::Whole),
            (&context.state_directory, Compared::Not),
        ];
        for (place, compared) in places {
            if let Some(place) = place {
                self.push(place.clone(), (WHAT, true, &[]), compared);
            }
        }
        for program in &context.programs {
            self.push(program.clone(), (WHAT, false, &[]), Compared::Not);
        }
    }
}

/// Maximum size of a file that points to a repository, in bytes.
const POINTER_MAX: u64 = 4_096;

/// Finds the directory whose hooks and configuration apply in `root`.
pub(super) fn repository(root: &str, disk: &dyn Disk) -> Option<String> {
    let mut at = root;
    let entry = loop {
        let entry = format!("{}/.git", at.trim_end_matches('/'));
        if let Some(seen) = disk.look(&entry) {
            break (entry, seen.kind);
        }
        at = at
            .rsplit_once('/')
            .map(|(above, _)| above)
            .filter(|above| !above.is_empty())?;
    };
    let (entry, kind) = entry;
    if kind == Kind::Directory {
        return Some(entry);
    }
    let own = pointed(&entry, "gitdir:", disk)?;
    // A work tree has its own directory and shares the rest.
    Some(pointed(&format!("{own}/commondir"), "", disk).unwrap_or(own))
}

/// Reads a file that contains a path, relative to the file's directory.
fn pointed(file: &str, label: &str, disk: &dyn Disk) -> Option<String> {
    let bytes = disk.read(file, POINTER_MAX).ok()??;
    let text = String::from_utf8(bytes).ok()?;
    let path = text.trim().strip_prefix(label)?.trim();
    let (directory, _) = file.rsplit_once('/')?;
    Some(match path.starts_with('/') {
        true => plain(path),
        false => plain(&format!("{directory}/{path}")),
    })
}
