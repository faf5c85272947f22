//! `serve` and `token`: the server of a log, and who may use it.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    net::SocketAddr,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use interlock_core::{instant::utc, names::RunId};
use interlock_shared::{ServeSettings, TokenCard, serve as serve_log};
use interlock_store::{Durability, EventLog as _, JoinedRun, RunFolder, record};
use serde_json::json;

use crate::{
    args::{ServeKeys, Target, TokenCommand},
    bundles::{self, Remote},
    commands::{Done, database, home, log, person_home, say},
    keys, people,
};

pub(crate) fn serve(
    target: &Target,
    (listen, behind_proxy): (SocketAddr, bool),
    keys: &ServeKeys,
    sign_in: Option<&Path>,
) -> Done {
    let audit_key = keys.audit_key.as_deref();
    let settings = ServeSettings {
        listen,
        behind_proxy,
        state: home()?.path().to_owned(),
        bundle_keys: keys::of_tenants(&keys.bundle_key)?,
        audit_key: audit_key.map(|key| keys::private(Some(key))).transpose()?,
        sign_in: people::sign_in(sign_in)?,
    };
    serve_log(database(target)?, &settings, |address| {
        let url = format!("http://{address}");
        say(target, &url, &json!({ "url": url }))?;
        io::stdout().flush()
    })?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn join(
    target: &Target,
    (run, server, token_file): (&str, &str, &Path),
    project: Option<&Path>,
    bundle_key: Option<&Path>,
) -> Done {
    let run = RunId::new(run);
    record::check_run_id(&run)?;
    let failed =
        |path: &Path, error: io::Error| format!("cannot read `{}`: {error}", path.display());
    let token = fs::read_to_string(token_file).map_err(|error| failed(token_file, error))?;
    let project = project.unwrap_or(Path::new("."));
    let project = fs::canonicalize(project).map_err(|error| failed(project, error))?;
    let joined = JoinedRun {
        server: server.to_owned(),
        token: token.trim().to_owned(),
        project_root: project.clone(),
        person_home: person_home().unwrap_or_else(|| PathBuf::from("/")),
    };
    let bundle = match bundle_key {
        Some(key) => {
            let (server, token) = (&*joined.server, &*joined.token);
            Some(Remote { server, token }.bundle(key)?)
        }
        None => None,
    };
    let home = home()?.opening_joined(interlock_fleet::open);
    // Asked before anything is written, so that a refusal leaves nothing behind.
    let folder = RunFolder::new(home.path(), home.path(), Durability::Power);
    let log = interlock_fleet::open(&run, &joined, folder)?;
    let folded = log.load()?;
    if folded.is_over() {
        return Err(format!("run `{run}` is over: start another one").into());
    }
    if let Some(bundle) = &bundle {
        bundles::check_run(bundle, &log)?;
    }
    home.join_run(&run, &joined)?;
    let (place, whose) = (
        project.display(),
        match home.session_of(&run)? {
            // Joined anew, with another address or token.
            Some(_) => "its session",
            None => {
                home.lock_bindings()?.wait_for_next(&run, &project, None)?;
                "the next session"
            }
        },
    );
    let text = format!("run {run} of {server} guards {whose} in {place}");
    let value = json!({ "run": run, "server": server, "project": project });
    say(target, &text, &value)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn token(target: &Target, command: TokenCommand) -> Done {
    let log = log(target)?;
    match command {
        TokenCommand::Create {
            role,
            subject,
            days,
            output,
        } => {
            let role = role.into();
            let make = || log.make_token(role, &subject, days);
            let value = |id: &str| {
                json!({
                    "id": id, "tenant": log.tenant().as_str(), "role": role, "subject": subject,
                    "days": days,
                })
            };
            match output {
                Some(path) => {
                    let id = keep(&path, make)?;
                    let text = format!("token {id} in {}", path.display());
                    say(target, &text, &value(&id))?;
                }
                None => {
                    let (id, token) = make()?;
                    let mut value = value(&id);
                    if let Some(fields) = value.as_object_mut() {
                        fields.insert("token".to_owned(), json!(token));
                    }
                    say(target, &token, &value)?;
                }
            }
        }
        TokenCommand::List => {
            for card in log.tokens()? {
                say(target, &line(&card), &json!(card))?;
            }
        }
        TokenCommand::Revoke { id } => {
            if !log.revoke_token(&id)? {
                let tenant = log.tenant();
                let shows = "`interlock shared token list` shows the ids";
                return Err(format!("tenant `{tenant}` has no token `{id}`: {shows}").into());
            }
            let text =
                format!("token {id} is revoked; a running server refuses it within a second");
            say(target, &text, &json!({ "id": id, "status": "revoked" }))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn line(card: &TokenCard) -> String {
    let TokenCard {
        id,
        role,
        subject,
        expires_ms,
        status,
        ..
    } = card;
    let role = role.as_str();
    format!(
        "{id} {role} {subject} {status}, expires {}",
        utc(*expires_ms)
    )
}

/// Writes a new token to a file that only its owner can read; an existing file is not written to.
pub(crate) fn keep<E: Into<Box<dyn std::error::Error>>>(
    path: &Path,
    make: impl FnOnce() -> Result<(String, String), E>,
) -> Result<String, Box<dyn std::error::Error>> {
    let failed = |error: io::Error| format!("cannot write `{}`: {error}", path.display());
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o600);
    // Before the token is made: one that nobody could read would stay valid.
    let mut file = options.open(path).map_err(failed)?;
    let made = make();
    if made.is_err() {
        let _ = std::fs::remove_file(path);
    }
    let (id, token) = made.map_err(|error| -> Box<dyn std::error::Error> { error.into() })?;
    writeln!(file, "{token}")
        .and_then(|()| file.sync_all())
        .map_err(failed)?;
    Ok(id)
}
