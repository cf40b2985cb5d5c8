//! The protocol's side: what is offered, and how a call of a tool becomes calls of the daemon.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    ErrorCode, Implementation, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;

use super::answers::{self, ToolResult};
use super::caller::Caller;
use super::daemon::{Daemon, Trouble};
use super::{clean, params, resources, schema, tools};
use protocol::note::RecentRequest;

/// How long a client may keep the list of tools: it changes only with the program.
const TOOLS_TTL_MS: u64 = 3_600_000;

/// The server of one client.
pub(super) struct Bridge {
    daemon: Daemon,
    left: Arc<AtomicBool>,
}

impl Bridge {
    /// `left` is set once the client's input has ended.
    pub(super) fn new(daemon: Daemon, left: Arc<AtomicBool>) -> Self {
        Bridge { daemon, left }
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Caller {
        Caller::new(self.daemon.clone(), self.left.clone(), context)
    }
}

impl ServerHandler for Bridge {
    fn get_info(&self) -> ServerConfig {
        let this = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
            .with_title("situated")
            .with_description("The user's Markdown notes, searched by words and meaning");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().build())
            .with_server_info(this)
            .with_instructions(tools::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools = ListToolsResult::with_all_items(tools::all());
        if knows_caching(&context) {
            tools = tools.with_ttl_ms(TOOLS_TTL_MS).with_cache_scope(CacheScope::Public);
        }
        Ok(tools)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::definition(name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::named(&request.name) else {
            let name: String = clean::line(&request.name).chars().take(80).collect();
            let message = format!("there is no tool `{name}`; the tools are {}", tools::names());
            return Err(ErrorData::invalid_params(message, None));
        };
        let caller = self.caller(&context);
        let arguments = schema::tolerate(request.arguments.unwrap_or_default());
        let result = match (tool.run)(arguments, &caller).await {
            Ok(ToolResult { text, structured }) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
                result.structured_content = structured;
                result
            }
            Err(trouble) => CallToolResult::error(vec![ContentBlock::text(clean::text(&trouble.message))]),
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let after = request.and_then(|request| request.cursor);
        let asked = RecentRequest { limit: Some(resources::PAGE), after, ..RecentRequest::default() };
        let recent = self.caller(&context).call(asked).await.map_err(|trouble| {
            let is_of_cursor = trouble.kind == "invalid_params";
            let message = "`cursor` must be the `nextCursor` of a page";
            if is_of_cursor { ErrorData::invalid_params(message, None) } else { error(trouble) }
        })?;
        let mut page = resources::page(&recent);
        if knows_caching(&context) {
            // The list changes with each save, and is only for this client.
            page = page.with_ttl_ms(0).with_cache_scope(CacheScope::Private);
        }
        Ok(page)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut templates = ListResourceTemplatesResult::with_all_items(vec![resources::template()]);
        if knows_caching(&context) {
            templates = templates.with_ttl_ms(TOOLS_TTL_MS).with_cache_scope(CacheScope::Public);
        }
        Ok(templates)
    }

    /// Requests that the library knows, with parameters that it does not, come here like those that nobody knows.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let has_name = request.params.as_ref().is_some_and(|params| params["name"].is_string());
        let why = match request.method.as_str() {
            "tools/call" if has_name => "`arguments` must be an object".to_owned(),
            "tools/call" => format!("`name` must be the name of a tool; the tools are {}", tools::names()),
            "resources/read" => "`uri` must be the address of a note, as `note://VAULT/PATH`".to_owned(),
            "resources/list" => "`cursor` must be the `nextCursor` of a page".to_owned(),
            _ => return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)),
        };
        Err(ErrorData::invalid_params(why, None))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let Some((vault, path)) = resources::place(&request.uri) else {
            let message = "this is no address of a note: they look like `note://VAULT/PATH`, percent-encoded";
            return Err(ErrorData::invalid_params(message, Some(json!({ "uri": request.uri }))));
        };
        let read = params::Read { path, vault: Some(vault), line: None, lines: None, links: false, max_chars: None };
        let note = answers::note(read, &self.caller(&context)).await.map_err(|trouble| {
            if trouble.kind == "not_found" {
                return ErrorData::resource_not_found(
                    clean::line(&trouble.message),
                    Some(json!({ "uri": request.uri })),
                );
            }
            error(trouble)
        })?;
        let mut contents = resources::contents(&request.uri, &note);
        if knows_caching(&context) {
            contents = contents.with_ttl_ms(0).with_cache_scope(CacheScope::Private);
        }
        Ok(contents.into())
    }
}

/// Whether results say how long they may be kept: older versions of the protocol know nothing of that.
fn knows_caching(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// The error for a trouble, where the protocol has no result that could carry it.
fn error(trouble: Trouble) -> ErrorData {
    let message = clean::text(&trouble.message);
    match trouble.kind.as_str() {
        "invalid_params" | "not_found" => ErrorData::invalid_params(message, None),
        _ => ErrorData::internal_error(message, None),
    }
}
