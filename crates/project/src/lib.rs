//! What a project and a person have set: the root, the configuration, the workflow files.
//!
//! Reads the environment of an invocation and files, and writes a workflow file where it is told to; decides nothing about a run.

mod assets;
mod config;
mod environment;
mod library;
mod models;
mod places;
mod save;
mod trust;

pub use assets::Assets;
pub use config::{
    Asks, AssistantConfig, AttestConfig, Config, ConfigError, Durability, GatewayConfig,
    GuardScope, HttpConfig, IntegrationConfig, IntegrationEnv, McpServerConfig, Modes,
    NotifyConfig, PlaceConfig, PriceConfig, ProtectConfig, ProviderConfig, ProviderName, Providers,
    RequiredLevel, SandboxConfig, ServerConfig, ServerName, Servers, ShellConfig, StagesConfig,
    StdioConfig, StoreConfig, TelemetryConfig, ToolConfig, Transport, TrustConfig, UnreadEntries,
    expand,
};
pub use environment::{Environment, now_ms};
pub use interlock_fleet::open as open_joined;
pub use library::{Entry, Library, NotFound, Origin, workflow_files};
pub use models::{ModelName, ModelSetupError, Models, ReadyModel};
pub use places::{configuration_directory, main_worktree, project_root, workflow_root};
pub use save::{SaveError, save};
pub use trust::Untrusted;
