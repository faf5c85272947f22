//! A real browser, driven by `tests/console/browser.mjs`: one command and one answer per line.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Mutex,
};

use serde_json::{Value, json};

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    pipes: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
}

impl Browser {
    pub(crate) fn start() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/console");
        let packages = folder.join("node_modules/playwright-core");
        assert!(packages.is_dir(), "run `cargo xtask setup`");
        let mut child = Command::new("node")
            .arg("browser.mjs")
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let pipes = Mutex::new((input, output));
        Self { child, pipes }
    }

    /// Sends a command to the page; returns the answer.
    pub(crate) fn tell(&self, what: &str, options: Value) -> Value {
        let mut command = json!({ "do": what });
        for (key, value) in options.as_object().into_iter().flatten() {
            command[key] = value.clone();
        }
        let mut pipes = self.pipes.lock().unwrap();
        let (input, output) = &mut *pipes;
        writeln!(input, "{command}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert!(
            answer["error"].is_null(),
            "{}",
            answer["error"].as_str().unwrap_or_default()
        );
        answer
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends by itself when it gets no more commands; after a failed test, nobody waits for that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
