//! Where spans and log records are sent, according to the standard variables and a person's configuration.

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::otlp::Resource;

/// How long an answer is waited for.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The variables that are about one kind of what is sent, and the end of its address.
struct Signal {
    exporter: &'static str,
    endpoint: &'static str,
    path: &'static str,
    protocol: &'static str,
    headers: &'static str,
    timeout: &'static str,
}

const TRACES: Signal = Signal {
    exporter: "OTEL_TRACES_EXPORTER",
    endpoint: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    path: "/v1/traces",
    protocol: "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    headers: "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    timeout: "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
};

const LOGS: Signal = Signal {
    exporter: "OTEL_LOGS_EXPORTER",
    endpoint: "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
    path: "/v1/logs",
    protocol: "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL",
    headers: "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
    timeout: "OTEL_EXPORTER_OTLP_LOGS_TIMEOUT",
};

/// Where spans are sent, and in whose name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The address they are posted to; `None` if telemetry is off.
    pub endpoint: Option<String>,
    /// Headers that are sent with them.
    pub headers: Vec<(String, String)>,
    /// How long an answer is waited for.
    pub timeout: Duration,
    /// The sender of the spans.
    pub resource: Resource,
    /// Whether arguments, data and notes are sent, too.
    pub content: bool,
}

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SettingsError {
    /// A protocol that is not supported.
    #[error(
        "`{variable}` asks for `{protocol}`, and only OTLP over HTTP is spoken: set it to `http/json`"
    )]
    Protocol {
        /// The variable.
        variable: &'static str,
        /// The protocol that it asks for.
        protocol: String,
    },
    /// An endpoint that is not an address.
    #[error("`{0}` is not an endpoint: it begins with `http://` or `https://`")]
    Endpoint(String),
}

impl Settings {
    /// Reads the variables for spans through `look`; `configured` and `content` come from the configuration.
    ///
    /// # Errors
    /// A protocol or an endpoint cannot be used.
    pub fn of(
        look: impl Fn(&str) -> Option<String>,
        configured: Option<&str>,
        content: bool,
    ) -> Result<Self, SettingsError> {
        Self::of_signal(&TRACES, look, configured, content)
    }

    /// Reads the variables for log records through `look`; `base` is the collector's address if no variable names one.
    ///
    /// # Errors
    /// A protocol or an endpoint cannot be used.
    pub fn of_logs(
        look: impl Fn(&str) -> Option<String>,
        base: Option<&str>,
    ) -> Result<Self, SettingsError> {
        Self::of_signal(&LOGS, look, base, true)
    }

    fn of_signal(
        signal: &Signal,
        look: impl Fn(&str) -> Option<String>,
        configured: Option<&str>,
        content: bool,
    ) -> Result<Self, SettingsError> {
        let look = |name: &str| look(name).filter(|value| !value.trim().is_empty());
        let first = |names: [&'static str; 2]| {
            names
                .into_iter()
                .find_map(|name| look(name).map(|value| (name, value.trim().to_owned())))
        };
        let off = look("OTEL_SDK_DISABLED").is_some_and(|word| word.eq_ignore_ascii_case("true"))
            || look(signal.exporter).is_some_and(|word| word.trim() == "none");
        let base = look("OTEL_EXPORTER_OTLP_ENDPOINT").or_else(|| configured.map(str::to_owned));
        let below = |base: String| format!("{}{}", base.trim().trim_end_matches('/'), signal.path);
        let endpoint = look(signal.endpoint)
            .map(|endpoint| endpoint.trim().to_owned())
            .or_else(|| base.map(below))
            .filter(|_| !off);
        if let Some(endpoint) = &endpoint {
            usable(endpoint)?;
            let protocol = first([signal.protocol, "OTEL_EXPORTER_OTLP_PROTOCOL"]);
            if let Some((variable, protocol)) = protocol
                && !protocol.starts_with("http/")
            {
                return Err(SettingsError::Protocol { variable, protocol });
            }
        }
        let headers = first([signal.headers, "OTEL_EXPORTER_OTLP_HEADERS"]);
        let timeout = first([signal.timeout, "OTEL_EXPORTER_OTLP_TIMEOUT"]);
        let captured = look("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT");
        Ok(Self {
            endpoint,
            headers: headers.map_or_else(Vec::new, |(_, list)| pairs(&list)),
            timeout: timeout
                .and_then(|(_, ms)| ms.parse().ok())
                .map_or(TIMEOUT, Duration::from_millis),
            resource: resource(
                look("OTEL_RESOURCE_ATTRIBUTES").as_deref(),
                look("OTEL_SERVICE_NAME"),
            ),
            content: captured.map_or(content, |word| {
                !matches!(
                    word.trim().to_ascii_lowercase().as_str(),
                    "false" | "0" | "no_content"
                )
            }),
        })
    }
}

fn usable(endpoint: &str) -> Result<(), SettingsError> {
    let lower = endpoint.to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        return Ok(());
    }
    Err(SettingsError::Endpoint(endpoint.to_owned()))
}

fn resource(listed: Option<&str>, service: Option<String>) -> Resource {
    let mut attributes = pairs(listed.unwrap_or_default());
    if let Some(service) = service {
        attributes.retain(|(name, _)| name != "service.name");
        attributes.push(("service.name".to_owned(), service.trim().to_owned()));
    }
    let mut add = |name: &str, value: &str| {
        if attributes.iter().all(|(known, _)| known != name) {
            attributes.push((name.to_owned(), value.to_owned()));
        }
    };
    add("service.name", "interlock");
    add("service.version", env!("CARGO_PKG_VERSION"));
    Resource { attributes }
}

/// Splits `name=value,name=value`, whose values may be percent-encoded.
fn pairs(list: &str) -> Vec<(String, String)> {
    list.split(',')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (decoded(name.trim()), decoded(value.trim())))
        .filter(|(name, _)| !name.is_empty())
        .collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let escaped = (byte == b'%').then(|| {
            let mut ahead = rest.clone();
            let digits = [ahead.next()?, ahead.next()?];
            let digits = digits.iter().all(u8::is_ascii_hexdigit).then_some(digits)?;
            let digits = std::str::from_utf8(&digits).ok()?.to_owned();
            let value = u8::from_str_radix(&digits, 16).ok()?;
            Some((value, ahead))
        });
        match escaped.flatten() {
            Some((value, ahead)) => {
                bytes.push(value);
                rest = ahead;
            }
            None => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
