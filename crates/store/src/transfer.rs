//! A run as one file, to be carried from one store to another with its hashes.
//!
//! Lines of JSON: `run` with what is pinned, each `event` with its bytes as they were written, each
//! `machine` that the run could move to, each `message`, each `output` of a call, and `end` with the
//! number of events, the last hash and the SHA-256 of all lines before it. The same run gives the same
//! bytes, whatever store it is read from. Snapshots are not carried: the log makes them again.

use std::{
    io::{self, BufRead, Write},
    path::{Path, PathBuf},
};

use interlock_core::names::{Digest, RunId};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    broken::{Broken, FirstBroken},
    chain::{ChainHash, from_hex, hex},
    durability::Durability,
    error::StoreError,
    home::Home,
    id,
    marks::Marks,
    messages,
    pin::{Pin, SourceFile, parse_machine},
    rows::{LogOf, PAGE, Row, Rows},
    run_store::RunStore as _,
    sqlite_run::SqliteRun,
};

/// The version of the format that this code writes and reads.
const FORMAT: u32 = 1;
/// The most bytes of one line.
const LINE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// A run as its store has written it down.
pub trait Transfer: Rows {
    /// Returns what is pinned.
    ///
    /// # Errors
    /// It cannot be read or was changed.
    fn pinned(&self) -> Result<(Pin, Durability), StoreError>;

    /// Returns the bytes of each machine that the run could move to, by its hash.
    ///
    /// # Errors
    /// The store cannot be read.
    fn machines(&self) -> Result<Vec<Vec<u8>>, StoreError>;

    /// Lists the digests of its messages, in their order.
    ///
    /// # Errors
    /// The store cannot be read.
    fn message_digests(&self) -> Result<Vec<Digest>, StoreError>;

    /// Returns one message.
    ///
    /// # Errors
    /// It is not there, or is not what its digest says.
    fn message(&self, digest: &Digest) -> Result<Vec<u8>, StoreError>;

    /// Returns the texts that calls returned, by the SHA-256 of the call's id.
    ///
    /// # Errors
    /// The store cannot be read.
    fn outputs(&self) -> Result<Vec<(String, String)>, StoreError>;
}

/// A store that takes a run over.
///
/// Nothing of it is to be found before the caller has seen all of it.
pub trait Import {
    /// Takes what is pinned.
    ///
    /// # Errors
    /// The run is there already, or the store cannot be written.
    fn pin(&mut self, pin: &Pin, durability: Durability) -> Result<(), StoreError>;

    /// Takes the next event with the hash before it.
    ///
    /// # Errors
    /// The store cannot be written.
    fn event(&mut self, row: Row, prev: ChainHash) -> Result<(), StoreError>;

    /// Takes a machine that the run could move to.
    ///
    /// # Errors
    /// The store cannot be written.
    fn machine(&mut self, hash: &str, bytes: &[u8]) -> Result<(), StoreError>;

    /// Takes a message.
    ///
    /// # Errors
    /// The store cannot be written.
    fn message(&mut self, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError>;

    /// Takes the text that a call returned, by the SHA-256 of the call's id.
    ///
    /// # Errors
    /// The store cannot be written.
    fn output(&mut self, call: &str, text: &str) -> Result<(), StoreError>;
}

/// What was carried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// The run.
    pub run: RunId,
    /// How many events it has.
    pub events: u64,
    /// The hash of the last of them; the pin's where there is none.
    pub hash: ChainHash,
}

/// Why a run was not carried over.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The file cannot be read or written.
    #[error("cannot read or write `{file}`: {source}")]
    File {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line is not one of an exported run.
    #[error("`{file}`, line {line}: {what}; nothing was imported: export the run again")]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Run(PinLine),
    Event(EventLine),
    Machine(MachineLine),
    Message(MessageLine),
    Output(OutputLine),
    End(EndLine),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PinLine {
    format: u32,
    run: RunId,
    created_ms: u64,
    name: Option<String>,
    workflow: String,
    durability: String,
    hash: String,
    source: SourceFile,
    machine: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EventLine {
    seq: u64,
    at_ms: u64,
    hash: String,
    body: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineLine {
    hash: String,
    body: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageLine {
    digest: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The bytes, where they are no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OutputLine {
    call: String,
    text: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndLine {
    events: u64,
    hash: String,
    lines_sha256: String,
}

/// Writes lines, and hashes what it has written.
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

/// Writes `run` into a file that errors call `file`.
///
/// # Errors
/// The run cannot be read, is damaged as far as it is read here, or the file cannot be written.
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

impl Transfer for SqliteRun {
    fn pinned(&self) -> Result<(Pin, Durability), StoreError> {
        Ok((self.pin()?, self.durability()))
    }

    fn machines(&self) -> Result<Vec<Vec<u8>>, StoreError> {
        self.kept_machines()
    }

    fn message_digests(&self) -> Result<Vec<Digest>, StoreError> {
        self.folder().message_digests()
    }

    fn message(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        self.messages().read(digest)
    }

    fn outputs(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.folder().outputs()
    }
}

impl Home {
    /// Writes a run of this machine's state directory into a file, as [`export`] does.
    ///
    /// # Errors
    /// Those of [`export`], and there is no such run.
    pub fn export_run(
        &self,
        run: &RunId,
        to: &mut dyn Write,
        file: &Path,
    ) -> Result<Imported, TransferError> {
        export(&self.local_run(run)?, to, file)
    }
}
