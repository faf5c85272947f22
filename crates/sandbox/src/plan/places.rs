//! Places that programs of `allowed_commands` are known to need.

use std::path::{Path, PathBuf};

use crate::plan::{WritablePlace, derive::PlanContext};

/// A place that a program writes, with its base directory.
#[derive(Debug, Clone, Copy)]
enum At {
    /// Below the project, created first if the named file is next to it.
    Build(&'static str, &'static str),
    /// Below the project, if it exists.
    Project(&'static str),
    /// Below the person's home.
    Home(&'static str),
    /// Below the person's cache directories.
    Cache(&'static str),
    /// The repository.
    Repository,
}

use At::{Build, Cache, Home, Project, Repository};

/// Places that cargo and the tools that call it use outside the project.
const CARGO: &[At] = &[
    Build("target", "Cargo.toml"),
    Home(".cargo/registry"),
    Home(".cargo/git"),
    Home(".cargo/.package-cache"),
    Home(".cargo/.package-cache-mutate"),
    Home(".cargo/.global-cache"),
];

const NODE: &[At] = &[
    Build("node_modules/.cache", "."),
    Build("node_modules/.vite", "."),
    Build("node_modules/.vitest", "."),
    Home(".npm"),
    Cache("node"),
    Cache("node-gyp"),
];

const YARN: &[At] = &[
    Build("node_modules/.cache", "."),
    Project(".yarn/cache"),
    Project(".yarn/install-state.gz"),
    Home(".yarn"),
    Cache("yarn"),
];

const PNPM: &[At] = &[
    Build("node_modules/.cache", "."),
    Home(".local/share/pnpm/store"),
    Home(".local/state/pnpm"),
    Cache("pnpm"),
];

const BUN: &[At] = &[
    Build("node_modules/.cache", "."),
    Home(".bun/install/cache"),
];

const PYTEST: &[At] = &[
    Build(".pytest_cache", "pyproject.toml"),
    Build(".pytest_cache", "pytest.ini"),
    Build(".pytest_cache", "setup.py"),
    Build(".pytest_cache", "setup.cfg"),
    Build(".pytest_cache", "tox.ini"),
    Project(".pytest_cache"),
    Project(".hypothesis"),
];

const PYTHON_PACKAGES: &[At] = &[Cache("pip"), Cache("uv"), Cache("pypoetry"), Cache("pdm")];

const GO: &[At] = &[Cache("go-build"), Home("go/pkg")];

const MAVEN: &[At] = &[
    Build("target", "pom.xml"),
    Home(".m2/repository"),
    Home(".m2/wrapper"),
];

const GRADLE: &[At] = &[
    Build("build", "build.gradle"),
    Build("build", "build.gradle.kts"),
    Build(".gradle", "build.gradle"),
    Build(".gradle", "build.gradle.kts"),
    Build(".gradle", "settings.gradle"),
    Build(".gradle", "settings.gradle.kts"),
    Home(".gradle/caches"),
    Home(".gradle/daemon"),
    Home(".gradle/native"),
    Home(".gradle/wrapper"),
    Home(".gradle/notifications"),
];

const SBT: &[At] = &[
    Build("target", "build.sbt"),
    Project("project/target"),
    Project("project/project"),
    Home(".ivy2"),
    Home(".sbt"),
    Cache("coursier"),
];

const DOTNET: &[At] = &[
    Project("bin"),
    Project("obj"),
    Home(".nuget/packages"),
    Home(".dotnet"),
    Home(".local/share/NuGet"),
];

const RUBY: &[At] = &[
    Project("vendor/bundle"),
    Project("coverage"),
    Cache("bundle"),
];

/// Places that each program writes, by its name.
const KNOWN: &[(&str, &[At])] = &[
    ("ant", &[Project("build")]),
    ("bazel", &[Cache("bazel"), Cache("bazelisk")]),
    ("black", &[Cache("black")]),
    ("bun", BUN),
    ("bunx", BUN),
    ("bundle", RUBY),
    (
        "cabal",
        &[
            Project("dist-newstyle"),
            Home(".cabal"),
            Home(".local/state/cabal"),
            Cache("cabal"),
        ],
    ),
    ("cargo", CARGO),
    ("cargo-nextest", CARGO),
    ("ccache", &[Home(".ccache"), Cache("ccache")]),
    ("cmake", &[Build("build", "CMakeLists.txt")]),
    ("composer", &[Home(".composer/cache"), Cache("composer")]),
    ("ctest", &[Project("build")]),
    ("cross", CARGO),
    ("deno", &[Cache("deno")]),
    ("dotnet", DOTNET),
    ("eslint", NODE),
    ("git", &[Repository]),
    ("go", GO),
    (
        "golangci-lint",
        &[Cache("golangci-lint"), Cache("go-build"), Home("go/pkg")],
    ),
    ("gradle", GRADLE),
    ("gradlew", GRADLE),
    ("jest", NODE),
    ("just", &[]),
    ("make", &[]),
    (
        "meson",
        &[
            Build("builddir", "meson.build"),
            Build("build", "meson.build"),
        ],
    ),
    (
        "mix",
        &[
            Build("_build", "mix.exs"),
            Project("deps"),
            Home(".hex"),
            Home(".mix"),
            Cache("rebar3"),
        ],
    ),
    ("mvn", MAVEN),
    ("mvnw", MAVEN),
    (
        "mypy",
        &[
            Build(".mypy_cache", "pyproject.toml"),
            Project(".mypy_cache"),
        ],
    ),
    (
        "ninja",
        &[Project("build"), Project("builddir"), Project("out")],
    ),
    ("npm", NODE),
    ("npx", NODE),
    ("nx", &[Build("node_modules/.cache", "."), Project(".nx")]),
    ("pip", PYTHON_PACKAGES),
    ("pip3", PYTHON_PACKAGES),
    ("pnpm", PNPM),
    ("pnpx", PNPM),
    ("poetry", PYTHON_PACKAGES),
    ("pre-commit", &[Cache("pre-commit")]),
    ("py.test", PYTEST),
    ("pytest", PYTEST),
    ("python", PYTEST),
    ("python3", PYTEST),
    ("rake", RUBY),
    ("rspec", RUBY),
    (
        "ruff",
        &[
            Build(".ruff_cache", "pyproject.toml"),
            Project(".ruff_cache"),
            Cache("ruff"),
        ],
    ),
    ("sbt", SBT),
    ("scala-cli", SBT),
    ("stack", &[Project(".stack-work"), Home(".stack")]),
    (
        "swift",
        &[Build(".build", "Package.swift"), Cache("org.swift.swiftpm")],
    ),
    (
        "tox",
        &[
            Build(".tox", "tox.ini"),
            Project(".tox"),
            Project(".pytest_cache"),
        ],
    ),
    ("nox", &[Build(".nox", "noxfile.py")]),
    (
        "turbo",
        &[Build("node_modules/.cache", "."), Project(".turbo")],
    ),
    ("uv", PYTHON_PACKAGES),
    ("uvx", PYTHON_PACKAGES),
    ("vite", NODE),
    ("vitest", NODE),
    ("yarn", YARN),
    (
        "zig",
        &[
            Build(".zig-cache", "build.zig"),
            Build("zig-out", "build.zig"),
            Cache("zig"),
        ],
    ),
];

/// Lists the places that `program` is known to write.
///
/// Those in the project are relative to its root and to every directory down to `directory`.
pub(super) fn of_program(
    program: &str,
    directory: &Path,
    context: &PlanContext,
) -> Vec<WritablePlace> {
    let rows = KNOWN.iter().find(|(name, _)| *name == program);
    let bases = bases(directory, &context.project);
    rows.into_iter()
        .flat_map(|(_, rows)| rows.iter())
        .flat_map(|row| places(*row, &bases, context))
        .collect()
}

/// Lists the caches outside the project of every known program.
pub(super) fn of_all(context: &PlanContext) -> Vec<WritablePlace> {
    let mut places: Vec<WritablePlace> = Vec::new();
    for row in KNOWN.iter().flat_map(|(_, rows)| rows.iter()) {
        if matches!(row, Home(_)) {
            places.extend(self::places(*row, &[], context));
        }
    }
    places
}

fn places(row: At, bases: &[PathBuf], context: &PlanContext) -> Vec<WritablePlace> {
    let below = |roots: &[PathBuf], path: &str| {
        roots
            .iter()
            .map(|root| WritablePlace::at(root.join(path)))
            .collect()
    };
    match row {
        Build(path, beside) => bases
            .iter()
            .map(|base| WritablePlace {
                path: base.join(path),
                made_beside: Some(beside.to_owned()),
                within: None,
            })
            .collect(),
        Project(path) => below(bases, path),
        Home(path) => below(std::slice::from_ref(&context.home), path),
        Cache(path) => below(&context.caches, path),
        Repository if context.repository.is_empty() => {
            vec![WritablePlace::at(context.project.join(".git"))]
        }
        Repository => context
            .repository
            .iter()
            .cloned()
            .map(WritablePlace::at)
            .collect(),
    }
}

/// Returns the project root and each directory from there to `directory`, if that is inside.
fn bases(directory: &Path, project: &Path) -> Vec<PathBuf> {
    if !directory.starts_with(project) {
        return vec![project.to_path_buf()];
    }
    let inside = |path: &&Path| path.starts_with(project);
    directory
        .ancestors()
        .take_while(inside)
        .map(Path::to_path_buf)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(row: At, context: &PlanContext) -> Vec<PathBuf> {
        let bases = [context.project.join("sub"), context.project.clone()];
        let places = places(row, &bases, context).into_iter();
        places.map(|place| place.path).collect()
    }

    #[test]
    fn each_row_is_below_its_own_root() {
        let mut context = PlanContext {
            project: "/p".into(),
            home: "/home/me".into(),
            caches: vec!["/home/me/.cache".into(), "/cache".into()],
            ..PlanContext::default()
        };
        let all = |texts: &[&str]| texts.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(
            paths(Project("out"), &context),
            all(&["/p/sub/out", "/p/out"])
        );
        assert_eq!(paths(Home(".x"), &context), all(&["/home/me/.x"]));
        let caches = all(&["/home/me/.cache/x", "/cache/x"]);
        assert_eq!(paths(Cache("x"), &context), caches);
        assert_eq!(paths(Repository, &context), all(&["/p/.git"]));
        // A further working tree shares the repository of another directory.
        context.repository = all(&["/main/.git", "/main/.git/worktrees/p"]);
        let shared = all(&["/main/.git", "/main/.git/worktrees/p"]);
        assert_eq!(paths(Repository, &context), shared);
    }

    #[test]
    fn places_of_the_project_are_never_above_or_beside_it() {
        let project = Path::new("/home/p");
        for (directory, bases) in [
            ("/home/p", &["/home/p"][..]),
            ("/home/p/a/b", &["/home/p/a/b", "/home/p/a", "/home/p"]),
            ("/home", &["/home/p"]),
            ("/home/pp", &["/home/p"]),
            ("/", &["/home/p"]),
        ] {
            let found = super::bases(Path::new(directory), project);
            let wanted: Vec<PathBuf> = bases.iter().map(PathBuf::from).collect();
            assert_eq!(found, wanted, "{directory}");
        }
    }
}
