//! A database that knows its clients by their certificates.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::atomic::{AtomicU8, Ordering},
};

use tempfile::TempDir;

use crate::{
    cluster::until,
    killed::place,
    server::{OwnServer, ROLE},
};

/// A database that lets only those connect who show a certificate of its authority.
struct Guarded {
    place: TempDir,
    own: OwnServer,
    /// An address of this machine that no other test uses.
    host: String,
    database: String,
}

fn openssl(words: &[&str]) {
    let made = Command::new("openssl").args(words).output().unwrap();
    assert!(
        made.status.success(),
        "{words:?}: {}",
        String::from_utf8_lossy(&made.stderr)
    );
}

impl Guarded {
    fn new() -> Option<Self> {
        let place = place();
        // Processes have different ids, and tests of one process different numbers.
        static STARTED: AtomicU8 = AtomicU8::new(9);
        let [.., first, second] = std::process::id().to_be_bytes();
        let last = STARTED.fetch_add(1, Ordering::Relaxed);
        let host = format!("127.{}.{second}.{last}", first.max(1));
        let listens = format!("listen_addresses={host}");
        let Some(own) = OwnServer::start(&place.path().join("s"), &["-c", &listens]) else {
            crate::server::server();
            return None;
        };
        let database = own.server.new_database();
        let guarded = Self {
            place,
            own,
            host,
            database,
        };
        guarded.authority("ca");
        guarded.authority("other");
        guarded.signed("server", "ca", "server");
        guarded.require();
        Some(guarded)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Returns the paths of a certificate and its key.
    fn pair(&self, name: &str) -> [String; 2] {
        ["pem", "key"].map(|kind| {
            let path = self.path(&format!("{name}.{kind}"));
            path.into_os_string().into_string().unwrap()
        })
    }

    fn authority(&self, name: &str) {
        let [chain, key] = self.pair(name);
        let subject = format!("/CN={name}");
        let curve = "ec_paramgen_curve:P-256";
        let mut words = vec!["req", "-x509", "-newkey", "ec", "-pkeyopt", curve, "-nodes"];
        words.extend([
            "-keyout", &key, "-out", &chain, "-subj", &subject, "-days", "2",
        ]);
        openssl(&words);
    }

    /// Creates a certificate for `who`, signed by `authority`.
    fn signed(&self, name: &str, authority: &str, who: &str) {
        let [chain, key] = self.pair(name);
        let [signer, signers_key] = self.pair(authority);
        let asked = self.path("asked").display().to_string();
        let names = self.path("names").display().to_string();
        fs::write(&names, format!("subjectAltName=IP:{}\n", self.host)).unwrap();
        let subject = format!("/CN={who}");
        let curve = "ec_paramgen_curve:P-256";
        let mut words = vec!["req", "-newkey", "ec", "-pkeyopt", curve, "-nodes"];
        words.extend(["-keyout", &key, "-out", &asked, "-subj", &subject]);
        openssl(&words);
        let mut words = vec!["x509", "-req", "-in", &asked, "-CA", &signer];
        words.extend(["-CAkey", &signers_key, "-CAcreateserial", "-out", &chain]);
        words.extend(["-days", "2", "-extfile", &names]);
        openssl(&words);
    }

    /// Has the server require a certificate.
    fn require(&self) {
        let data = self.place.path().join("s/data");
        let [chain, key] = self.pair("server");
        let files = [
            (chain, "server.crt"),
            (key, "server.key"),
            (self.pair("ca")[0].clone(), "root.crt"),
        ];
        for (from, to) in files {
            let to = data.join(to);
            fs::copy(from, &to).unwrap();
            fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).unwrap();
            let mut own = Command::new("chown");
            own.arg(format!("--reference={}", data.display())).arg(&to);
            assert!(own.status().unwrap().success());
        }
        let rules = "hostssl all all 127.0.0.0/8 cert\nlocal all all trust\n";
        fs::write(data.join("pg_hba.conf"), rules).unwrap();
        let sql = |text: &str| self.own.server.sql("postgres", text);
        sql("ALTER SYSTEM SET ssl_ca_file = 'root.crt'");
        sql("ALTER SYSTEM SET ssl = on");
        sql("SELECT pg_reload_conf()");
        until("the server has read its files", || {
            self.said(&[]).contains("certificate")
        });
    }

    fn address(&self) -> String {
        format!("postgres://{ROLE}@{}/{}", self.host, self.database)
    }

    fn call(&self, words: &[&str], variables: &[(&str, &OsStr)]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interlock-shared"));
        command
            .args(words)
            .env_clear()
            .env("HOME", self.place.path())
            .env(
                "INTERLOCK_DATABASE",
                format!("{}?sslmode=require", self.address()),
            )
            .env("SSL_CERT_FILE", self.path("ca.pem"))
            .envs(variables.iter().copied());
        command.output().unwrap()
    }

    /// Returns what `doctor` says without being able to connect.
    #[track_caller]
    fn said(&self, variables: &[(&str, &OsStr)]) -> String {
        let output = self.call(&["doctor"], variables);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8(text).unwrap()
    }

    /// Returns what `doctor` says to whoever shows a certificate.
    #[track_caller]
    fn refused(&self, certificate: &str) -> String {
        let [chain, key] = self.pair(certificate);
        self.said(&[("PGSSLCERT", chain.as_ref()), ("PGSSLKEY", key.as_ref())])
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_database_knows_a_machine_by_its_certificate() {
    let Some(guarded) = Guarded::new() else {
        return;
    };
    guarded.signed("mine", "ca", ROLE);
    guarded.signed("foreign", "other", ROLE);
    guarded.signed("stranger", "ca", "somebody");
    let [chain, key] = guarded.pair("mine");
    let mine: [(&str, &OsStr); 2] = [("PGSSLCERT", chain.as_ref()), ("PGSSLKEY", key.as_ref())];

    let without = guarded.said(&[]);
    assert!(
        without.contains("requires a valid client certificate"),
        "{without}"
    );
    let stranger = guarded.refused("stranger");
    assert!(
        stranger.contains("certificate authentication failed"),
        "{stranger}"
    );
    let foreign = guarded.refused("foreign");
    assert!(foreign.contains("cannot be reached"), "{foreign}");

    let made = guarded.call(&["init"], &mine);
    assert!(made.status.success(), "{made:?}");
    let shown = guarded.call(&["doctor", "--json"], &mine);
    let shown = String::from_utf8(shown.stdout).unwrap();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let isolation = shown.as_array().unwrap().iter();
    let isolation = isolation.filter(|check| check["check"] == "isolation");
    assert!(
        isolation.clone().count() == 1 && isolation.clone().all(|check| check["ok"] == true),
        "{shown}"
    );
    // The server has to be one that this machine trusts, whatever is shown to it.
    let other = guarded.path("other.pem");
    let untrusted = [mine[0], mine[1], ("SSL_CERT_FILE", other.as_os_str())];
    let untrusted = guarded.said(&untrusted);
    assert!(untrusted.contains("cannot be reached"), "{untrusted}");
}

#[test]
fn files_that_are_no_certificate_are_named() {
    let Some(guarded) = Guarded::new() else {
        return;
    };
    guarded.signed("mine", "ca", ROLE);
    let [chain, key] = guarded.pair("mine");
    let said = |variables: &[(&str, &str)]| {
        let variables: Vec<(&str, &OsStr)> = variables
            .iter()
            .map(|(name, value)| (*name, OsStr::new(*value)))
            .collect();
        let text = guarded.said(&variables);
        assert!(!text.contains("PRIVATE KEY"), "{text}");
        text
    };
    let one = said(&[("PGSSLCERT", &chain)]);
    assert!(one.contains("`PGSSLKEY` is not set: set both"), "{one}");
    let one = said(&[("PGSSLKEY", &key)]);
    assert!(one.contains("`PGSSLCERT` is not set: set both"), "{one}");
    let missing = said(&[("PGSSLCERT", "/nowhere.pem"), ("PGSSLKEY", &key)]);
    assert!(
        missing.contains("`/nowhere.pem`: No such file"),
        "{missing}"
    );
    let swapped = said(&[("PGSSLCERT", &chain), ("PGSSLKEY", &chain)]);
    assert!(
        swapped.contains("others can read the private key"),
        "{swapped}"
    );
    mode(chain.as_ref(), 0o600);
    let swapped = said(&[("PGSSLCERT", &chain), ("PGSSLKEY", &chain)]);
    assert!(swapped.contains("no private key in the file"), "{swapped}");
    let swapped = said(&[("PGSSLCERT", &key), ("PGSSLKEY", &key)]);
    assert!(swapped.contains("no `BEGIN CERTIFICATE`"), "{swapped}");
    let [_, other] = guarded.pair("server");
    let apart = said(&[("PGSSLCERT", &chain), ("PGSSLKEY", &other)]);
    assert!(apart.contains("`PGSSLKEY`"), "{apart}");
    mode(key.as_ref(), 0o604);
    let open = said(&[("PGSSLCERT", &chain), ("PGSSLKEY", &key)]);
    assert!(open.contains("chmod 600"), "{open}");
    mode(key.as_ref(), 0o600);
    let plain = format!("{}?sslmode=disable", guarded.address());
    let plain = said(&[
        ("PGSSLCERT", &chain),
        ("PGSSLKEY", &key),
        ("INTERLOCK_DATABASE", &plain),
    ]);
    assert!(plain.contains("sslmode=disable"), "{plain}");
}
