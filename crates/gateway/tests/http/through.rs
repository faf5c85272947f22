//! Client and server of another implementation, connected through both of our sides, in every revision.

use std::{borrow::Cow, sync::Arc};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use interlock_core::names::RunId;
use interlock_gateway::{
    channel::Channel,
    govern::Caller,
    notes::Notes,
    serve::SessionFactory,
    upstream::{
        ConnectOptions, Running,
        http::{HttpServer, Speaks},
    },
};
use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt as _, ErrorData, RoleServer,
    ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientConfig, ContentBlock,
        ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion,
        ServerCapabilities, ServerConfig, Tool,
    },
    service::{NotificationContext, RequestContext, RoleClient},
    transport::{
        StreamableHttpClientTransport, StreamableHttpServerConfig, StreamableHttpService,
        streamable_http_client::StreamableHttpClientTransportConfig,
        streamable_http_server::session::local::LocalSessionManager,
    },
};
use serde_json::json;
use tokio::{net::TcpListener, sync::mpsc};

use crate::http::world::{Rules, no_tls, serve, soon};

/// A server of the other implementation.
#[derive(Debug, Clone, Default)]
struct Theirs;

impl ServerHandler for Theirs {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({"type": "object"}).as_object().cloned().unwrap();
        let tool = Tool::new(
            Cow::Borrowed("count"),
            Cow::Borrowed("Counts."),
            Arc::new(schema),
        );
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(token) = context.meta.get_progress_token() {
            for number in 1..=3 {
                let progress = ProgressNotificationParam::new(token.clone(), f64::from(number));
                context.peer.notify_progress(progress).await.ok();
            }
        }
        let text = json!(request.arguments).to_string();
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

async fn their_server() -> String {
    let service = StreamableHttpService::new(
        || Ok(Theirs),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let router = Router::new().fallback_service(service);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let service = TowerToHyperService::new(router.clone());
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    format!("http://{address}/mcp")
}

/// Connects both sides without a session in between.
#[derive(Debug)]
struct Straight {
    server: HttpServer,
    options: ConnectOptions,
}

impl SessionFactory for Straight {
    fn open(&self, _caller: &Caller) -> Result<Channel, String> {
        Ok(self.server.connect(&self.options).link)
    }

    fn run_of(&self, _credential: &str) -> Result<Option<RunId>, String> {
        Ok(None)
    }
}

/// A client of the other implementation, which records progress notifications.
#[derive(Debug, Clone)]
struct Watching(mpsc::UnboundedSender<f64>, ProtocolVersion);

impl ClientHandler for Watching {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.protocol_version = self.1.clone();
        info
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.0.send(params.progress).ok();
    }
}

async fn check(version: ProtocolVersion, mode: ClientLifecycleMode) {
    let (notes, _) = Notes::to_channel();
    let (running, _ended) = Running::new();
    let factory = Straight {
        server: HttpServer::new(&their_server().await, [], Speaks::Any).unwrap(),
        options: ConnectOptions {
            label: "theirs".to_owned(),
            bytes_max: 1_000_000,
            notes,
            running,
        },
    };
    let (address, stop, running) = serve(Rules::default(), Arc::new(factory)).await;
    let http = reqwest::Client::builder()
        .no_proxy()
        .tls_backend_preconfigured(no_tls());
    let config = StreamableHttpClientTransportConfig::with_uri(format!("http://{address}/mcp"));
    let transport = StreamableHttpClientTransport::with_client(http.build().unwrap(), config);
    let (told, mut progress) = mpsc::unbounded_channel();
    let client = Watching(told, version.clone());
    let client = soon(client.serve_with_lifecycle(transport, mode))
        .await
        .unwrap();
    let tools = soon(client.list_all_tools()).await.unwrap();
    assert_eq!(tools.len(), 1, "{version}");
    let arguments = json!({"of": version.as_str()})
        .as_object()
        .cloned()
        .unwrap();
    let params = CallToolRequestParams::new("count").with_arguments(arguments);
    let result = soon(client.call_tool(params)).await.unwrap();
    let text = json!(result).to_string();
    assert!(text.contains(version.as_str()), "{text}");
    for number in [1.0, 2.0, 3.0] {
        assert_eq!(soon(progress.recv()).await, Some(number), "{version}");
    }
    soon(client.cancel()).await.unwrap();
    stop.send(()).ok();
    soon(running).await.unwrap();
}

#[tokio::test]
async fn clients_and_servers_with_sessions_understand_each_other() {
    for version in [
        ProtocolVersion::V_2024_11_05,
        ProtocolVersion::V_2025_03_26,
        ProtocolVersion::V_2025_06_18,
        ProtocolVersion::V_2025_11_25,
    ] {
        check(version, ClientLifecycleMode::Initialize).await;
    }
}

#[tokio::test]
async fn clients_and_servers_without_sessions_understand_each_other() {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let mode = ClientLifecycleMode::Discover { preferred_versions };
    check(ProtocolVersion::V_2026_07_28, mode).await;
}
