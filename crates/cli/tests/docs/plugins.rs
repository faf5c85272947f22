//! The READMEs of the plugins have the commands with which the tests install and uninstall them in the real clients.

use interlock_testkit::{
    claude::Version,
    client::{Client, Tools},
};

use crate::e2e_plugins::clients::{installing, uninstalling};

const REPOSITORY: &str = "interlock-cli/interlock";

#[test]
fn the_readme_of_each_plugin_has_the_commands_of_its_client() {
    let by_marketplace = [
        (
            Client::ClaudeCode(Version::V2_1_332),
            "claude",
            "install",
            "uninstall",
        ),
        (Client::Codex(Tools::Code), "codex", "add", "remove"),
        (Client::Copilot, "copilot", "install", "uninstall"),
    ];
    for (client, program, install, uninstall) in by_marketplace {
        let plugin = format!("{program} plugin");
        assert_eq!(
            installing(client),
            [
                format!("{plugin} marketplace add {REPOSITORY}"),
                format!("{plugin} {install} interlock@interlock"),
            ]
        );
        assert_eq!(
            uninstalling(client),
            [
                format!("{plugin} {uninstall} interlock@interlock"),
                format!("{plugin} marketplace remove interlock"),
            ]
        );
    }
    assert_eq!(
        installing(Client::Gemini),
        ["gemini extensions install PATH/plugins/gemini"]
    );
    assert_eq!(
        uninstalling(Client::Gemini),
        ["gemini extensions uninstall interlock"]
    );
    assert_eq!(
        installing(Client::Opencode),
        ["opencode plugin --global @interlock-cli/opencode"]
    );
    assert!(uninstalling(Client::Opencode).is_empty());
}
