//! Determines what one simple command is and what it touches.

mod archive;
mod awk;
mod builtins;
mod containers;
mod declare;
mod files;
mod find;
mod git;
mod git_makes;
mod git_paths;
mod network;
mod pattern;
pub(crate) mod piped;
mod reading;
mod remote;
mod results;
mod sed;
mod shells;
mod special;
mod wrappers;
mod zsh;

use interlock_core::facts::{CommandClass, NetworkDirection, PathText, ShellAsk, SimpleCommand};

use crate::options::{self, Effect, Operands, SPEC, Sorted, Spec};
use crate::paths;
use crate::programs;
use crate::syntax::Assignment;
use crate::tables::plain;
use crate::tables::programs::{Kind, Row};
use crate::value::Arg;
use crate::walk::{CommandPosition, Input, Step, Walker};

impl Walker<'_> {
    /// Handles the words of one command; the first must be literal.
    pub(crate) fn run(
        &mut self,
        args: Vec<Arg>,
        declared: &[Assignment],
        place: &CommandPosition,
    ) -> Step {
        if place.via.len() > crate::walk::WRAPPERS_MAX {
            return Err("more than 16 wrappers around one command".to_owned());
        }
        let Some(Arg::Literal(word)) = args.first().cloned() else {
            let shown = args.first().map_or("", Arg::shown);
            return Err(format!(
                "the name of a command is not plain: `{shown}`; write it out"
            ));
        };
        let is_direct = place.via.iter().all(|via| keeps_builtins(via));
        if is_direct && place.via.is_empty() && self.state.functions.contains(&word) {
            return Ok(());
        }
        let Some(name) = paths::program_name(&word).filter(|name| !name.is_empty()) else {
            self.own_file(&word, &args, place);
            return Ok(());
        };
        let name = name.to_owned();
        if self.defined.contains(&name) {
            let index = self.list_command(&args, CommandClass::Unknown, place);
            self.facts
                .opaque(index, "it may be a function of this line or a program");
            return Ok(());
        }
        let is_direct = is_direct && !word.contains('/');
        if is_direct && self.builtin(&name, &args, declared, place)? {
            return Ok(());
        }
        if self.start_shell(&name, &args, place)? || self.wrapper(&name, &args, place)? {
            return Ok(());
        }
        self.program(&name, &args, place)
    }

    /// Adds a command to the list.
    pub(crate) fn list_command(
        &mut self,
        args: &[Arg],
        class: CommandClass,
        place: &CommandPosition,
    ) -> usize {
        let words = args.iter().map(Arg::to_word).collect();
        let wrapped = place.wrapped.iter().chain(args).map(Arg::to_word);
        let wrapped = if place.wrapped.is_empty() {
            Vec::new()
        } else {
            wrapped.collect()
        };
        self.facts.command(SimpleCommand {
            words,
            via: place.via.clone(),
            wrapped,
            directory: self.directory(),
            class,
            project_words: project_words(args),
            assignments: place.assignments.clone(),
            proves_success: place.proof.success,
            proves_exit: place.proof.exit,
            probe: place.proof.probe,
            step: self.step,
            from_pipe: place.from_pipe,
            from_text: matches!(place.input, Input::Text(_)),
            loose: loose(args),
            ..SimpleCommand::default()
        })
    }

    fn own_file(&mut self, word: &str, args: &[Arg], place: &CommandPosition) {
        // An interpreter in the project (`.venv/bin/python`).
        let name = word.rsplit('/').next().unwrap_or(word);
        let class = match programs::find(name).map(|row| row.class) {
            Some(CommandClass::Interpreter) => CommandClass::Interpreter,
            _ => CommandClass::Unknown,
        };
        let index = self.list_command(args, class, place);
        self.facts.opaque(index, "it runs a file of its own");
        let directory = self.directory();
        self.facts
            .read(&Arg::text(word), directory.as_deref(), word, false);
    }

    /// Handles a program by its row.
    fn program(&mut self, name: &str, args: &[Arg], place: &CommandPosition) -> Step {
        if self.reading_form(name, args, place) {
            return Ok(());
        }
        let operands = args.get(1..).unwrap_or_default();
        let Some(row) = programs::find(name) else {
            let index = self.list_command(args, CommandClass::Unknown, place);
            self.facts
                .opaque(index, "it is in no table of known programs");
            self.facts.begin(show(args));
            self.named_results(name, operands);
            self.facts.done();
            return Ok(());
        };
        if programs::asks_itself(name, operands) {
            self.list_command(args, CommandClass::Reader, place);
            return Ok(());
        }
        let index = self.list_command(args, row.class, place);
        self.facts.begin(show(args));
        self.containers(name, operands);
        let result = self.by_row(row, index, name, operands, place);
        self.facts.done();
        result
    }

    fn by_row(
        &mut self,
        row: &Row,
        index: usize,
        name: &str,
        operands: &[Arg],
        place: &CommandPosition,
    ) -> Step {
        match row.kind {
            Kind::Nothing if row.class == CommandClass::Reader => {
                self.known_options(index, name, operands);
            }
            Kind::Nothing => {}
            Kind::Plain => {
                self.known_options(index, name, operands);
                self.plain_reads(name, operands);
            }
            Kind::Options(spec) => {
                self.by_options(index, name, operands, spec);
            }
            Kind::Verbs(spec, verbs) => self.by_verb(index, operands, spec, verbs),
            Kind::Opaque(reason) => {
                self.opaque_program(index, name, operands, reason);
                self.named_results(name, operands);
            }
            Kind::Special(special) => self.special(special, index, name, operands, place)?,
        }
        Ok(())
    }

    /// Makes a plain reader opaque if it has an option that its table does not list.
    fn known_options(&mut self, index: usize, name: &str, operands: &[Arg]) {
        // Every word is a part of the expression.
        if name == "expr" {
            return;
        }
        let spec = plain::options(name).unwrap_or(&SPEC);
        let mut sorted = options::sort(operands, spec);
        // No known option does more than read, so another word that may be one changes nothing.
        sorted.uncertain.clear();
        self.check_sorted(index, &sorted);
    }

    /// Handles a program whose first operand determines whether it changes the machine.
    fn by_verb(&mut self, index: usize, operands: &[Arg], spec: &Spec, verbs: &[&str]) {
        let sorted = options::sort(operands, spec);
        self.check_sorted(index, &sorted);
        for (effect, _) in &sorted.effects {
            if let Effect::Opaque(reason) = effect {
                self.facts.opaque(index, reason);
            }
        }
        let is_known = |verb: &Arg| verb.literal().is_some_and(|verb| verbs.contains(&verb));
        if sorted.operands.first().is_some_and(|verb| !is_known(verb)) {
            self.reclass(index, CommandClass::System);
        }
    }

    fn opaque_program(&mut self, index: usize, name: &str, operands: &[Arg], reason: &str) {
        self.facts.opaque(index, reason);
        let class = self
            .facts
            .facts
            .commands
            .get(index)
            .map(|command| command.class);
        match class {
            Some(CommandClass::Network) => {
                let listens = operands.iter().any(|arg| {
                    let text = arg.literal().unwrap_or_default();
                    text.starts_with('-')
                        && !text.starts_with("--")
                        && text.contains('l')
                        && name.starts_with(['n', 's'])
                });
                let direction = if listens {
                    NetworkDirection::Listen
                } else {
                    NetworkDirection::Send
                };
                self.facts.network(direction, None, name, Some(index));
            }
            Some(CommandClass::Interpreter) => self.note_names_in_code(operands),
            _ => {}
        }
    }

    /// Records environment variables that occur as words in code for an interpreter.
    fn note_names_in_code(&mut self, operands: &[Arg]) {
        for arg in operands {
            for name in arg
                .shown()
                .split(|c: char| !(c == '_' || c.is_ascii_alphanumeric()))
            {
                let is_like_a_name =
                    name.len() > 1 && name.bytes().all(|byte| !byte.is_ascii_lowercase());
                if is_like_a_name && crate::parse::is_name(name) {
                    self.facts.used(name);
                }
            }
        }
    }

    pub(crate) fn reclass(&mut self, index: usize, class: CommandClass) {
        if let Some(command) = self.facts.facts.commands.get_mut(index) {
            command.class = class;
        }
    }

    /// Records the operands of a reader whose options are all harmless.
    pub(crate) fn plain_reads(&mut self, name: &str, operands: &[Arg]) {
        let directory = self.directory();
        let recursive = matches!(name, "du") || operands.iter().any(Arg::is_recursive);
        for arg in operands {
            let text = arg.start();
            if !text.starts_with('-') {
                self.facts.read(arg, directory.as_deref(), name, recursive);
            } else if let Some((_, value)) = text.split_once('=') {
                self.facts
                    .read(&Arg::text(value), directory.as_deref(), name, recursive);
            } else if let Some(at) = text.find('/') {
                let path = text.get(at..).unwrap_or_default();
                self.facts
                    .read(&Arg::text(path), directory.as_deref(), name, recursive);
            }
        }
    }

    /// Classifies the words by a table and records the effects of options and operands.
    pub(crate) fn by_options(
        &mut self,
        index: usize,
        name: &str,
        args: &[Arg],
        spec: &Spec,
    ) -> Sorted {
        let mut sorted = options::sort(args, spec);
        if spec.is_tame {
            // Such a word can at most be `-r`, and is then handled like the others.
            let others = sorted.operands.len() > 1;
            let goes_deeper = |arg: &Arg| matches!(arg, Arg::Dynamic(word) if word.pattern.is_none() && (others || !word.is_single));
            let may_go_deeper = spec.acts.iter().any(|act| act.effect == Effect::Recursive);
            if may_go_deeper && sorted.uncertain.iter().any(goes_deeper) {
                sorted.effects.push((Effect::Recursive, None));
            }
            sorted.uncertain.clear();
        }
        self.check_sorted(index, &sorted);
        self.apply(index, name, &sorted);
        let operands = self.placed_operands(name, &sorted, spec.operands);
        self.apply_operands(index, name, &operands, &sorted);
        sorted
    }

    /// Makes a command opaque whose options are not all known.
    pub(crate) fn check_sorted(&mut self, index: usize, sorted: &Sorted) {
        if let Some(option) = &sorted.unknown {
            self.facts.opaque(
                index,
                &format!("option `{option}` is not known to be harmless"),
            );
        }
        for arg in &sorted.uncertain {
            self.uncertain(index, arg);
        }
    }

    /// Makes a command opaque because of a word that may be an option, or asks about file names.
    pub(crate) fn uncertain(&mut self, index: usize, arg: &Arg) {
        let directory = self.directory();
        if let (Arg::Dynamic(dynamic), Some(directory)) = (arg, directory)
            && let Some(pattern) = dynamic.pattern.clone().filter(|_| dynamic.start.is_empty())
        {
            // Opaque only because of this, so that an answer can settle it.
            self.facts.ask(ShellAsk::Options {
                pattern,
                directory,
                command: index,
            });
            return;
        }
        let reason = format!(
            "`{}` may be an option; put `--` before the file names",
            arg.shown()
        );
        let class = self.facts.facts.commands.get(index).map(|one| one.class);
        match class {
            // At worst, an option makes a reader write or run something, which the kernel may prevent.
            Some(CommandClass::Reader | CommandClass::VersionControl) => {
                self.facts.contained(index, &reason);
            }
            _ => self.facts.opaque(index, &reason),
        }
    }

    /// Records the effects of options, one by one.
    pub(crate) fn apply(&mut self, index: usize, name: &str, sorted: &Sorted) {
        let directory = self.directory();
        for (effect, value) in &sorted.effects {
            match (effect, value) {
                (Effect::Read, Some(path)) => {
                    self.facts.read(path, directory.as_deref(), name, false)
                }
                (Effect::Write, Some(path)) if path.is("-") => {}
                (Effect::Write, Some(path)) => {
                    self.facts.write(path, directory.as_deref(), name);
                }
                (Effect::Write, None) => {
                    let path =
                        paths::inside(directory.clone().map_or(PathText::Unknown, PathText::Whole));
                    self.facts.write_path(path, name, false);
                }
                (Effect::WriteBelow, Some(path)) => self.write_below(path, name),
                (Effect::System, _) => self.reclass(index, CommandClass::System),
                (Effect::Send, _) => {
                    self.facts
                        .network(NetworkDirection::Send, None, name, Some(index))
                }
                (Effect::Dump, _) => self.facts.facts.env.dump = true,
                (Effect::Opaque(reason), _) => self.facts.opaque(index, reason),
                _ => {}
            }
        }
    }

    /// Records that something below a directory is written.
    pub(crate) fn write_below(&mut self, place: &Arg, by: &str) {
        let directory = self.directory();
        let path = paths::inside(paths::resolve(place, directory.as_deref()));
        if let Some(used) = self.facts.write_path(path, by, true) {
            used.pattern = Some("**".to_owned());
        }
    }

    fn placed_operands(&self, name: &str, sorted: &Sorted, operands: Operands) -> Placed {
        let all = sorted.operands.clone();
        let recursive =
            sorted.does(Effect::Recursive) || matches!(name, "rg" | "ag" | "ack" | "tree" | "fd");
        let mut placed = Placed {
            recursive,
            ..Placed::default()
        };
        let mut rest = all.into_iter();
        match operands {
            Operands::Nothing | Operands::Hosts => {}
            Operands::Read => placed.reads.extend(rest),
            Operands::FirstThenRead => {
                if !sorted.does(Effect::First) {
                    rest.next();
                }
                placed.reads.extend(rest);
            }
            Operands::Write => placed.writes.extend(rest),
            Operands::FirstThenWrite => {
                if !sorted.does(Effect::First) {
                    rest.next();
                }
                placed.writes.extend(rest);
            }
            Operands::ReadThenWrite => {
                let first = rest.next();
                // A first word that may be several may also contain the second one.
                if matches!(&first, Some(Arg::Dynamic(dynamic)) if !dynamic.is_single) {
                    placed.writes.extend(first.clone());
                }
                placed.reads.extend(first);
                placed.writes.extend(rest);
            }
            Operands::LastWritten | Operands::LastWrittenOthersRemoved => {
                let target = sorted
                    .effects
                    .iter()
                    .find_map(|(effect, value)| match effect {
                        Effect::Target => value.clone(),
                        _ => None,
                    });
                let sources: Vec<Arg> = if target.is_none() {
                    let mut all: Vec<Arg> = rest.collect();
                    placed.writes.extend(all.pop());
                    all
                } else {
                    rest.collect()
                };
                if sources.is_empty() && name == "ln" {
                    // `ln -s PATH` creates a link of the same name here.
                    let last = placed.writes.pop().map(|path| last_part(&path));
                    placed.writes.extend(last);
                }
                placed.writes.extend(target);
                if operands == Operands::LastWrittenOthersRemoved {
                    placed.removes.extend(sources.iter().cloned());
                }
                placed.reads.extend(sources);
            }
            Operands::Remove => placed.removes.extend(rest),
            Operands::SystemIfSet => {
                placed.is_system =
                    rest.any(|arg| arg.literal().is_none_or(|text| text.contains('=')))
            }
            Operands::System => placed.is_system = rest.next().is_some(),
            Operands::SystemButPlus => {
                placed.is_system = rest.any(|arg| !arg.start().starts_with('+'))
            }
            Operands::ReadButPlus => {
                let (commands, files): (Vec<Arg>, Vec<Arg>) = rest.partition(|arg| {
                    arg.start().starts_with(['+', '@'])
                        || arg.literal().is_none() && arg.start().is_empty()
                });
                placed.runs = commands.into_iter().next();
                placed.reads.extend(files);
            }
        }
        if sorted.does(Effect::WriteOperands) {
            placed.writes.append(&mut placed.reads);
        }
        if sorted.does(Effect::RemoveOperands) {
            placed.removes.extend(placed.reads.iter().cloned());
        }
        placed
    }

    fn apply_operands(&mut self, index: usize, name: &str, placed: &Placed, sorted: &Sorted) {
        let directory = self.directory();
        let directory = directory.as_deref();
        for path in &placed.reads {
            self.facts.read(path, directory, name, placed.recursive);
        }
        for path in &placed.writes {
            let written = self.facts.write(path, directory, name);
            if let Some(written) = written {
                written.recursive = placed.recursive;
            }
        }
        for path in &placed.removes {
            self.facts.remove(
                path,
                directory,
                name,
                placed.recursive || name == "mv" && path.literal().is_some(),
            );
        }
        if placed.is_system {
            self.reclass(index, CommandClass::System);
        }
        if let Some(arg) = &placed.runs {
            self.facts
                .opaque(index, &format!("`{}` may be a command to run", arg.shown()));
        }
        if matches!(programs::find(name).map(|row| row.kind), Some(Kind::Options(spec)) if spec.operands == Operands::Hosts)
        {
            let host = sorted.operands.first().and_then(Arg::literal);
            self.facts
                .network(NetworkDirection::Send, host, name, Some(index));
        }
    }
}

/// Operands by how they are used.
#[derive(Debug, Default)]
struct Placed {
    reads: Vec<Arg>,
    writes: Vec<Arg>,
    removes: Vec<Arg>,
    recursive: bool,
    is_system: bool,
    runs: Option<Arg>,
}

/// Returns the last part of a path, as a word.
fn last_part(path: &Arg) -> Arg {
    match path {
        Arg::Literal(text) => Arg::text(
            text.trim_end_matches('/')
                .rsplit('/')
                .next()
                .unwrap_or(text),
        ),
        Arg::Dynamic(dynamic) => Arg::unknown(&dynamic.source),
    }
}

/// Writes a command for a refusal, at most 80 characters.
fn show(args: &[Arg]) -> String {
    let words: Vec<&str> = args.iter().map(Arg::shown).collect();
    let text = words.join(" ");
    if text.chars().count() <= 80 {
        return text;
    }
    text.chars().take(77).chain("...".chars()).collect()
}

/// Returns whether a wrapper's command may be a builtin of the shell.
fn keeps_builtins(wrapper: &str) -> bool {
    programs::find_wrapper(wrapper).is_some_and(|wrapper| wrapper.keeps_builtins)
}

/// Returns which words of unknown text may turn out to be options.
fn loose(args: &[Arg]) -> Vec<usize> {
    args.iter()
        .enumerate()
        .filter(|(_, arg)| arg.literal().is_none() && arg.may_be_option())
        .map(|(at, _)| at)
        .collect()
}

/// Counts the words after a package manager's name that select packages of the project.
fn project_words(args: &[Arg]) -> usize {
    if !args.first().is_some_and(|name| name.is("pnpm")) {
        return 0;
    }
    let mut at = 1;
    while let Some(word) = args.get(at).and_then(Arg::literal) {
        at += match word {
            "-r" | "--recursive" => 1,
            "-F" | "--filter" if args.get(at + 1).is_some_and(names_packages) => 2,
            _ if word
                .strip_prefix("--filter=")
                .is_some_and(|value| names_packages(&Arg::text(value))) =>
            {
                1
            }
            _ => break,
        };
    }
    at - 1
}

/// Returns whether a filter names packages, and no path outside.
fn names_packages(value: &Arg) -> bool {
    value.literal().is_some_and(|text| {
        !text.is_empty() && !text.starts_with(['-', '/']) && !text.contains("..")
    })
}
