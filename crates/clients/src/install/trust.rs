//! Codex runs only hooks that a person trusts, by a hash that only Codex can compute.
//!
//! So Codex itself is asked, with a configuration directory made for the query.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::record::Added;
use crate::app_server::{self, ListedHook};
use crate::codex::install::FOOTPRINT;
use crate::plugins;
use crate::settings::{
    EditError, Site,
    json::{Syntax, Text as Json},
    toml::Text,
};

/// A hook and the hash under which it is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trusted {
    /// `FILE:event:group:place`.
    pub(super) key: String,
    /// Hash that Codex compares.
    pub(super) hash: String,
}

const STATE: [&str; 2] = ["hooks", "state"];

/// Asks Codex for the hashes of Interlock's hooks in a file that is about to be written.
///
/// # Errors
/// Returns a one-sentence reason if it could not be asked.
pub(super) fn ask(
    codex: &Path,
    planned: &str,
    path: &Path,
    site: &Site,
) -> Result<Vec<Trusted>, String> {
    let said = |error: std::io::Error| error.to_string();
    let scratch = tempfile::tempdir().map_err(said)?;
    // Codex writes real paths into its keys.
    let home = scratch.path().canonicalize().map_err(said)?;
    std::fs::write(home.join("hooks.json"), planned).map_err(said)?;
    let listed = app_server::hooks(codex, &home, &home)?;
    let ours = positions(planned, site);
    let beginning = format!("{}:", home.join("hooks.json").display());
    let real = real_path(path);
    let trusted: Vec<Trusted> = listed
        .into_iter()
        .filter_map(|ListedHook { key, hash, .. }| {
            let place = key.strip_prefix(&beginning)?;
            let is_ours = ours.iter().any(|known| known == place);
            is_ours.then(|| Trusted {
                key: format!("{}:{place}", real.display()),
                hash,
            })
        })
        .collect();
    if trusted.len() == ours.len() {
        Ok(trusted)
    } else {
        Err(format!(
            "it lists {} of the {} hooks",
            trusted.len(),
            ours.len()
        ))
    }
}

/// Returns the positions of Interlock's hooks in a file, as Codex writes them: `event:group:place`.
fn positions(text: &str, site: &Site) -> Vec<String> {
    let parsed = Json::of_file(Some(text), Syntax::Strict);
    let settings = parsed.map_or(Value::Null, |(_, settings)| settings);
    let places = FOOTPRINT
        .form()
        .map(|form| form.places(&settings, site))
        .unwrap_or_default();
    places
        .into_iter()
        .map(|(event, group, place)| format!("{}:{group}:{place}", in_snake_case(event)))
        .collect()
}

/// Returns the keys of Interlock's hooks in a file.
pub(crate) fn keys(text: &str, path: &Path, site: &Site) -> Vec<String> {
    let real = real_path(path);
    positions(text, site)
        .into_iter()
        .map(|place| format!("{}:{place}", real.display()))
        .collect()
}

/// Returns the keys of Interlock's hooks in a plugin, which contain the plugin's name instead of a path.
pub(crate) fn keys_of_plugin(text: &str, path: &Path, site: &Site) -> Vec<String> {
    // `MARKETPLACE/PLUGIN/VERSION/hooks/hooks.json`
    let names: Vec<&str> = path
        .iter()
        .rev()
        .filter_map(|name| name.to_str())
        .skip(3)
        .take(2)
        .collect();
    let [plugin, marketplace] = names.as_slice() else {
        return Vec::new();
    };
    positions(text, site)
        .into_iter()
        .map(|place| format!("{plugin}@{marketplace}:{}:{place}", plugins::HOOKS))
        .collect()
}

/// Resolves the links of a path, even if the file does not exist yet.
fn real_path(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real_path(parent).join(name),
        _ => path.to_owned(),
    }
}

fn in_snake_case(event: &str) -> String {
    let mut name = String::new();
    for letter in event.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// Writes the hashes.
pub(super) fn put(text: Option<&str>, trusted: &[Trusted]) -> Result<String, EditError> {
    let mut text = Text::parse(text.unwrap_or_default())?;
    for Trusted { key, hash } in trusted {
        let table = [STATE[0], STATE[1], key.as_str()];
        let place = [STATE[0], STATE[1], key.as_str(), "trusted_hash"];
        let hash = toml_edit::Value::from(hash.as_str());
        if text.item(&place).is_some() {
            if text.string(&place) != hash.as_str() {
                text.set(&place, &hash);
            }
        } else if text.item(&table).is_none() {
            text.add_table(&table, &[("trusted_hash", hash)])?;
        } else {
            let reason = format!("`{key}` is there without `trusted_hash`");
            return Err(text.fault(&table, reason));
        }
    }
    Ok(text.into_string())
}

/// Removes the hashes of Interlock's hooks; returns `None` if nothing is left.
pub(super) fn take(
    before: &str,
    hooks: &Path,
    trusted: &[Trusted],
) -> Result<Option<String>, EditError> {
    let mut text = Text::parse(before)?;
    let beginning = format!("{}:", real_path(hooks).display());
    let mut took = false;
    for key in text.keys(&STATE) {
        let ours = trusted.iter().any(|known| known.key == key);
        if ours && key.starts_with(&beginning) {
            text.remove_table(&[STATE[0], STATE[1], key.as_str()]);
            took = true;
        }
    }
    Ok((!(took && text.is_bare())).then(|| text.into_string()))
}

/// Where Codex stores its trust in a folder.
fn place(folder: &str) -> [&str; 2] {
    ["projects", folder]
}

/// Makes Codex trust a folder that it does not know yet; a person's own decision stays.
pub(super) fn put_folder(
    text: Option<&str>,
    folder: &str,
    added: &mut Vec<Added>,
) -> Result<String, EditError> {
    let mut text = Text::parse(text.unwrap_or_default())?;
    let table = place(folder);
    if text.item(&table).is_none() {
        text.add_table(&table, &[("trust_level", "trusted".into())])?;
        added.push(Added {
            at: table.map(str::to_owned).to_vec(),
            value: "trusted".into(),
            item: false,
        });
    }
    Ok(text.into_string())
}

/// Removes the trust that [`put_folder`] added; returns `None` if nothing is left.
pub(super) fn take_folder(
    before: &str,
    folder: &str,
    added: &[Added],
) -> Result<Option<String>, EditError> {
    let mut text = Text::parse(before)?;
    let table = place(folder);
    if !added.iter().any(|added| added.at == table) {
        return Ok(Some(before.to_owned()));
    }
    text.remove_table(&table);
    Ok((!text.is_bare()).then(|| text.into_string()))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[test]
    fn the_hashes_of_others_stay() {
        let hooks = Path::new("/p/.codex/hooks.json");
        let trusted = |key: &str| Trusted {
            key: key.to_owned(),
            hash: "sha256:1".to_owned(),
        };
        let ours = [trusted("/p/.codex/hooks.json:pre_tool_use:1:0")];
        // Another hook of the same file, and Interlock's hooks in another file.
        let others = [
            trusted("/p/.codex/hooks.json:pre_tool_use:0:0"),
            trusted("/q/.codex/hooks.json:pre_tool_use:1:0"),
        ];
        let before = put(None, &others).unwrap();
        let both = put(Some(&before), &ours).unwrap();
        let everything: Vec<Trusted> = ours.iter().chain(&others[1..]).cloned().collect();
        assert_eq!(take(&both, hooks, &everything).unwrap(), Some(before));
        let alone = put(None, &ours).unwrap();
        assert_eq!(take(&alone, hooks, &ours).unwrap(), None);
    }
}
