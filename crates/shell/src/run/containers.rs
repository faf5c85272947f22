//! Programs that start containers, and the host paths that they mount.

use interlock_core::facts::PathText;

use crate::paths;
use crate::value::Arg;
use crate::walk::Walker;

/// Programs that start containers.
const PROGRAMS: [&str; 5] = [
    "docker",
    "docker-compose",
    "podman",
    "podman-compose",
    "nerdctl",
];

/// Single-letter options without a value that may precede another one.
const FLAGS: &str = "itdPqT";

impl Walker<'_> {
    /// Records the host paths that a container may write, as far as its words show.
    pub(super) fn containers(&mut self, name: &str, operands: &[Arg]) {
        if !PROGRAMS.contains(&name) {
            return;
        }
        let has = |verb: &str| operands.iter().any(|word| word.is(verb));
        if has("run") || has("create") {
            self.mounts(name, operands);
        }
        if has("cp") {
            self.copied_out(name, operands);
        }
    }

    fn mounts(&mut self, name: &str, operands: &[Arg]) {
        let mut words = operands.iter();
        while let Some(word) = words.next() {
            let start = word.start();
            let (option, joined) = match start.split_once('=') {
                Some((option, _)) if start.starts_with('-') => {
                    (option, Some(after(word, option.len() + 1)))
                }
                _ => (start, None),
            };
            match option {
                "--volume" => {
                    if let Some(value) = joined.or_else(|| words.next().cloned()) {
                        self.volume(name, &value);
                    }
                }
                "--mount" => {
                    if let Some(value) = joined.or_else(|| words.next().cloned()) {
                        self.mount(name, &value);
                    }
                }
                "--volumes-from" => {
                    self.facts.write_path(PathText::Unknown, name, true);
                }
                _ if start.starts_with('-') && !start.starts_with("--") => {
                    let letters = start.trim_start_matches('-');
                    let flags = letters.trim_start_matches(|letter| FLAGS.contains(letter));
                    let Some(rest) = flags.strip_prefix('v') else {
                        continue;
                    };
                    let taken = start.len() - rest.trim_start_matches('=').len();
                    let is_whole = rest.is_empty() && word.literal().is_some();
                    let value = if is_whole {
                        words.next().cloned()
                    } else {
                        Some(after(word, taken))
                    };
                    if let Some(value) = value {
                        self.volume(name, &value);
                    }
                }
                _ => {}
            }
        }
    }

    /// Handles `SOURCE:TARGET[:OPTIONS]`; a source without a slash is a named volume.
    fn volume(&mut self, name: &str, value: &Arg) {
        let Some(text) = self.here_written_out(value) else {
            return;
        };
        let mut parts = text.split(':');
        let (Some(source), Some(_)) = (parts.next(), parts.next()) else {
            return;
        };
        let is_place = source.contains('/') || source.starts_with(['.', '~']);
        let reads = parts.any(|options| {
            options
                .split(',')
                .any(|one| one == "ro" || one == "readonly")
        });
        if is_place {
            self.hands_over(name, source, reads);
        }
    }

    /// Handles `type=bind,source=PLACE,target=PLACE[,readonly]`.
    fn mount(&mut self, name: &str, value: &Arg) {
        let Some(text) = self.here_written_out(value) else {
            return;
        };
        let fields = || {
            text.split(',')
                .map(|field| field.split_once('=').unwrap_or((field, "")))
        };
        let reads = fields().any(|(key, value)| {
            matches!(key, "ro" | "readonly") && matches!(value, "" | "true" | "1")
        });
        let is_bind = fields().any(|(key, value)| key == "type" && value == "bind");
        for (key, value) in fields() {
            let source = match key {
                "source" | "src" if is_bind => value,
                // A volume that is another name of a path.
                "volume-opt" => match value.split_once("device=") {
                    Some((_, device)) => device,
                    None => continue,
                },
                _ => continue,
            };
            self.hands_over(name, source, reads);
        }
    }

    /// Returns the known text of a word; if the line asks for its directory, that.
    fn here_written_out(&self, value: &Arg) -> Option<String> {
        match value {
            Arg::Literal(text) => Some(text.clone()),
            Arg::Dynamic(dynamic) => {
                let source = dynamic.source.replace(['"', '\''], "");
                let here = self.directory()?;
                let text = source
                    .replace("$(pwd)", &here)
                    .replace("`pwd`", &here)
                    .replace("${PWD}", &here)
                    .replace("$PWD", &here);
                // Only the beginning of any other word counts.
                let known = text.find(['$', '`']).and_then(|at| text.get(..at));
                match known {
                    None => Some(text),
                    Some("") => None,
                    Some(beginning) => Some(format!("{beginning}:")),
                }
            }
        }
    }

    /// Records a path outside the project that a container reads or may write.
    fn hands_over(&mut self, name: &str, source: &str, reads: bool) {
        let directory = self.directory();
        let source = match (source.strip_prefix('~'), &self.setting.home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                format!("{home}{rest}")
            }
            _ => source.to_owned(),
        };
        let place = Arg::text(&source);
        if reads {
            self.facts.read(&place, directory.as_deref(), name, true);
            return;
        }
        let root = &self.setting.project_root;
        let is_inside = paths::absolute(&source, directory.as_deref()).is_some_and(|path| {
            path == *root
                || path
                    .strip_prefix(root.as_str())
                    .is_some_and(|rest| rest.starts_with('/'))
        });
        if !is_inside {
            self.write_below(&place, name);
        }
    }

    /// Handles `docker cp CONTAINER:SOURCE PLACE`, which writes the path.
    fn copied_out(&mut self, name: &str, operands: &[Arg]) {
        let is_option = |word: &&Arg| !word.may_be_option();
        let words: Vec<&Arg> = operands.iter().filter(is_option).collect();
        let (Some(source), Some(target)) = (words.iter().rev().nth(1), words.last()) else {
            return;
        };
        if source.start().contains(':') && !target.start().contains(':') && !target.is("-") {
            let directory = self.directory();
            self.facts.write(target, directory.as_deref(), name);
        }
    }
}

/// Returns a word without its first bytes.
fn after(word: &Arg, taken: usize) -> Arg {
    match word {
        Arg::Literal(text) => Arg::text(text.get(taken..).unwrap_or_default()),
        Arg::Dynamic(dynamic) => {
            let mut rest = dynamic.clone();
            rest.start = dynamic.start.get(taken..).unwrap_or_default().to_owned();
            let source = dynamic.source.replace(['"', '\''], "");
            rest.source = source.get(taken..).unwrap_or_default().to_owned();
            Arg::Dynamic(rest)
        }
    }
}
