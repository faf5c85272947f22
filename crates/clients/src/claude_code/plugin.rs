//! Interlock's own plugin for Claude Code: its code asks once more when a tool is about to run.
//!
//! Seen with 2.1.332: the client raises `tool.run` behind its hooks and permissions, with the
//! arguments as the tool gets them. Only paths are still as the model wrote them.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{
    input::ToolUse,
    settings::{MARK, code},
};

/// What the plugin calls its question.
pub(super) const EVENT: &str = "ToolRun";

/// What newer clients ask before a command that stands in the text of a skill or of a command file runs.
///
/// An answer can only keep it from running: it is neither asked about in the client's prompt nor rewritten.
pub(crate) const SKILL_COMMAND: &str = "PreSkillShellCommand";

/// The code of the plugin.
pub(crate) const CODE: &str = include_str!("../../plugins/claude-code.js");
/// Arguments that are paths; the client makes them absolute before it asks a hook.
const PATHS: [&str; 2] = ["file_path", "notebook_path"];

/// Where its code lies below the folder of the plugin.
pub(crate) const CODE_FILE: &str = "hooks/register.js";

/// Returns the files of the plugin below its folder, with the text of each.
pub(crate) fn files(program: &str) -> [(&'static str, String); 3] {
    let mark = MARK.trim();
    let version = env!("CARGO_PKG_VERSION");
    let manifest = json!({ "name": "interlock", "version": version, "description": mark });
    let hooks = json!({ "description": mark, "modules": ["./register.js"] });
    let text = |value: &Value| format!("{value:#}\n");
    [
        (".claude-plugin/plugin.json", text(&manifest)),
        ("hooks/hooks.json", text(&hooks)),
        (CODE_FILE, code::written(CODE, program)),
    ]
}

/// Tells whether a folder holds the plugin as it is written here, calling a program that `is_ours`, and nothing else.
pub(crate) fn is_own(folder: &Path, is_ours: impl Fn(&str) -> bool) -> bool {
    let Some(program) = fs::read_to_string(folder.join(CODE_FILE))
        .ok()
        .and_then(|code| code::program_in(&code))
        .filter(|program| is_ours(program))
    else {
        return false;
    };
    let files = files(&program);
    let is_same = |(name, text): &(&str, String)| {
        let path = folder.join(name);
        path.symlink_metadata().is_ok_and(|known| known.is_file())
            && fs::read_to_string(path).is_ok_and(|there| there == *text)
    };
    // Two folders of its own, and a file or two in each.
    let count = |place: &Path| fs::read_dir(place).map_or(0, Iterator::count);
    files.iter().all(is_same)
        && count(folder) == 2
        && count(&folder.join(".claude-plugin")) == 1
        && count(&folder.join("hooks")) == 2
}

/// Returns a call with its paths as a hook is told of them.
pub(super) fn as_judged(mut used: ToolUse, directory: &str) -> ToolUse {
    if let Value::Object(arguments) = &mut used.input {
        for name in PATHS {
            if let Some(Value::String(path)) = arguments.get_mut(name)
                && !path.starts_with(['/', '~'])
            {
                *path = plain(&Path::new(directory).join(&*path))
                    .display()
                    .to_string();
            }
        }
    }
    used
}

/// Resolves `.` and `..` by the words alone, as the client does.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}
