//! Shells inside the line: `bash -c`, `eval`, `source`, `trap`.

use interlock_core::facts::CommandClass;

use crate::Dialect;
use crate::programs::SHELLS;
use crate::value::Arg;
use crate::walk::{CommandPosition, Input, Step, Walker};

/// What the words of a shell request.
#[derive(Debug, Default)]
struct ShellWords {
    reads_text: bool,
    reads_input: bool,
    pipefail: bool,
    operands: Vec<Arg>,
}

impl Walker<'_> {
    /// Handles a command that starts a shell.
    pub(super) fn start_shell(
        &mut self,
        name: &str,
        args: &[Arg],
        place: &CommandPosition,
    ) -> Result<bool, String> {
        if !SHELLS.contains(&name) {
            return Ok(false);
        }
        let words = args.get(1..).unwrap_or_default();
        if let [Arg::Literal(only)] = words
            && (only == "--version" || only == "--help")
        {
            self.list_command(args, CommandClass::Reader, place);
            return Ok(true);
        }
        if let [Arg::Literal(option), file] = words
            && option == "-n"
            && !file.may_be_option()
        {
            // It only checks the file for errors.
            let index = self.list_command(args, CommandClass::Reader, place);
            self.facts.begin(format!("{name} -n"));
            let directory = self.directory();
            self.facts.read(file, directory.as_deref(), name, false);
            self.facts.done();
            if name == "zsh" || name == "ksh" || name == "mksh" {
                self.facts.opaque(index, "not every shell keeps to `-n`");
            }
            return Ok(true);
        }
        let asked = shell_words(words)?;
        let mut operands = asked.operands.iter();
        if asked.reads_text {
            let text = match operands.next() {
                Some(Arg::Literal(text)) => text.clone(),
                _ => {
                    return Err(format!(
                        "the text that `{name} -c` runs is not known; write it out"
                    ));
                }
            };
            let positional: Vec<Arg> = operands.skip(1).cloned().collect();
            self.new_shell(name, &text, positional, asked.pipefail, place)?;
            return Ok(true);
        }
        match operands.next() {
            Some(file) if !asked.reads_input => {
                let file = file.clone();
                self.run_script(name, args, &file, place)?;
            }
            _ => match &place.input {
                Input::Text(text) => {
                    self.new_shell(name, &text.clone(), Vec::new(), asked.pipefail, place)?
                }
                _ => return Err(format!("`{name}` runs what it is given as input")),
            },
        }
        Ok(true)
    }

    fn new_shell(
        &mut self,
        name: &str,
        text: &str,
        positional: Vec<Arg>,
        pipefail: bool,
        place: &CommandPosition,
    ) -> Step {
        let dialect = match name {
            "zsh" => Dialect::Unknown,
            "bash" | "rbash" => Dialect::Bash,
            _ => Dialect::Posix,
        };
        let mut set: Vec<String> = self
            .facts
            .facts
            .env
            .set
            .iter()
            .map(|set| set.name.clone())
            .collect();
        set.extend(place.assignments.iter().cloned());
        let inner = self.state.for_new_shell(self.setting, &set);
        let saved = std::mem::replace(&mut self.state, inner);
        self.state.give_positional(Some(positional));
        self.state.pipefail = pipefail;
        let was_in = std::mem::replace(&mut self.in_function, false);
        let result = self.read_again_as(text, dialect, place.proof);
        self.in_function = was_in;
        self.state = saved;
        result
    }

    /// Lists a shell or `source` that runs a file.
    pub(super) fn run_script(
        &mut self,
        name: &str,
        args: &[Arg],
        file: &Arg,
        place: &CommandPosition,
    ) -> Step {
        match file.literal() {
            Some(path)
                if path != "-" && !path.starts_with("/dev/") && !path.starts_with("/proc/") => {}
            _ => {
                return Err(format!(
                    "`{name}` runs text that is not known: `{}`",
                    file.shown()
                ));
            }
        }
        let index = self.list_command(args, CommandClass::Interpreter, place);
        self.facts.opaque(index, "it runs a file of its own");
        let directory = self.directory();
        self.facts.read(file, directory.as_deref(), name, false);
        Ok(())
    }
}

fn shell_words(words: &[Arg]) -> Result<ShellWords, String> {
    let mut asked = ShellWords::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Arg::Literal(text) = word else {
            if word.may_be_option() && asked.reads_text {
                return Err("the text that `-c` runs is not known; write it out".to_owned());
            }
            if word.may_be_option() {
                return Err(format!("`{}` may be an option of a shell", word.shown()));
            }
            asked.operands.push(word.clone());
            break;
        };
        match text.as_str() {
            "--" | "-" => break,
            // The start-up files of a login shell are the person's own, and protected.
            "--norc" | "--noprofile" | "--login" => {}
            _ if text.starts_with("--") => {
                return Err(format!("`{text}` changes how a shell starts"));
            }
            _ if text.len() > 1 && text.starts_with(['-', '+']) => {
                flags(text, &mut rest, &mut asked)?
            }
            _ => {
                asked.operands.push(word.clone());
                break;
            }
        }
    }
    asked.operands.extend(rest.cloned());
    Ok(asked)
}

fn flags<'a>(
    text: &str,
    rest: &mut impl Iterator<Item = &'a Arg>,
    asked: &mut ShellWords,
) -> Result<(), String> {
    for letter in text.chars().skip(1) {
        match letter {
            'c' => asked.reads_text = true,
            's' => asked.reads_input = true,
            'e' | 'u' | 'x' | 'v' | 'f' | 'h' | 'b' | 'm' | 'C' | 'E' | 'T' | 'l' => {}
            'o' => match rest.next().and_then(Arg::literal) {
                Some("pipefail") => asked.pipefail = text.starts_with('-'),
                Some("errexit" | "nounset" | "xtrace" | "noclobber" | "noglob" | "verbose") => {}
                _ => return Err("an option of a shell that is not known".to_owned()),
            },
            _ => return Err(format!("`-{letter}` changes how a shell starts")),
        }
    }
    Ok(())
}
