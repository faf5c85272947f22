//! `Write` and `write_file`.

use serde_json::{Value, json};

use crate::{
    ToolContext, ToolEnd,
    disk::{self, Directory, Trouble},
    end::Failure,
    files::edit,
    input::text,
    place::{self, Aim, Bounds},
};

/// Remark about a file with other names, which keep the old contents.
pub(crate) const OTHER_NAMES: &str =
    "; the file had other names (hard links), which keep the old content";

/// Writes an entire file.
pub(crate) fn whole(input: &Value, context: &ToolContext<'_>) -> Result<ToolEnd, Failure> {
    let content = text(input, "content");
    let put = put(text(input, "file_path"), content, Bounds::Project, context)?;
    let lines = content.lines().count();
    let what = if put.is_new { "made" } else { "replaced" };
    let mut text = format!(
        "{what} `{}`: {lines} lines, {} bytes",
        put.shown,
        content.len()
    );
    if put.has_other_names {
        text.push_str(OTHER_NAMES);
    }
    Ok(written(put.real, content.as_bytes(), text, context))
}

/// Writes an entire file, with the answer of CodeMie's tool.
pub(crate) fn told_as_object(input: &Value, context: &ToolContext<'_>) -> Result<ToolEnd, Failure> {
    let content = text(input, "content");
    let put = put(text(input, "path"), content, Bounds::Datasources, context)?;
    let text = json!({"path": put.shown, "bytes": content.len()}).to_string();
    Ok(written(put.real, content.as_bytes(), text, context))
}

/// A file that was written.
struct Put {
    real: String,
    shown: String,
    is_new: bool,
    has_other_names: bool,
}

fn put(
    path: &str,
    content: &str,
    bounds: Bounds,
    context: &ToolContext<'_>,
) -> Result<Put, Failure> {
    let found = place::find(path, Aim::Write, bounds, context)?;
    let shown = place::shown(&found.real, context);
    let failed = |trouble: Trouble| trouble.of(&shown, Aim::Write);
    let (directory, name) = disk::split(&found.real);
    if path.ends_with('/') {
        return Err(failed(Trouble::NotAFile));
    }
    let directory = Directory::make(directory).map_err(failed)?;
    let before = directory.look(name).map_err(failed)?;
    if let Some(before) = &before {
        disk::regular(before).map_err(failed)?;
    }
    directory
        .replace(name, before.as_ref(), content.as_bytes())
        .map_err(failed)?;
    Ok(Put {
        shown,
        real: found.real,
        is_new: before.is_none(),
        has_other_names: before.is_some_and(|before| before.st_nlink > 1),
    })
}

/// Ends a call that wrote a file, whose contents are known from now on.
pub(crate) fn written(
    real: String,
    bytes: &[u8],
    text: String,
    context: &ToolContext<'_>,
) -> ToolEnd {
    let file = edit::seen(real.clone(), bytes);
    context.seen.note(&file);
    ToolEnd {
        wrote: vec![real],
        seen: vec![file],
        ..ToolEnd::done(text)
    }
}
