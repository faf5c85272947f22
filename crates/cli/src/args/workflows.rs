//! The arguments of the commands about workflow files.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;
use interlock_sandbox::Level;

use crate::complete;

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The name of the workflow. Defaults to `work`.
    pub(crate) name: Option<String>,
    /// A command that runs all tests; may be repeated, and each must be seen to pass. Defaults to what is found.
    #[arg(long = "test", value_name = "COMMAND")]
    pub(crate) tests: Vec<String>,
    /// A further command that agents may run, such as a linter; may be repeated.
    #[arg(long = "allow", value_name = "COMMAND")]
    pub(crate) allowed: Vec<String>,
    /// A client that the workflow is for; may be repeated. Defaults to those found on this machine.
    #[arg(long = "client", value_name = "CLIENT", add = ArgValueCompleter::new(complete::client))]
    pub(crate) clients: Vec<String>,
    /// Do not ask; use what was found.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Show the files without writing them.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON, and ask nothing.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Output format of `check`, `test` and `prove`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingFormat {
    /// For people.
    Text,
    /// Interlock's own JSON.
    Json,
    /// Annotations of GitHub Actions.
    Github,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// JUnit XML, for test reports.
    Junit,
}

#[derive(Debug, Args)]
pub(crate) struct FindingArgs {
    /// Output format.
    #[arg(long, value_enum, default_value_t = FindingFormat::Text, value_name = "FORMAT")]
    format: FindingFormat,
    /// Print JSON: the same as `--format json`.
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl FindingArgs {
    /// Returns the requested format.
    pub(crate) const fn format(&self) -> FindingFormat {
        if self.json {
            FindingFormat::Json
        } else {
            self.format
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Files, workflow names, or folders. Defaults to the workflows of the project.
    #[arg(value_name = "FILE|DIR", add = ArgValueCompleter::new(complete::workflow))]
    pub(crate) files: Vec<String>,
    /// Also report what an agent in this client could not use: claude-code, codex, gemini, copilot, cursor, opencode.
    #[arg(long, value_name = "CLIENT")]
    pub(crate) client: Option<String>,
    /// Exit with code 1 for warnings, too.
    #[arg(long)]
    pub(crate) deny_warnings: bool,
    /// Treat whatever is ambiguous in a CodeMie file as an error.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Say how many calls of recorded sessions a workflow would have refused, as `backtest` counts them; a refusal is a
    /// warning. Those of this project, or of this file, folder or run: `--against-sessions=recordings/`.
    #[arg(
        long,
        value_name = "SESSIONS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    pub(crate) against_sessions: Option<String>,
    /// With --against-sessions: only sessions whose last call is not older than this, such as 30d or 12h.
    #[arg(long, value_name = "TIME", requires = "against_sessions")]
    pub(crate) since: Option<String>,
    /// Report what is missing from the configuration (assistants, servers, their tools, providers) as a note.
    #[arg(long)]
    pub(crate) assume_configured: bool,
    #[command(flatten)]
    pub(crate) printed: FindingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// The workflow: a file or a name. Defaults to that of the project.
    #[arg(value_name = "FILE", add = ArgValueCompleter::new(complete::workflow))]
    pub(crate) workflow: Option<String>,
    /// A file with one JSON object on each line, or `-` for standard input.
    #[arg(long, value_name = "STEPS")]
    pub(crate) steps: Option<String>,
    /// Judge shell lines as if the kernel confined them at this level: environment, partial, files, full.
    #[arg(long, value_name = "LEVEL", default_value = "environment", value_parser = level)]
    pub(crate) level: Level,
    /// Print JSON lines, even on a terminal.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Files or folders. Defaults to the workflows of the project.
    #[arg(value_name = "FILE|DIR")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) printed: FindingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ProveArgs {
    /// The workflow: a file or a name. Defaults to that of the project.
    #[arg(value_name = "FILE", add = ArgValueCompleter::new(complete::workflow))]
    pub(crate) workflow: Option<String>,
    /// A file of properties, instead of the one beside the workflow.
    #[arg(long, value_name = "FILE")]
    pub(crate) properties: Option<PathBuf>,
    /// Maximum number of states in the graph; beyond it a property is `unknown`, never `holds`.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) max_states: usize,
    /// Write every trace to this test file, as a case.
    #[arg(long, value_name = "FILE")]
    pub(crate) write_test: Option<PathBuf>,
    /// Draw the first failing trace: as SVG, or as DOT or Mermaid by the ending of the file (.dot, .mmd).
    #[arg(long, value_name = "FILE")]
    pub(crate) graph: Option<PathBuf>,
    /// Compare with an older version instead: list what this version permits and that one refuses.
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
    #[command(flatten)]
    pub(crate) printed: FindingArgs,
}

/// What counts as the same in two versions of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ComparedBy {
    /// Events, calls and answers of people, by their names in the files.
    Steps,
    /// Calls and answers of people; the names and numbers of states and events may differ.
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
    /// Judge shell lines as if the kernel confined them at this level: environment, partial, files, full.
    #[arg(long, value_name = "LEVEL", default_value = "environment", value_parser = level)]
    pub(crate) level: Level,
    /// Parse the line as this shell does. Defaults to `$SHELL`; bash runs lines in the sandbox.
    #[arg(long, value_enum, value_name = "SHELL")]
    pub(crate) shell: Option<ShellName>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A shell whose lines can be parsed.
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
    /// States that guard an agent.
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
    /// States that guard an agent.
    Native,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The workflow: a file or a name.
    #[arg(value_name = "FILE", add = ArgValueCompleter::new(complete::workflow))]
    pub(crate) workflow: String,
    /// The format to convert to.
    #[arg(long, value_enum, default_value_t = ConvertTo::Native, value_name = "FORMAT")]
    pub(crate) to: ConvertTo,
    /// The file to write, as JSON if its name ends in .json. Defaults to standard output.
    #[arg(long, short, value_name = "FILE", conflicts_with = "json")]
    pub(crate) output: Option<PathBuf>,
    /// Print one JSON object: the workflow, or what cannot be expressed.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The format of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// Mermaid, for Markdown.
    Mermaid,
    /// Graphviz.
    Dot,
    /// SVG, without any other program.
    Svg,
}

#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    /// The workflow: a file or a name. Defaults to that of the project; with --run, it says which workflow the run belongs to.
    #[arg(value_name = "FILE", add = ArgValueCompleter::new(complete::workflow))]
    pub(crate) workflow: Option<String>,
    /// Draw a run: its current state and the transitions it has taken.
    #[arg(long, value_name = "RUN", add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// The format of the drawing.
    #[arg(long, value_enum, default_value_t = GraphFormat::Mermaid)]
    pub(crate) format: GraphFormat,
    /// The file to write. Defaults to standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Parses the name of a level.
fn level(word: &str) -> Result<Level, String> {
    Level::named(word)
        .ok_or_else(|| format!("there is {}", Level::ALL.map(Level::as_str).join(", ")))
}
