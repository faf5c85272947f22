//! What a shell knows at one point of the line: variables, directory, options.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::ShellContext;
use crate::value::{Arg, Dynamic};
use crate::words::words;

/// What is known of a variable that the line has set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// One value, possibly known.
    Scalar(Arg),
    /// An array, whose values are not tracked.
    Array,
}

/// Changes made by a part of the line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Touched {
    names: Rc<BTreeSet<String>>,
    everything: bool,
    directory: bool,
    pub(crate) positional: bool,
    pub(crate) pipefail: bool,
}

impl Touched {
    /// Adds the changes made by another part.
    pub(crate) fn add(&mut self, other: &Self) {
        if self.names != other.names {
            Rc::make_mut(&mut self.names).extend(other.names.iter().cloned());
        }
        self.everything |= other.everything;
        self.directory |= other.directory;
        self.positional |= other.positional;
        self.pipefail |= other.pipefail;
    }
}

/// The shell at one point of the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// Shared until changed: a state is copied for every branch and subshell.
    variables: Rc<BTreeMap<String, Value>>,
    /// Names that a function, a trap or a loop may change at any time, besides those that the shell itself controls.
    volatile: Rc<BTreeSet<String>>,
    everything_volatile: bool,
    /// Working directory; `None` if unknown.
    directory: Option<String>,
    directory_volatile: bool,
    /// `$1` and so on; `None` if unknown.
    pub(crate) positional: Option<Rc<[Arg]>>,
    /// Whether the line ever set `$1` and so on.
    pub(crate) positional_given: bool,
    pub(crate) is_split_known: bool,
    pub(crate) pipefail: bool,
    /// Functions that certainly exist here.
    pub(crate) functions: Rc<BTreeSet<String>>,
    /// Arrays with text subscripts for certain (`declare -A`).
    associative: Rc<BTreeSet<String>>,
    /// Names that a loop or a function sets and that were not set before: it may never have run.
    perhaps_unset: Rc<BTreeSet<String>>,
    /// Names that any part of the line removes or declares differently.
    redeclared: Rc<RefCell<BTreeSet<String>>>,
    /// Names that any part of the line has set to something other than a number.
    pub(crate) not_numbers: Rc<RefCell<BTreeSet<String>>>,
    /// Names that were ever arrays.
    pub(crate) arrays: Rc<RefCell<BTreeSet<String>>>,
    /// Whether any part of the line has changed directory.
    pub(crate) moved: Rc<Cell<bool>>,
    /// Remaining expansion budget before the line is too large to follow.
    pub(crate) effort: Rc<Cell<usize>>,
    /// Changes since this was last cleared.
    pub(crate) touched: Touched,
}

/// Maximum number of bytes that all expansions of a line may produce, with 32 more per word.
const EFFORT_MAX: usize = 512 * 1024;
/// Cost of a word besides its bytes.
const WORD_COST: usize = 32;
/// Maximum length of a variable's value that is tracked.
const VALUE_MAX: usize = 8 * 1024;
/// Maximum number of positional words that are tracked.
const POSITIONAL_MAX: usize = 1_000;

/// Variables whose value the shell itself controls, whatever the line assigns.
const KEPT_BY_SHELL: &[&str] = words!(
    "_ UID EUID PPID BASHOPTS SHELLOPTS BASH_VERSINFO RANDOM SRANDOM SECONDS LINENO BASHPID GROUPS
     FUNCNAME DIRSTACK EPOCHSECONDS EPOCHREALTIME BASH_COMMAND BASH_SUBSHELL HISTCMD BASH_REMATCH
     PIPESTATUS BASH_ARGV0 BASH_SOURCE BASH_LINENO OPTARG OPTIND REPLY MATCH status argv signals"
);

impl State {
    pub(crate) fn new(setting: &ShellContext) -> Self {
        let mut state = Self {
            variables: Rc::default(),
            volatile: Rc::default(),
            everything_volatile: false,
            directory: Some(setting.directory.clone()).filter(|path| path.starts_with('/')),
            directory_volatile: false,
            positional: None,
            positional_given: false,
            is_split_known: true,
            pipefail: false,
            functions: Rc::default(),
            associative: Rc::default(),
            perhaps_unset: Rc::default(),
            redeclared: Rc::default(),
            not_numbers: Rc::default(),
            arrays: Rc::default(),
            moved: Rc::default(),
            effort: Rc::new(Cell::new(EFFORT_MAX)),
            touched: Touched::default(),
        };
        let known = [
            ("HOME", setting.home.as_deref()),
            ("PWD", Some(setting.directory.as_str())),
            ("TMPDIR", setting.temporary.as_deref()),
            ("USER", setting.user.as_deref()),
        ];
        for (name, value) in known {
            if let Some(value) = value {
                Rc::make_mut(&mut state.variables)
                    .insert(name.to_owned(), Value::Scalar(Arg::text(value)));
            }
        }
        state
    }

    pub(crate) fn directory(&self) -> Option<&str> {
        self.directory
            .as_deref()
            .filter(|_| !self.directory_volatile)
    }

    pub(crate) fn enter(&mut self, directory: Option<String>) {
        let shown = directory
            .as_deref()
            .map_or_else(|| Arg::unknown("$PWD"), Arg::text);
        self.set("PWD", shown);
        self.set("OLDPWD", Arg::unknown("$OLDPWD"));
        self.directory = directory;
        self.touched.directory = true;
        self.moved.set(true);
    }

    /// Charges the cost of a word of `bytes`; returns `false` if the line is too large to follow.
    pub(crate) fn spend(&self, bytes: usize) -> bool {
        let left = self.effort.get().saturating_sub(bytes + WORD_COST);
        self.effort.set(left);
        left > 0
    }

    /// Returns whether the line is too large to follow.
    pub(crate) fn is_spent(&self) -> bool {
        self.effort.get() == 0
    }

    /// Returns what is known of a name; `None` when the line never set it.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.variables.get(name)
    }

    pub(crate) fn set(&mut self, name: &str, value: Arg) {
        if name == "IFS" {
            self.is_split_known = false;
        }
        self.touch(name);
        if self.perhaps_unset.contains(name) {
            Rc::make_mut(&mut self.perhaps_unset).remove(name);
        }
        if !value.is_number() {
            self.not_numbers.borrow_mut().insert(name.to_owned());
        }
        let is_volatile = self.everything_volatile
            || self.volatile.contains(name)
            || KEPT_BY_SHELL.contains(&name);
        let value = if is_volatile || value.start().len() > VALUE_MAX {
            Arg::unknown(&format!("${name}"))
        } else {
            value
        };
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), Value::Scalar(value));
    }

    pub(crate) fn set_array(&mut self, name: &str) {
        if name == "IFS" {
            self.is_split_known = false;
        }
        self.touch(name);
        self.not_numbers.borrow_mut().insert(name.to_owned());
        self.arrays.borrow_mut().insert(name.to_owned());
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), Value::Array);
    }

    fn touch(&mut self, name: &str) {
        if !self.touched.names.contains(name) {
            Rc::make_mut(&mut self.touched.names).insert(name.to_owned());
        }
    }

    /// Records that `name` has text subscripts, which `declare -A` ensures.
    pub(crate) fn set_associative(&mut self, name: &str) {
        Rc::make_mut(&mut self.associative).insert(name.to_owned());
    }

    /// Permanently forgets that, if a name is removed or declared again somewhere.
    pub(crate) fn drop_associative(&self, name: &str) {
        self.redeclared.borrow_mut().insert(name.to_owned());
    }

    /// Returns whether subscripts of `name` are certainly not arithmetic.
    pub(crate) fn is_associative(&self, name: &str) -> bool {
        self.associative.contains(name) && !self.redeclared.borrow().contains(name)
    }

    /// Makes every later value of `name` unknown (`readonly`).
    pub(crate) fn make_volatile(&mut self, name: &str) {
        Rc::make_mut(&mut self.volatile).insert(name.to_owned());
    }

    /// Makes `name` unknown now.
    pub(crate) fn forget(&mut self, name: &str) {
        self.set(name, Arg::unknown(&format!("${name}")));
    }

    /// Makes `name` unknown unless it was set before and only ever was a number.
    fn loosen(&mut self, name: &str) {
        if !self.variables.contains_key(name) && !self.perhaps_unset.contains(name) {
            // It may have its value from before the line.
            Rc::make_mut(&mut self.perhaps_unset).insert(name.to_owned());
        }
        let was_number =
            !self.perhaps_unset.contains(name) && !self.not_numbers.borrow().contains(name);
        let value = if was_number {
            number(name)
        } else {
            Arg::unknown(&format!("${name}"))
        };
        self.touch(name);
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), Value::Scalar(value));
    }

    /// Forgets what a loop that began at `head` changes, whose body may not have run.
    pub(crate) fn forget_loop(&mut self, head: &Self, touched: &Touched) {
        if self.perhaps_unset != head.perhaps_unset {
            Rc::make_mut(&mut self.perhaps_unset).extend(head.perhaps_unset.iter().cloned());
        }
        self.forget_touched(touched);
    }

    /// Makes every variable unknown now, including known numbers and prefixes.
    pub(crate) fn forget_all(&mut self) {
        for (name, value) in Rc::make_mut(&mut self.variables) {
            self.not_numbers.borrow_mut().insert(name.clone());
            *value = Value::Scalar(Arg::unknown(&format!("${name}")));
        }
        self.positional = None;
        self.associative = Rc::default();
        self.touched.everything = true;
    }

    /// Sets `$1` and so on, or makes them unknown.
    pub(crate) fn give_positional(&mut self, words: Option<Vec<Arg>>) {
        self.positional = words
            .filter(|words| words.len() <= POSITIONAL_MAX)
            .map(Rc::from);
        self.positional_given = true;
        self.touched.positional = true;
    }

    /// Sets whether a pipe fails if any of its parts does.
    pub(crate) fn set_pipefail(&mut self, on: bool) {
        self.pipefail = on;
        self.touched.pipefail = true;
    }

    /// Forgets what one iteration of a loop body changes.
    pub(crate) fn forget_touched(&mut self, touched: &Touched) {
        if touched.everything {
            self.forget_all();
        }
        for name in touched.names.iter() {
            self.loosen(name);
        }
        if touched.directory {
            self.directory = None;
            self.touched.directory = true;
        }
        if touched.positional {
            self.positional = None;
            self.touched.positional = true;
        }
        if touched.pipefail {
            self.pipefail = false;
        }
    }

    /// Makes what a function or trap changes permanently unknown from here on.
    pub(crate) fn distrust(&mut self, touched: &Touched) {
        self.everything_volatile |= touched.everything;
        Rc::make_mut(&mut self.volatile).extend(touched.names.iter().cloned());
        self.directory_volatile |= touched.directory;
        self.forget_touched(touched);
    }

    /// Returns the state of a new shell started from this one.
    pub(crate) fn for_new_shell(&self, setting: &ShellContext, set: &[String]) -> Self {
        let mut state = Self::new(setting);
        state.directory = self.directory().map(str::to_owned);
        state.not_numbers = Rc::clone(&self.not_numbers);
        state.arrays = Rc::clone(&self.arrays);
        state.moved = Rc::clone(&self.moved);
        state.effort = Rc::clone(&self.effort);
        state.redeclared = Rc::clone(&self.redeclared);
        for name in set {
            state.forget(name);
        }
        state.touched = Touched::default();
        state
    }

    /// Returns the state in which the body of a function is analysed.
    pub(crate) fn for_function(&self, directory: Option<String>) -> Self {
        let mut state = self.clone();
        state.forget_all();
        state.positional_given = true;
        state.directory = directory;
        state.pipefail = false;
        state.touched = Touched::default();
        state
    }

    /// Keeps only what holds both here and in `other`.
    pub(crate) fn join(&mut self, other: &Self) {
        if self == other {
            return;
        }
        let differs = |name: &&String| self.variables.get(*name) != other.variables.get(*name);
        let names = self.variables.keys().filter(differs);
        let others = other
            .variables
            .keys()
            .filter(|name| !self.variables.contains_key(*name));
        let names: Vec<String> = names.chain(others).cloned().collect();
        for name in names {
            let value = match (self.variables.get(&name), other.variables.get(&name)) {
                (Some(Value::Array), _) | (_, Some(Value::Array)) => Value::Array,
                (Some(Value::Scalar(a)), Some(Value::Scalar(b)))
                    if a.is_number() && b.is_number() =>
                {
                    Value::Scalar(number(&name))
                }
                // If one branch does not set it, it may have its value from before the line.
                _ => Value::Scalar(Arg::unknown(&format!("${name}"))),
            };
            Rc::make_mut(&mut self.variables).insert(name, value);
        }
        if self.perhaps_unset != other.perhaps_unset {
            Rc::make_mut(&mut self.perhaps_unset).extend(other.perhaps_unset.iter().cloned());
        }
        if self.volatile != other.volatile {
            Rc::make_mut(&mut self.volatile).extend(other.volatile.iter().cloned());
        }
        self.everything_volatile |= other.everything_volatile;
        if self.directory != other.directory {
            self.directory = None;
        }
        self.directory_volatile |= other.directory_volatile;
        if self.positional != other.positional {
            self.positional = None;
        }
        self.positional_given |= other.positional_given;
        self.is_split_known &= other.is_split_known;
        self.pipefail &= other.pipefail;
        if self.associative != other.associative {
            Rc::make_mut(&mut self.associative).retain(|name| other.associative.contains(name));
        }
        if self.functions != other.functions {
            Rc::make_mut(&mut self.functions).retain(|name| other.functions.contains(name));
        }
        self.touched.add(&other.touched);
    }
}

/// Returns a value that is an unknown number, not below 0.
pub(crate) fn count(name: &str) -> Arg {
    Arg::Dynamic(Dynamic {
        source: format!("${name}"),
        is_number: true,
        is_single: true,
        is_operand: true,
        ..Dynamic::default()
    })
}

/// Returns a value that is an unknown number.
pub(crate) fn number(name: &str) -> Arg {
    Arg::Dynamic(Dynamic {
        source: format!("${name}"),
        is_number: true,
        is_single: true,
        ..Dynamic::default()
    })
}
