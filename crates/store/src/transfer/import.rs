//! Reads a run from a file and checks every line of it.

use std::{
    collections::BTreeSet,
    io::{self, BufRead},
    path::Path,
};

use interlock_core::run::Run;
use sha2::{Digest as _, Sha256};

use super::{
    Import, Imported, TransferError,
    line::{EndLine, EventLine, FORMAT, Line, PinLine},
};
use crate::{
    broken::{Broken, FirstBroken},
    chain::{ChainHash, from_hex, hex},
    durability::Durability,
    error::StoreError,
    id,
    marks::Marks,
    messages,
    pin::{Pin, check_name, parse_machine},
    rows::{LogOf, Row},
    snapshot::Snapshot,
};

/// Maximum size of a line in bytes.
const LINE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Kind of the lines that contain a machine.
const MACHINE: &str = "machine";

/// Reads an exported run into `to` and checks every line of it; errors name the file as `file`.
///
/// The caller may make the run visible only if this returns without an error.
///
/// # Errors
/// A line differs from what was exported, or the store cannot be written.
pub fn import(
    from: &mut dyn BufRead,
    file: &Path,
    to: &mut dyn Import,
) -> Result<Imported, TransferError> {
    let mut reading = Reading::default();
    let mut sha = Sha256::new();
    let mut number = 0;
    loop {
        number += 1;
        let wrong = |what: String| TransferError::Line {
            file: file.to_owned(),
            line: number,
            what,
        };
        let bytes = line_bytes(from, file)?;
        if bytes.last() != Some(&b'\n') {
            let what = if bytes.is_empty() {
                "the file ends before its last line"
            } else {
                "the line is cut off"
            };
            return Err(wrong(what.to_owned()));
        }
        let line: Line = serde_json::from_slice(&bytes)
            .map_err(|error| wrong(format!("it is not a line of an exported run ({error})")))?;
        if let Line::End(end) = line {
            let imported = reading.end(&end, &hex(&sha.finalize())).map_err(wrong)?;
            number += 1;
            return match line_bytes(from, file)?.as_slice() {
                [] => Ok(imported),
                _ => Err(TransferError::Line {
                    file: file.to_owned(),
                    line: number,
                    what: "there is more after the last line of the run".to_owned(),
                }),
            };
        }
        sha.update(&bytes);
        reading.take(line, to).map_err(|fault| match fault {
            LineError::Line(what) => wrong(what),
            LineError::Store(error) => error.into(),
        })?;
    }
}

/// Reads up to the end of a line; returns an empty result at the end of the file.
fn line_bytes(from: &mut dyn BufRead, file: &Path) -> Result<Vec<u8>, TransferError> {
    let mut bytes = Vec::new();
    io::Read::take(from, LINE_BYTES_MAX)
        .read_until(b'\n', &mut bytes)
        .map_err(|source| TransferError::File {
            file: file.to_owned(),
            source,
        })?;
    Ok(bytes)
}

/// Progress of reading an exported run.
#[derive(Default)]
struct Reading {
    /// Result of folding the events; `None`: the first line has not been read.
    folded: Option<Snapshot>,
    /// Hash of the pin, and of the machine in it.
    pin: Option<ChainHash>,
    machine: String,
    /// Machines, messages and outputs that have been read, each by its kind and key.
    seen: BTreeSet<(&'static str, String)>,
}

enum LineError {
    Line(String),
    Store(StoreError),
}

impl From<StoreError> for LineError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Reading {
    fn take(&mut self, line: Line, to: &mut dyn Import) -> Result<(), LineError> {
        if self.folded.is_none() {
            return match line {
                Line::Run(pin) => self.begin(pin, to),
                _ => Err(LineError::Line(
                    "the first line should say `run`".to_owned(),
                )),
            };
        }
        match line {
            Line::Run(_) => Err(LineError::Line("the run begins twice".to_owned())),
            Line::Event(event) => self.event(event, to),
            Line::Machine(machine) => {
                let read = parse_machine(machine.body.as_bytes()).ok();
                if read.is_none_or(|read| read.hash != machine.hash) {
                    let what = format!("machine `{}` was changed", machine.hash);
                    return Err(LineError::Line(what));
                }
                self.once(MACHINE, &machine.hash)?;
                Ok(to.machine(&machine.hash, machine.body.as_bytes())?)
            }
            Line::Message(message) => {
                let bytes = match (message.text, message.hex) {
                    (Some(text), None) => Some(text.into_bytes()),
                    (None, Some(hex)) => from_hex(&hex),
                    _ => None,
                };
                let bytes = bytes.filter(|bytes| messages::message_digest(bytes) == message.digest);
                let changed = || format!("message `{}` was changed", message.digest);
                let bytes = bytes.ok_or_else(|| LineError::Line(changed()))?;
                self.once("message", message.digest.as_str())?;
                Ok(to.message(&message.digest, &bytes)?)
            }
            Line::Output(output) => {
                if ChainHash::from_hex(&output.call).is_none() {
                    let what = format!("`{}` names no call", output.call);
                    return Err(LineError::Line(what));
                }
                self.once("output", &output.call)?;
                Ok(to.output(&output.call, &output.text)?)
            }
            Line::End(_) => Ok(()),
        }
    }

    /// Refuses a repeated item.
    fn once(&mut self, kind: &'static str, key: &str) -> Result<(), LineError> {
        if self.seen.insert((kind, key.to_owned())) {
            return Ok(());
        }
        Err(LineError::Line(format!("{kind} `{key}` is there twice")))
    }

    fn begin(&mut self, line: PinLine, to: &mut dyn Import) -> Result<(), LineError> {
        if line.format != FORMAT {
            let what = format!(
                "it has format {} and this Interlock knows {FORMAT}",
                line.format
            );
            return Err(LineError::Line(what));
        }
        id::check(&line.run)?;
        let name = line.name.as_deref().map_or(Ok(()), check_name);
        name.map_err(|error| LineError::Line(error.to_string()))?;
        check_time(line.created_ms)?;
        let unknown = || LineError::Line(format!("`{}` is not a durability", line.durability));
        let durability = Durability::from_word(&line.durability).ok_or_else(unknown)?;
        let pin = Pin {
            run: line.run,
            created_ms: line.created_ms,
            project_root: String::new(),
            person_home: String::new(),
            name: line.name,
            workflow: line.workflow,
            source: line.source,
            machine: line.machine.into_bytes(),
        };
        let hash = pin.digest();
        if hash.to_string() != line.hash {
            return Err(LineError::Line(
                "its pinned workflow was changed".to_owned(),
            ));
        }
        let machine = parse_machine(&pin.machine);
        let machine = machine.map_err(|error| LineError::Line(format!("its machine: {error}")))?;
        if machine.id.as_str() != pin.workflow {
            let what = format!(
                "it names workflow `{}`, and its machine is `{}`",
                pin.workflow, machine.id
            );
            return Err(LineError::Line(what));
        }
        let name = Marks::default().decode_text(&pin.source.name);
        name.map_err(|error| LineError::Line(format!("the name of its file: {error}")))?;
        self.machine = machine.hash;
        self.pin = Some(hash);
        to.pin(&pin, durability)?;
        self.folded = Some(Snapshot {
            run: Run::new(pin.run),
            head: hash,
        });
        Ok(())
    }

    fn event(&mut self, line: EventLine, to: &mut dyn Import) -> Result<(), LineError> {
        let (Some(folded), Some(pin)) = (self.folded.take(), self.pin) else {
            return Err(LineError::Line(
                "the first line should say `run`".to_owned(),
            ));
        };
        let (seq, prev) = (folded.run.seq, folded.head);
        let broken = |broken: Broken| LineError::Line(FirstBroken { seq, broken }.to_string());
        check_time(line.at_ms)?;
        let hash = ChainHash::from_hex(&line.hash).ok_or_else(|| broken(Broken::Hash))?;
        let row = Row {
            seq: line.seq,
            at_ms: line.at_ms,
            body: line.body.into_bytes(),
            hash: hash.as_bytes().to_vec(),
        };
        let marks = Marks::default();
        let (event, hash) = row.read(seq, prev, &marks).map_err(broken)?;
        let run = folded.run.id.clone();
        let of = LogOf {
            run: &run,
            place: Path::new(""),
            pin,
            marks: &marks,
        };
        if seq == 0 {
            of.check_start_of(&event, &self.machine).map_err(broken)?;
        }
        // What cannot be folded could be kept, and never be opened.
        let folded = of.fold_event(folded, &event, hash);
        let folded = folded.map_err(|_| {
            let what = format!("event {seq} does not follow from those before it");
            LineError::Line(what)
        })?;
        to.event(row, prev)?;
        self.folded = Some(folded);
        Ok(())
    }

    /// Checks that the whole run was read; `lines_sha256` is the hash of all lines before the last one.
    fn end(self, line: &EndLine, lines_sha256: &str) -> Result<Imported, String> {
        let is_whole = |folded: &Snapshot| {
            line.lines_sha256 == lines_sha256
                && line.events == folded.run.seq
                && line.hash == folded.head.to_string()
        };
        let Some(Snapshot { run, head }) = self.folded.filter(is_whole) else {
            return Err("the lines before it are not those that were exported".to_owned());
        };
        if let Some(hash) = run.adopted
            && !self.seen.contains(&(MACHINE, hash.clone()))
        {
            return Err(format!(
                "the machine `{hash}` that the run has moved to is missing"
            ));
        }
        Ok(Imported {
            run: run.id,
            events: run.seq,
            hash: head,
        })
    }
}

/// Refuses a time that a database could not store.
fn check_time(ms: u64) -> Result<(), LineError> {
    let kept = i64::try_from(ms).map(drop);
    kept.map_err(|_| LineError::Line(format!("{ms} is not a time in milliseconds since 1970")))
}

#[cfg(test)]
mod tests {
    use super::check_time;

    #[test]
    fn a_time_that_no_database_can_store_is_refused() {
        let last = i64::MAX.unsigned_abs();
        assert!(check_time(last).is_ok());
        for ms in [last + 1, u64::MAX] {
            assert!(check_time(ms).is_err(), "{ms}");
        }
    }
}
