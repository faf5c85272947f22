//! `login` and `exchange`: how a person or a CI job gets a token of a server.

mod flows;
mod http;

use std::{
    error::Error,
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use interlock_core::{instant::utc, visible::visible_lines};
use interlock_fleet::{IssuerLine, Issuers, JobBody, SignInBody, SignedIn};
use serde::Serialize;
use serde_json::json;

use self::{flows::Issuer, http::Http};
use crate::{
    args::{ExchangeArguments, LoginArguments, Target},
    commands::{Done, say},
    people::read,
    serving::keep,
};

pub(crate) fn login(target: &Target, arguments: &LoginArguments) -> Done {
    let http = Http::new()?;
    let server = http::server(&arguments.server)?;
    check_free(arguments.output.as_deref())?;
    let mut address = server.join("/v1/sign-in")?;
    address
        .query_pairs_mut()
        .append_pair("tenant", &target.tenant);
    let known: Issuers = http.answer(&address, None::<&()>)?;
    let line = chosen(&known.issuers, arguments.issuer.as_deref(), &target.tenant)?;
    if arguments.device && !line.device {
        let issuer = &line.issuer;
        return Err(format!("the server lets nobody of {issuer} sign in without a browser on their machine: leave `--device` out").into());
    }
    let IssuerLine {
        issuer,
        client_id,
        minutes,
        ..
    } = line;
    tell(&format!(
        "Sign in at {issuer} as its client `{client_id}`, for tenant `{}` of {}.\n\
         What you grant: a token that starts runs, answers requests, and pauses, resumes and cancels runs in your\n\
         name, as far as the policy of the tenant lets you. It is valid for {minutes} minutes.",
        target.tenant, arguments.server,
    ))?;
    let at = Issuer::find(&http, line)?;
    let (id_token, nonce_secret) = if arguments.device {
        (at.by_device(&http)?, None)
    } else {
        let (id_token, secret) = at.by_browser(&http)?;
        (id_token, Some(secret))
    };
    let body = SignInBody {
        tenant: target.tenant.clone(),
        id_token,
        nonce_secret,
    };
    let output = arguments.output.as_deref();
    exchanged(target, &http, (&server.join("/v1/sign-in")?, &body), output)
}

pub(crate) fn exchange(target: &Target, arguments: &ExchangeArguments) -> Done {
    let http = Http::new()?;
    let server = http::server(&arguments.server)?;
    check_free(arguments.output.as_deref())?;
    let body = JobBody {
        tenant: target.tenant.clone(),
        id_token: read(&arguments.id_token_file)?.trim().to_owned(),
        run: arguments.run.clone(),
    };
    let output = arguments.output.as_deref();
    exchanged(
        target,
        &http,
        (&server.join("/v1/sign-in/job")?, &body),
        output,
    )
}

/// Exchanges an ID token, and prints the new one or writes it to `output`.
fn exchanged(
    target: &Target,
    http: &Http,
    (address, body): (&reqwest::Url, &impl Serialize),
    output: Option<&Path>,
) -> Done {
    let mut made = None;
    let mut make = || -> Result<(String, String), Box<dyn Error>> {
        let signed: SignedIn = http.answer(address, Some(body))?;
        let both = (signed.id.clone(), signed.token.clone());
        made = Some(signed);
        Ok(both)
    };
    let token = match output {
        Some(path) => {
            keep(path, make)?;
            None
        }
        None => Some(make()?.1),
    };
    let Some(signed) = made else {
        return Err("the server has answered nothing".into());
    };
    let mut value = json!({
        "id": signed.id, "tenant": target.tenant, "role": signed.role, "subject": signed.subject,
        "groups": signed.groups, "run": signed.run, "expires_ms": signed.expires_ms,
    });
    let text = match (&token, output) {
        (Some(token), _) => token.clone(),
        (None, path) => format!(
            "token {} of {} in {}, until {}",
            signed.id,
            signed.subject,
            path.unwrap_or(Path::new("-")).display(),
            utc(signed.expires_ms)
        ),
    };
    if let (Some(token), Some(fields)) = (token, value.as_object_mut()) {
        fields.insert("token".to_owned(), json!(token));
    }
    say(target, &text, &value)?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses a file that exists before anybody signs in for it.
fn check_free(output: Option<&Path>) -> Result<(), String> {
    match output.filter(|path| path.exists()) {
        Some(path) => Err(format!(
            "`{}` exists: name another file, or remove it",
            path.display()
        )),
        None => Ok(()),
    }
}

fn chosen<'a>(
    all: &'a [IssuerLine],
    wanted: Option<&str>,
    tenant: &str,
) -> Result<&'a IssuerLine, String> {
    let names: Vec<&str> = all.iter().map(|one| one.issuer.as_str()).collect();
    let found = match wanted {
        Some(wanted) => all.iter().find(|one| one.issuer == wanted),
        None => all.first().filter(|_| all.len() == 1),
    };
    found.ok_or_else(|| match names.as_slice() {
        [] => format!(
            "nobody signs in for tenant `{tenant}` of this server: `interlock shared serve --sign-in FILE` names issuers"
        ),
        names => format!("say `--issuer` with one of {}", names.join(", ")),
    })
}

/// Says something to the person, on standard error: the token alone is on standard output.
fn tell(text: &str) -> io::Result<()> {
    writeln!(io::stderr(), "{}", visible_lines(text))
}
