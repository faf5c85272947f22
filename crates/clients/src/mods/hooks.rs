//! Other hooks before a tool, whose answer may rewrite what Interlock has judged.

use std::path::{Path, PathBuf};

use interlock_store::ClientMod;
use serde_json::Value;

use super::{
    children, digest,
    digest::{ENTRIES_MAX, of_all, unread},
    manifest,
};
use crate::{
    mods::Look,
    settings::hooks::HookForm,
    settings::{self, Syntax},
};

/// Maximum depth to which folders of plugins are searched.
const DEPTH_MAX: usize = 8;

/// A settings file that may contain hooks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HookFile<'a> {
    /// The file.
    pub(crate) path: &'a Path,
    /// Syntax of the file; `None` for TOML.
    pub(crate) syntax: Option<Syntax>,
    /// Format of the hooks that Interlock may have added there.
    pub(crate) form: Option<&'a HookForm>,
    /// The events before a tool.
    pub(crate) events: &'a [&'a str],
}

/// Finds other hooks in a settings file.
///
/// A file that cannot be read counts as containing some.
pub(crate) fn in_file(file: HookFile<'_>, look: &Look<'_>) -> Option<ClientMod> {
    let settings = match file.syntax {
        Some(syntax) => settings::parsed(file.path, syntax),
        None => settings::parsed_toml(file.path),
    };
    let found = |digest: String| ClientMod {
        path: file.path.display().to_string(),
        digest,
    };
    let settings = match settings {
        Ok(settings) => settings?,
        Err(why) => return Some(found(unread(&why))),
    };
    let others = others(&settings, file, look);
    (!others.is_empty()).then(|| found(of_entries(&others, look)))
}

/// Finds hooks in command-line options that set one value each.
pub(crate) fn in_words(
    values: &[String],
    (event, form): (&str, Option<&HookForm>),
    look: &Look<'_>,
) -> Option<ClientMod> {
    let is_one = |value: &&String| value.trim_start().starts_with("hooks") && value.contains(event);
    let of_words = HookFile {
        path: look.directory,
        syntax: None,
        form,
        events: &[event],
    };
    let entries: Vec<Value> = values
        .iter()
        .filter(is_one)
        .flat_map(|value| match settings::toml_of(value) {
            Some(settings) => others(&settings, of_words, look),
            None => vec![Value::from(value.as_str())],
        })
        .collect();
    (!entries.is_empty()).then(|| ClientMod {
        path: "hooks on the client's command line".to_owned(),
        digest: of_entries(&entries, look),
    })
}

/// Lists the entries of a file's events that are not Interlock's own.
fn others(settings: &Value, file: HookFile<'_>, look: &Look<'_>) -> Vec<Value> {
    let mut others = Vec::new();
    for event in file.events {
        let entries = settings.pointer(&format!("/hooks/{event}"));
        for entry in entries.and_then(Value::as_array).into_iter().flatten() {
            let single = std::slice::from_ref(entry);
            let hooks = entry.get("hooks").and_then(Value::as_array);
            for hook in hooks.map_or(single, Vec::as_slice) {
                if !file
                    .form
                    .is_some_and(|form| form.calls_this(event, hook, look.site))
                {
                    others.push(hook.clone());
                }
            }
        }
    }
    others
}

/// Returns the digest of hooks and of the files that their command lines name.
fn of_entries(entries: &[Value], look: &Look<'_>) -> String {
    let text = Value::from(entries.to_vec()).to_string();
    let mut files = Vec::new();
    entries
        .iter()
        .for_each(|entry| named_files(entry, look, &mut files));
    files.sort();
    files.dedup();
    of_all(&files, &text)
}

/// Returns whether a program belongs to the system, so that its updates do not matter.
fn is_of_system(path: &Path) -> bool {
    ["/usr", "/bin", "/sbin", "/lib"]
        .iter()
        .any(|place| path.starts_with(place))
}

/// Collects the files that the words of any text name, except programs on the `PATH`.
fn named_files(value: &Value, look: &Look<'_>, files: &mut Vec<PathBuf>) {
    match value {
        Value::String(text) => {
            let is_mark = |letter: char| letter.is_whitespace() || "'\"`;&|()<>=,".contains(letter);
            for word in text.split(is_mark).filter(|word| !word.is_empty()) {
                let path = match word.strip_prefix("~/") {
                    Some(rest) => look.site.home.join(rest),
                    None => look.directory.join(word),
                };
                // The file, not the link: a change of the program that runs must be noticed.
                let path = path.canonicalize().ok();
                files.extend(path.filter(|path| path.is_file() && !is_of_system(path)));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| named_files(item, look, files)),
        Value::Object(fields) => fields
            .values()
            .for_each(|item| named_files(item, look, files)),
        _ => {}
    }
}

/// Finds the plugins below a folder that have hooks for these events, in any of their JSON files.
pub(crate) fn in_folder(folder: &Path, events: &[&str]) -> Vec<ClientMod> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut left = ENTRIES_MAX;
    let mut places = vec![(folder.to_owned(), 0)];
    while let Some((place, depth)) = places.pop() {
        let Some(fewer) = left.checked_sub(1) else {
            // There is more than is examined: some of it may have hooks.
            found.push(folder.to_owned());
            break;
        };
        left = fewer;
        if place.is_dir() {
            let skipped = place.ends_with("node_modules") || place.ends_with(".git");
            if depth < DEPTH_MAX && !skipped {
                places.extend(children(&place).into_iter().map(|child| (child, depth + 1)));
            }
        } else if place.extension().is_some_and(|ending| ending == "json")
            && manifest(&place).is_some_and(|value| brings(&value, events))
            && let Some(plugin) = plugin_of(folder, &place)
        {
            found.push(plugin);
        }
    }
    found.sort();
    found.dedup();
    let mods = found.iter().map(|plugin| ClientMod {
        path: plugin.display().to_string(),
        digest: digest(plugin),
    });
    mods.collect()
}

/// Returns the folder of the plugin that a hooks file belongs to.
fn plugin_of(folder: &Path, file: &Path) -> Option<PathBuf> {
    let own = file.parent()?;
    let is_part = own
        .file_name()
        .is_some_and(|name| name == "hooks" || name.to_string_lossy().ends_with("-plugin"));
    let plugin = if is_part { own.parent()? } else { own };
    let plugin = if plugin.starts_with(folder) {
        plugin
    } else {
        own
    };
    Some(plugin.canonicalize().unwrap_or_else(|_| plugin.to_owned()))
}

/// Returns whether a manifest lists hooks for one of the events, at any depth.
fn brings(value: &Value, events: &[&str]) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            let lists = value.as_array().is_some_and(|list| !list.is_empty());
            lists && events.contains(&name.as_str()) || brings(value, events)
        }),
        Value::Array(items) => items.iter().any(|item| brings(item, events)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use std::{fs, path::Path};

    use interlock_store::Home;

    use super::*;
    use crate::{mods::not_accepted, settings::Site};

    fn look_at(base: &Path, site: &Site) -> Option<ClientMod> {
        let look = Look {
            site,
            directory: base,
            arguments: &[],
            environment: &[],
            told: &[],
        };
        let file = HookFile {
            path: &base.join("settings.json"),
            syntax: Some(Syntax::Comments),
            form: crate::gemini::install::FOOTPRINT.form(),
            events: &["BeforeTool"],
        };
        in_file(file, &look)
    }

    #[test]
    fn a_hook_of_others_is_unknown_until_it_is_accepted_and_after_any_change() {
        let room = tempfile::tempdir().unwrap();
        let base = room.path();
        let site = Site::new(base, base, Path::new("/opt/interlock"));
        let write = |hooks: &str| {
            let text = format!(r#"{{"hooks": {{"BeforeTool": [{{"hooks": [{hooks}]}}]}}}}"#);
            fs::write(base.join("settings.json"), text).unwrap();
        };
        let ours = r#"{"type": "command", "command": "/opt/interlock hook gemini"}"#;
        write(ours);
        assert_eq!(look_at(base, &site), None);

        // One has the name of Interlock but is another program, one is found through what the hook sets.
        let with = |more: &str| ours.replace("gemini\"}", &format!("gemini\"{more}}}"));
        for other in [
            ours.replace("/opt/", "./tools/"),
            ours.replace("/opt/", "/tmp/"),
            with(r#", "env": {"PATH": "tools"}"#),
            with(r#", "cwd": "/tmp""#),
        ] {
            write(&other);
            assert!(look_at(base, &site).is_some(), "{other}");
        }

        let other = r#"{"type": "command", "command": "sh ./other.sh"}"#;
        fs::write(base.join("other.sh"), "exit 0\n").unwrap();
        write(&format!("{ours}, {other}"));
        let found = look_at(base, &site).unwrap();
        let home = Home::at(base.join("state"));
        home.accept_mod(&found).unwrap();
        let unknown = || not_accepted(look_at(base, &site).into_iter().collect(), &home).unwrap();
        assert_eq!(unknown(), []);
        fs::write(base.join("other.sh"), "exit 1\n").unwrap();
        assert_eq!(unknown().len(), 1);
        fs::write(base.join("other.sh"), "exit 0\n").unwrap();
        write(&format!("{ours}, {other}, {other}"));
        assert_eq!(unknown().len(), 1);

        // An unreadable file may contain some, and never equals the accepted one.
        fs::write(base.join("settings.json"), "{").unwrap();
        let broken = look_at(base, &site).unwrap();
        assert!(!broken.is_whole());
    }

    #[test]
    fn a_plugin_with_a_hook_before_tools_is_known_by_its_folder() {
        let room = tempfile::tempdir().unwrap();
        let base = room.path().canonicalize().unwrap();
        for (file, text) in [
            ("a/hooks/hooks.json", r#"{"hooks": {"PreToolUse": [{}]}}"#),
            ("b/plugin.json", r#"{"hooks": {"PreToolUse": []}}"#),
            ("c/more.json", r#"{"hooks": {"Stop": [{}]}}"#),
            ("d/deep.json", r#"{"a": [{"b": {"PreToolUse": [{}]}}]}"#),
            ("d/more.txt", r#"{"hooks": {"PreToolUse": [{}]}}"#),
            ("e/.codex-plugin/plugin.json", r#"{"PreToolUse": [{}]}"#),
            ("node_modules/f/hooks.json", r#"{"PreToolUse": [{}]}"#),
            (".git/g.json", r#"{"PreToolUse": [{}]}"#),
            ("1/2/3/4/5/6/7/h.json", r#"{"PreToolUse": [{}]}"#),
            ("1/2/3/4/5/6/7/8/i.json", r#"{"PreToolUse": [{}]}"#),
        ] {
            let path = base.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = in_folder(&base, &["PreToolUse"]);
        let paths: Vec<&Path> = found.iter().map(|found| Path::new(&found.path)).collect();
        let wanted = ["1/2/3/4/5/6/7", "a", "d", "e"].map(|plugin| base.join(plugin));
        assert_eq!(paths, wanted);
    }
}
