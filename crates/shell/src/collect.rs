//! Collects the facts of a line while it is walked.

use std::collections::BTreeSet;

use interlock_core::facts::{
    EnvSet, NetworkDirection, NetworkUse, PathText, PathUse, ShellAsk, ShellFacts, SimpleCommand,
};

use crate::paths;
use crate::tables::names::{COMMAND_TABLES, RUN_AS_TEXT, STEERED};
use crate::tables::zsh;
use crate::value::Arg;

/// Facts under construction.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    pub(crate) facts: ShellFacts,
    /// Index of the first command that may never be reached (`exit`, `exec`).
    pub(crate) left_at: Option<usize>,
    /// Whether something makes the exit code of the line meaningless.
    pub(crate) exit_is_free: bool,
    /// Whether a code other than 0 may come from `exit` itself.
    pub(crate) exit_is_mixed: bool,
    /// Number of enclosing bodies that may run any number of times.
    pub(crate) repeats: usize,
    /// Whether the line changes its shell in a way that prevents any place from being probed.
    pub(crate) unprobed: bool,
    /// Whether the present part may be run by zsh.
    pub(crate) is_zsh: bool,
    /// Why some name that was set makes the list of commands unknown.
    runs: Option<String>,
    /// Names that the line's programs receive.
    exported: BTreeSet<String>,
    /// Whether they receive every name that the line sets (`set -a`).
    pub(crate) exports_all: bool,
    /// Names in `env.used`, for a fast lookup.
    used: BTreeSet<String>,
    /// Texts of the current commands, innermost last.
    shown: Vec<String>,
}

/// Variables whose value is the text of the line.
const SHOWN_TEXT: [&str; 2] = ["BASH_COMMAND", "BASH_EXECUTION_STRING"];

/// Sizes of the collections, to return to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    commands: usize,
    reads: usize,
    writes: usize,
    removes: usize,
    network: usize,
    asks: usize,
}

impl Collector {
    /// Creates an empty collector for a shell that may be zsh or not.
    pub(crate) fn new(is_zsh: bool) -> Self {
        Self {
            is_zsh,
            ..Self::default()
        }
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            commands: self.facts.commands.len(),
            reads: self.facts.reads.len(),
            writes: self.facts.writes.len(),
            removes: self.facts.removes.len(),
            network: self.facts.network.len(),
            asks: self.facts.asks.len(),
        }
    }

    /// Drops what was collected since `mark`; the environment stays.
    pub(crate) fn rewind(&mut self, mark: Mark) {
        self.facts.commands.truncate(mark.commands);
        self.facts.reads.truncate(mark.reads);
        self.facts.writes.truncate(mark.writes);
        self.facts.removes.truncate(mark.removes);
        self.facts.network.truncate(mark.network);
        self.facts.asks.truncate(mark.asks);
    }

    /// Attributes what follows, up to [`Self::done`], to a command.
    pub(crate) fn begin(&mut self, shown: String) {
        self.shown.push(shown);
    }

    pub(crate) fn done(&mut self) {
        self.shown.pop();
    }

    /// Returns the command or redirection that something belongs to.
    fn owner(&self, by: &str) -> String {
        match self.shown.last() {
            Some(shown) if !by.starts_with(['<', '>', '&']) => shown.clone(),
            _ => by.to_owned(),
        }
    }

    /// Returns the commands listed from `index` on.
    pub(crate) fn since(&self, index: usize) -> &[SimpleCommand] {
        self.facts.commands.get(index..).unwrap_or_default()
    }

    pub(crate) fn next_index(&self) -> usize {
        self.facts.commands.len()
    }

    pub(crate) fn command(&mut self, command: SimpleCommand) -> usize {
        self.facts.commands.push(command);
        self.facts.commands.len() - 1
    }

    pub(crate) fn used(&mut self, name: &str) {
        if !self.used.contains(name) {
            self.used.insert(name.to_owned());
            self.facts.env.used.push(name.to_owned());
        }
    }

    /// Records that the line's programs receive the name.
    pub(crate) fn export(&mut self, name: &str) {
        self.exported.insert(name.to_owned());
    }

    /// Records names set for one command that reach others, listed from `index` on.
    pub(crate) fn hand_on(&mut self, names: &[String], index: usize) {
        let commands = self.since(index);
        let reach: Vec<String> = names
            .iter()
            .filter(|name| {
                commands.is_empty()
                    || commands
                        .iter()
                        .any(|command| !command.assignments.contains(name))
            })
            .cloned()
            .collect();
        self.exported.extend(reach);
    }

    pub(crate) fn set(&mut self, name: &str, value: Option<&str>) {
        if self.runs.is_none() {
            self.runs = runs_as_text(name, value);
        }
        if self.runs.is_none() && self.is_zsh {
            self.runs = means_more_in_zsh(name, value);
        }
        let changes_programs = crate::names::value_changes_programs(name, value);
        let voids_checks = changes_programs && !crate::names::leaves_checks(name, value);
        let kept = value.filter(|_| changes_programs).map(str::to_owned);
        match self
            .facts
            .env
            .set
            .iter_mut()
            .find(|known| known.name == name)
        {
            Some(known) => {
                known.changes_programs |= changes_programs;
                known.voids_checks |= voids_checks;
                known.values.extend(kept);
            }
            None => self.facts.env.set.push(EnvSet {
                name: name.to_owned(),
                changes_programs,
                voids_checks,
                chooses_tests: crate::uses::chooses_tests(name),
                steers: crate::uses::steers_programs(name),
                exported: false,
                values: kept.into_iter().collect(),
            }),
        }
    }

    pub(crate) fn read(&mut self, arg: &Arg, directory: Option<&str>, by: &str, recursive: bool) {
        if arg.is("-") || arg.literal() == Some("") {
            return;
        }
        self.note_environ(arg, directory);
        let path = paths::resolve(arg, directory);
        let in_proc = |path: &str| path == "/" || path == "/proc" || path.starts_with("/proc/");
        if recursive && matches!(&path, PathText::Whole(path) if in_proc(path)) {
            self.facts.env.other_process = true;
        }
        let mut used = use_of(path, self.owner(by), recursive);
        used.pattern = pattern(arg);
        self.facts.reads.push(used);
    }

    /// Records a read of a process's environment below `/proc`.
    fn note_environ(&mut self, arg: &Arg, directory: Option<&str>) {
        let path = match arg {
            Arg::Literal(text) => paths::absolute(text, directory),
            Arg::Dynamic(dynamic) => {
                paths::absolute(&dynamic.start, directory).filter(|path| path.starts_with("/proc"))
            }
        };
        let Some(path) = path.filter(|path| path == "/proc" || path.starts_with("/proc/")) else {
            return;
        };
        let own = ["/proc/self/environ", "/proc/thread-self/environ"].contains(&path.as_str());
        match arg {
            Arg::Literal(_) if own => self.facts.env.dump = true,
            Arg::Literal(_) if path.ends_with("/environ") => self.facts.env.other_process = true,
            Arg::Literal(_) => {}
            Arg::Dynamic(dynamic) => {
                let tail = dynamic
                    .source
                    .trim_end_matches('"')
                    .rsplit('/')
                    .next()
                    .unwrap_or_default();
                let is_other_file = !tail.is_empty()
                    && tail.bytes().all(|byte| byte.is_ascii_lowercase())
                    && tail != "environ";
                if !is_other_file {
                    self.facts.env.other_process = true;
                }
            }
        }
    }

    /// Records that the file named by a word is written.
    pub(crate) fn write(
        &mut self,
        arg: &Arg,
        directory: Option<&str>,
        by: &str,
    ) -> Option<&mut PathUse> {
        let path = paths::resolve(arg, directory);
        let used = self.write_path(path, by, false)?;
        used.pattern = pattern(arg);
        Some(used)
    }

    pub(crate) fn write_path(
        &mut self,
        path: PathText,
        by: &str,
        recursive: bool,
    ) -> Option<&mut PathUse> {
        let is_sink = match &path {
            PathText::Whole(path) => paths::is_sink(path),
            PathText::Below(path) => path == "/dev/fd/",
            PathText::Unknown => false,
        };
        if is_sink {
            return None;
        }
        let used = use_of(path, self.owner(by), recursive);
        if self.facts.writes.last() != Some(&used) {
            self.facts.writes.push(used);
        }
        self.facts.writes.last_mut()
    }

    pub(crate) fn remove(&mut self, arg: &Arg, directory: Option<&str>, by: &str, recursive: bool) {
        let path = paths::resolve(arg, directory);
        self.remove_path(path, by, recursive);
        if let Some(used) = self.facts.removes.last_mut() {
            used.pattern = pattern(arg);
        }
    }

    pub(crate) fn remove_path(&mut self, path: PathText, by: &str, recursive: bool) {
        let used = use_of(path, self.owner(by), recursive);
        self.facts.removes.push(used);
    }

    pub(crate) fn network(
        &mut self,
        direction: NetworkDirection,
        host: Option<&str>,
        by: &str,
        command: Option<usize>,
    ) {
        let host = host.map(str::to_owned);
        let by = self.owner(by);
        self.facts.network.push(NetworkUse {
            direction,
            host,
            by,
            command,
        });
    }

    /// Makes a command opaque, keeping the first reason.
    pub(crate) fn opaque(&mut self, index: usize, reason: &str) {
        if let Some(command) = self.facts.commands.get_mut(index) {
            command.opaque.get_or_insert_with(|| reason.to_owned());
            command.contained = false;
        }
    }

    /// Makes a reading command opaque that starts what some configuration names.
    pub(crate) fn contained(&mut self, index: usize, reason: &str) {
        if let Some(command) = self.facts.commands.get_mut(index)
            && command.opaque.is_none()
        {
            command.opaque = Some(reason.to_owned());
            command.contained = true;
        }
    }

    pub(crate) fn ask(&mut self, ask: ShellAsk) {
        if !self.facts.asks.contains(&ask) {
            self.facts.asks.push(ask);
        }
    }

    /// Makes commands opaque that depend on file names and have no other reason.
    fn doubt_what_is_asked(&mut self) {
        for ask in self.facts.asks.clone() {
            if let ShellAsk::Options { command, .. } = &ask {
                self.contained(*command, &crate::doubt(&ask));
            }
        }
    }

    /// Removes the probe places of commands that may be functions of the line.
    pub(crate) fn leave_functions_alone(&mut self, defined: &BTreeSet<String>) {
        for command in &mut self.facts.commands {
            let first = command.wrapped.first().or(command.words.first());
            let name = first.and_then(interlock_core::facts::Word::literal);
            if name.is_some_and(|name| defined.contains(name)) {
                command.probe = None;
            }
        }
    }

    /// Records variables that determine which program a script of the line starts.
    fn note_steered_scripts(&mut self) {
        let commands = &self.facts.commands;
        let runs_one = |programs: &[&str]| {
            let names = commands
                .iter()
                .filter_map(|command| command.words.first()?.literal());
            names
                .map(|name| name.rsplit('/').next().unwrap_or(name))
                .any(|name| programs.contains(&name))
        };
        let steering = STEERED.iter().filter(|(_, programs)| runs_one(programs));
        let names: BTreeSet<&str> = steering.flat_map(|(names, _)| *names).copied().collect();
        for set in &mut self.facts.env.set {
            if names.contains(set.name.as_str()) {
                set.changes_programs = true;
                set.voids_checks = true;
            }
        }
    }

    /// Finishes the facts, dropping proofs that something in the line made worthless.
    ///
    /// `given` contains the variables that the shell itself receives.
    pub(crate) fn finish(mut self, unreadable: Option<String>, given: &[String]) -> ShellFacts {
        let unreadable = unreadable.or(self.runs.take());
        self.doubt_what_is_asked();
        self.note_steered_scripts();
        for set in &mut self.facts.env.set {
            set.exported =
                self.exports_all || self.exported.contains(&set.name) || given.contains(&set.name);
        }
        let changed = self.facts.env.set.iter().any(|set| set.voids_checks);
        let unknown = changed || unreadable.is_some();
        let unprobed =
            self.unprobed || unknown || SHOWN_TEXT.iter().any(|name| self.used.contains(*name));
        let worthless = unknown || self.exit_is_free;
        let left_at = self.left_at.unwrap_or(usize::MAX);
        for (index, command) in self.facts.commands.iter_mut().enumerate() {
            if worthless || index > left_at {
                command.proves_success = false;
                command.proves_exit = false;
            }
            command.proves_exit &= !self.exit_is_mixed;
            command.probe = command.probe.filter(|_| !unprobed);
        }
        self.facts.unreadable = unreadable.map(|reason| crate::text::short(&reason));
        self.facts
    }
}

/// Returns why setting a name runs commands that the line does not show.
fn runs_as_text(name: &str, value: Option<&str>) -> Option<String> {
    if COMMAND_TABLES.contains(&name) {
        return Some(format!("`{name}` changes what a name runs"));
    }
    let is_plain = value.is_some_and(|text| {
        !text.contains(['$', '`']) && (name != "PROMPT_COMMAND" || text.is_empty())
    });
    (RUN_AS_TEXT.contains(&name) && !is_plain)
        .then(|| format!("the value of `{name}` is run as text"))
}

/// Returns why setting a name changes what zsh runs.
fn means_more_in_zsh(name: &str, value: Option<&str>) -> Option<String> {
    let evaluates = zsh::INTEGERS.contains(&name)
        && !value.is_some_and(|text| text.is_empty() || crate::value::is_number(text));
    let is_its_own = zsh::NAMES.contains(&name)
        || zsh::NAME_PREFIXES
            .iter()
            .any(|start| name.starts_with(start))
        || zsh::NAME_SUFFIXES.iter().any(|end| name.ends_with(end));
    if evaluates {
        return Some(format!("`{name}` evaluates what it is given"));
    }
    is_its_own.then(|| format!("`{name}` is a name of zsh's own"))
}

fn use_of(path: PathText, by: String, recursive: bool) -> PathUse {
    PathUse {
        path,
        by,
        recursive,
        text: None,
        append: false,
        pattern: None,
    }
}

/// Returns the pattern that a word is, alone or as the value of a loop variable.
fn pattern(arg: &Arg) -> Option<String> {
    let Arg::Dynamic(dynamic) = arg else {
        return None;
    };
    let pattern = dynamic.pattern.as_ref()?;
    let is_name = dynamic
        .source
        .trim_matches('"')
        .strip_prefix('$')
        .is_some_and(|name| crate::parse::is_name(name.trim_matches(['{', '}'])));
    (dynamic.source == *pattern || is_name).then(|| pattern.clone())
}
