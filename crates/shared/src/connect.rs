//! A single connection: made, checked, and served by a task of the runtime.

use futures_util::FutureExt as _;
use tokio::time::timeout;
use tokio_postgres::{Client, NoTls};

use crate::{
    address::{Address, CONNECT_MAX},
    error::{SharedError, failed},
    tenant::Tenant,
    tls,
};

/// Connects as `tenant`. A user who is not subject to row-level security is refused.
pub(crate) async fn connect(address: &Address, tenant: &Tenant) -> Result<Client, SharedError> {
    let config = address.config_for(tenant);
    let place = address.place();
    let no_answer = |_| SharedError::Away {
        place: place.to_owned(),
        what: format!("no answer within {} s", CONNECT_MAX.as_secs()),
    };
    let failed = |error| failed(place, &error);
    // A connection ends with its client, or with the server; then the client says so.
    let client = if address.wants_tls() {
        let tls = tls::connector(place, address.certificate())?;
        let connected = timeout(CONNECT_MAX, config.connect(tls)).await;
        let (client, connection) = connected.map_err(no_answer)?.map_err(failed)?;
        tokio::spawn(connection.map(drop));
        client
    } else {
        let connected = timeout(CONNECT_MAX, config.connect(NoTls)).await;
        let (client, connection) = connected.map_err(no_answer)?.map_err(failed)?;
        tokio::spawn(connection.map(drop));
        client
    };
    let user = client
        .query_typed(
            "SELECT rolname::text, rolsuper OR rolbypassrls FROM pg_catalog.pg_roles \
             WHERE rolname = current_user",
            &[],
        )
        .await
        .map_err(failed)?;
    let held = user.first().and_then(|row| {
        let bypasses: bool = row.try_get(1).ok()?;
        Some((row.try_get::<_, String>(0).ok()?, bypasses))
    });
    match held {
        Some((_, false)) => Ok(client),
        found => Err(SharedError::NotHeld {
            place: place.to_owned(),
            user: found.map(|(user, _)| user).unwrap_or_default(),
        }),
    }
}
