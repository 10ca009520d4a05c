//! Who watches over a process itself, apart from its pipes: signals it, measures it, ends it, and knows how it ended.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::codec::Signal;
use crate::sandbox::{Exit, Running, Uses};

/// How long a signal, a measurement or a kill may take.
const PROMPT: Duration = Duration::from_secs(10);

/// Speaks to the task that has the process.
#[derive(Debug, Clone)]
pub(super) struct Warden {
    asks: mpsc::Sender<Ask>,
    kill: CancellationToken,
    exit: watch::Receiver<Option<Exited>>,
}

/// That a process is gone, and how, if that could be learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exited(pub(super) Option<Exit>);

#[derive(Debug)]
enum Ask {
    Signal(Signal),
    Uses(oneshot::Sender<Uses>),
}

impl Warden {
    pub(super) fn new(running: Box<dyn Running>, tasks: &mut JoinSet<()>) -> Self {
        let (asks, asked) = mpsc::channel(8);
        let (exit, exited) = watch::channel(None);
        let kill = CancellationToken::new();
        tasks.spawn(watch(running, asked, kill.clone(), exit));
        Self { asks, kill, exit: exited }
    }

    /// Never waits; one too many is left out.
    pub(super) fn signal(&self, signal: Signal) {
        let _ = self.asks.try_send(Ask::Signal(signal));
    }

    pub(super) fn kill(&self) {
        self.kill.cancel();
    }

    pub(super) async fn uses(&self) -> Option<Uses> {
        let (reply, answer) = oneshot::channel();
        self.asks.send(Ask::Uses(reply)).await.ok()?;
        answer.await.ok()
    }

    pub(super) async fn exited(&mut self) -> Exited {
        match self.exit.wait_for(Option::is_some).await {
            Ok(exited) => exited.unwrap_or(Exited(None)),
            Err(_) => Exited(None),
        }
    }
}

async fn watch(
    mut running: Box<dyn Running>,
    mut asks: mpsc::Receiver<Ask>,
    kill: CancellationToken,
    exit: watch::Sender<Option<Exited>>,
) {
    let exited = loop {
        tokio::select! {
            exit = running.wait() => break exit.ok(),
            () = kill.cancelled() => break end(running.as_mut()).await,
            Some(ask) = asks.recv() => {
                let answered = timeout(PROMPT, answer(running.as_mut(), ask));
                // A kill does not wait for an answer.
                tokio::select! {
                    _ = answered => (),
                    () = kill.cancelled() => (),
                }
            }
        }
    };
    drop(running);
    exit.send_replace(Some(Exited(exited)));
}

async fn answer(running: &mut dyn Running, ask: Ask) {
    match ask {
        Ask::Signal(signal) => {
            if let Err(error) = running.signal(signal).await {
                tracing::debug!(%error, ?signal, "a program could not be signalled");
            }
        }
        Ask::Uses(reply) => {
            if let Ok(uses) = running.uses().await {
                // Whoever asked may have gone.
                let _ = reply.send(uses);
            }
        }
    }
}

/// What cannot be ended so is ended by being dropped.
async fn end(running: &mut dyn Running) -> Option<Exit> {
    let ended = async {
        running.kill().await?;
        running.wait().await
    };
    match timeout(PROMPT, ended).await {
        Ok(Ok(exit)) => Some(exit),
        Ok(Err(error)) => {
            tracing::warn!(%error, "a program could not be killed in the right way");
            None
        }
        Err(_) => {
            tracing::warn!("a program did not end when it was killed");
            None
        }
    }
}
