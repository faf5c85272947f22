//! `audit`: what happened in a tenant, signed, and checked again.

use std::{
    error::Error,
    fs::File,
    io::{self, BufReader, Write},
    path::Path,
    process::ExitCode,
};

use interlock_core::instant::utc;
use interlock_shared::{AuditExpected, AuditExport, AuditFrom, verify_audit};
use serde_json::json;

use crate::{
    args::{AuditCommand, Target},
    collector::Collector,
    commands::{Done, found, log, opened, say, write_new},
    keys,
};

pub(crate) fn audit(target: &Target, command: AuditCommand) -> Done {
    match command {
        AuditCommand::Export {
            from,
            run,
            key,
            output,
            otlp,
        } => {
            let collector = otlp.as_deref().map(Collector::new).transpose()?;
            let from = from.as_deref().map_or(Ok(AuditFrom::Entry(0)), begin)?;
            let key = keys::private(key.as_deref())?;
            let run = match run {
                Some(run) => Some(found(&opened(target)?, &run)?),
                None => None,
            };
            let export = log(target)?.audit(from, run.as_ref(), Some(&key))?;
            match collector {
                Some(collector) => collector.send(target, export),
                None => write(target, export, output.as_deref()),
            }
        }
        AuditCommand::Verify {
            file,
            key,
            from,
            run,
            at_least,
        } => {
            let keys = keys::public(&key)?;
            let expected = AuditExpected {
                keys: &keys,
                from,
                run: run.as_deref(),
                at_least,
            };
            verify(target, &file, &expected)
        }
    }
}

/// Parses the number of an entry, or a time.
fn begin(text: &str) -> Result<AuditFrom, Box<dyn Error>> {
    if let Ok(seq) = text.parse() {
        return Ok(AuditFrom::Entry(seq));
    }
    let at_ms = interlock_attest::time(text);
    let at_ms = at_ms.ok_or_else(|| {
        format!("`--from {text}` is neither a number nor a time such as 2026-11-30T08:00:00Z")
    })?;
    Ok(AuditFrom::Time(at_ms))
}

fn write(target: &Target, mut export: AuditExport, output: Option<&Path>) -> Done {
    let entries = export.entries();
    let key = export.key().to_owned();
    let mut all = |to: &mut dyn Write| -> Result<(), Box<dyn Error>> {
        while let Some(part) = export.part()? {
            to.write_all(&part)?;
        }
        Ok(to.flush()?)
    };
    let Some(path) = output else {
        all(&mut io::stdout().lock())?;
        return Ok(ExitCode::SUCCESS);
    };
    write_new(path, all)?;
    let short: String = key.chars().take(12).collect();
    let text = format!(
        "{entries} entries of tenant {} are signed with key {short}, in {}",
        target.tenant,
        path.display()
    );
    let value = json!({
        "file": path, "tenant": target.tenant, "entries": entries, "key": key,
    });
    say(target, &text, &value)?;
    Ok(ExitCode::SUCCESS)
}

fn verify(target: &Target, path: &Path, expected: &AuditExpected<'_>) -> Done {
    let file =
        File::open(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
    match verify_audit(&mut BufReader::new(file), expected) {
        Ok(found) => {
            let text = format!(
                "verified: entries {} to {} of tenant {}, {} of them shown, signed at {} with key {}",
                found.from,
                found.entries,
                found.tenant,
                found.shown,
                utc(found.at_ms),
                found.key
            );
            let value = json!({
                "verified": true, "tenant": found.tenant, "from": found.from, "entries": found.entries,
                "shown": found.shown, "hash": found.hash, "signed_ms": found.at_ms, "key": found.key,
            });
            say(target, &text, &value)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(wrong) if target.json => {
            let value = json!({
                "verified": false, "line": wrong.line, "code": wrong.refusal.code(),
                "message": wrong.refusal.to_string(),
            });
            say(target, "", &value)?;
            Ok(ExitCode::FAILURE)
        }
        Err(wrong) => Err(format!("`{}`, {wrong}", path.display()).into()),
    }
}
