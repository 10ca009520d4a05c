//! gRPC as far as we need it: one message in, one message or a status out, over HTTP/2.

use std::convert::Infallible;

use anyhow::Result;
use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tonic::Status;

use super::calls::CALLS;
use super::{Answer, Desk};

/// Before each message: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// Takes connections for ever; they live on the runtime that this runs on.
pub(super) async fn accept(listener: &TcpListener, desk: Desk) -> Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let desk = desk.clone();
        let service = service_fn(move |request| {
            let desk = desk.clone();
            async move { Ok::<_, Infallible>(answer(&desk, request).await) }
        });
        let connection = http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service);
        // A connection that breaks is the other side's affair.
        tokio::spawn(async move { drop(connection.await) });
    }
}

async fn answer(
    desk: &Desk,
    request: Request<Incoming>,
) -> Response<impl Body<Data = Bytes, Error = Infallible> + use<>> {
    let (message, status) = match serve(desk, request).await {
        Ok(message) => (framed(&message), Status::ok("")),
        Err(status) => (Bytes::new(), status),
    };
    let mut trailers = HeaderMap::new();
    // A status that cannot be written in headers has no place in a test.
    if status.add_header(&mut trailers).is_err() {
        trailers.insert("grpc-status", HeaderValue::from_static("13"));
    }
    let body = Full::new(message).with_trailers(async { Some(Ok(trailers)) });
    let mut response = Response::new(body);
    let kind = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(http::header::CONTENT_TYPE, kind);
    response
}

async fn serve(desk: &Desk, request: Request<Incoming>) -> Answer<Vec<u8>> {
    let (head, body) = request.into_parts();
    let call = CALLS
        .iter()
        .find(|call| call.path == head.uri.path())
        .ok_or_else(|| Status::unimplemented(format!("the stand-in has no {}", head.uri.path())))?;
    let broken = |error: hyper::Error| Status::cancelled(error.to_string());
    let mut message = body.collect().await.map_err(broken)?.to_bytes();
    if message.len() < PREFIX || message[0] != 0 {
        return Err(Status::unimplemented("the stand-in reads whole plain messages only"));
    }
    let key = head.headers.get("api-key").and_then(|key| key.to_str().ok());
    desk.serve(call, key, message.split_off(PREFIX)).await
}

fn framed(message: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(PREFIX + message.len());
    framed.put_u8(0);
    framed.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    framed.put_slice(message);
    framed.freeze()
}
