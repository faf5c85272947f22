//! The servers that a run needs, and how each is reached.

use std::{ffi::OsString, path::Path, sync::Arc, time::Duration};

use interlock_core::machine::Object;
use interlock_mcp::client::McpClient;
use interlock_mcp::transport::{
    ConnectOptions, Dial, Reach,
    http::{HttpServer, Speaks},
    stdio::Process,
};
use interlock_project::{ServerConfig, ServerName};
use interlock_served::reach;
use serde_json::Value;

/// A server that a run needs.
#[derive(Debug, Clone)]
pub struct WantedServer {
    /// Name as made by [`WantedServer::name_of`], the prefix before `__`.
    pub name: String,
    /// How the server is reached.
    pub reach: Reach,
    /// Default time limit of a call; `None`: none.
    pub timeout: Option<Duration>,
    /// Tools to use; `None`: all.
    pub only: Option<Vec<String>>,
    /// Whether each call starts a new server that ends with the call.
    pub single_usage: bool,
}

impl WantedServer {
    /// Creates a server from the configuration; relative paths start at `root`.
    ///
    /// # Errors
    /// Its settings name a variable that is not set, or an invalid address.
    pub fn configured(
        name: &ServerName,
        config: &ServerConfig,
        root: &Path,
    ) -> Result<Self, String> {
        let reach = reach(&config.transport, root);
        Ok(Self {
            name: name.as_str().to_owned(),
            reach: reach.map_err(|why| format!("the server `{name}`: {why}"))?,
            timeout: config.timeout_ms.map(Duration::from_millis),
            only: None,
            single_usage: false,
        })
    }

    /// Creates a server that is defined where it is used, with any name.
    ///
    /// `written` has `command` (with `args`, `env`) or `url` (with `headers`, `auth_token`, and `type: streamable-http`, without
    /// which it uses the SSE transport), and may have `single_usage`. Environment variables are not substituted. A process is
    /// started in `root`.
    ///
    /// # Errors
    /// It does not have that form; the error gives the reason.
    pub fn written(name: &str, written: &Object, root: &Path) -> Result<Self, String> {
        let told = |why: String| format!("the server `{name}`: {why}");
        let known = [
            "command",
            "args",
            "env",
            "url",
            "headers",
            "auth_token",
            "type",
            "single_usage",
        ];
        if let Some(other) = written.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(told(format!("`{other}` is not a part of a server")));
        }
        let fields = Written(written);
        let reach = fields.reach(root).map_err(told)?;
        Ok(Self {
            name: Self::name_of(name),
            reach,
            timeout: None,
            only: None,
            single_usage: fields.flag("single_usage").map_err(told)?,
        })
    }

    /// Converts any text to a server name: letters, digits, `-`, and single `_` inside.
    #[must_use]
    pub fn name_of(text: &str) -> String {
        interlock_tool_names::server_name(text)
    }

    /// Connects to it, and keeps the connection up.
    pub(super) fn connect(&self, options: &ConnectOptions) -> Arc<McpClient> {
        let dial: Box<dyn Dial> = match &self.reach {
            Reach::Process(process) => Box::new(process.clone()),
            Reach::Http(http) => http.clone(),
        };
        let options = ConnectOptions {
            label: format!("the server `{}`", self.name),
            ..options.clone()
        };
        McpClient::connect(dial, options)
    }

    /// Returns whether a tool of the server is selected.
    pub(super) fn takes(&self, tool: &str) -> bool {
        let only = self.only.as_ref();
        only.is_none_or(|only| only.iter().any(|taken| taken == tool))
    }
}

/// Fields of a server that is defined where it is used.
struct Written<'a>(&'a Object);

impl Written<'_> {
    fn reach(&self, root: &Path) -> Result<Reach, String> {
        let kind = self.text("type")?;
        match (self.text("command")?, self.text("url")?) {
            (Some(_), Some(_)) => Err("it has both `command` and `url`: take one out".to_owned()),
            (None, None) => Err("it has neither `command` nor `url`".to_owned()),
            (Some(command), None) => {
                if kind.is_some_and(|kind| kind != "stdio") {
                    return Err("`type` of a server with `command` is `stdio`".to_owned());
                }
                self.process(command, root).map(Reach::Process)
            }
            (None, Some(url)) => {
                let speaks = match kind {
                    None | Some("sse") => Speaks::OneStream,
                    Some("streamable-http" | "streamable_http" | "http") => Speaks::Any,
                    Some(other) => return Err(format!("`{other}` is no `type` of a server")),
                };
                let called = self.called(url, speaks)?;
                Ok(Reach::Http(Box::new(called)))
            }
        }
    }

    fn process(&self, command: &str, root: &Path) -> Result<Process, String> {
        let args = match self.0.get("args") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(args)) => args
                .iter()
                .map(plain)
                .collect::<Option<_>>()
                .ok_or_else(|| "`args` must be texts".to_owned())?,
            Some(_) => return Err("`args` must be a list".to_owned()),
        };
        let env = self.texts("env")?;
        // A bare name is searched in `PATH`; a path is relative to the project.
        let is_path = Path::new(command).components().count() > 1;
        Ok(Process {
            command: if is_path {
                root.join(command).into_os_string()
            } else {
                command.into()
            },
            args: args.into_iter().map(OsString::from).collect(),
            env: env
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            cwd: Some(root.to_owned()),
        })
    }

    fn called(&self, url: &str, speaks: Speaks) -> Result<HttpServer, String> {
        let mut headers = self.texts("headers")?;
        if let Some(token) = self.text("auth_token")?.filter(|token| !token.is_empty()) {
            headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
            headers.push(("Authorization".to_owned(), format!("Bearer {token}")));
        }
        let headers = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        HttpServer::new(url, headers, speaks).map_err(|error| error.to_string())
    }

    fn text(&self, name: &str) -> Result<Option<&str>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{name}` must be a text")),
        }
    }

    fn flag(&self, name: &str) -> Result<bool, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(format!("`{name}` must be `true` or `false`")),
        }
    }

    fn texts(&self, name: &str) -> Result<Vec<(String, String)>, String> {
        let pairs = match self.0.get(name) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Object(pairs)) => pairs,
            Some(_) => return Err(format!("`{name}` must be a map")),
        };
        let pairs = pairs.iter().map(|(key, value)| {
            let value = plain(value).ok_or_else(|| format!("`{name}.{key}` must be a text"))?;
            Ok((key.clone(), value))
        });
        pairs.collect()
    }
}

/// Formats a text, a number or a boolean as an argument.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn made(written: Value) -> Result<WantedServer, String> {
        let Value::Object(written) = written else {
            return Err("an object is wanted".to_owned());
        };
        WantedServer::written("My server", &written, Path::new("/project"))
    }

    #[test]
    fn a_program_is_started_in_the_project_and_found_there_if_it_is_a_path() {
        for (command, file) in [("server", "server"), ("bin/server", "/project/bin/server")] {
            let made = made(json!({"command": command, "args": ["a", 1, true], "env": {"K": 2}}));
            let Ok(Reach::Process(process)) = made.map(|server| server.reach) else {
                unreachable!("`{command}` is a program");
            };
            assert_eq!(process.command, file);
            assert_eq!(process.args, ["a", "1", "true"]);
            let env: Vec<_> = process.env.into_iter().collect();
            assert_eq!(env, [("K".into(), "2".into())]);
            assert_eq!(process.cwd.as_deref(), Some(Path::new("/project")));
        }
    }

    #[test]
    fn what_is_no_server_is_refused_with_its_field() {
        for (written, said) in [
            (json!({}), "it has neither `command` nor `url`"),
            (json!({"command": "a", "url": "http://a/"}), "it has both"),
            (json!({"command": 1}), "`command` must be a text"),
            (
                json!({"command": "a", "type": "sse"}),
                "`type` of a server with `command`",
            ),
            (
                json!({"url": "http://a/", "type": "stdio"}),
                "`stdio` is no `type`",
            ),
            (
                json!({"command": "a", "args": "b"}),
                "`args` must be a list",
            ),
            (
                json!({"command": "a", "args": [null]}),
                "`args` must be texts",
            ),
            (json!({"command": "a", "env": ["K"]}), "`env` must be a map"),
            (
                json!({"command": "a", "env": {"K": []}}),
                "`env.K` must be a text",
            ),
            (
                json!({"command": "a", "single_usage": "no"}),
                "`single_usage` must be",
            ),
            (
                json!({"command": "a", "shell": true}),
                "`shell` is not a part of a server",
            ),
        ] {
            let why = made(written.clone()).err().unwrap_or_default();
            assert!(
                why.starts_with("the server `My server`: "),
                "{written}: {why}"
            );
            assert!(why.contains(said), "{written}: {why}");
        }
        let nothing = json!({
            "command": "a", "args": null, "env": null, "type": "stdio", "single_usage": null,
        });
        assert!(made(nothing).is_ok_and(|server| !server.single_usage));
    }
}
