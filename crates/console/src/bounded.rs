//! Restricts the files that a page's text may refer to: files outside the project are never read for it.

use std::{
    cell::Cell,
    path::{Path, PathBuf},
};

use interlock_formats::{Source, Workflows};
use interlock_project::{Library, Origin};

/// A library that refuses files outside the project and the workflow folders.
pub(crate) struct Bounded<'l> {
    library: &'l Library,
    /// The folders as their paths are written, and with links resolved.
    written: Vec<PathBuf>,
    real: Vec<PathBuf>,
    asked: Cell<bool>,
}

impl<'l> Bounded<'l> {
    /// Restricts `library` to the project at `root`.
    pub(crate) fn new(root: &Path, library: &'l Library) -> Self {
        let mut bounded = Self {
            library,
            written: Vec::new(),
            real: Vec::new(),
            asked: Cell::new(false),
        };
        bounded.admit_folder(root, true);
        for (origin, folder) in library.folders() {
            bounded.admit_folder(folder, *origin == Origin::Person);
        }
        bounded
    }

    /// Adds a folder. A linked folder in the project does not extend the project; a person may link their own folder.
    fn admit_folder(&mut self, folder: &Path, linked: bool) {
        if let Ok(real) = folder.canonicalize()
            && (linked || real == folder)
        {
            self.written.extend([folder.to_owned(), real.clone()]);
            self.real.push(real);
        }
    }

    /// Returns whether an existing file is in one of the folders, after links are resolved.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        let real = path.canonicalize();
        real.is_ok_and(|real| self.real.iter().any(|folder| real.starts_with(folder)))
    }

    /// Returns whether a path leads into one of the folders, as written.
    fn leads_in(&self, path: &Path) -> bool {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        // After normalization, `..` remains only in a path that leaves its base.
        let climbs = path.components().any(|part| part.as_os_str() == "..");
        !climbs && self.written.iter().any(|folder| path.starts_with(folder))
    }

    /// Returns whether anything besides the text itself was used, so that its diagnostics may change independently of
    /// it.
    pub(crate) const fn was_asked(&self) -> bool {
        self.asked.get()
    }

    fn library(&self) -> &'l Library {
        self.asked.set(true);
        self.library
    }

    /// Refuses a source that was found outside.
    fn admit(
        &self,
        wanted: &str,
        found: Option<Result<Source, String>>,
    ) -> Option<Result<Source, String>> {
        match found {
            Some(Ok(source)) if !is_shipped(&source) && !self.holds(Path::new(&source.name)) => {
                Some(Err(outside(wanted)))
            }
            found => found,
        }
    }
}

fn outside(wanted: &str) -> String {
    format!("`{wanted}` is outside of the project")
}

fn is_shipped(source: &Source) -> bool {
    let name = source.name.strip_suffix(".yaml");
    name.and_then(Library::shipped) == Some(source.text.as_str())
}

impl Workflows for Bounded<'_> {
    fn find(&self, id: &str) -> Option<Result<Source, String>> {
        let library = self.library();
        // Refused before it is read, because even the error of reading a file reveals something about it.
        if library.path_of(id).is_some_and(|path| !self.holds(&path)) {
            return Some(Err(outside(id)));
        }
        self.admit(id, library.find(id))
    }

    fn resolve(&self, from: &Source, wanted: &str) -> Option<Result<Source, String>> {
        let library = self.library();
        let place = library.place_from(from, wanted);
        let file = || library.path_from(from, wanted);
        // The answer does not reveal whether such a file exists.
        if place.is_some_and(|place| !self.leads_in(&place))
            || file().is_some_and(|file| !self.holds(&file))
        {
            return Some(Err(outside(wanted)));
        }
        self.admit(wanted, library.resolve(from, wanted))
    }

    fn has_program(&self, name: &str) -> Option<bool> {
        self.library().has_program(name)
    }

    fn entries(&self, table: &str) -> Option<Vec<String>> {
        self.library().entries(table)
    }

    fn assumes_configured(&self) -> bool {
        self.library.assumes_configured()
    }

    fn configured(&self, table: &str, id: &str) -> Option<Result<Source, String>> {
        self.library().configured(table, id)
    }
}
