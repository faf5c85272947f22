//! Starts runs: compiles the workflow, decides the start, and records it with the key of the request.

use std::path::Path;

use axum::http::StatusCode;
use interlock_core::{
    Reply,
    command::{Command, CommandKind},
    decide, evolve,
    machine::Object,
    names::RunId,
    run::Run,
};
use interlock_fleet::{BundleRef, StartBody, Started, WorkflowFile};
use interlock_formats::{NoWorkflows, Source};
use interlock_store::{ChainHash, Durability, NewRun, SourceFile, record, run_id};
use interlock_view::report::{state_paths, status};

use super::{
    batch::{Answered, Outcome},
    bundles,
    problem::Problem,
    state::ServerState,
};
use crate::{
    append::Columns,
    database::{Database, End, Leased},
    error::SharedError,
    outbox,
    people::Right,
    rows::Found,
    runs::{INSERT_RUN, Written},
    tokens::{Identity, Role},
};

/// The places of a run that was started through a server, until a machine sets its own.
const PROJECT: &str = "/interlock/project";
const HOME: &str = "/interlock/home";
/// Maximum number of errors of a workflow that are reported.
const ERRORS_MAX: usize = 8;

const KNOWN: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, start.digest, \
     start.reply FROM (SELECT 1) AS one LEFT JOIN interlock.starts AS start \
     ON start.tenant = $1 AND start.id = $2";

/// Starts a run, or returns the reply of the request that was sent with this key before.
pub(crate) fn start(
    state: &ServerState,
    identity: &Identity,
    (key, digest): (&str, ChainHash),
    body: &StartBody,
) -> Outcome {
    if identity.role == Role::Agent {
        return Err(Problem::role(
            "the token of an agent starts no runs: a person or a worker does",
        ));
    }
    let database = state.database.for_tenant(identity.tenant.clone());
    let rows = database.select(KNOWN, vec![identity.tenant.as_str().into(), key.into()])?;
    let (at_ms, known) = known(&database, rows, digest)?;
    if let Some(reply) = known {
        return Ok(repeated(reply));
    }
    if identity
        .one_run
        .as_ref()
        .is_some_and(|one| one.run.is_some())
    {
        return Err(Problem::from(&SharedError::OneRun));
    }
    if let Some(people) = database.people()?
        && !people.has(Right::Start, &identity.member())
    {
        return Err(Problem::role(
            "the policy does not let you start runs: `start` of its `[roles]` says who may",
        ));
    }
    let workflow = bundles::workflow(state, &database, body)?;
    let (run, written, is_durable, started) = made(state, identity, (body, workflow), at_ms)?;
    let reply = serde_json::to_vec(&started).map_err(|_| Problem::internal())?;
    let reply = state.marks().encode(&reply).into_owned();
    let stored = keep(
        &database,
        (key, digest),
        (run, written, is_durable),
        (identity, reply.clone()),
    )?;
    Ok(stored.map_or(
        Answered {
            body: reply,
            repeated: false,
        },
        repeated,
    ))
}

fn repeated(body: Vec<u8>) -> Answered {
    Answered {
        body,
        repeated: true,
    }
}

/// Reads the time of the database, and the stored reply to a key.
fn known(
    database: &Database,
    rows: Vec<tokio_postgres::Row>,
    digest: ChainHash,
) -> Result<(u64, Option<Vec<u8>>), SharedError> {
    let Some(row) = rows.into_iter().next() else {
        return Ok((0, None));
    };
    let found = Found::new(database, row);
    let at_ms = found.number(0)?;
    let stored: Option<Vec<u8>> = found.get(1)?;
    match stored {
        None => Ok((at_ms, None)),
        Some(stored) if stored == digest.as_bytes() => Ok((at_ms, found.get(2)?)),
        Some(_) => Err(SharedError::OtherCommand { id: String::new() }),
    }
}

/// Compiles the workflow and decides the start.
fn made(
    state: &ServerState,
    identity: &Identity,
    (body, (workflow, bundle)): (&StartBody, (WorkflowFile, Option<BundleRef>)),
    at_ms: u64,
) -> Result<(RunId, Written, bool, Started), Problem> {
    let invalid =
        |code, message: String| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, code, message);
    let source = Source::new(workflow.name, workflow.text);
    let loaded = interlock_formats::load(&source, body.select.as_deref(), &NoWorkflows);
    let loaded = loaded.map_err(|found| {
        let lines = found.iter().take(ERRORS_MAX);
        let lines: Vec<String> = lines
            .map(|found| format!("{}:{}: {}", found.line, found.column, found.message))
            .collect();
        invalid("workflow_invalid", lines.join("; "))
    })?;
    let marks = state.marks();
    // The input may name the places of the sender's machine by their marks.
    let input = serde_json::to_vec(&body.input).map_err(|_| Problem::internal())?;
    let input = marks.decode(&input).map_err(|_| bad_mark())?;
    let input: Object = serde_json::from_slice(&input).map_err(|_| bad_mark())?;
    if loaded.machine.conversation.is_some() {
        return Err(invalid(
            "start_refused",
            format!(
                "`{}` is a conversation, whose input this address does not take: run it with `interlock run`",
                loaded.machine.id
            ),
        ));
    }
    let durable = loaded.machine.durable.then(|| state.durable_run());
    let run = run_id(at_ms)?;
    let command = Command {
        at_ms,
        kind: CommandKind::Start {
            input,
            by: identity.subject.clone(),
            durable,
        },
    };
    let decision = decide(&loaded.machine, &Run::new(run.clone()), &command);
    if let Reply::Refused(refusal) | Reply::Ask(refusal) = &decision.reply {
        return Err(invalid("start_refused", refusal.message.clone()));
    }
    if let Some(name) = &body.name {
        check_name(name)?;
    }
    let new = NewRun {
        machine: &loaded.machine,
        source: &SourceFile {
            name: source.name.clone(),
            text: source.text.clone(),
        },
        project_root: Path::new(PROJECT),
        name: body.name.as_deref(),
        durability: Durability::Power,
        at_ms,
    };
    let folded = (decision.events.iter()).fold(Run::new(run.clone()), evolve);
    let written = Written::new(
        &run,
        (&new, &decision.events),
        (PROJECT, HOME, &marks),
        Path::new("the log"),
    )?;
    let started = Started {
        run: run.as_str().to_owned(),
        workflow: loaded.machine.id.to_string(),
        seq: folded.seq,
        state: serde_json::to_value(state_paths(&loaded.machine, &folded).0)
            .map_err(|_| Problem::internal())?,
        status: status(&loaded.machine, &folded).as_str().to_owned(),
        bundle,
    };
    Ok((run, written, loaded.machine.durable, started))
}

pub(crate) fn bad_mark() -> Problem {
    Problem::input(
        "an `@` stands neither for a place (`@project`, `@run`, `@home`) nor for itself: write `@@` for a plain `@`",
    )
}

fn check_name(name: &str) -> Result<(), Problem> {
    let is_plain = name.trim() == name && !name.chars().any(char::is_control);
    if is_plain && (1..=100).contains(&name.chars().count()) {
        return Ok(());
    }
    Err(Problem::input(
        "the name of a run is one line of at most 100 characters without spaces around it",
    ))
}

/// Records the run; returns the stored reply if another request with this key was first.
fn keep(
    database: &Database,
    (key, digest): (&str, ChainHash),
    (run, mut written, is_durable): (RunId, Written, bool),
    (identity, reply): (&Identity, Vec<u8>),
) -> Result<Option<Vec<u8>>, SharedError> {
    let tenant = database.tenant().clone();
    let values = written.values(tenant.as_str());
    let rows = std::mem::take(&mut written.rows);
    let (key, subject) = (key.to_owned(), identity.subject.clone());
    let one_run = identity.one_run.as_ref().map(|one| one.token.clone());
    let of = database.clone();
    database.write(move |leased| async move {
        let lock = [format!("{tenant} {key}").as_str().into()];
        leased
            .query(
                "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
                &lock,
            )
            .await?;
        let own = [tenant.as_str().into(), key.as_str().into()];
        let found = leased.query(KNOWN, &own).await?;
        if let (_, Some(stored)) = known(&of, found, digest)? {
            return Ok(End::Rollback(Some(stored)));
        }
        let seq = rows.len() as u64;
        insert(&leased, tenant.as_str(), &run, values, rows).await?;
        if is_durable {
            outbox::wake(&leased, tenant.as_str(), &run, (seq, "start")).await?;
        }
        if let Some(token) = one_run {
            let bound = leased
                .query(
                    "UPDATE interlock.tokens SET run = $3 \
                     WHERE tenant = $1 AND id = $2 AND run IS NULL RETURNING 1",
                    &[
                        tenant.as_str().into(),
                        token.as_str().into(),
                        run.as_str().into(),
                    ],
                )
                .await?;
            // Another request with the token was first.
            if bound.is_empty() {
                return Err(SharedError::OneRun);
            }
        }
        leased
            .query(
                "INSERT INTO interlock.starts (tenant, id, digest, reply, run, subject) \
                 VALUES ($1, $2, $3, $4, $5, $6)",
                &[
                    tenant.as_str().into(),
                    key.as_str().into(),
                    digest.as_bytes().to_vec().into(),
                    reply.into(),
                    run.as_str().into(),
                    subject.as_str().into(),
                ],
            )
            .await?;
        Ok(End::Commit(None))
    })
}

async fn insert(
    leased: &Leased,
    tenant: &str,
    run: &RunId,
    values: Vec<crate::database::Value>,
    rows: Vec<(record::Row, ChainHash)>,
) -> Result<(), SharedError> {
    leased.query(INSERT_RUN, &values).await?;
    let mut columns = Columns::default();
    for (row, prev) in rows {
        columns.push(row, prev);
    }
    columns.insert(leased, tenant, run.as_str()).await
}
