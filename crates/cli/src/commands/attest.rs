//! `attest`: what a run proves of the commit that is checked out, signed.

mod facts;
mod files;
pub(super) mod keys;

use std::{io::Write as _, path::Path};

use interlock_attest::{Envelope, Statement};
use interlock_project::Config;
use serde_json::json;

use crate::{
    app::{self, App},
    args::{AttestArgs, AttestCommand, AttestFormat},
    authority,
    failure::{Done, Failure},
    live::now_ms,
};

pub(crate) fn run(app: &App, args: &AttestArgs) -> Done {
    match &args.command {
        Some(AttestCommand::Keygen { key }) => keys::make(app, key.as_deref()),
        Some(AttestCommand::PublicKey { key }) => keys::show(app, key.as_deref()),
        None => attest(app, args),
    }
}

fn attest(app: &App, args: &AttestArgs) -> Done {
    let id = app.find_run(args.run.as_deref())?;
    // A guarded agent could sign for the person as it could approve for them.
    authority::person(app, Some(&id))?;
    let person = Config::of_person(app::configuration().as_deref())?;
    let signer = keys::signer(app, args.key.as_deref(), &person.attest)?;
    let now_ms = now_ms();
    let lasts = u64::try_from(args.expires.as_millis()).unwrap_or(u64::MAX);
    let statement = facts::statement(app, &id, (now_ms, now_ms.saturating_add(lasts)))?;
    let envelope = signer.sign(Envelope::of_statement(serde_json::to_vec(&statement)?))?;
    let form = args.format.unwrap_or(signer.own_format());
    let text = match form {
        AttestFormat::Dsse => envelope.to_json(),
        AttestFormat::Sigstore => envelope.to_bundle(),
    };
    let key = envelope.signatures.first().map(|one| one.key.clone());
    let key = key.unwrap_or_default();
    let Some(path) = &args.output else {
        app.output.document(&format!("{text}\n"))?;
        return app
            .output
            .error(&lines(&statement, &key).join("\n"))
            .and(app.output.error("\n"));
    };
    write(&app.directory.join(path), &text)?;
    if args.json {
        let predicate = &statement.predicate;
        return app.output.json(&json!({
            "file": path, "run": predicate.run.id, "commit": statement.commit(), "tree": statement.tree(),
            "key": key, "expires": predicate.expires_at, "log": predicate.log, "status": predicate.run.status,
            "guards": predicate.guards, "approvals": predicate.approvals,
        }));
    }
    for line in lines(&statement, &key) {
        app.output.line(&line)?;
    }
    Ok(())
}

/// Says what was signed, and what of it does not count for the commit.
fn lines(statement: &Statement, key: &str) -> Vec<String> {
    let predicate = &statement.predicate;
    let commit: String = statement
        .commit()
        .unwrap_or_default()
        .chars()
        .take(12)
        .collect();
    let mut lines = vec![format!(
        "attested commit {commit} by run `{}` of `{}` ({}), until {}, with key {}",
        predicate.run.id,
        predicate.workflow.id,
        predicate.run.status,
        predicate.expires_at,
        key.chars().take(12).collect::<String>()
    )];
    for guard in &predicate.guards {
        let stands = match (guard.holds, guard.on_commit) {
            (true, None | Some(true)) => "holds".to_owned(),
            _ => format!(
                "does not count: {}",
                guard.why.as_deref().unwrap_or_default()
            ),
        };
        lines.push(format!("guard `{}` {stands}", guard.name));
    }
    for approval in &predicate.approvals {
        let stands = match &approval.why {
            Some(why) => format!(", does not count: {why}"),
            None => String::new(),
        };
        lines.push(format!(
            "approval {} of `{}` by {}{stands}",
            approval.id, approval.about, approval.by
        ));
    }
    lines
}

fn write(path: &Path, text: &str) -> Done {
    let written = std::fs::File::create(path).and_then(|mut file| writeln!(file, "{text}"));
    written.map_err(|error| {
        Failure::from(anyhow::anyhow!(
            "`{}` cannot be written: {error}",
            path.display()
        ))
    })
}
