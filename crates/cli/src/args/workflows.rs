//! What the commands about workflow files take.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;
use interlock_sandbox::Level;

use crate::complete;

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The name of the workflow; `work` when left out.
    pub(crate) name: Option<String>,
    /// A command that runs all the tests; may be repeated: each has to be seen to pass. Found when left out.
    #[arg(long = "test", value_name = "COMMAND")]
    pub(crate) tests: Vec<String>,
    /// A further command that agents may run, such as a linter; may be repeated.
    #[arg(long = "allow", value_name = "COMMAND")]
    pub(crate) allowed: Vec<String>,
    /// An agent that the workflow is for; may be repeated. Those found here when left out.
    #[arg(long = "client", value_name = "CLIENT", add = ArgValueCompleter::new(complete::client))]
    pub(crate) clients: Vec<String>,
    /// Do not ask: take what was found.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Show the files and write none.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON, and do not ask.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Files, names of workflows, or folders with them; those of the project when left out.
    #[arg(value_name = "FILE|DIR", add = ArgValueCompleter::new(complete::workflow))]
    pub(crate) files: Vec<String>,
    /// Say also what an agent in this client could not use: claude-code, codex, gemini, copilot, cursor, opencode.
    #[arg(long, value_name = "CLIENT")]
    pub(crate) client: Option<String>,
    /// Warnings make the exit code 1, too.
    #[arg(long)]
    pub(crate) deny_warnings: bool,
    /// What a CodeMie file leaves in doubt is an error.
    #[arg(long)]
    pub(crate) strict: bool,
    /// What is only not configured here (assistants, servers, tools of servers, providers) is a note.
    #[arg(long)]
    pub(crate) assume_configured: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// The workflow: a file or a name; the project's own when left out.
    #[arg(value_name = "FILE", add = ArgValueCompleter::new(complete::workflow))]
    pub(crate) workflow: Option<String>,
    /// One JSON object a line; `-`: standard input.
    #[arg(long, value_name = "STEPS")]
    pub(crate) steps: Option<String>,
    /// Judge lines as where the kernel holds them at this level: environment, partial, files, full.
    #[arg(long, value_name = "LEVEL", default_value = "environment", value_parser = level)]
    pub(crate) level: Level,
    /// Print JSON lines on a terminal, too.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Files or folders; the project's workflows when none is given.
    #[arg(value_name = "FILE|DIR")]
    pub(crate) paths: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ProveArgs {
    /// The workflow: a file or a name; the project's own when left out.
    #[arg(value_name = "FILE", add = ArgValueCompleter::new(complete::workflow))]
    pub(crate) workflow: Option<String>,
    /// A file of properties, in place of the one beside the workflow.
    #[arg(long, value_name = "FILE")]
    pub(crate) properties: Option<PathBuf>,
    /// States of the graph at most; what is beyond is `unknown`, never `holds`.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) max_states: usize,
    /// Write every trace as a case of this test file.
    #[arg(long, value_name = "FILE")]
    pub(crate) write_test: Option<PathBuf>,
    /// Draw the first trace of a failure: an SVG, or DOT and Mermaid where the file ends so (.dot, .mmd).
    #[arg(long, value_name = "FILE")]
    pub(crate) graph: Option<PathBuf>,
    /// Compare with an older version instead: what this one permits and that one refuses.
    #[arg(
        long,
        value_name = "OLD",
        conflicts_with_all = ["properties", "write_test", "graph"],
        add = ArgValueCompleter::new(complete::workflow)
    )]
    pub(crate) against: Option<String>,
    /// What counts as the same in both versions.
    #[arg(long, requires = "against", default_value = "steps")]
    pub(crate) by: ComparedBy,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What counts as the same in two versions of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ComparedBy {
    /// Events, calls and answers of people, as they are written.
    Steps,
    /// Calls and answers of people: states and events may have other names, and be more or fewer.
    Calls,
}

impl From<ComparedBy> for interlock_prove::By {
    fn from(by: ComparedBy) -> Self {
        match by {
            ComparedBy::Steps => Self::Steps,
            ComparedBy::Calls => Self::Calls,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The workflow: a file or a name.
    #[arg(value_name = "FILE", add = ArgValueCompleter::new(complete::workflow))]
    pub(crate) workflow: String,
    /// The state.
    #[arg(add = ArgValueCompleter::new(complete::state))]
    pub(crate) state: String,
    /// The shell line.
    #[arg(value_name = "LINE", allow_hyphen_values = true)]
    pub(crate) line: String,
    /// Judge lines as where the kernel holds them at this level: environment, partial, files, full.
    #[arg(long, value_name = "LEVEL", default_value = "environment", value_parser = level)]
    pub(crate) level: Level,
    /// Read the line as this shell does; `$SHELL` when left out, and what runs in the sandbox is run by bash.
    #[arg(long, value_enum, value_name = "SHELL")]
    pub(crate) shell: Option<ShellName>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A shell whose lines are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShellName {
    /// GNU bash.
    Bash,
    /// zsh.
    Zsh,
    /// Any POSIX shell.
    Sh,
    /// dash.
    Dash,
}

/// A format of workflow files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatName {
    /// States that hold an agent.
    Native,
    /// States that run programs.
    Flowstate,
    /// States in which assistants work.
    Codemie,
    /// Stages that call a model.
    Pipeline,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The format of the files.
    #[arg(value_enum, default_value_t = FormatName::Native)]
    pub(crate) format: FormatName,
}

/// A format that workflows are converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvertTo {
    /// States that hold an agent.
    Native,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The workflow: a file or a name.
    #[arg(value_name = "FILE", add = ArgValueCompleter::new(complete::workflow))]
    pub(crate) workflow: String,
    /// The format of the answer.
    #[arg(long, value_enum, default_value_t = ConvertTo::Native, value_name = "FORMAT")]
    pub(crate) to: ConvertTo,
    /// Where it is written, as JSON when it ends so; standard output when left out.
    #[arg(long, short, value_name = "FILE", conflicts_with = "json")]
    pub(crate) output: Option<PathBuf>,
    /// Print one JSON object: the workflow, or what cannot be said.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a graph is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// Mermaid, for Markdown.
    Mermaid,
    /// Graphviz.
    Dot,
    /// A picture drawn here.
    Svg,
}

#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    /// The workflow: a file or a name, the project's own when left out; with --run only to tell which run is meant.
    #[arg(value_name = "FILE", add = ArgValueCompleter::new(complete::workflow))]
    pub(crate) workflow: Option<String>,
    /// Draw a run: where it stands and the way it took.
    #[arg(long, value_name = "RUN", add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// How it is written.
    #[arg(long, value_enum, default_value_t = GraphFormat::Mermaid)]
    pub(crate) format: GraphFormat,
    /// Where it is written; standard output when left out.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Reads a level by its name.
fn level(word: &str) -> Result<Level, String> {
    Level::named(word)
        .ok_or_else(|| format!("there is {}", Level::ALL.map(Level::as_str).join(", ")))
}
