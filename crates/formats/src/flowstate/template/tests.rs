#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::collections::BTreeMap;

use interlock_core::machine::Object;
use interlock_expr::text::{Caught, MissingInput, Places, Sources};
use proptest::prelude::*;
use serde_json::json;

use super::Template;

fn fill(text: &str) -> Result<String, MissingInput> {
    let context: Object = [
        ("x", "X"),
        ("max", "3"),
        ("attempt", "3"),
        ("name", "n"),
        ("checks::result", "fine"),
        ("a::b::v", "deep"),
        ("braces", "{{ x }}"),
        ("ünder-score_1", "u"),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), json!(value)))
    .collect();
    let places = Places {
        run_dir: "/run".to_owned(),
        project: "/project".to_owned(),
        home: "/home".to_owned(),
    };
    let caught = Caught {
        name: String::new(),
        code: "3".to_owned(),
        state: "a/b".to_owned(),
        stderr: "err".to_owned(),
        stdout: "out".to_owned(),
        message: "it failed".to_owned(),
    };
    let files = BTreeMap::from([("/run/n.txt".to_owned(), Ok("bytes {{ x }}\n".to_owned()))]);
    let template = Template::parse(text).unwrap();
    template.text().fill(&Sources {
        context: &context,
        caught: Some(&caught),
        places: &places,
        files: &files,
        beside: None,
    })
}

fn check(text: &str, wanted: &str) {
    assert_eq!(fill(text).as_deref(), Ok(wanted), "{text}");
}

fn refused(text: &str, at: usize, message: &str) {
    let mistake = Template::parse(text).unwrap_err();
    assert_eq!(mistake.at, at, "{text}");
    assert!(
        mistake.message.contains(message),
        "{text}: {}",
        mistake.message
    );
}

#[test]
fn values_are_put_in_where_they_stand() {
    check("a {{ x }} b{{x}}", "a X bX");
    check("{{\n  x\n}}", "X");
    check(
        "{{ checks::result }} {{ a::b::v }} {{ ünder-score_1 }}",
        "fine deep u",
    );
    check("{{ braces }}", "{{ x }}");
    check(
        "{{ error.code }} {{ error.state }} {{ error.stderr }} {{ error.stdout }} {{ error.message }}",
        "3 a/b err out it failed",
    );
}

#[test]
fn comparisons_are_exact_and_give_a_word() {
    check(
        "{{ x == 'X' }} {{ x == 'x' }} {{ x != \"X\" }} {{x=='X'}}",
        "true false false true",
    );
    check("{{ x == ' X' }}", "false");
    check("{{ attempt == '{{ max }}' }}", "true");
    check("{{ 'a' == 'a' }}", "true");
    check("{{ x == '' }}", "false");
    check("{{ x == \"it's\" }}", "false");
}

#[test]
fn braces_that_open_nothing_are_themselves() {
    for text in [
        "}}",
        "{",
        "{ {x} }",
        r#"{"a":{"b":1}}"#,
        "${x}",
        "a } } b",
        "",
    ] {
        check(text, text);
    }
    check(r#"{{ "{{" }}"#, "{{");
    check(r#"{{ "}}" }}"#, "}}");
    check(r#"{{ "{{" }}.Names{{ '}}' }}"#, "{{.Names}}");
    check(r#"{{ x == "{{ y" }}"#, "false");
    check(r#"{{ x == "}}" }}"#, "false");
    check("{{{ x }}}", "{X}");
    check("{{{{ x }}}}", "{{X}}");
    check("{{{{{ x }}", "{{{X");
}

#[test]
fn paths_and_files_are_named_with_and_without_quotes() {
    check("{{ path(./a) }}", "/run/a");
    check("{{ path( @/a b/c ) }}", "/project/a b/c");
    check(
        "{{ path('~/x') }} {{ path(\"/y\") }} {{ path(../z) }}",
        "/home/x /y /z",
    );
    check("{{ path(./{{ name }}.txt) }}", "/run/n.txt");
    check("{{ path('./{{ name }}(1).txt') }}", "/run/n(1).txt");
    check("{{ path(./a{b}.txt) }}", "/run/a{b}.txt");
    check("{{ file(./{{ name }}.txt) }}", "bytes {{ x }}\n");
    check("{{ file(n.txt) == 'x' }}", "false");
    assert_eq!(
        fill("{{ file(o.txt) }}"),
        Err(MissingInput::File("/run/o.txt".to_owned()))
    );
}

#[test]
fn a_quoted_value_is_one_word() {
    check("{{ quote(x) }} {{ quote( 'a b' ) }}", "'X' 'a b'");
    check("{{ quote(braces) }}", "'{{ x }}'");
    check("{{ quote(file(n.txt)) }}", "'bytes {{ x }}\n'");
}

#[test]
fn a_mistake_is_named_where_its_template_opens() {
    refused("ab {{ x", 3, "nothing closes");
    refused("{{ x }} {{ }}", 8, "without a name");
    refused("{{.Names}}", 0, "`.`");
    refused("{{ a b }}", 0, "`b`");
    refused("{{ a == b }}", 0, "not in quotes");
    refused("{{ {{ x }} }}", 0, "begin with another");
    refused("{{ a.b }}", 0, "`.`");
    refused("{{ a: }}", 0, "`:`");
    refused("{{ a:: }}", 0, "after `::`");
    refused("{{ 'a }}", 0, "not closed");
    refused("{{ error.kode }}", 0, "no part `kode`");
    refused("{{ file() }}", 0, "without a path");
    refused("{{ file(a }}", 0, "`)`");
    refused("{{ x == '{{ }}' }}", 0, "without a name");
    refused("{{{ x", 1, "nothing closes");
    refused("{{ -x }}", 0, "`-`");
    refused("{{ x == 'a' == 'b' }}", 0, "`=`");
}

#[test]
fn nesting_without_end_is_refused() {
    let open = "{{ path(".repeat(200_000);
    assert!(Template::parse(&format!("{open}x}}}}")).is_err());
    let quotes = format!(
        "{{{{ {}x{} }}}}",
        "quote(".repeat(100_000),
        ")".repeat(100_000)
    );
    assert!(Template::parse(&quotes).is_err());
}

proptest! {
    #[test]
    fn text_without_two_braces_is_itself(text in "[^{]*(\\{[^{]+)*") {
        prop_assert_eq!(fill(&text), Ok(text));
    }

    #[test]
    fn any_text_has_an_escape(text in "\\PC*") {
        let escaped = text.replace('{', "{{ '{' }}");
        prop_assert_eq!(fill(&escaped), Ok(text));
    }

    #[test]
    fn any_signs_are_answered(text in "[{}'\"()=!x:. \\n]{0,40}") {
        let _ = Template::parse(&text);
    }

    #[test]
    fn parts_cover_the_text_in_order(text in "([a-z}]{0,4}(\\{\\{ x \\}\\})?){0,6}") {
        let template = Template::parse(&text).unwrap();
        let mut at = 0;
        for part in &template.parts {
            prop_assert_eq!(part.at.start, at);
            at = part.at.end;
        }
        prop_assert_eq!(at, text.len());
    }
}
