//! Running clients that were started with the person's token.

use std::path::Path;

use interlock_store::{Home, StoreError};

use super::unheard::unheard_clients;
use crate::{
    process::{self, PERSONS_TOKEN},
    session::living_sessions,
};

/// A client that runs in a project and was started with the person's token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientWithToken {
    /// Name of the client.
    pub client: String,
    /// Id of its process.
    pub pid: u32,
}

impl ClientWithToken {
    /// Describes the consequence in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!(
            "{} (process {}) was started with `{PERSONS_TOKEN}`, which its agent can read: the token does not \
             answer its run",
            self.client, self.pid
        )
    }
}

/// Lists the clients that run in a project with the person's token in their environment, where the system shows it.
///
/// # Errors
/// Returns an error if the state directory cannot be read.
pub fn clients_with_token(
    home: &Home,
    project_root: &Path,
) -> Result<Vec<ClientWithToken>, StoreError> {
    let heard = living_sessions(home, project_root)?.into_iter();
    let heard = heard.map(|living| {
        let client = living.session.client;
        (
            client.unwrap_or_else(|| "a client".to_owned()),
            living.process.pid,
        )
    });
    let unheard = unheard_clients(home, project_root)?.into_iter();
    let unheard = unheard.map(|unheard| (unheard.client.to_owned(), unheard.pid));
    let mut found: Vec<ClientWithToken> = Vec::new();
    for (client, pid) in heard.chain(unheard) {
        let has = || {
            process::environment(pid)
                .iter()
                .any(|(name, _)| name == PERSONS_TOKEN)
        };
        if found.iter().all(|known| known.pid != pid) && has() {
            found.push(ClientWithToken { client, pid });
        }
    }
    Ok(found)
}
