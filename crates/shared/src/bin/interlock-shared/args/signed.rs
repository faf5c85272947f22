//! The commands about what is signed: the audit and the bundles of a tenant.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Sign what happened in the tenant, and write it as lines of JSON.
    #[command(after_help = "Examples:
  interlock shared audit export -o audit.jsonl
  interlock shared audit export --run 01k9… -o run.jsonl
  interlock shared audit export --from 2026-11-30T00:00:00Z --key ~/keys/audit.key
  interlock shared audit export --otlp http://127.0.0.1:4318

The key is an ed25519 key that `interlock attest keygen` has made. What was signed before is compared with the
database, and a change is named. What runs have recorded is in the file.")]
    Export {
        /// Begin at the entry with this number, or at the first one that is not older than a time of RFC 3339.
        #[arg(long, value_name = "SEQ|TIME")]
        from: Option<String>,
        /// Show the entries of one run only: its id, a unique prefix, or its name.
        #[arg(long, value_name = "RUN")]
        run: Option<String>,
        /// The private key; `attest.key` in the state directory without it.
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
        /// The file to write; standard output without it.
        #[arg(short, long, value_name = "FILE", conflicts_with = "otlp")]
        output: Option<PathBuf>,
        /// Send each line as a log record to the OpenTelemetry collector at URL, or at the address that the OTEL_
        /// variables name.
        #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "")]
        otlp: Option<String>,
    },
    /// Check an exported file, without the database.
    #[command(after_help = "Examples:
  interlock shared audit verify audit.jsonl --key audit.pub
  interlock shared audit verify audit.jsonl --key audit.pub --at-least 1200
  interlock shared audit verify run.jsonl --key audit.pub --run 01k9…

The exit code is 1 if a line was changed, left out, doubled or moved, if the file is cut off, or if it is signed
with another key or with none.")]
    Verify {
        /// The file.
        file: PathBuf,
        /// A file with the public key, or with several.
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// The number of the entry that the file has to begin at.
        #[arg(long, value_name = "SEQ", default_value_t = 0)]
        from: u64,
        /// The id of the only run whose entries the file has to show.
        #[arg(long, value_name = "RUN")]
        run: Option<String>,
        /// The number of entries that are known from an earlier export; a file that ends before is refused.
        #[arg(long, value_name = "COUNT", default_value_t = 0)]
        at_least: u64,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum BundleCommand {
    /// Make and sign a bundle of the workflows in a folder.
    #[command(after_help = "Examples:
  interlock shared bundle create workflows --name shop --revision 1 -o shop.bundle
  interlock shared bundle create workflows --name shop --revision 2 --days 30 --key ~/keys/team.key -o shop.bundle

The folder holds workflow files (.json, .yaml, .yml) and nothing else. Each revision is higher than the one before.
It names the tenant of `--tenant`, and is good for no other one.")]
    Create {
        /// The folder.
        folder: PathBuf,
        /// The name of the bundle, which all revisions share.
        #[arg(long)]
        name: String,
        /// The revision.
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..=u64::from(u32::MAX)))]
        revision: u64,
        /// For how many days it is valid.
        #[arg(long, value_name = "DAYS", default_value_t = 90, value_parser = clap::value_parser!(u64).range(1..=366))]
        days: u64,
        /// The private key; `attest.key` in the state directory without it.
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
        /// The file to write; it must not exist.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Check a bundle.
    #[command(after_help = "Examples:
  interlock shared bundle verify shop.bundle --key team.pub
  interlock shared bundle verify shop.bundle --key team.pub --json | jq .revision")]
    Verify {
        /// The file.
        file: PathBuf,
        /// A file with the public key, or with several.
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
    },
    /// Publish a bundle, so that runs of the tenant start from it.
    #[command(after_help = "Examples:
  interlock shared bundle publish shop.bundle --key team.pub

It is checked before. A bundle that is no newer than the last one is refused, and nothing is published.")]
    Publish {
        /// The file.
        file: PathBuf,
        /// A file with the public key, or with several.
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
    },
    /// List the published bundles of the tenant.
    #[command(after_help = "Examples:
  interlock shared bundle list
  interlock shared bundle list --json | jq -r .revision")]
    List,
}

/// The keys with which a server checks bundles and signs the audit.
#[derive(Debug, Args)]
pub(crate) struct ServeKeys {
    /// Start runs of a tenant from its bundle only, which must be signed with the public key in the file.
    #[arg(long, value_name = "TENANT=FILE")]
    pub(crate) bundle_key: Vec<String>,
    /// Sign what happened with this private key, whenever somebody reads it.
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_key: Option<PathBuf>,
}

/// A run to start from the current bundle of a server.
#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    /// The file of the bundle, such as fix.yaml.
    pub(crate) file: String,
    /// The address of the server; other machines only with https.
    #[arg(long, value_name = "URL")]
    pub(crate) server: String,
    /// A file with the token of a person or a worker.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: PathBuf,
    /// A file with the public key that the bundle must be signed with.
    #[arg(long, value_name = "FILE")]
    pub(crate) bundle_key: PathBuf,
    /// A stricter workflow of the project, which the run follows instead.
    #[arg(long, value_name = "FILE")]
    pub(crate) workflow: Option<PathBuf>,
    /// The name of the run.
    #[arg(long)]
    pub(crate) name: Option<String>,
}
