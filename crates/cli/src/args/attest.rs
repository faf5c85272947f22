//! The arguments of `attest` and `verify`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::ArgValueCompleter;

use crate::complete;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct AttestArgs {
    #[command(subcommand)]
    pub(crate) command: Option<AttestCommand>,
    /// The run. Defaults to the newest run of this project.
    #[arg(add = ArgValueCompleter::new(complete::run))]
    pub(crate) run: Option<String>,
    /// The file with the private key. Defaults to the one that `keygen` makes in the state directory.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// How long the attestation is valid.
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = lifetime)]
    pub(crate) expires: Duration,
    /// The form of the file. Defaults to `dsse`, or `sigstore` if `[attest] signer` signs.
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) format: Option<AttestFormat>,
    /// The file to write. Defaults to standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print what was attested as JSON.
    #[arg(long, requires = "output")]
    pub(crate) json: bool,
}

/// The form of an attestation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AttestFormat {
    /// A DSSE envelope.
    Dsse,
    /// A Sigstore bundle with the envelope.
    Sigstore,
}

/// An operation on the key that signs.
#[derive(Debug, Subcommand)]
pub(crate) enum AttestCommand {
    /// Make a key, and print its public part.
    Keygen {
        /// The file to write. Defaults to one in the state directory, which no guarded agent can read.
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
    /// Print the public part of a key.
    PublicKey {
        /// The file with the private key. Defaults to the one that `keygen` makes.
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The attestation; `-` is standard input.
    pub(crate) file: PathBuf,
    /// The commit that it must be for.
    #[arg(long, value_name = "COMMIT")]
    pub(crate) commit: String,
    /// A file with trusted public keys, in PEM; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Vec<PathBuf>,
    /// Trust the keys in `.interlock/attest.pub` of this commit, and take the workflow from it.
    #[arg(long, value_name = "COMMIT")]
    pub(crate) base: Option<String>,
    /// The workflow that the run must have followed: a file, a name, or `sha256:` with the hash of a machine.
    #[arg(long, value_name = "WORKFLOW")]
    pub(crate) workflow: Option<String>,
    /// The repository that it must come from, such as `github.com/acme/shop`.
    #[arg(long, value_name = "HOST/PATH")]
    pub(crate) repository: Option<String>,
    /// What it must prove: `approved`, `approved_with_passkey`, `completed`, or guards of the workflow, with commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) require: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reads how long an attestation is valid: a minute to a year.
fn lifetime(text: &str) -> Result<Duration, String> {
    let found = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let bounds = Duration::from_secs(60)..=Duration::from_secs(366 * 24 * 60 * 60);
    match bounds.contains(&found) {
        true => Ok(found),
        false => Err("it must be between 1m and 366d".to_owned()),
    }
}
