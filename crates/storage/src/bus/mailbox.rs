//! The bounded buffer between whoever rings and one listener.
//!
//! Ringing never waits. A listener that falls behind loses the oldest rings and hears [`Heard::Lost`] in their place.
//! A broadcast channel with a single receiver is exactly that.

use async_trait::async_trait;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, Sender, channel};

use super::{Heard, Listener};

/// How many rings wait for a slow listener before the oldest are lost.
const CAPACITY: usize = 256;

#[derive(Debug)]
pub(super) struct Mailbox(Receiver<Heard>);

pub(super) fn mailbox() -> (Sender<Heard>, Mailbox) {
    let (sender, receiver) = channel(CAPACITY);
    (sender, Mailbox(receiver))
}

#[async_trait]
impl Listener for Mailbox {
    async fn next(&mut self) -> Option<Heard> {
        match self.0.recv().await {
            Ok(heard) => Some(heard),
            Err(RecvError::Lagged(_)) => Some(Heard::Lost),
            Err(RecvError::Closed) => None,
        }
    }
}
