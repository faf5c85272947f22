//! A tool call as facts: what it would write, run and touch.

mod shell;

pub use shell::{
    CommandClass, EnvSet, EnvUse, NetworkDirection, NetworkUse, PathText, PathUse, ShellAsk,
    ShellFacts, SimpleCommand, Word,
};
