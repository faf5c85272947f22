//! The summary of a call that a person is shown before approving it.
//!
//! It is only for display, and not part of what a grant is bound to. Control and direction characters are escaped, secrets are
//! masked, and it has at most [`BYTES_MAX`] bytes.

mod secrets;

use interlock_core::{
    call::ToolCall,
    facts::{NetworkDirection, PathText, PathUse, ShellFacts},
};
use interlock_facts::{Disk, canonical_text, one_line};
use serde_json::Value;
use similar::{Algorithm, TextDiff};

pub use secrets::Secrets;

use crate::{Arguments, Tool, files::edit::Replacement, input};

/// Maximum size of a summary in bytes.
const BYTES_MAX: usize = 2_048;
/// Number of bytes of a summary that are reserved for its end.
const REST_BYTES: usize = 48;
/// Maximum number of characters of a line.
const LINE_CHARS_MAX: usize = 400;
/// Maximum size of a text that is compared line by line, in bytes.
const COMPARED_BYTES_MAX: u64 = 1024 * 1024;
/// Time limit of searching the shortest diff.
const COMPARED_FOR: std::time::Duration = std::time::Duration::from_millis(100);

impl Tool {
    /// Describes a call for the person who is asked about it.
    ///
    /// For a shell line: the line, and what it runs, reads, writes and connects to. For an edit: the file and the diff. For
    /// everything else: the arguments.
    #[must_use]
    pub fn summary(
        self,
        arguments: &Arguments,
        call: &ToolCall,
        secrets: &Secrets,
        disk: &dyn Disk,
    ) -> String {
        let value = arguments.value();
        let mut text = Text::new(secrets);
        match self {
            Self::Bash | Self::ShellLine => text.line_of_shell(value, call),
            Self::Edit => text.edit(value, call, &[Replacement::of(value)], disk),
            Self::MultiEdit => {
                let edits = value.get("edits").and_then(Value::as_array);
                let edits: Vec<_> = edits.into_iter().flatten().map(Replacement::of).collect();
                text.edit(value, call, &edits, disk);
            }
            Self::Write | Self::WriteFile => text.write(value, call, disk),
            _ => text.arguments(value),
        }
        text.written()
    }
}

impl Arguments {
    /// Describes the arguments of any tool for the person who is asked about its call.
    #[must_use]
    pub fn summary(&self, secrets: &Secrets) -> String {
        let mut text = Text::new(secrets);
        text.arguments(self.value());
        text.written()
    }
}

/// A summary under construction.
struct Text<'a> {
    secrets: &'a Secrets,
    lines: Vec<String>,
}

impl<'a> Text<'a> {
    const fn new(secrets: &'a Secrets) -> Self {
        Self {
            secrets,
            lines: Vec::new(),
        }
    }

    /// Adds a text line by line, each after `mark`; its secrets are masked first.
    fn add(&mut self, mark: &str, text: &str) {
        let masked = self.secrets.masked(text);
        for line in masked.lines() {
            self.lines
                .push(format!("{mark}{}", one_line(line, LINE_CHARS_MAX)));
        }
    }

    fn arguments(&mut self, value: &Value) {
        let Value::Object(fields) = value else {
            return self.add("", &canonical_text(value));
        };
        for (name, value) in fields {
            let name = one_line(name, 80);
            let text = value
                .as_str()
                .map_or_else(|| canonical_text(value), str::to_owned);
            // The name shows that it is a secret, so they are examined together.
            let masked = self.secrets.masked_value(&name, &text);
            let shown: Vec<String> = masked
                .lines()
                .map(|line| one_line(line, LINE_CHARS_MAX))
                .collect();
            match shown.as_slice() {
                [line] => self.lines.push(format!("{name}: {line}")),
                lines => {
                    self.lines.push(format!("{name}:"));
                    self.lines
                        .extend(lines.iter().map(|line| format!("  {line}")));
                }
            }
        }
    }

    fn line_of_shell(&mut self, value: &Value, call: &ToolCall) {
        self.add("", input::text(value, "command"));
        for name in ["cwd", "env"] {
            if let Some(value) = value.get(name) {
                let text = value
                    .as_str()
                    .map_or_else(|| canonical_text(value), str::to_owned);
                self.add(&format!("{name}: "), &text);
            }
        }
        if let Some(facts) = &call.facts.shell {
            self.shell_facts(facts);
        }
        if let Some(thing) = &call.facts.protected {
            self.add("touches: ", thing);
        }
    }

    fn shell_facts(&mut self, facts: &ShellFacts) {
        if let Some(why) = &facts.unreadable {
            self.add("what it runs is not known: ", why);
        }
        let runs = facts.commands.iter().map(|command| {
            let name = command.words.first().and_then(|word| word.literal());
            let name = name.unwrap_or("?");
            match &command.opaque {
                Some(_) => format!("{name} (which may do anything)"),
                None => name.to_owned(),
            }
        });
        self.list("runs", runs);
        self.list("reads", facts.reads.iter().map(path));
        self.list("writes", facts.writes.iter().map(path));
        self.list("removes", facts.removes.iter().map(path));
        let reaches = facts.network.iter().map(|reach| {
            let does = match reach.direction {
                NetworkDirection::Local => "asks",
                NetworkDirection::Get => "fetches from",
                NetworkDirection::Send => "sends to",
                NetworkDirection::Listen => "listens on",
            };
            format!("{does} {}", reach.host.as_deref().unwrap_or("some host"))
        });
        self.list("network", reaches);
        let set = facts.env.set.iter().filter(|set| set.changes_programs);
        self.list(
            "changes what programs do by",
            set.map(|set| set.name.clone()),
        );
    }

    fn list(&mut self, what: &str, things: impl Iterator<Item = String>) {
        let mut once: Vec<String> = Vec::new();
        for thing in things {
            if !once.contains(&thing) {
                once.push(thing);
            }
        }
        if !once.is_empty() {
            self.add(&format!("{what}: "), &once.join(", ").replace('\n', " "));
        }
    }

    fn edit(&mut self, value: &Value, call: &ToolCall, edits: &[Replacement<'_>], disk: &dyn Disk) {
        self.file(input::text(value, "file_path"), call);
        let old = old_text(call, disk);
        let made = old.as_ref().and_then(|old| {
            edits.iter().try_fold(old.clone(), |text, edit| {
                edit.make(&text).ok().map(|(after, _)| after)
            })
        });
        if let (Some(old), Some(new)) = (old, made) {
            return self.difference(&old, &new);
        }
        // It cannot be computed, or the file cannot be read: show the texts themselves.
        for edit in edits {
            if edit.all {
                self.lines.push("every place:".to_owned());
            }
            self.add("-", edit.old);
            self.add("+", edit.new);
        }
    }

    fn write(&mut self, value: &Value, call: &ToolCall, disk: &dyn Disk) {
        let path = input::optional(value, "file_path");
        self.file(path.unwrap_or_else(|| input::text(value, "path")), call);
        let new = input::text(value, "content");
        match old_text(call, disk) {
            Some(old) => self.difference(&old, new),
            None => self.add("+", new),
        }
    }

    /// Names the file, and its real path if that differs.
    fn file(&mut self, path: &str, call: &ToolCall) {
        self.add("", path);
        for write in &call.facts.writes {
            let real = write.path.as_deref().unwrap_or_default();
            let is_named = write.relative.as_deref() == Some(path) || real == path;
            if !is_named {
                self.add("leads to: ", real);
            }
        }
    }

    fn difference(&mut self, old: &str, new: &str) {
        let (old, new) = (self.secrets.masked(old), self.secrets.masked(new));
        let difference = TextDiff::configure()
            .algorithm(Algorithm::Myers)
            .timeout(COMPARED_FOR)
            .diff_lines(old.as_ref(), new.as_ref());
        let unified = difference.unified_diff().context_radius(1).to_string();
        if unified.is_empty() {
            self.lines
                .push("(nothing that is shown would change)".to_owned());
        }
        for line in unified.lines() {
            self.lines.push(one_line(line, LINE_CHARS_MAX));
        }
    }

    /// Joins the lines, as many as fit.
    fn written(self) -> String {
        let mut text = String::new();
        for (index, line) in self.lines.iter().enumerate() {
            if text.len() + line.len() + 1 + REST_BYTES > BYTES_MAX {
                let left = self.lines.len() - index;
                text.push_str(&format!("\n({left} more lines)"));
                break;
            }
            if index > 0 {
                text.push('\n');
            }
            text.push_str(line);
        }
        text
    }
}

fn path(used: &PathUse) -> String {
    match &used.path {
        PathText::Whole(path) => path.clone(),
        PathText::Below(path) => format!("something below {path}"),
        PathText::Unknown => "something unknown".to_owned(),
    }
}

/// Returns the contents of the file that a call writes; empty if there is none, `None` if it cannot be read.
fn old_text(call: &ToolCall, disk: &dyn Disk) -> Option<String> {
    let [write] = call.facts.writes.as_slice() else {
        return None;
    };
    // Files elsewhere are not shown to a model that asks to write them.
    write.relative.as_ref()?;
    match disk.read(write.path.as_deref()?, COMPARED_BYTES_MAX) {
        Ok(None) => Some(String::new()),
        Ok(Some(bytes)) => String::from_utf8(bytes).ok(),
        Err(_) => None,
    }
}
