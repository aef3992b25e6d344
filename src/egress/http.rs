//! HTTP side of the proxy: tunnels by `CONNECT`, and requests with an absolute address, which are rewritten.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::peer;
use super::shared::{Connection, Shared};
use super::target::Target;
use super::upstream::Protocol;

type Body = Either<Full<Bytes>, Incoming>;

/// Headers that are about one connection, and not passed on.
const OF_ONE_CONNECTION: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// Serves one client.
pub(super) async fn serve(stream: TcpStream, shared: &Arc<Shared>) -> hyper::Result<()> {
    let ends = stream.peer_addr().ok().zip(stream.local_addr().ok());
    let service = service_fn(|request| {
        let shared = Arc::clone(shared);
        async move { Ok::<_, Infallible>(respond(request, ends, &shared).await) }
    });
    hyper::server::conn::http1::Builder::new()
        .preserve_header_case(true)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await
}

/// Answers a request. `ends` are the addresses of the client and of the proxy.
async fn respond(
    request: Request<Incoming>,
    ends: Option<(SocketAddr, SocketAddr)>,
    shared: &Arc<Shared>,
) -> Response<Body> {
    if !is_known(request.headers(), ends, shared.token.as_deref()) {
        let mut asks =
            response(StatusCode::PROXY_AUTHENTICATION_REQUIRED, "this proxy serves one command only");
        asks.headers_mut()
            .insert(header::PROXY_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"architect-ci\""));
        return asks;
    }
    let is_tunnel = request.method() == Method::CONNECT;
    if !is_tunnel && request.method().as_str().eq_ignore_ascii_case("CONNECT") || !is_plain(request.headers())
    {
        return response(
            StatusCode::BAD_REQUEST,
            "this proxy passes on no `connect`, and no transfer coding but `chunked`",
        );
    }
    let Some(target) = target_of(request.uri(), is_tunnel) else {
        return response(
            StatusCode::BAD_REQUEST,
            "this proxy accepts `CONNECT host:port` and requests for `http://` addresses",
        );
    };
    let protocol = if is_tunnel { Protocol::Tunnel } else { Protocol::Http };
    let connection = match shared.open(target, protocol).await {
        Ok(connection) => connection,
        Err(error) => {
            let refused = error.is_refusal();
            let status = if refused { StatusCode::FORBIDDEN } else { StatusCode::BAD_GATEWAY };
            return response(status, &error.to_string());
        }
    };
    if is_tunnel {
        let shared = Arc::clone(shared);
        tokio::spawn(async move {
            // The client may be gone before the tunnel stands.
            if let Ok(client) = hyper::upgrade::on(request).await {
                let Connection { stream, target, .. } = connection;
                shared.relay(TokioIo::new(client), stream, &target).await;
            }
        });
        return Response::new(Either::Left(Full::default()));
    }
    forward(request, connection, shared).await.unwrap_or_else(|error| {
        response(StatusCode::BAD_GATEWAY, &format!("the host did not answer: {error}"))
    })
}

/// Returns whether a request is framed in a way of which no server can have another idea.
fn is_plain(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    codings.next().is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked"))
        && codings.next().is_none()
}

/// Returns whether a client has shown the token, if there is one, or shows none and is a process of this user.
fn is_known(headers: &HeaderMap, ends: Option<(SocketAddr, SocketAddr)>, token: Option<&str>) -> bool {
    let Some(token) = token else { return true };
    let expected = format!("Basic {}", STANDARD.encode(format!("architect:{token}")));
    match headers.get(header::PROXY_AUTHORIZATION) {
        Some(given) => given.as_bytes() == expected.as_bytes(),
        // Java has no setting for the password of a proxy.
        None => ends.is_some_and(|(client, proxy)| peer::is_own(client, proxy)),
    }
}

fn target_of(uri: &Uri, is_tunnel: bool) -> Option<Target> {
    let authority = uri.authority()?;
    let port = match (authority.port(), is_tunnel, uri.scheme_str()) {
        (Some(port), true, None) => port.as_u16(),
        (port, false, Some("http")) => port.map_or(80, |port| port.as_u16()),
        _ => return None,
    };
    // A user name belongs to no proxy, and could be taken for the host.
    if authority.as_str().contains('@') {
        return None;
    }
    Target::new(authority.host(), port)
}

/// Sends a request on as one of our own. Nothing of how the client framed or addressed it is passed on.
async fn forward(
    mut request: Request<Incoming>,
    Connection { stream, target, forwards }: Connection,
    shared: &Arc<Shared>,
) -> hyper::Result<Response<Body>> {
    let (mut sender, driver) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let stop = shared.stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = driver => {}
            () = stop.cancelled() => {}
        }
    });
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let host = if target.port == 80 { target.host.to_string() } else { target.to_string() };
    let address = if forwards.is_some() { format!("http://{host}{path}") } else { path.to_owned() };
    // What consists of parts of a valid address is a valid address.
    *request.uri_mut() = address.parse().unwrap_or_default();
    let headers = request.headers_mut();
    strip(headers);
    headers.remove(header::HOST);
    // The body is framed again: in chunks, unless its length is known.
    if headers.remove(header::TRANSFER_ENCODING).is_some() {
        headers.remove(header::CONTENT_LENGTH);
    }
    if let Ok(host) = HeaderValue::from_str(&host) {
        headers.insert(header::HOST, host);
    }
    if let Some(authorization) = forwards.and_then(|upstream| upstream.authorization()) {
        headers.insert(header::PROXY_AUTHORIZATION, authorization);
    }
    let mut response = sender.send_request(request).await?;
    strip(response.headers_mut());
    Ok(response.map(Either::Right))
}

/// Removes the headers of one connection, and those that it names.
fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        // These say where the request goes and where it ends.
        .filter(|name| !matches!(*name, header::HOST | header::CONTENT_LENGTH | header::TRANSFER_ENCODING))
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in OF_ONE_CONNECTION {
        headers.remove(name);
    }
}

/// Returns a response that the proxy itself gives.
fn response(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::from(format!("architect-ci: {text}\n"))));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
