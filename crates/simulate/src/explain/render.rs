//! Formats an explanation for people.

use std::fmt::Write as _;

use interlock_core::{
    facts::{CommandClass, NetworkDirection},
    policy::Stance,
    refusal::Code,
    visible::{push_visible, visible, visible_lines},
};

use super::{Detail, Explanation};
use crate::output::Verdict;

/// Maximum number of paths shown of one kind; the rest is counted.
const PATHS_MAX: usize = 12;

/// Style of a text on a terminal.
#[derive(Debug, Clone, Copy)]
enum Ink {
    Good,
    Bad,
    Doubtful,
    Strong,
    Faint,
}

impl Ink {
    const fn code(self) -> &'static str {
        match self {
            Self::Good => "32;1",
            Self::Bad => "31;1",
            Self::Doubtful => "33",
            Self::Strong => "1",
            Self::Faint => "2",
        }
    }
}

/// The text under construction.
struct Page {
    text: String,
    colour: bool,
}

impl Explanation {
    /// Formats the verdict, the deciding rule, and the facts, for people.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let mut page = Page {
            text: String::new(),
            colour,
        };
        page.verdict(self);
        page.commands(self);
        page.facts(self);
        page.text.trim_end().to_owned()
    }
}

impl Page {
    /// Formats text, with its colour if colours are wanted.
    fn inked(&self, ink: Ink, text: &str) -> String {
        let text = visible(text);
        if self.colour {
            format!("\u{1b}[{}m{text}\u{1b}[0m", ink.code())
        } else {
            text
        }
    }

    /// Adds a line; control characters in `text` are already visible.
    fn line(&mut self, label: &str, text: &str) {
        let label = self.inked(Ink::Faint, &format!("{label:<9}"));
        self.text.push_str("  ");
        self.text.push_str(&label);
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn verdict(&mut self, told: &Explanation) {
        let (ink, word) = match told.verdict {
            Verdict::Allow => (Ink::Good, "allow"),
            Verdict::Deny => (Ink::Bad, "deny"),
            Verdict::Ask => (Ink::Doubtful, "ask"),
        };
        let word = self.inked(ink, word);
        let code = told
            .code
            .map_or_else(String::new, |code| format!(" ({code})"));
        let _ = writeln!(self.text, "{word}{code}: {}", visible_lines(&told.message));
        let stance = match told.stance {
            _ if told.code == Some(Code::ToolNotAllowed) => ", which has no shell",
            Some(Stance::Free) => ", which restricts nothing",
            Some(Stance::NoWrite) => ", which lets no tool write",
            Some(Stance::Writing) => ", which lets tools write",
            None => "",
        };
        self.line("state", &format!("`{}`{stance}", visible(&told.state)));
        match &told.rule {
            Some(rule) => self.line(
                "rule",
                &visible(&format!("{}, {}", rule.number, rule.about)),
            ),
            None if told.verdict == Verdict::Allow => self.line("rule", "none objects"),
            None => {}
        }
        if let Some(instead) = &told.instead {
            let instead = self.inked(Ink::Strong, instead);
            self.line("instead", &instead);
        }
        if let Some(why) = &told.unreadable {
            let why = self.inked(Ink::Doubtful, why);
            self.line("unread", &why);
        }
    }

    fn commands(&mut self, told: &Explanation) {
        for (at, words) in told.commands.iter().enumerate() {
            let shown = self.inked(Ink::Strong, &one_line(&words.join(" ")));
            let about = told.details.get(at).map_or_else(String::new, about);
            let about = self.inked(Ink::Faint, &about);
            self.line("runs", &format!("{shown}  {about}"));
            let Some(detail) = told.details.get(at) else {
                continue;
            };
            if let Some(why) = &detail.opaque {
                let why = self.inked(Ink::Doubtful, &format!("not known: {why}"));
                self.line("", &format!("  {why}"));
            }
            if detail.contained
                && told.verdict == Verdict::Allow
                && told.stance == Some(Stance::NoWrite)
            {
                self.line(
                    "",
                    "  confined by the kernel: it can write nothing and has no network access",
                );
            }
        }
    }

    fn facts(&mut self, told: &Explanation) {
        self.paths("reads", &told.reads);
        let written: Vec<String> = told
            .writes
            .iter()
            .filter(|path| !told.removes.contains(path))
            .cloned()
            .collect();
        self.paths("writes", &written);
        self.paths("removes", &told.removes);
        for reach in &told.network {
            let what = match reach.direction {
                NetworkDirection::Local => "asks a daemon",
                NetworkDirection::Get => "fetches",
                NetworkDirection::Send => "sends",
                NetworkDirection::Listen => "listens",
            };
            let host = reach.host.as_deref().unwrap_or("a host not written out");
            self.line(
                "network",
                &format!("{what}, {}, by {}", visible(host), one_line(&reach.by)),
            );
        }
        if !told.env.used.is_empty() {
            self.line("uses", &visible(&told.env.used.join(", ")));
        }
        for name in &told.env.set {
            let changes = told.env.changes_programs.contains(name);
            let note = if changes {
                ", which changes what programs do"
            } else {
                ""
            };
            self.line("sets", &format!("{}{note}", visible(name)));
        }
        if told.env.dump {
            self.line("shows", "the whole environment");
        }
        for ask in &told.asks {
            self.line("asks", &visible(ask));
        }
    }

    fn paths(&mut self, label: &str, paths: &[String]) {
        for path in paths.iter().take(PATHS_MAX) {
            self.line(label, &one_line(path));
        }
        if let Some(more) = paths.len().checked_sub(PATHS_MAX).filter(|more| *more > 0) {
            self.line(label, &format!("and {more} more"));
        }
    }
}

/// Describes a command in a few words.
fn about(detail: &Detail) -> String {
    let class = match detail.class {
        CommandClass::Nothing => "touches nothing",
        CommandClass::Reader => "reads",
        CommandClass::Writer => "writes",
        CommandClass::Remover => "removes",
        CommandClass::Interpreter => "runs code it is given",
        CommandClass::ProjectCode => "runs code of the project",
        CommandClass::VersionControl => "version control",
        CommandClass::Network => "network",
        CommandClass::System => "changes the machine",
        CommandClass::Privilege => "changes privileges",
        CommandClass::Unknown => "unknown program",
    };
    let mut parts = vec![class.to_owned()];
    if !detail.via.is_empty() {
        parts.push(format!("inside {}", detail.via.join(", ")));
    }
    if detail.from_pipe {
        parts.push("from a pipe".to_owned());
    }
    if let Some(entry) = &detail.entry {
        parts.push(format!("listed as `{entry}`"));
    }
    if let Some(directory) = &detail.directory {
        parts.push(format!("in {directory}"));
    }
    parts.join(", ")
}

/// Reduces text to one line of at most 100 characters that is safe for a terminal.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    for (at, letter) in text.chars().enumerate() {
        if at == 100 {
            line.push_str("...");
            break;
        }
        match letter {
            '\n' => line.push('\u{23ce}'),
            letter => push_visible(&mut line, letter),
        }
    }
    line
}
