//! Names of models, and what stands behind them.

#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::fs;

use interlock_models::Usage;

use super::{ModelSetupError, Models};
use crate::Config;

fn config(text: &str) -> Config {
    Config::parse(text).unwrap()
}

fn models(person: &str, project: &str) -> Models {
    Models::of(&config(person), &config(project))
}

fn no_variable(_: &str) -> Option<String> {
    None
}

/// Looks variables up in `NAME=value` words.
fn given(words: &str) -> impl Fn(&str) -> Option<String> {
    move |name| {
        let mut pairs = words.split(' ').filter_map(|word| word.split_once('='));
        pairs
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.to_owned())
    }
}

#[test]
fn a_name_is_an_alias_then_a_provider_and_a_name_then_a_prefix() {
    let all = models(
        "default_model = \"fast\"\n[models]\nfast = \"mine/small\"\n\"gpt-5\" = \"mine/other\"\n[providers.mine]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1\"\n",
        "default_model = \"theirs\"\n[models]\nfast = \"openai/theirs\"\nslow = \"anthropic/claude-opus-4-1\"\n",
    );
    let cases = [
        (None, "mine/small"),
        (Some("fast"), "mine/small"),
        (Some("slow"), "anthropic/claude-opus-4-1"),
        (Some("gpt-5"), "mine/other"),
        (Some("gpt-4.1"), "openai/gpt-4.1"),
        (Some("o1"), "openai/o1"),
        (Some("o3-mini"), "openai/o3-mini"),
        (Some("o4-mini"), "openai/o4-mini"),
        (Some("claude-sonnet-4-5"), "anthropic/claude-sonnet-4-5"),
        (Some("gemini-2.5-pro"), "google/gemini-2.5-pro"),
        (Some("gemini/gemini-2.5-pro"), "gemini/gemini-2.5-pro"),
        (Some("ollama/qwen3:8b"), "ollama/qwen3:8b"),
        (Some("mine/anthropic/claude"), "mine/anthropic/claude"),
    ];
    for (written, meant) in cases {
        assert_eq!(all.find(written).unwrap().to_string(), meant);
    }
    let told = |name: &str| all.find(Some(name)).unwrap_err().to_string();
    assert!(told("fats").contains("did you mean `fast`?"));
    assert!(told("anthropc/x").contains("did you mean `anthropic`?"));
    assert!(told("openai/").contains("is not a model"));
    assert!(matches!(
        models("", "").find(None),
        Err(ModelSetupError::None)
    ));
}

#[test]
fn a_missing_key_is_named_before_anything_is_sent() {
    let all = models(
        "[providers.mine]\nkind = \"openai\"\napi_key_env = \"MY_KEY\"\n",
        "",
    );
    let told = |name: &str| all.ready(Some(name), no_variable).unwrap_err().to_string();
    assert!(told("claude-sonnet-4-5").ends_with("set `ANTHROPIC_API_KEY`"));
    assert!(told("gpt-5").ends_with("set `OPENAI_API_KEY`"));
    assert!(told("gemini-2.5-pro").ends_with("set `GEMINI_API_KEY` or `GOOGLE_API_KEY`"));
    assert!(told("mine/x").ends_with("set `MY_KEY`"));
    all.ready(Some("ollama/x"), no_variable).unwrap();
    all.ready(Some("gemini-2.5-pro"), given("GOOGLE_API_KEY=key"))
        .unwrap();
    // An empty one is none, and one that cannot be sent is not repeated.
    assert!(all.ready(Some("gpt-5"), |_| Some(" ".to_owned())).is_err());
    let told = all
        .ready(Some("gpt-5"), |_| Some("se cret".to_owned()))
        .unwrap_err();
    assert!(!told.to_string().contains("cret"));
}

#[test]
fn a_key_of_the_well_known_place_goes_nowhere_else() {
    let all = models(
        "[providers.local]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n[providers.again]\nkind = \"anthropic\"\n",
        "",
    );
    let all_set = given(
        "OPENAI_API_KEY=key-of-openai ANTHROPIC_API_KEY=key OPENAI_BASE_URL=http://127.0.0.1:1 ANTHROPIC_BASE_URL=http://127.0.0.1:2",
    );
    let local = all.ready(Some("local/x"), &all_set).unwrap();
    assert_eq!(local.provider.base_url(), "http://127.0.0.1:9/v1");
    assert!(format!("{:?}", local.provider).contains("key: None"));
    let own = all.ready(Some("gpt-5"), &all_set).unwrap();
    assert_eq!(own.provider.base_url(), "http://127.0.0.1:1/");
    let again = all.ready(Some("again/x"), &all_set).unwrap();
    assert_eq!(again.provider.base_url(), "http://127.0.0.1:2/");
}

#[test]
fn the_variable_of_an_address_goes_before_the_table_of_that_name() {
    let all = models(
        "[providers.openai]\nbase_url = \"https://proxy.example/v1\"\ntimeout = 30\n[providers.google]\napi_key_env = \"G\"\n",
        "",
    );
    let plain = all.ready(Some("gpt-5"), no_variable).unwrap();
    assert_eq!(plain.provider.base_url(), "https://proxy.example/v1");
    let other = all
        .ready(Some("gpt-5"), given("OPENAI_BASE_URL=http://127.0.0.1:7"))
        .unwrap();
    assert_eq!(other.provider.base_url(), "http://127.0.0.1:7/");
    let gemini = all
        .ready(
            Some("gemini/gemini-2.5-pro"),
            given("G=key GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:8"),
        )
        .unwrap();
    assert_eq!(gemini.provider.base_url(), "http://127.0.0.1:8/");
    for (host, url) in [
        ("127.0.0.1", "http://127.0.0.1:11434/"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080/"),
        (
            "http://there.example:1/ollama",
            "http://there.example:1/ollama",
        ),
        (":9", "http://127.0.0.1:9/"),
    ] {
        let words = format!("OLLAMA_HOST={host}");
        let ready = all.ready(Some("ollama/x"), given(&words)).unwrap();
        assert_eq!(ready.provider.base_url(), url);
    }
    assert!(
        all.ready(Some("gpt-5"), given("OPENAI_BASE_URL=http://me:secret@x"))
            .is_err_and(|error| !error.to_string().contains("secret"))
    );
}

#[test]
fn a_key_is_read_from_a_file_and_headers_from_variables() {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("key"), "key-in-a-file\n").unwrap();
    let text = "[providers.mine]\nkind = \"anthropic\"\napi_key_file = \"~/key\"\nheaders = { X-Team = \"${TEAM}\" }\n";
    let all = models(text, "");
    let words = format!("HOME={} TEAM=blue", room.path().display());
    let ready = all.ready(Some("mine/x"), given(&words)).unwrap();
    let told = format!("{:?}", ready.provider);
    assert!(
        told.contains("Key(..)") && told.contains("x-team") && !told.contains("blue"),
        "{told}"
    );
    let told = all
        .ready(Some("mine/x"), given("HOME=/nowhere TEAM=x"))
        .unwrap_err()
        .to_string();
    assert!(told.contains("`/nowhere/key`"), "{told}");
    let words = format!("HOME={}", room.path().display());
    let told = all
        .ready(Some("mine/x"), given(&words))
        .unwrap_err()
        .to_string();
    assert!(told.contains("`TEAM` is not set"), "{told}");
}

#[test]
fn prices_are_exact_and_the_persons_own_win() {
    let all = models(
        "[prices.\"openai/gpt-5\"]\ninput = 1.25\noutput = 10\ncached_input = \"0.125\"\n",
        "[prices.\"openai/gpt-5\"]\ninput = 0\noutput = 0\n[prices.\"gemini/gemini-2.5-pro\"]\ninput = 0.000001\noutput = 1\n",
    );
    let usage = Usage {
        input: Some(1_000_003),
        output: Some(7),
        cached: Some(3),
        reasoning: None,
    };
    let cost = |name: &str| {
        let price = all.price(&all.find(Some(name)).unwrap());
        price.and_then(|price| price.pico_usd(&usage))
    };
    // 1,000,000 at 1.25 a million, 3 at 0.125, 7 at 10: 1.250070375 dollars.
    assert_eq!(cost("gpt-5"), Some(1_250_070_375_000));
    assert_eq!(cost("gemini-2.5-pro"), Some(1_000_003 + 7_000_000));
    assert_eq!(cost("claude-sonnet-4-5"), None);
}
