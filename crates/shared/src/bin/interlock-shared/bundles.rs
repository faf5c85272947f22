//! `bundle` and `start`: signed workflows, and runs that start from them.

use std::{
    collections::BTreeMap,
    error::Error,
    fs::{self, File},
    io::{Read as _, Write as _},
    path::Path,
    process::ExitCode,
    time::{SystemTime, UNIX_EPOCH},
};

use interlock_core::{instant::utc, machine::Machine};
use interlock_fleet::{FleetError, StartBody, WorkflowFile, current_bundle, start_run};
use interlock_shared::{
    Accepted, BUNDLE_BYTES_MAX, BundleName, BundleRefusal, CheckedBundle, KeptBundles, Tenant,
    check_stricter, new_bundle,
};
use interlock_store::{RunLog, SourceFile};
use serde_json::{Value, json};

use crate::{
    args::{BundleCommand, StartArgs, Target},
    commands::{Done, home, log, say},
    keys,
};

/// Milliseconds of a day.
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

pub(crate) fn bundle(target: &Target, command: BundleCommand) -> Done {
    match command {
        BundleCommand::Create {
            folder,
            name,
            revision,
            days,
            key,
            output,
        } => {
            let tenant = Tenant::new(&target.tenant)?;
            let name = BundleName::new(&name).ok_or(
                "a bundle has a name of at most 63 small letters, digits, `-` and `_`, a letter first",
            )?;
            let key = keys::private(key.as_deref())?;
            let now_ms = now_ms();
            let times = (now_ms, now_ms.saturating_add(days.saturating_mul(DAY_MS)));
            let bytes = new_bundle((&tenant, &name, revision), times, files(&folder)?, &key)?;
            let made = CheckedBundle::check(&bytes, &[key.public()], &tenant)?;
            made.check_workflows()?;
            let failed =
                |error: std::io::Error| format!("cannot write `{}`: {error}", output.display());
            let mut file = File::options()
                .write(true)
                .create_new(true)
                .open(&output)
                .map_err(failed)?;
            file.write_all(&bytes)
                .and_then(|()| file.sync_all())
                .map_err(failed)?;
            let text = format!("{}, in {}", about(&made), output.display());
            say(target, &text, &as_json(&made))?;
        }
        BundleCommand::Verify { file, key } => {
            let trusted = keys::public(&key)?;
            let tenant = Tenant::new(&target.tenant)?;
            let checked = CheckedBundle::check(&read(&file)?, &trusted, &tenant)?;
            checked.check_time(now_ms())?;
            checked.check_workflows()?;
            say(
                target,
                &format!("verified: {}", about(&checked)),
                &as_json(&checked),
            )?;
        }
        BundleCommand::Publish { file, key } => {
            let trusted = keys::public(&key)?;
            let bytes = read(&file)?;
            let published = log(target)?.publish_bundle(&bytes, &trusted)?;
            say(
                target,
                &format!("published: {}", about(&published)),
                &as_json(&published),
            )?;
        }
        BundleCommand::List => {
            for card in log(target)?.bundles()? {
                let short: String = card.key.chars().take(12).collect();
                let (name, revision) = (&card.name, card.revision);
                let at = utc(card.published_ms);
                let text = format!("{name} {revision} published at {at}, with key {short}");
                say(target, &text, &json!(card))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn about(bundle: &CheckedBundle) -> String {
    let manifest = &bundle.manifest;
    let short: String = bundle.key.chars().take(12).collect();
    format!(
        "bundle {} of tenant {}, revision {}, {} files, until {}, with key {short}",
        manifest.name,
        manifest.tenant,
        manifest.revision,
        manifest.files.len(),
        utc(manifest.expires_ms)
    )
}

fn as_json(bundle: &CheckedBundle) -> Value {
    let manifest = &bundle.manifest;
    json!({
        "name": manifest.name, "tenant": manifest.tenant, "revision": manifest.revision,
        "issued_ms": manifest.issued_ms, "expires_ms": manifest.expires_ms,
        "files": manifest.files, "key": bundle.key,
    })
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

/// Reads a file that may be a bundle.
fn read(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut bytes = Vec::new();
    // One byte more than a bundle may have, so that a larger one is refused as such.
    let limit = u64::try_from(BUNDLE_BYTES_MAX).unwrap_or(u64::MAX) + 1;
    File::open(path)
        .and_then(|file| file.take(limit).read_to_end(&mut bytes))
        .map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
    Ok(bytes)
}

/// Reads the files of a folder and of those in it, by their paths.
fn files(folder: &Path) -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![(folder.to_owned(), String::new())];
    let failed =
        |path: &Path, error: std::io::Error| format!("cannot read `{}`: {error}", path.display());
    while let Some((folder, before)) = waiting.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| failed(&folder, error))? {
            let entry = entry.map_err(|error| failed(&folder, error))?;
            let path = entry.path();
            let name = entry.file_name();
            let name = name
                .to_str()
                .ok_or_else(|| format!("the name of `{}` is not text", path.display()))?;
            let name = format!("{before}{name}");
            let kind = entry.file_type().map_err(|error| failed(&path, error))?;
            if kind.is_dir() {
                waiting.push((path, format!("{name}/")));
                continue;
            }
            // What a link leads to may change after it was looked at.
            if !kind.is_file() {
                return Err(format!("`{}` is not a regular file", path.display()).into());
            }
            let text = fs::read_to_string(&path).map_err(|error| failed(&path, error))?;
            found.insert(name, text);
        }
    }
    Ok(found)
}

/// A server that is used with a token.
pub(crate) struct Remote<'a> {
    pub(crate) server: &'a str,
    pub(crate) token: &'a str,
}

impl Remote<'_> {
    /// Returns the server's current bundle if it is good; otherwise, the last good one of this machine.
    pub(crate) fn bundle(&self, key: &Path) -> Result<CheckedBundle, Box<dyn Error>> {
        let trusted = keys::public(key)?;
        let tenant = self
            .token
            .strip_prefix("ils_")
            .and_then(|rest| rest.split_once('.'));
        let tenant = Tenant::new(tenant.map_or("", |(tenant, _)| tenant))
            .map_err(|_| "the token names no tenant: `interlock shared token create` makes one")?;
        let sent = match current_bundle(self.server, self.token) {
            Ok(view) => Ok(view.bundle),
            // The server says itself that its bundle is not good, or that there is none.
            Err(FleetError::Refused { code, message, .. }) if code.contains("bundle") => {
                Err(BundleRefusal::OfServer(message))
            }
            Err(error) => return Err(error.into()),
        };
        let sent = sent.as_ref().map(|sent| sent.get().as_bytes());
        let kept = KeptBundles::new(home()?.path(), self.server, &tenant);
        let Accepted { bundle, refused } =
            kept.accept(sent.map_err(Clone::clone), &trusted, now_ms())??;
        if let Some(refusal) = refused {
            let text = format!(
                "interlock: the server's bundle is refused: {refusal}\ninterlock: revision {} is used, which this machine has kept\n",
                bundle.manifest.revision
            );
            let text = interlock_core::visible::visible_lines(&text);
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
        Ok(bundle)
    }
}

/// Starts a run from the current bundle of a server, after this machine has checked it.
pub(crate) fn start(target: &Target, args: &StartArgs) -> Done {
    let token = fs::read_to_string(&args.token_file)
        .map_err(|error| format!("cannot read `{}`: {error}", args.token_file.display()))?;
    let remote = Remote {
        server: &args.server,
        token: token.trim(),
    };
    let bundle = remote.bundle(&args.bundle_key)?;
    let Some(old) = bundle.files.get(&args.file) else {
        let names: Vec<String> = bundle
            .files
            .keys()
            .map(|path| format!("`{path}`"))
            .collect();
        return Err(format!(
            "the bundle has no file `{}`: it has {}",
            args.file,
            names.join(", ")
        )
        .into());
    };
    let workflow = match &args.workflow {
        None => None,
        Some(path) => {
            let text = String::from_utf8(read(path)?)
                .map_err(|_| format!("`{}` is not text", path.display()))?;
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.unwrap_or(&args.file).to_owned();
            if text != *old {
                check_stricter((&name, &text), (&args.file, old))?;
            }
            Some(WorkflowFile { name, text })
        }
    };
    let body = StartBody {
        workflow,
        bundle: Some(args.file.clone()),
        name: args.name.clone(),
        ..StartBody::default()
    };
    let started = start_run(remote.server, remote.token, &body)?;
    let run = &started.run;
    let revision = bundle.manifest.revision;
    let used = started.bundle.as_ref().map(|used| used.revision);
    if used != Some(revision) {
        return Err(format!(
            "run {run} was started from another bundle than revision {revision}, which this machine has checked: cancel it"
        )
        .into());
    }
    let (name, file) = (&bundle.manifest.name, &args.file);
    let text = format!("run {run} follows `{file}` of bundle {name}, revision {revision}");
    let text = match args.workflow {
        Some(_) => format!("{text}, as the project tightens it"),
        None => text,
    };
    say(target, &text, &json!(started))?;
    Ok(ExitCode::SUCCESS)
}

/// Checks that a run follows a workflow of a bundle, or a stricter one.
pub(crate) fn check_run(bundle: &CheckedBundle, log: &RunLog) -> Result<(), Box<dyn Error>> {
    let SourceFile { name, text } = log.source()?;
    let source = interlock_formats::Source::new(name.clone(), text.clone());
    let loaded = interlock_formats::load(&source, None, &interlock_formats::NoWorkflows);
    let own: Option<Machine> = loaded.ok().map(|loaded| loaded.machine);
    let refused = |why: &str| {
        let manifest = &bundle.manifest;
        format!(
            "the run does not follow revision {} of bundle {}: {why}",
            manifest.revision, manifest.name
        )
    };
    // What the server decides with is what the text says.
    let Some(own) = own.filter(|own| log.machine().is_ok_and(|machine| machine == *own)) else {
        return Err(refused(
            "its machine is not what this version of Interlock compiles its workflow to",
        )
        .into());
    };
    if bundle.files.values().any(|file| *file == text) {
        return Ok(());
    }
    let mut why = format!("the bundle has no workflow `{}`", own.id);
    for (path, file) in &bundle.files {
        let source = interlock_formats::Source::new(path.clone(), file.clone());
        let loaded = interlock_formats::load(&source, None, &interlock_formats::NoWorkflows);
        if loaded.is_ok_and(|loaded| loaded.machine.id == own.id) {
            match check_stricter((&name, &text), (path, file)) {
                Ok(()) => return Ok(()),
                Err(looser) => why = looser.to_string(),
            }
        }
    }
    Err(refused(&why).into())
}
