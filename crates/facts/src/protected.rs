//! Files and commands that no guarded agent may touch, by whatever route.
//!
//! Tables list what is protected; this module searches the facts of a call for it. Names are compared without regard to case and
//! invisible characters: if the disk distinguishes them, too much is refused, never too little.

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
mod patterns;
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

/// Searches for protected files and commands.
pub(crate) struct Guarded<'a> {
    context: &'a CallContext,
    disk: &'a dyn Disk,
    /// Locations in the form in which paths are compared, computed when first needed.
    places: OnceCell<folded::FoldedPlaces>,
    /// Protected paths with known locations, listed when first needed.
    anchors: OnceCell<Vec<folded::Anchor>>,
    /// Protected files that may have other names, found when first needed.
    identities: OnceCell<Vec<((u64, u64), String)>>,
}

/// Maximum number of texts in a tool's arguments that are looked up on the disk; the rest is searched as text.
const TEXTS_MAX: usize = 256;
/// Arguments of an unknown tool that may contain code.
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

    /// Checks a file of a tool: its name, and where it leads.
    pub(crate) fn touched_either(&self, file: &Located, deed: Deed) -> Option<String> {
        // If `.git` is a file, it names the directory of hooks and configuration.
        let pointer = deed != Deed::Read && file.real.ends_with("/.git");
        let leads_elsewhere = file.real != file.named;
        self.touched(&file.named, deed)
            .or_else(|| leads_elsewhere.then(|| self.touched(&file.real, deed))?)
            .or_else(|| pointer.then(|| named("version control", &file.named)))
    }

    /// Checks the arguments of an unknown tool.
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
            // If the path cannot be resolved, the name alone may be sufficient.
            let (here, home) = (&context.site.cwd, context.home.as_deref());
            let named = crate::normalise(text, here, home).ok()?;
            return self.touched(&named, deed);
        };
        self.touched(&file.named, deed)
            .or_else(|| self.touched(&file.real, deed))
            .or_else(|| walks.then(|| self.searched(text)).flatten())
    }

    /// Checks a shell line.
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
            // Access to a directory also determines access to its contents.
            Deed::Write if changes_mode(&touched.by) => Deed::Remove,
            deed => deed,
        };
        match &touched.path {
            // A copied directory counts if its contents would take effect at the new location.
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
                        "{}, which contains {held},",
                        named("a directory", &file.named)
                    ))
                })
                .or_else(|| self.through_new_link(&file.named, deed, view)),
            TouchedPath::Below(below) => self.below(below, deed),
        }
        .map(|thing| {
            let by = one_line(&touched.by, 60);
            // The command often names the path already.
            if by.is_empty() || thing.contains(&by) {
                thing
            } else {
                format!("{thing}, by `{by}`,")
            }
        })
    }
}

/// A line, with data that its commands share.
struct LineView<'a> {
    line: &'a str,
    shell: &'a ShellFacts,
    /// Names that the line itself gives to other files, with those files.
    links: Vec<(String, String)>,
}

/// Returns whether a program changes the permissions of a file.
fn changes_mode(by: &str) -> bool {
    let program = by.split_whitespace().next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    matches!(
        program,
        "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "setfattr"
    )
}

/// Searches the values of variables that programs execute for commands.
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

/// Searches for variables that control Interlock itself.
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

/// Collects texts that may be paths: under any key, or under keys that suggest it.
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
                // Some tools accept an object that maps paths to texts.
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

/// Formats a protected path for a message.
fn named(what: &str, path: &str) -> String {
    format!("`{}` ({what})", one_line(path, 120))
}

/// Makes a path comparable: lower case, without invisible characters.
fn folded(path: &str) -> String {
    // Most paths are ASCII, and each call folds all protected ones.
    if path.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return plain(&path.to_ascii_lowercase());
    }
    let seen = path
        .chars()
        .filter(|c| !interlock_core::visible::steers(*c));
    // The only non-capital letter that folds to an ASCII one.
    let seen = seen.map(|c| if c == 'ſ' { 's' } else { c });
    plain(&seen.flat_map(char::to_lowercase).collect::<String>())
}

/// Searches for commands in a file that a line writes and then runs.
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

/// Returns whether the line itself contains code that an interpreter reads as its input.
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
        // A here-document, with no file or text that says what to run.
        let document = line.contains("<<")
            && command.class == CommandClass::Interpreter
            && command
                .words
                .iter()
                .skip(1)
                .all(|word| word.literal().is_some_and(|word| word.starts_with('-')));
        // The input of these is run later.
        let queues = is(command, &["at", "batch", "crontab"]) && line.contains("<<");
        queues || runs && command.opaque.is_some() && (command.from_pipe && says || document)
    })
}
