//! Divides the words of a command into options and operands, by a table.

use crate::value::Arg;

/// What an option or operand does beyond reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Its value is a file that is read.
    Read,
    /// Its value is a file that is written.
    Write,
    /// Its value is a directory, or a beginning of names, that is written below.
    WriteBelow,
    /// The operands are written too (`sed -i`).
    WriteOperands,
    /// The operands are removed too (`rsync --remove-source-files`, `gzip` without `-k`).
    RemoveOperands,
    /// Everything below the operands is meant.
    Recursive,
    /// It changes the machine.
    System,
    /// It reaches the network and sends.
    Send,
    /// It shows the environment.
    Dump,
    /// It runs or loads something; the text says what.
    Opaque(&'static str),
    /// Its value is where the other operands go (`cp -t`).
    Target,
    /// It makes the program print instead of write (`tar t`, `gzip -c`).
    Prints,
    /// Its value counts as the operand that the program expects first (`grep -e`).
    First,
}

/// An option that does something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Act {
    /// One letter each; with a value when the letter is in `valued` too.
    pub(crate) short: &'static str,
    /// Long names as in [`Spec::long`].
    pub(crate) long: &'static [&'static str],
    pub(crate) effect: Effect,
}

/// What the operands of a program are.
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
    /// Files that are read and a last one that is written.
    LastWritten,
    /// The same, and the others go away.
    LastWrittenOthersRemoved,
    /// Files that are removed.
    Remove,
    /// Any operand changes the machine.
    System,
    /// Any operand that does not begin with `+` changes the machine.
    SystemButPlus,
    /// Hosts.
    Hosts,
    /// Files that are read; one that begins with `+` runs a command.
    ReadButPlus,
}

/// The options of a program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec {
    /// Letters of harmless options without a value.
    pub(crate) short: &'static str,
    /// Letters of options that take a value, harmless or not.
    pub(crate) valued: &'static str,
    /// Letters whose value, if any, stands in the same word.
    pub(crate) attached: &'static str,
    /// Harmless long options: `name`, `name=` with a value, `name?` with an optional one.
    pub(crate) long: &'static [&'static str],
    /// Harmless options compared as whole words: `-name`, `-len=` with the next word, `-c#` with a number.
    pub(crate) exact: &'static [&'static str],
    pub(crate) acts: &'static [Act],
    pub(crate) operands: Operands,
    /// Whether options end at the first operand.
    pub(crate) stops: bool,
    /// Whether no option changes what is touched but for going deeper.
    pub(crate) is_tame: bool,
}

/// A table with nothing in it, to build others from.
pub(crate) const SPEC: Spec = Spec {
    short: "",
    valued: "",
    attached: "",
    long: &[],
    exact: &[],
    acts: &[],
    operands: Operands::Read,
    stops: false,
    is_tame: false,
};

/// The words of a command, sorted.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    pub(crate) operands: Vec<Arg>,
    pub(crate) effects: Vec<(Effect, Option<Arg>)>,
    /// Every option seen, as its letter or long name, with its value.
    pub(crate) seen: Vec<(String, Option<Arg>)>,
    /// The first option that no table knows.
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

/// Sorts `args`, the words after the name of the program.
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
                    sorted.long(
                        name,
                        Some(Arg::unknown(&dynamic.source)),
                        &mut std::iter::empty(),
                        spec,
                    );
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
                Some((name, value)) => self.long(name, Some(Arg::text(value)), rest, spec),
                None => self.long(long, None, rest, spec),
            }
            return;
        }
        let letters = text.strip_prefix('-').unwrap_or(text);
        for (at, letter) in letters.char_indices() {
            let after = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            let has_value = spec.valued.contains(letter);
            let is_attached = spec.attached.contains(letter);
            let value = if has_value {
                if after.is_empty() {
                    self.next_value(rest)
                } else {
                    Some(Arg::text(after))
                }
            } else if is_attached && !after.is_empty() {
                Some(Arg::text(after))
            } else {
                None
            };
            self.short(letter, value, has_value || is_attached, spec);
            if has_value || is_attached {
                return;
            }
        }
    }

    fn next_value<'a>(&mut self, rest: &mut impl Iterator<Item = &'a Arg>) -> Option<Arg> {
        let value = rest.next().cloned();
        if let Some(Arg::Dynamic(dynamic)) = &value {
            // More than one word: what follows the first may be an option.
            if !dynamic.is_single && !dynamic.is_number {
                self.uncertain.extend(value.clone());
            }
        }
        value
    }

    fn short(&mut self, letter: char, value: Option<Arg>, takes_value: bool, spec: &Spec) {
        self.seen.push((letter.to_string(), value.clone()));
        let acts: Vec<&Act> = spec
            .acts
            .iter()
            .filter(|act| act.short.contains(letter))
            .collect();
        if acts.is_empty() && !takes_value && !spec.short.contains(letter) {
            self.unknown.get_or_insert_with(|| format!("-{letter}"));
        }
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
        let lists = spec
            .acts
            .iter()
            .map(|act| (act.long, Some(act.effect)))
            .chain([(spec.exact, None)]);
        for (names, effect) in lists {
            for name in names.iter().filter(|name| name.starts_with('-')) {
                let (plain, takes_value) = match name.strip_suffix('=') {
                    Some(plain) => (plain, true),
                    None => (*name, false),
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
                if text == plain || is_number {
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

    fn long<'a>(
        &mut self,
        name: &str,
        value: Option<Arg>,
        rest: &mut impl Iterator<Item = &'a Arg>,
        spec: &Spec,
    ) {
        let mut found: Vec<(&str, bool, Option<Effect>)> = Vec::new();
        let lists = spec
            .acts
            .iter()
            .map(|act| (act.long, Some(act.effect)))
            .chain([(spec.long, None)]);
        for (names, effect) in lists {
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
            self.unknown.get_or_insert_with(|| format!("--{name}"));
            return;
        };
        let takes_value = found.iter().any(|(_, takes_value, _)| *takes_value);
        let value = if value.is_none() && takes_value {
            self.next_value(rest)
        } else {
            value
        };
        self.seen.push((plain.to_owned(), value.clone()));
        // An abbreviation of several counts as each of them.
        for (_, _, effect) in found {
            self.effects
                .extend(effect.map(|effect| (effect, value.clone())));
        }
    }
}
