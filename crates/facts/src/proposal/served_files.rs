//! The files of a call of a server's tool.

use std::borrow::Cow;

use interlock_core::call::PathArea;
use interlock_shell::Dialect;
use serde_json::Value;

use super::{Finder, Found, LINES, optional};
use crate::{
    disk::Disk,
    edit::{OldText, Replacement},
    lines,
    path::is_within,
    place::{self, Located},
    served::{FileUse, TextUse, named},
    shape::Shape,
    shell,
    touched::Deed,
};

impl Finder<'_> {
    /// Determines what a server's tool does with the files in its arguments.
    pub(super) fn served(&mut self, input: &Value, files: &FileUse) -> Found {
        if let Some(line) = &files.line {
            let shape = Shape::Shell {
                dialect: Dialect::Unknown,
                line: "",
                directory: None,
                environment: None,
            };
            self.shell(input, shape, line, None)?;
        }
        if files.sure {
            let fields = [&files.reads, &files.removes, &files.writes];
            fields
                .into_iter()
                .flatten()
                .try_for_each(|field| is_text(input, field))?;
        }
        for field in &files.reads {
            for path in local(input, field, files) {
                self.read_one(&path).or_else(|why| excused(files, why))?;
            }
        }
        for field in &files.removes {
            for path in local(input, field, files) {
                match self.file(&path, Deed::Remove) {
                    Ok(file) => {
                        let file = guessed(file, files, self.disk);
                        let moved = !files.writes.is_empty();
                        let old = OldText::read(&file.real, self.disk);
                        let lines = if moved { 0 } else { old.touched_by_removal() };
                        self.written(&file, Some(lines), true);
                        self.all_below(&file.real, &file.real, true);
                    }
                    Err(why) => excused(files, why)?,
                }
            }
        }
        let sources = self.sources(input, files);
        for field in &files.writes {
            for path in local(input, field, files) {
                match self.file(&path, Deed::Write) {
                    Ok(file) => {
                        let file = guessed(file, files, self.disk);
                        let lines = touched_lines(input, &files.text, &file, self.disk)?;
                        let known = lines.is_some()
                            && self.facts.writes.iter().all(|write| write.lines.is_some());
                        self.written(&file, lines, false);
                        for source in &sources {
                            self.all_below(source, &file.real, false);
                        }
                        if !known {
                            self.facts.edit_lines = None;
                        }
                    }
                    Err(why) => excused(files, why)?,
                }
            }
        }
        Ok(())
    }

    /// Returns what a call moves or copies, if it writes no text of its own.
    fn sources(&self, input: &Value, files: &FileUse) -> Vec<String> {
        if files.text != TextUse::Nothing {
            return Vec::new();
        }
        let fields = files.removes.iter().chain(&files.reads);
        let named = fields.flat_map(|field| local(input, field, files));
        named
            .filter_map(|path| place::find(&path, self.context, self.disk).ok())
            .map(|file| file.real)
            .collect()
    }

    /// Adds the files below a directory that is removed or moved.
    fn all_below(&mut self, directory: &str, at: &str, removes: bool) {
        if !is_within(directory, &self.context.project_root) {
            return;
        }
        for path in shell::files_below(directory, self.disk) {
            let Some(rest) = path.strip_prefix(directory) else {
                continue;
            };
            let path = format!("{at}{rest}");
            let file = place::at(path.clone(), path, self.context);
            self.written_as(&file, Some(0), removes);
        }
    }

    /// Searches the command lines of an unknown tool for protected files.
    pub(super) fn protect_lines(&mut self, input: &Value) {
        let lines: Vec<String> = LINES
            .iter()
            .filter_map(|field| match input.get(field)? {
                Value::String(line) => Some(line.clone()),
                Value::Array(words) => {
                    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                    Some(words.join(" "))
                }
                _ => None,
            })
            .collect();
        for line in lines {
            let context = self.context;
            let here = &context.site.cwd;
            let read = shell::read(&line, context.site.shell, here, context, self.disk);
            let thing = self.guarded.in_line(&line, &read.shell, &read.touched);
            self.protect(thing);
        }
    }
}

/// Returns the local path in an argument: not a URL of any scheme except `file:`.
fn local<'v>(input: &'v Value, field: &str, files: &FileUse) -> Vec<Cow<'v, str>> {
    let paths = named(input, field).into_iter().filter(|path| {
        let scheme = path.split_once("://").map(|(scheme, _)| scheme.trim());
        !path.is_empty()
            && scheme.is_none_or(|scheme| {
                scheme.eq_ignore_ascii_case("file")
                    || !scheme
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
            })
    });
    paths.map(|path| plain_address(path, files)).collect()
}

/// Normalizes a `file:` URL; any other path stays unchanged.
fn plain_address<'v>(path: &'v str, files: &FileUse) -> Cow<'v, str> {
    let bare = path.trim();
    let rest = bare
        .split_at_checked("file:".len())
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("file:"))
        .map(|(_, rest)| rest);
    match rest.map(|rest| (rest, rest.strip_prefix("//"))) {
        None => Cow::Borrowed(path),
        Some((rest, None)) if rest.starts_with('/') => Cow::Owned(format!("file://{rest}")),
        Some((rest, None)) => Cow::Borrowed(rest),
        // For a tool that only may write files, the host is ignored as the tool may do.
        Some((_, Some(address))) if !files.sure => match address.split_once('/') {
            Some((_, path)) => Cow::Owned(format!("file:///{path}")),
            None => Cow::Borrowed(bare),
        },
        Some((_, Some(_))) => Cow::Borrowed(bare),
    }
}

/// Refuses an argument for a file that is not text.
fn is_text(input: &Value, field: &str) -> Found {
    let texts = |items: &[Value]| named(input, field).len() == items.len();
    match input.get(field) {
        None | Some(Value::Null | Value::String(_)) => Ok(()),
        Some(Value::Array(items)) if texts(items) => Ok(()),
        Some(_) => Err(format!("`{field}` is not text")),
    }
}

/// Drops the location of a guessed path if no directory of this machine begins like it.
///
/// Servers have trees of their own: `/Designs/logo` need not be a file here.
fn guessed(mut file: Located, files: &FileUse, disk: &dyn Disk) -> Located {
    let first = file.named.split('/').nth(1).unwrap_or_default();
    let is_here = || disk.look(&format!("/{first}")).is_some();
    if !files.sure && file.place == PathArea::Outside && !is_here() {
        file.place = PathArea::Unknown;
    }
    file
}

/// Ignores a guessed argument that is not a path.
fn excused(files: &FileUse, why: String) -> Found {
    if files.sure { Err(why) } else { Ok(()) }
}

/// Counts the lines that a server's tool touches in a file; returns `None` if unknown.
fn touched_lines(
    input: &Value,
    text: &TextUse,
    file: &Located,
    disk: &dyn Disk,
) -> Result<Option<u64>, String> {
    let old = || OldText::read(&file.real, disk);
    Ok(match text {
        TextUse::Unknown => None,
        TextUse::Nothing => Some(0),
        TextUse::Whole(field) => {
            let new = optional(input, field)?.unwrap_or_default();
            Some(old().touched_by_write(new))
        }
        TextUse::Part(fields) => {
            let texts: Vec<&str> = fields
                .iter()
                .filter_map(|field| input.get(field)?.as_str())
                .collect();
            let lines = texts.iter().map(|text| lines::count(text));
            (!texts.is_empty()).then(|| lines.fold(0, u64::saturating_add))
        }
        TextUse::Edits {
            list,
            old: goes,
            new: comes,
        } => {
            let edits = match list.as_ref().map(|list| (list, input.get(list))) {
                None => std::slice::from_ref(input),
                Some((_, None)) => &[],
                Some((_, Some(Value::Array(edits)))) => edits.as_slice(),
                Some((list, Some(_))) => return Err(format!("`{list}` is not a list")),
            };
            let mut text = old();
            let mut sum = 0_u64;
            for edit in edits {
                let replacement = Replacement {
                    old: optional(edit, goes)?.unwrap_or_default(),
                    new: optional(edit, comes)?.unwrap_or_default(),
                    all: false,
                };
                let (lines, after) = replacement.apply(text);
                sum = sum.saturating_add(lines);
                text = after;
            }
            Some(sum)
        }
    })
}
