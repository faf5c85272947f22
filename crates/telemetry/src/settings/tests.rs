#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use super::*;

fn of(variables: &[(&str, &str)], configured: Option<&str>) -> Result<Settings, SettingsError> {
    let look = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Settings::of(look, configured, false)
}

#[test]
fn it_is_off_unless_configured() {
    assert_eq!(of(&[], None).unwrap().endpoint, None);
    assert_eq!(
        of(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")], None)
            .unwrap()
            .endpoint,
        None
    );
    for off in [
        ("OTEL_SDK_DISABLED", "True"),
        ("OTEL_TRACES_EXPORTER", "none"),
    ] {
        let set = of(&[off, ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c")], None).unwrap();
        assert_eq!(set.endpoint, None);
    }
}

#[test]
fn an_endpoint_is_found_where_the_standard_says() {
    let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/x/");
    let traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t/own");
    let endpoint = |variables: &[(&str, &str)], configured| {
        of(variables, configured).unwrap().endpoint.unwrap()
    };
    assert_eq!(endpoint(&[base], None), "http://c:4318/x/v1/traces");
    assert_eq!(endpoint(&[base, traces], None), "https://t/own");
    assert_eq!(endpoint(&[], Some("http://mine")), "http://mine/v1/traces");
    assert_eq!(
        endpoint(&[base], Some("http://mine")),
        "http://c:4318/x/v1/traces"
    );
}

#[test]
fn what_cannot_be_spoken_is_said() {
    let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4317");
    let grpc = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    assert!(matches!(
        of(&[base, grpc], None),
        Err(SettingsError::Protocol { .. })
    ));
    assert!(of(&[grpc], None).is_ok(), "nothing is sent");
    let file = ("OTEL_EXPORTER_OTLP_ENDPOINT", "file:///etc");
    assert!(matches!(of(&[file], None), Err(SettingsError::Endpoint(_))));
}

#[test]
fn headers_and_resource_are_read_with_their_escapes() {
    let set = of(
        &[
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "authorization=Bearer%20k%3D1, x=y,broken",
            ),
            ("OTEL_RESOURCE_ATTRIBUTES", "team=a%2Cb,service.name=other"),
            ("OTEL_SERVICE_NAME", "guard"),
        ],
        None,
    )
    .unwrap();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        set.headers,
        [pair("authorization", "Bearer k=1"), pair("x", "y")]
    );
    let attributes = &set.resource.attributes;
    assert!(attributes.contains(&pair("team", "a,b")));
    assert!(attributes.contains(&pair("service.name", "guard")));
    assert_eq!(
        attributes
            .iter()
            .filter(|(name, _)| name == "service.name")
            .count(),
        1
    );
}

#[test]
fn content_is_told_only_when_asked_for() {
    let name = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
    assert!(!of(&[], None).unwrap().content);
    assert!(of(&[(name, "true")], None).unwrap().content);
    assert!(!of(&[(name, "false")], None).unwrap().content);
    assert!(Settings::of(|_| None, None, true).unwrap().content);
    let no = |_: &str| Some("NO_CONTENT".to_owned());
    assert!(
        !Settings::of(
            |name: &str| name.contains("CAPTURE").then(|| no("")).flatten(),
            None,
            true
        )
        .unwrap()
        .content
    );
}

#[test]
fn broken_escapes_stay_as_they_are() {
    assert_eq!(pairs("a=%zz%4"), [("a".to_owned(), "%zz%4".to_owned())]);
    assert_eq!(pairs("a=%+1"), [("a".to_owned(), "%+1".to_owned())]);
}
