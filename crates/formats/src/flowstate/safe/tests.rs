#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::{collections::BTreeMap, process::Command};

use interlock_core::machine::Object;
use interlock_expr::text::{Places, Sources};
use serde_json::Value;

use crate::{
    flowstate::{safe, syntax::Written, template::Template},
    source::Span,
};

fn written(command: &str) -> Written {
    Written {
        template: Template::parse(command).unwrap(),
        span: Span::new(0, 0, 0),
        holes: Vec::new(),
        broken: false,
    }
}

const HOSTILE: [&str; 8] = [
    "plain",
    "two words",
    "$(touch hit)",
    "`touch hit`",
    "'; touch hit; '",
    "\"; touch hit; \"",
    "a\nEOF\ntouch hit\n",
    "x[$(touch hit)]",
];

/// Runs a rewritten command by bash with a value and returns what it printed.
fn run(command: &str, value: &str, folder: &std::path::Path) -> String {
    let safe = safe::rewrite(&written(command), &[]).unwrap();
    let context: Object = [("x".to_owned(), Value::String(value.to_owned()))]
        .into_iter()
        .collect();
    let sources = Sources {
        context: &context,
        caught: None,
        places: &Places::default(),
        files: &BTreeMap::new(),
        beside: None,
    };
    let text = safe.command.fill(&sources).unwrap();
    let env = safe
        .env
        .iter()
        .map(|(name, text)| (name, text.fill(&sources).unwrap()));
    let output = Command::new("bash")
        .args(["-c", &text])
        .envs(env)
        .current_dir(folder)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn no_value_becomes_part_of_a_command() {
    let folder = std::env::temp_dir().join(format!("interlock-places-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let commands = [
        "printf %s {{ x }}",
        "printf %s \"{{ x }}\"",
        "printf %s '{{ x }}'",
        "printf %s a{{ x }}b",
        "printf %s \"$(printf %s {{ x }})\"",
        "printf %s `printf %s {{ x }}`",
        "cat <<EOF\n{{ x }}\nEOF",
        "cat <<< {{ x }}",
        "v={{ x }}; printf %s \"$v\"",
        "export V={{ x }}; printf %s \"$V\"",
        "a=({{ x }} '{{ x }}'); printf %s \"${a[0]}\"",
        "printf %s ${none:-{{ x }}}",
        "printf %s \"${none:-{{ x }}}\"",
        "f() { printf %s \"$1\"; }; f {{ x }}",
        "for v in {{ x }}; do printf %s \"$v\"; done",
        "case {{ x }} in none) ;; *) printf %s {{ x }};; esac",
        "if [ {{ x }} = no ]; then :; else printf %s {{ x }}; fi",
        "[[ {{ x }} == no ]] || printf %s {{ x }}",
        "cat <(printf %s {{ x }})",
        "env V={{ x }} printenv V",
        "true # {{ x }}\nprintf %s {{ x }}",
    ];
    for command in commands {
        for value in HOSTILE {
            let printed = run(command, value, &folder);
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            assert!(
                bare(&printed).contains(&bare(value)),
                "{command}\n{value}\n{printed}"
            );
            assert!(!folder.join("hit").exists(), "{command}\n{value}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn numbers_reach_arithmetic_and_nothing_else_does() {
    let folder = std::env::temp_dir();
    assert_eq!(run("echo $(( {{ x }} + 1 ))", "41", &folder), "42\n");
    assert_eq!(run("a[{{ x }}]=7; echo ${a[{{ x }}]}", "2", &folder), "7\n");
    let safe = safe::rewrite(&written("echo $(( {{ x }} ))"), &[]).unwrap();
    assert!(safe.env.is_empty());
}

#[test]
fn names_of_the_environment_are_not_taken_twice() {
    let safe = safe::rewrite(&written("echo {{ x }} $IL_1"), &["ILL_1"]).unwrap();
    assert_eq!(safe.env.first().unwrap().0, "ILLL_1");
}
