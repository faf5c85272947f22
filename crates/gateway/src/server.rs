//! The control tools over MCP: any revision a client speaks, on stdin and stdout.

use std::{
    borrow::Cow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
};

use interlock_core::{call::ControlTool, names::CallId};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
        ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
        ToolAnnotations,
    },
    service::{QuitReason, RequestContext, ServerInitializeError},
    transport::{IntoTransport, stdio},
};
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    answer::Answer,
    control::{Control, Incoming},
    error::GatewayError,
    refused::{Refused, Word},
    settings::{Settings, ToolPrefix},
    tools::{self, ToolText},
};

/// Where Claude Code says which of the model's calls this is.
const CALL_ID_KEY: &str = "claudecode/toolUseId";

/// Serves the control tools on stdin and stdout until the client goes or the process is interrupted.
///
/// # Errors
/// The system gives no event loop, or the client does not speak MCP.
pub fn serve_stdio(settings: Settings) -> Result<(), GatewayError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(GatewayError::Start)?;
    let served = runtime.block_on(async {
        let mut terminated = signal(SignalKind::terminate()).map_err(GatewayError::Start)?;
        tokio::select! {
            served = serve(settings, stdio()) => served,
            _ = tokio::signal::ctrl_c() => Ok(()),
            _ = terminated.recv() => Ok(()),
        }
    });
    // A read of stdin that nobody waits for any more would keep the process.
    runtime.shutdown_background();
    served
}

/// Serves the control tools over any transport until the client goes.
///
/// # Errors
/// The client does not speak MCP.
pub async fn serve<T, E, A>(settings: Settings, transport: T) -> Result<(), GatewayError>
where
    T: IntoTransport<RoleServer, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let server = Server {
        prefix: settings.tool_prefix,
        control: Mutex::new(Control::new(settings)),
    };
    let running = match server.serve(transport).await {
        Ok(running) => running,
        // Gone before it said anything.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(GatewayError::Client(error.to_string())),
    };
    match running.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => {
            Err(GatewayError::Stopped(error.to_string()))
        }
        Ok(_) => Ok(()),
    }
}

struct Server {
    prefix: ToolPrefix,
    control: Mutex<Control>,
}

impl Server {
    fn answer(&self, tool: ControlTool, incoming: &Incoming) -> Answer {
        // A panic in between has left no half-made change in it: everything that counts is in the store.
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        catch_unwind(AssertUnwindSafe(|| control.answer(tool, incoming))).unwrap_or_else(|_| {
            let message = "Interlock failed while it answered; nothing is certain but what `interlock log` shows: call again, or tell a person";
            Refused::new(Word::Unavailable, message).into()
        })
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let own =
            Implementation::new("interlock", env!("CARGO_PKG_VERSION")).with_title("Interlock");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(own)
            .with_instructions(tools::instructions(self.prefix))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = tools::listed_tools()
            .iter()
            .map(|text| tool(text, self.prefix));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::control_tool(&request.name) else {
            return Err(unknown_tool(&request.name, self.prefix));
        };
        let call = context
            .meta
            .get(CALL_ID_KEY)
            .and_then(Value::as_str)
            .map(CallId::new);
        let incoming = Incoming {
            arguments: request.arguments.unwrap_or_default(),
            call,
            at_ms: crate::now_ms(),
        };
        Ok(result(self.answer(tool, &incoming)).into())
    }
}

fn tool(text: &ToolText, prefix: ToolPrefix) -> Tool {
    let hints = ToolAnnotations::with_title(text.title)
        .read_only(text.read_only)
        .destructive(false)
        .idempotent(text.idempotent)
        .open_world(false);
    let schema = Arc::new(text.schema(prefix));
    Tool::new(
        text.full_name(prefix),
        Cow::Owned(text.full_description(prefix)),
        schema,
    )
    .with_title(text.title)
    .with_annotations(hints)
}

fn result(answer: Answer) -> CallToolResult {
    let content = vec![ContentBlock::text(answer.text)];
    let mut result = if answer.refused {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    result.structured_content = Some(Value::Object(answer.structured));
    result
}

fn unknown_tool(name: &str, prefix: ToolPrefix) -> ErrorData {
    let known: Vec<String> = tools::listed_tools()
        .iter()
        .map(|text| text.full_name(prefix))
        .collect();
    ErrorData::invalid_params(
        format!("no tool is called `{name}`; there are {}", known.join(", ")),
        None,
    )
}
