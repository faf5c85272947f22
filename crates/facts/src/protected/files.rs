//! Protected files and directories.

use super::{
    Deed, Guarded, folded, named,
    table::{FILES, Row, Under},
};
use crate::{
    disk::Kind,
    path::{is_within, relative},
};

/// Entries of a protected directory that are looked at for other names.
const ENTRIES_MAX: usize = 200;

impl Guarded<'_> {
    /// Looks at a path and says which protected thing it is, holds or leads to.
    pub(crate) fn touched(&self, path: &str, deed: Deed) -> Option<String> {
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
                .find(|row| self.is_row(row, &found))
                .map(|row| row.what)
        });
        if let Some(what) = what {
            return Some(named(what, path));
        }
        if deed == Deed::Remove
            && let Some(held) = self.held_by(path, &found)
        {
            return Some(format!(
                "{}, which holds {held},",
                named("a directory", path)
            ));
        }
        self.other_name(path)
            .map(|thing| named(&format!("another name of `{thing}`"), path))
    }

    /// Looks at a path of which only the beginning is known.
    pub(super) fn below(&self, beginning: &str, deed: Deed) -> Option<String> {
        let (directory, partial) = beginning.rsplit_once('/')?;
        // Whatever follows lies in this directory, unless it leads out again.
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
        self.anchors()
            .into_iter()
            .chain(here)
            .find(|anchor| could_be(anchor))
            .map(|anchor| named("may be meant", &anchor))
    }

    pub(super) fn in_state_directory(&self, found: &str) -> bool {
        let state = self.surroundings.state_directory.as_deref();
        state.is_some_and(|state| is_within(found, &folded(state)))
    }

    /// Looks at what is Interlock's by a setting.
    fn own(&self, found: &str) -> Option<&'static str> {
        let config = self.surroundings.config_directory.as_deref();
        if config.is_some_and(|config| is_within(found, &folded(config))) {
            return Some("the person's Interlock configuration");
        }
        let programs = &self.surroundings.programs;
        programs
            .iter()
            .any(|program| folded(program) == found)
            .then_some("Interlock's program")
    }

    fn is_row(&self, row: &Row, found: &str) -> bool {
        match row.under {
            Under::Root => row.fits(found.strip_prefix('/').unwrap_or(found)),
            Under::Home => {
                let home = self.surroundings.home.as_deref().map(folded);
                home.is_some_and(|home| relative(found, &home).is_some_and(|below| row.fits(below)))
            }
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

    /// Names a protected thing that is there below a directory that would go.
    ///
    /// The project, home and everything above them are left to the rule about
    /// whole places, which refuses them wherever anything is refused.
    fn held_by(&self, path: &str, found: &str) -> Option<String> {
        let surroundings = self.surroundings;
        let whole = [Some(&surroundings.project_root), surroundings.home.as_ref()]
            .into_iter()
            .flatten()
            .any(|root| is_within(&folded(root), found));
        if whole {
            return None;
        }
        let here = FILES
            .iter()
            .filter(|row| row.under == Under::Any)
            .map(|row| join(path, row.names));
        self.anchors()
            .into_iter()
            .filter(|anchor| is_within(&folded(anchor), found))
            .chain(here)
            .find(|anchor| self.disk.look(anchor).is_some())
            .map(|anchor| format!("`{anchor}`"))
    }

    /// Returns every protected path whose place is known, there or not.
    fn anchors(&self) -> Vec<String> {
        let surroundings = self.surroundings;
        let home = surroundings.home.as_deref();
        let root = Some(surroundings.project_root.as_str());
        let mut anchors: Vec<String> = FILES
            .iter()
            .flat_map(|row| {
                let bases = match row.under {
                    Under::Any => [root, home],
                    Under::Home => [home, None],
                    Under::Root => [Some(""), None],
                };
                bases
                    .into_iter()
                    .flatten()
                    .map(|base| join(base, row.names))
            })
            .collect();
        let own = [
            &surroundings.state_directory,
            &surroundings.config_directory,
        ];
        anchors.extend(own.into_iter().flatten().cloned());
        anchors.extend(surroundings.programs.iter().cloned());
        anchors
    }

    /// Finds the protected file that is the same file under another name.
    fn other_name(&self, path: &str) -> Option<String> {
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
        let mut level = self.anchors();
        // Files of directories in protected directories are far enough.
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
    /// Tells whether a path relative to where the row counts from is the row's.
    pub(super) fn fits(&self, path: &str) -> bool {
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

fn join(base: &str, names: &[&str]) -> String {
    let mut path = base.trim_end_matches('/').to_owned();
    for name in names {
        path.push('/');
        path.push_str(name.trim_end_matches('*'));
    }
    path
}
