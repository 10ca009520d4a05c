//! Reading a part of a file.

use std::io::{Read, Seek, SeekFrom};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;

use super::{Doing, Fields, Refused, Workspace, cautiously, fields, open_regular};
use crate::request::ReadFile;

/// Of one call.
const MOST: u64 = 1024 * 1024;

#[derive(Serialize)]
struct Part {
    content: String,
    /// Of the whole file.
    size: u64,
    encoding: &'static str,
    truncated: bool,
    /// Where the rest begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

impl Workspace {
    pub(super) fn read(&self, asked: &ReadFile) -> Result<Fields, Refused> {
        let path = self.beneath(&asked.path)?;
        let (mut file, about) =
            open_regular(&self.root, &path, &cautiously(), Doing::Reading, &asked.path)?;
        let refused = |error| Doing::Reading.refused(error, &asked.path);
        let size = about.len();
        let offset = asked.offset.min(size);
        let limit = asked.limit.unwrap_or(MOST).clamp(1, MOST);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(offset)).map_err(refused)?;
        file.take(limit).read_to_end(&mut bytes).map_err(refused)?;
        let more = offset + length(&bytes) < size;

        let (content, encoding, read) = match text(&bytes, more) {
            Some(text) => (text.to_owned(), "utf-8", text.len() as u64),
            None => (BASE64_STANDARD.encode(&bytes), "base64", length(&bytes)),
        };
        let next_offset = more.then_some(offset + read);
        Ok(fields(&Part { content, size, encoding, truncated: more, next_offset }))
    }
}

fn length(bytes: &[u8]) -> u64 {
    bytes.len() as u64
}

/// The bytes as text; when there are more to come, without a character that is cut at the end.
fn text(bytes: &[u8], more: bool) -> Option<&str> {
    match str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if more && error.error_len().is_none() && error.valid_up_to() > 0 => {
            str::from_utf8(&bytes[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}
