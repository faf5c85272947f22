//! Commands that start the command in their arguments.

mod words;

use interlock_core::facts::CommandClass;

use super::piped::Names;
use crate::options::{self, Operands, SPEC, Spec};
use crate::programs;
use crate::tables::wrappers::{Passes, Wrapper};
use crate::value::{Arg, Dynamic};
use crate::walk::{CommandPosition, Input, Proof, Step, Walker};
use crate::words::words;
use words::{own_words, plain_words};

pub(super) use words::put_in;

impl Walker<'_> {
    /// Handles a wrapper; returns `false` if the name is not one.
    pub(super) fn wrapper(
        &mut self,
        name: &str,
        args: &[Arg],
        place: &CommandPosition,
    ) -> Result<bool, String> {
        let words = args.get(1..).unwrap_or_default();
        if let [Arg::Literal(only)] = words
            && matches!(only.as_str(), "--version" | "--help" | "-V")
            && is_wrapper(name)
        {
            self.list_command(args, CommandClass::Reader, place);
            return Ok(true);
        }
        match name {
            "env" => self.env(args, place)?,
            "time" => self.time(args, place)?,
            "xargs" => self.xargs(args, place)?,
            "parallel" | "entr" => return Err(format!("`{name}` builds commands from its input")),
            "sudo" => self.sudo(args, place)?,
            "su" | "runuser" | "sg" => self.other_user(name, args, place)?,
            "capsh" => return Err("`capsh` starts a shell".to_owned()),
            "strace" | "ltrace" => self.trace(name, args, place)?,
            "watch" => self.watch(args, place)?,
            "script" => self.script(args, place)?,
            "flock" => self.flock(args, place)?,
            "tmux" if self.reading_form(name, args, place) => {}
            "tmux" | "screen" if words.len() > 1 => {
                return Err(format!("`{name}` starts commands that are not read"));
            }
            "-" | "noglob" | "nocorrect" if !self.is_zsh() => return Ok(false),
            _ if self.is_transparent(name, words) => {
                self.subshell(|walker| walker.inside(name, args, 1, Passes::Exit, place))?;
            }
            _ => match programs::find_wrapper(name) {
                Some(wrapper) => self.by_table(name, wrapper, args, place)?,
                None => return Ok(false),
            },
        }
        Ok(true)
    }

    /// Returns whether the person declares a program as a wrapper, and a command follows it.
    ///
    /// It must be in no table: known programs keep their meaning.
    fn is_transparent(&self, name: &str, words: &[Arg]) -> bool {
        self.setting.transparent.iter().any(|known| known == name)
            && !programs::is_known(name)
            && words
                .first()
                .and_then(Arg::literal)
                .is_some_and(|first| !first.starts_with('-'))
    }

    /// Handles the command after the wrapper's own words.
    fn inside(
        &mut self,
        name: &str,
        args: &[Arg],
        taken: usize,
        passes: Passes,
        place: &CommandPosition,
    ) -> Step {
        let rest = args.get(taken..).unwrap_or_default();
        let own = args.get(..taken).unwrap_or_default();
        let mut inner = place.clone();
        inner.via.push(name.to_owned());
        inner.wrapped.extend(own.iter().cloned());
        inner.proof = match passes {
            Passes::Exit => place.proof,
            Passes::Success => place.proof.limited_to(true, false),
            Passes::Nothing => Proof::NONE,
        };
        let index = self.facts.next_index();
        self.run(rest.to_vec(), &[], &inner)?;
        self.facts.hand_on(&inner.assignments, index);
        Ok(())
    }

    fn by_table(
        &mut self,
        name: &str,
        wrapper: &Wrapper,
        args: &[Arg],
        place: &CommandPosition,
    ) -> Step {
        let spec = Spec {
            short: wrapper.short,
            valued: wrapper.valued,
            long: wrapper.long,
            stops: true,
            operands: Operands::Nothing,
            ..SPEC
        };
        let taken = own_words(name, args, &spec, wrapper.operands)?;
        if wrapper.is_privilege {
            self.list_command(args, CommandClass::Privilege, place);
        }
        if name == "chroot" {
            return self
                .elsewhere(|walker| walker.inside(name, args, taken, Passes::Success, place));
        }
        if taken >= args.len() {
            return match name {
                "prlimit" | "choom" | "taskset" | "chrt" | "ionice" | "nice" => {
                    self.list_command(args, CommandClass::Reader, place);
                    Ok(())
                }
                _ => Err(format!("`{name}` without a command")),
            };
        }
        let passes = if wrapper.is_privilege {
            Passes::Success
        } else {
            wrapper.passes
        };
        let keeps = wrapper.keeps_builtins;
        if keeps {
            return self.inside(name, args, taken, passes, place);
        }
        // A separate program cannot change what this shell knows.
        self.subshell(|walker| walker.inside(name, args, taken, passes, place))
    }

    /// Handles a command whose paths belong to another file system.
    fn elsewhere(&mut self, inner: impl FnOnce(&mut Self) -> Step) -> Step {
        self.subshell(|walker| {
            walker.state.enter(None);
            inner(walker)
        })
    }

    fn env(&mut self, args: &[Arg], place: &CommandPosition) -> Step {
        const SPEC_ENV: Spec = Spec {
            short: "i0v",
            valued: "uCS",
            long: words!(
                "ignore-environment null unset= chdir= split-string= debug block-signal?
                 default-signal? ignore-signal? list-signal-handling"
            ),
            stops: true,
            ..SPEC
        };
        let mut taken = own_words("env", args, &SPEC_ENV, 0)?;
        let sorted = options::sort(args.get(1..taken).unwrap_or_default(), &SPEC_ENV);
        // `env - COMMAND` is `env -i COMMAND`.
        let is_bare = args.get(taken).is_some_and(|word| word.is("-"));
        taken += usize::from(is_bare);
        let mut inner = place.clone();
        while let Some(word) = args.get(taken) {
            let Some((name, value)) = word.start().split_once('=') else {
                break;
            };
            let value = word.literal().map(|_| value);
            self.facts.set(name, value);
            self.facts.used(name);
            inner.assignments.push(name.to_owned());
            taken += 1;
        }
        let unset = sorted
            .seen
            .iter()
            .filter(|(option, _)| matches!(option.as_str(), "u" | "unset"));
        for (_, name) in unset {
            let name = name
                .as_ref()
                .and_then(Arg::literal)
                .ok_or("`env -u` with a name that is not known")?;
            if !crate::names::may_be_unset(name) {
                self.facts.set(name, Some(""));
            }
        }
        if let Some(text) = sorted.value("S").or_else(|| sorted.value("split-string")) {
            let text = text.literal().ok_or("the text of `env -S` is not known")?;
            let words = plain_words(text)
                .ok_or("`env -S` with quotes or expansions; write the command out")?;
            let mut all = vec![Arg::text("env")];
            all.extend(words);
            all.extend(args.get(taken..).unwrap_or_default().iter().cloned());
            return self.env(&all, &inner);
        }
        if taken >= args.len() {
            self.list_command(args, CommandClass::Reader, place);
            self.facts.facts.env.dump |=
                !is_bare && !sorted.has("i") && !sorted.has("ignore-environment");
            return Ok(());
        }
        let directory = sorted.value("C").or_else(|| sorted.value("chdir")).cloned();
        self.subshell(|walker| {
            if let Some(directory) = directory {
                let path = directory
                    .literal()
                    .and_then(|path| crate::paths::absolute(path, walker.state.directory()));
                walker.state.enter(path);
            }
            walker.inside("env", args, taken, Passes::Exit, &inner)
        })
    }

    fn time(&mut self, args: &[Arg], place: &CommandPosition) -> Step {
        const SPEC_TIME: Spec = Spec {
            short: "apqv",
            valued: "fo",
            long: words!("append portability quiet verbose format= output="),
            stops: true,
            ..SPEC
        };
        let taken = own_words("time", args, &SPEC_TIME, 0)?;
        let sorted = options::sort(args.get(1..taken).unwrap_or_default(), &SPEC_TIME);
        if let Some(path) = sorted.value("o").or_else(|| sorted.value("output")) {
            let directory = self.directory();
            self.facts
                .write(&path.clone(), directory.as_deref(), "time");
        }
        self.subshell(|walker| walker.inside("time", args, taken, Passes::Exit, place))
    }

    fn xargs(&mut self, args: &[Arg], place: &CommandPosition) -> Step {
        const SPEC_XARGS: Spec = Spec {
            short: "0oprtx",
            valued: "aEIJLnPRsSd",
            attached: "eil",
            long: words!(
                "null open-tty interactive no-run-if-empty verbose exit arg-file= delimiter= eof?
                 replace? max-lines? max-args= max-procs= max-chars= process-slot-var="
            ),
            stops: true,
            ..SPEC
        };
        let taken = own_words("xargs", args, &SPEC_XARGS, 0)?;
        let sorted = options::sort(args.get(1..taken).unwrap_or_default(), &SPEC_XARGS);
        if sorted.has("process-slot-var") {
            return Err("`xargs --process-slot-var` sets a variable".to_owned());
        }
        let mark = if sorted.has("I") || sorted.has("J") || sorted.has("i") || sorted.has("replace")
        {
            let value = ["I", "J", "i", "replace"]
                .iter()
                .find_map(|name| sorted.value(name));
            Some(
                value
                    .map_or(Some("{}"), Arg::literal)
                    .ok_or("the mark of `xargs -I` is not known")?
                    .to_owned(),
            )
        } else {
            None
        };
        let mut rest: Vec<Arg> = args.get(taken..).unwrap_or_default().to_vec();
        if rest.is_empty() {
            rest.push(Arg::text("echo"));
        }
        match &mark {
            Some(mark) => rest = rest.iter().map(|word| put_in(word, mark, "")).collect(),
            None => {
                let ended = sorted.has("0") || sorted.has("null");
                let divided = sorted.has("d") || sorted.has("delimiter") || ended;
                let is_never_option = place.from_pipe
                    && !sorted.has("a")
                    && !sorted.has("arg-file")
                    && match self.names_piped {
                        Names::Ended => ended,
                        Names::Words => !divided,
                        Names::Unknown => false,
                    };
                rest.push(Arg::Dynamic(Dynamic {
                    is_never_option,
                    source: "xargs …".to_owned(),
                    ..Dynamic::default()
                }));
            }
        }
        let mut all = args.get(..taken).unwrap_or_default().to_vec();
        all.extend(rest);
        let inner = CommandPosition {
            input: Input::Other,
            from_pipe: false,
            ..place.clone()
        };
        self.subshell(|walker| walker.inside("xargs", &all, taken, Passes::Nothing, &inner))
    }

    fn sudo(&mut self, args: &[Arg], place: &CommandPosition) -> Step {
        const SPEC_SUDO: Spec = Spec {
            short: "AbEHknPSKvl",
            valued: "ugCTpDR",
            long: words!(
                "preserve-env? set-home non-interactive stdin user= group= prompt= background"
            ),
            stops: true,
            ..SPEC
        };
        let mut taken = own_words("sudo", args, &SPEC_SUDO, 0)?;
        self.list_command(args, CommandClass::Privilege, place);
        let mut inner = place.clone();
        while let Some((name, value)) = args
            .get(taken)
            .and_then(|word| word.start().split_once('='))
        {
            self.facts.set(name, Some(value));
            inner.assignments.push(name.to_owned());
            taken += 1;
        }
        if taken >= args.len() {
            return Ok(());
        }
        let sorted = options::sort(args.get(1..taken).unwrap_or_default(), &SPEC_SUDO);
        self.subshell(|walker| {
            if sorted.has("D") || sorted.has("R") {
                walker.state.enter(None);
            }
            walker.inside("sudo", args, taken, Passes::Success, &inner)
        })
    }

    /// Handles `su -c`, `runuser -c`, `sg -c`, whose text is a line.
    fn other_user(&mut self, name: &str, args: &[Arg], place: &CommandPosition) -> Step {
        self.list_command(args, CommandClass::Privilege, place);
        let at = args
            .iter()
            .position(|word| word.is("-c") || word.is("--command"));
        if let Some(text) = at.and_then(|at| args.get(at + 1)) {
            let text = text
                .literal()
                .ok_or_else(|| format!("the text of `{name} -c` is not known"))?
                .to_owned();
            return self.elsewhere(|walker| walker.read_again(&text, Proof::NONE));
        }
        Err(format!("`{name}` starts a shell"))
    }

    fn trace(&mut self, name: &str, args: &[Arg], place: &CommandPosition) -> Step {
        const SPEC_TRACE: Spec = Spec {
            short: "cCdfFhiknqrtTvVxyYzwSL",
            valued: "aeIoOpPsSuUlnA",
            long: words!("follow-forks summary-only trace= output= string-limit= quiet?"),
            stops: true,
            ..SPEC
        };
        let taken = own_words(name, args, &SPEC_TRACE, 0)?;
        self.list_command(args, CommandClass::Privilege, place);
        let sorted = options::sort(args.get(1..taken).unwrap_or_default(), &SPEC_TRACE);
        if let Some(path) = sorted
            .value("o")
            .or_else(|| sorted.value("output"))
            .cloned()
        {
            if path.start().starts_with(['|', '!']) || path.literal().is_none() {
                return Err(format!("`{name} -o` starts a command"));
            }
            let directory = self.directory();
            self.facts.write(&path, directory.as_deref(), name);
        }
        if taken >= args.len() {
            return Ok(());
        }
        self.subshell(|walker| walker.inside(name, args, taken, Passes::Success, place))
    }

    fn watch(&mut self, args: &[Arg], place: &CommandPosition) -> Step {
        const SPEC_WATCH: Spec = Spec {
            short: "bcCdegprtwx",
            valued: "nqs",
            long: words!("beep color differences? errexit chgexit interval= no-title no-wrap exec"),
            stops: true,
            ..SPEC
        };
        let taken = own_words("watch", args, &SPEC_WATCH, 0)?;
        let sorted = options::sort(args.get(1..taken).unwrap_or_default(), &SPEC_WATCH);
        if sorted.has("x") || sorted.has("exec") {
            return self
                .subshell(|walker| walker.inside("watch", args, taken, Passes::Nothing, place));
        }
        let text: Option<Vec<&str>> = args
            .get(taken..)
            .unwrap_or_default()
            .iter()
            .map(Arg::literal)
            .collect();
        let text = text
            .filter(|words| !words.is_empty())
            .ok_or("the text that `watch` runs is not known")?
            .join(" ");
        self.subshell(|walker| walker.read_again_as(&text, crate::Dialect::Posix, Proof::NONE))
    }

    fn script(&mut self, args: &[Arg], place: &CommandPosition) -> Step {
        const SPEC_SCRIPT: Spec = Spec {
            short: "aefq",
            valued: "cEIOBTmot",
            long: words!(
                "append return flush quiet command= log-in= log-out= log-io= log-timing= force echo="
            ),
            ..SPEC
        };
        let sorted = options::sort(args.get(1..).unwrap_or_default(), &SPEC_SCRIPT);
        if sorted.unknown.is_some() || !sorted.uncertain.is_empty() {
            return Err("`script` with an option that is not known".to_owned());
        }
        let text = sorted.value("c").or_else(|| sorted.value("command"));
        let text = text
            .and_then(Arg::literal)
            .ok_or("`script` starts a shell; use `script -c TEXT FILE`")?
            .to_owned();
        self.list_command(args, CommandClass::Writer, place);
        let directory = self.directory();
        let logs = [
            "I",
            "O",
            "B",
            "T",
            "log-in",
            "log-out",
            "log-io",
            "log-timing",
        ];
        let files: Vec<Arg> = logs
            .iter()
            .filter_map(|name| sorted.value(name).cloned())
            .chain(sorted.operands.clone())
            .collect();
        if files.is_empty() {
            self.facts
                .write(&Arg::text("typescript"), directory.as_deref(), "script");
        }
        for file in &files {
            self.facts.write(file, directory.as_deref(), "script");
        }
        self.subshell(|walker| walker.read_again(&text, Proof::NONE))
    }

    fn flock(&mut self, args: &[Arg], place: &CommandPosition) -> Step {
        const SPEC_FLOCK: Spec = Spec {
            short: "senouxFv",
            valued: "wE",
            long: words!(
                "shared exclusive nonblock no-fork close unlock timeout= conflict-exit-code= verbose"
            ),
            stops: true,
            ..SPEC
        };
        let taken = own_words("flock", args, &SPEC_FLOCK, 1)?;
        let directory = self.directory();
        if let Some(file) = taken.checked_sub(1).and_then(|at| args.get(at))
            && !file.is_number()
        {
            self.facts.write(file, directory.as_deref(), "flock");
        }
        if args
            .get(taken)
            .is_some_and(|word| word.is("-c") || word.is("--command"))
        {
            let text = args
                .get(taken + 1)
                .and_then(Arg::literal)
                .ok_or("the text of `flock -c` is not known")?
                .to_owned();
            return self.subshell(|walker| walker.read_again(&text, Proof::NONE));
        }
        if taken >= args.len() {
            self.list_command(args, CommandClass::Writer, place);
            return Ok(());
        }
        self.subshell(|walker| walker.inside("flock", args, taken, Passes::Nothing, place))
    }
}

fn is_wrapper(name: &str) -> bool {
    programs::find_wrapper(name).is_some_and(|wrapper| !wrapper.keeps_builtins && name != "exec")
        || programs::OWN_WRAPPERS.contains(&name)
}
