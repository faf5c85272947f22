//! `config.toml`, of a project and of a person.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use indexmap::IndexMap;
use interlock_expr::nearest::nearest;
use serde::Deserialize;

pub use codemie::{
    AssistantConfig, IntegrationConfig, IntegrationEnv, McpServerConfig, PlaceConfig,
};
pub use gateway::GatewayConfig;
pub use models::{PriceConfig, ProviderConfig, ProviderName, Providers};
pub use servers::{
    Asks, HttpConfig, ServerConfig, ServerName, Servers, StdioConfig, ToolConfig, Transport, expand,
};
pub use stages::{Modes, StagesConfig, UnreadEntries};

mod codemie;
mod gateway;
mod models;
mod servers;
mod stages;
#[cfg(test)]
mod tests;

/// The largest configuration file read, in bytes.
const BYTES_MAX: u64 = 1_048_576;

/// A configuration file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The workflow that guards every session of the project.
    pub workflow: Option<String>,
    /// Which sessions of the project a run guards: its own session (default), or all sessions until it ends.
    pub hold: GuardScope,
    /// The durability of logs.
    pub store: StoreConfig,
    /// How the kernel confines shell lines: [Confinement](confinement.md).
    pub sandbox: SandboxConfig,
    /// Commands that are allowed beyond what a state allows.
    pub shell: ShellConfig,
    /// Exceptions from the [protected things](guarantees.md#protected-things).
    pub protect: ProtectConfig,
    /// The projects that you trust.
    pub trust: TrustConfig,
    /// Where spans are sent: [Telemetry](telemetry.md).
    pub telemetry: TelemetryConfig,
    /// How you are told that a request waits for you: [Notifications](approvals.md#notifications).
    pub notify: NotifyConfig,
    /// Who signs [attestations](attest.md), in place of a key file.
    pub attest: AttestConfig,
    /// The limits of [the gateway](gateway.md).
    pub gateway: GatewayConfig,
    /// An MCP server behind [the gateway](gateway.md#servers).
    pub mcp: Servers,
    /// How calls are decided in model stages that list no tools: [Pipelines](pipelines.md#running-one).
    pub stages: StagesConfig,
    /// A provider of models: [Models](models.md#providers).
    pub providers: Providers,
    /// Short names of models: each key is an alias for its value, a `provider/name`.
    pub models: IndexMap<String, String>,
    /// The model of stages and assistants that name none.
    pub default_model: Option<String>,
    /// The price of a model, in US dollars per million tokens; NAME is its `provider/name`.
    pub prices: IndexMap<String, PriceConfig>,
    /// An assistant that CodeMie files refer to by this name. It takes the keys of an assistant in such a file.
    pub assistants: IndexMap<String, AssistantConfig>,
    /// An MCP server that CodeMie files refer to by this name (`mcp_config_id`).
    pub mcp_servers: IndexMap<String, McpServerConfig>,
    /// Values for the tools and servers of CodeMie files with this `integration_alias`.
    pub integrations: IndexMap<String, IntegrationConfig>,
    /// A folder or file outside the project that the tools of CodeMie files may touch.
    pub datasources: IndexMap<String, PlaceConfig>,
    /// A text that is added to the prompts of CodeMie assistants.
    pub skills: IndexMap<String, PlaceConfig>,
}

/// Which sessions of the project a run holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GuardScope {
    /// Its own session; others are told that they are not held.
    #[default]
    Run,
    /// Every session of the project, until the run ends.
    Project,
}

/// How shell lines are confined.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxConfig {
    /// The lowest [level](confinement.md#levels) at which a line runs. The stricter of the two files counts.
    pub require: Option<RequiredLevel>,
    /// More directories that listed commands, and lines in states that write, may write to.
    pub writable: Vec<PathBuf>,
    /// Unix sockets, or directories of them, that lines may connect to.
    pub sockets: Vec<PathBuf>,
}

/// How far the kernel must hold a line, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequiredLevel {
    /// The environment alone.
    Environment,
    /// Some of the files.
    Partial,
    /// Files.
    Files,
    /// All that a state promises.
    Full,
}

impl RequiredLevel {
    /// Returns the word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Partial => "partial",
            Self::Files => "files",
            Self::Full => "full",
        }
    }
}

/// What shell lines may do beside what a state allows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShellConfig {
    /// Commands that change the machine or its privileges, allowed in states that write. They run unconfined.
    pub allow: Vec<String>,
    /// Programs that run the command in their arguments and do nothing else, such as `rtk`.
    pub transparent: Vec<String>,
}

/// What is not protected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProtectConfig {
    /// Protected paths that a guarded agent may change nevertheless.
    pub allow: Vec<String>,
}

/// Whose projects may set what changes programs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrustConfig {
    /// The roots of these projects. Their workflows may set variables that change what programs do, and their servers may start.
    pub projects: Vec<PathBuf>,
}

/// Where spans go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TelemetryConfig {
    /// The base address of the collector, such as `http://127.0.0.1:4318`. OpenTelemetry's variables take precedence.
    pub endpoint: Option<String>,
    /// Whether arguments, data and notes are sent, too. Default: `false`.
    pub capture_content: bool,
}

/// How a person is told that a question waits for them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotifyConfig {
    /// Whether the desktop shows a notification. Default: `true` if there is a desktop.
    pub desktop: Option<bool>,
    /// A program of yours with its arguments, started for each notification. Environment variables describe the request.
    pub command: Vec<String>,
}

/// Who signs attestations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AttestConfig {
    /// A program of yours with its arguments. It gets the bytes to sign on standard input, and prints an ed25519 signature.
    pub signer: Vec<String>,
    /// The file with the signer's public key, in PEM: an absolute path.
    pub public_key: Option<PathBuf>,
}

/// How the log of a run is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreConfig {
    /// What an acknowledged event survives: a killed process (default), or also a power loss.
    pub durability: Durability,
}

/// What an acknowledged event survives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// A killed process.
    #[default]
    Process,
    /// The loss of power, too.
    Power,
}

/// A configuration file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("`{path}` cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// It sets what only a person's own may set.
    #[error(
        "`{path}` sets `{key}`, which only a person's own configuration may set (`~/.config/interlock/config.toml`): take it out"
    )]
    NotTheProjects {
        /// The file.
        path: PathBuf,
        /// The setting.
        key: &'static str,
    },
    /// It does not parse.
    #[error("`{path}` is not a configuration: {reason}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Why, with line and column.
        reason: String,
    },
}

impl Config {
    /// Reads the configuration of the project at `root`; none: the defaults.
    ///
    /// # Errors
    /// The file is there and cannot be read or does not parse.
    pub fn of_project(root: &Path) -> Result<Self, ConfigError> {
        let path = root.join(".interlock").join("config.toml");
        let config = Self::read(&path)?;
        match config.set_by_a_person() {
            Some(key) => Err(ConfigError::NotTheProjects { path, key }),
            None => Ok(config),
        }
    }

    /// Reads a person's own configuration from their directory; none: the defaults.
    ///
    /// # Errors
    /// The file is there and cannot be read or does not parse.
    pub fn of_person(directory: Option<&Path>) -> Result<Self, ConfigError> {
        directory.map_or_else(
            || Ok(Self::default()),
            |directory| Self::read(&directory.join("config.toml")),
        )
    }

    /// Joins the servers of a person and of a project; the person's own win, one that is switched off too.
    #[must_use]
    pub fn servers(person: &Self, project: &Self) -> Servers {
        let mut all = person.mcp.clone();
        for (name, server) in &project.mcp {
            all.entry(name.clone()).or_insert_with(|| server.clone());
        }
        all.retain(|_, server| server.enabled);
        all
    }

    /// Joins the same, but for the project's own where the person does not trust it: these come second, by name.
    #[must_use]
    pub fn trusted_servers(person: &Self, project: &Self, root: &Path) -> (Servers, Vec<String>) {
        let all = Self::servers(person, project);
        if person.trusts(root) {
            return (all, Vec::new());
        }
        let own = Self::servers(person, &Self::default());
        let brought = all.keys().filter(|name| !own.contains_key(*name));
        let brought = brought.map(ToString::to_string).collect();
        (own, brought)
    }

    /// Returns the directories that `[sandbox] writable` names by absolute paths.
    #[must_use]
    pub fn writable_places(&self) -> Vec<String> {
        let absolute = |path: &&PathBuf| path.is_absolute();
        let named = self.sandbox.writable.iter().filter(absolute);
        named
            .filter_map(|path| path.to_str())
            .map(str::to_owned)
            .collect()
    }

    /// Names a setting that widens what an agent may do.
    fn set_by_a_person(&self) -> Option<&'static str> {
        [
            ("sandbox.writable", self.sandbox.writable.is_empty()),
            ("sandbox.sockets", self.sandbox.sockets.is_empty()),
            ("shell.allow", self.shell.allow.is_empty()),
            ("shell.transparent", self.shell.transparent.is_empty()),
            ("protect.allow", self.protect.allow.is_empty()),
            ("trust.projects", self.trust.projects.is_empty()),
            // A checked-out project must not send a key elsewhere.
            ("providers", self.providers.is_empty()),
            // What it names is started outside of every sandbox.
            ("notify.desktop", self.notify.desktop.is_none()),
            ("notify.command", self.notify.command.is_empty()),
            ("attest.signer", self.attest.signer.is_empty()),
            ("attest.public_key", self.attest.public_key.is_none()),
            ("telemetry.endpoint", self.telemetry.endpoint.is_none()),
            ("telemetry.capture_content", !self.telemetry.capture_content),
            (
                "gateway.approvals_over_http",
                !self.gateway.approvals_over_http,
            ),
        ]
        .into_iter()
        .find_map(|(key, unset)| (!unset).then_some(key))
    }

    /// Returns the restrictions of a project's configuration, which hold also where the project is not trusted.
    #[must_use]
    pub fn narrowed(self) -> Self {
        let mut kept = Self {
            workflow: self.workflow,
            ..Self::default()
        };
        kept.sandbox.require = self.sandbox.require;
        kept
    }

    /// Returns whether the person trusts the project at `root`, its links resolved.
    #[must_use]
    pub fn trusts(&self, root: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let root = real(root);
        self.trust
            .projects
            .iter()
            .any(|project| project.is_absolute() && real(project) == root)
    }

    /// Reads the file at `path`; none: the defaults.
    ///
    /// # Errors
    /// The file is there and cannot be read or does not parse.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let unreadable = |source| ConfigError::Unreadable {
            path: path.to_owned(),
            source,
        };
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(unreadable(error)),
            Ok(data) if data.len() > BYTES_MAX => {
                let reason = format!("it is larger than {BYTES_MAX} bytes");
                return Err(ConfigError::Invalid {
                    path: path.to_owned(),
                    reason,
                });
            }
            Ok(_) => {}
        }
        let text = fs::read_to_string(path).map_err(unreadable)?;
        Self::parse(&text).map_err(|reason| ConfigError::Invalid {
            path: path.to_owned(),
            reason,
        })
    }

    /// Reads a configuration's text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let config: Self = toml::from_str(text).map_err(|error| {
            let said = error.to_string();
            let meant = meant(error.message());
            let meant = meant.map_or_else(String::new, |name| format!(": did you mean `{name}`?"));
            format!("{}{meant}", said.trim_end())
        })?;
        match models::flaw(&config).or_else(|| codemie::flaw(&config)) {
            Some(flaw) => Err(flaw),
            None => Ok(config),
        }
    }
}

/// Returns the key that was probably meant, where a message names an unknown one and those there are.
fn meant(message: &str) -> Option<&str> {
    let (unknown, known) = message
        .strip_prefix("unknown field `")
        .or_else(|| message.strip_prefix("unknown variant `"))?
        .split_once("`, expected ")?;
    // `one of `a`, `b``, or `a` alone: every second piece is a name.
    nearest(unknown, known.split('`').skip(1).step_by(2))
}
