//! What workers report: answers go to who asked, events to their turns, states to their agents.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;

use super::{Left, Shared};
use crate::PAUSE;
use crate::wire::{Done, News, RESPONSES, Report, Want};

const SOME: usize = 256;
const WAIT: Duration = Duration::from_secs(5);

/// Reads reports in their order until the server stops.
pub(super) async fn run(shared: Arc<Shared>, left: mpsc::Sender<Left>) {
    let mut after = None;
    while !shared.stop.is_cancelled() {
        let read = async {
            let from = match &after {
                Some(from) => String::clone(from),
                // What was reported before is for an earlier run of this server.
                None => shared.line.mark(&shared.me).await?,
            };
            after = Some(from.clone());
            shared.listens.send_replace(true);
            shared.line.bus().read(RESPONSES, &from, SOME, WAIT).await
        };
        let read = tokio::select! {
            read = read => read,
            () = shared.stop.cancelled() => return,
        };
        match read {
            Ok(entries) => {
                for entry in entries {
                    match shared.line.report_for(&shared.me, &entry) {
                        Ok(Some(report)) => hear(&shared, report, &left),
                        Ok(None) => {}
                        Err(unreadable) => {
                            tracing::warn!(entry = entry.id, %unreadable, "a report is passed over");
                        }
                    }
                    after = Some(entry.id);
                }
            }
            Err(error) => {
                tracing::debug!(%error, "reports cannot be read now");
                sleep(PAUSE).await;
            }
        }
    }
}

fn hear(shared: &Arc<Shared>, report: Report, left: &mpsc::Sender<Left>) {
    let Report { worker, agent, news, .. } = report;
    match news {
        News::Answer { order, result } => {
            let asked = shared.lock().asks.remove(&order);
            // Nobody waits for some; and of two workers that took the same, the second is not needed.
            if let Some(asked) = asked {
                let _ = asked.reply.send((worker, result));
            } else if let Ok(Done::Living(life)) = result
                && !shared.lives_on(life, &worker)
            {
                let why = "It lives elsewhere".to_owned();
                shared.post_later(Some(worker.name), agent, Want::Close { life, why });
            }
        }
        News::Event { turn, number, event } => {
            let mut state = shared.lock();
            if let Some(course) = state.courses.get_mut(&turn) {
                course.take(number, event);
            }
        }
        News::Status { life, number, status } => {
            if let Some(remote) = shared.remote(life) {
                remote.learn(life, number, status, &worker.name);
            }
        }
        News::Warning { life, warning } => {
            if let Some(remote) = shared.remote(life) {
                remote.warn(warning);
            }
        }
        News::Left { why } => {
            if left.try_send(Left { agent, node: worker.name, why }).is_err() {
                tracing::warn!(%agent, "too many agents were left at once; this one's state is told later");
            }
        }
    }
}
