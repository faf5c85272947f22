//! The arguments of `compare`.

use clap::Args;
use clap_complete::ArgValueCompleter;

use crate::complete;

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The run.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: String,
    /// The run to compare it with.
    #[arg(
        value_name = "OTHER",
        required_unless_present = "under",
        conflicts_with = "under",
        add = ArgValueCompleter::new(complete::run)
    )]
    pub(crate) other: Option<String>,
    /// Judge the log of the run under this workflow instead (a file or a name); nothing runs.
    #[arg(long, value_name = "WORKFLOW", add = ArgValueCompleter::new(complete::workflow))]
    pub(crate) under: Option<String>,
    /// Maximum number of differences to show.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
