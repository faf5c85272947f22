//! From a policy and facts to a plan: the columns in the table of kernel rules.

use std::path::{Path, PathBuf};

use interlock_core::facts::{NetworkDirection, NetworkUse, ShellFacts};
use interlock_core::policy::Policy;
use interlock_sandbox::plan::{Calls, Column, Free, LeftOver, Network, Protected, Start};
use interlock_sandbox::{JudgedLine, Level, Plan, PlanContext, seatbelt};

fn policy(tools: &[&str]) -> Policy {
    Policy {
        allowed_tools: Some(tools.iter().map(|&tool| tool.to_owned()).collect()),
        blocked_env: vec!["SECRET".to_owned()],
        env_overrides: [("MODE".to_owned(), "test".to_owned())]
            .into_iter()
            .collect(),
        ..Policy::default()
    }
}

fn context() -> PlanContext {
    PlanContext {
        project: "/home/me/project".into(),
        home: "/home/me".into(),
        temporary: vec!["/tmp".into()],
        caches: vec!["/home/me/.cache".into()],
        writable: vec!["/data".into()],
        hidden: vec!["/home/me/.local/state/interlock".into()],
        protected: vec![
            Protected {
                path: "/home/me/project/.git/hooks".into(),
                free: Free::Nothing,
            },
            Protected {
                path: "/home/me/project/.claude".into(),
                free: Free::Below(vec!["plans".to_owned()]),
            },
        ],
        interrupts: vec!["src/**".to_owned()],
        require: Some(Level::Files),
        ..PlanContext::default()
    }
}

fn plan(policy: &Policy, facts: &ShellFacts, covered: &[&str]) -> Plan {
    let start = Start::Line("x".to_owned());
    let asked = JudgedLine {
        policy,
        facts,
        start: &start,
        directory: Path::new("/home/me/project/crates/core"),
        covered,
        person_allows: false,
    };
    Plan::for_line(&asked, &context())
}

fn writable(plan: &Plan) -> Vec<PathBuf> {
    let confinement = plan.confinement.as_ref().unwrap();
    confinement
        .writable
        .iter()
        .map(|place| place.path.clone())
        .collect()
}

fn reaches(directions: &[NetworkDirection]) -> ShellFacts {
    let reach = |direction: &NetworkDirection| NetworkUse {
        direction: *direction,
        host: None,
        by: "curl".to_owned(),
        command: None,
    };
    ShellFacts {
        network: directions.iter().map(reach).collect(),
        ..ShellFacts::default()
    }
}

#[test]
fn a_free_state_sets_the_environment_alone() {
    let free = Policy {
        env_overrides: [("MODE".to_owned(), "test".to_owned())]
            .into_iter()
            .collect(),
        ..Policy::default()
    };
    let plan = plan(&free, &ShellFacts::default(), &[]);
    assert_eq!((plan.column, plan.confinement), (Column::Free, None));
    assert_eq!(plan.environment.set.get("MODE").unwrap(), "test");
    assert!(!plan.environment.set.contains_key("PAGER"));
}

#[test]
fn a_no_write_state_writes_nothing_and_reaches_nothing() {
    let plan = plan(&policy(&["Read", "Bash"]), &ShellFacts::default(), &[]);
    let confinement = plan.confinement.clone().unwrap();
    assert_eq!(plan.column, Column::NoWrite);
    assert_eq!(writable(&plan), Vec::<PathBuf>::new());
    assert_eq!(confinement.network, Network::Off);
    assert_eq!(confinement.calls, Calls::Reading);
    assert_eq!(confinement.left_over, LeftOver::End);
    assert!(confinement.own_directory);
    assert!(plan.environment.removed.contains(&"SECRET".to_owned()));
    assert_eq!(plan.environment.set.get("GIT_OPTIONAL_LOCKS").unwrap(), "0");
    assert!(plan.environment.in_own_directory.contains_key("TMPDIR"));
    assert_eq!(plan.require, Level::Files);
}

#[test]
fn no_column_that_may_not_write_lets_programs_write_beside_their_work() {
    for (tools, covered, column, sets) in [
        (
            &["Read", "Bash"][..],
            &[][..],
            Column::NoWrite,
            [true, true],
        ),
        (&["Read", "Bash"], &["make"], Column::Matched, [true, false]),
        (&["Edit", "Bash"], &[], Column::Writing, [false, false]),
    ] {
        let plan = plan(&policy(tools), &ShellFacts::default(), covered);
        assert_eq!(plan.column, column);
        let set = &plan.environment.set;
        let found =
            ["GIT_OPTIONAL_LOCKS", "PYTHONDONTWRITEBYTECODE"].map(|name| set.contains_key(name));
        assert_eq!(found, sets, "{column:?}");
        assert_eq!(set.get("PAGER").unwrap(), "cat", "{column:?}");
        assert_eq!(set.get("MODE").unwrap(), "test", "{column:?}");
        let own = plan.environment.in_own_directory.contains_key("TMPDIR");
        assert_eq!(own, column != Column::Writing, "{column:?}");
    }
}

#[test]
fn a_line_that_fetches_may_connect() {
    use NetworkDirection::{Get, Local, Send};
    let network = |directions: &[NetworkDirection]| {
        let plan = plan(&policy(&["Read", "Bash"]), &reaches(directions), &[]);
        plan.confinement.unwrap().network
    };
    assert_eq!(network(&[Get]), Network::Fetch);
    assert_eq!(network(&[Get, Get]), Network::Fetch);
    // A line that was judged to only fetch must do nothing else.
    for others in [&[Send][..], &[Get, Send], &[Send, Get], &[Get, Local]] {
        assert_eq!(network(others), Network::Off, "{others:?}");
    }
}

#[test]
fn a_socket_is_named_by_a_whole_path() {
    let named = Policy {
        sockets: ["/run/a.sock", "~/b.sock", "c.sock", "../d.sock"]
            .map(str::to_owned)
            .to_vec(),
        ..policy(&["Read", "Bash"])
    };
    let plan = plan(&named, &ShellFacts::default(), &[]);
    let sockets = plan.confinement.unwrap().sockets;
    let wanted = ["/run/a.sock", "/home/me/b.sock"].map(PathBuf::from);
    assert_eq!(sockets, wanted);
}

#[test]
fn a_covered_program_writes_what_it_is_known_to_need() {
    let plan = plan(
        &policy(&["Read", "Bash"]),
        &ShellFacts::default(),
        &["cargo", "git"],
    );
    let confinement = plan.confinement.clone().unwrap();
    assert_eq!(plan.column, Column::Matched);
    for path in [
        "/home/me/project/target",
        "/home/me/project/crates/core/target",
        "/home/me/.cargo/registry",
        "/home/me/project/.git",
        "/data",
    ] {
        assert!(writable(&plan).contains(&PathBuf::from(path)), "{path}");
    }
    for path in [
        "/home/me/project",
        "/home/me/.cargo",
        "/home/me/.npm",
        "/tmp",
    ] {
        assert!(!writable(&plan).contains(&PathBuf::from(path)), "{path}");
    }
    assert_eq!(confinement.network, Network::On);
    assert_eq!(confinement.calls, Calls::Working);
    assert_eq!(confinement.left_over, LeftOver::End);
    assert!(confinement.own_directory);
    assert!(plan.environment.in_own_directory.contains_key("TMPDIR"));
    let target = Path::new("/home/me/project/target");
    let target = confinement
        .writable
        .iter()
        .find(|place| place.path == target);
    assert_eq!(target.unwrap().within, Some("/home/me/project".into()));
}

#[test]
fn a_place_below_another_that_lines_write_is_known_as_such() {
    let plan = plan(
        &policy(&["Read", "Bash"]),
        &ShellFacts::default(),
        &["yarn"],
    );
    let all = plan.confinement.unwrap().writable;
    for (path, within) in [
        ("/home/me/.cache/yarn", Some("/home/me/.cache")),
        ("/home/me/.yarn", None),
        ("/data", None),
    ] {
        let found = all.iter().find(|place| place.path == Path::new(path));
        let found = found.map(|place| &place.within);
        assert_eq!(found, Some(&within.map(PathBuf::from)), "{path}: {all:?}");
    }
}

#[test]
fn an_unknown_covered_program_gets_what_the_person_has_opened() {
    let plan = plan(
        &policy(&["Read", "Bash"]),
        &ShellFacts::default(),
        &["make"],
    );
    assert_eq!(writable(&plan), [PathBuf::from("/data")]);
}

#[test]
fn a_writing_state_writes_project_temporary_and_caches() {
    let plan = plan(
        &policy(&["Read", "Edit", "Bash"]),
        &ShellFacts::default(),
        &[],
    );
    assert_eq!(plan.column, Column::Writing);
    for path in [
        "/home/me/project",
        "/tmp",
        "/home/me/.cache",
        "/home/me/.npm",
        "/data",
    ] {
        assert!(writable(&plan).contains(&PathBuf::from(path)), "{path}");
    }
    let below_home = writable(&plan).into_iter().filter(|path| {
        Path::new("/home/me/.local/state/interlock").starts_with(path)
            || Path::new("/home/me/.cargo/bin").starts_with(path)
            || Path::new("/home/me/.ssh").starts_with(path)
    });
    assert_eq!(below_home.collect::<Vec<_>>(), Vec::<PathBuf>::new());
    assert_eq!(plan.confinement.unwrap().left_over, LeftOver::End);
    assert!(!plan.environment.in_own_directory.contains_key("TMPDIR"));
    assert_eq!(plan.post_check.reported, ["src/**"]);
}

#[test]
fn what_the_person_allows_is_unconfined_but_compared() {
    let policy = policy(&["Read", "Edit", "Bash"]);
    let start = Start::Line("sudo x".to_owned());
    let asked = JudgedLine {
        policy: &policy,
        facts: &ShellFacts::default(),
        start: &start,
        directory: Path::new("/home/me/project"),
        covered: &[],
        person_allows: true,
    };
    let plan = Plan::for_line(&asked, &context());
    assert_eq!(plan.confinement, None);
    assert_eq!(plan.post_check.protected.len(), 2);
}

#[test]
fn a_plan_survives_a_ticket() {
    let plan = plan(
        &policy(&["Read", "Edit", "Bash"]),
        &reaches(&[NetworkDirection::Get]),
        &[],
    );
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    let damaged = text.replacen("\"network\"", "\"net\"", 1);
    serde_json::from_str::<Plan>(&damaged).unwrap_err();
}

#[test]
fn the_profile_for_macos_is_as_written() {
    let mut plan = plan(
        &policy(&["Read", "Bash"]),
        &ShellFacts::default(),
        &["make"],
    );
    plan.confinement.as_mut().unwrap().network = Network::Off;
    plan.confinement.as_mut().unwrap().calls = Calls::Reading;
    let profile = seatbelt::profile(&plan, Some(Path::new("/tmp/own \"x\""))).unwrap();
    assert_eq!(profile, include_str!("cases/seatbelt.sb"));
}

#[test]
fn the_profile_for_macos_opens_only_the_network_that_the_plan_has() {
    let mut plan = plan(&policy(&["Read", "Bash"]), &ShellFacts::default(), &[]);
    let profile = |plan: &Plan| seatbelt::profile(plan, None).unwrap();
    plan.confinement.as_mut().unwrap().sockets = vec!["/run/db".into()];
    let of = |plan: &mut Plan, network: Network| {
        plan.confinement.as_mut().unwrap().network = network;
        profile(plan)
    };
    let opened = "(allow network-outbound (remote unix-socket (subpath \"/run/db\")))";
    for (network, denied) in [
        (Network::Off, &["(deny network*)"][..]),
        (
            Network::Fetch,
            &[
                "(deny network-bind)",
                "(deny network-inbound)",
                "(deny network-outbound (remote unix-socket))",
            ],
        ),
        (
            Network::On,
            &["(deny network-outbound (remote unix-socket))"],
        ),
    ] {
        let text = of(&mut plan, network);
        let lines: Vec<&str> = text.lines().collect();
        let at = |wanted: &str| lines.iter().position(|line| *line == wanted);
        let found: Vec<&&str> = lines
            .iter()
            .filter(|line| line.starts_with("(deny network"))
            .collect();
        assert_eq!(found.len(), denied.len(), "{network:?}: {text}");
        for line in denied {
            // The last rule that matches decides.
            assert!(
                at(line).unwrap() < at(opened).unwrap(),
                "{network:?}: {line}"
            );
        }
    }
}
