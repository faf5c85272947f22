//! `bash`: runs a command in the shell.

use std::{
    ffi::OsString,
    fs,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use serde_json::Value;

use super::{Advice, Codes, Prepared, fields::Fields};
use crate::{order::Failed, run_context::RunContext};
use interlock_process::{Input, Program, WORD_BYTES_MAX};

/// Maximum number of characters of a pause's reason.
const REASON_CHARACTERS_MAX: usize = 500;

/// Counter that distinguishes scripts of this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

pub(super) fn prepare(input: &Value, context: &RunContext) -> Result<Prepared, Failed> {
    let fields = Fields::new("bash", input);
    let command = fields.required("command")?;
    let directory = fields.filled("cwd")?;
    let directory = directory.unwrap_or_else(|| context.places.run_dir.clone());
    let timeout_ms = fields.duration_ms("timeout")?;
    let environment = fields.variables("env")?;
    let names = fields.variables("env-names")?;
    if command.contains('\0') {
        return Err(fields.wrong("command", "has a NUL byte"));
    }
    let shell = context.shells.iter().find(|shell| shell.is_file());
    let shell = shell.ok_or_else(|| Failed::new(2, "there is no `bash` in /bin: install it"))?;
    let script = (command.len() >= WORD_BYTES_MAX)
        .then(|| Script::write(Path::new(&context.places.run_dir), &command))
        .transpose()
        .map_err(|(path, error)| {
            Failed::new(1, format!("cannot write `{}`: {error}", path.display()))
        })?;
    let program = Program {
        file: shell.clone(),
        arguments: arguments(&command, script.as_ref()),
        directory: PathBuf::from(&directory),
        environment,
        names,
        input: Input::Rule,
        merged: false,
        timeout_ms,
    };
    let advice = Advice::new(&command, &directory, &context.places);
    Ok(Prepared {
        advice: Some(advice),
        script,
        ..Prepared::new(program, "the command", Codes::Own)
    })
}

fn arguments(command: &str, script: Option<&Script>) -> Vec<OsString> {
    let command = OsString::from(command);
    match script {
        Some(script) => vec![script.path.clone().into_os_string()],
        // A text that looks like an option is not one.
        None if command.as_encoded_bytes().starts_with(b"-")
            || command.as_encoded_bytes().starts_with(b"+") =>
        {
            vec!["-c".into(), "--".into(), command]
        }
        None => vec!["-c".into(), command],
    }
}

/// Returns what is wrong with the arguments of a pause.
pub(super) fn pause_fault(input: &Value) -> Option<Failed> {
    let fields = Fields::new("pause", input);
    let reason = match fields.required("reason") {
        Ok(reason) => reason,
        Err(failed) => return Some(failed),
    };
    if reason.chars().count() > REASON_CHARACTERS_MAX {
        let why = format!("has over {REASON_CHARACTERS_MAX} characters");
        return Some(fields.wrong("reason", &why));
    }
    let condition = fields.get("condition")?;
    let condition = Fields::new("pause", condition);
    let checked = condition
        .required("command")
        .and_then(|_| condition.duration_ms("timeout"));
    checked.err()
}

/// A command in a file of the run directory, because it is too long for an argument.
#[derive(Debug)]
pub(crate) struct Script {
    path: PathBuf,
}

impl Script {
    fn write(directory: &Path, command: &str) -> Result<Self, (PathBuf, io::Error)> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let own = std::process::id();
        let path = directory.join(format!(".interlock-{own}-{number}.sh"));
        let written = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(command.as_bytes()));
        let script = Self { path };
        match written {
            Ok(()) => Ok(script),
            Err(error) => Err((script.path.clone(), error)),
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // Nothing reads it any more; in the run directory it does no harm.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use serde_json::json;

    use super::pause_fault;

    #[test]
    fn a_reason_of_500_characters_is_taken() {
        assert_eq!(pause_fault(&json!({"reason": "ä".repeat(500)})), None);
        let failed = pause_fault(&json!({"reason": "ä".repeat(501)})).unwrap();
        assert_eq!(failed.code, 1);
        assert!(pause_fault(&json!({})).is_some());
        let condition =
            |timeout| json!({"reason": "r", "condition": {"command": "true", "timeout": timeout}});
        assert_eq!(pause_fault(&condition("5s")), None);
        assert!(pause_fault(&condition("soon")).is_some());
    }
}
