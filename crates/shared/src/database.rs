//! Connections to a database, and transactions on them.

use std::{
    collections::BTreeMap,
    fmt,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::join;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_postgres::{
    Client, Row, Statement,
    types::{ToSql, Type},
};

use crate::{
    address::{Address, CONNECT_MAX},
    connect,
    error::{SharedError, failed},
    runtime::Runtime,
    tenant::Tenant,
};

/// The number of connections of one process to one database.
const CONNECTIONS_MAX: usize = 16;
/// How long one transaction may take, whatever the database says.
const TRANSACTION_MAX: Duration = Duration::from_secs(20);

/// Begins a transaction that writes.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";

/// A database with a shared log, as one tenant sees it. Clones share their connections.
#[derive(Clone)]
pub struct Database {
    tenant: Tenant,
    // Before the runtime, on which its connections live.
    pool: Arc<Pool>,
    runtime: Arc<Runtime>,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("place", &self.place())
            .field("tenant", &self.tenant().as_str())
            .finish_non_exhaustive()
    }
}

struct Pool {
    address: Address,
    /// Idle connections, each with the tenant that it was made for; the one used last is at the end.
    idle: Mutex<Vec<(Tenant, Connection)>>,
    permits: Arc<Semaphore>,
}

/// A statement that connections keep prepared: its text, and the types of its parameters.
pub(crate) type Prepared = (&'static str, &'static [Type]);

/// A connection, and the statements that are prepared on it.
struct Connection {
    client: Client,
    prepared: Mutex<BTreeMap<&'static str, Statement>>,
}

/// A connection in use. It is closed when dropped; [`Leased::put_back`] keeps it for the next use.
pub(crate) struct Leased {
    pub(crate) client: Client,
    prepared: Mutex<BTreeMap<&'static str, Statement>>,
    tenant: Tenant,
    pool: Arc<Pool>,
    is_reused: bool,
    _permit: OwnedSemaphorePermit,
}

impl Leased {
    /// Keeps a connection on which no transaction is open.
    pub(crate) fn put_back(self) {
        let mut idle = self
            .pool
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let connection = Connection {
            client: self.client,
            prepared: self.prepared,
        };
        idle.push((self.tenant, connection));
    }

    /// Returns a statement that is parsed and planned once for each connection.
    pub(crate) async fn prepare(&self, (text, types): Prepared) -> Result<Statement, SharedError> {
        let known = self.prepared().get(text).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let prepared = self.client.prepare_typed(text, types).await;
        let prepared = prepared.map_err(|error| failed(self.place(), &error))?;
        self.prepared().insert(text, prepared.clone());
        Ok(prepared)
    }

    fn prepared(&self) -> MutexGuard<'_, BTreeMap<&'static str, Statement>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn place(&self) -> &str {
        self.pool.address.place()
    }

    /// Runs one statement.
    pub(crate) async fn query(
        &self,
        statement: &str,
        values: &[Value],
    ) -> Result<Vec<Row>, SharedError> {
        let values: Vec<_> = values.iter().map(Value::typed).collect();
        let answer = self.client.query_typed(statement, &values).await;
        answer.map_err(|error| failed(self.place(), &error))
    }
}

/// A parameter of a statement.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Text(String),
    MaybeText(Option<String>),
    Integer(i64),
    Bytes(Vec<u8>),
}

impl Value {
    fn typed(&self) -> (&(dyn ToSql + Sync), Type) {
        match self {
            Self::Text(text) => (text, Type::TEXT),
            Self::MaybeText(text) => (text, Type::TEXT),
            Self::Integer(number) => (number, Type::INT8),
            Self::Bytes(bytes) => (bytes, Type::BYTEA),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        // Whoever records a number has checked that it fits.
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl Pool {
    async fn lease(self: &Arc<Self>, tenant: &Tenant, fresh: bool) -> Result<Leased, SharedError> {
        let busy = || SharedError::Busy {
            place: self.address.place().to_owned(),
            what: format!("all {CONNECTIONS_MAX} connections of this process are in use"),
        };
        let permit = timeout(CONNECT_MAX, Arc::clone(&self.permits).acquire_owned()).await;
        let permit = permit.ok().and_then(Result::ok).ok_or_else(busy)?;
        let idle = || {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if fresh {
                idle.clear();
            }
            idle.retain(|(_, connection)| !connection.client.is_closed());
            // INVARIANT: a connection serves only the tenant that it was made for.
            if let Some(at) = idle.iter().rposition(|(owner, _)| owner == tenant) {
                return Some(idle.remove(at).1);
            }
            // One more is made: the one that was idle longest makes room.
            let in_use = CONNECTIONS_MAX.saturating_sub(self.permits.available_permits());
            while !idle.is_empty() && idle.len() + in_use > CONNECTIONS_MAX {
                idle.remove(0);
            }
            None
        };
        let found = idle();
        let is_reused = found.is_some();
        let connection = match found {
            Some(connection) => connection,
            None => Connection {
                client: connect::connect(&self.address, tenant).await?,
                prepared: Mutex::default(),
            },
        };
        Ok(Leased {
            client: connection.client,
            prepared: connection.prepared,
            tenant: tenant.clone(),
            pool: Arc::clone(self),
            is_reused,
            _permit: permit,
        })
    }

    /// Leases a connection and starts a transaction on it with `begin`.
    async fn begun(
        self: &Arc<Self>,
        tenant: &Tenant,
        begin: &'static str,
    ) -> Result<Leased, SharedError> {
        for fresh in [false, true] {
            let leased = self.lease(tenant, fresh).await?;
            match leased.client.batch_execute(begin).await {
                Ok(()) => return Ok(leased),
                // The server was restarted since this connection was last used.
                Err(_) if leased.is_reused && !fresh => {}
                Err(error) => return Err(failed(leased.place(), &error)),
            }
        }
        Err(self.closed())
    }

    fn closed(&self) -> SharedError {
        SharedError::Away {
            place: self.address.place().to_owned(),
            what: "the connection was closed".to_owned(),
        }
    }
}

/// How a transaction ends.
pub(crate) enum End<T> {
    /// Its changes are committed.
    Commit(T),
    /// Its changes are rolled back.
    Rollback(T),
}

impl Database {
    /// Returns a database, whatever is in it. Does not connect yet.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn at(address: Address, tenant: Tenant) -> Result<Self, SharedError> {
        let runtime = Runtime::start().map_err(|error| SharedError::Failed {
            place: address.place().to_owned(),
            what: format!("no thread for its connections: {error}"),
        })?;
        Ok(Self {
            tenant,
            pool: Arc::new(Pool {
                address,
                idle: Mutex::default(),
                permits: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
            }),
            runtime: Arc::new(runtime),
        })
    }

    /// Returns `postgres://HOST:PORT/DATABASE`, for messages.
    #[must_use]
    pub fn place(&self) -> &str {
        self.pool.address.place()
    }

    /// Returns the tenant whose runs it shows.
    #[must_use]
    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// Returns the same database as another tenant sees it. Both share the limit of connections.
    #[must_use]
    pub fn for_tenant(&self, tenant: Tenant) -> Self {
        Self {
            tenant,
            ..self.clone()
        }
    }

    /// Runs one statement that only reads, or that may be repeated.
    pub(crate) fn select(
        &self,
        statement: &'static str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, SharedError> {
        let (pool, tenant) = (Arc::clone(&self.pool), self.tenant.clone());
        self.wait(async move {
            for fresh in [false, true] {
                let leased = pool.lease(&tenant, fresh).await?;
                match leased.query(statement, &values).await {
                    Ok(rows) => {
                        leased.put_back();
                        return Ok(rows);
                    }
                    // The server was restarted since this connection was last used.
                    Err(SharedError::Away { .. }) if leased.is_reused && !fresh => {}
                    Err(error) => return Err(error),
                }
            }
            Err(pool.closed())
        })
    }

    /// Reads in one transaction.
    pub(crate) fn read<T, F, R>(&self, act: F) -> Result<T, SharedError>
    where
        T: Send + 'static,
        F: FnOnce(Arc<Leased>) -> R + Send + 'static,
        R: Future<Output = Result<T, SharedError>> + Send,
    {
        self.act(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            move |leased| {
                let read = act(leased);
                async move { read.await.map(End::Rollback) }
            },
        )
    }

    /// Writes in one transaction.
    ///
    /// If it fails before the commit, nothing was written.
    pub(crate) fn write<T, F, R>(&self, act: F) -> Result<T, SharedError>
    where
        T: Send + 'static,
        F: FnOnce(Arc<Leased>) -> R + Send + 'static,
        R: Future<Output = Result<End<T>, SharedError>> + Send,
    {
        self.act(BEGIN, act)
    }

    fn act<T, F, R>(&self, begin: &'static str, act: F) -> Result<T, SharedError>
    where
        T: Send + 'static,
        F: FnOnce(Arc<Leased>) -> R + Send + 'static,
        R: Future<Output = Result<End<T>, SharedError>> + Send,
    {
        let (pool, tenant) = (Arc::clone(&self.pool), self.tenant.clone());
        self.wait(async move {
            let leased = Arc::new(pool.begun(&tenant, begin).await?);
            let end = act(Arc::clone(&leased)).await?;
            let (statement, result) = match end {
                End::Commit(result) => (COMMIT, result),
                End::Rollback(result) => (ROLLBACK, result),
            };
            finish(leased, statement).await?;
            Ok(result)
        })
    }

    /// Starts a transaction in which the caller writes statement by statement.
    ///
    /// If it is dropped instead of [committed](Self::commit), nothing was written.
    pub(crate) fn begin(&self) -> Result<Arc<Leased>, SharedError> {
        let (pool, tenant) = (Arc::clone(&self.pool), self.tenant.clone());
        self.wait(async move { pool.begun(&tenant, BEGIN).await.map(Arc::new) })
    }

    /// Commits a transaction that was [begun](Self::begin).
    pub(crate) fn commit(&self, leased: Arc<Leased>) -> Result<(), SharedError> {
        self.wait(finish(leased, COMMIT))
    }

    /// Starts a transaction like [`Self::begin`], and returns what `act` reads first in it.
    pub(crate) fn begin_with<T, F, R>(&self, act: F) -> Result<(Arc<Leased>, T), SharedError>
    where
        T: Send + 'static,
        F: FnOnce(Arc<Leased>) -> R + Send + 'static,
        R: Future<Output = Result<T, SharedError>> + Send,
    {
        let (pool, tenant) = (Arc::clone(&self.pool), self.tenant.clone());
        self.wait(async move {
            let leased = Arc::new(pool.begun(&tenant, BEGIN).await?);
            let read = act(Arc::clone(&leased)).await?;
            Ok((leased, read))
        })
    }

    /// Commits a transaction after what `act` writes last in it; both are sent together.
    ///
    /// If a statement of `act` fails, the database rolls back instead.
    pub(crate) fn commit_with<F, R>(&self, leased: Arc<Leased>, act: F) -> Result<(), SharedError>
    where
        F: FnOnce(Arc<Leased>) -> R + Send + 'static,
        R: Future<Output = Result<(), SharedError>> + Send,
    {
        self.wait(async move {
            let commit = async {
                let committed = leased.client.batch_execute(COMMIT).await;
                committed.map_err(|error| failed(leased.place(), &error))
            };
            let (written, committed) = join(act(Arc::clone(&leased)), commit).await;
            // The commit may have been executed, whichever answer was lost.
            let unanswered = |error| match error {
                SharedError::Away { place, .. } => SharedError::Unanswered { place },
                other => other,
            };
            written.map_err(unanswered)?;
            committed.map_err(unanswered)?;
            if let Some(leased) = Arc::into_inner(leased) {
                leased.put_back();
            }
            Ok(())
        })
    }

    /// Gives up a transaction that was [begun](Self::begin), and keeps its connection.
    pub(crate) fn roll_back(&self, leased: Arc<Leased>) -> Result<(), SharedError> {
        self.wait(finish(leased, ROLLBACK))
    }

    /// Waits for an answer of the database, but not forever.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, SharedError>> + Send + 'static,
    ) -> Result<T, SharedError> {
        let place = self.place().to_owned();
        let done = self.runtime.wait(async move {
            let done = timeout(TRANSACTION_MAX, work).await;
            done.unwrap_or(Err(SharedError::Unanswered { place }))
        });
        done.unwrap_or_else(|| Err(self.pool.closed()))
    }
}

/// Ends a transaction, and keeps its connection for the next use.
async fn finish(leased: Arc<Leased>, statement: &'static str) -> Result<(), SharedError> {
    if let Err(error) = leased.client.batch_execute(statement).await {
        return Err(match failed(leased.place(), &error) {
            // It is not known whether it was committed.
            SharedError::Away { place, .. } if statement == COMMIT => {
                SharedError::Unanswered { place }
            }
            other => other,
        });
    }
    if let Some(leased) = Arc::into_inner(leased) {
        leased.put_back();
    }
    Ok(())
}
