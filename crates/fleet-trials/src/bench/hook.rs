//! Whole hooks, each a process, in a project that has joined a run of a server.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{bare, tls::TlsProxy};
use crate::{
    figures::{Figures, percentile},
    site::{GUARDED, Site, new_name},
};

const ROUNDS: usize = 300;
const TLS_BAR: Duration = Duration::from_millis(20);

/// Measures hooks that connect to the server of their machine.
pub(super) fn cold(site: &Site, figures: &mut Figures) {
    let server = site.server(&site.words());
    let url = format!("http://{}", server.address);
    let machine = Machine::joined(site, (&server.address.to_string(), &url), None);
    report(
        site,
        figures,
        ("a whole hook, cold, over loopback", None),
        &machine,
    );
}

/// Measures hooks that connect through a proxy with a certificate.
pub(super) fn cold_tls(site: &Site, figures: &mut Figures) {
    let server = site.server(&site.words());
    let proxy = TlsProxy::before(server.address, &site.folder("tls"));
    let machine = Machine::joined(
        site,
        (&server.address.to_string(), &proxy.url()),
        Some(&proxy.authority),
    );
    report(
        site,
        figures,
        ("a whole hook, cold, through TLS", Some(TLS_BAR)),
        &machine,
    );
}

fn report(
    site: &Site,
    figures: &mut Figures,
    (what, bar): (&str, Option<Duration>),
    machine: &Machine,
) {
    let mut times: Vec<Duration> = (0..ROUNDS).map(|at| machine.judged(at)).collect();
    times.drain(..10);
    let mut bare = bare::alone(site, bare::sizes(site), ROUNDS);
    for (of_hundred, bar) in [(50, None), (99, bar)] {
        figures.time_beside(
            &format!("{what}, p{of_hundred}"),
            percentile(&mut times, of_hundred),
            bar,
            percentile(&mut bare, of_hundred),
        );
    }
}

/// A machine with its own home and its own copy of the project.
struct Machine {
    home: PathBuf,
    shop: PathBuf,
    program: PathBuf,
    authority: Option<PathBuf>,
}

impl Machine {
    /// Starts a run at the server, joins it through `url`, and begins a session.
    fn joined(site: &Site, (direct, url): (&str, &str), authority: Option<&Path>) -> Self {
        let home = site.folder(&new_name("machine"));
        let shop = home.join("shop");
        fs::create_dir_all(shop.join(".git")).unwrap();
        fs::write(shop.join("a.txt"), "one\n").unwrap();
        let machine = Self {
            shop: shop.canonicalize().unwrap(),
            home,
            program: site.programs.interlock(),
            authority: authority.map(Path::to_owned),
        };
        let ana = site.token("person", "ana");
        let mut client = crate::http::Client::new(direct.parse().unwrap(), crate::site::PATIENCE);
        let body = crate::site::start_body("trial.yaml", GUARDED);
        let started = client
            .post("/v1/runs", (&ana, "start"), &body)
            .unwrap()
            .json();
        let token = machine.home.join("token");
        fs::write(&token, site.token("agent", "ana")).unwrap();
        let mut join = machine.command(&site.programs.shared());
        join.args([
            "join",
            started["run"].as_str().unwrap(),
            "--server",
            url,
            "--token-file",
        ]);
        let joined = join.arg(&token).output().unwrap();
        assert!(
            joined.status.success(),
            "{}",
            String::from_utf8_lossy(&joined.stderr)
        );
        machine.hook(&machine.event("SessionStart", json!({ "source": "startup" })));
        machine
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &self.home)
            .env("XDG_STATE_HOME", self.home.join("state"))
            .env("XDG_CONFIG_HOME", self.home.join("config"))
            .current_dir(&self.shop);
        if let Some(authority) = &self.authority {
            command.env("SSL_CERT_FILE", authority);
        }
        command
    }

    fn event(&self, name: &str, more: Value) -> Value {
        let mut input = json!({
            "session_id": "5f1c3a52-6a0e-4a4e-9d37-0c5a4c1b7e21", "cwd": self.shop,
            "transcript_path": self.home.join("t.jsonl"),
            "permission_mode": "default", "hook_event_name": name,
        });
        for (key, value) in more.as_object().unwrap() {
            input[key] = value.clone();
        }
        input
    }

    fn hook(&self, input: &Value) -> String {
        let mut command = self.command(&self.program);
        command
            .args(["hook", "claude-code"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut hook = command.spawn().unwrap();
        let mut to = hook.stdin.take().unwrap();
        to.write_all(input.to_string().as_bytes()).unwrap();
        drop(to);
        let output = hook.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Has a call judged, which must be allowed; returns the time of the whole process.
    fn judged(&self, at: usize) -> Duration {
        let input = json!({ "file_path": self.shop.join("a.txt") });
        let call =
            json!({ "tool_name": "Read", "tool_use_id": format!("r{at}"), "tool_input": input });
        let event = self.event("PreToolUse", call);
        let begun = Instant::now();
        let said = self.hook(&event);
        let took = begun.elapsed();
        assert!(!said.contains("\"deny\""), "{said}");
        took
    }
}
