//! What no guarded agent may touch, by whatever route.
//!
//! The tables say what is protected; this module finds it in the facts of a
//! call. Names are compared without regard to case and to characters that
//! are not seen: where the disk tells them apart too much is refused, never
//! too little.

mod clients;
mod commands;
mod consoles;
mod copies;
mod files;
mod finds;
mod folded;
mod git;
mod index;
mod list;
mod processes;
mod program;
mod table;
mod walks;
mod words;

use std::cell::OnceCell;

use interlock_core::facts::{CommandClass, PathText, ShellFacts, SimpleCommand, Word};
use serde_json::Value;

use crate::{
    context::CallContext,
    disk::Disk,
    path::{as_address, is_address, plain},
    place::{self, Located},
    served::may_be_path,
    summary::one_line,
    touched::{Deed, Touched, TouchedPath},
};

pub(crate) use git::is_harmless_key;
pub(crate) use list::places;
pub use list::{Compared, Part, ProtectedPath, protected_paths};
pub use table::CONFIG_KEYS;

/// Finds protected things.
pub(crate) struct Guarded<'a> {
    context: &'a CallContext,
    disk: &'a dyn Disk,
    /// Places in the form that paths are compared in, made when first needed.
    places: OnceCell<folded::FoldedPlaces>,
    /// Protected paths whose place is known, listed when first needed.
    anchors: OnceCell<Vec<folded::Anchor>>,
    /// Protected files that may have other names, found when first needed.
    identities: OnceCell<Vec<((u64, u64), String)>>,
}

/// Texts of a tool's arguments that are looked up on the disk; the rest is looked at as text.
const TEXTS_MAX: usize = 256;
/// Arguments of a tool about which nothing is known that may hold code.
const CODES: [&str; 4] = ["code", "chars", "input", "source"];

impl<'a> Guarded<'a> {
    pub(crate) const fn new(context: &'a CallContext, disk: &'a dyn Disk) -> Self {
        Self {
            context,
            disk,
            places: OnceCell::new(),
            anchors: OnceCell::new(),
            identities: OnceCell::new(),
        }
    }

    /// Looks at a file of a tool: as it is named, and where that leads.
    pub(crate) fn touched_either(&self, file: &Located, deed: Deed) -> Option<String> {
        // As a file it says where the hooks and the configuration are.
        let pointer = deed != Deed::Read && file.real.ends_with("/.git");
        self.touched(&file.named, deed)
            .or_else(|| self.touched(&file.real, deed))
            .or_else(|| pointer.then(|| named("version control", &file.named)))
    }

    /// Looks at the arguments of a tool about which nothing is known.
    pub(crate) fn in_arguments(&self, tool: &str, input: &Value) -> Option<String> {
        let mcp = tool.starts_with("mcp");
        let deed = if words::names_a_reader(tool) {
            Deed::Read
        } else {
            Deed::Write
        };
        let walks = deed == Deed::Read && words::names_a_search(tool);
        let mut texts = Vec::new();
        collect_texts(input, mcp, &mut texts);
        let (looked_up, rest) = texts.split_at(texts.len().min(TEXTS_MAX));
        let codes = CODES
            .iter()
            .filter(|_| !mcp)
            .filter_map(|field| input.get(field)?.as_str());
        self.console_in(input)
            .or_else(|| {
                looked_up
                    .iter()
                    .find_map(|text| self.argument(text, deed, walks))
            })
            .or_else(|| rest.iter().find_map(|text| self.in_hidden_text(text)))
            .or_else(|| codes.into_iter().find_map(|code| self.in_hidden_text(code)))
    }

    fn argument(&self, text: &str, deed: Deed, walks: bool) -> Option<String> {
        self.path(text, deed, walks).or_else(|| {
            let addressed = as_address(text);
            addressed
                .iter()
                .find_map(|path| self.path(path, deed, walks))
        })
    }

    fn path(&self, text: &str, deed: Deed, walks: bool) -> Option<String> {
        let context = self.context;
        let Ok(file) = place::find(text, context, self.disk) else {
            // Where the way is not known, the name alone may tell enough.
            let (here, home) = (&context.site.cwd, context.home.as_deref());
            let named = crate::normalise(text, here, home).ok()?;
            return self.touched(&named, deed);
        };
        self.touched(&file.named, deed)
            .or_else(|| self.touched(&file.real, deed))
            .or_else(|| walks.then(|| self.searched(text)).flatten())
    }

    /// Looks at a shell line.
    pub(crate) fn in_line(
        &self,
        line: &str,
        shell: &ShellFacts,
        touched: &[Touched],
    ) -> Option<String> {
        let view = LineView::of(line, shell, self);
        touched
            .iter()
            .find_map(|touched| self.in_path(touched, &view))
            .or_else(|| self.console(line))
            .or_else(|| in_environment(shell))
            .or_else(|| self.in_partly_known(&view))
            .or_else(|| {
                shell
                    .commands
                    .iter()
                    .find_map(|command| self.in_command(command, &view))
            })
            .or_else(|| in_values(&view))
            .or_else(|| in_new_scripts(&view))
            .or_else(|| {
                let hidden = shell.unreadable.is_some() || feeds_an_interpreter(line, shell);
                hidden.then(|| self.in_hidden_text(line)).flatten()
            })
    }

    fn in_path(&self, touched: &Touched, view: &LineView<'_>) -> Option<String> {
        let deed = match touched.deed {
            // Who may enter a directory may be kept from what lies in it.
            Deed::Write if changes_mode(&touched.by) => Deed::Remove,
            deed => deed,
        };
        match &touched.path {
            // What comes along with a directory counts where it would be in force.
            TouchedPath::Found(file)
                if deed == Deed::Write && self.comes_along(file, &touched.by, view) =>
            {
                None
            }
            TouchedPath::Found(file) => self
                .touched(&file.named, deed)
                .or_else(|| self.touched(&file.real, deed))
                .or_else(|| {
                    let held = changes_mode(&touched.by)
                        .then(|| self.held(&file.real))
                        .flatten()?;
                    Some(format!(
                        "{}, which holds {held},",
                        named("a directory", &file.named)
                    ))
                })
                .or_else(|| self.through_new_link(&file.named, deed, view)),
            TouchedPath::Below(below) => self.below(below, deed),
        }
        .map(|thing| {
            let by = one_line(&touched.by, 60);
            // The command often shows the path already.
            if by.is_empty() || thing.contains(&by) {
                thing
            } else {
                format!("{thing}, by `{by}`,")
            }
        })
    }
}

/// A line with what its commands have in common.
struct LineView<'a> {
    line: &'a str,
    shell: &'a ShellFacts,
    /// Names that the line itself gives to other files, with those files.
    links: Vec<(String, String)>,
}

/// Programs that change who may do what with a file.
fn changes_mode(by: &str) -> bool {
    let program = by.split_whitespace().next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    matches!(
        program,
        "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "setfattr"
    )
}

/// Looks for commands in the values of variables that programs run.
fn in_values(view: &LineView<'_>) -> Option<String> {
    let steering = view.shell.env.set.iter().filter(|set| set.changes_programs);
    steering.into_iter().find_map(|set| {
        let found = match set.values.as_slice() {
            [] => words::own_command(&view.line.to_lowercase()),
            values => values
                .iter()
                .find_map(|value| words::own_command(&value.to_lowercase())),
        };
        found.map(|command| format!("{command}, by the variable `{}`,", one_line(&set.name, 40)))
    })
}

/// Looks for variables that steer Interlock itself.
fn in_environment(shell: &ShellFacts) -> Option<String> {
    let set = shell.env.set.iter().map(|set| &set.name);
    shell
        .env
        .used
        .iter()
        .chain(set)
        .find(|name| name.to_ascii_uppercase().starts_with("INTERLOCK_"))
        .map(|name| format!("the variable `{}`", one_line(name, 60)))
}

/// Collects texts that may be paths: of any key, or of keys that say so.
fn collect_texts<'v>(value: &'v Value, any_key: bool, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) if any_key && (!text.trim().contains('\n') || is_address(text)) => {
            texts.push(text);
        }
        Value::Array(items) => {
            for item in items {
                collect_texts(item, any_key, texts);
            }
        }
        Value::Object(object) => {
            for (key, value) in object {
                // Some tools take an object of texts by path.
                if any_key && may_be_path(key) {
                    texts.push(key);
                }
                let key = key.to_ascii_lowercase();
                let says_so = ["path", "file", "dir", "uri", "target", "destination"]
                    .iter()
                    .any(|word| key.contains(word));
                collect_texts(value, any_key || says_so, texts);
            }
        }
        _ => {}
    }
}

/// Writes a protected path for a message.
fn named(what: &str, path: &str) -> String {
    format!("`{}` ({what})", one_line(path, 120))
}

/// Makes a path comparable: lower case, without characters that are not seen.
fn folded(path: &str) -> String {
    // Most are plain, and each call folds all protected ones.
    if path.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return plain(&path.to_ascii_lowercase());
    }
    let seen = path
        .chars()
        .filter(|c| !interlock_core::visible::steers(*c));
    // The one letter that folds to a plain one and is no capital.
    let seen = seen.map(|c| if c == 'ſ' { 's' } else { c });
    plain(&seen.flat_map(char::to_lowercase).collect::<String>())
}

/// Looks for commands in a file that a line writes and then runs.
fn in_new_scripts(view: &LineView<'_>) -> Option<String> {
    let shell = view.shell;
    shell.writes.iter().find_map(|used| {
        let command = words::own_command(&used.text.as_deref()?.to_lowercase())?;
        let PathText::Whole(path) = &used.path else {
            return None;
        };
        let (_, name) = path.rsplit_once('/')?;
        let runs = |command: &SimpleCommand| {
            let mut words = command.words.iter().filter_map(Word::literal);
            command.opaque.is_some() && words.any(|word| word.rsplit('/').next() == Some(name))
        };
        shell.commands.iter().any(runs).then_some(command)
    })
}

/// Tells whether the line itself holds code that an interpreter reads as its input.
fn feeds_an_interpreter(line: &str, shell: &ShellFacts) -> bool {
    let is = |command: &SimpleCommand, names: &[&str]| {
        let name = command.words.first().and_then(Word::literal);
        name.is_some_and(|name| names.contains(&name))
    };
    let says = shell
        .commands
        .iter()
        .any(|c| is(c, &["echo", "printf", "cat"]));
    shell.commands.iter().any(|command| {
        let runs = matches!(
            command.class,
            CommandClass::Interpreter | CommandClass::System | CommandClass::Unknown
        );
        // A document on its own input, where no file or text says what it runs.
        let document = line.contains("<<")
            && command.class == CommandClass::Interpreter
            && command
                .words
                .iter()
                .skip(1)
                .all(|word| word.literal().is_some_and(|word| word.starts_with('-')));
        // What these are told is run later.
        let queues = is(command, &["at", "batch", "crontab"]) && line.contains("<<");
        queues || runs && command.opaque.is_some() && (command.from_pipe && says || document)
    })
}
