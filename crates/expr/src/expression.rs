//! Expressions: conditions and computed values that a workflow writes as text.
//!
//! A format reads the text when the file is loaded and makes an
//! [`Expression`] of it; here it is only evaluated. The meaning is Python's
//! where the two can be compared, but data is what came as JSON: a text that
//! spells a value (`"42"`, `"false"`) is that value, except beside a text that
//! stands in the expression itself.
//!
//! A tree of our own and not a template engine's: `"42" == 42`, exact
//! integers, floor division, chained comparison and an error for a number
//! ordered with a text each differ from what such an engine computes, so that
//! every operator would have been replaced.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

mod call;
mod evaluate;
mod method;
mod names;
mod number;
mod operator;
mod parse;
mod seen;
mod value;

pub use evaluate::{Failure, Names, STEPS_MAX, evaluate, holds};
pub use names::AfterState;
pub use parse::{ParseError, parse};

/// An expression, read: its parts, each after those that it is made of; the last is the whole.
///
/// Flat, so that however deep it is, reading it back from a log is not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Expression {
    nodes: Vec<Node>,
}

/// Which part of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct At(usize);

impl At {
    /// Returns how many parts stand before it.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0
    }
}

impl Expression {
    /// Adds a part, made of parts that were added before, and returns where it is.
    pub fn push(&mut self, node: Node) -> At {
        self.nodes.push(node);
        At(self.nodes.len() - 1)
    }

    /// Returns a part.
    #[must_use]
    pub fn node(&self, at: At) -> Option<&Node> {
        self.nodes.get(at.0)
    }

    /// Returns the names that the expression reads, each once, in the order written.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for node in &self.nodes {
            if let Node::Name(name) = node
                && !names.contains(&name.as_str())
            {
                names.push(name);
            }
        }
        names
    }
}

/// A part of an expression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Node {
    /// A number, a text, a truth value or null, as it stands there.
    Literal(Value),
    /// What a name means where the expression is evaluated.
    Name(String),
    /// A list.
    List(Vec<At>),
    /// A map; every key is an expression as well.
    Map(Vec<(At, At)>),
    /// The opposite truth value.
    Not(At),
    /// The number with the opposite sign.
    Negative(At),
    /// The first when it is not true, else the second.
    And(At, At),
    /// The first when it is true, else the second.
    Or(At, At),
    /// Each neighbour compared with the next.
    Compare(At, Vec<(Comparison, At)>),
    /// Two values reckoned together.
    Reckon(Operator, At, At),
    /// One of two.
    Choose {
        /// What decides.
        condition: At,
        /// The value when it holds.
        then: At,
        /// The value when it does not.
        otherwise: At,
    },
    /// A field of a map.
    Field(At, String),
    /// An item of a list or a text, or a field of a map.
    Item(At, At),
    /// A part of a list or a text: from, to, step.
    Part(At, [Option<At>; 3]),
    /// Whether a value is of one of these types.
    Is(At, Vec<Type>),
    /// A function.
    Call {
        /// Which one.
        function: Function,
        /// What it is given.
        arguments: Vec<At>,
        /// What it is given by name.
        #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
        named: IndexMap<String, At>,
    },
    /// A method of a value.
    Method {
        /// Whose.
        of: At,
        /// Which one.
        method: Method,
        /// What it is given.
        arguments: Vec<At>,
    },
}

impl Node {
    /// Returns the parts that this one is made of.
    #[must_use]
    pub fn parts(&self) -> Vec<At> {
        match self {
            Self::Literal(_) | Self::Name(_) => Vec::new(),
            Self::List(items) => items.clone(),
            Self::Map(fields) => fields
                .iter()
                .flat_map(|(key, value)| [*key, *value])
                .collect(),
            Self::Not(of) | Self::Negative(of) | Self::Field(of, _) | Self::Is(of, _) => vec![*of],
            Self::And(left, right)
            | Self::Or(left, right)
            | Self::Reckon(_, left, right)
            | Self::Item(left, right) => vec![*left, *right],
            Self::Compare(first, rest) => {
                let rest = rest.iter().map(|(_, part)| *part);
                std::iter::once(*first).chain(rest).collect()
            }
            Self::Choose {
                condition,
                then,
                otherwise,
            } => vec![*condition, *then, *otherwise],
            Self::Part(of, bounds) => {
                let bounds = bounds.iter().flatten().copied();
                std::iter::once(*of).chain(bounds).collect()
            }
            Self::Call {
                arguments, named, ..
            } => arguments.iter().chain(named.values()).copied().collect(),
            Self::Method { of, arguments, .. } => std::iter::once(*of)
                .chain(arguments.iter().copied())
                .collect(),
        }
    }
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is what its name says")]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    NotIn,
    Is,
    IsNot,
}

/// How two values are reckoned together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is what its name says")]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Power,
}

/// A list of words that can be read and listed.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "each is what its word says")]
        pub enum $name {
            $(#[serde(rename = $word)] $variant),*
        }

        impl $name {
            /// Every word, in the order of the documentation.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            /// Returns what a word means.
            #[must_use]
            pub fn of(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Returns the word.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),*
                }
            }
        }
    };
}

words! {
    /// A function that expressions may call.
    Function {
        Len = "len",
        Min = "min",
        Max = "max",
        Sum = "sum",
        Abs = "abs",
        Str = "str",
        Int = "int",
        Float = "float",
        Bool = "bool",
        List = "list",
        Dict = "dict",
        Tuple = "tuple",
        Any = "any",
        All = "all",
        Round = "round",
        Sorted = "sorted",
        Reversed = "reversed",
        Enumerate = "enumerate",
        Zip = "zip",
    }
}

words! {
    /// A method that expressions may call.
    Method {
        Lower = "lower",
        Upper = "upper",
        Strip = "strip",
        Lstrip = "lstrip",
        Rstrip = "rstrip",
        Startswith = "startswith",
        Endswith = "endswith",
        Split = "split",
        Splitlines = "splitlines",
        Replace = "replace",
        Find = "find",
        Count = "count",
        Title = "title",
        Capitalize = "capitalize",
        Join = "join",
        Isdigit = "isdigit",
        Isalpha = "isalpha",
        Contains = "contains",
        Get = "get",
        Keys = "keys",
        Values = "values",
        Items = "items",
    }
}

words! {
    /// A type that `isinstance` asks for.
    Type {
        Str = "str",
        Int = "int",
        Float = "float",
        Bool = "bool",
        List = "list",
        Dict = "dict",
        Tuple = "tuple",
    }
}
