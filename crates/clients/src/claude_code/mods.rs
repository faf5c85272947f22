//! Mods of Claude Code: code of plugins that runs inside the client and may overrule every hook.
//!
//! A plugin brings a mod with a `modules` list in its hooks. The plugins that a session loads are named by its command line, by
//! the list of installed plugins and by the folder of mods under development. A mod is identified by the digest of all files of
//! its plugin.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use interlock_store::ClientMod;
use serde_json::Value;

use super::plugin;
use crate::mods::{children, digest, listed_in, manifest};

/// Maximum number of files and folders of a plugin that are examined.
const ENTRIES_MAX: usize = 2_000;

/// Where to look for a session's plugins.
#[derive(Debug, Clone)]
pub(crate) struct Plugins {
    /// Folder of the client's settings, by default `~/.claude`.
    pub(crate) settings: PathBuf,
    /// Command line of the client; empty if it is not running.
    pub(crate) arguments: Vec<String>,
    /// Folder that relative paths are resolved against.
    pub(crate) directory: PathBuf,
    /// Folders that variables add.
    pub(crate) added: Vec<PathBuf>,
}

/// Variables that contain folders of plugins, separated by `:`.
const ADDING: [&str; 2] = ["CLAUDE_CODE_PLUGIN_DIRS", "CLAUDE_CODE_PLUGIN_SEED_DIR"];

impl Plugins {
    /// Returns the folders of plugins that variables add.
    pub(crate) fn added_by(environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
        let adding = |name: &OsString| ADDING.iter().any(|known| name == known);
        let values = environment.iter().filter(|(name, _)| adding(name));
        let mut added: Vec<PathBuf> = values
            .flat_map(|(_, value)| std::env::split_paths(value).collect::<Vec<_>>())
            .filter(|path| !path.as_os_str().is_empty())
            .collect();
        // The folder either contains plugins or is one.
        let below: Vec<PathBuf> = added.iter().flat_map(|path| children(path)).collect();
        added.extend(below.into_iter().filter(|path| path.is_dir()));
        added
    }

    /// Lists the mods that a session loads, or may load.
    pub(crate) fn mods(&self) -> Vec<ClientMod> {
        let mut places = self.named();
        places.extend(self.added.iter().cloned());
        places.extend(self.installed());
        places.extend(self.found_beside_settings());
        places.extend(children(&self.settings.join("dev-mods")));
        let own: Vec<PathBuf> = places
            .iter()
            .filter_map(|place| place.canonicalize().ok())
            .collect();
        let mut mods: Vec<ClientMod> = Vec::new();
        for place in own {
            let under_development = place.starts_with(real(&self.settings.join("dev-mods")));
            let known = mods.iter().any(|known| Path::new(&known.path) == place);
            if known || is_own_plugin(&place) {
                continue;
            }
            // The contents of an archive are not examined.
            if under_development || place.is_file() || brings_modules(&place) {
                mods.push(ClientMod {
                    path: place.display().to_string(),
                    digest: digest(&place),
                });
            }
        }
        mods
    }

    /// Lists the folders and archives that the command line names.
    fn named(&self) -> Vec<PathBuf> {
        let mut named = Vec::new();
        let mut words = self.arguments.iter();
        while let Some(word) = words.next() {
            // `--plugin-dir` and its variants such as `--plugin-dir-no-mcp`.
            if !word.starts_with("--plugin-dir") {
                continue;
            }
            let value = match word.split_once('=') {
                Some((_, value)) => Some(value),
                None => words.next().map(String::as_str),
            };
            named.extend(value.map(|value| self.directory.join(value)));
        }
        named
    }

    /// Lists the plugins that the client loads because of their location.
    fn found_beside_settings(&self) -> Vec<PathBuf> {
        let project = self.directory.join(".claude");
        let places = [&self.settings, &project].map(|place| children(&place.join("skills")));
        places.concat()
    }

    /// Lists the folders of the installed plugins, including disabled ones.
    fn installed(&self) -> Vec<PathBuf> {
        let list = self.settings.join("plugins/installed_plugins.json");
        let mut paths = Vec::new();
        if let Some(list) = manifest(&list) {
            collect(&list, "installPath", &mut paths);
            paths.extend(self.loaded_in_place(&list));
        }
        paths
    }

    /// Lists the folders of installed plugins that newer versions load from their marketplace itself.
    fn loaded_in_place(&self, list: &Value) -> Vec<PathBuf> {
        let plugins = list.get("plugins").and_then(Value::as_object);
        let ids = plugins.into_iter().flat_map(|plugins| plugins.keys());
        let places = ids.filter_map(|id| {
            let (plugin, marketplace) = id.rsplit_once('@')?;
            loaded_in_place(&self.settings, plugin, marketplace)
        });
        places.collect()
    }
}

/// Returns the folder from which newer versions load an installed plugin, if its marketplace is a folder on this machine.
pub(crate) fn loaded_in_place(home: &Path, plugin: &str, marketplace: &str) -> Option<PathBuf> {
    let known = manifest(&home.join("plugins/known_marketplaces.json"))?;
    let source = known.get(marketplace)?.get("source")?;
    let is_folder = matches!(source.get("source")?.as_str()?, "directory" | "file");
    let path = source.get("path").and_then(Value::as_str)?;
    is_folder
        .then(|| {
            listed_in(
                Path::new(path),
                plugin,
                &[".claude-plugin/marketplace.json"],
            )
        })
        .flatten()
}

/// Returns whether a folder contains Interlock's own plugin, exactly as this version writes it.
pub(crate) fn is_own_plugin(folder: &Path) -> bool {
    plugin::is_own(folder, is_ours)
}

/// Returns whether a program that code calls is this one, by its path or by the name used in shared files.
fn is_ours(program: &str) -> bool {
    let same = |ours: PathBuf| real(&ours) == real(Path::new(program));
    program == "interlock" || std::env::current_exe().is_ok_and(same)
}

/// Collects every text under `key`, at any depth.
fn collect(value: &Value, key: &str, found: &mut Vec<PathBuf>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(path) if name == key => found.push(PathBuf::from(path)),
                    value => collect(value, key, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, key, found)),
        _ => {}
    }
}

/// Returns whether a plugin lists modules in any manifest; an unreadable manifest counts as listing some.
///
/// A manifest may name hook files anywhere below it, so every JSON file counts.
fn brings_modules(plugin: &Path) -> bool {
    let own = manifest(&plugin.join(".claude-plugin/plugin.json"));
    if own.is_some_and(|own| names_a_manifest(plugin, &own)) {
        return true;
    }
    let mut left = ENTRIES_MAX;
    let mut places = vec![plugin.to_owned()];
    while let Some(place) = places.pop() {
        let Some(fewer) = left.checked_sub(1) else {
            return true;
        };
        left = fewer;
        if place.is_dir() {
            let skipped = place.ends_with("node_modules") || place.ends_with(".git");
            if !skipped || place == plugin {
                places.extend(children(&place));
            }
        } else if place.extension().is_some_and(|ending| ending == "json")
            && manifest(&place).is_none_or(|value| names_modules(&value))
        {
            return true;
        }
    }
    false
}

/// Returns whether any file that a plugin's own manifest names lists modules, whatever its extension.
fn names_a_manifest(plugin: &Path, value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.values().any(|value| names_a_manifest(plugin, value)),
        Value::Array(items) => items.iter().any(|value| names_a_manifest(plugin, value)),
        Value::String(path) if path.starts_with('.') => {
            manifest(&plugin.join(path)).is_some_and(|value| names_modules(&value))
        }
        _ => false,
    }
}

fn names_modules(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            let lists = match value {
                Value::Array(modules) => !modules.is_empty(),
                // Other tools use this key for something that is not a path of a plugin.
                Value::String(path) => path.starts_with('.'),
                _ => false,
            };
            name == "modules" && lists || names_modules(value)
        }),
        Value::Array(items) => items.iter().any(names_modules),
        _ => false,
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use std::fs;

    use interlock_store::Home;

    use super::*;
    use crate::mods::not_accepted;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn plugins(base: &Path, arguments: &[&str]) -> Plugins {
        Plugins {
            settings: base.join("settings"),
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
            directory: base.to_owned(),
            added: Vec::new(),
        }
    }

    fn found(plugins: &Plugins) -> Vec<String> {
        let mods = plugins.mods();
        mods.iter()
            .map(|found| found.path.rsplit('/').next().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn mods_are_found_wherever_a_session_loads_them_from() {
        let room = tempfile::tempdir().unwrap();
        let base = room.path();
        let modules = r#"{"modules": ["./register.js"]}"#;
        write(&base.join("one/hooks/hooks.json"), modules);
        write(
            &base.join("two/.claude-plugin/plugin.json"),
            r#"{"hooks": {"modules": ["./a.js"]}}"#,
        );
        write(&base.join("plain/hooks/hooks.json"), r#"{"hooks": {}}"#);
        write(&base.join("plain/.babelrc.json"), r#"{"modules": false}"#);
        write(&base.join("broken/hooks/hooks.json"), "{");
        write(&base.join("settings/dev-mods/mine/register.js"), "");
        let list = serde_json::json!({"version": 2, "plugins": {"p@m": [
            {"installPath": base.join("two")}, {"installPath": base.join("plain")},
        ]}});
        write(
            &base.join("settings/plugins/installed_plugins.json"),
            &list.to_string(),
        );
        assert_eq!(found(&plugins(base, &[])), ["two", "mine"]);
        // A marketplace that is a folder or a file is loaded from there, even if a copy exists.
        let known_list = base.join("settings/plugins/known_marketplaces.json");
        write(
            &base.join(".claude-plugin/marketplace.json"),
            r#"{"plugins": [{"name": "p", "source": "./one"}]}"#,
        );
        for (kind, in_place) in [("directory", true), ("file", true), ("github", false)] {
            let known = serde_json::json!({"m": {"source": {"source": kind, "path": base}}});
            write(&known_list, &known.to_string());
            let wanted: &[&str] = if in_place {
                &["two", "one", "mine"]
            } else {
                &["two", "mine"]
            };
            assert_eq!(found(&plugins(base, &[])), wanted, "{kind}");
        }
        fs::remove_file(known_list).unwrap();
        let named = [
            "--plugin-dir",
            "one",
            "--plugin-dir=broken",
            "--plugin-dir",
            "plain",
        ];
        assert_eq!(
            found(&plugins(base, &named)),
            ["one", "broken", "two", "mine"]
        );
    }

    #[test]
    fn what_is_named_otherwise_is_found_too() {
        let room = tempfile::tempdir().unwrap();
        let base = room.path();
        let modules = r#"{"modules": ["./register.js"]}"#;
        write(&base.join("one/hooks/hooks.json"), modules);
        write(&base.join("all/two/hooks/hooks.json"), modules);
        write(
            &base.join("three/.claude-plugin/plugin.json"),
            r#"{"hooks": "./node_modules/h.txt"}"#,
        );
        write(&base.join("three/node_modules/h.txt"), modules);
        write(&base.join("four.zip"), "PK");
        write(&base.join("settings/skills/five/hooks/hooks.json"), modules);
        write(&base.join(".claude/skills/six/hooks/hooks.json"), modules);
        let variable = ("CLAUDE_CODE_PLUGIN_DIRS".into(), base.join("all").into());
        let named = [
            "--plugin-dir-no-mcp",
            "one",
            "--plugin-dir",
            "three",
            "--plugin-dir=four.zip",
        ];
        let plugins = Plugins {
            added: Plugins::added_by(&[variable]),
            ..plugins(base, &named)
        };
        assert_eq!(
            found(&plugins),
            ["one", "three", "four.zip", "all", "two", "five", "six"]
        );
    }

    #[test]
    fn what_was_accepted_is_unknown_again_after_any_change() {
        let room = tempfile::tempdir().unwrap();
        let base = room.path();
        write(
            &base.join("one/hooks/hooks.json"),
            r#"{"modules": ["./a.js"]}"#,
        );
        write(&base.join("one/lib/b.js"), "1");
        let home = Home::at(base.join("state"));
        let plugins = plugins(base, &["--plugin-dir", "one"]);
        let seen = not_accepted(plugins.mods(), &home).unwrap();
        assert_eq!(seen.len(), 1);
        home.accept_mod(seen.first().unwrap()).unwrap();
        assert_eq!(not_accepted(plugins.mods(), &home).unwrap(), []);
        write(&base.join("one/lib/b.js"), "2");
        assert_eq!(not_accepted(plugins.mods(), &home).unwrap().len(), 1);
        write(&base.join("one/lib/b.js"), "1");
        assert_eq!(not_accepted(plugins.mods(), &home).unwrap(), []);
        write(&base.join("one/lib/c.js"), "");
        assert_eq!(not_accepted(plugins.mods(), &home).unwrap().len(), 1);
    }

    #[test]
    fn a_plugin_with_a_link_is_never_the_accepted_one() {
        let room = tempfile::tempdir().unwrap();
        let base = room.path();
        write(
            &base.join("one/hooks/hooks.json"),
            r#"{"modules": ["./a.js"]}"#,
        );
        write(&base.join("elsewhere.js"), "1");
        std::os::unix::fs::symlink(base.join("elsewhere.js"), base.join("one/a.js")).unwrap();
        let mods = plugins(base, &["--plugin-dir", "one"]).mods();
        assert!(mods.first().unwrap().digest.starts_with("part-of-"));
    }
}
