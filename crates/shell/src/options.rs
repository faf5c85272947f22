//! Divides the words of a command into options and operands, according to a table.

use crate::value::Arg;

/// Effect of an option or operand besides reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Its value is a file that is read.
    Read,
    /// Its value is a file that is written.
    Write,
    /// Its value is a directory, or a prefix of names, below which something is written.
    WriteBelow,
    /// The operands are also written (`sed -i`).
    WriteOperands,
    /// The operands are also removed (`rsync --remove-source-files`, `gzip` without `-k`).
    RemoveOperands,
    /// Everything below the operands is included.
    Recursive,
    /// It changes the machine.
    System,
    /// It sends data over the network.
    Send,
    /// It prints the environment.
    Dump,
    /// It runs or loads something, described by the text.
    Opaque(&'static str),
    /// Its value is the target of the other operands (`cp -t`).
    Target,
    /// It makes the program print instead of write (`tar t`, `gzip -c`).
    Prints,
    /// Its value takes the place of the first operand (`grep -e`).
    First,
}

/// An option with an effect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Act {
    /// Single letters; those also in `valued` take a value.
    pub(crate) short: &'static str,
    /// Long names as in [`Spec::long`].
    pub(crate) long: &'static [&'static str],
    pub(crate) effect: Effect,
}

/// The kind of a program's operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Files that are read.
    Read,
    /// A pattern or script, then files that are read.
    FirstThenRead,
    /// Names, numbers, texts.
    Nothing,
    /// Files that are written.
    Write,
    /// A mode or owner, then files that are written.
    FirstThenWrite,
    /// A file that is read, then one that is written.
    ReadThenWrite,
    /// Files that are read, and a last one that is written.
    LastWritten,
    /// The same, but the others are removed.
    LastWrittenOthersRemoved,
    /// Files that are removed.
    Remove,
    /// Any operand changes the machine.
    System,
    /// Any operand that does not begin with `+` changes the machine.
    SystemButPlus,
    /// An operand with `=` changes the machine.
    SystemIfSet,
    /// Hosts.
    Hosts,
    /// Files that are read; one that begins with `+` or `@` contains commands or options.
    ReadButPlus,
}

/// The options of a program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec {
    /// Letters of harmless options without a value.
    pub(crate) short: &'static str,
    /// Letters of options that take a value, harmless or not.
    pub(crate) valued: &'static str,
    /// Letters whose value, if any, is in the same word.
    pub(crate) attached: &'static str,
    /// Harmless long options: `name`, `name=` with a value, `name?` with an optional one.
    pub(crate) long: &'static [&'static str],
    /// Harmless options compared as whole words: `-name`, `-len=` with the next word, `-c#` with a number.
    pub(crate) exact: &'static [&'static str],
    pub(crate) acts: &'static [Act],
    /// Tables whose options apply as well.
    pub(crate) shares: &'static [&'static Spec],
    pub(crate) operands: Operands,
    /// Whether options end at the first operand.
    pub(crate) stops: bool,
    /// Whether no option changes what is touched, except by recursion.
    pub(crate) is_tame: bool,
    /// Whether `--no-NAME` disables any known option.
    pub(crate) negates: bool,
}

/// An empty table, to build others from.
pub(crate) const SPEC: Spec = Spec {
    short: "",
    valued: "",
    attached: "",
    long: &[],
    exact: &[],
    acts: &[],
    shares: &[],
    operands: Operands::Read,
    stops: false,
    is_tame: false,
    negates: false,
};

/// How an option of one letter takes its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Letter {
    /// Not at all.
    Flag,
    /// The rest of the word, or the next word.
    Valued,
    /// The rest of the word, if there is one.
    Attached,
    /// No table has it.
    Unknown,
}

impl Spec {
    /// Returns this table and those that it shares.
    fn tables(&self) -> impl Iterator<Item = &Spec> {
        std::iter::once(self).chain(self.shares.iter().copied())
    }

    /// Returns how a letter takes its value; the first table with the letter decides.
    fn letter(&self, letter: char) -> Letter {
        let of = |table: &Spec| {
            let acts = || table.acts.iter().any(|act| act.short.contains(letter));
            if table.valued.contains(letter) {
                Some(Letter::Valued)
            } else if table.attached.contains(letter) {
                Some(Letter::Attached)
            } else {
                (table.short.contains(letter) || acts()).then_some(Letter::Flag)
            }
        };
        self.tables().find_map(of).unwrap_or(Letter::Unknown)
    }

    fn acts(&self) -> impl Iterator<Item = &'static Act> {
        self.tables().flat_map(|table| table.acts)
    }

    /// Returns the lists of whole words, with their effects.
    fn exact_lists(&self) -> impl Iterator<Item = (&'static [&'static str], Option<Effect>)> {
        let plain = self.tables().map(|table| (table.exact, None));
        self.acts()
            .map(|act| (act.long, Some(act.effect)))
            .chain(plain)
    }

    /// Returns the lists of long names, with their effects.
    fn long_lists(&self) -> impl Iterator<Item = (&'static [&'static str], Option<Effect>)> {
        let plain = self.tables().map(|table| (table.long, None));
        self.acts()
            .map(|act| (act.long, Some(act.effect)))
            .chain(plain)
    }
}

/// The words of a command, classified.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    pub(crate) operands: Vec<Arg>,
    pub(crate) effects: Vec<(Effect, Option<Arg>)>,
    /// Every option seen, as its letter or long name, with its value.
    pub(crate) seen: Vec<(String, Option<Arg>)>,
    /// First option that is in no table.
    pub(crate) unknown: Option<String>,
    /// Words that may turn out to be options.
    pub(crate) uncertain: Vec<Arg>,
}

impl Sorted {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.seen.iter().any(|(seen, _)| seen == name)
    }

    pub(crate) fn value(&self, name: &str) -> Option<&Arg> {
        self.seen
            .iter()
            .rev()
            .find(|(seen, _)| seen == name)
            .and_then(|(_, value)| value.as_ref())
    }

    pub(crate) fn does(&self, effect: Effect) -> bool {
        self.effects.iter().any(|(seen, _)| *seen == effect)
    }
}

/// Classifies `args`, the words after the name of the program.
pub(crate) fn sort(args: &[Arg], spec: &Spec) -> Sorted {
    let mut sorted = Sorted::default();
    let mut rest = args.iter();
    let mut only_operands = false;
    while let Some(arg) = rest.next() {
        if only_operands || !arg.may_be_option() {
            sorted.operands.push(arg.clone());
            only_operands |= spec.stops;
            continue;
        }
        match arg {
            Arg::Literal(text) if text == "--" => only_operands = true,
            Arg::Literal(text) => sorted.option(text, &mut rest, spec),
            Arg::Dynamic(dynamic) => {
                sorted.uncertain.push(arg.clone());
                if let Some((name, _)) = dynamic
                    .start
                    .strip_prefix("--")
                    .and_then(|start| start.split_once('='))
                {
                    // `--name=$value`: the option is known, its value is not.
                    sorted.uncertain.pop();
                    let value = Arg::unknown(&dynamic.source);
                    if !sorted.exact_named(name, &value, spec) {
                        sorted.long(name, Some(value), &mut std::iter::empty(), spec);
                    }
                    if !dynamic.is_single {
                        sorted.uncertain.push(arg.clone());
                    }
                } else {
                    sorted.operands.push(arg.clone());
                }
            }
        }
    }
    sorted
}

impl Sorted {
    fn option<'a>(&mut self, text: &str, rest: &mut impl Iterator<Item = &'a Arg>, spec: &Spec) {
        if self.exact(text, rest, spec) {
            return;
        }
        if let Some(long) = text.strip_prefix("--") {
            match long.split_once('=') {
                Some((name, value)) if self.exact_named(name, &Arg::text(value), spec) => {}
                Some((name, value)) => self.long(name, Some(Arg::text(value)), rest, spec),
                None => self.long(long, None, rest, spec),
            }
            return;
        }
        let letters = text.strip_prefix('-').unwrap_or(text);
        for (at, letter) in letters.char_indices() {
            let after = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            let kind = spec.letter(letter);
            let value = match kind {
                Letter::Valued if after.is_empty() => self.next_value(rest),
                Letter::Valued => Some(Arg::text(after)),
                Letter::Attached if !after.is_empty() => Some(Arg::text(after)),
                _ => None,
            };
            self.short(letter, value, kind, spec);
            if matches!(kind, Letter::Valued | Letter::Attached) {
                return;
            }
        }
    }

    fn next_value<'a>(&mut self, rest: &mut impl Iterator<Item = &'a Arg>) -> Option<Arg> {
        let value = rest.next().cloned();
        if let Some(Arg::Dynamic(dynamic)) = &value {
            // More than one word: what follows the first may be an option.
            if !dynamic.is_single {
                self.uncertain.extend(value.clone());
            }
        }
        value
    }

    fn short(&mut self, letter: char, value: Option<Arg>, kind: Letter, spec: &Spec) {
        self.seen.push((letter.to_string(), value.clone()));
        if kind == Letter::Unknown {
            self.unknown.get_or_insert_with(|| format!("-{letter}"));
        }
        let acts = spec.acts().filter(|act| act.short.contains(letter));
        for act in acts {
            self.effects.push((act.effect, value.clone()));
        }
    }

    fn exact<'a>(
        &mut self,
        text: &str,
        rest: &mut impl Iterator<Item = &'a Arg>,
        spec: &Spec,
    ) -> bool {
        for (names, effect) in spec.exact_lists() {
            for name in names.iter().filter(|name| name.starts_with('-')) {
                let (plain, takes_value) = match name.strip_suffix('=') {
                    Some(plain) => (plain, true),
                    None => (name.trim_end_matches('?'), false),
                };
                let is_number = plain
                    .strip_suffix('#')
                    .and_then(|plain| text.strip_prefix(plain))
                    .is_some_and(|tail| {
                        !tail.is_empty()
                            && tail
                                .bytes()
                                .all(|byte| byte.is_ascii_digit() || byte == b'-' || byte == b'+')
                    });
                let is_attached = plain
                    .strip_suffix('*')
                    .is_some_and(|plain| text.len() > plain.len() && text.starts_with(plain));
                if text == plain || is_number || is_attached {
                    let value = if takes_value {
                        self.next_value(rest)
                    } else {
                        None
                    };
                    self.seen.push((plain.to_owned(), value.clone()));
                    self.effects.extend(effect.map(|effect| (effect, value)));
                    return true;
                }
            }
        }
        false
    }

    /// Handles `--name=value` if the whole name is listed.
    fn exact_named(&mut self, name: &str, value: &Arg, spec: &Spec) -> bool {
        for (names, effect) in spec.exact_lists() {
            let is_listed = names.iter().any(|known| {
                known.ends_with(['=', '?'])
                    && known.trim_end_matches(['=', '?']).strip_prefix("--") == Some(name)
            });
            if is_listed {
                self.seen.push((format!("--{name}"), Some(value.clone())));
                self.effects
                    .extend(effect.map(|effect| (effect, Some(value.clone()))));
                return true;
            }
        }
        false
    }

    fn long<'a>(
        &mut self,
        name: &str,
        value: Option<Arg>,
        rest: &mut impl Iterator<Item = &'a Arg>,
        spec: &Spec,
    ) {
        let mut found: Vec<(&str, bool, Option<Effect>)> = Vec::new();
        for (names, effect) in spec.long_lists() {
            for known in names.iter().filter(|known| !known.starts_with('-')) {
                let plain = known.trim_end_matches(['=', '?']);
                if plain == name {
                    found.retain(|(other, ..)| *other == name);
                    found.push((plain, known.ends_with('='), effect));
                } else if plain.starts_with(name) && !found.iter().any(|(other, ..)| *other == name)
                {
                    found.push((plain, known.ends_with('='), effect));
                }
            }
        }
        let Some((plain, ..)) = found.first().copied() else {
            let is_off = spec.negates && value.is_none() && is_negation(name, spec);
            if is_off {
                self.seen.push((name.to_owned(), None));
            } else {
                self.unknown.get_or_insert_with(|| format!("--{name}"));
            }
            return;
        };
        let takes_value = found.iter().any(|(_, takes_value, _)| *takes_value);
        let value = if value.is_none() && takes_value {
            self.next_value(rest)
        } else {
            value
        };
        self.seen.push((plain.to_owned(), value.clone()));
        // An ambiguous abbreviation counts as each of its options.
        for (_, _, effect) in found {
            self.effects
                .extend(effect.map(|effect| (effect, value.clone())));
        }
    }
}

/// Returns whether `no-NAME` disables an option of the table.
fn is_negation(name: &str, spec: &Spec) -> bool {
    let Some(plain) = name.strip_prefix("no-") else {
        return false;
    };
    let is_known =
        |known: &&str| known.trim_start_matches("--").trim_end_matches(['=', '?']) == plain;
    spec.long_lists()
        .chain(spec.exact_lists())
        .any(|(names, _)| names.iter().any(is_known))
}
