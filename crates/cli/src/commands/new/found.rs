//! Detects from a project's own files how it is built and tested.

use std::{fs, path::Path};

use serde::Serialize;
use serde_json::Value;

/// How one kind of project is tested and built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Found {
    /// Kind of the project: `npm`, `cargo`, `pytest`, …
    pub(super) kind: &'static str,
    /// File that shows it.
    pub(super) file: &'static str,
    /// Command that runs all its tests; `None` if there is none.
    pub(super) test: Option<String>,
    /// Further commands of the project, such as its linter.
    pub(super) others: Vec<String>,
}

/// Maximum size of a file that is read, in bytes.
const BYTES_MAX: u64 = 1_048_576;

/// Examines the files in a project's root.
///
/// `make` counts only if nothing else determines how the project is tested.
pub(super) fn look(root: &Path) -> Vec<Found> {
    let place = ProjectFolder { root };
    let makers: [fn(&ProjectFolder<'_>) -> Option<Found>; 10] = [
        node, deno, cargo, python, go, maven, gradle, dotnet, elixir, ruby,
    ];
    let mut found: Vec<Found> = makers.iter().filter_map(|look| look(&place)).collect();
    if found.iter().all(|one| one.test.is_none()) {
        found.extend(make(&place));
    }
    found
}

struct ProjectFolder<'p> {
    root: &'p Path,
}

impl ProjectFolder<'_> {
    fn has(&self, name: &str) -> bool {
        self.root.join(name).exists()
    }

    fn text(&self, name: &str) -> Option<String> {
        let path = self.root.join(name);
        let size = fs::metadata(&path).ok()?.len();
        (size <= BYTES_MAX).then(|| fs::read_to_string(&path).ok())?
    }

    fn says(&self, name: &str, word: &str) -> bool {
        self.text(name).is_some_and(|text| text.contains(word))
    }

    fn has_ending(&self, endings: &[&str]) -> bool {
        let entries = fs::read_dir(self.root).into_iter().flatten().flatten();
        let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.any(|name| endings.iter().any(|ending| name.ends_with(ending)))
    }
}

fn found(kind: &'static str, file: &'static str, test: &str, others: &[&str]) -> Found {
    Found {
        kind,
        file,
        test: Some(test.to_owned()),
        others: others.iter().map(|text| (*text).to_owned()).collect(),
    }
}

/// Scripts of `package.json` that an agent may need besides the tests.
const SCRIPTS: [&str; 5] = ["lint", "typecheck", "type-check", "build", "format:check"];

fn node(place: &ProjectFolder<'_>) -> Option<Found> {
    let package: Value = serde_json::from_str(&place.text("package.json")?).ok()?;
    let named = package.get("packageManager").and_then(Value::as_str);
    let is = |kind: &str, locks: &[&str]| match named {
        Some(named) => named.split('@').next() == Some(kind),
        None => locks.iter().any(|lock| place.has(lock)),
    };
    let kind = if is("pnpm", &["pnpm-lock.yaml"]) {
        "pnpm"
    } else if is("yarn", &["yarn.lock"]) {
        "yarn"
    } else if is("bun", &["bun.lock", "bun.lockb"]) {
        "bun"
    } else {
        "npm"
    };
    let script = |name: &str| {
        let scripts = package.get("scripts")?;
        scripts.get(name)?.as_str()
    };
    // The script that `npm init` writes is not a test.
    let test = script("test").filter(|text| !text.contains("no test specified"));
    let test = match (kind, test) {
        ("bun", Some(_)) => Some("bun run test".to_owned()),
        ("bun", None) => Some("bun test".to_owned()),
        (kind, Some(_)) => Some(format!("{kind} test")),
        (_, None) => None,
    };
    let others = SCRIPTS.iter().filter(|name| script(name).is_some());
    Some(Found {
        kind,
        file: "package.json",
        test,
        others: others.map(|name| format!("{kind} run {name}")).collect(),
    })
}

fn deno(place: &ProjectFolder<'_>) -> Option<Found> {
    let file = ["deno.json", "deno.jsonc"];
    let file = file.into_iter().find(|file| place.has(file))?;
    Some(found(
        "deno",
        file,
        "deno test",
        &["deno lint", "deno check"],
    ))
}

fn cargo(place: &ProjectFolder<'_>) -> Option<Found> {
    place.has("Cargo.toml").then(|| {
        let test = if place.has(".config/nextest.toml") {
            "cargo nextest run"
        } else {
            "cargo test"
        };
        let others = ["cargo check", "cargo clippy", "cargo build"];
        found("cargo", "Cargo.toml", test, &others)
    })
}

fn python(place: &ProjectFolder<'_>) -> Option<Found> {
    let files = [
        "pyproject.toml",
        "pytest.ini",
        "tox.ini",
        "setup.cfg",
        "setup.py",
        "requirements.txt",
        "Pipfile",
    ];
    let file = files.into_iter().find(|file| place.has(file))?;
    let project = |word: &str| place.says("pyproject.toml", word);
    let pytest = ["pytest.ini", "conftest.py", "tests/conftest.py"]
        .iter()
        .any(|file| place.has(file))
        || files.iter().any(|file| place.says(file, "pytest"));
    let unittest = || place.has("tests") || place.has("test");
    let (kind, test) = if place.has("uv.lock") || project("[tool.uv") {
        ("uv", "uv run pytest")
    } else if place.has("poetry.lock") || project("[tool.poetry") {
        ("poetry", "poetry run pytest")
    } else if pytest {
        ("pytest", "pytest")
    } else if place.has("tox.ini") {
        ("tox", "tox")
    } else if unittest() {
        ("python", "python -m unittest")
    } else {
        return Some(Found {
            kind: "python",
            file,
            test: None,
            others: Vec::new(),
        });
    };
    let others: &[&str] = if project("[tool.ruff") {
        &["ruff check"]
    } else {
        &[]
    };
    Some(found(kind, file, test, others))
}

fn go(place: &ProjectFolder<'_>) -> Option<Found> {
    let others = ["go build ./...", "go vet ./..."];
    place
        .has("go.mod")
        .then(|| found("go", "go.mod", "go test ./...", &others))
}

fn maven(place: &ProjectFolder<'_>) -> Option<Found> {
    let test = if place.has("mvnw") {
        "./mvnw test"
    } else {
        "mvn test"
    };
    place
        .has("pom.xml")
        .then(|| found("maven", "pom.xml", test, &[]))
}

fn gradle(place: &ProjectFolder<'_>) -> Option<Found> {
    let files = [
        "build.gradle",
        "build.gradle.kts",
        "settings.gradle",
        "settings.gradle.kts",
    ];
    let file = files.into_iter().find(|file| place.has(file))?;
    let test = if place.has("gradlew") {
        "./gradlew test"
    } else {
        "gradle test"
    };
    Some(found("gradle", file, test, &[]))
}

fn dotnet(place: &ProjectFolder<'_>) -> Option<Found> {
    place
        .has_ending(&[".sln", ".slnx", ".csproj", ".fsproj"])
        .then(|| {
            found(
                "dotnet",
                "its project file",
                "dotnet test",
                &["dotnet build"],
            )
        })
}

fn elixir(place: &ProjectFolder<'_>) -> Option<Found> {
    place
        .has("mix.exs")
        .then(|| found("mix", "mix.exs", "mix test", &["mix compile"]))
}

fn ruby(place: &ProjectFolder<'_>) -> Option<Found> {
    let specs = place.has("Gemfile") && place.has("spec");
    specs.then(|| found("rspec", "Gemfile", "bundle exec rspec", &[]))
}

fn make(place: &ProjectFolder<'_>) -> Option<Found> {
    let files = ["Makefile", "makefile", "GNUmakefile"];
    let file = files.into_iter().find(|file| place.has(file))?;
    let text = place.text(file)?;
    let has = |target: &str| {
        text.lines().any(|line| {
            line.strip_prefix(target)
                .is_some_and(|rest| rest.trim_start().starts_with(':') && !rest.contains(":="))
        })
    };
    let test = ["test", "check", "tests"]
        .into_iter()
        .find(|target| has(target));
    let others = ["lint", "build"].into_iter().filter(|target| has(target));
    Some(Found {
        kind: "make",
        file,
        test: test.map(|target| format!("make {target}")),
        others: others.map(|target| format!("make {target}")).collect(),
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use std::fs;

    use super::look;

    /// Writes files, and compares the detected kinds with their expected test commands.
    fn check(files: &[(&str, &str)], expected: &[(&str, Option<&str>)]) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = look(root.path());
        let seen: Vec<(&str, Option<&str>)> = found
            .iter()
            .map(|one| (one.kind, one.test.as_deref()))
            .collect();
        assert_eq!(seen, expected, "{files:?}");
    }

    #[test]
    fn every_kind_of_project_is_known_by_its_files() {
        let script = r#"{"scripts": {"test": "vitest run", "lint": "eslint ."}}"#;
        check(&[("package.json", script)], &[("npm", Some("npm test"))]);
        for (lock, kind, test) in [
            ("pnpm-lock.yaml", "pnpm", "pnpm test"),
            ("yarn.lock", "yarn", "yarn test"),
            ("bun.lock", "bun", "bun run test"),
        ] {
            check(
                &[("package.json", script), (lock, "")],
                &[(kind, Some(test))],
            );
        }
        let managed = r#"{"packageManager": "pnpm@9.1.0", "scripts": {"test": "x"}}"#;
        check(
            &[("package.json", managed), ("yarn.lock", "")],
            &[("pnpm", Some("pnpm test"))],
        );
        check(&[("Cargo.toml", "")], &[("cargo", Some("cargo test"))]);
        check(
            &[("Cargo.toml", ""), (".config/nextest.toml", "")],
            &[("cargo", Some("cargo nextest run"))],
        );
        check(
            &[("pyproject.toml", "[tool.pytest.ini_options]")],
            &[("pytest", Some("pytest"))],
        );
        check(
            &[("pyproject.toml", ""), ("uv.lock", "")],
            &[("uv", Some("uv run pytest"))],
        );
        check(
            &[("pyproject.toml", "[tool.poetry]")],
            &[("poetry", Some("poetry run pytest"))],
        );
        check(
            &[("setup.py", ""), ("tests/a.py", "")],
            &[("python", Some("python -m unittest"))],
        );
        check(&[("go.mod", "")], &[("go", Some("go test ./..."))]);
        check(
            &[("pom.xml", ""), ("mvnw", "")],
            &[("maven", Some("./mvnw test"))],
        );
        check(
            &[("build.gradle.kts", "")],
            &[("gradle", Some("gradle test"))],
        );
        check(&[("shop.sln", "")], &[("dotnet", Some("dotnet test"))]);
        check(
            &[("Makefile", "test: a\n\techo\n")],
            &[("make", Some("make test"))],
        );
    }

    #[test]
    fn what_is_no_test_is_not_taken_for_one() {
        let fresh = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        check(&[("package.json", fresh)], &[("npm", None)]);
        check(
            &[("package.json", fresh), ("Makefile", "check:\n\ttrue\n")],
            &[("npm", None), ("make", Some("make check"))],
        );
        check(&[("Makefile", "test := x\nall:\n")], &[("make", None)]);
        check(&[], &[]);
    }

    #[test]
    fn a_project_of_two_kinds_has_two() {
        let script = r#"{"scripts": {"test": "vitest run"}}"#;
        check(
            &[
                ("package.json", script),
                ("Cargo.toml", ""),
                ("Makefile", "test:\n"),
            ],
            &[("npm", Some("npm test")), ("cargo", Some("cargo test"))],
        );
    }
}
