//! Where workflows are found by name: the project's, the person's, the shipped ones.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use interlock_formats::{Source, Workflows};

/// The endings a workflow file may have, in the order they are tried.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// The largest workflow file read, in bytes.
const BYTES_MAX: u64 = 4 * 1_048_576;

/// The workflows shipped in the program, by name.
const SHIPPED: [(&str, &str); 7] = [
    ("bugfix", include_str!("../../../workflows/bugfix.yaml")),
    ("feature", include_str!("../../../workflows/feature.yaml")),
    ("refactor", include_str!("../../../workflows/refactor.yaml")),
    ("review", include_str!("../../../workflows/review.yaml")),
    ("research", include_str!("../../../workflows/research.yaml")),
    ("release", include_str!("../../../workflows/release.yaml")),
    (
        "migration",
        include_str!("../../../workflows/migration.yaml"),
    ),
];

/// Finds workflow files by name.
#[derive(Debug, Clone)]
pub struct Library {
    directories: Vec<(Origin, PathBuf)>,
}

/// Who a workflow is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The project's `.interlock/workflows/`.
    Project,
    /// The person's own configuration.
    Person,
    /// Shipped in the program.
    Shipped,
}

impl Origin {
    /// Returns the word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Person => "person",
            Self::Shipped => "shipped",
        }
    }
}

/// A workflow that can be started by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Who it is from.
    pub origin: Origin,
    /// Its file; `None`: in the program.
    pub path: Option<PathBuf>,
}

/// A workflow that was not found, or cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum NotFound {
    /// No file and no name.
    #[error("no workflow `{wanted}`: it is neither a file nor one of {known}")]
    Unknown {
        /// What was asked for.
        wanted: String,
        /// The names there are.
        known: String,
    },
    /// It is there and cannot be read.
    #[error("`{path}` cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Library {
    /// Looks below the project's root, then below a person's configuration directory.
    #[must_use]
    pub fn new(project_root: &Path, configuration: Option<&Path>) -> Self {
        let mut directories = vec![(
            Origin::Project,
            project_root.join(".interlock").join("workflows"),
        )];
        directories.extend(configuration.map(|base| (Origin::Person, base.join("workflows"))));
        Self { directories }
    }

    /// Reads the workflow that is the file `wanted`, or has that name.
    ///
    /// # Errors
    /// Nothing is found, or it cannot be read.
    pub fn open(&self, wanted: &str) -> Result<Source, NotFound> {
        let as_file = Path::new(wanted);
        if as_file.is_file() {
            return read(as_file);
        }
        self.by_name(wanted).unwrap_or_else(|| {
            let known: Vec<String> = self
                .list()
                .into_iter()
                .map(|entry| format!("`{}`", entry.name))
                .collect();
            Err(NotFound::Unknown {
                wanted: wanted.to_owned(),
                known: known.join(", "),
            })
        })
    }

    /// Lists every workflow by name; a nearer one hides those behind it.
    #[must_use]
    pub fn list(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for (origin, directory) in &self.directories {
            let mut found: Vec<Entry> = fs::read_dir(directory)
                .into_iter()
                .flatten()
                .flatten()
                .filter_map(|file| entry(*origin, &file.path()))
                .collect();
            found.sort_by(|left, right| left.name.cmp(&right.name));
            for entry in found {
                if entries.iter().all(|known| known.name != entry.name) {
                    entries.push(entry);
                }
            }
        }
        for (name, _) in SHIPPED {
            if entries.iter().all(|known| known.name != name) {
                entries.push(Entry {
                    name: name.to_owned(),
                    origin: Origin::Shipped,
                    path: None,
                });
            }
        }
        entries
    }

    /// Returns the text of a shipped workflow.
    #[must_use]
    pub fn shipped(name: &str) -> Option<&'static str> {
        SHIPPED
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, text)| *text)
    }

    /// Tells whether a name leads to a workflow of the project.
    pub(crate) fn is_the_projects(&self, name: &str) -> bool {
        self.list()
            .iter()
            .any(|entry| entry.name == name && entry.origin == Origin::Project)
    }

    fn by_name(&self, name: &str) -> Option<Result<Source, NotFound>> {
        if name.is_empty() || name.contains(['/', '\\']) || name.starts_with('.') {
            return None;
        }
        for (_, directory) in &self.directories {
            for ending in ENDINGS {
                let path = directory.join(format!("{name}.{ending}"));
                if path.is_file() {
                    return Some(read(&path));
                }
            }
        }
        Self::shipped(name).map(|text| Ok(Source::new(format!("{name}.yaml"), text)))
    }
}

impl Workflows for Library {
    fn find(&self, id: &str) -> Option<Result<Source, String>> {
        self.by_name(id)
            .map(|found| found.map_err(|error| error.to_string()))
    }
}

fn entry(origin: Origin, path: &Path) -> Option<Entry> {
    let ending = path.extension()?.to_str()?;
    let name = path.file_stem()?.to_str()?;
    // `bugfix.test.yaml` holds cases, not a workflow; `.draft` waits for a person.
    let plain = ENDINGS.contains(&ending) && !name.ends_with(".test") && !name.ends_with(".draft");
    plain.then(|| Entry {
        name: name.to_owned(),
        origin,
        path: Some(path.to_owned()),
    })
}

fn read(path: &Path) -> Result<Source, NotFound> {
    let unreadable = |source| NotFound::Unreadable {
        path: path.to_owned(),
        source,
    };
    let size = fs::metadata(path).map_err(unreadable)?.len();
    if size > BYTES_MAX {
        let reason = format!("it has {size} bytes and {BYTES_MAX} is the limit");
        return Err(unreadable(io::Error::other(reason)));
    }
    let text = fs::read_to_string(path).map_err(unreadable)?;
    Ok(Source::new(path.display().to_string(), text))
}
