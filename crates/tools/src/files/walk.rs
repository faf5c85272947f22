//! The directory walk of searches and listings.

use std::path::Path;

use ignore::{DirEntry, Walk, WalkBuilder, overrides::OverrideBuilder};

use crate::{
    Code, ToolContext,
    disk::{self, Directory, Trouble},
    end::Failure,
    place::{self, Aim},
};

/// Maximum depth of directories.
const DEPTH_MAX: usize = 256;

/// What is left out of a walk.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Skipped<'a> {
    /// Whether ignored files are left out.
    pub(crate) ignored: bool,
    /// Whether version control's own directory is included.
    pub(crate) version_control: bool,
    /// Whether subdirectories are left out.
    pub(crate) below: bool,
    /// Only matching files, as in ripgrep's `--glob`.
    pub(crate) glob: Option<&'a str>,
}

/// Walks through `real` in the order of paths, without following links.
pub(crate) fn walk(
    real: &str,
    left: Skipped<'_>,
    context: &ToolContext<'_>,
) -> Result<Walk, Failure> {
    let mut builder = WalkBuilder::new(real);
    builder
        .standard_filters(false)
        .follow_links(false)
        .max_depth(Some(if left.below { 1 } else { DEPTH_MAX }))
        .sort_by_file_name(Ord::cmp);
    if left.ignored {
        // Ignore files apply without a repository, too; a person's own settings do not.
        builder
            .parents(true)
            .ignore(true)
            .git_ignore(true)
            .git_exclude(true)
            .require_git(false);
    }
    if let Some(glob) = left.glob {
        let wrong =
            |error: ignore::Error| Failure::new(Code::InvalidArguments, format!("`glob`: {error}"));
        let mut overrides = OverrideBuilder::new(real);
        overrides.add(glob).map_err(wrong)?;
        builder.overrides(overrides.build().map_err(wrong)?);
    }
    let state = context.call_context.state_directory.clone();
    builder.filter_entry(move |entry| may_enter(entry, left.version_control, state.as_deref()));
    Ok(builder.build())
}

fn may_enter(entry: &DirEntry, version_control: bool, state: Option<&str>) -> bool {
    if entry.depth() == 0 {
        return true;
    }
    let path = entry.path();
    let hidden = state.is_some_and(|state| path.starts_with(state));
    let no_file = path.to_str().is_some_and(place::is_no_file);
    let own = !version_control && entry.file_name() == ".git";
    !(hidden || no_file || own)
}

/// The start of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Directory,
    File,
}

/// Determines what is at a path without links.
pub(crate) fn start(real: &str, shown: &str) -> Result<Start, Failure> {
    let failed = |trouble: Trouble| trouble.of(shown, Aim::Read);
    if real == "/" {
        return Ok(Start::Directory);
    }
    let (directory, name) = disk::split(real);
    let directory = Directory::open(directory).map_err(failed)?;
    let stat = directory
        .look(name)
        .and_then(|stat| stat.ok_or(Trouble::System(rustix::io::Errno::NOENT)))
        .map_err(failed)?;
    match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
        rustix::fs::FileType::Directory => Ok(Start::Directory),
        _ => disk::regular(&stat).map(|()| Start::File).map_err(failed),
    }
}

/// Does the same, but accepts only a directory.
pub(crate) fn directory(real: &str, shown: &str) -> Result<(), Failure> {
    match start(real, shown) {
        Ok(Start::Directory) => Ok(()),
        Ok(Start::File) => Err(not_a_directory(shown)),
        Err(failure) if failure.code == Code::NotAFile => Err(not_a_directory(shown)),
        Err(failure) => Err(failure),
    }
}

fn not_a_directory(shown: &str) -> Failure {
    Failure::new(Code::NotADirectory, format!("`{shown}` is not a directory"))
}

/// Returns whether an entry of a walk is a regular file.
pub(crate) fn is_file(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_file())
}

/// Returns a path of the walk, relative to its start.
pub(crate) fn below<'p>(path: &'p Path, real: &str) -> &'p Path {
    path.strip_prefix(real).unwrap_or(path)
}
