//! An independent model of the observations of calls, derived from the log.
//!
//! It stores every call and every edit instead of the newest, and evaluates them for each query.

use std::collections::{BTreeMap, BTreeSet};

use interlock_core::{
    call::WrittenPath,
    event::{About, Event},
    guard::Since,
    names::{CallId, FramePath},
    run::Run,
};

/// Everything that a log contains about calls.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Number of events.
    seq: u64,
    calls: Vec<Played>,
    /// When something was edited.
    edits: Vec<u64>,
    /// Number of calls that ran, by the stay in which they were allowed.
    counts: BTreeMap<Stay, u64>,
    /// Bytes of results, and files, by the stay in which their call began.
    bytes: BTreeMap<Stay, u64>,
    files: BTreeMap<Stay, BTreeSet<String>>,
}

/// The tool name of a call that does not count.
const CONTROL: &str = "";

/// A frame from one entry of a state to the next.
type Stay = (FramePath, u64);

/// A call that was allowed, or that a person was asked about.
#[derive(Debug)]
struct Played {
    id: CallId,
    stay: Stay,
    begun: u64,
    tool: String,
    files: Vec<String>,
    /// Whether it waits for a person.
    asked: bool,
    /// Whether the client reported its end, or a transition assumed it.
    told: bool,
    /// Whether its line was started, and whether that has ended.
    started: bool,
    over: bool,
    /// Its result, as far as that counts.
    ok: Option<bool>,
}

impl Played {
    fn is_edit(&self) -> bool {
        self.tool == "Edit"
    }

    /// Returns whether its effects may still happen.
    fn runs(&self) -> bool {
        !self.asked && self.ok.is_none()
    }
}

impl History {
    /// Adds an event; `run` is the run before it.
    pub(crate) fn follow(&mut self, run: &Run, event: &Event) {
        self.seq += 1;
        match event {
            Event::CallAllowed {
                path, call, marks, ..
            } => {
                // A control tool is known by its id alone.
                let tool = if marks.counts {
                    call.tool.as_str()
                } else {
                    CONTROL
                };
                self.begin(run, path, &call.id, tool);
                self.have_files(&marks.files);
                self.admit(run, self.calls.len() - 1);
            }
            Event::RequestOpened {
                path,
                about: About::Call(grant),
                ..
            } => {
                self.begin(run, path, &grant.call.id, &grant.call.tool);
                self.have_files(&grant.marks.files);
            }
            Event::CallEnded {
                call,
                ok,
                bytes,
                wrote,
                assumed,
                ..
            } => {
                self.wrote(run, call, wrote);
                if let Some(at) = self.of(call) {
                    self.admit(run, at);
                    self.end(run, at, *ok, *bytes, *assumed);
                }
            }
            Event::LineConfined { call, .. } => {
                if let Some(at) = self.of(call) {
                    self.admit(run, at);
                    self.calls[at].started = true;
                }
            }
            Event::LineEnded {
                call, exit, wrote, ..
            } => {
                self.wrote(run, call, wrote);
                if let Some(at) = self.of(call) {
                    self.end_line(at, *exit == Some(0));
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, run: &Run, path: &FramePath, id: &CallId, tool: &str) {
        self.calls.push(Played {
            id: id.clone(),
            stay: stay(run, path),
            begun: self.seq,
            tool: tool.to_owned(),
            files: Vec::new(),
            asked: true,
            told: false,
            started: false,
            over: false,
            ok: None,
        });
    }

    fn have_files(&mut self, files: &[String]) {
        if let Some(call) = self.calls.last_mut() {
            call.files = files.to_vec();
        }
    }

    /// Counts a call from now on; if a person was asked, its start is the approval.
    fn admit(&mut self, run: &Run, at: usize) {
        let call = &mut self.calls[at];
        if !std::mem::take(&mut call.asked) {
            return;
        }
        let now = stay(run, &call.stay.0);
        if call.tool != CONTROL {
            *self.counts.entry(now.clone()).or_default() += 1;
        }
        let files = self.files.entry(now).or_default();
        files.extend(call.files.iter().cloned());
        if call.is_edit() {
            self.edits.push(self.seq);
        }
    }

    fn end(&mut self, run: &Run, at: usize, ok: bool, bytes: u64, assumed: bool) {
        let call = &mut self.calls[at];
        if call.tool != CONTROL && stay(run, &call.stay.0) == call.stay {
            *self.bytes.entry(call.stay.clone()).or_default() += bytes;
        }
        if call.started && !call.over && !assumed {
            call.told = true;
            return;
        }
        if !call.over {
            call.ok = Some(ok);
            if call.is_edit() && (assumed || !call.started) {
                self.edits.push(self.seq);
            }
        }
        // The end of a call that was only assumed may still be reported.
        call.told = !assumed;
    }

    fn end_line(&mut self, at: usize, ok: bool) {
        let call = &mut self.calls[at];
        if !call.started || call.over {
            return;
        }
        call.over = true;
        call.ok = Some(ok);
        if call.is_edit() {
            self.edits.push(self.seq);
        }
    }

    fn wrote(&mut self, run: &Run, id: &CallId, wrote: &[WrittenPath]) {
        if let Some(at) = self.of(id) {
            let call = &self.calls[at];
            if stay(run, &call.stay.0) == call.stay {
                let inside = wrote.iter().filter(|file| file.relative.is_some());
                let files = self.files.entry(call.stay.clone()).or_default();
                files.extend(inside.map(|file| file.path.clone()));
            }
        }
        if !wrote.is_empty() {
            self.edits.push(self.seq);
        }
    }

    /// Finds the call with an id that may still be reported.
    fn of(&self, id: &CallId) -> Option<usize> {
        let told = |call: &Played| call.told && (!call.started || call.over);
        self.calls
            .iter()
            .position(|call| call.id == *id && !told(call))
    }

    /// Returns whether a call of `Read` was observed to succeed, recently enough.
    pub(crate) fn has_read(&self, since: Since, entered: u64) -> bool {
        let reads = || self.calls.iter().filter(|call| call.tool == "Read");
        let newest = reads()
            .filter(|call| call.ok.is_some())
            .max_by_key(|call| call.begun);
        let Some(newest) = newest.filter(|call| call.ok == Some(true)) else {
            return false;
        };
        let newer_runs = reads().any(|call| call.runs() && call.begun > newest.begun);
        let late_enough = match since {
            Since::RunStart => true,
            Since::StateEntry => newest.begun > entered,
            Since::LastEdit => {
                let edited = self.edits.iter().any(|edit| *edit >= newest.begun);
                let editing = |call: &Played| call.is_edit() && call.runs() && !call.told;
                !edited && !self.calls.iter().any(editing)
            }
        };
        !newer_runs && late_enough
    }

    /// Returns the number of calls that ran in a stay.
    pub(crate) fn calls(&self, stay: &Stay) -> u64 {
        self.counts.get(stay).copied().unwrap_or(0)
    }

    /// Returns the number of bytes of a stay's results.
    pub(crate) fn bytes(&self, stay: &Stay) -> u64 {
        self.bytes.get(stay).copied().unwrap_or(0)
    }

    /// Returns the files that a stay has touched; `None` if there are none.
    pub(crate) fn files(&self, stay: &Stay) -> Option<&BTreeSet<String>> {
        self.files.get(stay)
    }

    /// Returns the number of files that a stay has touched, including these.
    pub(crate) fn files_with(&self, stay: &Stay, more: &[String]) -> (usize, bool) {
        let mut files = self.files.get(stay).cloned().unwrap_or_default();
        let before = files.len();
        files.extend(more.iter().cloned());
        (files.len(), files.len() > before)
    }
}

pub(crate) fn stay(run: &Run, path: &FramePath) -> Stay {
    let entered = run.frame(path).map_or(0, |frame| frame.stay.entered_seq);
    (path.clone(), entered)
}
