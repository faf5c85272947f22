//! What an MCP server's tool does with the files in its arguments.
//!
//! Servers name their tools freely. A table has the tools of common file servers; for any other tool, the words of its name
//! determine what it does, and what a server declares can only reduce that.

use serde_json::Value;

/// Arguments of a call that name files, and what happens to these files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileUse {
    /// Arguments with files that it reads.
    pub reads: Vec<String>,
    /// Arguments with files that it writes.
    pub writes: Vec<String>,
    /// Arguments with files that it removes or moves away.
    pub removes: Vec<String>,
    /// How the arguments contain the written text.
    pub text: TextUse,
    /// Argument with a shell line that it runs.
    pub line: Option<String>,
    /// Whether an argument must be a file; otherwise values that are not paths are ignored.
    pub sure: bool,
}

/// How the arguments of a call contain the text that it writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum TextUse {
    /// Not at all, or unknown.
    #[default]
    Unknown,
    /// It writes no text: it creates a directory or moves a file.
    Nothing,
    /// This argument is the complete new text.
    Whole(String),
    /// These arguments, if given, are parts of the new text.
    Part(Vec<String>),
    /// This argument lists replacements, each with an old and a new text.
    Edits {
        /// Argument with the list; `None` if the call itself is the replacement.
        list: Option<String>,
        /// Field with the text to replace.
        old: String,
        /// Field with the new text.
        new: String,
    },
}

/// What a tool in the table does with its files.
enum Deed {
    Read,
    Make,
    Write(&'static str),
    Edit(Option<&'static str>, &'static str, &'static str),
    Remove,
    Move,
    Copy,
}

/// Tools of common file servers: names, the arguments that name files, and what happens to these.
const TABLE: &[(&[&str], &[&str], Deed)] = &[
    (
        &[
            "read_file",
            "read_text_file",
            "read_media_file",
            "list_directory",
            "list_directory_with_sizes",
            "directory_tree",
            "search_files",
            "get_file_info",
        ],
        &["path"],
        Deed::Read,
    ),
    (&["read_multiple_files"], &["paths"], Deed::Read),
    (
        &["write_file", "create_file"],
        &["path", "file_path"],
        Deed::Write("content"),
    ),
    (
        &["create_text_file", "write_text_file"],
        &["relative_path", "path"],
        Deed::Write("content"),
    ),
    (
        &["create_new_file_with_text", "replace_file_text_by_path"],
        &["pathInProject"],
        Deed::Write("text"),
    ),
    (
        &["edit_file"],
        &["path", "file_path"],
        Deed::Edit(Some("edits"), "oldText", "newText"),
    ),
    (
        &["edit_block"],
        &["file_path"],
        Deed::Edit(None, "old_string", "new_string"),
    ),
    (&["create_directory"], &["path"], Deed::Make),
    (
        &[
            "delete_file",
            "remove_file",
            "delete_directory",
            "remove_directory",
        ],
        &["path", "file_path"],
        Deed::Remove,
    ),
    (
        &[
            "move_file",
            "rename_file",
            "move_directory",
            "rename_directory",
        ],
        &["source", "destination"],
        Deed::Move,
    ),
    (
        &["copy_file", "copy_directory"],
        &["source", "destination"],
        Deed::Copy,
    ),
];

/// Arguments that name files, whatever the tool.
const PATHS: [&str; 29] = [
    "path",
    "paths",
    "file",
    "files",
    "file_path",
    "filePath",
    "filepath",
    "file_paths",
    "filePaths",
    "filename",
    "file_name",
    "fileName",
    "relative_path",
    "relativePath",
    "pathInProject",
    "absolute_path",
    "target_file",
    "targetFile",
    "notebook_path",
    "output_path",
    "outputPath",
    "directory",
    "dir",
    "folder",
    "directory_path",
    "dir_path",
    "folder_path",
    "uri",
    "new_path",
];
/// Arguments that name a source.
const SOURCES: [&str; 15] = [
    "source",
    "src",
    "from",
    "old_path",
    "oldPath",
    "source_path",
    "sourcePath",
    "src_path",
    "from_path",
    "fromPath",
    "source_dir",
    "source_directory",
    "source_file",
    "oldpath",
    "old",
];
/// Arguments that name a destination.
const DESTINATIONS: [&str; 20] = [
    "destination",
    "dest",
    "dst",
    "to",
    "newPath",
    "destination_path",
    "destinationPath",
    "target_path",
    "targetPath",
    "dest_path",
    "dst_path",
    "to_path",
    "toPath",
    "destination_dir",
    "destination_directory",
    "destination_file",
    "target_dir",
    "target_directory",
    "newpath",
    "output",
];
/// Arguments that contain text to write.
const TEXTS: [&str; 12] = [
    "content",
    "contents",
    "text",
    "new_text",
    "newText",
    "new_string",
    "new_str",
    "new_content",
    "file_text",
    "data",
    "patch",
    "diff",
];

/// Words of a tool's name that suggest that it changes files.
const WRITES: [&str; 18] = [
    "write",
    "edit",
    "create",
    "update",
    "append",
    "patch",
    "replace",
    "insert",
    "save",
    "put",
    "modify",
    "overwrite",
    "touch",
    "mkdir",
    "make",
    "apply",
    "format",
    "download",
];
/// Words that suggest that it removes files.
const REMOVES: [&str; 4] = ["delete", "remove", "unlink", "rm"];
/// Words that suggest that it moves files.
const MOVES: [&str; 3] = ["move", "rename", "mv"];
/// Words that suggest that it copies files.
const COPIES: [&str; 2] = ["copy", "cp"];

impl FileUse {
    /// Determines what the tool that some client calls `name` does with files.
    ///
    /// `read_only` is what its server declares; it is ignored for a tool in the table.
    #[must_use]
    pub fn of(name: &str, input: &Value, read_only: bool) -> Self {
        let known = TABLE
            .iter()
            .find(|(names, _, _)| names.iter().any(|known| ends_with(name, known)));
        if let Some((_, fields, deed)) = known
            && fields.iter().any(|field| names_something(input, field))
        {
            return of_row(fields, deed, input);
        }
        let there = |fields: &[&str]| -> Vec<String> {
            let named = fields.iter().filter(|field| names_something(input, field));
            named.map(|field| (*field).to_owned()).collect()
        };
        let (paths, from, to) = (there(&PATHS), there(&SOURCES), there(&DESTINATIONS));
        let words = words(name);
        let says = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        let mut found = Self {
            text: TextUse::Part(TEXTS.iter().map(|field| (*field).to_owned()).collect()),
            ..Self::default()
        };
        if read_only {
            found.reads = [paths, from, to].concat();
        } else if says(&REMOVES) {
            found.removes = [paths, from, to].concat();
        } else if says(&MOVES) {
            found.removes = [paths, from].concat();
            found.writes = to;
            found.text = TextUse::Nothing;
        } else if says(&COPIES) {
            found.reads = [paths, from].concat();
            found.writes = to;
            found.text = TextUse::Nothing;
        } else if says(&WRITES) {
            found.reads = from;
            found.writes = [paths, to].concat();
        } else {
            found.reads = [paths, from].concat();
        }
        found
    }

    /// Returns whether the call changes a file.
    #[must_use]
    pub fn changes(&self) -> bool {
        !self.writes.is_empty() || !self.removes.is_empty()
    }
}

fn of_row(fields: &[&str], deed: &Deed, input: &Value) -> FileUse {
    let there = fields.iter().filter(|field| names_something(input, field));
    let mut paths: Vec<String> = there.map(|field| (*field).to_owned()).collect();
    let mut found = FileUse {
        sure: true,
        text: TextUse::Nothing,
        ..FileUse::default()
    };
    match deed {
        Deed::Read => found.reads = paths,
        Deed::Make => found.writes = paths,
        Deed::Write(content) => {
            found.writes = paths;
            found.text = TextUse::Whole((*content).to_owned());
        }
        Deed::Edit(list, old, new) => {
            found.writes = paths;
            found.text = TextUse::Edits {
                list: list.map(str::to_owned),
                old: (*old).to_owned(),
                new: (*new).to_owned(),
            };
        }
        Deed::Remove => found.removes = paths,
        Deed::Move | Deed::Copy => {
            found.writes = paths.split_off(paths.len().min(1));
            if matches!(deed, Deed::Move) {
                found.removes = paths;
            } else {
                found.reads = paths;
            }
        }
    }
    found
}

/// Returns whether the key of an object may be a path, as in a map from files to their texts.
pub(crate) fn may_be_path(key: &str) -> bool {
    key.contains(['/', '.', '\\'])
}

/// Returns the names in an argument: a text, a list of texts or of objects with one, or an object's keys.
pub(crate) fn named<'v>(input: &'v Value, field: &str) -> Vec<&'v str> {
    match input.get(field) {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| match item {
                Value::String(text) => Some(text.as_str()),
                Value::Object(_) => PATHS.iter().find_map(|field| item.get(field)?.as_str()),
                _ => None,
            })
            .collect(),
        Some(Value::Object(object)) => {
            let own = PATHS.iter().find_map(|field| object.get(*field)?.as_str());
            let keys = object.keys().map(String::as_str);
            own.into_iter()
                .chain(keys.filter(|key| may_be_path(key)))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn names_something(input: &Value, field: &str) -> bool {
    named(input, field).iter().any(|text| !text.is_empty())
}

/// Returns whether a name in some client's form is that of the server's tool `tool`.
fn ends_with(name: &str, tool: &str) -> bool {
    name.strip_suffix(tool)
        .is_some_and(|before| before.is_empty() || before.ends_with(['_', '-', ':', '.', '/']))
}

/// Splits a name into words, in lower case.
fn words(name: &str) -> Vec<String> {
    let own = name.rsplit("__").next().unwrap_or(name);
    let mut words: Vec<String> = vec![String::new()];
    let mut before_small = false;
    for c in own.chars() {
        let separates = !c.is_alphanumeric();
        if (separates || c.is_uppercase() && before_small)
            && words.last().is_some_and(|word| !word.is_empty())
        {
            words.push(String::new());
        }
        before_small = c.is_lowercase();
        if !separates && let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    words
}
