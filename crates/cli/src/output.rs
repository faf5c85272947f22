//! Printing: to standard output what was asked for, to standard error what went wrong.
//!
//! A reader that went away ends the program quietly, as it does every filter.

use std::io::{self, IsTerminal as _};

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

    /// Tells whether standard output shows colours.
    pub(crate) fn colours(self) -> bool {
        self.decide(io::stdout().is_terminal())
    }

    /// Tells whether standard error shows colours.
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

    /// Prints text as it is.
    pub(crate) fn text(self, text: &str) -> Done {
        write(&mut io::stdout().lock(), text)
    }

    /// Prints a line.
    pub(crate) fn line(self, text: &str) -> Done {
        self.text(&format!("{text}\n"))
    }

    /// Prints one JSON document on a line of its own.
    pub(crate) fn json(self, value: &impl Serialize) -> Done {
        self.line(&serde_json::to_string(value)?)
    }

    /// Prints text to standard error; whoever does not read it any more makes no success of a failure.
    pub(crate) fn error(self, text: &str) -> Done {
        let mut to = io::stderr().lock();
        match io::Write::write_all(&mut to, text.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => Ok(other?),
        }
    }

    /// Says something on standard error, whether or not anybody still reads it.
    pub(crate) fn remark(self, text: &str) {
        let mut to = io::stderr().lock();
        let _ = io::Write::write_all(&mut to, text.as_bytes());
    }

    /// Styles text for standard output.
    pub(crate) fn styled(self, style: Style, text: &str) -> String {
        if self.colours() {
            format!("\u{1b}[{}m{text}\u{1b}[0m", style.code())
        } else {
            text.to_owned()
        }
    }
}

fn write(to: &mut impl io::Write, text: &str) -> Done {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        other => Ok(other?),
    }
}
