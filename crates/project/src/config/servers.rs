//! `[mcp.NAME]`: the MCP servers behind the gateway.

use std::{fmt, path::PathBuf};

use indexmap::IndexMap;
use serde::Deserialize;

/// Longest name of a server, in characters.
const NAME_CHARS_MAX: usize = 64;

/// The name of a server: letters, digits, `-` and `_`.
///
/// INVARIANT: it holds no `__` and neither begins nor ends with `_`, so that
/// `SERVER__TOOL` can be made of one server and one tool only.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct ServerName(String);

impl ServerName {
    /// Checks a name.
    ///
    /// # Errors
    /// It is not one, with the reason.
    pub fn new(name: impl Into<String>) -> Result<Self, String> {
        let name = name.into();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let why = if name.is_empty() {
            "it is empty"
        } else if !name.chars().all(plain) {
            "it may contain only letters, digits, `-` and `_`"
        } else if name.len() > NAME_CHARS_MAX {
            "it is longer than 64 characters"
        } else if name.contains("__") || name.starts_with('_') || name.ends_with('_') {
            "`__` separates server and tool, so it may neither contain `__` nor begin or end with `_`"
        } else if matches!(
            name.to_ascii_lowercase().as_str(),
            "interlock" | "statewright"
        ) {
            "that is the gateway itself"
        } else {
            return Ok(Self(name));
        };
        Err(format!("`{name}` cannot be the name of a server: {why}"))
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ServerName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::new(name)
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Servers by name, in the order written.
pub type Servers = IndexMap<ServerName, ServerConfig>;

/// An MCP server behind the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Written")]
pub struct ServerConfig {
    /// How it is reached.
    pub transport: Transport,
    /// Whether one process serves all sessions.
    pub shared: bool,
    /// Longest that a request to it may take; `None`: as long as the client waits.
    pub timeout_ms: Option<u64>,
    /// Whether it is used at all.
    pub enabled: bool,
    /// What it may ask of the client.
    pub asks: Asks,
    /// What single tools of it do, by the server's own names.
    pub tools: IndexMap<String, ToolConfig>,
}

/// What a server may ask of its client, where the client can answer it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asks {
    /// Whether it may ask the person (`elicitation`).
    pub elicitation: bool,
    /// Whether it may ask for a model's message (`sampling`).
    pub sampling: bool,
    /// Whether it may ask for the client's directories (`roots`).
    pub roots: bool,
}

impl Default for Asks {
    fn default() -> Self {
        Self {
            elicitation: true,
            sampling: true,
            roots: true,
        }
    }
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A process of ours, by its standard input and output.
    Stdio(StdioConfig),
    /// Streamable HTTP, of any revision.
    Http(HttpConfig),
    /// HTTP with a stream of events beside it, as before 2025.
    Sse(HttpConfig),
}

/// A server that is started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StdioConfig {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables set for it; a value may hold `${NAME}`.
    pub env: IndexMap<String, String>,
    /// Where it is started; relative to the project; `None`: there.
    pub cwd: Option<PathBuf>,
}

/// A server that is called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpConfig {
    /// Where it is; may hold `${NAME}`.
    pub url: String,
    /// Headers sent along; a value may hold `${NAME}`.
    pub headers: IndexMap<String, String>,
}

/// What a tool of a server does with files, by the names of its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolConfig {
    /// Arguments that name files that it reads.
    pub reads: Vec<String>,
    /// Arguments that name files that it writes.
    pub writes: Vec<String>,
    /// Arguments that name files that it removes.
    pub removes: Vec<String>,
    /// The argument that holds the whole new text of a file.
    pub content: Option<String>,
    /// The argument that holds a shell line.
    pub command: Option<String>,
}

/// A server as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    /// How the server is reached: `stdio` with `command`, `http` (default) or `sse`, the transport before 2025, with `url`.
    #[serde(rename = "type")]
    kind: Option<Kind>,
    /// The program of a server that Interlock starts.
    command: Option<String>,
    /// Its arguments.
    args: Option<Vec<String>>,
    /// Environment variables for it. A value may contain `${NAME}`.
    env: Option<IndexMap<String, String>>,
    /// Its working directory, relative to the project's root. Default: the root.
    cwd: Option<PathBuf>,
    /// The address of a server that Interlock connects to. It may contain `${NAME}`.
    url: Option<String>,
    /// Headers that are sent to it. A value may contain `${NAME}`.
    headers: Option<IndexMap<String, String>>,
    /// Whether one process or connection serves all sessions. Default: `false`.
    shared: bool,
    /// Maximum time of one request, in milliseconds. Default: none; the client decides how long it waits.
    timeout_ms: Option<u64>,
    /// Whether the server is used. Default: `true`.
    enabled: Option<bool>,
    /// Whether the server may ask the person a question. Default: `true`.
    elicitation: Option<bool>,
    /// Whether the server may ask for a message of the model. Default: `true`.
    sampling: Option<bool>,
    /// Whether the server may ask for the client's directories. Default: `true`.
    roots: Option<bool>,
    /// What a tool of the server does with [files](gateway.md#files); an empty table says that it touches none.
    tools: IndexMap<String, ToolConfig>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Stdio,
    #[serde(alias = "streamable-http", alias = "streamable_http")]
    Http,
    Sse,
}

impl TryFrom<Written> for ServerConfig {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        if written.timeout_ms == Some(0) {
            return Err("`timeout_ms` is 0: leave it out or choose a larger number".to_owned());
        }
        let (shared, timeout_ms) = (written.shared, written.timeout_ms);
        let enabled = written.enabled.unwrap_or(true);
        Ok(Self {
            shared,
            timeout_ms,
            enabled,
            asks: Asks {
                elicitation: written.elicitation.unwrap_or(true),
                sampling: written.sampling.unwrap_or(true),
                roots: written.roots.unwrap_or(true),
            },
            tools: written.tools.clone(),
            transport: written.transport()?,
        })
    }
}

impl Written {
    fn transport(self) -> Result<Transport, String> {
        match (&self.command, &self.url) {
            (Some(_), Some(_)) => {
                return Err("it has both `command` and `url`: a server is started or called, so take one out".to_owned());
            }
            (None, None) => {
                return Err("it has neither `command` nor `url`: one of them says how the server is reached".to_owned());
            }
            (Some(_), None) => {}
            (None, Some(_)) => return self.called(),
        }
        if self.kind.is_some_and(|kind| kind != Kind::Stdio) {
            return Err("`command` is for `type = \"stdio\"`: take `url` instead".to_owned());
        }
        if self.headers.is_some() {
            return Err("`headers` is for a server with `url`".to_owned());
        }
        let command = self.command.unwrap_or_default();
        if command.trim().is_empty() {
            return Err("`command` is empty".to_owned());
        }
        Ok(Transport::Stdio(StdioConfig {
            command,
            args: self.args.unwrap_or_default(),
            env: self.env.unwrap_or_default(),
            cwd: self.cwd,
        }))
    }

    fn called(self) -> Result<Transport, String> {
        let of_process = [
            ("args", self.args.is_some()),
            ("env", self.env.is_some()),
            ("cwd", self.cwd.is_some()),
        ];
        if let Some((key, _)) = of_process.into_iter().find(|(_, set)| *set) {
            return Err(format!("`{key}` is for a server with `command`"));
        }
        let url = self.url.unwrap_or_default();
        if !(url.starts_with("http://") || url.starts_with("https://") || url.starts_with("${")) {
            return Err(format!(
                "`url` is `{url}`: it has to begin with `http://` or `https://`"
            ));
        }
        let http = HttpConfig {
            url,
            headers: self.headers.unwrap_or_default(),
        };
        match self.kind {
            Some(Kind::Stdio) => Err("`url` is for `type = \"http\"` or `\"sse\"`".to_owned()),
            Some(Kind::Sse) => Ok(Transport::Sse(http)),
            Some(Kind::Http) | None => Ok(Transport::Http(http)),
        }
    }
}

/// Puts the values of variables where a text has `${NAME}`; `$$` stands for `$`.
///
/// # Errors
/// A variable is not set, or a `${` is not closed; the sentence names it.
pub fn expand(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        made.push_str(before);
        rest = after;
        if let Some(after) = rest.strip_prefix('$') {
            made.push('$');
            rest = after;
        } else if let Some(named) = rest.strip_prefix('{') {
            let (name, after) = named
                .split_once('}')
                .ok_or_else(|| "a `${` is not closed by `}`".to_owned())?;
            let value = variable(name)
                .ok_or_else(|| format!("the environment variable `{name}` is not set"))?;
            made.push_str(&value);
            rest = after;
        } else {
            made.push('$');
        }
    }
    made.push_str(rest);
    Ok(made)
}
