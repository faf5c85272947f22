//! Walks the syntax of a line and tracks what the shell would know at each point.

mod arith;
mod loops;
mod probe;
mod redirects;
mod simple;
mod words;

use std::collections::BTreeSet;
use std::rc::Rc;

use interlock_core::facts::Probe;

use crate::collect::Collector;
use crate::expand::Expander;
use crate::parse::{Tally, parse_with_marks};
use crate::run::piped::Names;
use crate::state::State;
use crate::syntax::{AndOr, Command, Compound, Join, List, Pipeline, Redirect, Simple};
use crate::text::NESTING_MAX;
use crate::value::Arg;
use crate::{Dialect, ShellContext};

/// Result of a step: nothing, or why the line is not readable.
pub(crate) type Step = Result<(), String>;

/// Maximum nesting of text that is parsed again (`eval`, `bash -c`).
const READ_AGAIN_MAX: usize = 8;

/// Cost of a command in the budget of a line.
const COMMAND_COST: usize = 64;
/// Maximum number of wrappers around one command.
pub(crate) const WRAPPERS_MAX: usize = 16;

/// What the exit code of the line says about a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Proof {
    pub(crate) success: bool,
    pub(crate) exit: bool,
    /// What the exit code of the outermost command of the text says about it.
    pub(crate) probe: Option<Probe>,
}

impl Proof {
    pub(crate) const NONE: Self = Self {
        success: false,
        exit: false,
        probe: None,
    };
    pub(crate) const FULL: Self = Self {
        success: true,
        exit: true,
        probe: None,
    };

    /// Reduces it to what holds if only `success` or only any `exit` code is passed on.
    pub(crate) fn limited_to(self, success: bool, exit: bool) -> Self {
        Self {
            success: self.success && success,
            exit: self.exit && exit,
            probe: self.probe.map(|probe| Probe {
                success: probe.success && success,
                exit: probe.exit && exit,
                ..probe
            }),
        }
    }
}

/// The standard input of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Input {
    /// The input of the line.
    #[default]
    Inherited,
    /// Another command of the line.
    Pipe,
    /// Text of the line itself.
    Text(String),
    /// A file, or unknown text.
    Other,
}

/// The context of a command.
#[derive(Debug, Clone)]
pub(crate) struct CommandPosition {
    pub(crate) proof: Proof,
    pub(crate) input: Input,
    pub(crate) from_pipe: bool,
    /// Names of the wrappers around it, outermost first.
    pub(crate) via: Vec<String>,
    /// The words with the wrappers' own words before them.
    pub(crate) wrapped: Vec<Arg>,
    pub(crate) assignments: Vec<String>,
}

/// Walks one line.
pub(crate) struct Walker<'a> {
    pub(crate) setting: &'a ShellContext,
    /// Shell that parses the present part: that of the session, or one that the line starts.
    pub(crate) dialect: Dialect,
    pub(crate) state: State,
    pub(crate) facts: Collector,
    pub(crate) again: usize,
    depth: usize,
    steps: usize,
    tally: Tally,
    /// Whether an enclosing compound reads from a pipe.
    piped: bool,
    /// What the previous part of the pipe prints.
    pub(crate) names_piped: Names,
    /// Whether functions are analysed as if no part of the line changed directory.
    stays: bool,
    /// Names of functions of the line, wherever they were defined.
    pub(crate) defined: BTreeSet<String>,
    /// Whether a function or trap was seen.
    deferred: bool,
    /// Whether this is certainly the body of a function.
    pub(crate) in_function: bool,
    /// Number of enclosing parts that run concurrently with what follows (`&`, `<( )`).
    beside: usize,
    /// Index of the enclosing pipeline of the line itself; `None` in a body that runs later.
    pub(crate) step: Option<usize>,
    /// Names that arithmetic evaluates before the line has set them.
    pub(crate) evaluated: BTreeSet<String>,
    /// Names whose values are evaluated (`declare -i`).
    pub(crate) integers: BTreeSet<String>,
    /// Names to which `declare` assigned text that an array would parse as its elements.
    pub(crate) declared_text: BTreeSet<String>,
}

impl<'a> Walker<'a> {
    pub(crate) fn new(setting: &'a ShellContext, tally: Tally, stays: bool) -> Self {
        Self {
            setting,
            dialect: setting.dialect,
            state: State::new(setting),
            facts: Collector::new(is_zsh(setting.dialect)),
            again: 0,
            depth: 0,
            steps: 0,
            tally,
            piped: false,
            names_piped: Names::Unknown,
            stays,
            defined: BTreeSet::new(),
            deferred: false,
            in_function: false,
            beside: 0,
            step: Some(0),
            evaluated: BTreeSet::new(),
            integers: EVALUATING.iter().map(|name| (*name).to_owned()).collect(),
            declared_text: BTreeSet::new(),
        }
    }

    pub(crate) fn expander(&self) -> Expander<'_> {
        Expander {
            state: &self.state,
            dialect: self.dialect,
        }
    }

    pub(crate) fn is_zsh(&self) -> bool {
        is_zsh(self.dialect)
    }

    pub(crate) fn directory(&self) -> Option<String> {
        self.state.directory().map(str::to_owned)
    }

    /// Parses text as a separate line, in the present shell.
    pub(crate) fn read_again(&mut self, text: &str, proof: Proof) -> Step {
        self.read_again_as(text, self.dialect, proof)
    }

    /// Parses text as a separate line, in another shell's dialect.
    pub(crate) fn read_again_as(&mut self, text: &str, dialect: Dialect, proof: Proof) -> Step {
        if self.again >= READ_AGAIN_MAX {
            return Err("text that is read as a command, more than 8 deep".to_owned());
        }
        if let Some(reason) = crate::text::refuse(text) {
            return Err(reason);
        }
        let (list, marks) = parse_with_marks(text, dialect, self.depth, &mut self.tally)?;
        if let Some(reason) = crate::witness::veto(text, &list, &marks) {
            return Err(reason);
        }
        self.again += 1;
        let outer = std::mem::replace(&mut self.dialect, dialect);
        self.facts.is_zsh = self.is_zsh();
        let result = self.list(&list, proof);
        self.dialect = outer;
        self.facts.is_zsh = self.is_zsh();
        self.again -= 1;
        result
    }

    /// Walks a list in a subshell.
    pub(crate) fn subshell(&mut self, inner: impl FnOnce(&mut Self) -> Step) -> Step {
        let saved = self.state.clone();
        let result = inner(self);
        self.state = saved;
        result
    }

    /// Walks what runs concurrently with the line and may outlive it.
    pub(crate) fn detached(&mut self, inner: impl FnOnce(&mut Self) -> Step) -> Step {
        let step = self.step.take();
        self.beside += 1;
        let result = self.subshell(inner);
        self.beside -= 1;
        self.step = step;
        result
    }

    pub(crate) fn list(&mut self, list: &List, proof: Proof) -> Step {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return Err("nested more than 100 deep".to_owned());
        }
        let last = list.items.len().saturating_sub(1);
        for (at, item) in list.items.iter().enumerate() {
            let proof = if at == last { proof } else { Proof::NONE };
            if item.background {
                self.detached(|walker| walker.and_or(item, Proof::NONE))?;
            } else {
                self.and_or(item, proof)?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn and_or(&mut self, item: &AndOr, proof: Proof) -> Step {
        if item.rest.is_empty() {
            return self.pipeline(&item.first, proof);
        }
        let has_or = item.rest.iter().any(|(join, _)| *join == Join::Or);
        let proof = proof.limited_to(!has_or, false);
        let before = has_or.then(|| self.state.clone());
        self.pipeline(&item.first, proof)?;
        // What holds whichever parts have run, at least the first one.
        let mut after = self.state.clone();
        // What holds if the list so far has failed, whichever part it was.
        let mut failed = before.map(|mut before| {
            before.join(&self.state);
            before
        });
        for (join, pipeline) in &item.rest {
            let succeeded = has_or.then(|| self.state.clone());
            if let (Join::Or, Some(failed)) = (join, &failed) {
                self.state = failed.clone();
            }
            self.pipeline(pipeline, proof)?;
            let ends = *join == Join::Or && leaves(pipeline);
            if !ends {
                after.join(&self.state);
            }
            if let Some(failed) = &mut failed {
                failed.join(&self.state);
            }
            if let (Join::Or, Some(succeeded)) = (join, succeeded) {
                // What follows `&&` may come directly from before the `||`.
                let tried = std::mem::replace(&mut self.state, succeeded);
                if !ends {
                    self.state.join(&tried);
                }
            }
        }
        self.state = after;
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &Pipeline, proof: Proof) -> Step {
        let proof = if pipeline.bang { Proof::NONE } else { proof };
        if self.depth == 1 && self.again == 0 {
            self.step = self.step.map(|step| step + 1);
        }
        if let [only] = pipeline.commands.as_slice() {
            return self.command(only, proof, false);
        }
        let last = pipeline.commands.len().saturating_sub(1);
        for (at, command) in pipeline.commands.iter().enumerate() {
            let pipefail = self.state.pipefail;
            let part = proof.limited_to(at == last || pipefail, at == last && !pipefail);
            let begun = self.facts.next_index();
            let before = self.state.clone();
            let joins = at == last && self.dialect != Dialect::Bash;
            self.command(command, part, at > 0)?;
            let after = std::mem::replace(&mut self.state, before);
            if joins {
                // Some shells run the last part in the shell itself.
                self.state.join(&after);
            }
            self.names_piped = Names::of(self.facts.since(begun));
        }
        self.names_piped = Names::Unknown;
        Ok(())
    }

    fn command(&mut self, command: &Command, proof: Proof, from_pipe: bool) -> Step {
        if !self.state.spend(COMMAND_COST) {
            return Err(TOO_LARGE.to_owned());
        }
        match command {
            Command::Simple(simple) => self.simple(simple, proof, from_pipe),
            Command::Function { name, body } => self.function(name, body),
            Command::Compound(compound, redirects) => {
                // Redirections happen before the command that they belong to.
                self.forget_in_redirects(redirects);
                let before = (!redirects.is_empty()).then(|| self.state.clone());
                self.compound(compound, redirects, proof, from_pipe)?;
                let after = before.map(|before| std::mem::replace(&mut self.state, before));
                self.redirects(redirects, None)?;
                if let Some(after) = after {
                    self.state = after;
                }
                Ok(())
            }
        }
    }

    /// Walks a compound; its contents inherit its input.
    fn compound(
        &mut self,
        compound: &Compound,
        redirects: &[Redirect],
        proof: Proof,
        from_pipe: bool,
    ) -> Step {
        let piped = match self.input(redirects, from_pipe || self.piped) {
            Input::Pipe => true,
            Input::Inherited | Input::Text(_) | Input::Other => false,
        };
        let outer = std::mem::replace(&mut self.piped, piped);
        let result = self.compound_parts(compound, proof);
        self.piped = outer;
        result
    }

    fn compound_parts(&mut self, compound: &Compound, proof: Proof) -> Step {
        match compound {
            Compound::Group(list) => self.list(list, proof),
            Compound::Subshell(list) => self.subshell(|walker| walker.list(list, proof)),
            Compound::For {
                name, words, body, ..
            } => self.for_each(name, words.as_deref(), body),
            Compound::Select {
                name, words, body, ..
            } => self.select(name, words.as_deref(), body),
            Compound::CFor { parts, body, .. } => self.for_numbers(parts, body),
            Compound::While {
                condition, body, ..
            } => self.repeat(&[condition, body]),
            Compound::If {
                branches,
                otherwise,
            } => self.branches(branches, otherwise.as_ref()),
            Compound::Case { word, arms } => self.case(word, arms),
            Compound::Arithmetic(arith) => self.arith(arith),
            Compound::Test(tokens) => self.test_tokens(tokens),
            Compound::Coproc { name, body } => {
                let name = name.as_deref().unwrap_or("COPROC");
                self.facts.set(name, None);
                self.state.set_array(name);
                self.detached(|walker| walker.command(body, Proof::NONE, false))
            }
        }
    }

    fn branches(&mut self, branches: &[(List, List)], otherwise: Option<&List>) -> Step {
        let mut after: Option<State> = None;
        let mut meet = |state: &State| match &mut after {
            Some(after) => after.join(state),
            None => after = Some(state.clone()),
        };
        for (condition, then) in branches {
            self.list(condition, Proof::NONE)?;
            let tested = self.state.clone();
            self.list(then, Proof::NONE)?;
            meet(&self.state);
            self.state = tested;
        }
        if let Some(list) = otherwise {
            self.list(list, Proof::NONE)?;
        }
        meet(&self.state);
        if let Some(after) = after {
            self.state = after;
        }
        Ok(())
    }

    fn function(&mut self, name: &str, body: &Command) -> Step {
        if crate::programs::is_known(name) {
            return Err(format!("a function takes the name of `{name}`"));
        }
        let outer = self.state.clone();
        self.enter_function();
        let step = self.step.take();
        let was_in = std::mem::replace(&mut self.in_function, true);
        self.repeated(|walker| walker.command(body, Proof::NONE, false))?;
        self.in_function = was_in;
        self.step = step;
        let touched = self.state.touched.clone();
        self.state = outer;
        self.state.distrust(&touched);
        Rc::make_mut(&mut self.state.functions).insert(name.to_owned());
        self.defined.insert(name.to_owned());
        Ok(())
    }

    /// Prepares the state for the body of a function or trap.
    pub(crate) fn enter_function(&mut self) {
        self.deferred = true;
        let directory = self.directory().filter(|_| self.stays);
        self.state = self.state.for_function(directory);
    }

    /// Returns whether functions must be analysed again without knowing their directory.
    pub(crate) fn moved_under_functions(&self) -> bool {
        self.stays && self.deferred && self.state.moved.get()
    }
}

/// Returns whether zsh may run what is parsed in a dialect.
const fn is_zsh(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Zsh | Dialect::Unknown)
}

/// Returns whether a pipeline certainly ends its shell.
fn leaves(pipeline: &Pipeline) -> bool {
    let is_exit = |simple: &Simple| {
        simple
            .words
            .first()
            .is_some_and(|word| word.is_bare("exit"))
    };
    match pipeline.commands.as_slice() {
        [Command::Simple(simple)] => is_exit(simple),
        [Command::Compound(compound, _)] => match compound.as_ref() {
            Compound::Group(list) => list.items.last().is_some_and(|item| {
                item.rest.is_empty() && !item.background && leaves(&item.first)
            }),
            _ => false,
        },
        _ => false,
    }
}

/// Why a line is not followed to its end.
const TOO_LARGE: &str = "its loops, braces and variables make it too large to follow";

/// Names that bash sets to an evaluated value, running text as arithmetic.
const EVALUATING: [&str; 8] = [
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "OPTIND",
    "HISTCMD",
    "LINENO",
    "EPOCHSECONDS",
    "BASHPID",
];
