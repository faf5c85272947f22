//! Other spellings of a line, which bash treats as equal.

mod documents;
mod layout;
mod option_words;
mod quotes;
mod redirections;
mod substitutions;
mod wrappers;

use super::commands::{Simple, lists, simples};
use super::lexer::{Kind, Part, PartKind, Token, tokens};
use documents::{marks, no_tabs, tabs};
use layout::{blanks, line_feeds, no_blanks, semicolons};
use option_words::{apart, cut_short, joined, letters_apart};
use quotes::{Quotes, quotes};
use redirections::{
    both_at_once, both_piped, both_streams, clobbers, numbered, redirects_first, redirects_last,
};
use substitutions::{backquotes, brackets};
use wrappers::wrapped;

/// A line and its tokens.
pub(crate) struct Line<'a> {
    pub(crate) text: &'a str,
    pub(crate) tokens: Vec<Token>,
}

/// A piece of the line in another spelling.
struct Edit {
    start: usize,
    end: usize,
    text: String,
}

type Edits = Vec<Edit>;

/// Rewrites all possible places of a line in one other way.
pub(crate) struct Spelling {
    pub(crate) name: &'static str,
    edits: fn(&Line<'_>, &mut Edits),
    pub(crate) changes: Changes,
}

/// The effect of a spelling on the facts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Changes {
    /// Nothing.
    Nothing,
    /// Positions, which are not recorded within backquotes.
    Places,
    /// The words of a command.
    Words,
    /// An additional transparent wrapper.
    Wrapper(&'static str),
}

const fn spelling(name: &'static str, edits: fn(&Line<'_>, &mut Edits)) -> Spelling {
    Spelling {
        name,
        edits,
        changes: Changes::Nothing,
    }
}

const fn changing(
    name: &'static str,
    changes: Changes,
    edits: fn(&Line<'_>, &mut Edits),
) -> Spelling {
    Spelling {
        name,
        edits,
        changes,
    }
}

pub(crate) const SPELLINGS: &[Spelling] = &[
    changing("`…` for $(…)", Changes::Places, backquotes),
    changing("$(…) for `…`", Changes::Places, brackets),
    spelling("<<- for <<", tabs),
    spelling("<< for <<-", no_tabs),
    spelling("<<'E' for <<E", |line, edits| marks(line, edits, "'", "'")),
    spelling("<<\"E\" for <<E", |line, edits| {
        marks(line, edits, "\"", "\"")
    }),
    spelling("<<\\E for <<E", |line, edits| marks(line, edits, "\\", "")),
    changing("values joined", Changes::Words, joined),
    changing("values apart", Changes::Words, apart),
    changing("letters apart", Changes::Words, letters_apart),
    changing("long options cut short", Changes::Words, cut_short),
    spelling("'…'", |line, edits| quotes(line, edits, Quotes::Single)),
    spelling("\"…\"", |line, edits| quotes(line, edits, Quotes::Double)),
    spelling("$'…'", |line, edits| quotes(line, edits, Quotes::Ansi)),
    spelling("$'\\x…'", |line, edits| quotes(line, edits, Quotes::Hex)),
    spelling("\\…", |line, edits| quotes(line, edits, Quotes::Escapes)),
    spelling("pieces", |line, edits| quotes(line, edits, Quotes::Pieces)),
    spelling("> … 2>&1 for &>", both_streams),
    spelling("&> for > … 2>&1", both_at_once),
    spelling("2>&1 | for |&", both_piped),
    spelling("numbers of streams", numbered),
    spelling(">| for >", clobbers),
    spelling("redirections first", redirects_first),
    spelling("redirections last", redirects_last),
    spelling("line feeds for ;", line_feeds),
    spelling("; for line feeds", semicolons),
    spelling("wide blanks", |line, edits| blanks(line, edits, " \t ")),
    spelling("continued lines", |line, edits| {
        blanks(line, edits, " \\\n  ")
    }),
    spelling("no blanks", no_blanks),
    changing("command", Changes::Wrapper("command"), |line, edits| {
        wrapped(line, edits, "command")
    }),
    changing("env", Changes::Wrapper("env"), |line, edits| {
        wrapped(line, edits, "env")
    }),
    changing("nice", Changes::Wrapper("nice"), |line, edits| {
        wrapped(line, edits, "nice")
    }),
];

impl<'a> Line<'a> {
    /// Splits the line; returns `None` if the tests cannot.
    pub(crate) fn new(text: &'a str) -> Option<Self> {
        Some(Self {
            text,
            tokens: tokens(text)?,
        })
    }

    fn of(&self, token: &Token) -> &'a str {
        self.text.get(token.start..token.end).unwrap_or_default()
    }

    fn part(&self, part: &Part) -> &'a str {
        self.text.get(part.start..part.end).unwrap_or_default()
    }

    /// Returns whether it contains a here-document.
    pub(crate) fn has_documents(&self) -> bool {
        let mut has = false;
        lists(&self.tokens, &mut |tokens| {
            has |= tokens
                .iter()
                .any(|token| matches!(token.kind, Kind::Body { .. }));
        });
        has
    }

    /// Returns the line in the other spelling; `None` if nothing changes.
    pub(crate) fn written(&self, spelling: &Spelling) -> Option<String> {
        let mut edits = Vec::new();
        (spelling.edits)(self, &mut edits);
        edits.sort_by_key(|edit| (edit.start, std::cmp::Reverse(edit.end)));
        let mut text = String::new();
        let mut at = 0;
        for edit in edits {
            if edit.start < at {
                continue;
            }
            text.push_str(self.text.get(at..edit.start)?);
            text.push_str(&edit.text);
            at = edit.end;
        }
        text.push_str(self.text.get(at..)?);
        (text != self.text).then_some(text)
    }

    fn each_simple(&self, each: &mut impl FnMut(&'_ [Token], &Simple)) {
        lists(&self.tokens, &mut |tokens| {
            for simple in simples(self.text, tokens) {
                let is_odd = simple
                    .words
                    .first()
                    .and_then(|at| tokens.get(*at))
                    .is_some_and(|first| self.of(first).starts_with('-'));
                if !is_odd {
                    each(tokens, &simple);
                }
            }
        });
    }

    fn is_exit(&self, tokens: &[Token], simple: &Simple) -> bool {
        let first = simple.words.first().and_then(|at| tokens.get(*at));
        first.is_some_and(|first| self.of(first) == "exit")
    }

    fn each_part(&self, each: &mut impl FnMut(&Part, bool)) {
        lists(&self.tokens, &mut |tokens| {
            for token in tokens {
                match &token.kind {
                    Kind::Word(parts) => each_part(parts, false, each),
                    Kind::Test(tokens) => {
                        for token in tokens {
                            if let Kind::Word(parts) = &token.kind {
                                each_part(parts, false, each);
                            }
                        }
                    }
                    _ => {}
                }
            }
        });
    }
}

fn each_part(parts: &[Part], quoted: bool, each: &mut impl FnMut(&Part, bool)) {
    for part in parts {
        each(part, quoted);
        match &part.kind {
            PartKind::Double(inner) => each_part(inner, true, each),
            PartKind::Arithmetic(inner) => each_part(inner, quoted, each),
            _ => {}
        }
    }
}
