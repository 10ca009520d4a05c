//! HTTP as cheap as it gets: one connection, bytes prepared beforehand, only what is needed read of the answer.
//!
//! An ordinary client would cost more than the server it measures, on the same two cores.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A whole request, ready to be sent any number of times.
pub(crate) fn request(
    method: &str,
    path: &str,
    host: SocketAddr,
    token: &str,
    body: &str,
) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n");
    if !token.is_empty() {
        text += "Authorization: Bearer ";
        text += token;
        text += "\r\n";
    }
    if !body.is_empty() {
        text += "Content-Type: application/json\r\nContent-Length: ";
        text += &body.len().to_string();
        text += "\r\n";
    }
    text += "\r\n";
    text += body;
    text.into_bytes()
}

/// `127.0.0.1:PORT` out of `http://127.0.0.1:PORT`.
pub(crate) fn address(url: &str) -> Result<SocketAddr> {
    Ok(url.trim_start_matches("http://").parse()?)
}

pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    /// What was read and not yet used; empty between exchanges.
    pub(crate) buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// Sends a request and reads its answer whole; anything but 2xx is an error.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<()> {
        self.answer(request).await.map(drop)
    }

    /// The same; the answer's body.
    pub(crate) async fn answer(&mut self, request: &[u8]) -> Result<Vec<u8>> {
        let head = self.head(request).await?;
        let length = content_length(&self.buffer[..head])?;
        while self.buffer.len() < head + length {
            self.read().await?;
        }
        let body = self.buffer[head..head + length].to_vec();
        self.buffer.drain(..head + length);
        Ok(body)
    }

    /// Sends a request and leaves the connection where the answer's body starts.
    pub(crate) async fn stream(&mut self, request: &[u8]) -> Result<()> {
        let head = self.head(request).await?;
        self.buffer.drain(..head);
        Ok(())
    }

    /// Sends a request and reads the answer's head, which stays in the buffer; gives its length.
    async fn head(&mut self, request: &[u8]) -> Result<usize> {
        self.stream.write_all(request).await?;
        let end = loop {
            if let Some(at) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            self.read().await?;
        };
        if !self.buffer.starts_with(b"HTTP/1.1 2") {
            bail!("answered: {}", String::from_utf8_lossy(&self.buffer));
        }
        Ok(end)
    }

    async fn read(&mut self) -> Result<()> {
        let read = self.stream.read_buf(&mut self.buffer).await?;
        ensure!(read > 0, "the server closed the connection");
        Ok(())
    }
}

fn content_length(head: &[u8]) -> Result<usize> {
    let text = std::str::from_utf8(head)?;
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
        .context("an answer says how long it is")
}
