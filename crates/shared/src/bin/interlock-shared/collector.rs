//! The audit as log records of OpenTelemetry.

use std::{env, error::Error, process::ExitCode};

use interlock_shared::AuditExport;
use interlock_telemetry::{LogRecord, Sender, Settings, Value};
use serde::Deserialize;
use serde_json::json;

use crate::{
    args::Target,
    commands::{Done, say},
};

/// The name of each record.
const EVENT: &str = "interlock.audit";
/// Maximum number of lines in a request.
const RECORDS_MAX: usize = 256;
/// A request with more bytes than this gets no more lines.
const BYTES_ENOUGH: usize = 512 * 1024;

/// A collector, as the variables and the command line name it.
pub(crate) struct Collector {
    settings: Settings,
    endpoint: String,
}

/// What a record says beside its line, which has the names of the export.
#[derive(Debug, Deserialize)]
struct Line {
    seq: Option<i64>,
    run: Option<String>,
    hash: Option<String>,
    entry: Option<Entry>,
    head: Option<Head>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    kind: String,
    at_ms: u64,
}

#[derive(Debug, Deserialize)]
struct Head {
    at_ms: u64,
}

impl Collector {
    /// Finds the collector; `url` may be empty.
    pub(crate) fn new(url: &str) -> Result<Self, Box<dyn Error>> {
        let named = Some(url).filter(|url| !url.is_empty());
        let variable = |name: &str| {
            // What the command line says counts more.
            let is_address = matches!(
                name,
                "OTEL_EXPORTER_OTLP_ENDPOINT" | "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"
            );
            env::var(name)
                .ok()
                .filter(|_| named.is_none() || !is_address)
        };
        let settings = Settings::of_logs(variable, named)?;
        let endpoint = settings.endpoint.clone().ok_or(
            "no collector is named: say `--otlp http://HOST:4318`, or set `OTEL_EXPORTER_OTLP_ENDPOINT`",
        )?;
        Ok(Self { settings, endpoint })
    }

    /// Sends the lines of an export, the signed head last.
    pub(crate) fn send(&self, target: &Target, mut export: AuditExport) -> Done {
        let entries = export.entries();
        let key = export.key().to_owned();
        let sender = Sender::new(&self.settings)?.ok_or("telemetry is off")?;
        let mut records = Vec::new();
        let (mut bytes, mut at_ms, mut sent) = (0, 0, 0);
        let mut begun = Vec::new();
        while let Some(part) = export.part()? {
            begun.extend(part);
            let whole = begun.iter().rposition(|byte| *byte == b'\n');
            let rest = begun.split_off(whole.map_or(0, |end| end + 1));
            let lines = std::mem::replace(&mut begun, rest);
            for line in std::str::from_utf8(&lines)?.lines() {
                bytes += line.len();
                records.push(record(target, line, &mut at_ms)?);
                if records.len() >= RECORDS_MAX || bytes > BYTES_ENOUGH {
                    self.post(&sender, &records, sent)?;
                    sent += records.len();
                    records.clear();
                    bytes = 0;
                }
            }
        }
        self.post(&sender, &records, sent)?;
        let short: String = key.chars().take(12).collect();
        let text = format!(
            "{entries} entries of tenant {} are signed with key {short}; the lines were sent to {}",
            target.tenant, self.endpoint
        );
        let value = json!({
            "endpoint": self.endpoint, "tenant": target.tenant, "entries": entries, "key": key,
        });
        say(target, &text, &value)?;
        Ok(ExitCode::SUCCESS)
    }

    fn post(
        &self,
        sender: &Sender<'_>,
        records: &[LogRecord],
        sent: usize,
    ) -> Result<(), Box<dyn Error>> {
        let posted = sender.send_logs(records);
        posted.map_err(|error| {
            format!("{error}; {sent} lines were accepted before: send the same again").into()
        })
    }
}

/// Returns the record of a line; one that has no time of its own has that of the line before.
fn record(target: &Target, body: &str, at_ms: &mut u64) -> Result<LogRecord, Box<dyn Error>> {
    let line: Line = serde_json::from_str(body)?;
    let own = line.entry.as_ref().map(|entry| entry.at_ms);
    let own = own.or(line.head.as_ref().map(|head| head.at_ms));
    *at_ms = own.unwrap_or(*at_ms);
    let kind = match (&line.entry, &line.head) {
        (Some(entry), _) => &entry.kind,
        (None, Some(_)) => "head",
        (None, None) if line.seq.is_none() => "beginning",
        // An entry of another run, of which only the digest is shown.
        (None, None) => "hidden",
    };
    let text = |text: &str| Value::Text(text.to_owned());
    let mut attributes = vec![
        ("interlock.tenant", text(&target.tenant)),
        ("interlock.audit.kind", text(kind)),
    ];
    if let Some(seq) = line.seq {
        attributes.push(("interlock.audit.seq", Value::Number(seq)));
    }
    if let Some(run) = line.run.as_deref().filter(|run| !run.is_empty()) {
        attributes.push(("interlock.run", text(run)));
    }
    if let Some(hash) = &line.hash {
        attributes.push(("interlock.audit.hash", text(hash)));
    }
    Ok(LogRecord {
        name: EVENT,
        at_ms: *at_ms,
        body: body.to_owned(),
        attributes,
    })
}
