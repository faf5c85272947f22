//! `people`: who may do what in the tenant. Also the issuers of a server, as `serve` reads them.

use std::{fs, path::Path, process::ExitCode};

use interlock_core::instant::utc;
use interlock_shared::SignIn;
use serde_json::json;

use crate::{
    args::{PeopleCommand, Target},
    commands::{Done, log, say},
};

pub(crate) fn people(target: &Target, command: PeopleCommand) -> Done {
    let log = log(target)?;
    match command {
        PeopleCommand::Load { file, by } => {
            let text = read(&file)?;
            let loaded = log.load_people(&text, &by, None);
            let revision = loaded.map_err(|error| format!("`{}`: {error}", file.display()))?;
            let text = format!(
                "revision {revision} of the policy of tenant {}",
                log.tenant()
            );
            let value = json!({ "tenant": log.tenant().as_str(), "revision": revision });
            say(target, &text, &value)?;
        }
        PeopleCommand::Show => {
            let loaded = log.loaded_people()?.ok_or_else(|| {
                let tenant = log.tenant();
                format!(
                    "tenant `{tenant}` has no policy: every person starts and approves; `interlock shared people load` loads one"
                )
            })?;
            let value = json!({
                "tenant": log.tenant().as_str(), "revision": loaded.revision, "by": loaded.by,
                "at": utc(loaded.at_ms), "text": loaded.text,
            });
            say(target, loaded.text.trim_end(), &value)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the issuers of a server; none without a file.
pub(crate) fn sign_in(file: Option<&Path>) -> Result<SignIn, Box<dyn std::error::Error>> {
    let Some(file) = file else {
        return Ok(SignIn::default());
    };
    let parsed = SignIn::parse(&read(file)?);
    Ok(parsed.map_err(|error| format!("`{}`: {error}", file.display()))?)
}

pub(crate) fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("cannot read `{}`: {error}", file.display()))
}
