//! What a policy says of people and paths.

#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use super::*;

const POLICY: &str = r#"
[groups]
developers = ["ana", "ben", "cy"]
security = ["dana"]

[roles]
start = ["@developers", "ci"]
approve = ["@developers", "@security"]
administer = ["gus"]

[[approval]]
from = ["@developers", "@security"]
count = 2

[[approval]]
paths = ["/src/auth/", "*.pem"]
from = ["@security"]

[[approval]]
workflows = ["deploy"]
from = ["gus", "dana"]
count = 2
"#;

fn people() -> People {
    People::parse(POLICY, 1).unwrap()
}

fn member(subject: &str, groups: &[&str]) -> Member {
    Member {
        subject: subject.to_owned(),
        groups: groups.iter().copied().map(str::to_owned).collect(),
    }
}

fn paths(known: &[&str]) -> Paths {
    Paths {
        known: known.iter().copied().map(str::to_owned).collect(),
        others: false,
    }
}

#[track_caller]
fn missing(workflow: &str, known: &[&str], voters: &[(&str, &[&str])]) -> Vec<String> {
    let voters = voters.iter().map(|(name, groups)| member(name, groups));
    let missing = people().missing(workflow, &paths(known), &voters.collect());
    missing.iter().map(Missing::sentence).collect()
}

#[test]
fn a_role_is_had_by_name_by_group_and_by_a_group_of_the_issuer() {
    let people = people();
    for (right, subject, groups, has) in [
        (Right::Start, "ana", &[][..], true),
        (Right::Start, "ci", &[], true),
        (Right::Start, "dana", &[], false),
        (Right::Start, "eve", &["developers"], true),
        (Right::Approve, "dana", &[], true),
        (Right::Approve, "ci", &[], false),
        (Right::Approve, "eve", &["security"], true),
        // Neither a group that the policy does not have, nor a person with the name of a group.
        (Right::Approve, "eve", &["admins", "@security"], false),
        (Right::Approve, "security", &[], false),
        (Right::Administer, "gus", &[], true),
        (Right::Administer, "ana", &["developers", "security"], false),
    ] {
        assert_eq!(
            people.has(right, &member(subject, groups)),
            has,
            "{subject}"
        );
    }
    let nobody = People::parse("", 1).unwrap();
    let everybody = People::parse("[roles]\nstart = [\"*\"]", 1).unwrap();
    for right in [Right::Start, Right::Approve, Right::Administer] {
        assert!(!nobody.has(right, &member("ana", &[])));
    }
    assert!(everybody.has(Right::Start, &member("eve", &[])));
    assert!(!everybody.has(Right::Approve, &member("eve", &[])));
}

#[test]
fn every_rule_that_applies_has_to_be_met() {
    assert_eq!(
        missing("fix", &["a.rs"], &[("ben", &[])]),
        ["1 of 2 from group developers, group security"]
    );
    assert!(missing("fix", &["a.rs"], &[("ben", &[]), ("cy", &[])]).is_empty());
    // One person with two tokens is one.
    assert_eq!(
        missing("fix", &[], &[("ben", &[]), ("ben", &["security"])]),
        ["1 of 2 from group developers, group security"]
    );
    assert_eq!(
        missing("fix", &["src/auth/a.rs"], &[("ben", &[]), ("cy", &[])]),
        ["0 of 1 from group security for `src/auth/a.rs`"]
    );
    assert!(missing("fix", &["src/auth/a.rs"], &[("ben", &[]), ("dana", &[])]).is_empty());
    assert!(missing("fix", &["k.pem"], &[("ben", &[]), ("eve", &["security"])]).is_empty());
    // Who is in no group of the rule does not count.
    assert_eq!(
        missing("deploy", &[], &[("ben", &[]), ("cy", &[]), ("dana", &[])]),
        ["1 of 2 from gus, dana"]
    );
    assert!(missing("deploy", &[], &[("gus", &[]), ("dana", &[]), ("cy", &[])]).is_empty());
    let unseen = Paths {
        known: BTreeSet::new(),
        others: true,
    };
    let two = [member("ben", &[]), member("cy", &[])];
    let unmet = people().missing("fix", &unseen, &two.into());
    assert_eq!(unmet.len(), 1, "what nobody saw is anywhere");
}

#[test]
fn patterns_are_those_of_code_owners() {
    for (pattern, path, is_touched) in [
        ("/src/auth/", "src/auth/a.rs", true),
        ("/src/auth/", "src/auth/deep/a.rs", true),
        ("/src/auth/", "src/authority/a.rs", false),
        ("/src/auth/", "lib/src/auth/a.rs", false),
        ("src/auth", "src/auth/a.rs", true),
        ("src/auth", "lib/src/auth/a.rs", false),
        ("auth", "src/auth/a.rs", true),
        ("auth/", "src/auth/a.rs", true),
        ("*.pem", "k.pem", true),
        ("*.pem", "deep/down/k.pem", true),
        ("*.pem", "k.pem.txt", false),
        ("/*.pem", "deep/k.pem", false),
        ("/docs/**/*.md", "docs/a/b/c.md", true),
        ("*", "any/thing", true),
        // A folder that is removed or moved as a whole.
        ("/src/auth/", "src", true),
        ("/src/auth/a.rs", "src/auth", true),
        ("/src/auth/", "lib", false),
        ("/src/*/keys/", "src/auth", true),
        ("/src/**/keys/", "src/a/b/c", true),
        ("/src/auth/", "", true),
    ] {
        assert_eq!(touches(pattern, path), is_touched, "{pattern} {path}");
    }
}

#[test]
fn a_policy_that_says_what_it_cannot_mean_is_refused() {
    for (text, said) in [
        ("[roles]\nstarts = []", "line 2: unknown field `starts`"),
        (
            "[roles]\nstart = [\"@nobody\"]",
            "define each in `[groups]`",
        ),
        ("[roles]\nstart = [\"Ana\"]", "`Ana` is neither a person"),
        ("[groups]\nA = []", "cannot name a group"),
        ("[groups]\na = [\"@b\"]", "groups have no groups"),
        ("[[approval]]\nfrom = []", "nobody in `from`"),
        ("[[approval]]\nfrom = [\"*\"]\ncount = 0", "1 to 20"),
        (
            "[[approval]]\nfrom = [\"ana\", \"ana\"]\ncount = 2",
            "2 of 1",
        ),
        ("[[approval]]\nfrom = [\"ana\"]\npaths = [\"!a\"]", "`!a`"),
        (
            "[[approval]]\nfrom = [\"ana\"]\npaths = [\"../a\"]",
            "`../a`",
        ),
        (
            "[[approval]]\nfrom = [\"ana\"]\npaths = [\"\"]",
            "no pattern",
        ),
        ("a", "line 1"),
    ] {
        let error = People::parse(text, 1).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}
