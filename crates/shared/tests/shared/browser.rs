//! Real browsers with the console of a team, driven by `tests/console/team.mjs`: one command and one answer per line.

use std::{
    env,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Mutex,
};

use serde_json::{Value, json};

/// A browser with a window for each person.
pub(crate) struct Browser {
    child: Child,
    pipes: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
}

impl Browser {
    /// Starts one; `None` if it is not installed here, which is reported.
    pub(crate) fn start() -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/console");
        let chromium = env::var_os("CHROMIUM").map_or("/usr/bin/chromium".into(), PathBuf::from);
        if !folder.join("node_modules/playwright-core").is_dir() || !chromium.is_file() {
            let what = "a browser is not installed here: `cargo xtask setup` installs it";
            assert!(env::var_os("CI").is_none(), "{what}");
            println!("left out: {what}");
            return None;
        }
        let mut child = Command::new("node")
            .arg("team.mjs")
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let pipes = Mutex::new((input, output));
        Some(Self { child, pipes })
    }

    /// Sends a command to the window of `who`; returns the answer.
    #[track_caller]
    pub(crate) fn tell(&self, who: &str, what: &str, options: &Value) -> Value {
        let mut command = json!({ "do": what, "who": who });
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

    /// Waits until an element has a text; returns all of its text.
    #[track_caller]
    pub(crate) fn waits(&self, who: &str, of: &str, text: &str) -> String {
        let found = self.tell(who, "waits", &json!({ "of": of, "text": text }));
        found["text"].as_str().unwrap().to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends by itself when it gets no more commands; after a failed test, nobody waits for that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
