//! `Edit` and `MultiEdit`.

use serde_json::Value;

use crate::{
    Code, SeenFile, ToolContext, ToolEnd,
    disk::{self, Directory, Trouble},
    end::Failure,
    input::{is_set, text},
    place::{self, Aim, Bounds},
};

/// Maximum size of a file that is edited, in bytes, as for the facts of an edit.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Maximum size of the text that an edit may produce, in bytes.
const RESULT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A replacement of text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replacement<'a> {
    pub(crate) old: &'a str,
    pub(crate) new: &'a str,
    pub(crate) all: bool,
}

impl<'a> Replacement<'a> {
    pub(crate) fn of(input: &'a Value) -> Self {
        Self {
            old: text(input, "old_string"),
            new: text(input, "new_string"),
            all: is_set(input, "replace_all"),
        }
    }

    /// Applies it to `text`; returns the new text and the number of replacements.
    pub(crate) fn make(self, text: &str) -> Result<(String, usize), (Code, String)> {
        if self.old == self.new {
            let message = "the old and the new text are the same";
            return Err((Code::NoChange, message.to_owned()));
        }
        let count = text.matches(self.old).count();
        match count {
            0 => {
                let mut message = "the old text is not in it".to_owned();
                if self.old.contains('\n') && text.contains("\r\n") && !self.old.contains("\r\n") {
                    message.push_str(": its lines end with CR LF");
                }
                return Err((Code::NoMatch, message));
            }
            2.. if !self.all => {
                let message = format!(
                    "the old text is in it {count} times: include more of the surrounding text, or set replace_all"
                );
                return Err((Code::ManyMatches, message));
            }
            _ => {}
        }
        let grown = self.new.len().saturating_mul(count);
        if text.len().saturating_add(grown) > RESULT_BYTES_MAX {
            let message = "it would become too large".to_owned();
            return Err((Code::TooLarge, message));
        }
        Ok((text.replace(self.old, self.new), count))
    }
}

/// Replaces one text.
pub(crate) fn one(input: &Value, context: &ToolContext<'_>) -> Result<ToolEnd, Failure> {
    replace(input, &[Replacement::of(input)], context)
}

/// Replaces several texts one after the other, all or none.
pub(crate) fn several(input: &Value, context: &ToolContext<'_>) -> Result<ToolEnd, Failure> {
    let edits = input.get("edits").and_then(Value::as_array);
    let edits: Vec<_> = edits.into_iter().flatten().map(Replacement::of).collect();
    replace(input, &edits, context)
}

fn replace(
    input: &Value,
    edits: &[Replacement<'_>],
    context: &ToolContext<'_>,
) -> Result<ToolEnd, Failure> {
    let found = place::find(
        text(input, "file_path"),
        Aim::Write,
        Bounds::Project,
        context,
    )?;
    let shown = place::shown(&found.real, context);
    let failed = |trouble: Trouble| trouble.of(&shown, Aim::Write);
    let (directory, name) = disk::split(&found.real);
    let directory = Directory::open(directory).map_err(failed)?;
    let mut opened = directory.file(name).map_err(failed)?;
    let bytes = opened
        .read(FILE_BYTES_MAX, context.cancel)
        .map_err(failed)?;
    check_seen(&found.real, &shown, &disk::digest(&bytes), context)?;
    let old = String::from_utf8(bytes)
        .map_err(|_| Failure::new(Code::Binary, format!("`{shown}` is not UTF-8 text")))?;
    let (new, places) = made(&old, edits, &shown)?;
    if new == old {
        let message = format!("`{shown}` would be as it is");
        return Err(Failure::new(Code::NoChange, message));
    }
    directory
        .replace(name, Some(&opened.stat), new.as_bytes())
        .map_err(failed)?;
    let things = if places == 1 { "place" } else { "places" };
    let mut text = format!("replaced {places} {things} in `{shown}`");
    if opened.stat.st_nlink > 1 {
        text.push_str(crate::files::write::OTHER_NAMES);
    }
    Ok(crate::files::write::written(
        found.real,
        new.as_bytes(),
        text,
        context,
    ))
}

/// Applies every edit, or returns which one cannot be applied.
fn made(old: &str, edits: &[Replacement<'_>], shown: &str) -> Result<(String, usize), Failure> {
    let mut text = old.to_owned();
    let mut places = 0;
    for (index, edit) in edits.iter().enumerate() {
        let (after, count) = edit.make(&text).map_err(|(code, why)| {
            let which = if edits.len() > 1 {
                format!("edit {} of {}: ", index + 1, edits.len())
            } else {
                String::new()
            };
            let nothing = if edits.len() > 1 {
                "; none of them was applied"
            } else {
                ""
            };
            Failure::new(code, format!("`{shown}`: {which}{why}{nothing}"))
        })?;
        text = after;
        places += count;
    }
    Ok((text, places))
}

/// Refuses a file that the model has not read, or that has changed since.
fn check_seen(
    real: &str,
    shown: &str,
    now: &str,
    context: &ToolContext<'_>,
) -> Result<(), Failure> {
    match context.seen.digest_of(real) {
        Some(seen) if seen == now => Ok(()),
        Some(_) => Err(Failure::new(
            Code::StaleFile,
            format!("`{shown}` has changed since it was read: read it again"),
        )),
        None => Err(Failure::new(
            Code::NotRead,
            format!("`{shown}` was not read yet: read it first"),
        )),
    }
}

/// Records the contents of a file for the model.
pub(crate) fn seen(path: String, bytes: &[u8]) -> SeenFile {
    SeenFile {
        path,
        digest: disk::digest(bytes),
    }
}
