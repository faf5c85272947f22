//! Location of a path, with links resolved.

use interlock_core::call::PathArea;

use crate::{
    context::CallContext,
    disk::{Disk, DiskError},
    path::{PathError, absolute, is_within, plain, relative},
};

/// A located path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Path as named, made absolute and without `.` and `..`.
    pub named: String,
    /// Real path.
    pub real: String,
    /// Real path relative to the project root; `None` if it is outside the project.
    pub relative: Option<String>,
    /// Area of the path.
    pub place: PathArea,
}

/// Why a path cannot be located.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LocateError {
    /// Its text is not a path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The disk gave no answer.
    #[error("`{path}` cannot be followed: {source}")]
    Disk {
        /// Path, as it was named.
        path: String,
        /// Reason given by the disk.
        source: DiskError,
    },
    /// It goes through a link and back up, which programs resolve in two ways.
    #[error("`{0}` goes through a link and back up again: write the path out")]
    UpThroughLink(String),
}

/// Locates a path that a tool names.
///
/// # Errors
/// Returns why it cannot be judged, for the agent.
pub fn locate(path: &str, context: &CallContext, disk: &dyn Disk) -> Result<Located, String> {
    find(path, context, disk).map_err(|error| error.to_string())
}

pub(crate) fn find(
    path: &str,
    context: &CallContext,
    disk: &dyn Disk,
) -> Result<Located, LocateError> {
    let whole = absolute(path, &context.site.cwd, context.home.as_deref())?;
    let named = plain(&whole);
    let follow = |path: &str| {
        disk.real(path).map_err(|source| LocateError::Disk {
            path: short(path),
            source,
        })
    };
    let real = follow(&named)?;
    // Some programs resolve `..` lexically, the system follows the link first.
    if whole.contains("..") && follow(&whole)? != real {
        return Err(LocateError::UpThroughLink(short(path)));
    }
    Ok(at(named, real, context))
}

/// Locates the name itself: links before it are resolved, but not its own.
pub(crate) fn find_name(
    named: &str,
    context: &CallContext,
    disk: &dyn Disk,
) -> Result<Located, DiskError> {
    let (directory, name) = named.rsplit_once('/').unwrap_or(("", named));
    let real = match name {
        "" => "/".to_owned(),
        name => {
            let directory = if directory.is_empty() { "/" } else { directory };
            let directory = disk.real(directory)?;
            plain(&format!("{directory}/{name}"))
        }
    };
    Ok(at(named.to_owned(), real, context))
}

/// Returns the location of a resolved path.
pub(crate) fn at(named: String, real: String, context: &CallContext) -> Located {
    let relative = relative(&real, &context.project_root)
        .filter(|relative| !relative.is_empty())
        .map(str::to_owned);
    Located {
        place: place(&real, context),
        named,
        real,
        relative,
    }
}

/// Directories below home in which clients store plans that their own tools write.
const PLANS: [&str; 3] = [
    ".claude/plans",
    ".cursor/plans",
    ".local/share/opencode/plans",
];

/// Returns the area of a file that a client's own tool writes: the client may write its plans.
pub(crate) fn of_tool(file: &Located, context: &CallContext) -> PathArea {
    let home = context.home.iter();
    let below_home = home.flat_map(|home| PLANS.map(|plans| format!("{home}/{plans}")));
    let moved = context
        .moved
        .iter()
        .filter(|(standard, _)| standard == ".claude")
        .map(|(_, actual)| format!("{actual}/plans"));
    let is_plan = below_home
        .chain(moved)
        .any(|plans| file.real != plans && is_within(&file.real, &plans));
    match file.place {
        PathArea::Outside if is_plan => PathArea::Scratch,
        place => place,
    }
}

/// Returns the area of a real path.
fn place(path: &str, context: &CallContext) -> PathArea {
    let home = context.home.as_deref();
    if is_within(&context.project_root, path)
        || home.is_some_and(|home| is_within(home, path))
        || path.ends_with("/.git")
    {
        return PathArea::Whole;
    }
    // The nearest known directory decides: a project may be below the temporary one.
    let parent = context.project_root.rsplit_once('/').map(|(up, _)| up);
    let temporary = context.temporary.as_deref();
    let scratch = |directory| (directory, PathArea::Scratch);
    let known = [(context.project_root.as_str(), PathArea::Project)]
        .into_iter()
        .chain(temporary.map(scratch))
        .chain(
            context
                .caches
                .iter()
                .chain(&context.writable)
                .map(|cache| scratch(cache.as_str())),
        )
        .chain(home.map(|home| (home, PathArea::Outside)))
        .chain(
            parent
                .filter(|up| !up.is_empty() && Some(*up) != temporary)
                .map(|up| (up, PathArea::Outside)),
        );
    known
        .filter(|(directory, _)| is_within(path, directory))
        .max_by_key(|(directory, place)| (directory.len(), *place == PathArea::Scratch))
        .map_or(PathArea::Outside, |(_, place)| place)
}

fn short(path: &str) -> String {
    if path.chars().count() <= 120 {
        return path.to_owned();
    }
    path.chars().take(117).chain("...".chars()).collect()
}
