//! One HTTP request and its answer over a stream, blocking.
//!
//! Only what our own endpoint says has to be understood: an answer of a known length, after which the connection ends.

use std::io::{self, Read, Write};

/// An answer's head must fit into it.
const HEAD: usize = 16 * 1024;
/// The most that is read of an answer.
const ANSWER: usize = 64 * 1024 * 1024;
const HEADERS: usize = 32;

/// A request; with a body it is a POST.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) path: &'a str,
    pub(super) token: &'a str,
    pub(super) body: Option<&'a [u8]>,
}

/// Sends the request and returns the answer's status and body.
pub(super) fn exchange(
    stream: &mut (impl Read + Write),
    request: &Request<'_>,
) -> io::Result<(u16, Vec<u8>)> {
    let Request { path, token, body } = request;
    let method = if body.is_some() { "POST" } else { "GET" };
    let body = body.unwrap_or_default();
    let mut bytes = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    // A request that is refused may be refused before it was read: the answer says why it could not be written.
    let written = stream.write_all(&bytes).and_then(|()| stream.flush());
    match answer(stream) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(written.err().unwrap_or(error))
        }
        answered => answered,
    }
}

/// The token stands in a line of its own, and must not begin another.
pub(super) fn is_sendable(token: &str) -> bool {
    token.bytes().all(|byte| byte.is_ascii_graphic())
}

/// A name as a part of a path.
pub(super) fn encode(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let part = |byte: u8| {
        if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    name.bytes().map(part).collect()
}

fn answer(stream: &mut impl Read) -> io::Result<(u16, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut piece = [0; 8 * 1024];
    let (status, start, length) = loop {
        if let Some(head) = head(&bytes)? {
            break head;
        }
        if bytes.len() > HEAD {
            return Err(invalid("its head is too long"));
        }
        match stream.read(&mut piece) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    };
    let mut body = bytes.split_off(start);
    body.truncate(length);
    let missing = u64::try_from(length - body.len()).unwrap_or(u64::MAX);
    stream.take(missing).read_to_end(&mut body)?;
    if body.len() < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok((status, body)) }
}

/// The status, where the body starts and how long it is; none if there is more to come.
fn head(bytes: &[u8]) -> io::Result<Option<(u16, usize, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let parsed = response.parse(bytes).map_err(|error| invalid(&error.to_string()))?;
    let httparse::Status::Complete(start) = parsed else { return Ok(None) };
    let length = response.headers.iter().find(|it| it.name.eq_ignore_ascii_case("content-length"));
    let length = match length {
        None => 0,
        Some(length) => std::str::from_utf8(length.value)
            .ok()
            .and_then(|it| it.parse().ok())
            .filter(|length| *length <= ANSWER)
            .ok_or_else(|| invalid("its length is wrong"))?,
    };
    Ok(Some((response.code.unwrap_or_default(), start, length)))
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
