//! Classes of calls: two calls of one class get the same answer wherever a run stands, and have the same effects.
//!
//! A class is everything of a call that the engine reads, as far as the rules of one machine tell it apart: of a path
//! the patterns that match it, of a word whether some entry contains it. The texts of refusals differ.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use interlock_core::{
    call::{CallFacts, CallKind, FileWrite, PathArea, ToolCall},
    facts::{
        Beside, CommandClass, EnvSet, EnvUse, HandsOut, InlineCode, NetworkUse, Probe, Relocated,
        ShellFacts, SimpleCommand, SteersPrograms, Word, WordUse,
    },
    glob::path_matches,
    guard::EvidenceOf,
    machine::{Machine, State},
};

/// Maximum number of classes that are remembered; beyond it, calls get new numbers.
const REMEMBERED_MAX: usize = 65_536;

/// The classes of the calls of one machine, by number.
#[derive(Debug)]
pub(crate) struct Classes {
    rules: Rules,
    known: IndexMap<Box<[u8]>, u32>,
    /// The number of the next class.
    next: u32,
    key: Key,
}

impl Classes {
    pub(crate) fn of(machine: &Machine) -> Self {
        Self {
            rules: Rules::of(machine),
            known: IndexMap::new(),
            next: 0,
            key: Key::default(),
        }
    }

    /// Returns the number of the class of a call; `asks`: the call names a transition.
    pub(crate) fn number(&mut self, call: &ToolCall, asks: bool) -> u32 {
        self.key.0.clear();
        self.key.flag(asks);
        self.rules.call(&mut self.key, call);
        if let Some(known) = self.known.get(self.key.0.as_slice()) {
            return *known;
        }
        if self.known.len() >= REMEMBERED_MAX {
            self.known.clear();
        }
        let number = self.fresh();
        self.known.insert(self.key.0.as_slice().into(), number);
        number
    }

    /// Returns a number that no other class has.
    pub(crate) const fn fresh(&mut self) -> u32 {
        let number = self.next;
        self.next = self.next.saturating_add(1);
        number
    }
}

/// What the rules of a machine can tell apart.
#[derive(Debug, Default)]
struct Rules {
    /// Words of all entries of commands.
    words: BTreeSet<String>,
    /// Patterns of interrupts and paths of reports.
    patterns: BTreeSet<String>,
    /// Files that count as evidence if a tool reads or writes them.
    files: BTreeSet<String>,
    /// Limits of edited lines.
    edit_lines: BTreeSet<u64>,
    /// Whether a state counts written files.
    counts_files: bool,
    /// Whether a state refuses calls that read secrets.
    secrets: bool,
}

impl Rules {
    fn of(machine: &Machine) -> Self {
        let mut rules = Self::default();
        for one in std::iter::once(machine).chain(machine.machines.values()) {
            let interrupts = one.interrupts.values();
            rules
                .patterns
                .extend(interrupts.map(|interrupt| interrupt.file_pattern.clone()));
            one.states.values().for_each(|state| rules.state(state));
        }
        for guard in machine.evidence_guards() {
            match &guard.of {
                EvidenceOf::Command { words, .. } => rules.words.extend(words.iter().cloned()),
                EvidenceOf::Tool { path, .. } => {
                    let path = path.as_deref();
                    let path = path.map(|path| path.strip_prefix("./").unwrap_or(path));
                    rules.files.extend(path.map(str::to_owned));
                }
            }
            let report = guard.report.as_ref();
            rules
                .patterns
                .extend(report.map(|report| report.source.path.clone()));
        }
        rules
    }

    fn state(&mut self, state: &State) {
        let policy = &state.policy;
        let entries = policy.allowed_commands.iter().flatten();
        let words = entries.flat_map(|entry| &entry.words);
        self.words.extend(words.cloned());
        self.edit_lines.extend(policy.edit_lines_max);
        self.counts_files |= policy.files_max.is_some();
        self.secrets |= !policy.secrets.are_allowed();
    }

    fn call(&self, key: &mut Key, call: &ToolCall) {
        let ToolCall {
            // Names this call among others.
            id: _,
            digest: _,
            // For people.
            summary: _,
            prompts_in: _,
            tool,
            common,
            served_as,
            foreign,
            kind,
            agent,
            branch,
            facts,
        } = call;
        key.text(tool);
        key.option(common.as_deref());
        key.texts(served_as.iter().map(String::as_str));
        key.flag(*foreign);
        match kind {
            CallKind::Control(tool) => key.byte(*tool as u8),
            CallKind::SubAgent => key.byte(100),
            CallKind::Conversation => key.byte(101),
            CallKind::Shell => key.byte(102),
            CallKind::Edit => key.byte(103),
            CallKind::Other => key.byte(104),
        }
        key.option(agent.as_ref().map(|agent| agent.as_str()));
        key.option(branch.as_deref());
        self.facts(key, facts);
    }

    fn facts(&self, key: &mut Key, facts: &CallFacts) {
        let CallFacts {
            protected,
            malformed,
            outside,
            unheld,
            reads,
            writes,
            parts,
            edit_lines,
            only_reads,
            shell,
            outside_directories: _,
            strayed,
            directories,
            allowed_by_person,
            environment_held,
            kernel_holds,
        } = facts;
        for text in [protected, malformed, outside, unheld] {
            key.flag(text.is_some());
        }
        for flag in [only_reads, environment_held, kernel_holds] {
            key.flag(*flag);
        }
        let exceeded = |lines: u64| self.edit_lines.range(..lines).count();
        key.number(edit_lines.map_or(usize::MAX, exceeded));
        key.texts(parts.iter().map(String::as_str));
        if self.secrets {
            key.texts(reads.iter().map(String::as_str));
        }
        let written = || writes.iter().filter_map(|write| write.relative.as_deref());
        for file in &self.files {
            let mut touched = reads.iter().map(String::as_str).chain(written());
            key.flag(touched.any(|touched| touched == file));
        }
        key.numbers(strayed);
        key.number(directories.len());
        for directory in directories {
            key.option(directory.as_deref());
        }
        key.number(allowed_by_person.len());
        for entry in allowed_by_person {
            key.text(&entry.text);
            key.texts(entry.words.iter().map(String::as_str));
        }
        // The engine finds the program that makes a file by its words.
        let is_maker = |command: &SimpleCommand| {
            matches!(
                command.class,
                CommandClass::ProjectCode | CommandClass::Unknown | CommandClass::VersionControl
            )
        };
        let mut commands = shell.iter().flat_map(|line| &line.commands);
        let has_maker = !writes.is_empty() && commands.any(is_maker);
        key.number(writes.len());
        for write in writes {
            self.write(key, write, (shell.is_some(), has_maker));
        }
        key.flag(shell.is_some());
        if let Some(line) = shell {
            let whole = |command: &SimpleCommand| has_maker && is_maker(command);
            self.line(key, line, facts, whole);
        }
    }

    fn write(&self, key: &mut Key, write: &FileWrite, (by_line, named): (bool, bool)) {
        let FileWrite {
            path,
            relative,
            place,
            by,
            removes,
            recursive,
            lines,
            before,
        } = write;
        key.byte(match place {
            PathArea::Project => 0,
            PathArea::Scratch => 1,
            PathArea::Outside => 2,
            PathArea::Whole => 3,
            PathArea::Unknown => 4,
        });
        key.flag(*removes);
        key.flag(*recursive);
        key.flag(path.is_some());
        let mut segments = path.iter().flat_map(|path| path.split('/'));
        key.flag(segments.any(|segment| segment == ".git"));
        key.option(path.as_deref().filter(|_| self.counts_files));
        key.flag(relative.is_some());
        for pattern in &self.patterns {
            let relative = relative.as_deref();
            key.flag(relative.is_some_and(|path| path_matches(pattern, path)));
        }
        // The lines of a tool's edit are counted as one number.
        key.option_number(lines.filter(|_| by_line && !self.edit_lines.is_empty()));
        key.option(Some(by.as_str()).filter(|_| named));
        key.option(before.as_deref());
    }

    fn line(
        &self,
        key: &mut Key,
        line: &ShellFacts,
        facts: &CallFacts,
        whole: impl Fn(&SimpleCommand) -> bool,
    ) {
        let ShellFacts {
            unreadable,
            commands,
            reads,
            // The facts of the call contain them, with links resolved.
            writes: _,
            removes: _,
            asks: _,
            env,
            network,
            // Not part of the verdict.
            builtins_alone: _,
        } = line;
        key.flag(unreadable.is_some());
        if self.secrets {
            key.number(reads.len());
            reads.iter().for_each(|read| key.debug(&read.path));
        }
        environment(key, env);
        key.number(network.len());
        for reach in network {
            let NetworkUse {
                direction,
                host: _,
                by: _,
                command,
            } = reach;
            key.byte(*direction as u8);
            key.option_number(*command);
        }
        // Only the order and the equality of positions count.
        let probes = commands.iter().filter_map(|command| command.probe);
        let starts: BTreeSet<usize> = probes.map(|probe| probe.span.start).collect();
        key.number(commands.len());
        for command in commands {
            self.command(key, command, facts, whole(command) || self.secrets);
            let Some(Probe {
                span,
                success,
                exit,
            }) = command.probe
            else {
                key.byte(2);
                continue;
            };
            key.flag(success);
            key.flag(exit);
            key.number(starts.range(..span.start).count());
        }
    }

    fn command(&self, key: &mut Key, command: &SimpleCommand, facts: &CallFacts, whole: bool) {
        let SimpleCommand {
            words,
            via: _,
            wrapped,
            system_program,
            system_wrapper,
            directory: _,
            class,
            opaque,
            contained,
            project_words,
            assignments,
            proves_success,
            proves_exit,
            probe: _,
            step,
            from_pipe: _,
            from_text: _,
            loose: _,
            uses,
            relocated,
            of_environment,
            beside,
            inline_code,
            hands_out,
            changes_unnamed,
        } = command;
        let listed = |word: &str| {
            let of_person = || {
                facts
                    .allowed_by_person
                    .iter()
                    .flat_map(|entry| &entry.words)
            };
            self.words.contains(word) || of_person().any(|known| known == word)
        };
        for words in [words, wrapped] {
            key.number(words.len());
            for word in words {
                let (Word::Literal(text) | Word::Dynamic(text)) = word;
                let is_literal = word.literal().is_some();
                key.flag(is_literal);
                key.option(Some(text.as_str()).filter(|text| whole || is_literal && listed(text)));
            }
        }
        for name in [system_program, system_wrapper, of_environment] {
            key.option(name.as_deref().filter(|name| whole || listed(name)));
        }
        key.byte(*class as u8);
        for flag in [
            opaque.is_some(),
            *contained,
            *proves_success,
            *proves_exit,
            *changes_unnamed,
        ] {
            key.flag(flag);
        }
        key.number(*project_words);
        key.texts(assignments.iter().map(String::as_str));
        key.option_number(*step);
        word_uses(key, uses);
        key.flag(relocated.is_some());
        if let Some(Relocated {
            words,
            uses,
            directories,
        }) = relocated
        {
            key.numbers(words);
            word_uses(key, uses);
            key.number(directories.len());
            for directory in directories {
                key.option(directory.as_deref());
            }
        }
        key.byte(match beside {
            Beside::Harmless => 0,
            Beside::Directory => {
                let to = words.get(1).and_then(Word::literal);
                let outside = &facts.outside_directories;
                let passes = to.is_some_and(|to| !outside.iter().any(|known| known == to));
                if passes { 1 } else { 2 }
            }
            Beside::OddDirectory => 3,
            Beside::Filter => 4,
            Beside::ReadsFiles => 5,
            Beside::Does(_) => 6,
            Beside::Stranger => 7,
        });
        key.byte(match inline_code {
            InlineCode::No => 0,
            InlineCode::Yes => 1,
            InlineCode::Unknown => 2,
        });
        match hands_out {
            HandsOut::Nothing => key.byte(0),
            HandsOut::Secret => key.byte(1),
            HandsOut::Files => key.byte(2),
            HandsOut::InWords(from) => {
                key.byte(3);
                key.number(*from);
            }
        }
    }
}

fn environment(key: &mut Key, env: &EnvUse) {
    let EnvUse {
        used,
        set,
        dump,
        other_process,
    } = env;
    key.texts(used.iter().map(String::as_str));
    key.flag(*dump);
    key.flag(*other_process);
    key.number(set.len());
    for one in set {
        let EnvSet {
            name,
            changes_programs,
            voids_checks,
            chooses_tests,
            steers,
            exported,
            values: _,
        } = one;
        key.text(name);
        for flag in [changes_programs, voids_checks, chooses_tests, exported] {
            key.flag(*flag);
        }
        match steers {
            SteersPrograms::None => key.byte(0),
            SteersPrograms::AllBut(programs) => {
                key.byte(1);
                key.texts(programs.iter().map(String::as_str));
            }
        }
    }
}

fn word_uses(key: &mut Key, uses: &[WordUse]) {
    key.number(uses.len());
    for one in uses {
        let WordUse {
            steers,
            is_goal,
            opens,
            selects,
        } = one;
        key.byte(*steers as u8);
        key.byte(*selects as u8);
        key.flag(*is_goal);
        key.flag(*opens);
    }
}

/// Bytes that are equal only if everything that was written to them is.
#[derive(Debug, Default)]
struct Key(Vec<u8>);

impl Key {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn flag(&mut self, flag: bool) {
        self.0.push(u8::from(flag));
    }

    fn number(&mut self, number: usize) {
        // Most numbers are small.
        match u8::try_from(number) {
            Ok(small) if small < u8::MAX => self.0.push(small),
            _ => {
                self.0.push(u8::MAX);
                self.0.extend(number.to_le_bytes());
            }
        }
    }

    fn numbers(&mut self, numbers: &[usize]) {
        self.number(numbers.len());
        numbers.iter().for_each(|number| self.number(*number));
    }

    fn option_number(&mut self, number: Option<impl TryInto<usize>>) {
        self.flag(number.is_some());
        if let Some(number) = number {
            self.number(number.try_into().unwrap_or(usize::MAX));
        }
    }

    fn text(&mut self, text: &str) {
        self.number(text.len());
        self.0.extend(text.bytes());
    }

    fn texts<'a>(&mut self, texts: impl ExactSizeIterator<Item = &'a str>) {
        self.number(texts.len());
        texts.for_each(|text| self.text(text));
    }

    fn option(&mut self, text: Option<&str>) {
        self.flag(text.is_some());
        if let Some(text) = text {
            self.text(text);
        }
    }

    fn debug(&mut self, value: &dyn std::fmt::Debug) {
        self.text(&format!("{value:?}"));
    }
}
