//! Takes runs over, as a carrier does: the statement is its own, so that it does not depend on a worker.

use std::{str::FromStr as _, time::Duration};

use tokio::{runtime::Builder, time::timeout};
use tokio_postgres::{Config, Error, NoTls};

use crate::site::TENANT;

/// How long a takeover may take.
const PATIENCE: Duration = Duration::from_secs(8);

/// The way to the database.
pub(super) struct Carriers {
    config: Config,
}

/// The result of a takeover.
pub(super) enum Taken {
    /// The run was taken over under this epoch.
    Epoch(u64),
    /// The database says that nothing was done, or was not reached.
    Nothing,
    /// There was no answer.
    Unknown,
}

impl Carriers {
    pub(super) fn new(words: &str) -> Self {
        let mut config = Config::from_str(words).unwrap();
        config.options(format!("-c interlock.tenant={TENANT} -c lock_timeout=5s"));
        Self { config }
    }

    /// Takes a run over.
    pub(super) fn take(&self, run: &str) -> Taken {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let taken = runtime.block_on(async { timeout(PATIENCE, self.taken(run)).await });
        match taken {
            Ok(Ok(Some(epoch))) => Taken::Epoch(epoch),
            // Whoever is refused with a statement has changed nothing; a connection may end after the commit.
            Ok(Ok(None)) => Taken::Nothing,
            Ok(Err(error)) => match error.code().map(tokio_postgres::error::SqlState::code) {
                Some(code) if !code.starts_with("57") => Taken::Nothing,
                _ => Taken::Unknown,
            },
            Err(_) => Taken::Unknown,
        }
    }

    /// Returns the epoch; `None` if the database was not reached.
    async fn taken(&self, run: &str) -> Result<Option<u64>, Error> {
        let Ok((client, connection)) = self.config.connect(NoTls).await else {
            return Ok(None);
        };
        tokio::spawn(connection);
        let update = "UPDATE interlock.runs SET epoch = epoch + 1, holder = 'a client' \
             WHERE run = $1 RETURNING epoch";
        let row = client.query_one(update, &[&run]).await?;
        let epoch: i64 = row.get(0);
        Ok(u64::try_from(epoch).ok())
    }
}
