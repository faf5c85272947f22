//! Exchanging in the database: each ID token once, each person under one name.

use interlock_store::ChainHash;

use super::flaw::Flaw;
use crate::{
    database::{Database, End, Value},
    error::SharedError,
    rows::Found,
    tokens::{NewToken, Role},
};

/// An accepted ID token, and the token that it is exchanged for.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) role: Role,
    pub(crate) issuer: String,
    /// The issuer's own id of the person.
    pub(crate) person: String,
    pub(crate) subject: String,
    pub(crate) groups: Vec<String>,
    /// What the ID token is known again by.
    pub(crate) used: ChainHash,
    /// When the ID token expires, in seconds since 1970.
    pub(crate) expires_s: i64,
    pub(crate) minutes: u64,
    /// The run that a job's token is for.
    pub(crate) run: Option<String>,
}

/// A new token of the server.
pub(crate) struct Exchanged {
    pub(crate) id: String,
    pub(crate) token: String,
    pub(crate) subject: String,
    pub(crate) expires_ms: u64,
}

const FORGET: &str = "DELETE FROM interlock.exchanged \
     WHERE tenant = $1 AND expires_at < now() - interval '1 day'";
const USE: &str = "INSERT INTO interlock.exchanged (tenant, issuer, id, expires_at) \
     VALUES ($1, $2, $3, to_timestamp($4::bigint)) ON CONFLICT DO NOTHING RETURNING 1";
const NAME: &str = "INSERT INTO interlock.identities (tenant, issuer, person, subject) \
     VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
const NAMED: &str = "SELECT subject FROM interlock.identities \
     WHERE tenant = $1 AND issuer = $2 AND person = $3";
const HAS_RUN: &str = "SELECT 1 FROM interlock.runs WHERE tenant = $1 AND run = $2";
const MAKE: &str = "INSERT INTO interlock.tokens \
     (tenant, id, hash, role, subject, groups, issuer, one_run, run, expires_at) \
     SELECT $1, $2, $3, $4, $5, $6, $7, $4 = 'worker', $8, \
     now() + make_interval(mins => $9::bigint::int) \
     FROM interlock.tenants WHERE tenant = $1 \
     RETURNING (extract(epoch FROM expires_at) * 1000)::bigint";

impl Database {
    /// Exchanges an ID token in one transaction: it is used up only if a token was made.
    pub(crate) fn exchange(
        &self,
        exchange: Exchange,
    ) -> Result<Result<Exchanged, Flaw>, SharedError> {
        let of = self.clone();
        let made = self.new_token()?;
        self.write(move |leased| async move {
            let tenant: Value = of.tenant().as_str().into();
            let issuer: Value = exchange.issuer.as_str().into();
            leased.query(FORGET, std::slice::from_ref(&tenant)).await?;
            let used = [
                tenant.clone(),
                issuer.clone(),
                exchange.used.as_bytes().to_vec().into(),
                Value::Integer(exchange.expires_s),
            ];
            if leased.query(USE, &used).await?.is_empty() {
                return Ok(End::Rollback(Err(Flaw::Used)));
            }
            let mut subject = exchange.subject;
            if exchange.role == Role::Person {
                let own = [
                    tenant.clone(),
                    issuer.clone(),
                    exchange.person.as_str().into(),
                    subject.as_str().into(),
                ];
                leased.query(NAME, &own).await?;
                let [tenant, issuer, person, _] = own;
                let named = leased.query(NAMED, &[tenant, issuer, person]).await?;
                let Some(row) = named.into_iter().next() else {
                    return Ok(End::Rollback(Err(Flaw::NameTaken)));
                };
                // The first name stays, whatever the issuer calls the person later.
                subject = Found::new(&of, row).get(0)?;
            }
            if let Some(run) = &exchange.run {
                let own = [tenant.clone(), run.as_str().into()];
                if leased.query(HAS_RUN, &own).await?.is_empty() {
                    return Err(of.no_run(&interlock_core::names::RunId::new(run)));
                }
            }
            let NewToken { id, token, hash } = made;
            let values = [
                tenant,
                id.as_str().into(),
                hash.into(),
                exchange.role.as_str().into(),
                subject.as_str().into(),
                exchange.groups.join(" ").as_str().into(),
                issuer,
                Value::MaybeText(exchange.run),
                exchange.minutes.into(),
            ];
            let rows = leased.query(MAKE, &values).await?;
            let Some(row) = rows.into_iter().next() else {
                return Err(SharedError::NoTenant {
                    place: of.place().to_owned(),
                    tenant: of.tenant().clone(),
                });
            };
            let expires_ms = Found::new(&of, row).number(0)?;
            Ok(End::Commit(Ok(Exchanged {
                id,
                token,
                subject,
                expires_ms,
            })))
        })
    }
}
