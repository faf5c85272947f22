//! The command line of `interlock shared`.

mod signed;

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use interlock_shared::{DAYS_MAX, Role};

pub(crate) use self::signed::{AuditCommand, BundleCommand, ServeKeys, StartArgs};

/// Keep the runs of a team in one PostgreSQL database, and serve them.
///
/// Every machine keeps its own folders; the log is in the database. The address has no password if you set
/// PGPASSWORD.
#[derive(Debug, Parser)]
#[command(
    name = "interlock shared",
    bin_name = "interlock shared",
    version,
    max_term_width = 100,
    after_help = "Examples:
  export INTERLOCK_DATABASE=postgres://interlock@db.example/interlock
  interlock shared init --tenant acme
  interlock shared doctor --tenant acme

Exit codes: 0 done, 1 refused or errors found, 2 usage."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Which database, and whose runs.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// The database: postgres://USER@HOST:PORT/DATABASE.
    #[arg(
        long,
        global = true,
        env = "INTERLOCK_DATABASE",
        hide_env_values = true,
        value_name = "ADDRESS"
    )]
    pub(crate) database: Option<String>,
    /// The tenant that the runs belong to.
    #[arg(
        long,
        global = true,
        env = "INTERLOCK_TENANT",
        default_value = "default",
        value_name = "NAME"
    )]
    pub(crate) tenant: String,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make the tables and the tenant in a database.
    #[command(after_help = "Examples:
  createdb interlock
  interlock shared init --database postgres://interlock@db.example/interlock
  interlock shared init --tenant acme          another tenant in the same database

What is there already is left as it is. The user must not be a superuser, because row-level security does
not hold one; it needs the right to create a schema.")]
    Init,
    /// Bring the tables of a database to the format of this program.
    #[command(after_help = "Examples:
  interlock shared migrate

Migrations only go forward, each in one transaction. Programs of an older version refuse the log afterwards.")]
    Migrate,
    /// Check the database, its settings and the tables.
    #[command(after_help = "Examples:
  interlock shared doctor
  interlock shared doctor --json | jq '.[] | select(.ok | not)'

The exit code is 1 if something is not as it should be.")]
    Doctor,
    /// List the runs of the tenant.
    #[command(after_help = "Examples:
  interlock shared runs
  interlock shared runs --json | jq -r .run")]
    Runs,
    /// Check the whole log of a run.
    #[command(after_help = "Examples:
  interlock shared verify 01j
  interlock shared verify 01j --json | jq -r .hash")]
    Verify {
        /// The run: its id, a unique prefix, or its name.
        run: String,
    },
    /// Write a run into a file, with its hashes.
    #[command(after_help = "Examples:
  interlock shared export 01j -o run.jsonl
  interlock shared export --local 01j | ssh db.example interlock shared import -

The same run gives the same bytes, whether it is read from a database or from this machine. Secrets that
a run has recorded are in the file.")]
    Export {
        /// The run: its id, a unique prefix, or its name.
        run: String,
        /// Take a run of this machine instead of one of the database.
        #[arg(long)]
        local: bool,
        /// The file to write; standard output without it.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Take a run from a file into the database, with its hashes.
    #[command(after_help = "Examples:
  interlock shared import run.jsonl
  interlock shared import run.jsonl --project ~/shop
  interlock shared import -                    from standard input

Every line is checked against the hashes. All of the run is imported, or nothing.")]
    Import {
        /// The file; `-` is standard input.
        file: PathBuf,
        /// Where the project of the run is on this machine; this folder without it.
        #[arg(long, value_name = "DIR")]
        project: Option<PathBuf>,
    },
    /// Serve the log over HTTP, for the machines and people of a team.
    #[command(after_help = "Examples:
  interlock shared serve
  interlock shared serve --listen 127.0.0.1:0 --json | jq -r .url
  interlock shared serve --listen 0.0.0.0:4680 --behind-proxy

It serves every tenant of the database; a token says which one. It sends no certificate: a proxy in front of it
encrypts connections from other machines.")]
    Serve {
        /// The address to listen on; port 0 takes any free port.
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4680")]
        listen: SocketAddr,
        /// Listen on an address of other machines, because a proxy encrypts every connection to it.
        #[arg(long)]
        behind_proxy: bool,
        #[command(flatten)]
        keys: ServeKeys,
        /// A file with the issuers whose people and jobs sign in here.
        #[arg(long, value_name = "FILE")]
        sign_in: Option<PathBuf>,
    },
    /// Have the next session of a project guarded by a run of a server.
    #[command(after_help = "Examples:
  interlock shared join 01k9… --server https://interlock.example --token-file agent.token
  interlock shared join 01k9… --server http://127.0.0.1:4680 --token-file agent.token --project ~/shop

From then on, hooks judge calls with the facts of this machine and the server decides. Without its answer, they
deny. The token is copied into the state directory, where an agent may not read it: remove the file afterwards.")]
    Join {
        /// The id of the run.
        run: String,
        /// The address of the server; other machines only with https.
        #[arg(long, value_name = "URL")]
        server: String,
        /// A file with the token of this machine's agent.
        #[arg(long, value_name = "FILE")]
        token_file: PathBuf,
        /// Where the project is on this machine; this folder without it.
        #[arg(long, value_name = "DIR")]
        project: Option<PathBuf>,
        /// A file with a public key: the run must follow the server's bundle, which must be signed with it.
        #[arg(long, value_name = "FILE")]
        bundle_key: Option<PathBuf>,
    },
    /// Start a run from the current bundle of a server.
    #[command(after_help = "Examples:
  interlock shared start fix.yaml --server https://interlock.example --token-file ana.token --bundle-key team.pub
  interlock shared start fix.yaml --workflow .interlock/workflows/fix.yaml \\
    --server http://127.0.0.1:4680 --token-file ana.token --bundle-key team.pub

This machine checks the bundle before. A project's own workflow must permit no more than the bundle's.")]
    Start(StartArgs),
    /// Export what happened in the tenant with signatures, and check it.
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Make, check and publish bundles: signed workflows that runs start from.
    #[command(subcommand)]
    Bundle(BundleCommand),
    /// Make, list and revoke the tokens with which a server is used.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Load and show the policy that says who may start, approve and administer.
    #[command(subcommand)]
    People(PeopleCommand),
    /// Sign in at an issuer of the server, and get a token of the server.
    #[command(after_help = "Examples:
  interlock shared login --server https://interlock.example --tenant acme -o ana.token
  interlock shared login --server https://interlock.example --tenant acme --device -o ana.token

It prints an address for a browser of this machine, or with `--device` an address and a code for a browser of any
machine. Remove the file when you no longer need it.")]
    Login(LoginArguments),
    /// Exchange the ID token of a CI job for a token of one run.
    #[command(after_help = "Examples:
  interlock shared exchange --server https://interlock.example --tenant acme --id-token-file id.jwt -o job.token
  interlock shared exchange --server https://interlock.example --tenant acme --id-token-file id.jwt --run 01k9…

Without `--run`, the token is for the run that the job starts with it. It is valid for at most an hour.")]
    Exchange(ExchangeArguments),
}

/// Arguments of `login`.
#[derive(Debug, Args)]
pub(crate) struct LoginArguments {
    /// The address of the server; other machines only with https.
    #[arg(long, value_name = "URL")]
    pub(crate) server: String,
    /// The issuer, if the tenant has several.
    #[arg(long, value_name = "URL")]
    pub(crate) issuer: Option<String>,
    /// Sign in with a browser of another machine.
    #[arg(long)]
    pub(crate) device: bool,
    /// The file to write the token to, which only you can read; standard output without it.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Arguments of `exchange`.
#[derive(Debug, Args)]
pub(crate) struct ExchangeArguments {
    /// The address of the server; other machines only with https.
    #[arg(long, value_name = "URL")]
    pub(crate) server: String,
    /// A file with the ID token of the job.
    #[arg(long, value_name = "FILE")]
    pub(crate) id_token_file: PathBuf,
    /// The id of the run that the token is for.
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,
    /// The file to write the token to, which only you can read; standard output without it.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PeopleCommand {
    /// Load a policy, which holds from then on.
    #[command(after_help = "Examples:
  interlock shared people load people.toml
  interlock shared people load people.toml --by gus

Every revision stays in the database. Whoever may `administer` by the policy also loads another one over the API.")]
    Load {
        /// The file.
        file: PathBuf,
        /// Who loads it.
        #[arg(long, value_name = "NAME", default_value = "the administrator")]
        by: String,
    },
    /// Show the policy that holds.
    #[command(after_help = "Examples:
  interlock shared people show > people.toml
  interlock shared people show --json | jq .revision")]
    Show,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token, which is printed once.
    #[command(after_help = "Examples:
  interlock shared token create --role person --for ana
  interlock shared token create --role agent --for ana --days 30 -o ~/.config/interlock/fleet-token
  interlock shared token create --role worker --for ci --days 1

The log has only a hash of it. `--for` names the person who is responsible: who drives an agent does not approve
its run with another token of the same name.")]
    Create {
        /// What its holder may do.
        #[arg(long, value_enum)]
        role: RoleWord,
        /// The person or the program that is responsible for what is sent with it.
        #[arg(long = "for", value_name = "NAME")]
        subject: String,
        /// For how many days it is valid.
        #[arg(long, value_name = "DAYS", default_value_t = 90, value_parser = clap::value_parser!(u64).range(1..=DAYS_MAX))]
        days: u64,
        /// The file to write it to, which only you can read; standard output without it.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// List the tokens of the tenant, without their secrets.
    #[command(after_help = "Examples:
  interlock shared token list
  interlock shared token list --json | jq -r 'select(.status == \"valid\") | .id'")]
    List,
    /// Revoke a token.
    #[command(after_help = "Examples:
  interlock shared token revoke 0f3a52c1d9e84b67

A running server refuses it within a second.")]
    Revoke {
        /// The id of the token, as `list` shows it.
        id: String,
    },
}

/// A role, as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RoleWord {
    /// The machine of an agent.
    Agent,
    /// A person.
    Person,
    /// A CI job or another program.
    Worker,
}

impl From<RoleWord> for Role {
    fn from(word: RoleWord) -> Self {
        match word {
            RoleWord::Agent => Self::Agent,
            RoleWord::Person => Self::Person,
            RoleWord::Worker => Self::Worker,
        }
    }
}
