//! Rendering: each block in a call that knows its source.

use std::sync::{Arc, Mutex, PoisonError};

use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior, escape_formatter,
    value::{Kwargs, Value as Inner, ValueKind},
};
use serde_json::Value;

use super::{
    BYTES_MAX, Failure, MalformedBlock, Missing, Rendered, STEPS_MAX, UnrenderedBlock, Values,
    scan::{Kind, Piece, hidden_name, pieces},
    value::{give, take},
};

/// Templates within templates that are followed: loops, calls of macros.
const DEPTH_MAX: usize = 200;
/// Bytes printed on the way, blocks within blocks counted each time.
const PRINTED_MAX: usize = 8 * BYTES_MAX;

/// A template in which each block is guarded.
pub(super) struct Prepared {
    source: String,
    /// What each guarded block is written as.
    written: Vec<String>,
    pub(super) faults: Vec<MalformedBlock>,
    /// Whether its statements cannot be read, so that nothing of it is rendered.
    is_broken: bool,
}

impl Prepared {
    pub(super) fn new(source: &str) -> Self {
        let pieces = pieces(source);
        let mut preparation = Preparation {
            source,
            environment: environment(),
            out: String::new(),
            written: Vec::new(),
            faults: Vec::new(),
        };
        let ends = ends(&pieces);
        preparation.add(&pieces, &ends);
        let Preparation {
            out,
            written,
            mut faults,
            environment,
            ..
        } = preparation;
        let error = environment.template_from_str(&out).err();
        let is_broken = error.is_some();
        if let Some(error) = error {
            // Where the guards make no difference, the place is that in the template as written.
            let error = environment.template_from_str(source).err().unwrap_or(error);
            let at = error
                .range()
                .map_or(0, |range| range.start.min(source.len()));
            let statement = pieces
                .iter()
                .filter(|piece| matches!(piece.kind, Kind::Statement(_)))
                .rfind(|piece| piece.whole.start <= at)
                .or_else(|| {
                    pieces
                        .iter()
                        .find(|piece| matches!(piece.kind, Kind::Statement(_)))
                });
            let whole = statement.map_or(0..source.len(), |piece| piece.whole.clone());
            faults.push(MalformedBlock {
                at: whole.start,
                length: whole.len(),
                reason: reason(&error),
            });
        }
        Self {
            source: out,
            written,
            faults,
            is_broken,
        }
    }
}

struct Preparation<'s> {
    source: &'s str,
    environment: Environment<'static>,
    out: String,
    written: Vec<String>,
    faults: Vec<MalformedBlock>,
}

impl Preparation<'_> {
    /// Adds pieces; `ends` says where each loop or choice among them ends.
    fn add(&mut self, pieces: &[Piece], ends: &[Option<usize>]) {
        // The places behind which a guard of a loop or choice is closed, innermost last.
        let mut closing: Vec<usize> = Vec::new();
        for (number, piece) in pieces.iter().enumerate() {
            let text = self.source.get(piece.whole.clone()).unwrap_or_default();
            match &piece.kind {
                Kind::Plain => self.out.push_str(text),
                Kind::Open => self.fault(piece, "it is not closed".to_owned()),
                Kind::Print => self.print(piece),
                Kind::Statement(word) => {
                    if let Some(name) = self.hidden(piece) {
                        self.fault(piece, format!("`{name}` begins with `_`"));
                        continue;
                    }
                    let last = ends.get(number).copied().flatten();
                    if let (true, Some(last)) = (matches!(word.as_str(), "for" | "if"), last) {
                        let all = pieces
                            .get(last)
                            .map_or(piece.whole.end, |end| end.whole.end);
                        let all = piece.whole.start..all;
                        self.open(all, piece.trims.0);
                        closing.push(last);
                    }
                    self.out.push_str(text);
                }
            }
            while closing.last() == Some(&number) {
                closing.pop();
                let trims = if piece.trims.1 { "-" } else { "" };
                self.out.push_str(&format!("{{% endcall {trims}%}}"));
            }
        }
    }

    fn hidden(&self, piece: &Piece) -> Option<String> {
        let inner = self.source.get(piece.inner.clone())?;
        hidden_name(inner).map(str::to_owned)
    }

    fn open(&mut self, whole: std::ops::Range<usize>, trims: bool) {
        let number = self.written.len();
        let text = self.source.get(whole).unwrap_or_default();
        self.written.push(text.to_owned());
        let trims = if trims { "-" } else { "" };
        self.out
            .push_str(&format!("{{%{trims} call _guarded({number}) %}}"));
    }

    fn print(&mut self, piece: &Piece) {
        let inner = self.source.get(piece.inner.clone()).unwrap_or_default();
        if let Some(name) = hidden_name(inner) {
            let reason = format!("`{name}` begins with `_`");
            return self.fault(piece, reason);
        }
        if let Err(error) = self.environment.compile_expression(inner) {
            return self.fault(piece, reason(&error));
        }
        self.open(piece.whole.clone(), piece.trims.0);
        let trims = if piece.trims.1 { "-" } else { "" };
        self.out
            .push_str(&format!("{{{{{inner}}}}}{{% endcall {trims}%}}"));
    }

    /// Keeps a block that cannot be read as it is written.
    fn fault(&mut self, piece: &Piece, reason: String) {
        let text = self.source.get(piece.whole.clone()).unwrap_or_default();
        self.faults.push(MalformedBlock {
            at: piece.whole.start,
            length: piece.whole.len(),
            reason,
        });
        let number = self.written.len();
        self.written.push(text.to_owned());
        self.out.push_str(&format!("{{{{ _written({number}) }}}}"));
    }
}

/// Returns where each loop and choice ends, unless it sets something that is needed after it.
fn ends(pieces: &[Piece]) -> Vec<Option<usize>> {
    let mut ends = vec![None; pieces.len()];
    let mut open: Vec<(usize, bool)> = Vec::new();
    for (number, piece) in pieces.iter().enumerate() {
        let Kind::Statement(word) = &piece.kind else {
            continue;
        };
        match word.as_str() {
            "for" | "if" => open.push((number, false)),
            "set" | "macro" | "break" | "continue" => {
                for (_, sets) in &mut open {
                    *sets = true;
                }
            }
            "endfor" | "endif" => {
                if let Some((start, false)) = open.pop()
                    && let Some(end) = ends.get_mut(start)
                {
                    *end = Some(number);
                }
            }
            _ => {}
        }
    }
    ends
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    // Otherwise errors would say something else in a build with debug assertions.
    environment.set_debug(false);
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(STEPS_MAX));
    environment.set_recursion_limit(DEPTH_MAX);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    super::filters::add(&mut environment);
    // With it a loop could make a value longer and longer.
    environment.remove_global("namespace");
    environment.remove_global("debug");
    environment
}

/// What happens while a template is rendered.
#[derive(Debug, Default)]
struct Watch {
    left: Vec<UnrenderedBlock>,
    /// Whether a block has failed that may not.
    failed: bool,
    printed: usize,
}

type Watched = Arc<Mutex<Watch>>;

fn with<T>(watched: &Watched, see: impl FnOnce(&mut Watch) -> T) -> T {
    see(&mut watched.lock().unwrap_or_else(PoisonError::into_inner))
}

fn guarded_environment(
    written: Vec<String>,
    missing: Missing,
    watched: &Watched,
) -> Environment<'static> {
    let mut environment = environment();
    let written = Arc::new(written);
    let watch = watched.clone();
    environment.set_formatter(move |out, state, value| print(&watch, out, state, value));
    let texts = written.clone();
    environment.add_function("_written", move |number: usize| {
        texts.get(number).cloned().unwrap_or_default()
    });
    let watch = watched.clone();
    let guarded = move |state: &mut State, number: usize, named: Kwargs| -> Result<Inner, Error> {
        let block: Inner = named.get("caller")?;
        let error = match block.call(state, &[]) {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        if is_final(&error) {
            return Err(error);
        }
        let block = written.get(number).cloned().unwrap_or_default();
        if missing == Missing::Fails {
            // Of blocks within each other, the innermost says why.
            if with(&watch, |watch| std::mem::replace(&mut watch.failed, true)) {
                return Err(error);
            }
            let shown: String = block.chars().take(80).collect();
            let why = format!("`{shown}`: {}", reason(&error));
            return Err(Error::new(error.kind(), why));
        }
        let left = UnrenderedBlock {
            block: block.clone(),
            reason: reason(&error),
        };
        with(&watch, |watch| {
            if !watch.left.contains(&left) {
                watch.left.push(left);
            }
        });
        Ok(Inner::from(block))
    };
    environment.add_function("_guarded", guarded);
    environment
}

/// Returns whether an error ends the whole template.
fn is_final(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::OutOfFuel | ErrorKind::WriteFailure)
}

/// Prints a value: text as it is, lists and maps as JSON, anything else as Jinja does.
fn print(
    watched: &Watched,
    out: &mut Output,
    state: &mut State,
    value: &Inner,
) -> Result<(), Error> {
    let text = match value.kind() {
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => give(value)?.to_string(),
        ValueKind::String => value.as_str().unwrap_or_default().to_owned(),
        ValueKind::None => "None".to_owned(),
        ValueKind::Undefined => {
            return Err(Error::new(ErrorKind::UndefinedError, "it has no value"));
        }
        _ => return escape_formatter(out, state, value),
    };
    let printed = with(watched, |watch| {
        watch.printed = watch.printed.saturating_add(text.len());
        watch.printed
    });
    if printed > PRINTED_MAX {
        return Err(Error::new(ErrorKind::WriteFailure, "it prints too much"));
    }
    out.write_str(&text).map_err(Error::from)
}

fn names_of(values: Values<'_>) -> Inner {
    let beside = values
        .beside
        .iter()
        .filter(|(key, _)| !values.context.contains_key(*key));
    let all = values.context.iter().chain(beside);
    Inner::from_pairs(all.map(|(key, value)| (key.as_str(), take(value))))
}

pub(super) fn text(
    source: &str,
    values: Values<'_>,
    missing: Missing,
) -> Result<Rendered<String>, Failure> {
    let prepared = Prepared::new(source);
    if let (Missing::Fails, Some(fault)) = (missing, prepared.faults.first()) {
        return Err(failure(&fault.reason));
    }
    let mut left: Vec<UnrenderedBlock> = prepared
        .faults
        .iter()
        .map(|fault| UnrenderedBlock {
            block: source
                .get(fault.at..fault.at + fault.length)
                .unwrap_or_default()
                .to_owned(),
            reason: fault.reason.clone(),
        })
        .collect();
    let as_written = || source.strip_suffix('\n').unwrap_or(source).to_owned();
    if prepared.is_broken {
        return Ok(Rendered {
            result: as_written(),
            left,
        });
    }
    let watched = Watched::default();
    let environment = guarded_environment(prepared.written, missing, &watched);
    let rendered = environment
        .template_from_str(&prepared.source)
        .and_then(|template| template.render(names_of(values)));
    left.append(&mut with(&watched, |watch| std::mem::take(&mut watch.left)));
    match rendered {
        Ok(text) if text.len() > BYTES_MAX => Err(failure("it grows over 10 MiB")),
        Ok(result) => Ok(Rendered { result, left }),
        Err(error) if missing == Missing::Fails || is_final(&error) => {
            Err(failure(&reason(&error)))
        }
        // What stands in no block that could stay alone: all of it stays.
        Err(error) => {
            left.push(UnrenderedBlock {
                block: as_written(),
                reason: reason(&error),
            });
            Ok(Rendered {
                result: as_written(),
                left,
            })
        }
    }
}

pub(super) fn value(
    source: &str,
    values: Values<'_>,
    missing: Missing,
) -> Result<Rendered<Value>, Failure> {
    let found = pieces(source.trim());
    let ([piece], true) = (found.as_slice(), source.trim().starts_with("{{")) else {
        return text(source, values, missing).map(in_json);
    };
    let inner = source.trim().get(piece.inner.clone()).unwrap_or_default();
    if piece.kind != Kind::Print || hidden_name(inner).is_some() {
        return text(source, values, missing).map(in_json);
    }
    let environment = environment();
    let found = environment
        .compile_expression(inner)
        .and_then(|expression| expression.eval(names_of(values)))
        .and_then(|value| give(&value));
    match found {
        Ok(result) => Ok(Rendered {
            result,
            left: Vec::new(),
        }),
        Err(error) if missing == Missing::Fails || is_final(&error) => {
            Err(failure(&reason(&error)))
        }
        Err(error) => Ok(Rendered {
            result: Value::String(source.to_owned()),
            left: vec![UnrenderedBlock {
                block: source.to_owned(),
                reason: reason(&error),
            }],
        }),
    }
}

fn in_json(rendered: Rendered<String>) -> Rendered<Value> {
    Rendered {
        result: Value::String(rendered.result),
        left: rendered.left,
    }
}

pub(super) fn names(source: &str) -> Vec<String> {
    let environment = environment();
    let mut names: Vec<String> = match environment.template_from_str(source) {
        Ok(template) => {
            let names = template.undeclared_variables(false);
            let global = |name: &String| environment.globals().any(|(known, _)| known == name);
            names.into_iter().filter(|name| !global(name)).collect()
        }
        Err(_) => Vec::new(),
    };
    names.sort();
    names
}

fn failure(reason: &str) -> Failure {
    Failure {
        reason: reason.to_owned(),
    }
}

/// Says in one clause what an error is, without the places of the guarded text.
fn reason(error: &Error) -> String {
    match (error.kind(), error.detail()) {
        (ErrorKind::OutOfFuel, _) => format!("it takes more than {STEPS_MAX} steps"),
        (ErrorKind::UndefinedError, None) => "it has no value".to_owned(),
        (_, Some(detail)) => detail.to_owned(),
        (kind, None) => kind.to_string(),
    }
}
