//! Protected files and directories.

use super::{
    Deed, Guarded, folded,
    folded::{Anchor, FoldedPlaces, anchors},
    named,
    table::{FILES, Row, Under},
};
use crate::{
    context::CallContext,
    disk::Kind,
    path::{is_within, plain, relative},
    place,
};

/// Maximum number of entries of a protected directory that are examined for other names.
const ENTRIES_MAX: usize = 200;

impl Guarded<'_> {
    /// Checks a path, and returns which protected file it is, contains or leads to.
    pub(crate) fn touched(&self, path: &str, deed: Deed) -> Option<String> {
        let paths = through_process(path, self.context);
        if !paths.is_empty() {
            return paths.iter().find_map(|path| self.touched(path, deed));
        }
        let found = folded(path);
        if self.in_state_directory(&found) {
            return Some(named("Interlock's state", path));
        }
        if deed == Deed::Read {
            return None;
        }
        let what = self.own(&found).or_else(|| {
            FILES
                .iter()
                .find(|row| self.is_row(row, &found) && !self.is_opened(row, &found))
                .map(|row| row.what)
        });
        if let Some(what) = what {
            return Some(named(what, path));
        }
        if deed == Deed::Remove
            && let Some(held) = self.held_by(path, &found)
        {
            return Some(format!(
                "{}, which contains {held},",
                named("a directory", path)
            ));
        }
        self.other_name(path)
            .map(|thing| named(&format!("another name of `{thing}`"), path))
    }

    /// Checks a path of which only the beginning is known.
    pub(super) fn below(&self, beginning: &str, deed: Deed) -> Option<String> {
        let (directory, partial) = beginning.rsplit_once('/')?;
        // Whatever follows is in this directory, unless it leads out again.
        if let Some(thing) = self.touched(&format!("{directory}/x"), deed) {
            return Some(thing);
        }
        if partial.is_empty() || deed == Deed::Read {
            return None;
        }
        let text = format!(
            "{}/{}",
            folded(directory),
            folded(partial).trim_start_matches('/')
        );
        let could_be = |anchor: &str| folded(anchor).starts_with(&text);
        let here = FILES
            .iter()
            .filter(|row| row.under == Under::Any)
            .map(|row| join(directory, row.names));
        let anchors = self.anchors().iter();
        let anchor = anchors
            .filter(|anchor| anchor.folded.starts_with(&text))
            .map(|anchor| anchor.path.clone())
            .chain(here.filter(|here| could_be(here)))
            .next()?;
        Some(named("may be meant", &anchor))
    }

    /// Checks a directory all of whose files would be shown.
    pub(crate) fn searched(&self, place: &str) -> Option<String> {
        let file = place::find(place, self.context, self.disk).ok()?;
        self.walked(&file.named).or_else(|| self.walked(&file.real))
    }

    /// Checks a directory that is read recursively.
    ///
    /// The project's own is allowed: what is above Interlock's state may well be the project.
    pub(super) fn walked(&self, path: &str) -> Option<String> {
        let state = self.context.state_directory.as_deref()?;
        let found = folded(path);
        let places = self.places();
        let folded_state = places.state.as_deref()?;
        let holds = is_within(folded_state, &found) && self.disk.look(state).is_some();
        let is_project = found == places.project;
        (holds && !is_project).then(|| {
            format!(
                "{}, which contains Interlock's state: name what is to be read in it",
                named("a directory", path)
            )
        })
    }

    /// Checks a pattern of files below a directory.
    pub(crate) fn matched(&self, place: &str, pattern: &str) -> Option<String> {
        // Only names before the first wildcard are known; the rest may be anything.
        let known = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
        let (beginning, rest) = pattern.split_at_checked(known)?;
        let whole = match place {
            "." => beginning.to_owned(),
            _ if beginning.starts_with(['/', '~']) => beginning.to_owned(),
            place => format!("{place}/{beginning}"),
        };
        let (directory, partial) = whole.rsplit_once('/').unwrap_or(("", &whole));
        let directory = match directory {
            "" if whole.starts_with('/') => "/",
            "" => ".",
            directory => directory,
        };
        let file = place::find(directory, self.context, self.disk).ok()?;
        let touches = |path: &str| self.touched(path, Deed::Read);
        touches(&file.real).or_else(|| {
            let state = self.context.state_directory.as_deref()?;
            let below = relative(state, &file.real)?;
            // The first name must match before anything below it can.
            let fits = partial_fits(below, partial, rest);
            fits.then(|| named("Interlock's state", &whole))
        })
    }

    pub(super) fn in_state_directory(&self, found: &str) -> bool {
        let state = self.places().state.as_deref();
        state.is_some_and(|state| is_within(found, state))
    }

    /// Checks whether something belongs to Interlock because of a setting.
    fn own(&self, found: &str) -> Option<&'static str> {
        let places = self.places();
        let config = places.config.as_deref();
        if config.is_some_and(|config| is_within(found, config)) {
            return Some("the person's Interlock configuration");
        }
        let mut programs = places.programs.iter();
        programs
            .any(|program| program == found)
            .then_some("Interlock's program")
    }

    fn is_row(&self, row: &Row, found: &str) -> bool {
        self.stands(row, found) || self.is_moved(row, found)
    }

    /// Returns whether a variable moves the row's file to this path.
    fn is_moved(&self, row: &Row, found: &str) -> bool {
        self.places().moved.iter().any(|(standard, actual)| {
            standard.split('/').eq(row.names.iter().copied())
                && relative(found, actual).is_some_and(|below| {
                    let first = below.split('/').next().unwrap_or_default();
                    below.is_empty() || row.deep && !row.but.contains(&first)
                })
        })
    }

    /// Returns whether the person's configuration opens this path.
    ///
    /// A path that begins at home or the root is absolute; any other one applies below every directory.
    fn is_opened(&self, row: &Row, found: &str) -> bool {
        let home = self.context.home.as_deref();
        let opens = |entry: &String| {
            let entry = folded_entry(entry, home);
            match entry.strip_prefix('/') {
                Some(_) => is_within(found, &entry),
                None => found.match_indices(&format!("/{entry}")).any(|(at, part)| {
                    matches!(found.as_bytes().get(at + part.len()), None | Some(b'/'))
                }),
            }
        };
        row.opens && self.context.opened.iter().any(opens)
    }

    fn stands(&self, row: &Row, found: &str) -> bool {
        match row.under {
            Under::Root => row.fits(found.strip_prefix('/').unwrap_or(found)),
            Under::Home => {
                let home = self.places().home.as_deref();
                home.is_some_and(|home| relative(found, home).is_some_and(|below| row.fits(below)))
            }
            Under::Config => self
                .places()
                .config_bases
                .iter()
                .any(|base| relative(found, base).is_some_and(|below| row.fits(below))),
            Under::Any => {
                let mut rest = found;
                while let Some((_, below)) = rest.split_once('/') {
                    if row.fits(below) {
                        return true;
                    }
                    rest = below;
                }
                false
            }
        }
    }

    /// Names an existing protected file below a directory that would be removed.
    ///
    /// The project, home and their ancestors are left to the rule about these directories, which refuses them in any case.
    fn held_by(&self, path: &str, found: &str) -> Option<String> {
        let places = self.places();
        let whole = [Some(&places.project), places.home.as_ref()]
            .into_iter()
            .flatten()
            .any(|root| is_within(root, found));
        if whole {
            return None;
        }
        self.held(path)
    }

    /// Does the same for any directory.
    pub(super) fn held(&self, path: &str) -> Option<String> {
        // Only a directory contains anything.
        self.disk
            .look(path)
            .filter(|seen| seen.kind != Kind::File)?;
        let found = folded(path);
        let here = FILES
            .iter()
            .filter(|row| row.under == Under::Any)
            .map(|row| join(path, row.names));
        let anchors = self.anchors().iter();
        anchors
            .filter(|anchor| is_within(&anchor.folded, &found))
            .map(|anchor| anchor.path.clone())
            .chain(here)
            .find(|anchor| self.disk.look(anchor).is_some())
            .map(|anchor| format!("`{anchor}`"))
    }

    /// Lists what is protected at known locations; calls that only read do not need this.
    fn anchors(&self) -> &[Anchor] {
        self.anchors.get_or_init(|| anchors(self.context))
    }

    fn places(&self) -> &FoldedPlaces {
        self.places.get_or_init(|| FoldedPlaces::of(self.context))
    }

    /// Finds the protected file of which this is another name.
    pub(super) fn other_name(&self, path: &str) -> Option<String> {
        let seen = self.disk.look(path)?;
        if seen.kind != Kind::File || seen.links < 2 {
            return None;
        }
        let id = seen.id?;
        let known = self.identities.get_or_init(|| self.identities());
        known
            .iter()
            .find(|(other, _)| *other == id)
            .map(|(_, name)| name.clone())
    }

    fn identities(&self) -> Vec<((u64, u64), String)> {
        let mut found = Vec::new();
        let anchors = self.anchors().iter();
        let mut level: Vec<String> = anchors.map(|anchor| anchor.path.clone()).collect();
        // Files two levels below a protected directory are sufficient.
        for _ in 0..3 {
            let mut below = Vec::new();
            for path in level {
                match self.disk.look(&path) {
                    Some(seen) if seen.kind == Kind::File => {
                        found.extend(seen.id.map(|id| (id, path)));
                    }
                    Some(seen) if seen.kind == Kind::Directory => {
                        let names = self.disk.names(&path, ENTRIES_MAX);
                        below.extend(names.into_iter().map(|name| format!("{path}/{name}")));
                    }
                    _ => {}
                }
            }
            level = below;
        }
        found
    }
}

impl Row {
    /// Returns whether a path, relative to the row's base, is the row's.
    pub(super) fn fits(&self, path: &str) -> bool {
        // Most paths differ at once: they are not split.
        let first = self.names.first().copied().unwrap_or_default();
        if !path.starts_with(first.strip_suffix('*').unwrap_or(first)) {
            return false;
        }
        let mut parts = path.split('/');
        for name in self.names {
            let Some(part) = parts.next() else {
                return false;
            };
            let fits = match name.strip_suffix('*') {
                Some(beginning) => part.starts_with(beginning),
                None => part == *name,
            };
            if !fits {
                return false;
            }
        }
        match parts.next() {
            None => true,
            Some(below) => self.deep && !self.but.contains(&below),
        }
    }
}

pub(super) fn join(base: &str, names: &[&str]) -> String {
    let base = base.strip_suffix('/').unwrap_or(base);
    let names_len: usize = names.iter().map(|name| name.len() + 1).sum();
    let mut path = String::with_capacity(base.len() + names_len);
    path.push_str(base);
    for name in names {
        path.push('/');
        path.push_str(name.strip_suffix('*').unwrap_or(name));
    }
    path
}

/// Returns whether a path below a directory may match names that begin with `partial` and continue with wildcards.
fn partial_fits(below: &str, partial: &str, rest: &str) -> bool {
    !partial.is_empty() && below.starts_with(partial) && rest.contains('/')
}

/// Returns where a path through a process leads: to its root, or to its directory.
fn through_process(path: &str, context: &CallContext) -> Vec<String> {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let ["proc", _, rest @ ..] = parts.as_slice() else {
        return Vec::new();
    };
    let rest = match rest {
        ["task", _, rest @ ..] => rest,
        rest => rest,
    };
    match rest {
        ["root", rest @ ..] => vec![format!("/{}", rest.join("/"))],
        ["cwd", rest @ ..] => [&context.site.cwd, &context.project_root]
            .map(|base| plain(&format!("{base}/{}", rest.join("/"))))
            .into(),
        _ => Vec::new(),
    }
}

/// Makes an entry of `[protect] allow` comparable.
fn folded_entry(entry: &str, home: Option<&str>) -> String {
    let entry = entry
        .trim_end_matches("/**")
        .trim_end_matches("/*")
        .trim_end_matches('/');
    match (entry.strip_prefix('~'), home) {
        (Some(below), Some(home)) => folded(&format!("{home}{below}")),
        _ if entry.starts_with('/') => folded(entry),
        _ => folded(&format!("/{entry}"))
            .trim_start_matches('/')
            .to_owned(),
    }
}
