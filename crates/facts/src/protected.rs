//! What no guarded agent may touch, by whatever route.
//!
//! The tables say what is protected; this module finds it in the facts of a
//! call. Names are compared without regard to case and to characters that
//! are not seen: where the disk tells them apart too much is refused, never
//! too little.

mod commands;
mod files;
mod table;
mod words;

use std::cell::OnceCell;

use interlock_core::facts::{CommandClass, ShellFacts, SimpleCommand, Word};
use serde_json::Value;

use crate::{
    disk::Disk,
    path::plain,
    place::{self, Located},
    shell::{Touched, TouchedPath},
    summary::one_line,
    surroundings::Surroundings,
};

/// What is done to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// It is read.
    Read,
    /// It is written or created.
    Write,
    /// It is removed, renamed or moved away.
    Remove,
}

/// Finds protected things.
pub(crate) struct Guarded<'a> {
    surroundings: &'a Surroundings,
    disk: &'a dyn Disk,
    /// Protected files that may have other names, found when first needed.
    identities: OnceCell<Vec<((u64, u64), String)>>,
}

/// Texts of a tool's arguments that are looked at.
const TEXTS_MAX: usize = 256;

impl<'a> Guarded<'a> {
    pub(crate) const fn new(surroundings: &'a Surroundings, disk: &'a dyn Disk) -> Self {
        Self {
            surroundings,
            disk,
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
        let mut texts = Vec::new();
        collect_texts(input, mcp, &mut texts);
        texts.into_iter().find_map(|text| {
            let file = place::find(text, self.surroundings, self.disk).ok()?;
            self.touched(&file.named, deed)
                .or_else(|| self.touched(&file.real, deed))
        })
    }

    /// Looks at a shell line.
    pub(crate) fn in_line(
        &self,
        line: &str,
        shell: &ShellFacts,
        touched: &[Touched],
    ) -> Option<String> {
        touched
            .iter()
            .find_map(|touched| self.in_path(touched))
            .or_else(|| in_environment(shell))
            .or_else(|| {
                shell
                    .commands
                    .iter()
                    .find_map(|command| self.in_command(command))
            })
            .or_else(|| {
                let hidden = shell.unreadable.is_some() || feeds_an_interpreter(line, shell);
                hidden.then(|| self.in_text(line)).flatten()
            })
    }

    fn in_path(&self, touched: &Touched) -> Option<String> {
        match &touched.path {
            TouchedPath::Found(file) => self
                .touched(&file.named, touched.deed)
                .or_else(|| self.touched(&file.real, touched.deed)),
            TouchedPath::Below(below) => self.below(below, touched.deed),
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
    if texts.len() >= TEXTS_MAX {
        return;
    }
    match value {
        Value::String(text) if any_key && !text.contains('\n') => texts.push(text),
        Value::Array(items) => {
            for item in items {
                collect_texts(item, any_key, texts);
            }
        }
        Value::Object(object) => {
            for (key, value) in object {
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
    let seen = path.chars().filter(|c| !crate::summary::is_invisible(*c));
    plain(&seen.flat_map(char::to_lowercase).collect::<String>())
}

/// Tells whether the line itself holds code that an interpreter reads as its input.
fn feeds_an_interpreter(line: &str, shell: &ShellFacts) -> bool {
    let is = |command: &SimpleCommand, names: &[&str]| {
        let name = command.words.first().and_then(Word::literal);
        name.is_some_and(|name| names.contains(&name))
    };
    let interprets = |command: &SimpleCommand| {
        command.class == CommandClass::Interpreter && command.opaque.is_some()
    };
    let says = line.contains("<<") || shell.commands.iter().any(|c| is(c, &["echo", "printf"]));
    says && shell.commands.iter().any(interprets)
}
