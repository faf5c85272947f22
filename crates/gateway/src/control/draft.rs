//! `create_workflow`: writes a draft, which only a person can turn into a workflow.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::Path,
};

use interlock_core::{call::ControlTool, machine::Object};
use interlock_formats::{Source, load};
use interlock_project::Library;
use serde_json::{Value, json};

use super::{Control, Incoming, caller::CallerRun, judged, workflows};
use crate::{
    answer::Answer,
    refused::{Refused, Word},
};

/// Maximum number of characters of a draft's name.
const NAME_CHARS_MAX: usize = 64;
/// Maximum size of a draft in bytes.
const BYTES_MAX: usize = 1_048_576;
/// Extensions that have another meaning in a workflow directory.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

impl Control {
    pub(super) fn drafted(&self, incoming: &Incoming) -> Result<Answer, Refused> {
        let (caller, arguments) = self.receive(ControlTool::CreateWorkflow, incoming)?;
        if let CallerRun::Run(run) = self.held(&caller, incoming)?
            && let Some(answer) = judged(
                &mut self.open(&run)?,
                ControlTool::CreateWorkflow,
                &caller,
                incoming,
            )?
        {
            return Ok(answer);
        }
        let name = arguments.text("name").unwrap_or_default();
        check_name(name)?;
        let library = self.library(&caller);
        let directory = self.root_of(&caller).join(".interlock").join("workflows");
        not_taken(&library, &directory, name)?;
        let text = checked_text(&Value::Object(arguments.object("definition")))?;
        let file = format!("{name}.draft.json");
        let loaded = load(&Source::new(file.as_str(), text.as_str()), None, &library).map_err(
            |diagnostics| {
                workflows::mistakes(
                    "the definition has mistakes and nothing was written",
                    &diagnostics,
                )
            },
        )?;
        if loaded.upstream_servers.is_some() {
            return Err(Refused::arguments(
                "a draft may not name `upstream_servers`: send the definition alone",
            ));
        }
        write_new(&directory, &file, &text)?;
        let shown = format!(".interlock/workflows/{file}");
        let message = format!(
            "the draft `{shown}` was written; it cannot be started until a person has read it and renamed it to `{name}.json`"
        );
        let mut object = Object::new();
        object.insert("draft".to_owned(), json!(shown));
        object.insert("warnings".to_owned(), json!(loaded.warnings));
        let answer = Answer::without_run(&message, object);
        Ok(match workflows::warnings(&loaded.warnings) {
            Some(text) => answer.with_text(&text),
            None => answer,
        })
    }
}

fn check_name(name: &str) -> Result<(), Refused> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(plain) {
        return Ok(());
    }
    Err(Refused::arguments(format!(
        "`{name}` cannot name a workflow: use 1 to {NAME_CHARS_MAX} letters, digits, `_` and `-`"
    )))
}

/// Refuses a name that a workflow, or a draft that waits for a person, already has.
fn not_taken(library: &Library, directory: &Path, name: &str) -> Result<(), Refused> {
    if let Some(known) = library
        .list()
        .iter()
        .find(|entry| entry.name.eq_ignore_ascii_case(name))
    {
        let message = format!(
            "a workflow called `{}` is there already: take another name",
            known.name
        );
        return Err(Refused::new(Word::NameTaken, message));
    }
    let drafts = ENDINGS.map(|ending| format!("{name}.draft.{ending}"));
    // A dangling link exists, too.
    if drafts
        .iter()
        .any(|draft| fs::symlink_metadata(directory.join(draft)).is_ok())
    {
        return Err(draft_taken(name));
    }
    Ok(())
}

fn draft_taken(name: &str) -> Refused {
    let message = format!("a draft called `{name}` waits for a person already: take another name");
    Refused::new(Word::NameTaken, message)
}

fn checked_text(definition: &Value) -> Result<String, Refused> {
    let mut text = serde_json::to_string_pretty(definition)
        .map_err(|error| Refused::arguments(format!("`definition` cannot be written: {error}")))?;
    text.push('\n');
    if text.len() > BYTES_MAX {
        return Err(Refused::arguments(format!(
            "`definition` has {} bytes and {BYTES_MAX} is the limit: make it smaller",
            text.len()
        )));
    }
    Ok(text)
}

/// Writes a file that must not exist yet; if writing fails, the file is removed.
fn write_new(directory: &Path, file: &str, text: &str) -> Result<(), Refused> {
    let path = directory.join(file);
    let failed = |error: io::Error| {
        Refused::new(
            Word::Unavailable,
            format!("`{}` cannot be written: {error}", path.display()),
        )
    };
    fs::create_dir_all(directory).map_err(failed)?;
    let mut new = match OpenOptions::new().write(true).create_new(true).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(draft_taken(file.trim_end_matches(".draft.json")));
        }
        opened => opened.map_err(failed)?,
    };
    if let Err(error) = new.write_all(text.as_bytes()).and_then(|()| new.sync_all()) {
        // The file is new and incomplete.
        let _ = fs::remove_file(&path);
        return Err(failed(error));
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[test]
    fn a_draft_that_came_meanwhile_is_not_written_over() {
        let room = tempfile::tempdir().unwrap();
        write_new(room.path(), "review.draft.json", "first").unwrap();
        let refused = write_new(room.path(), "review.draft.json", "second").unwrap_err();
        assert!(
            matches!(refused.word, Word::NameTaken),
            "{}",
            refused.message
        );
        let left = fs::read_to_string(room.path().join("review.draft.json"));
        assert_eq!(left.unwrap(), "first");
    }
}
