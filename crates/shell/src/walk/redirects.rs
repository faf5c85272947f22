//! Redirections as reads, writes and network access.

use interlock_core::facts::NetworkDirection;

use super::{Input, Walker};
use crate::syntax::{Piece, Redirect, RedirectKind, Simple};
use crate::value::Arg;

impl Walker<'_> {
    /// Returns the standard input of a command.
    pub(super) fn input(&self, redirects: &[Redirect], from_pipe: bool) -> Input {
        let mut input = if from_pipe {
            Input::Pipe
        } else {
            Input::Inherited
        };
        for redirect in redirects {
            if redirect.variable.is_some() || redirect.descriptor.unwrap_or(0) != 0 {
                continue;
            }
            match &redirect.kind {
                RedirectKind::HereString(word) => {
                    input = match self.expander().scalar(&word.pieces, &word.source) {
                        Arg::Literal(text) => Input::Text(text + "\n"),
                        Arg::Dynamic(_) => Input::Other,
                    };
                }
                RedirectKind::HereDocument(document) => {
                    let pieces = document.get().map(Vec::as_slice).unwrap_or_default();
                    input = match self.expander().document(pieces) {
                        Some(text) => Input::Text(text),
                        None => Input::Other,
                    };
                }
                RedirectKind::Read(_)
                | RedirectKind::ReadWrite(_)
                | RedirectKind::Duplicate { output: false, .. } => {
                    input = Input::Other;
                }
                RedirectKind::Write { .. } | RedirectKind::Duplicate { .. } => {}
            }
        }
        input
    }

    /// Records what redirections read and write, and the contents of their words.
    ///
    /// Returns whether one of them writes to a device or to a file of the kernel.
    pub(super) fn redirects(
        &mut self,
        redirects: &[Redirect],
        simple: Option<&Simple>,
    ) -> Result<bool, String> {
        self.check_descriptors(redirects);
        let mut is_system = false;
        for redirect in redirects {
            if let Some(name) = &redirect.variable {
                self.facts.set(name, None);
                self.state.set(name, crate::state::number(name));
            }
            match &redirect.kind {
                RedirectKind::Read(word) => {
                    let target = self.expander().target(word);
                    self.read_target(&target, "<");
                    self.pieces(&word.pieces)?;
                }
                RedirectKind::Write {
                    target: word,
                    append,
                } => {
                    let target = self.expander().target(word);
                    let is_output = redirect.variable.is_none()
                        && matches!(redirect.descriptor, None | Some(1));
                    let text = simple
                        .filter(|_| is_output)
                        .and_then(|simple| self.written_text(simple));
                    is_system |= is_machine(&target);
                    self.write_target(&target, if *append { ">>" } else { ">" }, *append, text);
                    self.pieces(&word.pieces)?;
                }
                RedirectKind::ReadWrite(word) => {
                    let target = self.expander().target(word);
                    self.read_target(&target, "<>");
                    is_system |= is_machine(&target);
                    self.write_target(&target, "<>", true, None);
                    self.pieces(&word.pieces)?;
                }
                RedirectKind::Duplicate {
                    target: word,
                    output,
                } => {
                    let target = self.expander().target(word);
                    if *output && !is_descriptor(&target) {
                        is_system |= is_machine(&target);
                        self.write_target(&target, ">&", false, None);
                    }
                    self.pieces(&word.pieces)?;
                }
                RedirectKind::HereString(word) => self.pieces(&word.pieces)?,
                RedirectKind::HereDocument(document) => {
                    self.pieces(document.get().map(Vec::as_slice).unwrap_or_default())?;
                }
            }
        }
        Ok(is_system)
    }

    fn read_target(&mut self, target: &Arg, operator: &str) {
        let by = format!("{operator} {}", target.shown());
        if is_socket(target) {
            self.facts
                .network(NetworkDirection::Send, socket_host(target), &by, None);
            return;
        }
        let directory = self.directory();
        self.facts.read(target, directory.as_deref(), &by, false);
    }

    fn write_target(&mut self, target: &Arg, operator: &str, append: bool, text: Option<String>) {
        let by = format!("{operator} {}", target.shown());
        if is_socket(target) {
            self.facts
                .network(NetworkDirection::Send, socket_host(target), &by, None);
            return;
        }
        let directory = self.directory();
        // The number of writes is unknown in a body that may run again.
        let text = text.filter(|_| self.facts.repeats == 0);
        if let Some(written) = self.facts.write(target, directory.as_deref(), &by) {
            written.append = append;
            written.text = text;
        }
    }

    /// Returns the text that a command prints, if the line itself contains all of it.
    fn written_text(&self, simple: &Simple) -> Option<String> {
        let args: Vec<Arg> = simple
            .words
            .iter()
            .flat_map(|word| self.expander().word(word).args)
            .collect();
        let words: Option<Vec<&str>> = args.iter().map(Arg::literal).collect();
        match words?.as_slice() {
            ["cat"] | ["cat", "-"] => match self.input(&simple.redirects, false) {
                Input::Text(text) => Some(text),
                _ => None,
            },
            ["echo", words @ ..]
                if !words
                    .iter()
                    .any(|word| word.starts_with('-') || word.contains('\\')) =>
            {
                Some(format!("{}\n", words.join(" ")))
            }
            ["printf", format] => plain_format(format),
            ["printf", "%s", text] => Some((*text).to_owned()),
            ["printf", "%s\\n", texts @ ..] if !texts.is_empty() => {
                Some(format!("{}\n", texts.join("\n")))
            }
            _ => None,
        }
    }
}

/// Returns what `printf` prints for a format without arguments.
fn plain_format(format: &str) -> Option<String> {
    let text = format
        .replace("\\n", "\n")
        .replace("\\t", "\t")
        .replace("%%", "");
    (!text.contains(['\\', '%'])).then(|| {
        format
            .replace("\\n", "\n")
            .replace("\\t", "\t")
            .replace("%%", "%")
    })
}

/// Returns whether the target of `>&` is a descriptor and not a file.
fn is_descriptor(target: &Arg) -> bool {
    match target {
        Arg::Literal(text) => {
            let digits = text.strip_suffix('-').unwrap_or(text);
            digits.bytes().all(|byte| byte.is_ascii_digit())
        }
        Arg::Dynamic(dynamic) => dynamic.is_number,
    }
}

/// Returns the host of `/dev/tcp/HOST/PORT`, if known.
fn socket_host(target: &Arg) -> Option<&str> {
    let mut parts = target.literal()?.split('/').skip(3);
    parts.next().filter(|host| !host.is_empty())
}

/// Returns whether a target is a device or a file of the kernel, but not a sink or socket.
fn is_machine(target: &Arg) -> bool {
    let path = target.start();
    let below = ["/dev/", "/proc/", "/sys/"]
        .iter()
        .any(|place| path.starts_with(place));
    below && !is_socket(target) && !path.starts_with("/dev/fd/") && !crate::paths::is_sink(path)
}

fn is_socket(target: &Arg) -> bool {
    ["/dev/tcp/", "/dev/udp/"]
        .iter()
        .any(|place| target.start().starts_with(place))
}

impl crate::expand::Expander<'_> {
    /// Returns the text of a here-document, if all of it is known.
    pub(super) fn document(&self, pieces: &[Piece]) -> Option<String> {
        let mut all = String::new();
        for piece in pieces {
            match piece {
                Piece::Text { text, .. } => all.push_str(text),
                Piece::Param { param, .. } => all.push_str(self.known(param)?.literal()?),
                _ => return None,
            }
        }
        Some(all)
    }
}
