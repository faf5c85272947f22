//! The command line of `interlock worker`.

use std::{net::SocketAddr, path::PathBuf};

use clap::Parser;
use interlock_worker::{LEASE_MAX, LEASE_MIN, SLOTS_MAX, WORKSPACE_MAX};

/// Carry the durable runs of a shared log on this machine, as one of several, placed by Restate.
///
/// A run stays with one worker at a time. If a worker is lost, another one carries its runs on once the lease has ended.
#[derive(Debug, Parser)]
#[command(
    name = "interlock worker",
    bin_name = "interlock worker",
    version,
    max_term_width = 100,
    after_help = "Examples:
  export INTERLOCK_DATABASE=postgres://interlock@127.0.0.1/interlock
  interlock worker --tenant acme --project ~/shop --restate-admin http://127.0.0.1:9070
  interlock worker --tenant acme --projects /srv/runs --listen 0.0.0.0:9080 \\
    --restate http://restate.example:8080 --identity-key publickeyv1_…
  interlock worker --register-only --restate-admin http://127.0.0.1:9070 --advertise http://workers.example:9080

Ctrl-C ends the programs of its runs, which another worker then carries on.

Exit codes: 0 stopped or registered, 1 it cannot work, 2 usage."
)]
pub(crate) struct Cli {
    /// The database of the shared log: postgres://USER@HOST:PORT/DATABASE.
    #[arg(
        long,
        visible_alias = "database",
        env = "INTERLOCK_DATABASE",
        hide_env_values = true,
        value_name = "ADDRESS"
    )]
    pub(crate) shared: Option<String>,
    /// The tenant whose runs are carried.
    #[arg(
        long,
        env = "INTERLOCK_TENANT",
        default_value = "default",
        value_name = "NAME"
    )]
    pub(crate) tenant: String,
    /// Restate's ingress.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub(crate) restate: String,
    /// Register the workers at Restate's address for administration, which must be on this machine.
    #[arg(long, value_name = "URL")]
    pub(crate) restate_admin: Option<String>,
    /// The address under which Restate reaches the workers: this one's, or one that leads to any of them.
    #[arg(long, value_name = "URL")]
    pub(crate) advertise: Option<String>,
    /// Only register the workers, and end.
    #[arg(long, requires = "restate_admin", requires = "advertise")]
    pub(crate) register_only: bool,
    /// The address to accept Restate's requests on; port 0 takes any free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9080")]
    pub(crate) listen: SocketAddr,
    /// A public key that Restate signs its requests with; can be repeated. Needed unless all is on this machine.
    #[arg(long, value_name = "KEY")]
    pub(crate) identity_key: Vec<String>,
    /// The project in which all runs work.
    #[arg(long, value_name = "DIR", conflicts_with = "projects")]
    pub(crate) project: Option<PathBuf>,
    /// A folder with a project for each run, named as its id, whose files move with the run to other workers.
    #[arg(long, value_name = "DIR")]
    pub(crate) projects: Option<PathBuf>,
    /// How many MiB the files of one run may have that move with it, with `--projects`.
    #[arg(
        long,
        value_name = "MIB",
        default_value_t = 64,
        value_parser = clap::value_parser!(u64).range(1..=(WORKSPACE_MAX >> 20))
    )]
    pub(crate) workspace_limit: u64,
    /// For how many seconds a run stays with a worker that does not answer.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(LEASE_MIN.as_secs()..=LEASE_MAX.as_secs())
    )]
    pub(crate) lease: u64,
    /// How many runs are carried at once.
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 16,
        value_parser = clap::value_parser!(u16).range(1..=SLOTS_MAX as i64)
    )]
    pub(crate) slots: u16,
    /// Print one JSON document for each line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Wait for the end of the worker with this word, and end the programs that it leaves.
    #[arg(long, hide = true, value_name = "WORD")]
    pub(crate) companion_of: Option<String>,
    /// Read the address and the password of the database from standard input.
    #[arg(long, hide = true)]
    pub(crate) secrets_on_stdin: bool,
}
