//! What a shell line would write and read on this disk.

mod asks;
mod copies;
mod counted;
mod links;
mod places;
mod spread;

use interlock_core::{
    call::{FileWrite, PathArea},
    facts::{PathText, PathUse, ShellFacts, SimpleCommand},
};
use interlock_shell::{Dialect, ShellContext};

use crate::{
    context::CallContext,
    disk::{Disk, Kind, state_of},
    edit::OldText,
    lines::count,
    path::{absolute, is_within, plain},
    place::{self, Located},
    touched::Deed,
    touched::{Touched, TouchedPath, program},
};

/// What a line would do, according to the disk.
pub(crate) struct LineRead {
    pub(crate) shell: ShellFacts,
    pub(crate) reads: Vec<String>,
    pub(crate) writes: Vec<FileWrite>,
    pub(crate) outside_directories: Vec<String>,
    pub(crate) strayed: Vec<usize>,
    /// Directory of each command relative to the project root; `None` if outside or unknown.
    pub(crate) directories: Vec<Option<String>>,
    pub(crate) touched: Vec<Touched>,
}

/// Parses a line and asks the disk where its paths lead.
pub(crate) fn read(
    line: &str,
    dialect: Dialect,
    directory: &str,
    context: &CallContext,
    disk: &dyn Disk,
) -> LineRead {
    let setting = ShellContext {
        dialect,
        directory: directory.to_owned(),
        project_root: context.project_root.clone(),
        home: context.home.clone(),
        temporary: context.temporary.clone(),
        user: context.user.clone(),
        transparent: context.transparent.clone(),
        variables: context.variables.clone(),
    };
    let mut shell = interlock_shell::read(line, &setting);
    asks::answer(&mut shell, context, disk);
    let shell = shell;
    let mut reader = Reader {
        context,
        disk,
        shell: &shell,
        writes: Vec::new(),
        touched: Vec::new(),
    };
    for used in &shell.writes {
        reader.write(used);
    }
    for used in &shell.removes {
        reader.remove(used);
    }
    reader.through_links();
    let reads = reader.reads();
    let Reader {
        writes, touched, ..
    } = reader;
    let directories = places::directories(&shell, context, disk);
    LineRead {
        reads,
        writes,
        touched,
        outside_directories: places::outside_directories(&shell, context, disk),
        strayed: places::strayed(&directories),
        directories,
        shell,
    }
}

pub(crate) use counted::other_names;
pub(crate) use spread::below as files_below;

struct Reader<'a> {
    context: &'a CallContext,
    disk: &'a dyn Disk,
    shell: &'a ShellFacts,
    writes: Vec<FileWrite>,
    touched: Vec<Touched>,
}

impl Reader<'_> {
    fn write(&mut self, used: &PathUse) {
        let PathText::Whole(path) = &used.path else {
            self.partly_known(used, Deed::Write);
            return;
        };
        let targets = self.targets(path, used);
        if self.takes_in(used, path, &targets) {
            self.of_unknown_number(used, path);
        }
        for path in targets {
            let Some(file) = self.find(&path) else {
                self.not_found(used, &path, Deed::Write);
                continue;
            };
            let lines = used.text.as_deref().map(|text| {
                if used.append {
                    count(text)
                } else {
                    OldText::read(&file.real, self.disk).touched_by_write(text)
                }
            });
            let lines = lines.or_else(|| counted::changes_no_text(&used.by).then_some(0));
            self.push(used, &file, lines, false);
            self.touch(file, Deed::Write, &used.by);
        }
        // For git, a directory means everything in it.
        let is_git = used.by.starts_with("git ") && !path.contains("/.git");
        if used.recursive || is_git {
            self.spread(used, path, Deed::Write);
        }
        if is_git && counted::restores(&used.by) && self.is_directory(path) {
            // What another commit has below it is unknown.
            self.of_unknown_number(used, path);
        }
    }

    /// Adds the files below a directory that is meant as a whole.
    fn spread(&mut self, used: &PathUse, directory: &str, deed: Deed) {
        let is_inside = is_within(directory, &self.context.project_root)
            && directory != self.context.project_root;
        if !is_inside {
            return;
        }
        for path in spread::below(directory, self.disk) {
            self.push_at(used, &path, deed);
        }
    }

    /// Adds the present matches of a pattern; returns whether it could be followed.
    fn matching(&mut self, used: &PathUse, below: &str, deed: Deed) -> bool {
        let Some(pattern) = &used.pattern else {
            return false;
        };
        let Some(mut paths) = spread::matching(pattern, below, self.disk) else {
            return false;
        };
        if paths.is_empty() {
            // A pattern without matches is a name.
            let start = pattern.split(['*', '?', '[']).next().unwrap_or_default();
            let base = below.strip_suffix(start).unwrap_or(below);
            paths.push(plain(&format!("{base}{pattern}")));
        }
        for path in paths {
            self.push_at(used, &path, deed);
            if used.recursive {
                self.spread(used, &path, deed);
            }
        }
        !used.recursive
    }

    /// Adds a file that the disk shows for a word of the line.
    fn push_at(&mut self, used: &PathUse, path: &str, deed: Deed) {
        let found = match deed {
            Deed::Remove => place::find_name(path, self.context, self.disk).ok(),
            _ => self.find(path),
        };
        if let Some(file) = found {
            let removes = deed == Deed::Remove;
            let lines = (!removes && counted::changes_no_text(&used.by)).then_some(0);
            self.push(used, &file, lines, removes);
            self.touch(file, deed, &used.by);
        }
    }

    fn remove(&mut self, used: &PathUse) {
        let PathText::Whole(path) = &used.path else {
            self.partly_known(used, Deed::Remove);
            return;
        };
        // The link itself is removed; its target is only checked for protection.
        match place::find_name(path, self.context, self.disk) {
            Ok(file) => {
                self.push(used, &file, None, true);
                let is_link = self.disk.real(&file.real).ok().as_deref() != Some(&file.real);
                self.touch(file, Deed::Remove, &used.by);
                if let Some(target) = self.find(path) {
                    self.touch(target, Deed::Remove, &used.by);
                }
                if used.recursive && !is_link {
                    self.spread(used, path, Deed::Remove);
                }
            }
            Err(_) => self.not_found(used, path, Deed::Remove),
        }
    }

    fn find(&self, path: &str) -> Option<Located> {
        place::find(path, self.context, self.disk).ok()
    }

    fn push(&mut self, used: &PathUse, file: &Located, lines: Option<u64>, removes: bool) {
        self.push_one(used, file, lines, removes);
        if !removes {
            for name in counted::other_names(file, self.context, self.disk) {
                self.push_one(used, &name, Some(0), false);
            }
        }
    }

    fn push_one(&mut self, used: &PathUse, file: &Located, lines: Option<u64>, removes: bool) {
        self.writes.push(FileWrite {
            path: Some(file.real.clone()),
            relative: file.relative.clone(),
            place: file.place,
            by: used.by.clone(),
            removes,
            recursive: used.recursive,
            lines,
            before: file
                .relative
                .is_some()
                .then(|| state_of(&file.real, self.disk)),
        });
    }

    fn touch(&mut self, file: Located, deed: Deed, by: &str) {
        self.touched.push(Touched {
            deed,
            path: TouchedPath::Found(file),
            by: by.to_owned(),
        });
    }

    /// Records a known path whose location is unknown.
    fn not_found(&mut self, used: &PathUse, path: &str, deed: Deed) {
        self.writes.push(FileWrite {
            path: None,
            relative: None,
            place: PathArea::Outside,
            by: used.by.clone(),
            removes: deed == Deed::Remove,
            recursive: used.recursive,
            lines: None,
            before: None,
        });
        let named = plain(path);
        self.touch(
            place::at(named.clone(), named, self.context),
            deed,
            &used.by,
        );
    }

    /// Records a path of which only the beginning, or nothing, is known.
    fn partly_known(&mut self, used: &PathUse, deed: Deed) {
        let below = match &used.path {
            PathText::Below(below) => Some(below),
            PathText::Whole(_) | PathText::Unknown => None,
        };
        if let Some(below) = below
            && self.matching(used, below, deed)
        {
            self.touched.push(Touched {
                deed,
                path: TouchedPath::Below(below.clone()),
                by: used.by.clone(),
            });
            return;
        }
        // Only a path that is entirely in one area has a known area: matches of a pattern do.
        let is_bounded = used.pattern.is_some();
        let place = below
            .and_then(|below| below.rsplit_once('/'))
            .and_then(|(directory, _)| {
                self.find(if directory.is_empty() { "/" } else { directory })
            })
            .map_or(PathArea::Unknown, |directory| match directory.place {
                PathArea::Outside => PathArea::Outside,
                // Home, unless the project is in it.
                PathArea::Whole
                    if !is_within(&self.context.project_root, &directory.real)
                        && !is_within(&directory.real, &self.context.project_root) =>
                {
                    PathArea::Outside
                }
                PathArea::Scratch => PathArea::Scratch,
                PathArea::Project if !used.recursive || is_bounded => PathArea::Project,
                // Files added below the project do not replace it.
                PathArea::Whole
                    if is_bounded
                        && deed == Deed::Write
                        && directory.real == self.context.project_root =>
                {
                    PathArea::Project
                }
                PathArea::Project | PathArea::Whole | PathArea::Unknown => PathArea::Unknown,
            });
        // The known beginning represents what follows.
        let relative = below
            .filter(|_| place == PathArea::Project)
            .and_then(|below| counted::beginning(below, self.context));
        self.writes.push(FileWrite {
            path: None,
            relative,
            place,
            by: used.by.clone(),
            removes: deed == Deed::Remove,
            recursive: used.recursive,
            lines: None,
            before: None,
        });
        if let Some(below) = below {
            self.touched.push(Touched {
                deed,
                path: TouchedPath::Below(below.clone()),
                by: used.by.clone(),
            });
        }
    }

    fn is_directory(&self, path: &str) -> bool {
        self.disk
            .look(path)
            .is_some_and(|seen| seen.kind == Kind::Directory)
    }

    /// Records that an unknown number of files is written below a path.
    fn of_unknown_number(&mut self, used: &PathUse, path: &str) {
        let place = self.find(path).map_or(PathArea::Unknown, |file| file.place);
        let place = match place {
            // Files added to the project do not replace it.
            PathArea::Whole => PathArea::Project,
            place => place,
        };
        self.writes.push(FileWrite {
            path: None,
            relative: counted::beginning(&format!("{path}/"), self.context),
            place,
            by: used.by.clone(),
            removes: false,
            recursive: false,
            lines: None,
            before: None,
        });
    }

    fn is_at(&self, command: &SimpleCommand, word: &str, path: &str) -> bool {
        self.whole(command, word)
            .is_some_and(|whole| plain(&whole) == path)
    }

    fn whole(&self, command: &SimpleCommand, word: &str) -> Option<String> {
        let directory = command.directory.as_deref()?;
        absolute(word, directory, self.context.home.as_deref()).ok()
    }

    fn reads(&mut self) -> Vec<String> {
        let mut reads = Vec::new();
        for used in &self.shell.reads {
            match &used.path {
                PathText::Whole(path) => {
                    let file = self
                        .find(path)
                        .unwrap_or_else(|| place::at(plain(path), plain(path), self.context));
                    let shown = file.relative.clone();
                    reads.push(shown.unwrap_or_else(|| file.real.clone()));
                    self.touch(file, Deed::Read, &used.by);
                }
                PathText::Below(below) => self.touched.push(Touched {
                    deed: Deed::Read,
                    path: TouchedPath::Below(below.clone()),
                    by: used.by.clone(),
                }),
                PathText::Unknown => {}
            }
        }
        reads
    }
}
