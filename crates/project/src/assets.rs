//! What person and project have defined for CodeMie files, under its ids; the person's own wins.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use indexmap::IndexMap;
use interlock_core::machine::ServerWork;
use interlock_formats::Source;
use serde_json::Value;

use crate::config::{AssistantConfig, Config, IntegrationConfig, McpServerConfig, PlaceConfig};

/// The largest assistant or skill read, in bytes.
const BYTES_MAX: u64 = 1_048_576;
/// The endings that the file of an assistant may have.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// What person and project have defined for CodeMie files.
#[derive(Debug, Clone, Default)]
pub struct Assets {
    /// Where each lies, the first that has an id first.
    assistants: IndexMap<String, Assistant>,
    servers: IndexMap<String, McpServerConfig>,
    integrations: IndexMap<String, IntegrationConfig>,
    datasources: IndexMap<String, PathBuf>,
    skills: IndexMap<String, PathBuf>,
    /// Servers of the gateway, which may be named, too.
    of_gateway: Vec<String>,
    providers: Vec<String>,
    /// Other names of models.
    models: Vec<String>,
}

/// Where an assistant is defined.
#[derive(Debug, Clone)]
enum Assistant {
    Table {
        keys: AssistantConfig,
        file: PathBuf,
    },
    File(PathBuf),
}

impl Assets {
    /// Joins what a person and the project at `root` have defined, id by id.
    ///
    /// `directory` is where the person's own configuration lies.
    #[must_use]
    pub fn of(person: &Config, directory: Option<&Path>, project: &Config, root: &Path) -> Self {
        let mut all = Self::default();
        if let Some(directory) = directory {
            all.add(person, directory, directory);
        }
        all.add(project, root, &root.join(".interlock"));
        let servers = Config::servers(person, project);
        all.of_gateway = servers.keys().map(ToString::to_string).collect();
        for config in [person, project] {
            let providers = config.providers.keys();
            all.providers
                .extend(providers.map(|name| name.as_str().to_owned()));
            all.models.extend(config.models.keys().cloned());
        }
        all
    }

    /// Adds what is not there yet; paths count from `base`.
    fn add(&mut self, config: &Config, base: &Path, directory: &Path) {
        let file = directory.join("config.toml");
        for (id, keys) in &config.assistants {
            let assistant = || Assistant::Table {
                keys: keys.clone(),
                file: file.clone(),
            };
            self.assistants.entry(id.clone()).or_insert_with(assistant);
        }
        for (id, path) in files_of(&directory.join("assistants")) {
            self.assistants.entry(id).or_insert(Assistant::File(path));
        }
        let servers = config.mcp_servers.iter();
        for (id, server) in servers.filter(|(_, server)| server.is_enabled()) {
            let known = self.servers.entry(id.clone());
            known.or_insert_with(|| server.clone());
        }
        for (id, integration) in &config.integrations {
            let known = self.integrations.entry(id.clone());
            known.or_insert_with(|| integration.clone());
        }
        for (into, places) in [
            (&mut self.datasources, &config.datasources),
            (&mut self.skills, &config.skills),
        ] {
            for (id, PlaceConfig { path }) in places {
                into.entry(id.clone()).or_insert_with(|| base.join(path));
            }
        }
    }

    /// Returns the ids below `table`; `None`: there is no such table.
    #[must_use]
    pub fn ids(&self, table: &str) -> Option<Vec<String>> {
        Some(match table {
            "assistants" => self.assistants.keys().cloned().collect(),
            "mcp_servers" => {
                let own = self.servers.keys();
                own.chain(&self.of_gateway).cloned().collect()
            }
            "integrations" => self.integrations.keys().cloned().collect(),
            "datasources" => self.datasources.keys().cloned().collect(),
            "skills" => self.skills.keys().cloned().collect(),
            "providers" => self.providers.clone(),
            "models" => self.models.clone(),
            _ => return None,
        })
    }

    /// Returns the text of an assistant (YAML or JSON) or of a skill; `None`: there is none.
    ///
    /// An error says why it cannot be read.
    #[must_use]
    pub fn text(&self, table: &str, id: &str) -> Option<Result<Source, String>> {
        match table {
            "assistants" => Some(match self.assistants.get(id)? {
                Assistant::File(path) => read(path),
                Assistant::Table { keys, file } => {
                    let keys = keys.iter();
                    let keys: serde_json::Map<String, Value> = keys
                        .map(|(key, value)| (key.clone(), value.clone()))
                        .collect();
                    let name = format!("{} [assistants.{id}].json", file.display());
                    Ok(Source::new(name, Value::Object(keys).to_string()))
                }
            }),
            "skills" => Some(read(self.skills.get(id)?)),
            _ => None,
        }
    }

    /// Returns a server of `[mcp_servers]`.
    #[must_use]
    pub fn server(&self, id: &str) -> Option<ServerWork> {
        self.servers.get(id)?.work(id).ok()
    }

    /// Returns every server of `[mcp_servers]` with its id, in the order of the files.
    #[must_use]
    pub fn servers(&self) -> Vec<(String, ServerWork)> {
        let servers = self.servers.iter();
        servers
            .filter_map(|(id, server)| Some((id.clone(), server.work(id).ok()?)))
            .collect()
    }

    /// Returns an integration.
    #[must_use]
    pub fn integration(&self, alias: &str) -> Option<&IntegrationConfig> {
        self.integrations.get(alias)
    }

    /// Returns every datasource by id, absolute, in the order of the files.
    pub fn datasources(&self) -> impl Iterator<Item = (&str, &Path)> {
        let all = self.datasources.iter();
        all.map(|(id, path)| (id.as_str(), path.as_path()))
    }
}

/// Lists the files of assistants in a folder by id, sorted.
fn files_of(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let path = entry.path();
            let ending = path.extension()?.to_str()?;
            let id = path.file_stem()?.to_str()?.to_owned();
            ENDINGS.contains(&ending).then_some((id, path))
        })
        .collect();
    found.sort();
    found
}

fn read(path: &Path) -> Result<Source, String> {
    let name = path.display().to_string();
    let failed = |why: io::Error| format!("`{}` cannot be read: {why}", path.display());
    let size = fs::metadata(path).map_err(failed)?.len();
    if size > BYTES_MAX {
        return Err(format!(
            "`{name}` has {size} bytes and {BYTES_MAX} is the limit"
        ));
    }
    Ok(Source::new(
        &*name,
        fs::read_to_string(path).map_err(failed)?,
    ))
}

#[cfg(test)]
mod tests;
