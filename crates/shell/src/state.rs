//! What a shell knows at one point of the line: variables, directory, options.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::Setting;
use crate::value::{Arg, Dynamic};

/// What is known of a variable that the line has set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// One value, perhaps known.
    Scalar(Arg),
    /// An array, whose values are not followed.
    Array,
}

/// What a part of the line has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Touched {
    names: BTreeSet<String>,
    everything: bool,
    directory: bool,
    pub(crate) positional: bool,
    pub(crate) pipefail: bool,
}

impl Touched {
    /// Adds what another part has changed.
    pub(crate) fn add(&mut self, other: &Self) {
        self.names.extend(other.names.iter().cloned());
        self.everything |= other.everything;
        self.directory |= other.directory;
        self.positional |= other.positional;
        self.pipefail |= other.pipefail;
    }
}

/// The shell at one point of the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    variables: BTreeMap<String, Value>,
    /// Names that a function, a trap or a loop may change at any time.
    volatile: BTreeSet<String>,
    everything_volatile: bool,
    /// The working directory; `None` when not known.
    directory: Option<String>,
    directory_volatile: bool,
    /// `$1` and on; `None` when not known.
    pub(crate) positional: Option<Vec<Arg>>,
    /// Whether `$1` and on were ever given by the line.
    pub(crate) positional_given: bool,
    pub(crate) is_split_known: bool,
    pub(crate) pipefail: bool,
    /// Functions that certainly exist here.
    pub(crate) functions: BTreeSet<String>,
    /// Names that any part of the line has set to something other than a number.
    pub(crate) not_numbers: Rc<RefCell<BTreeSet<String>>>,
    /// Whether any part of the line has changed directory.
    pub(crate) moved: Rc<Cell<bool>>,
    /// What was changed since this was last cleared.
    pub(crate) touched: Touched,
}

/// Names whose value the shell keeps to itself, whatever the line assigns.
const KEPT_BY_SHELL: &[&str] = &[
    "_",
    "UID",
    "EUID",
    "PPID",
    "BASHOPTS",
    "SHELLOPTS",
    "BASH_VERSINFO",
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "LINENO",
    "BASHPID",
    "GROUPS",
    "FUNCNAME",
    "DIRSTACK",
    "EPOCHSECONDS",
    "EPOCHREALTIME",
    "BASH_COMMAND",
    "BASH_SUBSHELL",
    "HISTCMD",
    "BASH_REMATCH",
    "PIPESTATUS",
    "BASH_ARGV0",
    "BASH_SOURCE",
    "BASH_LINENO",
    "OPTARG",
    "OPTIND",
    "REPLY",
    "MATCH",
    "status",
    "argv",
    "signals",
];

impl State {
    pub(crate) fn new(setting: &Setting) -> Self {
        let mut state = Self {
            variables: BTreeMap::new(),
            volatile: KEPT_BY_SHELL
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
            everything_volatile: false,
            directory: Some(setting.directory.clone()).filter(|path| path.starts_with('/')),
            directory_volatile: false,
            positional: None,
            positional_given: false,
            is_split_known: true,
            pipefail: false,
            functions: BTreeSet::new(),
            not_numbers: Rc::default(),
            moved: Rc::default(),
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
                state
                    .variables
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

    /// Returns what is known of a name; `None` when the line never set it.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.variables.get(name)
    }

    pub(crate) fn set(&mut self, name: &str, value: Arg) {
        if name == "IFS" {
            self.is_split_known = false;
        }
        self.touched.names.insert(name.to_owned());
        if !value.is_number() {
            self.not_numbers.borrow_mut().insert(name.to_owned());
        }
        let value = if self.everything_volatile || self.volatile.contains(name) {
            Arg::unknown(name)
        } else {
            value
        };
        self.variables.insert(name.to_owned(), Value::Scalar(value));
    }

    pub(crate) fn set_array(&mut self, name: &str) {
        if name == "IFS" {
            self.is_split_known = false;
        }
        self.touched.names.insert(name.to_owned());
        self.not_numbers.borrow_mut().insert(name.to_owned());
        self.variables.insert(name.to_owned(), Value::Array);
    }

    /// Makes every later value of `name` unknown (`readonly`).
    pub(crate) fn make_volatile(&mut self, name: &str) {
        self.volatile.insert(name.to_owned());
    }

    /// Makes `name` unknown now.
    pub(crate) fn forget(&mut self, name: &str) {
        self.set(name, Arg::unknown(&format!("${name}")));
    }

    /// Makes `name` unknown unless it only ever was a number.
    fn loosen(&mut self, name: &str) {
        let was_number = !self.not_numbers.borrow().contains(name);
        let value = if was_number {
            number(name)
        } else {
            Arg::unknown(&format!("${name}"))
        };
        self.touched.names.insert(name.to_owned());
        self.variables.insert(name.to_owned(), Value::Scalar(value));
    }

    /// Makes every variable unknown now; numbers and beginnings too.
    pub(crate) fn forget_all(&mut self) {
        for (name, value) in &mut self.variables {
            self.not_numbers.borrow_mut().insert(name.clone());
            *value = Value::Scalar(Arg::unknown(&format!("${name}")));
        }
        self.positional = None;
        self.touched.everything = true;
    }

    /// Gives `$1` and on, or makes them unknown.
    pub(crate) fn give_positional(&mut self, words: Option<Vec<Arg>>) {
        self.positional = words;
        self.positional_given = true;
        self.touched.positional = true;
    }

    /// Sets whether a pipe fails with any of its parts.
    pub(crate) fn set_pipefail(&mut self, on: bool) {
        self.pipefail = on;
        self.touched.pipefail = true;
    }

    /// Forgets what one pass through a loop body changes.
    pub(crate) fn forget_touched(&mut self, touched: &Touched) {
        if touched.everything {
            self.forget_all();
        }
        for name in &touched.names {
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

    /// Makes what a function or trap changes unknown from here on, for good.
    pub(crate) fn distrust(&mut self, touched: &Touched) {
        self.everything_volatile |= touched.everything;
        self.volatile.extend(touched.names.iter().cloned());
        self.directory_volatile |= touched.directory;
        self.forget_touched(touched);
    }

    /// Returns the state of a new shell started from this one.
    pub(crate) fn for_new_shell(&self, setting: &Setting, set: &[String]) -> Self {
        let mut state = Self::new(setting);
        state.directory = self.directory().map(str::to_owned);
        state.not_numbers = Rc::clone(&self.not_numbers);
        state.moved = Rc::clone(&self.moved);
        for name in set {
            state.forget(name);
        }
        state.touched = Touched::default();
        state
    }

    /// Returns the state in which the body of a function is read.
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
                // Where one way leaves it alone, it may hold what it held before the line.
                _ => Value::Scalar(Arg::unknown(&format!("${name}"))),
            };
            self.variables.insert(name, value);
        }
        self.volatile.extend(other.volatile.iter().cloned());
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
        self.functions.retain(|name| other.functions.contains(name));
        self.touched.add(&other.touched);
    }
}

/// Returns a value that is some number.
pub(crate) fn number(name: &str) -> Arg {
    Arg::Dynamic(Dynamic {
        source: format!("${name}"),
        is_number: true,
        is_single: true,
        ..Dynamic::default()
    })
}
