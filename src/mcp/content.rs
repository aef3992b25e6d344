//! Results of MCP servers as text for the model.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use super::schema::Schema;
use crate::tool::ToolResult;

/// Converts a result for the model. It is a failure if it violates the output schema that its server has
/// promised.
pub(super) fn result(result: CallToolResult, promised: Option<&Schema>) -> ToolResult {
    let mut parts: Vec<String> =
        result.content.into_iter().map(part).filter(|part| !part.is_empty()).collect();
    if let (true, Some(value)) = (parts.is_empty(), &result.structured_content) {
        parts.push(value.to_string());
    }
    let text = parts.join("\n");
    if result.is_error == Some(true) {
        return ToolResult::failed(if text.is_empty() {
            "the server reports an error".to_owned()
        } else {
            text
        });
    }
    let broken = promised.and_then(|promised| match &result.structured_content {
        Some(value) => promised.check(value).err().map(|violation| violation.problem),
        None => Some("the structured content is missing".to_owned()),
    });
    match broken {
        None if text.is_empty() => ToolResult::done("(no output)"),
        None => ToolResult::done(text),
        Some(error) => {
            let message = format!("the result does not satisfy the server's own schema: {error}");
            ToolResult { output: text, ..ToolResult::failed(message) }
        }
    }
}

fn part(block: ContentBlock) -> String {
    // The length is that of the base64 text.
    let blob = |what: &str, kind: &str, length: usize| {
        format!("[{what}, {kind}, about {} bytes, not shown]", length / 4 * 3)
    };
    match block {
        ContentBlock::Text(text) => text.text,
        ContentBlock::Image(image) => blob("image", &image.mime_type, image.data.len()),
        ContentBlock::Audio(audio) => blob("audio", &audio.mime_type, audio.data.len()),
        ContentBlock::Resource(resource) => match resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[{uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, blob: data, mime_type, .. } => {
                blob(&uri, mime_type.as_deref().unwrap_or("unknown type"), data.len())
            }
            _ => "[a resource of an unknown type, not shown]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[{}: {}]", link.name, link.uri),
        _ => "[content of an unknown type, not shown]".to_owned(),
    }
}
