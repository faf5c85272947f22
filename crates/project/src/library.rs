//! Where workflows are found by name: the project's, the person's, the shipped ones.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use interlock_expr::nearest::nearest;
use interlock_formats::{Source, Workflows, id_of};

use crate::{assets::Assets, config::Config, places::workflow_root};

/// The endings a workflow file may have, in the order they are tried.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// The largest workflow file read, in bytes.
const BYTES_MAX: u64 = 4 * 1_048_576;

/// The workflows shipped in the program, by name.
const SHIPPED: [(&str, &str); 7] = [
    ("bugfix", include_str!("../shipped/bugfix.yaml")),
    ("feature", include_str!("../shipped/feature.yaml")),
    ("refactor", include_str!("../shipped/refactor.yaml")),
    ("review", include_str!("../shipped/review.yaml")),
    ("research", include_str!("../shipped/research.yaml")),
    ("release", include_str!("../shipped/release.yaml")),
    ("migration", include_str!("../shipped/migration.yaml")),
];

/// Finds workflow files by name.
#[derive(Debug, Clone)]
pub struct Library {
    directories: Vec<(Origin, PathBuf)>,
    /// Folders in which a FlowState workflow may be a folder with `index.yaml`, in order.
    flows: Vec<(Origin, PathBuf)>,
    home: Option<PathBuf>,
    /// Where a person works, for files of their own `~/.flowstate/`.
    working: Option<PathBuf>,
    /// The folders of programs, as `PATH` lists them.
    path: Option<std::ffi::OsString>,
    /// The project's root, and the person's configuration directory.
    configured_in: (PathBuf, Option<PathBuf>),
    /// What both define for CodeMie files, once it was asked for.
    assets: OnceLock<Result<Assets, String>>,
    assumes_configured: bool,
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
    #[error("no workflow `{wanted}`: {}it is neither a file nor one of {known}", guess(meant.as_deref()))]
    Unknown {
        /// What was asked for.
        wanted: String,
        /// The name or file that was probably meant.
        meant: Option<String>,
        /// The names there are.
        known: String,
    },
    /// It is there and cannot be read.
    #[error("`{path}` cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
}

impl Library {
    /// Looks for native workflows below the project's root, then below a person's configuration directory.
    #[must_use]
    pub fn new(project_root: &Path, configuration: Option<&Path>) -> Self {
        let mut directories = vec![(
            Origin::Project,
            project_root.join(".interlock").join("workflows"),
        )];
        directories.extend(configuration.map(|base| (Origin::Person, base.join("workflows"))));
        Self {
            directories,
            flows: Vec::new(),
            home: None,
            working: None,
            path: None,
            configured_in: (project_root.to_owned(), configuration.map(Path::to_owned)),
            assets: OnceLock::new(),
            assumes_configured: false,
        }
    }

    /// Takes whatever a file wants of the configuration to be there.
    #[must_use]
    pub fn assuming_configured(mut self) -> Self {
        self.assumes_configured = true;
        self
    }

    /// Returns what the configuration defines for CodeMie files, trusted or not.
    fn assets(&self) -> &Result<Assets, String> {
        self.assets.get_or_init(|| {
            let (root, directory) = &self.configured_in;
            let directory = directory.as_deref();
            let person = Config::of_person(directory).map_err(|error| error.to_string())?;
            let project = Config::of_project(root).map_err(|error| error.to_string())?;
            Ok(Assets::of(&person, directory, &project, root))
        })
    }

    /// Looks for FlowState workflows from `working` too, and below `~/.flowstate/`.
    ///
    /// `path` is the variable that lists folders of programs.
    #[must_use]
    pub fn with_person(
        mut self,
        working: &Path,
        home: Option<&Path>,
        path: Option<std::ffi::OsString>,
    ) -> Self {
        let root = workflow_root(working, home);
        self.flows = vec![(Origin::Project, root.join(".flowstate"))];
        let workflows = root.join(".interlock").join("workflows");
        if self
            .directories
            .iter()
            .all(|(_, known)| *known != workflows)
        {
            self.directories.insert(0, (Origin::Project, workflows));
        }
        self.flows
            .extend(home.map(|home| (Origin::Person, home.join(".flowstate"))));
        self.home = home.map(Path::to_owned);
        self.working = Some(working.to_owned());
        self.path = path;
        self
    }

    /// Returns the root of the project that a workflow file belongs to.
    ///
    /// The nearest folder at or above it with `.flowstate/`, `.interlock/` or
    /// `.git`, else its own; for a file of `~/.flowstate/` that of the working directory.
    #[must_use]
    pub fn root_of(&self, file: &Path) -> PathBuf {
        let home = self.home.as_deref();
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let own = home.map(|home| home.join(".flowstate"));
        if let (Some(own), Some(working)) = (own, &self.working)
            && file.starts_with(&own)
        {
            return workflow_root(working, home);
        }
        workflow_root(file.parent().unwrap_or(&file), home)
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
            let entries = self.list();
            let names = || entries.iter().map(|entry| entry.name.as_str());
            let meant = near_file(as_file)
                .or_else(|| nearest(wanted, names()).map(str::to_owned))
                .or_else(|| nearest(stem(as_file)?, names()).map(str::to_owned));
            let known: Vec<String> = names().map(|name| format!("`{name}`")).collect();
            Err(NotFound::Unknown {
                wanted: wanted.to_owned(),
                meant,
                known: known.join(", "),
            })
        })
    }

    /// Reads the workflow that has a name, whatever file there is of that name.
    ///
    /// # Errors
    /// Nothing has it, or its file cannot be read.
    pub fn open_named(&self, name: &str) -> Result<Source, NotFound> {
        self.by_name(name).unwrap_or_else(|| {
            Err(NotFound::Unknown {
                wanted: name.to_owned(),
                meant: None,
                known: String::new(),
            })
        })
    }

    /// Lists the workflows of the project alone, by name.
    #[must_use]
    pub fn of_project(&self) -> Vec<Entry> {
        let mut entries = self.list();
        entries.retain(|entry| entry.origin == Origin::Project);
        entries
    }

    /// Lists every workflow by name; a nearer one hides those behind it.
    ///
    /// Where several files have a name, it is the one that [`path_of`](Self::path_of) returns.
    #[must_use]
    pub fn list(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for (origin, directory) in self.folders() {
            let mut names: Vec<String> = fs::read_dir(directory)
                .into_iter()
                .flatten()
                .flatten()
                .filter_map(|file| entry(*origin, &file.path()))
                .map(|entry| entry.name)
                .collect();
            names.sort();
            for name in names {
                if entries.iter().any(|known| known.name == name) {
                    continue;
                }
                if let Some((origin, path)) = self.locate(&name) {
                    entries.push(Entry {
                        name,
                        origin,
                        path: Some(path),
                    });
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

    /// Lists the files that have `name` too and are hidden by the one that it leads to.
    #[must_use]
    pub fn hidden(&self, name: &str) -> Vec<PathBuf> {
        let all = self
            .folders()
            .flat_map(|(_, folder)| candidates(folder, name));
        all.filter(|path| path.is_file()).skip(1).collect()
    }

    /// Returns the names of the shipped workflows.
    #[must_use]
    pub fn shipped_names() -> [&'static str; SHIPPED.len()] {
        SHIPPED.map(|(name, _)| name)
    }

    /// Returns the text of a shipped workflow.
    #[must_use]
    pub fn shipped(name: &str) -> Option<&'static str> {
        SHIPPED
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, text)| *text)
    }

    /// Returns whether a name leads to a workflow of the project.
    pub(crate) fn is_the_projects(&self, name: &str) -> bool {
        self.list()
            .iter()
            .any(|entry| entry.name == name && entry.origin == Origin::Project)
    }

    /// Returns where names are looked for: `.flowstate/` and `.interlock/workflows/` of the
    /// project, then the person's.
    pub fn folders(&self) -> impl Iterator<Item = &(Origin, PathBuf)> {
        [Origin::Project, Origin::Person]
            .into_iter()
            .flat_map(|wanted| {
                let own = move |(origin, _): &&(Origin, PathBuf)| *origin == wanted;
                let flows = self.flows.iter().filter(own);
                flows.chain(self.directories.iter().filter(own))
            })
    }

    /// Returns the file that a name leads to; `None`: there is none, or the workflow is a shipped one.
    ///
    /// The folders are looked through in order, each for `NAME/index.yaml`, `NAME.yaml`, `NAME.yml` and
    /// `NAME.json`; the first that is there is what a start of that name runs.
    #[must_use]
    pub fn path_of(&self, name: &str) -> Option<PathBuf> {
        self.locate(name).map(|(_, path)| path)
    }

    fn locate(&self, name: &str) -> Option<(Origin, PathBuf)> {
        if !is_name(name) {
            return None;
        }
        self.folders()
            .find_map(|(origin, folder)| Some((*origin, file_of(folder, name)?)))
    }

    fn by_name(&self, name: &str) -> Option<Result<Source, NotFound>> {
        if !is_name(name) {
            return None;
        }
        if let Some(path) = self.path_of(name) {
            return Some(read(&path));
        }
        Self::shipped(name).map(|text| Ok(Source::new(format!("{name}.yaml"), text)))
    }
}

impl Library {
    /// Returns where a path that the file `from` names leads, be something there or not; `None`: it is a name.
    #[must_use]
    pub fn place_from(&self, from: &Source, wanted: &str) -> Option<PathBuf> {
        let file = Path::new(&from.name);
        let path = match wanted.split_once('/')? {
            ("@", rest) => self.root_of(file).join(rest),
            ("~", rest) => self.home.as_ref()?.join(rest),
            _ => file.parent().unwrap_or(Path::new("")).join(wanted),
        };
        Some(normal(&path))
    }

    /// Returns the file that `wanted`, a name or a path, means in the file `from`.
    ///
    /// `None`: there is none, or it is a shipped workflow.
    #[must_use]
    pub fn path_from(&self, from: &Source, wanted: &str) -> Option<PathBuf> {
        if wanted.contains('/') {
            let path = self.place_from(from, wanted)?;
            let index = path.join("index.yaml");
            return [path, index].into_iter().find(|path| path.is_file());
        }
        let file = Path::new(&from.name);
        let folder = file.parent().unwrap_or(Path::new(""));
        // The folder of a workflow in the program is none.
        let beside = file.is_file().then(|| file_of(folder, wanted)).flatten();
        beside.or_else(|| self.path_of(wanted))
    }

    /// Reads the nearest workflow whose file gives itself this id, whatever the file is called.
    fn by_id(&self, id: &str) -> Option<Result<Source, NotFound>> {
        let entries = self.list().into_iter().take(LOOKED_INTO_MAX);
        let files = entries.filter_map(|entry| entry.path);
        files
            .filter_map(|path| read(&path).ok())
            .find(|source| id_of(source).as_deref() == Some(id))
            .map(Ok)
    }
}

/// Files that are looked into for an id.
const LOOKED_INTO_MAX: usize = 500;

impl Workflows for Library {
    fn find(&self, id: &str) -> Option<Result<Source, String>> {
        let found = self.by_name(id).or_else(|| self.by_id(id));
        found.map(|found| found.map_err(|error| error.to_string()))
    }

    fn resolve(&self, from: &Source, wanted: &str) -> Option<Result<Source, String>> {
        let found = match self.path_from(from, wanted) {
            Some(path) => read(&path),
            None if wanted.contains('/') => return None,
            None => self.by_name(wanted)?,
        };
        Some(found.map_err(|error| error.to_string()))
    }

    fn has_program(&self, name: &str) -> Option<bool> {
        if name.contains('/') {
            return None;
        }
        let path = self.path.as_ref()?;
        Some(std::env::split_paths(path).any(|folder| folder.join(name).is_file()))
    }

    fn entries(&self, table: &str) -> Option<Vec<String>> {
        // A configuration that cannot be read is said where something of it is wanted.
        self.assets().as_ref().ok()?.ids(table)
    }

    fn assumes_configured(&self) -> bool {
        self.assumes_configured
    }

    fn configured(&self, table: &str, id: &str) -> Option<Result<Source, String>> {
        match self.assets() {
            Ok(assets) => assets.text(table, id),
            Err(why) => Some(Err(why.clone())),
        }
    }
}

/// Returns whether a text may be the name of a workflow.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(['/', '\\']) && !text.starts_with('.')
}

/// Finds the file of a workflow in a folder: `NAME/index.yaml`, then `NAME` with an ending.
fn file_of(folder: &Path, name: &str) -> Option<PathBuf> {
    candidates(folder, name).find(|path| path.is_file())
}

/// Lists where the file of a workflow may lie in a folder, in order.
fn candidates(folder: &Path, name: &str) -> impl Iterator<Item = PathBuf> + use<> {
    let index = folder.join(name).join("index.yaml");
    let with_ending = |ending| folder.join(format!("{name}.{ending}"));
    let others: Vec<PathBuf> = ENDINGS.into_iter().map(with_ending).collect();
    std::iter::once(index).chain(others)
}

/// Leaves `.` and `..` out of a path, by name alone, so that a file has one name.
fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir
                if matches!(
                    parts.components().next_back(),
                    Some(std::path::Component::Normal(_))
                ) =>
            {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
}

/// Lists the files in a folder, and in those below it, that may be workflows, in order.
///
/// Hidden folders and those of packages and of built things are left out.
///
/// # Errors
/// The folder cannot be read.
pub fn workflow_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        let entries = match fs::read_dir(&at) {
            Ok(entries) => entries,
            Err(error) if at == folder => return Err(error),
            Err(_) => continue,
        };
        for file in entries.flatten() {
            let path = file.path();
            let name = file.file_name();
            let name = name.to_str().unwrap_or_default();
            if file.file_type().is_ok_and(|kind| kind.is_dir()) {
                let skipped = name.starts_with('.') && name != ".interlock" && name != ".flowstate";
                if !skipped && !matches!(name, "node_modules" | "target") {
                    open.push(path);
                }
            } else if entry(Origin::Project, &path).is_some() && !name.starts_with('.') {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Asks whether a name was meant.
fn guess(near: Option<&str>) -> String {
    near.map(|near| format!("did you mean `{near}`? "))
        .unwrap_or_default()
}

fn stem(path: &Path) -> Option<&str> {
    path.file_stem()?.to_str()
}

/// Returns the workflow file in the same folder whose name is nearest, for a path that leads to none.
fn near_file(wanted: &Path) -> Option<String> {
    let ending = wanted.extension()?.to_str()?;
    if !ENDINGS.contains(&ending) {
        return None;
    }
    let folder = wanted.parent()?;
    let here = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let names: Vec<String> = fs::read_dir(here)
        .ok()?
        .flatten()
        .filter_map(|file| file.file_name().into_string().ok())
        .filter(|name| entry(Origin::Project, Path::new(name)).is_some())
        .collect();
    let near = nearest(
        wanted.file_name()?.to_str()?,
        names.iter().map(String::as_str),
    )?;
    Some(folder.join(near).display().to_string())
}

fn entry(origin: Origin, path: &Path) -> Option<Entry> {
    let index = path.join("index.yaml");
    if index.is_file() {
        return Some(Entry {
            name: path.file_name()?.to_str()?.to_owned(),
            origin,
            path: Some(index),
        });
    }
    let ending = path.extension()?.to_str()?;
    let name = path.file_stem()?.to_str()?;
    // `bugfix.test.yaml` holds cases and `bugfix.properties.yaml` what is proved; `.draft` waits for a person.
    let other = [".test", ".properties", ".draft"];
    let plain = ENDINGS.contains(&ending) && !other.iter().any(|ending| name.ends_with(ending));
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
    let bytes = fs::read(path).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        unreadable(io::Error::other(format!("byte {at} is not UTF-8")))
    })?;
    Ok(Source::new(path.display().to_string(), text))
}
