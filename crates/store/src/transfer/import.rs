//! Reading a run from a file, and checking every line of it.

use std::{
    io::{self, BufRead},
    path::Path,
};

use interlock_core::names::RunId;
use sha2::{Digest as _, Sha256};

use super::{
    Import, Imported, TransferError,
    line::{EventLine, FORMAT, Line, PinLine},
};
use crate::{
    broken::{Broken, FirstBroken},
    chain::{ChainHash, from_hex, hex},
    durability::Durability,
    error::StoreError,
    id,
    marks::Marks,
    messages,
    pin::{Pin, parse_machine},
    rows::{LogOf, Row},
};

/// The most bytes of one line.
const LINE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Reads an exported run, which errors call `file`, into `to`, and checks every line of it.
///
/// The caller lets the run be found only where this returns without an error.
///
/// # Errors
/// A line is not as it was exported, or the store cannot be written.
pub fn import(
    from: &mut dyn BufRead,
    file: &Path,
    to: &mut dyn Import,
) -> Result<Imported, TransferError> {
    let mut reading = Reading {
        run: None,
        seq: 0,
        hash: ChainHash::of_parts(&[]),
        machine: String::new(),
    };
    let mut sha = Sha256::new();
    let mut number = 0;
    loop {
        number += 1;
        let wrong = |what: String| TransferError::Line {
            file: file.to_owned(),
            line: number,
            what,
        };
        let mut bytes = Vec::new();
        io::Read::take(&mut *from, LINE_BYTES_MAX)
            .read_until(b'\n', &mut bytes)
            .map_err(|source| TransferError::File {
                file: file.to_owned(),
                source,
            })?;
        if bytes.last() != Some(&b'\n') {
            let what = if bytes.is_empty() {
                "the file ends before its last line"
            } else {
                "the line is cut off"
            };
            return Err(wrong(what.to_owned()));
        }
        let line: Line = serde_json::from_slice(&bytes)
            .map_err(|error| wrong(format!("it is no line of an exported run ({error})")))?;
        if let Line::End(end) = line {
            let is_whole = end.lines_sha256 == hex(&sha.finalize())
                && end.events == reading.seq
                && end.hash == reading.hash.to_string();
            let run = reading.run.filter(|_| is_whole);
            let run = run.ok_or_else(|| {
                wrong("the lines before it are not those that were exported".to_owned())
            })?;
            return Ok(Imported {
                run,
                events: reading.seq,
                hash: reading.hash,
            });
        }
        sha.update(&bytes);
        reading.take(line, to).map_err(|fault| match fault {
            Fault::Line(what) => wrong(what),
            Fault::Store(error) => error.into(),
        })?;
    }
}

/// How far an exported run has been read.
struct Reading {
    run: Option<RunId>,
    seq: u64,
    hash: ChainHash,
    machine: String,
}

enum Fault {
    Line(String),
    Store(StoreError),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Reading {
    fn take(&mut self, line: Line, to: &mut dyn Import) -> Result<(), Fault> {
        let Some(run) = self.run.clone() else {
            return match line {
                Line::Run(pin) => self.begin(pin, to),
                _ => Err(Fault::Line("the first line should say `run`".to_owned())),
            };
        };
        match line {
            Line::Run(_) => Err(Fault::Line("the run begins twice".to_owned())),
            Line::Event(event) => self.event(event, &run, to),
            Line::Machine(machine) => {
                let read = parse_machine(machine.body.as_bytes()).ok();
                if read.is_none_or(|read| read.hash != machine.hash) {
                    let what = format!("machine `{}` was changed", machine.hash);
                    return Err(Fault::Line(what));
                }
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
                let bytes = bytes.ok_or_else(|| Fault::Line(changed()))?;
                Ok(to.message(&message.digest, &bytes)?)
            }
            Line::Output(output) => {
                if ChainHash::from_hex(&output.call).is_none() {
                    let what = format!("`{}` names no call", output.call);
                    return Err(Fault::Line(what));
                }
                Ok(to.output(&output.call, &output.text)?)
            }
            Line::End(_) => Ok(()),
        }
    }

    fn begin(&mut self, line: PinLine, to: &mut dyn Import) -> Result<(), Fault> {
        if line.format != FORMAT {
            let what = format!(
                "it has format {} and this Interlock knows {FORMAT}",
                line.format
            );
            return Err(Fault::Line(what));
        }
        id::check(&line.run)?;
        let unknown = || Fault::Line(format!("`{}` is no durability", line.durability));
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
        self.hash = pin.digest();
        if self.hash.to_string() != line.hash {
            return Err(Fault::Line("its pinned workflow was changed".to_owned()));
        }
        let machine = parse_machine(&pin.machine);
        let machine = machine.map_err(|error| Fault::Line(format!("its machine: {error}")))?;
        self.machine = machine.hash;
        to.pin(&pin, durability)?;
        self.run = Some(pin.run);
        Ok(())
    }

    fn event(&mut self, line: EventLine, run: &RunId, to: &mut dyn Import) -> Result<(), Fault> {
        let broken = |broken: Broken| {
            let seq = self.seq;
            Fault::Line(FirstBroken { seq, broken }.to_string())
        };
        let hash = ChainHash::from_hex(&line.hash).ok_or_else(|| broken(Broken::Hash))?;
        let row = Row {
            seq: line.seq,
            at_ms: line.at_ms,
            body: line.body.into_bytes(),
            hash: hash.as_bytes().to_vec(),
        };
        let marks = Marks::default();
        let (event, hash) = row.read(self.seq, self.hash, &marks).map_err(broken)?;
        if self.seq == 0 {
            let of = LogOf {
                run,
                place: Path::new(""),
                pin: self.hash,
                marks: &marks,
            };
            of.check_start_of(&event, &self.machine).map_err(broken)?;
        }
        to.event(row, self.hash)?;
        (self.seq, self.hash) = (self.seq + 1, hash);
        Ok(())
    }
}
