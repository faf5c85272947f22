//! The two protocols of MCP, and the translation of messages between them.
//!
//! Legacy: up to 2025-11-25, a session begins with `initialize`. Modern: from 2026-07-28, each request says in `_meta` who sends
//! it. Sides with the same protocol need no translation.

use interlock_core::machine::Object;
use serde_json::{Value, json, value::RawValue};

use crate::{
    fields::Fields,
    message::{INVALID_PARAMS, Outcome},
};

/// Revision of the modern protocol.
pub const MODERN: &str = "2026-07-28";
/// Revisions of the legacy protocol, newest first.
pub const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Code for an unsupported revision.
pub const UNSUPPORTED_VERSION: i64 = -32_022;
/// Error codes that only a server of the modern protocol sends.
pub const MODERN_ERRORS: [i64; 3] = [-32_020, -32_021, UNSUPPORTED_VERSION];

/// Key of a modern request's revision.
pub const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// Key of its client's capabilities.
pub const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
/// Key of its client's name and version.
pub const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
/// Key of the log level that its client wants.
pub const LOG_KEY: &str = "io.modelcontextprotocol/logLevel";
/// Key of a result's server.
pub const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";
/// Key of a notification's subscription.
pub const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Levels of log messages, least severe first.
const LOG_LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// One of the two protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Up to 2025-11-25: a session begins with `initialize`.
    Legacy,
    /// From 2026-07-28: each request says who sends it.
    Modern,
}

/// The introduction of a client.
#[derive(Debug, Clone, PartialEq)]
pub struct Introduced {
    /// Protocol of the client.
    pub era: Era,
    /// Requested revision.
    pub version: String,
    /// Capabilities of the client.
    pub capabilities: Value,
    /// Name and version of the client.
    pub client: Option<Value>,
    /// Least severe log messages that it wants; `None` for none.
    pub log_level: Option<String>,
    /// Parameters of `initialize`, in the legacy protocol.
    pub initialize: Object,
}

impl Introduced {
    /// Reads the parameters of `initialize`.
    pub fn by_initialize(params: &Object) -> Result<Self, Outcome> {
        let Some(version) = params.get("protocolVersion").and_then(Value::as_str) else {
            return Err(Outcome::error(
                INVALID_PARAMS,
                "`protocolVersion` of `initialize` must be given",
            ));
        };
        Ok(Self {
            era: Era::Legacy,
            version: version.to_owned(),
            capabilities: params.get("capabilities").cloned().unwrap_or(json!({})),
            client: params.get("clientInfo").cloned(),
            log_level: None,
            initialize: params.clone(),
        })
    }

    /// Reads the client's introduction from a request of the modern protocol; returns `None` for the legacy protocol.
    pub fn by_meta(params: Option<&Object>) -> Option<Result<Self, Outcome>> {
        let meta = params?.get("_meta")?.as_object()?;
        let version = meta.get(VERSION_KEY)?;
        let refuse = |message: String| Some(Err(Outcome::error(INVALID_PARAMS, &message)));
        let Some(version) = version.as_str() else {
            return refuse(format!("`{VERSION_KEY}` in `_meta` must be a text"));
        };
        if version != MODERN {
            return Some(Err(unsupported(version)));
        }
        let Some(capabilities) = meta.get(CAPABILITIES_KEY).filter(|value| value.is_object())
        else {
            return refuse(format!("`{CAPABILITIES_KEY}` in `_meta` must be an object"));
        };
        Some(Ok(Self {
            era: Era::Modern,
            version: version.to_owned(),
            capabilities: capabilities.clone(),
            client: meta.get(CLIENT_KEY).cloned(),
            log_level: meta.get(LOG_KEY).and_then(Value::as_str).map(str::to_owned),
            initialize: Object::new(),
        }))
    }

    /// Returns whether the client declared a capability.
    pub fn can(&self, capability: &str) -> bool {
        self.capabilities
            .get(capability)
            .is_some_and(Value::is_object)
    }

    /// Returns whether a person at the client can be shown a form.
    pub fn can_show_forms(&self) -> bool {
        let Some(elicitation) = self
            .capabilities
            .get("elicitation")
            .and_then(Value::as_object)
        else {
            return false;
        };
        // Before there were modes, the capability meant forms.
        elicitation.contains_key("form") || !elicitation.contains_key("url")
    }

    /// Returns whether it can answer a request of a server.
    pub fn answers(&self, method: &str) -> bool {
        match method {
            "elicitation/create" => self.can("elicitation"),
            "sampling/createMessage" => self.can("sampling"),
            "roots/list" => self.can("roots"),
            _ => false,
        }
    }

    /// Returns whether it wants a log message of this severity.
    pub fn wants_logged(&self, level: Option<&str>) -> bool {
        let severity = |level: &str| LOG_LEVELS.iter().position(|known| *known == level);
        match (&self.log_level, level) {
            (None, _) => false,
            (Some(wanted), Some(level)) => severity(level) >= severity(wanted),
            (Some(_), None) => true,
        }
    }

    /// Represents a client that has not introduced itself.
    #[must_use]
    pub fn nobody() -> Self {
        Self {
            era: Era::Legacy,
            version: String::new(),
            capabilities: json!({}),
            client: None,
            log_level: None,
            initialize: Object::new(),
        }
    }

    /// Returns parameters of `initialize` for a server of the legacy protocol.
    pub fn to_initialize(&self) -> Object {
        if self.era == Era::Legacy {
            return self.initialize.clone();
        }
        let unnamed = json!({"name": "interlock", "version": env!("CARGO_PKG_VERSION")});
        let mut params = Object::new();
        params.insert("protocolVersion".to_owned(), json!(LEGACY.first()));
        params.insert("capabilities".to_owned(), self.capabilities.clone());
        let client = self.client.clone().unwrap_or(unnamed);
        params.insert("clientInfo".to_owned(), client);
        params
    }

    /// Adds what a server of the modern protocol must know of the client.
    pub fn to_meta(&self, params: Option<Object>) -> Object {
        let mut params = params.unwrap_or_default();
        let mut meta = match params.shift_remove("_meta") {
            Some(Value::Object(meta)) => meta,
            _ => Object::new(),
        };
        meta.insert(VERSION_KEY.to_owned(), json!(MODERN));
        meta.insert(CAPABILITIES_KEY.to_owned(), self.capabilities.clone());
        if let Some(client) = &self.client {
            meta.insert(CLIENT_KEY.to_owned(), client.clone());
        }
        if let Some(level) = &self.log_level {
            meta.insert(LOG_KEY.to_owned(), json!(level));
        }
        params.insert("_meta".to_owned(), Value::Object(meta));
        params
    }
}

/// Creates the error for an unsupported revision.
pub fn unsupported(version: &str) -> Outcome {
    let data = json!({"supported": versions(), "requested": version});
    let message = format!("protocol version `{version}` is not supported");
    Outcome::error_with(UNSUPPORTED_VERSION, &message, &data)
}

/// Lists the supported revisions, newest first.
pub fn versions() -> Vec<&'static str> {
    std::iter::once(MODERN).chain(LEGACY).collect()
}

/// Removes what a server of the legacy protocol does not know from a request.
pub fn request_to_legacy(params: Option<Object>) -> Option<Object> {
    let mut params = params?;
    params.shift_remove("inputResponses");
    params.shift_remove("requestState");
    if let Some(Value::Object(meta)) = params.get_mut("_meta") {
        for key in [VERSION_KEY, CAPABILITIES_KEY, CLIENT_KEY, LOG_KEY] {
            meta.shift_remove(key);
        }
        if meta.is_empty() {
            params.shift_remove("_meta");
        }
    }
    Some(params)
}

/// Removes what a client of the legacy protocol does not know from a result.
pub fn result_to_legacy(result: Box<RawValue>) -> Box<RawValue> {
    let Some(mut fields) = Fields::of(&result) else {
        return result;
    };
    let before = fields.len();
    for name in ["resultType", "ttlMs", "cacheScope"] {
        fields.remove(name);
    }
    if fields.len() == before {
        return result;
    }
    fields.write()
}

/// Adds what a client of the modern protocol requires to a result.
pub fn result_to_modern(method: &str, result: Box<RawValue>) -> Box<RawValue> {
    let Some(mut fields) = Fields::of(&result) else {
        return result;
    };
    if fields.get("resultType").is_none() {
        fields.set_first("resultType", &json!("complete"));
    }
    if is_cached(method) {
        if fields.get("ttlMs").is_none() {
            fields.set("ttlMs", &json!(0));
        }
        if fields.get("cacheScope").is_none() {
            fields.set("cacheScope", &json!("private"));
        }
    }
    fields.write()
}

/// Returns whether results of a method say how long they are valid.
pub fn is_cached(method: &str) -> bool {
    matches!(
        method,
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
    )
}

/// Removes the subscription from a notification.
pub fn without_subscription(params: Option<Object>) -> Option<Object> {
    let mut params = params?;
    if let Some(Value::Object(meta)) = params.get_mut("_meta") {
        meta.shift_remove(SUBSCRIPTION_KEY);
        if meta.is_empty() {
            params.shift_remove("_meta");
        }
    }
    (!params.is_empty()).then_some(params)
}

/// Adds the subscription to a notification.
pub fn with_subscription(params: Option<Object>, id: Value) -> Object {
    let mut params = params.unwrap_or_default();
    let meta = params.entry("_meta").or_insert_with(|| json!({}));
    if let Value::Object(meta) = meta {
        meta.insert(SUBSCRIPTION_KEY.to_owned(), id);
    }
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_message_is_wanted_from_the_severity_that_was_asked_for_on() {
        for (wanted, level, is_wanted) in [
            (Some("warning"), Some("notice"), false),
            (Some("warning"), Some("warning"), true),
            (Some("warning"), Some("error"), true),
            (Some("emergency"), Some("alert"), false),
            (Some("debug"), Some("debug"), true),
            // A message without a severity may be important.
            (Some("emergency"), None, true),
            (None, Some("emergency"), false),
            (None, None, false),
        ] {
            let client = Introduced {
                log_level: wanted.map(str::to_owned),
                ..Introduced::nobody()
            };
            assert_eq!(
                client.wants_logged(level),
                is_wanted,
                "{wanted:?} {level:?}"
            );
        }
    }

    #[test]
    fn a_modern_request_names_its_version_and_an_object_of_capabilities() {
        let by_meta = |meta: Value| {
            let params = json!({ "_meta": meta });
            let read = Introduced::by_meta(params.as_object());
            read.map(|read| read.map(|client| client.capabilities).is_ok())
        };
        for (version, capabilities, wanted) in [
            (json!(MODERN), json!({}), Some(true)),
            (json!(MODERN), json!({ "elicitation": {} }), Some(true)),
            (json!(MODERN), json!([]), Some(false)),
            (json!(MODERN), json!("all"), Some(false)),
            (json!(MODERN), Value::Null, Some(false)),
            (json!("2025-06-18"), json!({}), Some(false)),
            (json!(7), json!({}), Some(false)),
        ] {
            let meta = json!({ VERSION_KEY: version, CAPABILITIES_KEY: capabilities });
            assert_eq!(by_meta(meta), wanted, "{version} {capabilities}");
        }
        assert_eq!(by_meta(json!({ VERSION_KEY: MODERN })), Some(false));
        assert_eq!(by_meta(json!({ CAPABILITIES_KEY: {} })), None);
    }
}
