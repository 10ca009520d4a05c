//! What was asked and how each answer ended.
//!
//! Bounded in number and in bytes; the oldest go first. Keys are never kept, neither in memory nor
//! in the log: of a header that carries one only its presence is shown.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use axum::http::{HeaderMap, Method, Uri};
use serde::Serialize;
use serde_json::{Value, json};

use crate::wire::Wire;

const KEPT: usize = 10_000;
/// Of request bodies, as they came; parsed they take a few times as much.
const KEPT_BYTES: usize = 64 * 1024 * 1024;
const HEADER_CHARS: usize = 1024;

const SECRET: [&str; 5] =
    ["authorization", "x-api-key", "x-goog-api-key", "cookie", "proxy-authorization"];
const HIDDEN: &str = "(hidden)";

/// A request as it was recorded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recorded {
    /// Counts all requests of this stub, from 1.
    pub n: u64,
    pub method: String,
    pub path: String,
    /// Without the question mark; a key in it is hidden.
    pub query: String,
    /// By lower-case name. Headers with a key are here with `(hidden)` as their value.
    pub headers: BTreeMap<String, String>,
    /// The format it was asked in; `None` for model lists, token counts and unknown paths.
    pub wire: Option<Wire>,
    pub model: Option<String>,
    /// `Null` when there was none or it was not JSON.
    pub body: Value,
    /// The name of the rule that answered; `None` when it was no rule's business.
    pub rule: Option<String>,
    /// `None` while nothing has been sent, and for ever if the rule hangs.
    pub status: Option<u16>,
    pub end: End,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It is still under way.
    Open,
    /// All of it was handed to the connection.
    Complete,
    /// The scenario broke it off.
    Broken,
    /// The client went away before the end.
    Abandoned,
}

/// The recorded requests.
pub(crate) struct Ledger {
    kept: Mutex<Kept>,
}

struct Kept {
    last: u64,
    bytes: usize,
    requests: VecDeque<(usize, Recorded)>,
    log: Option<File>,
}

impl Ledger {
    pub(crate) fn open(log: Option<&Path>) -> Result<Self> {
        let log = log
            .map(|path| {
                OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(path)
                    .with_context(|| format!("cannot write {}", path.display()))
            })
            .transpose()?;
        let kept = Kept { last: 0, bytes: 0, requests: VecDeque::new(), log };
        Ok(Self { kept: Mutex::new(kept) })
    }

    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.lock().requests.iter().map(|(_, recorded)| recorded.clone()).collect()
    }

    /// Records a request; its number is given here.
    pub(crate) fn add(self: &Arc<Self>, mut recorded: Recorded, size: usize) -> Ticket {
        let mut kept = self.lock();
        kept.last += 1;
        recorded.n = kept.last;
        kept.write(&json!({ "request": recorded }));
        kept.bytes += size;
        kept.requests.push_back((size, recorded));
        while kept.requests.len() > KEPT || (kept.bytes > KEPT_BYTES && kept.requests.len() > 1) {
            if let Some((size, _)) = kept.requests.pop_front() {
                kept.bytes -= size;
            }
        }
        Ticket { ledger: Arc::clone(self), n: kept.last, end: End::Abandoned }
    }

    fn update(&self, n: u64, change: impl FnOnce(&mut Recorded)) {
        let mut kept = self.lock();
        let found = kept.requests.iter_mut().rev().find(|(_, recorded)| recorded.n == n);
        if let Some((_, recorded)) = found {
            change(recorded);
        }
    }

    /// A panic elsewhere does not make the records worse than they are.
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn write(&mut self, line: &Value) {
        if let Some(log) = &mut self.log {
            // A full disk must not change what the client under test sees.
            let _ = log.write_all(format!("{line}\n").as_bytes());
        }
    }
}

/// Belongs to one answer; when it is dropped, the answer has ended.
pub(crate) struct Ticket {
    ledger: Arc<Ledger>,
    n: u64,
    end: End,
}

impl Ticket {
    pub(crate) fn status(&self, status: u16) {
        self.ledger.update(self.n, |recorded| recorded.status = Some(status));
    }

    /// Nothing but `end` is left to happen: without this call, the client has gone away.
    pub(crate) fn will_end(&mut self, end: End) {
        self.end = end;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let end = self.end;
        self.ledger.update(self.n, |recorded| recorded.end = end);
        self.ledger.lock().write(&json!({ "end": { "n": self.n, "how": end } }));
    }
}

/// A record of everything but the body and what comes of it.
pub(crate) fn record(method: &Method, uri: &Uri, headers: &HeaderMap) -> Recorded {
    Recorded {
        n: 0,
        method: method.to_string(),
        path: uri.path().to_owned(),
        query: without_key(uri.query().unwrap_or_default()),
        headers: shown(headers),
        wire: None,
        model: None,
        body: Value::Null,
        rule: None,
        status: None,
        end: End::Open,
    }
}

fn shown(headers: &HeaderMap) -> BTreeMap<String, String> {
    let show = |name: &str, value: &[u8]| {
        if SECRET.contains(&name) {
            return HIDDEN.to_owned();
        }
        String::from_utf8_lossy(value).chars().take(HEADER_CHARS).collect()
    };
    headers
        .iter()
        .map(|(name, value)| (name.to_string(), show(name.as_str(), value.as_bytes())))
        .collect()
}

fn without_key(query: &str) -> String {
    let hide = |pair: &str| match pair.split_once('=') {
        Some(("key", _)) => format!("key={HIDDEN}"),
        _ => pair.to_owned(),
    };
    query.split('&').map(hide).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(ledger: &Arc<Ledger>, size: usize) {
        ledger.add(record(&Method::GET, &Uri::from_static("/"), &HeaderMap::new()), size);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let ledger = Arc::new(Ledger::open(None).unwrap());
        for _ in 0..KEPT + 5 {
            add(&ledger, 10);
        }
        let requests = ledger.requests();
        assert_eq!((requests.len(), requests[0].n), (KEPT, 6));
        add(&ledger, KEPT_BYTES - 15);
        assert_eq!(ledger.requests().len(), 2);
        add(&ledger, KEPT_BYTES + 1);
        assert_eq!(ledger.requests().len(), 1, "the last one is always there");
    }
}
