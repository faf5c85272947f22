//! Interlock's own plugin for Claude Code, whose code asks again right before a tool runs.
//!
//! Tested with 2.1.332: the client raises `tool.run` after its hooks and permissions, with the arguments as the tool gets them.
//! Only paths are still as the model wrote them.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{
    input::ToolUse,
    settings::{MARK, code},
};

/// Name of the plugin's event.
pub(super) const EVENT: &str = "ToolRun";

/// The event with which newer clients ask before they run a command from the text of a skill or a command file.
///
/// The answer can only block the command: the client neither prompts for it nor accepts a rewritten one.
pub(crate) const SKILL_COMMAND: &str = "PreSkillShellCommand";

/// Code of the plugin.
pub(crate) const CODE: &str = include_str!("../../plugins/claude-code.js");
/// Arguments that are paths, which the client makes absolute before it calls a hook.
const PATHS: [&str; 2] = ["file_path", "notebook_path"];

/// Path of the code in the plugin's folder.
pub(crate) const CODE_FILE: &str = "hooks/register.js";

/// Returns the files of the plugin, with their paths in its folder and their texts.
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

/// Returns whether a folder contains exactly the plugin as this version writes it, calling a program that `is_ours` accepts.
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
    // The plugin has two folders, with one or two files each.
    let count = |place: &Path| fs::read_dir(place).map_or(0, Iterator::count);
    files.iter().all(is_same)
        && count(folder) == 2
        && count(&folder.join(".claude-plugin")) == 1
        && count(&folder.join("hooks")) == 2
}

/// Returns a call with its paths as a hook receives them.
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

/// Resolves `.` and `..` lexically, as the client does.
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
