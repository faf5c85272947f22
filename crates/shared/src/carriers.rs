//! Who carries a durable run, and until when: a lease by the clock of the database, with an epoch for each carrier.

use std::time::Duration;

use interlock_core::names::RunId;

use crate::{
    append::integer,
    database::{Database, End, Leased, Value},
    error::SharedError,
    outbox,
    rows::Found,
};

/// What the database says of the carrier of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarrierState {
    /// The number of events of the log.
    pub seq: u64,
    /// The epoch of the last carrier.
    pub epoch: u64,
    /// The last carrier, unless it has given the run back.
    pub holder: Option<String>,
    /// How long its lease still lasts; `None`: nobody has one.
    pub left: Option<Duration>,
}

/// The request of a process to carry a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The name of the process.
    pub holder: String,
    /// The epoch that the run has: a claim for another one is not granted.
    pub epoch: u64,
    /// Who is told when the carrier has ended.
    pub awakeable: String,
    /// How long the lease lasts, if it is not renewed.
    pub lease: Duration,
}

/// The answer to a [`Claim`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    /// The process carries the run.
    Taken {
        /// Its epoch.
        epoch: u64,
        /// Whether the previous carrier has not given the run back: its effects were interrupted.
        is_interrupted: bool,
    },
    /// The same claim was granted before; whoever has it tells the awakeable.
    Already,
    /// Another process has a lease.
    Held {
        /// How long it still lasts.
        left: Duration,
    },
    /// The run has had another carrier since.
    Stale,
}

/// How a carrier ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenBack {
    /// Nothing of the run is under way.
    Whole,
    /// Effects were interrupted, which the next carrier has to say.
    Interrupted,
}

/// What follows for a carrier that is lost, as an awakeable is told.
const LOST: &str = "\"lost\"";
/// The reason to wake a run whose carrier is lost.
const LOST_REASON: &str = "lost";

const STATE: &str = "SELECT seq, epoch, holder, \
     (extract(epoch FROM lease_until - clock_timestamp()) * 1000)::bigint, awakeable \
     FROM interlock.runs WHERE tenant = $1 AND run = $2";

/// How long a run may be due without being carried before it is woken again.
const OVERDUE_AFTER: Duration = Duration::from_secs(60);
/// Reads the runs that are overdue, with the time: what is in the outbox has not been delivered yet.
const OVERDUE: &str = "SELECT run, (extract(epoch FROM clock_timestamp()) * 1000)::bigint \
     FROM interlock.runs AS run WHERE tenant = $1 AND lease_until IS NULL \
     AND due < clock_timestamp() - $2 * interval '1 millisecond' \
     AND NOT EXISTS (SELECT 1 FROM interlock.outbox AS row WHERE row.tenant = run.tenant \
     AND row.run = run.run AND row.kind = 'wake') FOR UPDATE SKIP LOCKED";

impl Database {
    /// Returns who carries a run.
    ///
    /// # Errors
    /// There is no such run, or the database cannot be read.
    pub fn carrier(&self, run: &RunId) -> Result<CarrierState, SharedError> {
        let rows = self.of_run(run, STATE, [])?;
        let found = rows.into_iter().next().ok_or_else(|| self.no_run(run))?;
        state(&found).map(|(state, _)| state)
    }

    /// Gives a run to a carrier, if nobody else has a lease and its epoch is the one of the claim.
    ///
    /// # Errors
    /// There is no such run, or the database cannot be written.
    pub fn claim(&self, run: &RunId, claim: &Claim) -> Result<Claimed, SharedError> {
        let (of, run, claim) = (self.clone(), run.clone(), claim.clone());
        self.write(move |leased| async move {
            let own = [of.tenant().as_str().into(), run.as_str().into()];
            let rows = leased.query(&format!("{STATE} FOR UPDATE"), &own).await?;
            let row = rows.into_iter().next().ok_or_else(|| of.no_run(&run))?;
            let (state, awakeable) = state(&Found::new(&of, row))?;
            if awakeable.as_ref() == Some(&claim.awakeable) {
                return Ok(End::Rollback(Claimed::Already));
            }
            if let Some(left) = state.left {
                return Ok(End::Rollback(Claimed::Held { left }));
            }
            if state.epoch != claim.epoch {
                return Ok(End::Rollback(Claimed::Stale));
            }
            let epoch = state.epoch.saturating_add(1);
            leased
                .query(
                    "UPDATE interlock.runs SET epoch = $3, holder = $4, awakeable = $5, due = NULL, \
                     lease_until = clock_timestamp() + $6 * interval '1 millisecond' \
                     WHERE tenant = $1 AND run = $2",
                    &[
                        of.tenant().as_str().into(),
                        run.as_str().into(),
                        epoch.into(),
                        Value::Text(claim.holder),
                        Value::Text(claim.awakeable),
                        millis(claim.lease),
                    ],
                )
                .await?;
            Ok(End::Commit(Claimed::Taken {
                epoch,
                is_interrupted: state.holder.is_some(),
            }))
        })
    }

    /// Renews the lease of a carrier; returns `false` if it has lost the run.
    ///
    /// A lease that has ended is not renewed, even if nobody has taken the run yet.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn renew(&self, run: &RunId, epoch: u64, lease: Duration) -> Result<bool, SharedError> {
        let renewed = self.of_run(
            run,
            "UPDATE interlock.runs SET lease_until = \
             clock_timestamp() + $4 * interval '1 millisecond' \
             WHERE tenant = $1 AND run = $2 AND epoch = $3 AND lease_until > clock_timestamp() \
             RETURNING 1",
            [epoch.into(), millis(lease)],
        )?;
        Ok(!renewed.is_empty())
    }

    /// Gives a run back, and has the awakeable of its claim told what is `next`, as JSON; `false` if the run was lost before.
    ///
    /// The run is due again after `due`; `None`: when something happens to it.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn give_back(
        &self,
        run: &RunId,
        epoch: u64,
        how: GivenBack,
        (next, due): (&str, Option<Duration>),
    ) -> Result<bool, SharedError> {
        let (of, run, next) = (self.clone(), run.clone(), next.to_owned());
        let due = due.map_or_else(String::new, |due| due.as_millis().to_string());
        self.write(move |leased| async move {
            let tenant = of.tenant().as_str();
            // What `RETURNING` has is the row after the update, without the awakeable.
            let freed = leased
                .query(
                    "UPDATE interlock.runs AS run SET lease_until = NULL, awakeable = NULL, \
                     due = clock_timestamp() + nullif($5, '')::bigint * interval '1 millisecond', \
                     holder = CASE WHEN $4 = 'whole' THEN NULL ELSE run.holder END \
                     FROM interlock.runs AS old WHERE old.tenant = run.tenant AND old.run = run.run \
                     AND run.tenant = $1 AND run.run = $2 AND run.epoch = $3 \
                     AND run.awakeable IS NOT NULL RETURNING old.awakeable",
                    &[
                        tenant.into(),
                        run.as_str().into(),
                        epoch.into(),
                        how.word().into(),
                        due.as_str().into(),
                    ],
                )
                .await?;
            let Some(row) = freed.into_iter().next() else {
                return Ok(End::Rollback(false));
            };
            let awakeable: String = Found::new(&of, row).get(0)?;
            outbox::tell(&leased, tenant, (&run, epoch), &awakeable, &next).await?;
            if next == LOST {
                outbox::wake(&leased, tenant, &run, (epoch, LOST_REASON)).await?;
            }
            Ok(End::Commit(true))
        })
    }

    /// Sets when a run is due that had `seq` events; it is left as it is if it has others, or if it is carried.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn set_due(&self, run: &RunId, seq: u64, due: Option<Duration>) -> Result<(), SharedError> {
        let due = due.map_or_else(String::new, |due| due.as_millis().to_string());
        self.of_run(
            run,
            "UPDATE interlock.runs SET \
             due = clock_timestamp() + nullif($4, '')::bigint * interval '1 millisecond' \
             WHERE tenant = $1 AND run = $2 AND seq = $3 AND lease_until IS NULL",
            [seq.into(), Value::Text(due)],
        )
        .map(drop)
    }

    /// Has runs woken again that have been due for a minute: the engine has lost what it was told of them.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn wake_overdue(&self) -> Result<Vec<RunId>, SharedError> {
        let of = self.clone();
        self.write(move |leased| async move {
            let tenant = of.tenant().as_str();
            let overdue = leased
                .query(OVERDUE, &[tenant.into(), millis(OVERDUE_AFTER)])
                .await?;
            let mut runs = Vec::with_capacity(overdue.len());
            for row in overdue {
                let found = Found::new(&of, row);
                let (run, now) = (RunId::new(found.get::<String>(0)?), found.number(1)?);
                outbox::wake(&leased, tenant, &run, (now, "due")).await?;
                runs.push(run);
            }
            Ok(if runs.is_empty() {
                End::Rollback(runs)
            } else {
                End::Commit(runs)
            })
        })
    }

    /// Frees the runs whose leases have ended, and has each of them woken; returns them.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn expire(&self) -> Result<Vec<RunId>, SharedError> {
        let of = self.clone();
        self.write(move |leased| async move {
            let tenant = of.tenant().as_str();
            let freed = expired(&leased, tenant).await?;
            let mut runs = Vec::with_capacity(freed.len());
            for row in freed {
                let found = Found::new(&of, row);
                let (run, epoch) = (RunId::new(found.get::<String>(0)?), found.number(1)?);
                if let Some(awakeable) = found.get::<Option<String>>(2)? {
                    outbox::tell(&leased, tenant, (&run, epoch), &awakeable, LOST).await?;
                }
                outbox::wake(&leased, tenant, &run, (epoch, LOST_REASON)).await?;
                runs.push(run);
            }
            Ok(if runs.is_empty() {
                End::Rollback(runs)
            } else {
                End::Commit(runs)
            })
        })
    }
}

async fn expired(leased: &Leased, tenant: &str) -> Result<Vec<tokio_postgres::Row>, SharedError> {
    // A run that another statement has locked is looked at the next time.
    leased
        .query(
            "WITH old AS (SELECT run, epoch, awakeable FROM interlock.runs \
             WHERE tenant = $1 AND lease_until <= clock_timestamp() FOR UPDATE SKIP LOCKED) \
             UPDATE interlock.runs AS run SET lease_until = NULL, awakeable = NULL FROM old \
             WHERE run.tenant = $1 AND run.run = old.run \
             RETURNING old.run, old.epoch, old.awakeable",
            &[tenant.into()],
        )
        .await
}

impl GivenBack {
    const fn word(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Interrupted => "interrupted",
        }
    }
}

fn state(found: &Found<'_>) -> Result<(CarrierState, Option<String>), SharedError> {
    let left: Option<i64> = found.get(3)?;
    let left = left.and_then(|left| u64::try_from(left).ok());
    let state = CarrierState {
        seq: found.number(0)?,
        epoch: found.number(1)?,
        holder: found.get(2)?,
        left: left.filter(|left| *left > 0).map(Duration::from_millis),
    };
    Ok((state, found.get(4)?))
}

fn millis(time: Duration) -> Value {
    Value::Integer(integer(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
}
