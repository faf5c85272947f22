//! Builtins of the shell.

use interlock_core::facts::CommandClass;

use crate::paths;
use crate::syntax::Assignment;
use crate::value::{Arg, is_number};
use crate::walk::{CommandPosition, Proof, Step, Walker};

impl Walker<'_> {
    /// Handles a builtin; returns `false` if the name is not one.
    pub(super) fn builtin(
        &mut self,
        name: &str,
        args: &[Arg],
        declared: &[Assignment],
        place: &CommandPosition,
    ) -> Result<bool, String> {
        let words = args.get(1..).unwrap_or_default();
        if self.is_zsh() {
            self.zsh_builtin(name, words, place)?;
        }
        match name {
            "cd" | "pushd" => self.change_directory(name, args, place),
            "popd" => {
                self.list_nothing(args, place);
                self.state.enter(None);
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                self.declare(name, args, declared, place)?
            }
            "set" => self.set_builtin(args, place)?,
            "shopt" => self.shopt(args, place)?,
            "eval" => {
                let words = after_dashes(words);
                let text: Option<Vec<&str>> = words.iter().map(Arg::literal).collect();
                let text = text
                    .ok_or("the text that `eval` runs is not known; write it out")?
                    .join(" ");
                self.read_again(&text, place.proof)?;
            }
            "trap" => {
                self.facts.unprobed = true;
                self.trap(args, place)?;
            }
            "ulimit" => {
                self.facts.unprobed = true;
                return self.naming_builtin(name, args, place);
            }
            "source" | "." => {
                let words = after_dashes(words);
                let file = words.first().ok_or("`source` without a file")?.clone();
                if file.start().starts_with('-') {
                    return Err(format!("`{name} {}` may be an option", file.shown()));
                }
                // A script that activates a Python environment is as trusted as the programs in it.
                self.facts.unprobed |= !file
                    .literal()
                    .is_some_and(|file| file.ends_with("/bin/activate"));
                self.run_script(name, args, &file, place)?;
                self.state.forget_all();
            }
            "exec" if words.is_empty() => self.list_nothing(args, place),
            "exec" => {
                let index = self.facts.next_index();
                self.facts.left_at = Some(self.facts.left_at.map_or(index, |at| at.min(index)));
                return Ok(false);
            }
            "command"
                if matches!(
                    words.first().and_then(Arg::literal),
                    Some("-v" | "-V" | "-pv" | "-pV")
                ) =>
            {
                self.list_nothing(args, place);
            }
            "exit" | "return" | "logout" => self.leave(args, place),
            "shift" => {
                self.list_nothing(args, place);
                let count = words.first().map_or(Some(1), |word| {
                    word.literal().and_then(|text| text.parse().ok())
                });
                let rest = match (self.state.positional.clone(), count) {
                    (Some(words), Some(count)) => words.get(count..).map(<[Arg]>::to_vec),
                    _ => None,
                };
                self.state.give_positional(rest);
            }
            _ => return self.naming_builtin(name, args, place),
        }
        Ok(true)
    }

    fn list_nothing(&mut self, args: &[Arg], place: &CommandPosition) {
        self.list_command(args, CommandClass::Nothing, place);
    }

    /// Handles builtins that treat a word as the name of a variable.
    fn naming_builtin(
        &mut self,
        name: &str,
        args: &[Arg],
        place: &CommandPosition,
    ) -> Result<bool, String> {
        let words = args.get(1..).unwrap_or_default();
        match name {
            "read" => self.read_builtin(args, place)?,
            "unset" => self.unset(args, place)?,
            "printf" => {
                self.list_nothing(args, place);
                if let [first, rest @ ..] = words {
                    let attached = first
                        .literal()
                        .and_then(|text| text.strip_prefix("-v"))
                        .filter(|text| !text.is_empty());
                    if first.is("-v") || attached.is_some() {
                        let target = attached.map(Arg::text).or_else(|| rest.first().cloned());
                        let variable = self.plain_name(&target.unwrap_or_else(|| Arg::text("")))?;
                        self.facts.set(&variable, None);
                        self.state.forget(&variable);
                    } else if first.literal().is_none() && first.may_be_option() && !rest.is_empty()
                    {
                        return Err(format!(
                            "`printf {}` may set a variable; put `--` before it",
                            first.shown()
                        ));
                    }
                }
            }
            "test" | "[" => {
                self.list_nothing(args, place);
                self.test_words(words)?;
            }
            "let" => {
                self.list_nothing(args, place);
                for word in words {
                    let text = word
                        .literal()
                        .ok_or("`let` evaluates text that is not known")?;
                    if text.contains('[') {
                        return Err("`let` with a subscript".to_owned());
                    }
                    self.arith_text(text)?;
                    self.arith_text_assigns(text);
                }
            }
            "mapfile" | "readarray" => self.mapfile(name, args, place)?,
            "getopts" => {
                self.list_nothing(args, place);
                let variable = self.plain_name(words.get(1).unwrap_or(&Arg::text("")))?;
                for variable in [variable.as_str(), "OPTARG", "OPTIND"] {
                    self.facts.set(variable, None);
                    self.state.forget(variable);
                }
            }
            "wait" => {
                self.list_nothing(args, place);
                self.wait_words(words)?;
            }
            _ => return self.odd_builtin(name, args, place),
        }
        Ok(true)
    }

    /// Handles `wait -p NAME`, which sets the name to a number.
    fn wait_words(&mut self, words: &[Arg]) -> Step {
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            if word.literal().is_none() && word.may_be_option() {
                return Err(format!("`{}` may be an option of `wait`", word.shown()));
            }
            let Some(letters) = word.start().strip_prefix('-') else {
                continue;
            };
            let Some((_, attached)) = letters.split_once('p') else {
                continue;
            };
            let given = if attached.is_empty() {
                rest.next().cloned()
            } else {
                word.literal().map(|_| Arg::text(attached))
            };
            let name = self.plain_name(&given.unwrap_or_else(|| Arg::text("")))?;
            self.facts.set(&name, None);
            self.state.forget(&name);
        }
        Ok(())
    }

    /// Handles the remaining builtins, harmless or refused.
    fn odd_builtin(
        &mut self,
        name: &str,
        args: &[Arg],
        place: &CommandPosition,
    ) -> Result<bool, String> {
        let words = args.get(1..).unwrap_or_default();
        match name {
            "alias" if words.iter().all(|word| word.is("-p")) => self.list_nothing(args, place),
            "alias" | "unalias" | "enable" | "bind" | "complete" | "compopt" => {
                return Err(format!("`{name}` changes what names mean"));
            }
            "jobs"
                if words
                    .iter()
                    .any(|word| word.is("-x") || word.literal().is_none()) =>
            {
                return Err("`jobs -x` runs a command".to_owned());
            }
            "jobs"
                if words
                    .iter()
                    .any(|word| word.literal().is_none_or(|text| text.contains('x'))) =>
            {
                return Err("`jobs -x` runs a command".to_owned());
            }
            "hash"
                if words.iter().any(|word| {
                    !matches!(word.literal(), Some("-r" | "-l" | "-t")) && word.may_be_option()
                }) =>
            {
                return Err("`hash` changes what a name runs".to_owned());
            }
            "compgen" => match words {
                [Arg::Literal(option), rest @ ..]
                    if matches!(
                        option.as_str(),
                        "-v" | "-c" | "-b" | "-k" | "-e" | "-a" | "-f" | "-d"
                    ) && rest.len() < 2
                        && rest.iter().all(|word| !word.may_be_option()) =>
                {
                    self.list_nothing(args, place);
                    self.facts.facts.env.dump |= matches!(option.as_str(), "-v" | "-e");
                }
                [Arg::Literal(option), Arg::Literal(what)]
                    if option == "-A"
                        && matches!(
                            what.as_str(),
                            "function" | "builtin" | "keyword" | "command"
                        ) =>
                {
                    self.list_nothing(args, place);
                }
                _ => return Err("`compgen` may run text".to_owned()),
            },
            "history" | "fc" => {
                let index = self.list_command(args, CommandClass::Nothing, place);
                if !words
                    .iter()
                    .all(|word| word.literal().is_some_and(is_number))
                    || name == "fc"
                {
                    self.facts
                        .opaque(index, "it writes or runs the history of the shell");
                }
            }
            "break" | "continue" | "umask" | "ulimit" | "type" | "hash" | "jobs" | "fg" | "bg"
            | "disown" | "suspend" | "times" | "caller" | "dirs" | "help" => {
                self.list_nothing(args, place)
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn change_directory(&mut self, name: &str, args: &[Arg], place: &CommandPosition) {
        self.list_nothing(args, place);
        let operands: Vec<&Arg> = args
            .iter()
            .skip(1)
            .filter(|arg| !matches!(arg.literal(), Some("-L" | "-P" | "-e" | "--")))
            .collect();
        let directory = match operands.as_slice() {
            [] if name == "cd" => self.setting.home.clone(),
            [Arg::Literal(path)] if !path.starts_with(['-', '+']) && !path.is_empty() => {
                paths::absolute(path, self.state.directory())
            }
            _ => None,
        };
        self.state.enter(directory);
    }

    fn leave(&mut self, args: &[Arg], place: &CommandPosition) {
        let index = self.list_command(args, CommandClass::Nothing, place);
        let code = args
            .get(1)
            .and_then(Arg::literal)
            .and_then(|text| text.parse::<u64>().ok());
        match code {
            Some(code) if code % 256 != 0 => self.facts.exit_is_mixed = true,
            _ => self.facts.left_at = Some(self.facts.left_at.map_or(index, |at| at.min(index))),
        }
    }

    fn trap(&mut self, args: &[Arg], place: &CommandPosition) -> Step {
        self.list_nothing(args, place);
        let words: Vec<&Arg> = args.iter().skip(1).filter(|word| !word.is("--")).collect();
        let Some(first) = words.first() else {
            return Ok(());
        };
        match first.literal() {
            Some("-p" | "-l" | "-" | "") => Ok(()),
            Some(text) if words.len() > 1 && !text.starts_with('-') => {
                self.facts.exit_is_free = true;
                let text = text.to_owned();
                let outer = self.state.clone();
                self.enter_function();
                let was_in = std::mem::replace(&mut self.in_function, false);
                self.repeated(|walker| walker.read_again(&text, Proof::NONE))?;
                self.in_function = was_in;
                let touched = self.state.touched.clone();
                self.state = outer;
                self.state.distrust(&touched);
                Ok(())
            }
            Some(text) if !text.starts_with('-') => Ok(()),
            _ => Err("the text that `trap` runs is not known; write it out".to_owned()),
        }
    }

    fn read_builtin(&mut self, args: &[Arg], place: &CommandPosition) -> Step {
        self.list_nothing(args, place);
        let mut names = Vec::new();
        let mut rest = args.iter().skip(1);
        while let Some(word) = rest.next() {
            match word.literal() {
                Some(text) if text.len() > 1 && text.starts_with('-') => {
                    let letters = text.trim_start_matches('-');
                    let valued = letters.find(['p', 't', 'n', 'N', 'd', 'u', 'i', 'a']);
                    let Some(at) = valued else { continue };
                    let is_array = letters.get(at..).unwrap_or_default().starts_with('a');
                    let attached = letters.get(at + 1..).unwrap_or_default();
                    let value = if attached.is_empty() {
                        rest.next().cloned()
                    } else {
                        Some(Arg::text(attached))
                    };
                    if is_array {
                        let value = value.unwrap_or_else(|| Arg::text(""));
                        let array = value.literal().unwrap_or_default().to_owned();
                        self.state.arrays.borrow_mut().insert(array);
                        names.push(value);
                    } else if matches!(&value, Some(Arg::Dynamic(dynamic)) if !dynamic.is_single && !dynamic.is_number)
                    {
                        return Err("`read` with a word that may be a name".to_owned());
                    }
                }
                _ => names.push(word.clone()),
            }
        }
        if names.is_empty() {
            self.state.forget("REPLY");
        }
        for name in names {
            let name = self.plain_name(&name)?;
            self.facts.set(&name, None);
            self.state.forget(&name);
        }
        Ok(())
    }

    fn unset(&mut self, args: &[Arg], place: &CommandPosition) -> Step {
        self.list_nothing(args, place);
        for word in args.iter().skip(1) {
            match word.literal() {
                Some("-f" | "-v") => {}
                _ => {
                    let name = self.plain_name(word)?;
                    self.facts.set(&name, Some(""));
                    self.state.drop_associative(&name);
                    self.state.forget(&name);
                    std::rc::Rc::make_mut(&mut self.state.functions).remove(&name);
                }
            }
        }
        Ok(())
    }

    /// Refuses `-v` before anything but a plain name.
    fn test_words(&mut self, words: &[Arg]) -> Step {
        for (at, word) in words.iter().enumerate() {
            let Some(next) = words.get(at + 1) else {
                continue;
            };
            let before = at.checked_sub(1).and_then(|at| words.get(at));
            let compares = before.is_some_and(|before| {
                matches!(before.literal(), Some("=" | "==" | "!=" | "-eq" | "-ne"))
            });
            if matches!(word.literal(), Some("-v" | "-R")) && !compares {
                self.plain_name(next)?;
            }
            let is_odd = match next {
                Arg::Literal(text) => text.contains('[') && text.contains(['$', '`']),
                Arg::Dynamic(dynamic) => !dynamic.is_number && !compares,
            };
            if word.literal().is_none() && word.may_be_option() && is_odd {
                return Err(format!(
                    "`{}` may be `-v`, which evaluates `{}`",
                    word.shown(),
                    next.shown()
                ));
            }
        }
        Ok(())
    }

    fn mapfile(&mut self, name: &str, args: &[Arg], place: &CommandPosition) -> Step {
        self.list_nothing(args, place);
        let mut variable = Arg::text("MAPFILE");
        let mut rest = args.iter().skip(1);
        while let Some(word) = rest.next() {
            match word.literal() {
                Some("-t" | "--") => {}
                Some("-d" | "-n" | "-O" | "-s" | "-u") => {
                    rest.next();
                }
                Some(text) if text.starts_with('-') => {
                    return Err(format!("`{name} {text}` may run text"));
                }
                _ => variable = word.clone(),
            }
        }
        let variable = self.plain_name(&variable)?;
        self.facts.set(&variable, None);
        self.state.set_array(&variable);
        Ok(())
    }
}

/// Returns the words after `--`, if it comes first.
fn after_dashes(words: &[Arg]) -> &[Arg] {
    match words {
        [first, rest @ ..] if first.is("--") => rest,
        _ => words,
    }
}
