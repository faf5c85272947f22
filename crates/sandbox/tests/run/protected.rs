//! Protected things after a writing line: unchanged, restored or quarantined, and reported.

use std::fs;
use std::path::Path;

use interlock_sandbox::plan::{Free, Protected};
use interlock_sandbox::{Answer, Change, Level};

use crate::run::trial::{Trial, User, users};

const PROTECTED: [&str; 6] = [
    ".git/hooks",
    ".claude",
    ".mcp.json",
    ".vscode",
    "none/deep",
    "linked",
];

/// Attempts on protected things, each in a writing state.
const AT_PROTECTED: &str = "
    echo evil > .git/hooks/pre-commit
    echo evil > .git/hooks/post-commit
    rm -rf .git/hooks
    chmod 777 .git/hooks/pre-commit .claude
    mv .git old && mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit
    ln -f file .git/hooks/linked; ln .git/hooks/pre-commit taken && echo evil > taken
    echo evil > .claude/settings.json; mv file .claude/settings.json
    echo evil > new && mv -f new .claude/settings.json
    rm -rf .claude; ln -s {outside} .claude
    echo evil > .mcp.json
    ln -s {outside}/file .vscode
    mkdir -p none/deep && echo evil > none/deep/x
    rm -f linked; echo evil > linked
    true";

fn protected_trial(user: User) -> Trial {
    let trial = Trial::new(user);
    for directory in [".git/hooks", ".claude", "real"] {
        fs::create_dir_all(trial.path("project").join(directory)).unwrap();
    }
    fs::write(trial.path("project/.git/hooks/pre-commit"), "good").unwrap();
    fs::write(trial.path("project/.claude/settings.json"), "{}").unwrap();
    fs::write(trial.path("project/real/settings"), "good").unwrap();
    std::os::unix::fs::symlink("real", trial.path("project/linked")).unwrap();
    trial
}

fn protected_stand(trial: &Trial) -> Vec<String> {
    let read = |name: &str| {
        let path = trial.path("project").join(name);
        let mode = |path: &std::path::Path| {
            use std::os::unix::fs::PermissionsExt;
            path.symlink_metadata()
                .map(|about| about.permissions().mode())
                .ok()
        };
        format!(
            "{name}: {:?} {:?} {:?}",
            mode(&path),
            fs::read(&path).ok(),
            fs::read_link(&path).ok()
        )
    };
    let mut stand: Vec<_> = PROTECTED.iter().map(|name| read(name)).collect();
    stand.extend(
        [
            ".git/hooks/pre-commit",
            ".claude/settings.json",
            "real/settings",
        ]
        .map(read),
    );
    for directory in [".git/hooks", ".claude"] {
        let mut names: Vec<_> = fs::read_dir(trial.path("project").join(directory))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        stand.push(format!("{names:?}"));
    }
    stand
}

#[test]
fn protected_things_are_as_before_after_a_writing_line() {
    for user in users() {
        for level in Level::ALL {
            for line in AT_PROTECTED.lines().chain([AT_PROTECTED]) {
                let trial = protected_trial(user);
                let before = protected_stand(&trial);
                let mut plan = trial.writing(line);
                trial.protect(&mut plan, &PROTECTED);
                let outcome = trial.run(&plan, level);
                let text = format!("{user:?} {level} {line}: {outcome:?}");
                assert_eq!(before, protected_stand(&trial), "{text}");
                let ended = outcome.ended.unwrap();
                let left = |one: &interlock_sandbox::Changed| matches!(one.answer, Answer::Left(_));
                assert!(!ended.changed.iter().any(left), "{text}");
            }
        }
    }
}

#[test]
fn at_full_what_is_there_is_never_touched() {
    for user in users() {
        let trial = protected_trial(user);
        let mut plan = trial.writing(
            "rm -rf .git/hooks .claude; mv .git old; echo x > .claude/settings.json; echo y > ok",
        );
        trial.protect(&mut plan, &[".git/hooks", ".claude"]);
        let ended = trial.run(&plan, Level::Full).ended.unwrap();
        assert_eq!(ended.level, Level::Full);
        assert_eq!(ended.changed, Vec::new());
        assert_eq!(fs::read_to_string(trial.path("project/ok")).unwrap(), "y\n");
    }
}

#[test]
fn what_appeared_is_moved_aside_and_told() {
    for user in users() {
        let trial = protected_trial(user);
        let mut plan = trial.writing("echo evil > .mcp.json");
        trial.protect(&mut plan, &PROTECTED);
        let ended = trial.run(&plan, Level::Full).ended.unwrap();
        let told: Vec<_> = ended
            .changed
            .iter()
            .map(|one| (&one.path, one.change))
            .collect();
        assert_eq!(told, [(&trial.path("project/.mcp.json"), Change::Appeared)]);
        let moved = ended.changed.iter().find_map(|one| match &one.answer {
            Answer::MovedAside(to) => fs::read_to_string(to).ok(),
            Answer::PutBack | Answer::Left(_) => None,
        });
        assert_eq!(moved.unwrap(), "evil\n");
    }
}

#[test]
fn everything_that_was_moved_aside_is_kept_whatever_its_name() {
    for user in users() {
        for has_place in [true, false] {
            let trial = protected_trial(user);
            let mut kept = Vec::new();
            for round in ["first", "second"] {
                let line = format!("mkdir -p a b; echo {round} a > a/rc; echo {round} b > b/rc");
                let mut plan = trial.writing(&line);
                trial.protect(&mut plan, &["a/rc", "b/rc"]);
                if !has_place {
                    plan.post_check.aside = None;
                }
                let ended = trial.run(&plan, Level::Full).ended.unwrap();
                kept.extend(
                    ended
                        .changed
                        .into_iter()
                        .filter_map(|one| match one.answer {
                            Answer::MovedAside(to) => {
                                let above = one.path.parent().and_then(Path::file_name).unwrap();
                                Some((to, format!("{round} {}\n", above.display())))
                            }
                            Answer::PutBack | Answer::Left(_) => None,
                        }),
                );
            }
            assert_eq!(kept.len(), 4, "{kept:?}");
            for (to, text) in kept {
                assert_eq!(fs::read_to_string(&to).unwrap(), text, "{}", to.display());
            }
        }
    }
}

#[test]
fn what_a_link_to_nothing_leads_to_is_not_made() {
    for user in users() {
        for (link, line) in [
            ("conf/npmrc", "mkdir conf && echo evil > conf/npmrc"),
            ("./a/../conf/npmrc", "mkdir a conf && echo evil > .npmrc"),
            ("first", "ln -s file first; echo evil > first"),
        ] {
            let trial = protected_trial(user);
            std::os::unix::fs::symlink(link, trial.path("project/.npmrc")).unwrap();
            let mut plan = trial.writing(line);
            trial.protect(&mut plan, &[".npmrc"]);
            let ended = trial.run(&plan, Level::Full).ended.unwrap();
            assert_eq!(ended.changed.len(), 1, "{line}: {:?}", ended.changed);
            let read = fs::read_to_string(trial.path("project/.npmrc"));
            assert!(read.is_err(), "{line}: {read:?}");
        }
    }
}

#[test]
fn a_long_way_of_links_is_followed_as_far_as_the_system_does() {
    let trial = protected_trial(User::Own);
    let link = |from: String, to: &str| {
        std::os::unix::fs::symlink(from, trial.path("project").join(to)).unwrap();
    };
    link("l0".to_owned(), ".npmrc");
    for number in 0..20_000 {
        link(format!("l{}", number + 1), &format!("l{number}"));
    }
    let mut plan = trial.writing("echo evil > l20000; echo done > ok");
    trial.protect(&mut plan, &[".npmrc"]);
    let ended = trial.run(&plan, Level::Full).ended.unwrap();
    assert_eq!(ended.changed, Vec::new(), "nothing is read so far");
    assert!(trial.path("project/ok").is_file());
}

#[test]
fn the_end_of_the_longest_way_of_links_is_put_back() {
    /// Number of links that Linux follows in one path.
    const LINKS_MAX: usize = 40;
    for user in users() {
        let trial = protected_trial(user);
        let project = trial.path("project");
        fs::write(project.join("l0"), "good\n").unwrap();
        for number in 1..LINKS_MAX {
            let name = format!("l{number}");
            std::os::unix::fs::symlink(format!("l{}", number - 1), project.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(format!("l{}", LINKS_MAX - 1), project.join(".npmrc")).unwrap();
        let mut plan = trial.writing("echo evil > l0");
        trial.protect(&mut plan, &[".npmrc"]);
        let ended = trial.run(&plan, Level::Full).ended.unwrap();
        let read = fs::read_to_string(project.join(".npmrc")).unwrap();
        assert_eq!(read, "good\n", "{:?}", ended.changed);
    }
}

#[test]
fn a_place_below_a_protected_directory_stays_open() {
    for user in users() {
        for level in [Level::Full, Level::Files] {
            let trial = protected_trial(user);
            fs::create_dir(trial.path("project/.claude/plans")).unwrap();
            let mut plan = trial.writing("echo a > .claude/plans/a; echo b > .claude/b");
            plan.post_check.protected.push(Protected {
                path: trial.path("project/.claude"),
                free: Free::Below(vec!["plans".to_owned()]),
            });
            trial.run(&plan, level);
            assert_eq!(
                fs::read_to_string(trial.path("project/.claude/plans/a")).unwrap(),
                "a\n"
            );
            assert!(!fs::exists(trial.path("project/.claude/b")).unwrap());
        }
    }
}

#[test]
fn only_free_keys_of_a_git_configuration_change() {
    const BEFORE: &str = "[core]\n\tbare = false\n[user]\n\tname = a\n";
    let cases = [
        (
            "[core]\n\tbare = false\n[user]\n\tname = b\n[remote \"o\"]\n\turl = x\n",
            true,
        ),
        (
            "[core]\n\tbare = false\n\thooksPath = x\n[user]\n\tname = a\n",
            false,
        ),
        (
            "[core]\n\tbare = false\n[user]\n\tname = a\n[include]\n\tpath = x\n",
            false,
        ),
        (
            "[core]\n\tbare = false\n[core] hooksPath = x\n[user]\n\tname = a\n",
            false,
        ),
        (
            "[core]\n\tbare = false\n[user]\n\tname = a\n[remote \"o\"]\n\tuploadpack = x\n",
            false,
        ),
        (
            "[core]\n\tbare = false\n[user]\n\tname = a\\\n\n[core]\n",
            false,
        ),
        (
            "[core]\n\tbare = false\n[user \"] [core\"]\n\thooksPath = x\n",
            false,
        ),
        ("[user]\n\tname = a\n", false),
        // A line other than a simple `key = value` does not count as a free key.
        ("[core]\n\tbare\n[user]\n\tname = a\n", false),
        (
            "[core]\n\tbare = false\n\tworktree\n[user]\n\tname = a\n",
            false,
        ),
    ];
    for (now, is_free) in cases {
        let trial = Trial::new(User::Own);
        let config = trial.path("project/.git/config");
        fs::create_dir(trial.path("project/.git")).unwrap();
        fs::write(&config, BEFORE).unwrap();
        let mut plan = trial.writing(&format!("cat > .git/config <<'END'\n{now}END"));
        plan.post_check.protected.push(Protected {
            path: config.clone(),
            free: Free::GitKeys(vec!["user.*".to_owned(), "remote.*.url".to_owned()]),
        });
        trial.run(&plan, Level::Full);
        let expected = if is_free { now } else { BEFORE };
        assert_eq!(fs::read_to_string(&config).unwrap(), expected);
    }
}

#[test]
fn only_bound_keys_of_a_json_file_are_put_back() {
    let cases = [
        ("{\"seen\": 2, \"hooks\": {\"a\": 1}}", true),
        ("{\"seen\": 1, \"hooks\": {}}", false),
        (
            "{\"seen\": 1, \"hooks\": {\"a\": 1}, \"permissions\": {\"deny\": []}}",
            false,
        ),
        (
            "{\"seen\": 1, \"hooks\": {\"a\": 1}, \"of\": {\"/p\": {\"hooks\": 1}}}",
            false,
        ),
        ("no json", false),
    ];
    const BEFORE: &str = "{\"seen\": 1, \"hooks\": {\"a\": 1}}";
    for (now, is_free) in cases {
        let trial = Trial::new(User::Own);
        let path = trial.path("project/settings.json");
        fs::write(&path, BEFORE).unwrap();
        let mut plan = trial.writing(&format!("printf %s '{now}' > settings.json"));
        plan.post_check.protected.push(Protected {
            path: path.clone(),
            free: Free::AllBut(vec!["hooks".to_owned(), "permissions".to_owned()]),
        });
        trial.run(&plan, Level::Full);
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            if is_free { now } else { BEFORE }
        );
    }
}
