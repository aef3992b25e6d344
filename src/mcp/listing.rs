//! A server's list of tools, as far as it is sensible.

use rmcp::RoleClient;
use rmcp::model::{PaginatedRequestParams, Tool};
use rmcp::service::{Peer, ServiceError};

use super::error::StartError;

/// Most pages of a list, most tools, and most bytes of them as JSON.
const MAX_PAGES: usize = 50;
const MAX_LISTED: usize = 2_000;
const MAX_BYTES: usize = 8 << 20;

/// Asks a server for its tools, page by page. A list without an end is an error as well.
pub(super) async fn tools(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, StartError> {
    let mut tools = Vec::new();
    let (mut cursor, mut bytes) = (None, 0);
    for _ in 0..MAX_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer.list_tools(Some(params)).await.map_err(failed)?;
        bytes += page.tools.iter().map(length).sum::<usize>();
        if tools.len() + page.tools.len() > MAX_LISTED || bytes > MAX_BYTES {
            break;
        }
        tools.extend(page.tools);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    Err(StartError::LongList { pages: MAX_PAGES, tools: MAX_LISTED, megabytes: MAX_BYTES >> 20 })
}

fn failed(error: ServiceError) -> StartError {
    StartError::Listing(error)
}

fn length(tool: &Tool) -> usize {
    serde_json::to_vec(tool).map_or(0, |text| text.len())
}
