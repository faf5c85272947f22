//! What a configuration says, and what is wrong with one.

#![expect(clippy::panic, reason = "a failed test says what it saw")]
#![expect(clippy::expect_used, reason = "a failed test panics")]
#![expect(clippy::indexing_slicing, reason = "a failed test panics")]

use super::{Config, Transport, expand};

#[track_caller]
fn read(text: &str) -> Config {
    Config::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Reads a text that is wrong; the report must hold every one of `parts`.
#[track_caller]
fn check(text: &str, parts: &[&str]) {
    let report = Config::parse(text).expect_err("it is read");
    for part in parts {
        assert!(report.contains(part), "`{part}` is not in:\n{report}");
    }
}

#[test]
fn a_server_is_read_with_every_setting_in_the_order_written() {
    let config = read(
        r#"
[mcp.zoo]
command = "npx"
args = ["-y", "zoo"]
env = { KEY = "${ZOO_KEY}" }
cwd = "tools"
shared = true
timeout_ms = 5000

[mcp.zoo.tools.put]
writes = ["path"]
content = "body"

[mcp.a-1]
url = "https://example.org/mcp"
headers = { Authorization = "Bearer ${TOKEN}" }

[mcp.old]
url = "http://127.0.0.1:9/sse"
type = "sse"
enabled = false
"#,
    );
    let names: Vec<&str> = config.mcp.keys().map(super::ServerName::as_str).collect();
    assert_eq!(names, ["zoo", "a-1", "old"]);
    let zoo = &config.mcp[0];
    assert!(matches!(&zoo.transport, Transport::Stdio(it) if it.args.len() == 2));
    assert_eq!(zoo.timeout_ms, Some(5_000));
    assert_eq!(zoo.tools["put"].content.as_deref(), Some("body"));
    assert!(matches!(config.mcp[1].transport, Transport::Http(_)));
    assert!(matches!(config.mcp[2].transport, Transport::Sse(_)));
    let used = Config::servers(&Config::default(), &config);
    assert_eq!(used.len(), 2, "a server that is switched off is not used");
}

#[test]
fn an_unknown_key_is_refused_with_its_place_and_the_nearest_name() {
    check(
        "[mcp.fs]\ncomand = \"x\"\n",
        &["line 2, column 1", "did you mean `command`?"],
    );
    check(
        "[mcp.fs]\ncommand = \"x\"\n[mcp.fs.tools.t]\nwrite = [\"p\"]\n",
        &["line 4", "did you mean `writes`?"],
    );
    check("[gatway]\n", &["line 1", "did you mean `gateway`?"]);
    check(
        "[store]\ndurability = \"powr\"\n",
        &["line 2", "did you mean `power`?"],
    );
}

#[test]
fn a_name_that_could_collide_is_refused() {
    for name in [
        "a__b",
        "_a",
        "a_",
        "\"a b\"",
        "\"\"",
        "interlock",
        "\"a.b\"",
    ] {
        check(
            &format!("[mcp.{name}]\ncommand = \"x\"\n"),
            &["cannot be the name of a server"],
        );
    }
}

#[test]
fn a_server_is_either_started_or_called() {
    check("[mcp.a]\n", &["neither `command` nor `url`"]);
    check(
        "[mcp.a]\ncommand = \"x\"\nurl = \"http://x\"\n",
        &["both `command` and `url`"],
    );
    check(
        "[mcp.a]\nurl = \"http://x\"\nargs = []\n",
        &["`args` is for a server with `command`"],
    );
    check(
        "[mcp.a]\ncommand = \"x\"\nheaders = {}\n",
        &["`headers` is for a server with `url`"],
    );
    check(
        "[mcp.a]\ncommand = \"x\"\ntype = \"sse\"\n",
        &["`command` is for `type = \"stdio\"`"],
    );
    check(
        "[mcp.a]\nurl = \"file:///x\"\n",
        &["has to begin with `http://`"],
    );
    check(
        "[mcp.a]\ncommand = \"x\"\ntimeout_ms = 0\n",
        &["`timeout_ms` is 0"],
    );
    check("[mcp.a]\ncommand = \" \"\n", &["`command` is empty"]);
}

#[test]
fn a_persons_own_server_wins_over_the_projects() {
    let person =
        read("[mcp.a]\ncommand = \"mine\"\nenabled = false\n[mcp.b]\ncommand = \"mine\"\n");
    let project = read(
        "[mcp.a]\ncommand = \"theirs\"\n[mcp.b]\ncommand = \"theirs\"\n[mcp.c]\ncommand = \"theirs\"\n",
    );
    let all = Config::servers(&person, &project);
    let told: Vec<String> = all
        .iter()
        .map(|(name, server)| match &server.transport {
            Transport::Stdio(stdio) => format!("{name}={}", stdio.command),
            _ => name.to_string(),
        })
        .collect();
    assert_eq!(told, ["b=mine", "c=theirs"]);
}

#[test]
fn variables_are_put_in_and_a_missing_one_is_named() {
    let known = |name: &str| (name == "KEY").then(|| "v$1".to_owned());
    assert_eq!(
        expand("a ${KEY} $$x $y", known).as_deref(),
        Ok("a v$1 $x $y")
    );
    assert!(expand("${NONE}", known).is_err_and(|why| why.contains("`NONE` is not set")));
    assert!(expand("${KEY", known).is_err_and(|why| why.contains("not closed")));
}

#[test]
fn bounds_of_the_gateway_have_defaults_and_are_never_zero() {
    let config = read("[gateway]\ncalls_max = 5\n");
    assert_eq!(config.gateway.calls_max(), 5);
    assert_eq!(config.gateway.message_bytes_max(), 32 * 1024 * 1024);
    check("[gateway]\ncalls_max = 0\n", &["line 2"]);
}

#[test]
fn a_provider_is_read_and_what_is_wrong_with_one_is_told() {
    let config = read(
        "default_model = \"fast\"\n[models]\nfast = \"work/x\"\n[providers.work]\nkind = \"google\"\nbase_url = \"https://x\"\napi_key_env = \"K\"\nheaders = { A = \"secret\" }\ntimeout = 5\n",
    );
    assert_eq!(config.default_model.as_deref(), Some("fast"));
    let told = format!("{:?}", config.providers);
    assert!(
        told.contains("Gemini") && !told.contains("secret"),
        "{told}"
    );
    check(
        "[providers.work]\nkind = \"antropic\"\n",
        &["line 2", "did you mean `anthropic`?"],
    );
    check(
        "[providers.work]\nbase-url = \"x\"\n",
        &["line 2", "did you mean `base_url`?"],
    );
    check("[providers.work]\n", &["`[providers.work]` has no `kind`"]);
    check(
        "[providers.openai]\nkind = \"ollama\"\n",
        &["has another `kind`"],
    );
    check(
        "[providers.\"a/b\"]\nkind = \"ollama\"\n",
        &["cannot be the name of a provider"],
    );
    check(
        "[providers.w]\nkind = \"openai\"\ntimeout = 0\n",
        &["line 3"],
    );
    check(
        "[providers.w]\nkind = \"openai\"\napi_key_file = \"key\"\n",
        &["neither absolute nor below"],
    );
    check(
        "[providers.w]\nkind = \"openai\"\napi_key_file = \"/key\"\napi_key_env = \"K\"\n",
        &["both `api_key_env` and `api_key_file`"],
    );
    check(
        "[models]\nfast = \"gpt-5\"\n",
        &["has to be `provider/name`"],
    );
    check(
        "[prices.\"a/b\"]\ninput = -1\noutput = 1\n",
        &["line 2", "`-1` is not a price"],
    );
    check(
        "[prices.\"a/b\"]\ninput = 1.0000001\noutput = 1\n",
        &["at most six decimals"],
    );
    check("[prices.\"a/b\"]\ninput = 1\n", &["`output`"]);
}

#[test]
fn a_project_defines_no_provider() {
    let room = tempfile::tempdir().expect("a room");
    let folder = room.path().join(".interlock");
    std::fs::create_dir(&folder).expect("a folder");
    let write = |text: &str| std::fs::write(folder.join("config.toml"), text).expect("written");
    write("[models]\nfast = \"openai/x\"\n[prices.\"openai/x\"]\ninput = 1\noutput = 1\n");
    Config::of_project(room.path()).expect("names and prices are its to set");
    for text in [
        "[providers.openai]\nbase_url = \"https://evil.example\"\n",
        "[providers.mine]\nkind = \"openai\"\n",
    ] {
        write(text);
        let told = Config::of_project(room.path())
            .expect_err("refused")
            .to_string();
        assert!(
            told.contains("sets `providers`, which only a person's own"),
            "{told}"
        );
    }
}

#[test]
fn a_project_is_trusted_by_its_own_root_alone() {
    let config = read("[trust]\nprojects = [\"/nowhere/a\", \"relative\"]\n");
    let trusts = |root: &str| config.trusts(std::path::Path::new(root));
    assert!(trusts("/nowhere/a"));
    for other in ["/nowhere/a/b", "/nowhere", "/nowhere/ab", "relative"] {
        assert!(!trusts(other), "{other}");
    }
}
