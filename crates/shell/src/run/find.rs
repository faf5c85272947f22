//! `find` and `fd`: what they run, write and remove.

use interlock_core::facts::CommandClass;

use super::wrappers::put_in;
use crate::options;
use crate::paths;
use crate::tables::own::{FD, FIND_PLAIN, FIND_VALUED};
use crate::value::{Arg, Dynamic};
use crate::walk::{CommandPosition, Input, Proof, Step, Walker};

impl Walker<'_> {
    pub(super) fn find(&mut self, index: usize, operands: &[Arg], place: &CommandPosition) -> Step {
        let mut rest = operands.iter().peekable();
        let mut roots = Vec::new();
        while let Some(word) = rest.peek() {
            match word.literal() {
                Some("-H" | "-L" | "-P") => {}
                Some(text) if text.starts_with(['-', '(', '!']) => break,
                Some(_) => roots.push((*word).clone()),
                None if word.may_be_option() => {
                    self.uncertain(index, word);
                    roots.push((*word).clone());
                }
                None => roots.push((*word).clone()),
            }
            rest.next();
        }
        let directory = self.directory();
        // It examines only names; the programs that it starts see the contents of files.
        let goes_on = operands
            .iter()
            .any(|word| word.start().starts_with("-exec"));
        for root in &roots {
            let recursive = goes_on || !root.is("/");
            self.facts
                .read(root, directory.as_deref(), "find", recursive);
        }
        if roots.is_empty() {
            self.facts
                .read(&Arg::text("."), directory.as_deref(), "find", true);
        }
        let mut tests = 0_usize;
        while let Some(word) = rest.next() {
            let Some(text) = word.literal() else {
                self.uncertain(index, word);
                continue;
            };
            match text {
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let mut gathers = false;
                    let inner: Vec<Arg> = rest
                        .by_ref()
                        .take_while(|word| {
                            gathers = word.is("+");
                            !word.is(";") && !gathers
                        })
                        .cloned()
                        .collect();
                    self.find_exec((text, gathers), &inner, &roots, place)?;
                }
                "-delete" => self.find_delete(&roots, tests > 0),
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    if let Some(path) = rest.next() {
                        self.facts.write(path, directory.as_deref(), "find");
                    }
                    if text == "-fprintf" {
                        rest.next();
                    }
                }
                "(" | ")" | "!" | "," => {}
                _ if FIND_PLAIN.contains(&text) => {}
                _ if FIND_VALUED.contains(&text) => {
                    let value = rest.next();
                    if !matches!(text, "-maxdepth" | "-mindepth" | "-regextype" | "-printf") {
                        tests += 1;
                    }
                    if matches!(value, Some(Arg::Dynamic(dynamic)) if !dynamic.is_single && !dynamic.is_number)
                    {
                        self.uncertain(index, value.unwrap_or(word));
                    }
                }
                "-files0-from" => self.facts.opaque(index, "it takes its places from a file"),
                _ => self
                    .facts
                    .opaque(index, &format!("`find {text}` is not known to be harmless")),
            }
        }
        Ok(())
    }

    /// Handles what `-exec` starts, which may receive many names at once.
    fn find_exec(
        &mut self,
        (option, gathers): (&str, bool),
        inner: &[Arg],
        roots: &[Arg],
        place: &CommandPosition,
    ) -> Step {
        let start = match roots {
            _ if option.ends_with("dir") => "./".to_owned(),
            [] => "./".to_owned(),
            [Arg::Literal(root)] => format!("{}/", root.trim_end_matches('/')),
            [root] => root.start().to_owned(),
            _ => String::new(),
        };
        // Literal roots do not begin with `-`, and so no name below them does.
        let written = roots.iter().all(|root| match root {
            Arg::Literal(_) => true,
            Arg::Dynamic(dynamic) => {
                dynamic.is_single && !dynamic.start.is_empty() && !dynamic.start.starts_with('-')
            }
        });
        let words: Vec<Arg> = inner
            .iter()
            .map(|word| match put_in(word, "{}", &start) {
                Arg::Dynamic(dynamic) if word.is("{}") => Arg::Dynamic(Dynamic {
                    is_never_option: written || option.ends_with("dir"),
                    is_single: !gathers,
                    ..dynamic
                }),
                put => put,
            })
            .collect();
        let mut inner = place.clone();
        inner.via.push("find".to_owned());
        inner.proof = Proof::NONE;
        inner.input = Input::Other;
        inner.from_pipe = false;
        self.subshell(|walker| {
            if option.ends_with("dir") {
                walker.state.enter(None);
            }
            walker.run(words, &[], &inner)
        })
    }

    fn find_delete(&mut self, roots: &[Arg], has_tests: bool) {
        let directory = self.directory();
        let here = Arg::text(".");
        let roots = if roots.is_empty() {
            std::slice::from_ref(&here)
        } else {
            roots
        };
        for root in roots {
            if has_tests {
                let path = paths::inside(paths::resolve(root, directory.as_deref()));
                self.facts.remove_path(path, "find", false);
            } else {
                self.facts.remove(root, directory.as_deref(), "find", true);
            }
        }
    }

    pub(super) fn fd(&mut self, index: usize, operands: &[Arg], place: &CommandPosition) -> Step {
        let at = operands.iter().position(|word| {
            matches!(
                word.literal(),
                Some("-x" | "-X" | "--exec" | "--exec-batch")
            ) || word.start().starts_with("--exec")
        });
        let (own, inner) = operands
            .split_at_checked(at.unwrap_or(operands.len()))
            .unwrap_or_default();
        let clustered = own.iter().any(|word| {
            let text = word.start();
            text.starts_with('-')
                && !text.starts_with("--")
                && text.contains(['x', 'X'])
                && !text.starts_with("-E")
        });
        let sorted = options::sort(own, &FD);
        self.check_sorted(index, &sorted);
        let directory = self.directory();
        for root in sorted.operands.iter().skip(1) {
            self.facts.read(root, directory.as_deref(), "fd", true);
        }
        if clustered {
            return Err("`fd -x` joined with other options; write it apart".to_owned());
        }
        let Some((first, words)) = inner.split_first() else {
            return Ok(());
        };
        if first.start().contains('=') {
            return Err("`fd --exec=`; write the command as words".to_owned());
        }
        let gathers = !first.is("-x") && !first.is("--exec");
        let marks = ["{}", "{/}", "{//}", "{.}", "{/.}"];
        let has_mark = words
            .iter()
            .any(|word| marks.iter().any(|mark| word.shown().contains(mark)));
        let mut words: Vec<Arg> = words
            .iter()
            .map(|word| {
                if word.shown().contains('{') {
                    match put_in(word, "{", "") {
                        Arg::Dynamic(dynamic) => Arg::Dynamic(Dynamic {
                            is_single: !gathers,
                            ..dynamic
                        }),
                        put => put,
                    }
                } else {
                    word.clone()
                }
            })
            .collect();
        if !has_mark {
            words.push(Arg::unknown("{}"));
        }
        let mut inner = place.clone();
        inner.via.push("fd".to_owned());
        inner.proof = Proof::NONE;
        inner.input = Input::Other;
        inner.from_pipe = false;
        self.reclass(index, CommandClass::Reader);
        self.subshell(|walker| walker.run(words, &[], &inner))
    }
}
