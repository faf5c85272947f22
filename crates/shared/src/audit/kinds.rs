//! What each kind of entry says: the statement that finds it, and the JSON that is made of its row.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use tokio_postgres::{
    Row,
    types::{ToSql, Type},
};

use super::{
    entry::{Fields, Found, Subject, json, raw},
    vote::VoteCast,
};
use crate::{
    database::Leased,
    error::{SharedError, failed},
};

/// How the content of each kind is found: the statement, and how its row is written.
type Reader = (&'static str, fn(&Subject, &Fields<'_>) -> Found);

const RUN: &str = "SELECT r.nr, run.created_ms, run.workflow, run.name, run.digest, start.subject, start.reply \
     FROM unnest($2, $3, $4, $5) AS r (run, n, id, nr) \
     JOIN interlock.runs AS run ON run.tenant = $1 AND run.run = r.run \
     LEFT JOIN interlock.starts AS start ON start.tenant = $1 AND start.run = r.run";
const EVENT: &str = "SELECT r.nr, event.at_ms, event.prev, event.hash, event.body \
     FROM unnest($2, $3, $4, $5) AS r (run, n, id, nr) \
     JOIN interlock.events AS event ON event.tenant = $1 AND event.run = r.run AND event.seq = r.n";
const COMMAND: &str = "SELECT r.nr, command.digest, command.reply, command.seq, command.subject, command.role, \
     command.drives FROM unnest($2, $3, $4, $5) AS r (run, n, id, nr) \
     JOIN interlock.commands AS command ON command.tenant = $1 AND command.run = r.run AND command.id = r.id";
const TOKEN: &str = "SELECT r.nr, (extract(epoch FROM token.made_at) * 1000)::bigint, token.role, token.subject, \
     (extract(epoch FROM token.expires_at) * 1000)::bigint, \
     (extract(epoch FROM token.revoked_at) * 1000)::bigint, token.issuer, token.groups, token.one_run \
     FROM unnest($2, $3, $4, $5) AS r (run, n, id, nr) \
     JOIN interlock.tokens AS token ON token.tenant = $1 AND token.id = r.id";
const BUNDLE: &str = "SELECT r.nr, (extract(epoch FROM bundle.published_at) * 1000)::bigint, bundle.name, \
     bundle.key, bundle.digest FROM unnest($2, $3, $4, $5) AS r (run, n, id, nr) \
     JOIN interlock.bundles AS bundle ON bundle.tenant = $1 AND bundle.revision = r.n";
const POLICY: &str = "SELECT r.nr, (extract(epoch FROM people.loaded_at) * 1000)::bigint, people.loaded_by, \
     sha256(convert_to(people.body, 'UTF8')) FROM unnest($2, $3, $4, $5) AS r (run, n, id, nr) \
     JOIN interlock.people AS people ON people.tenant = $1 AND people.revision = r.n";
const PERSON: &str = "SELECT r.nr, (extract(epoch FROM own.made_at) * 1000)::bigint, own.issuer, own.person \
     FROM unnest($2, $3, $4, $5) AS r (run, n, id, nr) \
     JOIN interlock.identities AS own ON own.tenant = $1 AND own.subject = r.id";
const VOTE: &str = "SELECT r.nr, vote.at_ms, vote.request, vote.question, vote.subject, vote.groups, vote.yes, \
     vote.note, vote.revision FROM unnest($2, $3, $4, $5) AS r (run, n, id, nr) \
     JOIN interlock.votes AS vote ON vote.tenant = $1 AND vote.run = r.run \
     AND encode(vote.digest, 'hex') = r.id";

/// Returns how entries of a kind are read; `None`: there is no such kind.
fn reader(kind: &str) -> Option<Reader> {
    let reader: Reader = match kind {
        "run_made" => (RUN, run),
        "event" => (EVENT, event),
        "command" => (COMMAND, command),
        "token_made" => (TOKEN, token_made),
        "token_revoked" => (TOKEN, token_revoked),
        "bundle_published" => (BUNDLE, bundle),
        "policy_loaded" => (POLICY, policy),
        "person_signed_in" => (PERSON, person),
        "vote" => (VOTE, vote),
        _ => return None,
    };
    Some(reader)
}

/// Reads the contents of entries as JSON; `None` where there is nothing any more.
pub(super) async fn contents(
    leased: &Leased,
    tenant: &str,
    subjects: &[Subject],
) -> Result<Vec<Option<Vec<u8>>>, SharedError> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, subject) in subjects.iter().enumerate() {
        groups.entry(&subject.kind).or_default().push(at);
    }
    let mut contents = vec![None; subjects.len()];
    for (kind, places) in groups {
        let Some((statement, write)) = reader(kind) else {
            continue;
        };
        let of: Vec<&Subject> = places.iter().filter_map(|at| subjects.get(*at)).collect();
        for row in rows(leased, statement, tenant, &of).await? {
            let fields = Fields { leased, row };
            let nr: i64 = fields.get(0)?;
            let at = usize::try_from(nr).ok().and_then(|nr| places.get(nr));
            let place = at.and_then(|at| Some((subjects.get(*at)?, contents.get_mut(*at)?)));
            if let Some((subject, place)) = place {
                *place = Some(write(subject, &fields)?);
            }
        }
    }
    Ok(contents)
}

async fn rows(
    leased: &Leased,
    statement: &str,
    tenant: &str,
    subjects: &[&Subject],
) -> Result<Vec<Row>, SharedError> {
    let runs: Vec<&str> = subjects.iter().map(|one| &*one.run).collect();
    let ns: Vec<i64> = subjects.iter().map(|one| one.n).collect();
    let ids: Vec<&str> = subjects.iter().map(|one| &*one.id).collect();
    let numbers: Vec<i64> = (0..).take(subjects.len()).collect();
    let values: [(&(dyn ToSql + Sync), Type); 5] = [
        (&tenant, Type::TEXT),
        (&runs, Type::TEXT_ARRAY),
        (&ns, Type::INT8_ARRAY),
        (&ids, Type::TEXT_ARRAY),
        (&numbers, Type::INT8_ARRAY),
    ];
    let found = leased.client.query_typed(statement, &values).await;
    found.map_err(|error| failed(leased.place(), &error))
}

#[derive(Serialize)]
struct RunMade<'a> {
    kind: &'static str,
    at_ms: i64,
    run: &'a str,
    workflow: &'a str,
    name: Option<&'a str>,
    /// The hash that the first event is chained to.
    digest: String,
    started_by: Option<&'a str>,
    reply: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct EventSeen<'a> {
    kind: &'static str,
    at_ms: i64,
    run: &'a str,
    seq: i64,
    prev: String,
    hash: String,
    event: Box<RawValue>,
}

#[derive(Serialize)]
struct CommandSent<'a> {
    kind: &'static str,
    at_ms: i64,
    run: &'a str,
    id: &'a str,
    digest: String,
    /// Who has sent it; none for one that was not sent to a server.
    subject: Option<&'a str>,
    role: Option<&'a str>,
    drives: bool,
    /// The number of events after it.
    seq: i64,
    reply: Box<RawValue>,
}

#[derive(Serialize)]
struct Token<'a> {
    kind: &'static str,
    at_ms: i64,
    id: &'a str,
    role: &'a str,
    subject: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_ms: Option<i64>,
    /// The issuer whose ID token it was exchanged for.
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<&'a str>,
    /// The groups that the issuer has named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<&'a str>,
    /// Whether it is for one run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    one_run: bool,
}

#[derive(Serialize)]
struct BundlePublished<'a> {
    kind: &'static str,
    at_ms: i64,
    name: &'a str,
    revision: i64,
    key: &'a str,
    digest: String,
}

#[derive(Serialize)]
struct PolicyLoaded<'a> {
    kind: &'static str,
    at_ms: i64,
    revision: i64,
    by: &'a str,
    /// The SHA-256 of the file.
    sha256: String,
}

#[derive(Serialize)]
struct PersonSignedIn<'a> {
    kind: &'static str,
    at_ms: i64,
    issuer: &'a str,
    /// The issuer's own id of the person.
    person: &'a str,
    /// The name that the person has from then on.
    subject: &'a str,
}

fn run(subject: &Subject, fields: &Fields<'_>) -> Found {
    let reply: Option<&[u8]> = fields.get(6)?;
    json(
        fields,
        &RunMade {
            kind: "run_made",
            at_ms: fields.get(1)?,
            run: &subject.run,
            workflow: fields.get(2)?,
            name: fields.get(3)?,
            digest: fields.hex(4)?,
            started_by: fields.get(5)?,
            reply: reply.map(|reply| raw(fields, reply)).transpose()?,
        },
    )
}

fn event(subject: &Subject, fields: &Fields<'_>) -> Found {
    json(
        fields,
        &EventSeen {
            kind: "event",
            at_ms: fields.get(1)?,
            run: &subject.run,
            seq: subject.n,
            prev: fields.hex(2)?,
            hash: fields.hex(3)?,
            event: raw(fields, fields.get(4)?)?,
        },
    )
}

fn command(subject: &Subject, fields: &Fields<'_>) -> Found {
    json(
        fields,
        &CommandSent {
            kind: "command",
            at_ms: subject.at_ms,
            run: &subject.run,
            id: &subject.id,
            digest: fields.hex(1)?,
            reply: raw(fields, fields.get(2)?)?,
            seq: fields.get(3)?,
            subject: fields.get(4)?,
            role: fields.get(5)?,
            drives: fields.get(6)?,
        },
    )
}

fn token_made(subject: &Subject, fields: &Fields<'_>) -> Found {
    json(
        fields,
        &Token {
            kind: "token_made",
            at_ms: fields.get(1)?,
            id: &subject.id,
            role: fields.get(2)?,
            subject: fields.get(3)?,
            expires_ms: Some(fields.get(4)?),
            issuer: fields.get(6)?,
            groups: fields.get::<&str>(7)?.split_whitespace().collect(),
            one_run: fields.get(8)?,
        },
    )
}

fn token_revoked(subject: &Subject, fields: &Fields<'_>) -> Found {
    // Made valid again, it has no such time, and its entry no longer fits.
    let at_ms: Option<i64> = fields.get(5)?;
    json(
        fields,
        &Token {
            kind: "token_revoked",
            at_ms: at_ms.unwrap_or_default(),
            id: &subject.id,
            role: fields.get(2)?,
            subject: fields.get(3)?,
            expires_ms: None,
            issuer: None,
            groups: Vec::new(),
            one_run: false,
        },
    )
}

fn bundle(subject: &Subject, fields: &Fields<'_>) -> Found {
    json(
        fields,
        &BundlePublished {
            kind: "bundle_published",
            at_ms: fields.get(1)?,
            name: fields.get(2)?,
            revision: subject.n,
            key: fields.get(3)?,
            digest: fields.hex(4)?,
        },
    )
}

fn policy(subject: &Subject, fields: &Fields<'_>) -> Found {
    json(
        fields,
        &PolicyLoaded {
            kind: "policy_loaded",
            at_ms: fields.get(1)?,
            revision: subject.n,
            by: fields.get(2)?,
            sha256: fields.hex(3)?,
        },
    )
}

fn person(subject: &Subject, fields: &Fields<'_>) -> Found {
    json(
        fields,
        &PersonSignedIn {
            kind: "person_signed_in",
            at_ms: fields.get(1)?,
            issuer: fields.get(2)?,
            person: fields.get(3)?,
            subject: &subject.id,
        },
    )
}

fn vote(subject: &Subject, fields: &Fields<'_>) -> Found {
    let groups: &str = fields.get(5)?;
    json(
        fields,
        &VoteCast {
            kind: "vote".to_owned(),
            at_ms: fields.get(1)?,
            run: subject.run.clone(),
            request: fields.get(2)?,
            question: fields.hex(3)?,
            subject: fields.get(4)?,
            groups: groups.split_whitespace().map(str::to_owned).collect(),
            yes: fields.get(6)?,
            note: fields.get(7)?,
            revision: fields.get(8)?,
            digest: subject.id.clone(),
        },
    )
}
