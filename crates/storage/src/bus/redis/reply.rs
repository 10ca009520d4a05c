//! What Redis answers about streams, read in order.
//!
//! The library's own types keep the fields of an entry in a hash map; here their order counts. Both protocols are
//! understood, and entries that were trimmed in the meantime (`nil` in old servers) are left out.

use ::redis::{ErrorKind, RedisError, RedisResult, Value, from_redis_value};
use bytes::Bytes;

use crate::bus::Entry;

/// The answer to XREAD and XREADGROUP of one stream; `nil` when there is nothing.
pub(super) fn read(value: Value) -> RedisResult<Vec<Entry>> {
    if value == Value::Nil {
        return Ok(Vec::new());
    }
    let stream = if let Value::Map(streams) = value {
        streams.into_iter().next().map(|(_, found)| found)
    } else {
        let pair = array(value)?.into_iter().next().map(fixed).transpose()?;
        pair.map(|[_, found]| found)
    };
    stream.map_or_else(|| Ok(Vec::new()), entries)
}

/// The answer to XAUTOCLAIM: where to go on, and what was claimed.
pub(super) fn claimed(value: Value) -> RedisResult<(String, Vec<Entry>)> {
    // Redis 7 adds a third part: what was pending and exists no more.
    let mut parts = array(value)?.into_iter();
    match (parts.next(), parts.next()) {
        (Some(next), Some(found)) => Ok((from_redis_value(next)?, entries(found)?)),
        (None, _) | (_, None) => Err(unexpected()),
    }
}

/// How often an entry was handed out, from the answer to XPENDING of that entry alone. None when it is pending no more.
pub(super) fn deliveries(value: Value) -> RedisResult<Option<u64>> {
    match array(value)?.into_iter().next() {
        Some(row) => {
            let [_id, _consumer, _idle, count] = fixed(row)?;
            Ok(Some(from_redis_value(count)?))
        }
        None => Ok(None),
    }
}

fn entries(value: Value) -> RedisResult<Vec<Entry>> {
    let mut found = Vec::new();
    for entry in array(value)? {
        if entry == Value::Nil {
            continue;
        }
        let [id, fields] = fixed(entry)?;
        if fields == Value::Nil {
            continue;
        }
        found.push(Entry { id: from_redis_value(id)?, fields: pairs(fields)?, deliveries: 0 });
    }
    Ok(found)
}

fn pairs(value: Value) -> RedisResult<Vec<(String, Bytes)>> {
    let mut flat = array(value)?.into_iter();
    let mut pairs = Vec::with_capacity(flat.len() / 2);
    while let (Some(name), Some(value)) = (flat.next(), flat.next()) {
        let name: Vec<u8> = from_redis_value(name)?;
        let value: Vec<u8> = from_redis_value(value)?;
        // Names are ours and UTF-8; a stranger's must not make the stream unreadable.
        pairs.push((String::from_utf8_lossy(&name).into_owned(), value.into()));
    }
    Ok(pairs)
}

fn array(value: Value) -> RedisResult<Vec<Value>> {
    if let Value::Array(values) = value { Ok(values) } else { Err(unexpected()) }
}

fn fixed<const N: usize>(value: Value) -> RedisResult<[Value; N]> {
    array(value)?.try_into().map_err(|_| unexpected())
}

fn unexpected() -> RedisError {
    (ErrorKind::UnexpectedReturnType, "not the answer that a stream command gives").into()
}
