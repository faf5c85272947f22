//! The syntax of a shell line, as the parser builds it.
//!
//! The types are owned and have no positions except where commands begin; they know no variables, programs or files.

use std::cell::OnceCell;
use std::rc::Rc;

/// A list of commands, in the order of the text.
#[derive(Debug, Clone, Default)]
pub(crate) struct List {
    pub(crate) items: Vec<AndOr>,
}

/// Pipelines joined by `&&` and `||`.
#[derive(Debug, Clone)]
pub(crate) struct AndOr {
    pub(crate) first: Pipeline,
    pub(crate) rest: Vec<(Join, Pipeline)>,
    pub(crate) background: bool,
}

/// How a pipeline is joined to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    And,
    Or,
}

/// Commands joined by `|`.
#[derive(Debug, Clone)]
pub(crate) struct Pipeline {
    pub(crate) bang: bool,
    pub(crate) commands: Vec<Command>,
}

/// One command of a pipeline.
#[derive(Debug, Clone)]
pub(crate) enum Command {
    Simple(Simple),
    Compound(Box<Compound>, Vec<Redirect>),
    Function { name: String, body: Box<Command> },
}

/// Assignments, words and redirections.
#[derive(Debug, Clone, Default)]
pub(crate) struct Simple {
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) words: Vec<Word>,
    /// Assignments that are operands of `export`, `declare` and the like.
    pub(crate) declared: Vec<Assignment>,
    pub(crate) redirects: Vec<Redirect>,
    /// Byte range from its first word to its end; `None` in text inside another one.
    pub(crate) span: Option<(usize, usize)>,
}

/// A command that contains other commands.
#[derive(Debug, Clone)]
pub(crate) enum Compound {
    Group(List),
    Subshell(List),
    For {
        name: String,
        words: Option<Vec<Word>>,
        body: List,
    },
    CFor {
        parts: Vec<Arith>,
        body: List,
    },
    Select {
        name: String,
        words: Option<Vec<Word>>,
        body: List,
    },
    While {
        condition: List,
        body: List,
    },
    If {
        branches: Vec<(List, List)>,
        otherwise: Option<List>,
    },
    Case {
        word: Word,
        arms: Vec<(Vec<Word>, List)>,
    },
    Arithmetic(Arith),
    Test(Vec<TestToken>),
    Coproc {
        name: Option<String>,
        body: Command,
    },
}

/// One token between `[[` and `]]`.
#[derive(Debug, Clone)]
pub(crate) enum TestToken {
    Operator(&'static str),
    Word(Word),
}

/// `name=value`, `name+=value`, `name[i]=value` or `name=(…)`.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) append: bool,
    pub(crate) subscript: Option<Arith>,
    pub(crate) value: AssignedValue,
    pub(crate) source: String,
}

/// The value of an assignment.
#[derive(Debug, Clone)]
pub(crate) enum AssignedValue {
    Scalar(Word),
    Array(Vec<Element>),
}

/// One value of `name=(…)`.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    /// Text between the brackets of `[k]=value`, without its quotes.
    pub(crate) subscript: Option<String>,
    pub(crate) word: Word,
}

/// One redirection.
#[derive(Debug, Clone)]
pub(crate) struct Redirect {
    pub(crate) kind: RedirectKind,
    /// Variable of `{name}>`.
    pub(crate) variable: Option<String>,
    /// Number before the operator.
    pub(crate) descriptor: Option<u32>,
}

/// Kind of a redirection.
#[derive(Debug, Clone)]
pub(crate) enum RedirectKind {
    Read(Word),
    Write {
        target: Word,
        append: bool,
    },
    ReadWrite(Word),
    /// `>&w` and `<&w`.
    Duplicate {
        target: Word,
        output: bool,
    },
    HereString(Word),
    HereDocument(Document),
}

/// Body of a here-document, filled when its lines have been reached.
pub(crate) type Document = Rc<OnceCell<Vec<Piece>>>;

/// One word before expansion.
#[derive(Debug, Clone, Default)]
pub(crate) struct Word {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) source: String,
}

/// One piece of a word.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Text {
        text: String,
        quoted: bool,
    },
    Param {
        param: Box<Param>,
        quoted: bool,
    },
    Command {
        body: Box<Substitution>,
        quoted: bool,
    },
    Process(Box<Substitution>),
    Arith {
        text: Arith,
    },
    /// `$"…"`, which a translation may change.
    Locale(Vec<Piece>),
}

/// The commands of a substitution and their text.
#[derive(Debug, Clone)]
pub(crate) struct Substitution {
    pub(crate) list: List,
    pub(crate) source: String,
}

/// An arithmetic expression: raw text and the expansions in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arith {
    pub(crate) pieces: Vec<Piece>,
}

/// A parameter expansion.
#[derive(Debug, Clone)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) indirect: bool,
    pub(crate) length: bool,
    pub(crate) subscript: Option<Subscript>,
    pub(crate) op: ParamOp,
}

/// Subscript of a parameter.
#[derive(Debug, Clone)]
pub(crate) enum Subscript {
    All,
    Index(Arith),
}

/// Operation of a parameter expansion.
#[derive(Debug, Clone)]
pub(crate) enum ParamOp {
    None,
    /// `-`, `=`, `?`, `+`, each with or without a colon.
    Test {
        op: u8,
        word: Vec<Piece>,
    },
    /// `#`, `%`, `/`, `^`, `,` and their doubled forms.
    Pattern(Vec<Piece>),
    Substring(Vec<Arith>),
    /// `@X`.
    Transform(u8),
    /// `${!prefix*}` and `${!prefix@}`.
    Names,
}

impl List {
    /// Returns the command of a list if it is a single one that consists only of words.
    pub(crate) fn single_simple(&self) -> Option<&Simple> {
        let [item] = self.items.as_slice() else {
            return None;
        };
        let [Command::Simple(simple)] = item.first.commands.as_slice() else {
            return None;
        };
        let is_plain = item.rest.is_empty()
            && !item.background
            && !item.first.bang
            && simple.assignments.is_empty()
            && simple.declared.is_empty()
            && simple.redirects.is_empty();
        is_plain.then_some(simple)
    }
}

impl Word {
    /// Returns the text if the word is plain: unquoted or quoted text only.
    pub(crate) fn plain(&self) -> Option<String> {
        let mut all = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text { text, .. } => all.push_str(text),
                _ => return None,
            }
        }
        Some(all)
    }

    /// Returns whether nothing in the word is quoted or expanded.
    pub(crate) fn is_bare(&self, text: &str) -> bool {
        self.source == text
    }
}
