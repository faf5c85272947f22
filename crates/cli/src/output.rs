//! Printing: results to standard output, errors to standard error.
//!
//! A closed pipe ends the program quietly, as for every filter.
//!
//! INVARIANT: whatever is printed may contain text from others, so only Interlock's own colours and line breaks control the
//! terminal; only a document that goes to a file is written unchanged.

use std::{
    hash::{BuildHasher as _, RandomState},
    io::{self, IsTerminal as _},
    sync::OnceLock,
};

use interlock_core::visible::{visible_json, visible_lines};
use serde::Serialize;

use crate::{args::Colour, failure::Done};

/// Where and how to print.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    colour: Colour,
}

/// How a piece of text is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Style {
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
}

impl Style {
    const fn code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
        }
    }
}

impl Output {
    pub(crate) const fn new(colour: Colour) -> Self {
        Self { colour }
    }

    /// Returns whether standard output shows colours.
    pub(crate) fn colours(self) -> bool {
        self.decide(io::stdout().is_terminal())
    }

    /// Returns whether standard error shows colours.
    pub(crate) fn colours_errors(self) -> bool {
        self.decide(io::stderr().is_terminal())
    }

    fn decide(self, terminal: bool) -> bool {
        match self.colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => {
                let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
                terminal && !refused && !dumb
            }
        }
    }

    /// Prints text of one or more lines.
    pub(crate) fn text(self, text: &str) -> Done {
        write(&mut io::stdout().lock(), &shown(text))
    }

    /// Prints one line; line breaks in the text are made visible, so that nothing in it looks like another line.
    pub(crate) fn line(self, text: &str) -> Done {
        let line = shown(text).replace('\n', "\\x0a");
        write(&mut io::stdout().lock(), &format!("{line}\n"))
    }

    /// Prints lines, each of which was already made safe to show.
    pub(crate) fn lines(self, text: &str) -> Done {
        self.text(&format!("{text}\n"))
    }

    /// Prints text with its own colours, in which text from others is already safe.
    pub(crate) fn painted(self, text: &str) -> Done {
        write(&mut io::stdout().lock(), text)
    }

    /// Prints a document for a file: unchanged, but as text on a terminal.
    pub(crate) fn document(self, text: &str) -> Done {
        if io::stdout().is_terminal() {
            self.text(text)
        } else {
            write(&mut io::stdout().lock(), text)
        }
    }

    /// Prints one JSON document on one line.
    pub(crate) fn json(self, value: &impl Serialize) -> Done {
        let mut line = visible_json(serde_json::to_string(value)?);
        line.push('\n');
        write(&mut io::stdout().lock(), &line)
    }

    /// Prints text to standard error; a closed pipe does not turn a failure into a success.
    pub(crate) fn error(self, text: &str) -> Done {
        self.painted_error(&shown(text))
    }

    /// Prints to standard error what [`Self::painted`] prints to standard output.
    pub(crate) fn painted_error(self, text: &str) -> Done {
        let mut to = io::stderr().lock();
        match io::Write::write_all(&mut to, text.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => Ok(other?),
        }
    }

    /// Prints a remark to standard error, whether or not anybody reads it.
    pub(crate) fn remark(self, text: &str) {
        let mut to = io::stderr().lock();
        let _ = io::Write::write_all(&mut to, shown(text).as_bytes());
    }

    /// Styles text for standard output.
    pub(crate) fn styled(self, style: Style, text: &str) -> String {
        if self.colours() {
            let key = key();
            format!("\u{1b}{key}{}m{text}\u{1b}{key}0m", style.code())
        } else {
            text.to_owned()
        }
    }
}

/// Returns the marker of this process's colours, which text from others cannot contain.
fn key() -> &'static str {
    static KEY: OnceLock<String> = OnceLock::new();
    KEY.get_or_init(|| format!("{:016x}:", RandomState::new().hash_one(std::process::id())))
}

/// Makes text safe for a terminal: own colours stay, all other control characters are made visible.
fn shown(text: &str) -> String {
    let mark = format!("\u{1b}{}", key());
    let mut parts = text.split(&mark);
    let mut shown = visible_lines(parts.next().unwrap_or_default());
    for part in parts {
        shown.push_str("\u{1b}[");
        shown.push_str(&visible_lines(part));
    }
    shown
}

fn write(to: &mut impl io::Write, text: &str) -> Done {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::{Output, Style, shown};
    use crate::args::Colour;

    #[test]
    fn only_our_own_colours_pass() {
        let ours = Output::new(Colour::Always).styled(Style::Red, "a\u{1b}[31mb\u{202e}");
        assert_eq!(
            shown(&format!("{ours}\u{1b}[8mc\n")),
            "\u{1b}[31ma\\x1b[31mb\\u{202e}\u{1b}[0m\\x1b[8mc\n"
        );
    }
}
