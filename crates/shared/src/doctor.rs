//! Checks whether a shared log can be used, and what its acknowledgements are worth.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::{
    database::Database,
    error::SharedError,
    rows::Found,
    schema::{FORMAT, Standing},
};

/// How far the clocks may differ.
const CLOCK_SLACK_MS: u64 = 60_000;

/// The only condition under which rows may be seen and written; any other one that permits would open the table.
const OWN_ROWS: &str = "(tenant = current_setting('interlock.tenant'::text, true))";

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was checked.
    pub check: &'static str,
    /// Whether it is as it should be.
    pub ok: bool,
    /// What was seen.
    pub seen: String,
    /// What to do if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl Check {
    fn new(check: &'static str, ok: bool, seen: impl Into<String>, advice: &str) -> Self {
        Self {
            check,
            ok,
            seen: seen.into(),
            advice: (!ok).then(|| advice.to_owned()),
        }
    }

    fn failed(check: &'static str, error: &SharedError) -> Self {
        Self {
            check,
            ok: false,
            seen: error.to_string(),
            advice: None,
        }
    }
}

/// Returns the time of this machine in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

impl Database {
    /// Checks everything that a shared log depends on; ends at the first failure that makes further checks impossible.
    #[must_use]
    pub fn doctor(&self) -> Vec<Check> {
        let mut checks = Vec::new();
        match self.server() {
            Ok(found) => checks.extend(found),
            Err(error) => return vec![Check::failed("connection", &error)],
        }
        match self.standing() {
            Ok(Standing::Made { has_tenant }) => {
                checks.push(Check::new("format", true, FORMAT.to_string(), ""));
                let refusal = SharedError::NoTenant {
                    place: self.place().to_owned(),
                    tenant: self.tenant().clone(),
                };
                checks.push(if has_tenant {
                    Check::new("tenant", true, self.tenant().as_str(), "")
                } else {
                    Check::failed("tenant", &refusal)
                });
            }
            Ok(other) => {
                checks.push(Check::failed("format", &other.refusal(self.place())));
                return checks;
            }
            Err(error) => {
                checks.push(Check::failed("format", &error));
                return checks;
            }
        }
        checks.push(
            self.isolation()
                .unwrap_or_else(|error| Check::failed("isolation", &error)),
        );
        checks
    }

    /// Checks in short whether a log can be read and written here, whatever the tenant is.
    pub(crate) fn readiness(&self) -> Result<(), SharedError> {
        match self.standing()? {
            Standing::Made { .. } => {}
            other => return Err(other.refusal(self.place())),
        }
        let found = self.select(
            "SELECT current_setting('default_transaction_read_only')::bool OR pg_is_in_recovery(), \
             (extract(epoch FROM clock_timestamp()) * 1000)::bigint",
            Vec::new(),
        )?;
        for row in found {
            let found = Found::new(self, row);
            if found.get(0)? {
                let place = self.place().to_owned();
                return Err(SharedError::ReadOnly { place });
            }
            let apart_ms = now_ms().abs_diff(found.number(1)?);
            if apart_ms >= CLOCK_SLACK_MS {
                return Err(SharedError::ClockOff {
                    place: self.place().to_owned(),
                    apart_s: apart_ms / 1000,
                });
            }
        }
        Ok(())
    }

    /// Checks the server and its settings.
    fn server(&self) -> Result<Vec<Check>, SharedError> {
        let found = self.select(
            "SELECT current_setting('server_version'), current_user::text, \
             current_setting('default_transaction_read_only')::bool OR pg_is_in_recovery(), \
             current_setting('fsync')::bool, current_setting('synchronous_commit'), \
             (extract(epoch FROM clock_timestamp()) * 1000)::bigint",
            Vec::new(),
        )?;
        let now = now_ms();
        let mut checks = Vec::new();
        for row in found {
            let found = Found::new(self, row);
            let version: String = found.get(0)?;
            let user: String = found.get(1)?;
            let connection = format!("PostgreSQL {version} at {}, as user {user}", self.place());
            checks.push(Check::new("connection", true, connection, ""));
            let is_read_only: bool = found.get(2)?;
            checks.push(Check::new(
                "writable",
                !is_read_only,
                if is_read_only { "no" } else { "yes" },
                "connect to the primary server, or set `default_transaction_read_only` off",
            ));
            let (fsync, commit): (bool, String) = (found.get(3)?, found.get(4)?);
            checks.push(Check::new(
                "durable",
                fsync && commit == "on",
                format!(
                    "fsync {}, synchronous_commit {commit}",
                    if fsync { "on" } else { "off" }
                ),
                "set `fsync = on` in `postgresql.conf`: without it, what was acknowledged may be lost",
            ));
            let apart = now.abs_diff(found.number(5)?);
            checks.push(Check::new(
                "clock",
                apart < CLOCK_SLACK_MS,
                format!("{} s from this machine's", apart / 1000),
                "set the clock of this machine or of the database: times in the log would be wrong",
            ));
        }
        Ok(checks)
    }

    /// Checks whether row-level security applies to every table with rows of tenants.
    fn isolation(&self) -> Result<Check, SharedError> {
        let found = self.select(
            "SELECT class.relname::text FROM pg_catalog.pg_class AS class \
             JOIN pg_catalog.pg_attribute AS attribute \
             ON attribute.attrelid = class.oid AND attribute.attname = 'tenant' \
             WHERE class.relnamespace = 'interlock'::regnamespace AND class.relkind IN ('r', 'p') \
             AND NOT (class.relrowsecurity AND class.relforcerowsecurity AND coalesce((SELECT \
             bool_and(polwithcheck IS NULL AND pg_get_expr(polqual, polrelid) IS NOT DISTINCT FROM $1) \
             FROM pg_catalog.pg_policy WHERE polrelid = class.oid AND polpermissive), false)) \
             ORDER BY 1",
            vec![OWN_ROWS.into()],
        )?;
        let mut open = Vec::new();
        for row in found {
            open.push(Found::new(self, row).get::<String>(0)?);
        }
        let seen = if open.is_empty() {
            "row-level security holds on every table".to_owned()
        } else {
            format!("row-level security does not hold on {}", open.join(", "))
        };
        Ok(Check::new(
            "isolation",
            open.is_empty(),
            seen,
            "enable and force row-level security there again, with `own_tenant` as the only policy: \
             tenants are kept apart by it",
        ))
    }
}
