//! What CodeMie files refer to: `[assistants]`, `[mcp_servers]`, `[integrations]`, `[datasources]`, `[skills]`.

use std::{fmt, path::PathBuf};

use indexmap::IndexMap;
use interlock_core::machine::{ServerStart, ServerWork};
use interlock_expr::template::Template;
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

use super::{Config, expand};

/// An assistant: the keys of one in a CodeMie file, unread.
pub type AssistantConfig = IndexMap<String, Value>;

/// `[mcp_servers.ID]`: the keys of a server in a CodeMie file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpServerConfig {
    /// The name of the server. Default: NAME.
    name: Option<String>,
    /// Whether the server is used. Default: `true`.
    enabled: Option<bool>,
    /// A text for people.
    description: Option<String>,
    /// How the server is started or reached, as a separate table instead of the keys above.
    config: Option<StartConfig>,
    /// The program of a server that Interlock starts. Templates are filled.
    command: Option<String>,
    /// Its arguments; also written `args`.
    #[serde(alias = "args")]
    arguments: Vec<String>,
    /// Environment variables for it.
    env: Variables,
    /// The address of a server that Interlock connects to.
    url: Option<String>,
    /// Headers that are sent to it.
    headers: Variables,
    /// A bearer token that is sent to it.
    auth_token: Option<Secret>,
    /// The transport of a server with `url`: streamable HTTP. Default: the transport before 2025.
    #[serde(rename = "type")]
    kind: Option<Streamable>,
    /// Whether each call gets a fresh server. Default: `false`.
    single_usage: bool,
    /// The only tools of the server that are used. Default: all.
    tools: Option<Vec<String>>,
    /// Maximum tokens of a result; longer results are truncated.
    tools_tokens_size_limit: Option<u64>,
    /// The table of `[integrations]` whose values the server gets.
    integration_alias: Option<String>,
}

/// How a server is started or reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct StartConfig {
    /// As above.
    command: Option<String>,
    /// As above.
    args: Vec<String>,
    /// As above.
    env: Variables,
    /// As above.
    url: Option<String>,
    /// As above.
    headers: Variables,
    /// As above.
    auth_token: Option<Secret>,
    /// As above.
    #[serde(rename = "type")]
    kind: Option<Streamable>,
    /// As above.
    single_usage: bool,
}

/// The only word for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Streamable {
    #[serde(rename = "streamable-http")]
    Http,
}

/// Texts by name, whose values are secrets as a rule.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
struct Variables(IndexMap<String, String>);

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

impl Variables {
    fn templates(&self) -> Vec<(String, Template)> {
        let pairs = self.0.iter();
        pairs
            .map(|(name, value)| (name.clone(), Template::new(value.as_str())))
            .collect()
    }
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl McpServerConfig {
    /// Returns whether it is used at all.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }

    /// Returns the server as runs of CodeMie files start it.
    ///
    /// # Errors
    /// Nothing, or more than one thing, says how it is started or reached; one clause.
    pub fn work(&self, id: &str) -> Result<ServerWork, String> {
        let flat = StartConfig {
            command: self.command.clone(),
            args: self.arguments.clone(),
            env: self.env.clone(),
            url: self.url.clone(),
            headers: self.headers.clone(),
            auth_token: self.auth_token.clone(),
            kind: self.kind,
            single_usage: self.single_usage,
        };
        let start = match (&self.config, flat == StartConfig::default()) {
            (Some(config), true) => config,
            (None, _) => &flat,
            (Some(_), false) => {
                return Err("a key of `config` is also written next to it".to_owned());
            }
        };
        Ok(ServerWork {
            name: self.name.clone().unwrap_or_else(|| id.to_owned()),
            start: start.start()?,
            single_usage: start.single_usage,
            tools: self.tools.clone(),
            tokens_max: self.tools_tokens_size_limit,
            integration: self.integration_alias.clone(),
        })
    }
}

impl StartConfig {
    fn start(&self) -> Result<ServerStart, String> {
        let texts = |texts: &[String]| -> Vec<Template> {
            texts
                .iter()
                .map(String::as_str)
                .map(Template::new)
                .collect()
        };
        match (&self.command, &self.url) {
            (Some(command), None) => Ok(ServerStart::Program {
                command: Template::new(command.as_str()),
                arguments: texts(&self.args),
                env: self.env.templates(),
            }),
            (None, Some(url)) => Ok(ServerStart::Address {
                url: Template::new(url.as_str()),
                headers: self.headers.templates(),
                token: self
                    .auth_token
                    .as_ref()
                    .map(|token| Template::new(token.0.as_str())),
                streams: self.kind.is_some(),
            }),
            (Some(_), Some(_)) => Err("it has both `command` and `url`: take one out".to_owned()),
            (None, None) => Err("it has neither `command` nor `url`".to_owned()),
        }
    }
}

/// `[integrations.ALIAS]`: values for one tool or server alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IntegrationConfig {
    /// Variables for the tool or server: values, which may contain `${NAME}`, or names to take from the environment.
    pub env: IntegrationEnv,
}

/// The variables of an integration. Never shown with their values.
#[derive(Clone, PartialEq, Eq)]
pub enum IntegrationEnv {
    /// Each with its value, which may hold `${NAME}`.
    Values(IndexMap<String, String>),
    /// Taken from the environment under the same name.
    Names(Vec<String>),
}

impl Default for IntegrationEnv {
    fn default() -> Self {
        Self::Names(Vec::new())
    }
}

impl fmt::Debug for IntegrationEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = match self {
            Self::Values(values) => values.keys().collect(),
            Self::Names(names) => names.iter().collect(),
        };
        f.debug_list().entries(names).finish()
    }
}

impl<'d> Deserialize<'d> for IntegrationEnv {
    fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Self, D::Error> {
        struct Reading;
        impl<'d> Visitor<'d> for Reading {
            type Value = IntegrationEnv;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of values, or a list of names to take from the environment")
            }

            fn visit_seq<A: SeqAccess<'d>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = items.next_element::<String>()? {
                    names.push(variable_name(name).map_err(A::Error::custom)?);
                }
                Ok(IntegrationEnv::Names(names))
            }

            fn visit_map<A: MapAccess<'d>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                let mut values = IndexMap::new();
                while let Some((name, value)) = entries.next_entry::<String, String>()? {
                    values.insert(variable_name(name).map_err(A::Error::custom)?, value);
                }
                Ok(IntegrationEnv::Values(values))
            }
        }
        from.deserialize_any(Reading)
    }
}

fn variable_name(name: String) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = name.chars().next().is_some_and(|c| !c.is_ascii_digit());
    if begins && name.chars().all(plain) {
        return Ok(name);
    }
    Err(format!(
        "`{name}` cannot be the name of a variable: it may contain letters, digits and `_`"
    ))
}

impl IntegrationEnv {
    /// Returns the names with what is written for each; values with secrets in them, for digests only.
    #[must_use]
    pub fn written(&self) -> Vec<(&str, &str)> {
        match self {
            Self::Values(values) => values
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect(),
            Self::Names(names) => names.iter().map(|name| (name.as_str(), "")).collect(),
        }
    }
}

impl IntegrationConfig {
    /// Returns the variables with their values; `variable` looks one up.
    ///
    /// # Errors
    /// A variable is not set; one clause that holds no value.
    pub fn environment(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Vec<(String, String)>, String> {
        match &self.env {
            IntegrationEnv::Values(values) => values
                .iter()
                .map(|(name, value)| Ok((name.clone(), expand(value, &variable)?)))
                .collect(),
            IntegrationEnv::Names(names) => names
                .iter()
                .map(|name| {
                    let value = variable(name);
                    let unset = || format!("the environment variable `{name}` is not set");
                    Ok((name.clone(), value.ok_or_else(unset)?))
                })
                .collect(),
        }
    }

    /// Returns whether a value comes from the environment of the person.
    #[must_use]
    pub fn takes_environment(&self) -> bool {
        match &self.env {
            IntegrationEnv::Values(values) => values.values().any(|value| value.contains("${")),
            IntegrationEnv::Names(names) => !names.is_empty(),
        }
    }
}

/// `[datasources.ID]` and `[skills.ID]`: where something lies.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceConfig {
    /// The path, relative to the project, or in your own file to its folder.
    pub path: PathBuf,
}

/// Returns the first problem of these tables apart from their shape; `None` if there is none.
pub(super) fn flaw(config: &Config) -> Option<String> {
    let server = |(id, one): (&String, &McpServerConfig)| {
        let why = one.work(id).err()?;
        one.is_enabled()
            .then(|| format!("`[mcp_servers.{id}]` cannot be used: {why}"))
    };
    let place = |table: &str, (id, one): (&String, &PlaceConfig)| {
        let empty = one.path.as_os_str().is_empty();
        empty.then(|| format!("the `path` of `[{table}.{id}]` is empty"))
    };
    let mut servers = config.mcp_servers.iter();
    let mut datasources = config.datasources.iter();
    let mut skills = config.skills.iter();
    servers
        .find_map(server)
        .or_else(|| datasources.find_map(|one| place("datasources", one)))
        .or_else(|| skills.find_map(|one| place("skills", one)))
}
