//! A second parser, which may only veto.
//!
//! `brush-parser` parses the same texts. If it fails, or sees other commands or other numbers of words than the own parser, the
//! line is refused. It never adds, removes or allows a command. It is run only on text that the own parser accepted, which limits
//! its recursion.

use std::borrow::Cow;
use std::panic::catch_unwind;

use brush_parser::ast;
use brush_parser::{Parser, ParserOptions};

use crate::parse::{Body, Marks};
use crate::syntax::{
    AndOr, Arith, AssignedValue, Assignment, Command, Compound, List, Param, ParamOp, Piece,
    Redirect, RedirectKind, Simple, Subscript, TestToken, Word,
};

/// Maximum number of bytes that the second parser reads for one line.
const BYTES_MAX: usize = 512 * 1024;

/// A command that both parsers must agree on: its name without blanks, and its number of words.
type Seen = (String, usize);

/// Maximum length of a here-document's body that the second parser sees entirely.
const BODY_MAX: usize = 2 * 1024;

/// Returns why the second parser disagrees about `line`, read as `list`.
pub(crate) fn veto(line: &str, list: &List, marks: &Marks) -> Option<String> {
    let line = with_for(line, &marks.selects);
    let line = without_long_bodies(&line, &marks.bodies);
    let mut bytes = 0_usize;
    let mut texts: Vec<(&str, &List)> = vec![(&line, list)];
    while let Some((text, list)) = texts.pop() {
        bytes += text.len();
        if bytes > BYTES_MAX {
            return Some("too much text in substitutions".to_owned());
        }
        let mut ours = Ours {
            seen: Vec::new(),
            texts: &mut texts,
        };
        ours.list(list);
        let ours = ours.seen;
        match theirs(text) {
            None => return Some("a second parser does not accept it".to_owned()),
            Some(theirs) if theirs != ours => {
                return Some("two parsers see different commands".to_owned());
            }
            Some(_) => {}
        }
    }
    None
}

/// Replaces each `select`, which the second parser does not know, by `for`.
fn with_for<'a>(line: &'a str, selects: &[usize]) -> Cow<'a, str> {
    if selects.is_empty() {
        return Cow::Borrowed(line);
    }
    let mut shown = String::new();
    let mut at = 0;
    for select in selects {
        shown.push_str(line.get(at..*select).unwrap_or_default());
        shown.push_str("for   ");
        at = select + "select".len();
    }
    shown.push_str(line.get(at..).unwrap_or_default());
    Cow::Owned(shown)
}

/// Removes lines from long here-documents, which are data.
///
/// Their first lines stay, and every line that contains the delimiter, so that the second parser still checks where they begin
/// and end.
fn without_long_bodies<'a>(line: &'a str, bodies: &[Body]) -> Cow<'a, str> {
    if bodies.iter().all(|body| body.end - body.start <= BODY_MAX) {
        return Cow::Borrowed(line);
    }
    let mut kept = String::new();
    let mut at = 0;
    for body in bodies {
        kept.push_str(line.get(at..body.start).unwrap_or_default());
        let text = line.get(body.start..body.end).unwrap_or_default();
        let mut seen = 0;
        for row in text.split_inclusive('\n') {
            let mark = body.mark.as_str();
            if seen <= BODY_MAX || row.contains(mark) {
                kept.push_str(row);
            }
            seen += row.len();
        }
        at = body.end;
    }
    kept.push_str(line.get(at..).unwrap_or_default());
    Cow::Owned(kept)
}

struct Ours<'t, 'a> {
    seen: Vec<Seen>,
    texts: &'t mut Vec<(&'a str, &'a List)>,
}

impl<'a> Ours<'_, 'a> {
    fn list(&mut self, list: &'a List) {
        for AndOr { first, rest, .. } in &list.items {
            for pipeline in std::iter::once(first).chain(rest.iter().map(|(_, pipeline)| pipeline))
            {
                for command in &pipeline.commands {
                    self.command(command);
                }
            }
        }
    }

    fn command(&mut self, command: &'a Command) {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Function { body, .. } => self.command(body),
            Command::Compound(compound, redirects) => {
                self.compound(compound);
                self.redirects(redirects);
            }
        }
    }

    fn simple(&mut self, simple: &'a Simple) {
        if let Some(first) = simple.words.first() {
            // The second parser treats the `{name}` of `{name}>` as a word.
            let named = simple
                .redirects
                .iter()
                .filter(|redirect| redirect.variable.is_some())
                .count();
            let words = simple.words.len() + simple.declared.len() + named;
            match simple.words.get(1) {
                // It treats every `time` as the reserved word.
                Some(second) if first.is_bare("time") => {
                    self.seen.push((squeeze(&second.source), words - 2))
                }
                _ => self.seen.push((squeeze(&first.source), words - 1)),
            }
        }
        for assignment in simple.assignments.iter().chain(&simple.declared) {
            self.assignment(assignment);
        }
        self.words(&simple.words);
        self.redirects(&simple.redirects);
    }

    fn assignment(&mut self, assignment: &'a Assignment) {
        if let Some(index) = &assignment.subscript {
            self.arith(index);
        }
        match &assignment.value {
            AssignedValue::Scalar(word) => self.word(word),
            AssignedValue::Array(elements) => {
                elements.iter().for_each(|element| self.word(&element.word));
            }
        }
    }

    fn compound(&mut self, compound: &'a Compound) {
        match compound {
            Compound::Group(list) | Compound::Subshell(list) => self.list(list),
            Compound::For { words, body, .. } | Compound::Select { words, body, .. } => {
                self.words(words.as_deref().unwrap_or_default());
                self.list(body);
            }
            Compound::CFor { parts, body, .. } => {
                parts.iter().for_each(|part| self.arith(part));
                self.list(body);
            }
            Compound::While {
                condition, body, ..
            } => {
                self.list(condition);
                self.list(body);
            }
            Compound::If {
                branches,
                otherwise,
            } => {
                for (condition, then) in branches {
                    self.list(condition);
                    self.list(then);
                }
                otherwise.iter().for_each(|list| self.list(list));
            }
            Compound::Case { word, arms } => {
                self.word(word);
                for (patterns, list) in arms {
                    self.words(patterns);
                    self.list(list);
                }
            }
            Compound::Arithmetic(arith) => self.arith(arith),
            Compound::Test(tokens) => {
                for token in tokens {
                    if let TestToken::Word(word) = token {
                        self.word(word);
                    }
                }
            }
            Compound::Coproc { body, .. } => self.command(body),
        }
    }

    fn redirects(&mut self, redirects: &'a [Redirect]) {
        for redirect in redirects {
            match &redirect.kind {
                RedirectKind::Read(word)
                | RedirectKind::Write { target: word, .. }
                | RedirectKind::ReadWrite(word)
                | RedirectKind::Duplicate { target: word, .. }
                | RedirectKind::HereString(word) => self.word(word),
                RedirectKind::HereDocument(document) => {
                    self.pieces(document.get().map(Vec::as_slice).unwrap_or_default());
                }
            }
        }
    }

    fn words(&mut self, words: &'a [Word]) {
        words.iter().for_each(|word| self.word(word));
    }

    fn word(&mut self, word: &'a Word) {
        self.pieces(&word.pieces);
    }

    fn arith(&mut self, arith: &'a Arith) {
        self.pieces(&arith.pieces);
    }

    fn pieces(&mut self, pieces: &'a [Piece]) {
        for piece in pieces {
            match piece {
                Piece::Text { .. } => {}
                Piece::Param { param, .. } => self.param(param),
                Piece::Command { body, .. } | Piece::Process(body) => {
                    self.texts.push((&body.source, &body.list))
                }
                Piece::Arith { text } => self.arith(text),
                Piece::Locale(pieces) => self.pieces(pieces),
            }
        }
    }

    fn param(&mut self, param: &'a Param) {
        if let Some(Subscript::Index(index)) = &param.subscript {
            self.arith(index);
        }
        match &param.op {
            ParamOp::Test { word, .. } | ParamOp::Pattern(word) => self.pieces(word),
            ParamOp::Substring(parts) => parts.iter().for_each(|part| self.arith(part)),
            ParamOp::None | ParamOp::Transform(_) | ParamOp::Names => {}
        }
    }
}

/// Removes what the second parser writes differently.
fn squeeze(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_whitespace() && *c != '\\')
        .collect()
}

fn theirs(text: &str) -> Option<Vec<Seen>> {
    // Brackets of patterns are always part of a word between `[[` and `]]`.
    let program =
        parsed(text, false).or_else(|| text.contains("[[").then(|| parsed(text, true))?)?;
    let mut seen = Vec::new();
    program
        .complete_commands
        .iter()
        .for_each(|list| see_list(list, &mut seen));
    Some(seen)
}

fn parsed(text: &str, extended_globs: bool) -> Option<ast::Program> {
    // It panics if a file descriptor is larger than its integer type.
    catch_unwind(|| {
        let options = ParserOptions {
            enable_extended_globbing: extended_globs,
            ..ParserOptions::default()
        };
        Parser::new(text.as_bytes(), &options).parse_program().ok()
    })
    .ok()?
}

fn see_list(list: &ast::CompoundList, seen: &mut Vec<Seen>) {
    for ast::CompoundListItem(and_or, _) in &list.0 {
        for (_, pipeline) in and_or {
            pipeline
                .seq
                .iter()
                .for_each(|command| see_command(command, seen));
        }
    }
}

fn see_command(command: &ast::Command, seen: &mut Vec<Seen>) {
    match command {
        ast::Command::Simple(simple) => see_simple(simple, seen),
        ast::Command::Compound(compound, _) => see_compound(compound, seen),
        ast::Command::Function(function) => see_compound(&function.body.0, seen),
        ast::Command::ExtendedTest(..) => {}
    }
}

fn see_simple(simple: &ast::SimpleCommand, seen: &mut Vec<Seen>) {
    let Some(name) = &simple.word_or_name else {
        return;
    };
    let is_word = |item: &&ast::CommandPrefixOrSuffixItem| {
        !matches!(item, ast::CommandPrefixOrSuffixItem::IoRedirect(_))
    };
    let words = simple
        .suffix
        .as_ref()
        .map_or(0, |suffix| suffix.0.iter().filter(is_word).count());
    seen.push((squeeze(&name.value), words));
}

fn see_compound(compound: &ast::CompoundCommand, seen: &mut Vec<Seen>) {
    match compound {
        ast::CompoundCommand::Arithmetic(_) => {}
        ast::CompoundCommand::ArithmeticForClause(clause) => see_list(&clause.body.list, seen),
        ast::CompoundCommand::BraceGroup(group) => see_list(&group.list, seen),
        ast::CompoundCommand::Subshell(subshell) => see_list(&subshell.list, seen),
        ast::CompoundCommand::ForClause(clause) => see_list(&clause.body.list, seen),
        ast::CompoundCommand::CaseClause(clause) => {
            clause
                .cases
                .iter()
                .filter_map(|case| case.cmd.as_ref())
                .for_each(|list| see_list(list, seen));
        }
        ast::CompoundCommand::IfClause(clause) => {
            see_list(&clause.condition, seen);
            see_list(&clause.then, seen);
            for branch in clause.elses.iter().flatten() {
                branch
                    .condition
                    .iter()
                    .for_each(|list| see_list(list, seen));
                see_list(&branch.body, seen);
            }
        }
        ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
            see_list(&clause.0, seen);
            see_list(&clause.1.list, seen);
        }
        ast::CompoundCommand::Coprocess(clause) => see_command(&clause.body, seen),
    }
}
