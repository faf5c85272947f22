//! Takes what opens the database out of the environment, where every program of a run could read it: the address, the
//! password, and the key of the certificate, whose file may be removed once the worker has started.

use std::{
    env,
    error::Error,
    io::{self, Read as _, Write as _},
    os::unix::process::CommandExt as _,
    process::{Command, Stdio},
};

use interlock_shared::{CERTIFICATE, ClientCertificate, KEY};
use interlock_store::random_word;
use serde::{Deserialize, Serialize};

use crate::{args::Cli, companion};

const DATABASE: &str = "INTERLOCK_DATABASE";
const PASSWORD: &str = "PGPASSWORD";
/// The option with which this program starts itself again.
const OPTION: &str = "--secrets-on-stdin";
/// Maximum size of all in bytes: less than a pipe holds without a reader.
const BYTES_MAX: usize = 60 * 1024;

/// Where the database is, and what it asks of those who connect.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Secrets {
    pub(crate) address: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) certificate: Option<ClientCertificate>,
}

/// Returns the secrets; starts this program again if they may be in its environment.
///
/// The environment of a process can be read as long as it runs, so it is started again without them, in the same process,
/// and reads them from a pipe. It is also given the word by which its [`companion`] finds its programs.
pub(crate) fn take(cli: &Cli) -> Result<Secrets, Box<dyn Error>> {
    if cli.secrets_on_stdin {
        let mut text = String::new();
        let limit = u64::try_from(BYTES_MAX)?;
        io::stdin().lock().take(limit).read_to_string(&mut text)?;
        return Ok(serde_json::from_str(&text)?);
    }
    let secrets = Secrets {
        address: cli.shared.clone(),
        password: env::var(PASSWORD).ok(),
        certificate: ClientCertificate::of_environment(|name| env::var_os(name))?,
    };
    Err(again(&secrets)?.into())
}

/// Replaces this process; returns only why that is not possible.
fn again(secrets: &Secrets) -> Result<io::Error, Box<dyn Error>> {
    let text = serde_json::to_vec(secrets)?;
    if text.len() >= BYTES_MAX {
        return Err(format!("`{DATABASE}`, `{PASSWORD}` and the certificate are too long").into());
    }
    // Both ends are closed in the new program, except for its standard input.
    let (reader, mut writer) = io::pipe()?;
    writer.write_all(&text)?;
    let mut command = Command::new(env::current_exe()?);
    command
        .args(env::args_os().skip(1))
        .arg(OPTION)
        .env_remove(DATABASE)
        .env_remove(PASSWORD)
        .env_remove(CERTIFICATE)
        .env_remove(KEY)
        .env(companion::VARIABLE, random_word()?)
        .stdin(Stdio::from(reader));
    Ok(command.exec())
}
