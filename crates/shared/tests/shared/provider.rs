//! A real OpenID provider as a process, and a browser for it: `tests/oidc`.

use std::{
    env,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Output, Stdio},
};

use serde_json::{Value, json};

use crate::api::send_to;

/// A running provider; it ends with its standard input.
pub(crate) struct Provider {
    process: Child,
    pub(crate) issuer: String,
    /// Open as long as the provider, which writes notes there.
    _output: BufReader<ChildStdout>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oidc")
}

impl Provider {
    /// Starts one; `None` if it is not installed here, which is reported.
    pub(crate) fn start() -> Option<Self> {
        if !folder().join("node_modules/oidc-provider").is_dir() {
            let what = "oidc-provider is not installed here: `cargo xtask setup` installs it";
            assert!(env::var_os("CI").is_none(), "{what}");
            println!("left out: {what}");
            return None;
        }
        let mut process = Command::new("node")
            .arg("provider.mjs")
            .current_dir(folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let issuer = said["issuer"].as_str().unwrap().to_owned();
        Some(Self {
            process,
            issuer,
            _output: out,
        })
    }

    fn post(&self, path: &str, body: &Value) -> String {
        let host = self.issuer.strip_prefix("http://").unwrap();
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.0\r\nHost: {host}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let reply = send_to(host, &request).unwrap();
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.text
    }

    /// Signs claims with one of the provider's keys, or with a `foreign` one.
    pub(crate) fn mint(&self, key: &str, header: &Value, claims: &Value) -> String {
        let body = json!({ "key": key, "header": header, "claims": claims });
        self.post("/mint", &body)
    }

    /// Has the provider call a person otherwise from now on.
    pub(crate) fn rename(&self, account: &str, name: &str) {
        self.post("/rename", &json!({ "account": account, "name": name }));
    }

    /// Ends the provider.
    pub(crate) fn end(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.end();
    }
}

/// Has `account` follow an address as a browser would; returns the text of the last page.
pub(crate) fn browse(address: &str, account: &str, code: &str) -> String {
    let Output { stdout, stderr, .. } = Command::new("node")
        .args(["browser.mjs", address, account, code])
        .current_dir(folder())
        .output()
        .unwrap();
    let text = String::from_utf8(stdout).unwrap();
    assert!(!text.is_empty(), "{}", String::from_utf8_lossy(&stderr));
    text
}
