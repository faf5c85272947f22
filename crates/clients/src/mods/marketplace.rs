//! Marketplaces that are folders on this machine, from which clients load plugins without a copy.

use std::path::{Path, PathBuf};

use super::manifest;

/// Finds the folder of a plugin in such a marketplace, in the first of its lists that names it.
pub(crate) fn listed_in(marketplace: &Path, plugin: &str, lists: &[&str]) -> Option<PathBuf> {
    lists.iter().find_map(|file| {
        let list = manifest(&marketplace.join(file))?;
        let mut plugins = list.get("plugins")?.as_array()?.iter();
        let plugin =
            plugins.find(|listed| listed.get("name").is_some_and(|name| name == plugin))?;
        let source = plugin.get("source")?.as_str()?;
        Some(marketplace.join(source.trim_start_matches("./")))
    })
}
