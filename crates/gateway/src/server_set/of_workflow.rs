//! The servers that a workflow file names, as `upstream_servers`.
//!
//! They are servers like those of `config.toml`; the file that wraps a workflow contains them, so that both can be shared
//! together.

use interlock_formats::{load, render};
use interlock_project::{Library, ServerConfig, ServerName, Servers};
use serde_json::Value;

/// Key that is not allowed here: hooks need the settings of tools, too.
const NOT_HERE: &str = "tools";

/// Reads the servers of a workflow that is named as for `start`.
///
/// Returns `None` if there is no such workflow, or if it has errors.
pub(super) fn servers(library: &Library, wanted: &str) -> Option<Result<Servers, String>> {
    let source = library.open(wanted).ok()?;
    let loaded = load(&source, None, library).ok()?;
    let wrapped = loaded.upstream_servers.unwrap_or_default();
    let told = |why: String| format!("`upstream_servers` of `{}`: {why}", source.name);
    Some(written(&wrapped).map_err(told))
}

/// Describes why a workflow cannot be used.
pub(super) fn mistake(library: &Library, wanted: &str) -> String {
    match library.open(wanted) {
        Err(error) => error.to_string(),
        Ok(source) => match load(&source, None, library) {
            Err(found) => render(&found, false),
            Ok(_) => format!("`{wanted}` has changed just now: try again"),
        },
    }
}

/// Parses servers: a map of them by name, or a list of those with a `name`.
fn written(value: &Value) -> Result<Servers, String> {
    let mut servers = Servers::new();
    let mut add = |name: &str, config: Value| {
        let name = ServerName::new(name)?;
        if config.get(NOT_HERE).is_some() {
            return Err(format!(
                "`{NOT_HERE}` of `{name}` is not allowed here: write `[mcp.{name}.{NOT_HERE}.…]` into `config.toml`"
            ));
        }
        let config: ServerConfig = serde_json::from_value(config)
            .map_err(|error| format!("the server `{name}`: {error}"))?;
        match servers.insert(name.clone(), config) {
            Some(_) => Err(format!("there are two servers `{name}`")),
            None => Ok(()),
        }
    };
    match value {
        Value::Null => {}
        Value::Object(by_name) => {
            for (name, config) in by_name {
                add(name, config.clone())?;
            }
        }
        Value::Array(list) => {
            for entry in list {
                let mut config = entry.as_object().cloned().unwrap_or_default();
                let name = config.shift_remove("name");
                let name = name.as_ref().and_then(Value::as_str);
                let name = name.ok_or("every server of a list must have a `name`")?;
                add(name, Value::Object(config))?;
            }
        }
        _ => {
            return Err(
                "they must be a map of servers by name, or a list of servers with a `name`"
                    .to_owned(),
            );
        }
    }
    servers.retain(|_, server| server.enabled);
    Ok(servers)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use interlock_project::Transport;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_map_and_a_list_say_the_same() {
        let of_map = written(&json!({
            "fs": {"command": "files", "args": ["."]},
            "web": {"url": "https://example.org/mcp", "type": "streamable-http"},
            "off": {"command": "x", "enabled": false},
        }));
        let of_list = written(&json!([
            {"name": "fs", "command": "files", "args": ["."]},
            {"name": "web", "url": "https://example.org/mcp"},
        ]));
        assert_eq!(of_map, of_list);
        let servers = of_map.unwrap();
        let names: Vec<&str> = servers.keys().map(ServerName::as_str).collect();
        assert_eq!(names, ["fs", "web"]);
        let (_, first) = servers.first().unwrap();
        assert!(matches!(&first.transport, Transport::Stdio(stdio) if stdio.args == ["."]));
        assert_eq!(written(&Value::Null).unwrap(), Servers::new());
    }

    #[test]
    fn what_is_no_server_is_refused_by_name() {
        for (value, why) in [
            (json!("fs"), "a map of servers"),
            (json!([{"command": "x"}]), "must have a `name`"),
            (json!(["fs"]), "must have a `name`"),
            (json!({"a__b": {"command": "x"}}), "`a__b` cannot be"),
            (json!({"fs": {}}), "neither `command` nor `url`"),
            (json!({"fs": {"comand": "x"}}), "the server `fs`"),
            (json!({"fs": 5}), "the server `fs`"),
            (
                json!({"fs": {"command": "x", "tools": {}}}),
                "into `config.toml`",
            ),
            (
                json!([{"name": "fs", "command": "x"}, {"name": "fs", "command": "y"}]),
                "two servers `fs`",
            ),
        ] {
            let refused = written(&value).unwrap_err();
            assert!(refused.contains(why), "{value}: {refused}");
        }
    }
}
