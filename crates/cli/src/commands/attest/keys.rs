//! The key that signs attestations: a file of the person's, or a program of theirs.

use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use anyhow::Context as _;
use interlock_attest::{Envelope, PublicKey, SecretKey, Signature, read_signature};
use interlock_clients::notify::find;
use interlock_project::AttestConfig;

use crate::{
    app::App,
    args::AttestFormat,
    authority,
    failure::{Done, Failure},
};

/// The key's name in the state directory, which no guarded agent reads or writes.
const FILE: &str = "attest.key";
/// Most bytes of a file with a key.
const BYTES_MAX: u64 = 64 * 1024;
/// Most bytes that a program that signs may print.
const PRINTED_MAX: u64 = 4_096;

/// Who signs.
pub(super) enum Signer {
    /// A key.
    Key(SecretKey),
    /// A program, whose signatures are checked with this key.
    Program(PathBuf, Vec<String>, PublicKey),
}

impl Signer {
    /// Returns the form that is written where none is asked for.
    pub(super) const fn own_format(&self) -> AttestFormat {
        match self {
            Self::Key(_) => AttestFormat::Dsse,
            Self::Program(..) => AttestFormat::Sigstore,
        }
    }

    /// Signs an envelope.
    pub(super) fn sign(&self, envelope: Envelope) -> Result<Envelope, Failure> {
        let (program, arguments, public) = match self {
            Self::Key(key) => return Ok(envelope.signed(key)),
            Self::Program(program, arguments, public) => (program, arguments, public),
        };
        let signed = envelope.pae();
        let printed = run(program, arguments, signed.clone())?;
        let shown = program.display();
        let bytes = read_signature(&printed).ok_or_else(|| {
            anyhow::anyhow!("`{shown}` printed no ed25519 signature: it must print its 64 bytes, or those in Base64")
        })?;
        if !public.has_signed(&signed, &bytes) {
            return Err(anyhow::anyhow!(
                "the signature that `{shown}` printed is not one of `[attest] public_key`: nothing was written"
            )
            .into());
        }
        let key = public.id();
        let signatures = vec![Signature { key, bytes }];
        Ok(Envelope {
            signatures,
            ..envelope
        })
    }
}

/// Finds who signs: the key that is named, the program that is configured, or the key in the state directory.
pub(super) fn signer(
    app: &App,
    named: Option<&Path>,
    config: &AttestConfig,
) -> Result<Signer, Failure> {
    if named.is_some() || config.signer.is_empty() {
        return Ok(Signer::Key(load(app, named)?));
    }
    let (Some(program), Some(public)) = (config.signer.first(), &config.public_key) else {
        return Err(Failure::usage(anyhow::anyhow!(
            "`[attest] signer` needs `public_key` beside it: the file with the key that its signatures are checked with"
        )));
    };
    if !public.is_absolute() {
        return Err(Failure::usage(anyhow::anyhow!(
            "`[attest] public_key` must be an absolute path"
        )));
    }
    let env = |name: &str| crate::app::variable(name);
    let found = find(program, &env, &app.project());
    let found = found.ok_or_else(|| {
        Failure::usage(anyhow::anyhow!(
            "`[attest] signer` names `{program}`, which is not a program outside of this project"
        ))
    })?;
    let text = read(public)?;
    let key = PublicKey::from_pem(&text)
        .map_err(|error| anyhow::anyhow!("`{}`: {error}", public.display()))?;
    let arguments = config.signer.iter().skip(1).cloned().collect();
    Ok(Signer::Program(found, arguments, key))
}

/// Runs a program that signs; it may ask the person at the terminal.
fn run(program: &Path, arguments: &[String], bytes: Vec<u8>) -> Result<Vec<u8>, Failure> {
    let shown = program.display();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("`{shown}` cannot be started"))?;
    if let Some(mut to) = child.stdin.take() {
        // A program that reads less than it is told says so by its signature.
        thread::spawn(move || drop(to.write_all(&bytes)));
    }
    let mut printed = Vec::new();
    if let Some(from) = child.stdout.take() {
        from.take(PRINTED_MAX).read_to_end(&mut printed)?;
    }
    let ended = child.wait()?;
    if ended.success() {
        return Ok(printed);
    }
    Err(anyhow::anyhow!("`{shown}` did not sign: it ended with {ended}").into())
}

/// Makes a key where there is none.
pub(super) fn make(app: &App, named: Option<&Path>) -> Done {
    authority::person(app, None)?;
    let path = place(app, named)?;
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)
        .map_err(|error| anyhow::anyhow!("the system has no random bytes: {error}"))?;
    let public = SecretKey::from_seed(&seed)?.public();
    if let Some(above) = path.parent().filter(|above| !above.exists()) {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(above)
            .with_context(|| format!("`{}` cannot be made", above.display()))?;
    }
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(&path);
    let text = SecretKey::pem_of_seed(&seed);
    file.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    })
    .map_err(|error| {
        let advice = match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                "; `interlock attest public-key` prints its public part, and another place is named with `--key`"
            }
            _ => "",
        };
        anyhow::anyhow!("`{}` cannot be written: {error}{advice}", path.display())
    })?;
    app.output.error(&format!(
        "the private key is in `{}`, readable by you alone; add this public key to `.interlock/attest.pub` of your main branch:\n",
        path.display()
    ))?;
    app.output.text(&public.to_pem())
}

/// Prints the public part of a key.
pub(super) fn show(app: &App, named: Option<&Path>) -> Done {
    authority::person(app, None)?;
    app.output.text(&load(app, named)?.public().to_pem())
}

/// Returns where the key is, and refuses a place in the project.
fn place(app: &App, named: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(named) = named else {
        return Ok(app.home()?.path().join(FILE));
    };
    let path = app.directory.join(named);
    let above = path.parent().unwrap_or(&path);
    let real = above.canonicalize().unwrap_or_else(|_| above.to_owned());
    if real.starts_with(app.project()) {
        return Err(Failure::usage(anyhow::anyhow!(
            "`{}` is in the project, where agents work: keep the key elsewhere, as in the state directory, which is used without `--key`",
            path.display()
        )));
    }
    Ok(path)
}

/// Reads the key, which nobody else may be able to read.
fn load(app: &App, named: Option<&Path>) -> Result<SecretKey, Failure> {
    let path = place(app, named)?;
    let shown = path.display();
    let about = fs::metadata(&path).map_err(|error| {
        let advice = match error.kind() {
            std::io::ErrorKind::NotFound if named.is_none() => {
                ": make a key with `interlock attest keygen`"
            }
            _ => "",
        };
        anyhow::anyhow!("the key `{shown}` cannot be read: {error}{advice}")
    })?;
    if about.permissions().mode() & 0o077 != 0 {
        return Err(anyhow::anyhow!(
            "others can read the key `{shown}`: make a new one, or run `chmod 600` on it if nobody has seen it"
        )
        .into());
    }
    let text = read(&path)?;
    SecretKey::from_pem(&text).map_err(|error| anyhow::anyhow!("the key `{shown}`: {error}").into())
}

/// Reads a file with a key.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let mut text = String::new();
    let mut read = || -> std::io::Result<()> {
        if !fs::metadata(path)?.is_file() {
            return Err(std::io::Error::other("it is not a regular file"));
        }
        let file = fs::File::open(path)?;
        file.take(BYTES_MAX).read_to_string(&mut text).map(drop)
    };
    read().map_err(|error| Failure::from(anyhow::anyhow!("`{shown}` cannot be read: {error}")))?;
    Ok(text)
}
