//! Calls with random facts.

use interlock_core::call::{CallFacts, ToolCall};
use interlock_testkit::dice::Dice;
use serde_json::{Value, json};

use super::machines::some;

/// Returns a sub-agent, usually none.
pub(super) fn agent(dice: &mut Dice) -> Option<String> {
    dice.one_in(5).then(|| dice.word(&["s1", "s2"]))
}

/// Returns a branch, usually none.
pub(super) fn branch(dice: &mut Dice) -> Option<String> {
    dice.one_in(6)
        .then(|| dice.word(&["a", "b", "a/c", "a/d", "c", "b/a", "b/a/c", "a/c/x"]))
}

/// Returns an exit code, or an unknown one.
pub(super) fn exit(dice: &mut Dice) -> Value {
    match dice.below(6) {
        0 => json!(1),
        1 => json!(null),
        _ => json!(0),
    }
}

/// Returns paths observed to be written, usually none.
pub(super) fn wrote(dice: &mut Dice) -> Value {
    if !dice.one_in(4) {
        return json!([]);
    }
    let path = dice.word(&["a", "b", "db/x"]);
    let relative = (!dice.one_in(4)).then_some(&path);
    json!([{"path": format!("/p/{path}"), "relative": relative}])
}

/// Returns the probes' observations of a line's commands.
pub(super) fn probed(dice: &mut Dice) -> Value {
    let at = |dice: &mut Dice, at: usize| json!({"at": at, "exits": [exit(dice)]});
    match dice.below(4) {
        0 => json!([]),
        1 => json!([at(dice, 0)]),
        2 => json!([at(dice, 10)]),
        _ => json!([at(dice, 0), at(dice, 10)]),
    }
}

/// Returns differences of frozen files, usually none.
pub(super) fn frozen(dice: &mut Dice) -> Value {
    let files = |count: usize| json!({"count": count, "names": ["tests/x"]});
    match dice.below(6) {
        0 => json!([{"pattern": "tests/*", "files": files(1)}]),
        1 => json!([{"pattern": "other/*", "files": files(2)}]),
        _ => json!([]),
    }
}

/// Returns further checks of a line.
pub(super) fn checked(dice: &mut Dice) -> Value {
    if dice.one_in(5) {
        return json!({});
    }
    let named = |dice: &mut Dice| json!({"count": dice.number(&[0, 0, 0, 1]), "names": []});
    let mut tests = json!({"digest": dice.word(&["d1", "d2"]), "passed": dice.number(&[0, 1, 2, 3]),
        "failed": dice.number(&[0, 0, 0, 1]), "skipped": dice.number(&[0, 1])});
    if dice.one_in(2) {
        let (gone, skipped) = (named(dice), named(dice));
        tests["against"] =
            json!({"baseline": dice.word(&["d1", "d2"]), "gone": gone, "skipped": skipped});
    }
    let mut read = json!({"tests": tests});
    if dice.one_in(6) {
        read = json!({"problem": {"code": "absent"}});
    }
    let mut checked =
        json!({"reports": [{"source": {"format": "junit", "path": "r.xml"}, "read": read}]});
    if !dice.one_in(5) {
        checked["frozen"] = frozen(dice);
    }
    checked
}

/// Returns the observation of a check whose call began at one of these events.
pub(super) fn seen(dice: &mut Dice, until: u64) -> Value {
    let numbers: Vec<u64> = (0..=until).collect();
    let exits = [Some(0), Some(0), Some(0), Some(0), Some(1), None];
    let mut seen = json!({"begun_seq": dice.number(&numbers), "exit": dice.pick(&exits)});
    if dice.one_in(3) {
        seen["after_writes"] = json!(true);
        seen["ended_seq"] = json!(dice.number(&numbers));
    }
    let checked = checked(dice);
    if let Some(report) = checked.pointer("/reports/0/read") {
        seen["report"] = report.clone();
    }
    if let Some(frozen) = checked.get("frozen") {
        seen["frozen"] = frozen.clone();
    }
    seen
}

/// Returns the baseline of a report.
pub(super) fn baseline(dice: &mut Dice) -> Value {
    json!({"digest": dice.word(&["d1", "d2"]), "passed": dice.number(&[0, 1, 2, 3]), "ran": 3})
}

/// Returns a call.
pub(super) fn call(dice: &mut Dice, id: &str) -> ToolCall {
    let (kind, tool) = match dice.below(16) {
        0..=8 => (json!("shell"), "Bash"),
        9 | 10 => (json!("edit"), "Edit"),
        11 => (json!("other"), "Check"),
        12 => (json!("other"), "Read"),
        13 => (json!("sub_agent"), "Task"),
        14 => (json!("conversation"), "AskUser"),
        _ => (
            json!({"control": dice.word(&["get_state", "transition", "start", "pause"])}),
            "interlock",
        ),
    };
    let is_shell = tool == "Bash";
    let mut call = json!({
        "id": id, "tool": tool, "common": null, "foreign": dice.one_in(30), "kind": kind,
        "digest": dice.word(&["d1", "d2"]), "summary": "", "agent": agent(dice), "branch": branch(dice),
        "facts": facts(dice, is_shell),
    });
    if dice.one_in(20) {
        call["common"] = json!(dice.word(&["Edit", "Check"]));
    }
    if dice.one_in(20) {
        call["served_as"] = json!(["mcp__s__t"]);
    }
    serde_json::from_value(call).unwrap()
}

/// Returns the text in one of this many cases.
fn rarely(dice: &mut Dice, one_in: usize, text: &str) -> Value {
    match dice.one_in(one_in) {
        true => json!(text),
        false => json!(null),
    }
}

fn facts(dice: &mut Dice, is_shell: bool) -> Value {
    let mut facts = json!(CallFacts::default());
    facts["protected"] = rarely(dice, 50, "the store");
    facts["malformed"] = rarely(dice, 50, "no text");
    facts["outside"] = rarely(dice, 50, "it lies elsewhere");
    facts["unheld"] = rarely(dice, 30, "it is a program");
    facts["edit_lines"] = json!(dice.pick(&[None, Some(1_u64), Some(3), Some(6)]));
    facts["reads"] = json!(some(dice, &["a", ".env", "docs/a.md"], 4));
    facts["only_reads"] = json!(dice.one_in(2));
    facts["environment_held"] = json!(dice.one_in(2));
    facts["kernel_holds"] = json!(dice.one_in(2));
    if dice.one_in(8) {
        facts["parts"] = json!(some(dice, &["Edit", "Write", "Read"], 2));
    }
    let commands: Vec<Value> = match is_shell {
        true => (0..1 + dice.below(3))
            .map(|index| command(dice, index))
            .collect(),
        false => Vec::new(),
    };
    let writes: Vec<Value> = match dice.below(3) {
        0 => (0..1 + dice.below(2))
            .map(|_| write(dice, &commands))
            .collect(),
        _ => Vec::new(),
    };
    facts["writes"] = json!(writes);
    if is_shell {
        let places = [Some(""), Some(""), Some(""), Some("sub"), None];
        let directories: Vec<_> = commands.iter().map(|_| dice.pick(&places)).collect();
        facts["directories"] = json!(directories);
        facts["shell"] = line(dice, &commands);
        if dice.one_in(10) {
            facts["strayed"] = json!([0]);
        }
        if dice.one_in(4) {
            facts["allowed_by_person"] = json!([{"text": dice.word(&["make", "npm"])}]);
        }
        facts["outside_directories"] = json!(some(dice, &["test", "a"], 6));
    }
    facts
}

fn shown(command: &Value) -> String {
    let words = command["words"].as_array().into_iter().flatten();
    let texts = words.filter_map(|word| word["literal"].as_str().or(word["dynamic"].as_str()));
    texts.collect::<Vec<_>>().join(" ")
}

fn write(dice: &mut Dice, commands: &[Value]) -> Value {
    let by = match dice.pick(commands) {
        Some(command) if !dice.one_in(3) => shown(command),
        _ => dice.word(&["> a", "Edit", "git"]),
    };
    let path = dice.word(&["a", "b", "db/x", ".git/refs", "r.xml"]);
    let place = dice.word(&[
        "project", "project", "project", "scratch", "outside", "whole", "unknown",
    ]);
    let relative = (place == "project" || dice.one_in(6)).then_some(&path);
    let known = !dice.one_in(8);
    json!({"path": known.then(|| format!("/p/{path}")), "relative": relative.filter(|_| known), "place": place, "by": by,
        "removes": dice.one_in(4), "recursive": dice.one_in(5), "lines": dice.pick(&[None, Some(1_u64), Some(2), Some(4)]),
        "before": dice.one_in(2).then_some("as it was")})
}

fn line(dice: &mut Dice, commands: &[Value]) -> Value {
    let mut line = json!({"commands": commands});
    if dice.one_in(12) {
        line["unreadable"] = json!("it is odd");
    }
    if dice.one_in(8) {
        let path = dice.word(&["/p/.env", "/p/a", "/home/u/.ssh/id_rsa"]);
        let how = dice.word(&["whole", "below"]);
        line["reads"] = json!([{"path": {how: path}, "by": "cat"}]);
    }
    let mut env = json!({"dump": dice.one_in(16), "other_process": dice.one_in(16),
        "used": some(dice, &["KEY", "HOME", "API_TOKEN"], 12)});
    if dice.one_in(6) {
        let steers = match dice.below(3) {
            0 => json!("none"),
            1 => json!({"all_but": ["npm"]}),
            _ => json!({"all_but": []}),
        };
        env["set"] = json!([{"name": dice.word(&["CI", "KEY", "PATH"]), "changes_programs": dice.one_in(4),
            "voids_checks": dice.one_in(6), "chooses_tests": dice.one_in(4), "steers": steers, "exported": dice.one_in(2)}]);
    }
    line["env"] = env;
    if dice.one_in(6) {
        let direction = dice.word(&["local", "get", "send", "listen"]);
        let command = dice.pick(&[Some(0), Some(1), None]);
        line["network"] = json!([{"direction": direction, "by": "curl", "command": command}]);
    }
    line
}

/// Lines of one command, as words.
const LINES: &[&str] = &[
    "npm test",
    "npm test",
    "npm test",
    "npm test -- x",
    "npm run test",
    "make",
    "make",
    "make",
    "make all",
    "make all other",
    "make -n",
    "git commit -m x",
    "git status",
    "git -C sub status",
    "cat a",
    "cd test",
    "sudo make",
    "node -e x",
    "head",
    "curl x",
];

fn command(dice: &mut Dice, index: usize) -> Value {
    let text = dice.word(LINES);
    let mut words: Vec<Value> = text
        .split(' ')
        .map(|word| json!({"literal": word}))
        .collect();
    if dice.one_in(10) {
        words.push(json!({"dynamic": "$X"}));
    }
    if dice.one_in(2) {
        return plain(dice, index, &words);
    }
    let uses: Vec<Value> = words.iter().map(|_| word_use(dice)).collect();
    let class = dice.word(&[
        "nothing",
        "reader",
        "writer",
        "remover",
        "interpreter",
        "project_code",
        "project_code",
        "version_control",
        "network",
        "system",
        "privilege",
        "unknown",
    ]);
    let mut command = json!({
        "words": words, "directory": "/p", "class": class, "opaque": rarely(dice, 2, "it runs code"),
        "contained": dice.one_in(4), "proves_success": !dice.one_in(4), "proves_exit": !dice.one_in(4),
        "from_pipe": dice.one_in(3), "changes_unnamed": dice.one_in(4),
        "beside": dice.word(&["harmless", "directory", "odd_directory", "filter", "reads_files", "stranger"]),
        "inline_code": dice.word(&["no", "yes", "unknown"]),
    });
    if !dice.one_in(4) {
        command["uses"] = json!(uses);
    }
    if !dice.one_in(3) {
        command["step"] = json!(index + dice.below(2));
    }
    if dice.one_in(2) {
        let start = index * dice.number(&[10, 10, 0]) as usize;
        command["probe"] = json!({"span": {"start": start, "end": start + 9}, "success": !dice.one_in(4), "exit": !dice.one_in(3)});
    }
    if dice.one_in(6) {
        let wrapper = dice.word(&["timeout 5", "env CI=1"]);
        let before = wrapper.split(' ').map(|word| json!({"literal": word}));
        command["wrapped"] = before.chain(words.iter().cloned()).collect();
        command["via"] = json!([wrapper]);
    }
    if dice.one_in(10) {
        command["assignments"] = json!([dice.word(&["CI", "KEY", "PATH"])]);
    }
    if dice.one_in(8) {
        command["system_program"] = json!(dice.word(&["npm", "make"]));
    }
    if dice.one_in(8) {
        command["of_environment"] = json!(dice.word(&["npm", "make"]));
    }
    if dice.one_in(8) {
        command["project_words"] = json!(dice.below(words.len()));
    }
    if dice.one_in(8) {
        command["loose"] = json!([0]);
    }
    if dice.one_in(8) && words.len() > 1 {
        let directory = dice.pick(&[Some("sub"), Some(".."), Some(""), None]);
        command["relocated"] =
            json!({"words": [0, words.len() - 1], "uses": uses, "directories": [directory]});
    }
    if dice.one_in(8) {
        command["hands_out"] = dice
            .pick(&[json!("secret"), json!({"in_words": 1}), json!("files")])
            .cloned()
            .unwrap_or_default();
    }
    command
}

/// Returns a command that runs code of the project, with all facts known.
fn plain(dice: &mut Dice, index: usize, words: &[Value]) -> Value {
    let uses: Vec<Value> = words
        .iter()
        .map(|_| json!({"steers": "plain", "selects": "keeps"}))
        .collect();
    let span = json!({"start": index * 10, "end": index * 10 + 9});
    json!({
        "words": words, "directory": "/p", "class": "project_code", "opaque": rarely(dice, 2, "it runs code"),
        "proves_success": true, "proves_exit": dice.one_in(2), "step": index, "uses": uses, "beside": "harmless",
        "probe": {"span": span, "success": true, "exit": dice.one_in(2)},
    })
}

fn word_use(dice: &mut Dice) -> Value {
    let steers = dice.word(&[
        "plain",
        "plain",
        "plain",
        "steers",
        "may_steer",
        "goal",
        "unknown_goal",
        "odd",
        "unlisted",
    ]);
    let selects = dice.word(&[
        "keeps",
        "keeps",
        "keeps",
        "keeps_with_next",
        "value",
        "passes",
        "asks",
        "only_says",
        "selects",
    ]);
    json!({"steers": steers, "is_goal": dice.one_in(3), "opens": dice.one_in(8), "selects": selects})
}
