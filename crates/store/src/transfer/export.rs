//! Writes a run to a file.

use std::{io::Write, path::Path};

use sha2::{Digest as _, Sha256};

use super::{
    Imported, Transfer, TransferError,
    line::{EndLine, EventLine, FORMAT, Line, MachineLine, MessageLine, OutputLine, PinLine},
};
use crate::{chain::hex, pin::parse_machine, rows::PAGE};

/// Writes lines and hashes them.
struct Lines<'a> {
    to: &'a mut dyn Write,
    file: &'a Path,
    sha: Sha256,
}

impl Lines<'_> {
    fn write(&mut self, line: &Line) -> Result<(), TransferError> {
        let failed = |source| TransferError::File {
            file: self.file.to_owned(),
            source,
        };
        let mut bytes = serde_json::to_vec(line).map_err(|error| failed(error.into()))?;
        bytes.push(b'\n');
        self.sha.update(&bytes);
        self.to.write_all(&bytes).map_err(failed)
    }
}

/// Writes `run` to a file; errors name the file as `file`.
///
/// # Errors
/// The run cannot be read, the part read here is damaged, or the file cannot be written.
pub fn export(
    run: &dyn Transfer,
    to: &mut dyn Write,
    file: &Path,
) -> Result<Imported, TransferError> {
    let of = run.log_of();
    let (pin, durability) = run.pinned()?;
    let mut lines = Lines {
        to,
        file,
        sha: Sha256::new(),
    };
    let text = |bytes: Vec<u8>, what: &str| {
        String::from_utf8(bytes).map_err(|_| of.damaged(format!("{what} is not text")))
    };
    let mut hash = pin.digest();
    lines.write(&Line::Run(PinLine {
        format: FORMAT,
        run: pin.run.clone(),
        created_ms: pin.created_ms,
        name: pin.name,
        workflow: pin.workflow,
        durability: durability.word().to_owned(),
        hash: hash.to_string(),
        source: pin.source,
        machine: text(pin.machine, "its machine")?,
    }))?;
    let mut seq = 0;
    loop {
        let rows = run.rows(seq, PAGE)?;
        if rows.is_empty() {
            break;
        }
        for row in rows {
            let (_, next) = row
                .read(seq, hash, of.marks)
                .map_err(|broken| of.broken(seq, &broken))?;
            lines.write(&Line::Event(EventLine {
                seq,
                at_ms: row.at_ms,
                hash: next.to_string(),
                body: text(row.body, "an event")?,
            }))?;
            (seq, hash) = (seq + 1, next);
        }
    }
    // What an event names was kept before it: read after the events, all of it is there.
    for bytes in run.machines()? {
        let machine = parse_machine(&bytes).map_err(|error| of.damaged(error.to_string()))?;
        lines.write(&Line::Machine(MachineLine {
            hash: machine.hash,
            body: text(bytes, "a machine")?,
        }))?;
    }
    for digest in run.message_digests()? {
        let bytes = run.message(&digest)?;
        let (text, hex) = match String::from_utf8(bytes) {
            Ok(text) => (Some(text), None),
            Err(error) => (None, Some(hex(error.as_bytes()))),
        };
        lines.write(&Line::Message(MessageLine { digest, text, hex }))?;
    }
    for (call, text) in run.outputs()? {
        lines.write(&Line::Output(OutputLine { call, text }))?;
    }
    let end = EndLine {
        events: seq,
        hash: hash.to_string(),
        lines_sha256: self::hex(&lines.sha.clone().finalize()),
    };
    lines.write(&Line::End(end))?;
    let run = pin.run;
    Ok(Imported {
        run,
        events: seq,
        hash,
    })
}
