//! The states of an agent, and what leads from one to another.

use serde::{Deserialize, Serialize};

use crate::runner::Doing;

/// Where an agent is in its life (CA-2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Nothing was started yet.
    Init,
    Starting,
    /// It takes messages, or is at one.
    Running(Doing),
    Stopping,
    /// It ended as it should. A message starts it again.
    Stopped,
    /// It could not be started. It is tried again, unless that was given up.
    Failed,
    /// Somebody ended it by force. Only a person starts it again.
    Killed,
    /// It died. It is started again after a pause, unless that was given up.
    Crashed,
}

/// What happens to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Step {
    Start,
    Ready,
    Does(Doing),
    /// It never became ready.
    NotStarted,
    /// It ended without being asked.
    Died,
    Stop,
    /// It ended as it was asked to.
    Ended,
    Kill,
    /// It is not tried again.
    GiveUp,
    /// From now on each message has a process of its own.
    FallBack,
}

impl State {
    /// Where a step leads; `None` where it means nothing.
    pub(super) fn after(self, step: Step) -> Option<Self> {
        let next = match (self, step) {
            (
                Self::Init | Self::Stopped | Self::Failed | Self::Killed | Self::Crashed,
                Step::Start,
            ) => Self::Starting,
            (Self::Starting, Step::Ready) | (Self::Failed, Step::FallBack) => {
                Self::Running(Doing::Idle)
            }
            (Self::Running(_), Step::Does(doing)) => Self::Running(doing),
            (Self::Starting, Step::NotStarted) | (Self::Crashed, Step::GiveUp) => Self::Failed,
            (Self::Running(_), Step::Died) => Self::Crashed,
            (Self::Starting | Self::Running(_), Step::Stop) => Self::Stopping,
            // There is nothing to wait for.
            (Self::Init | Self::Failed | Self::Crashed, Step::Stop)
            | (Self::Stopping, Step::Ended) => Self::Stopped,
            (
                Self::Init
                | Self::Starting
                | Self::Running(_)
                | Self::Stopping
                | Self::Failed
                | Self::Crashed,
                Step::Kill,
            ) => Self::Killed,
            (
                Self::Init
                | Self::Starting
                | Self::Running(_)
                | Self::Stopping
                | Self::Stopped
                | Self::Failed
                | Self::Killed
                | Self::Crashed,
                Step::Start
                | Step::Ready
                | Step::Does(_)
                | Step::NotStarted
                | Step::Died
                | Step::Stop
                | Step::Ended
                | Step::Kill
                | Step::GiveUp
                | Step::FallBack,
            ) => return None,
        };
        Some(next)
    }

    /// Whether a process may be there.
    pub fn is_up(self) -> bool {
        match self {
            Self::Starting | Self::Running(_) | Self::Stopping => true,
            Self::Init | Self::Stopped | Self::Failed | Self::Killed | Self::Crashed => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CA-2.2: every step from every state.
    #[test]
    fn every_step_leads_where_it_should() {
        use State::{Crashed, Failed, Init, Killed, Running, Starting, Stopped, Stopping};
        let idle = Running(Doing::Idle);
        let tool = Running(Doing::Tool);
        let states = [Init, Starting, idle, Stopping, Stopped, Failed, Killed, Crashed];
        let no = None;
        // In the order of the states above.
        let table = [
            (
                Step::Start,
                [
                    Some(Starting),
                    no,
                    no,
                    no,
                    Some(Starting),
                    Some(Starting),
                    Some(Starting),
                    Some(Starting),
                ],
            ),
            (Step::Ready, [no, Some(idle), no, no, no, no, no, no]),
            (Step::Does(Doing::Tool), [no, no, Some(tool), no, no, no, no, no]),
            (Step::NotStarted, [no, Some(Failed), no, no, no, no, no, no]),
            (Step::Died, [no, no, Some(Crashed), no, no, no, no, no]),
            (
                Step::Stop,
                [
                    Some(Stopped),
                    Some(Stopping),
                    Some(Stopping),
                    no,
                    no,
                    Some(Stopped),
                    no,
                    Some(Stopped),
                ],
            ),
            (Step::Ended, [no, no, no, Some(Stopped), no, no, no, no]),
            (
                Step::Kill,
                [
                    Some(Killed),
                    Some(Killed),
                    Some(Killed),
                    Some(Killed),
                    no,
                    Some(Killed),
                    no,
                    Some(Killed),
                ],
            ),
            (Step::GiveUp, [no, no, no, no, no, no, no, Some(Failed)]),
            (Step::FallBack, [no, no, no, no, no, Some(idle), no, no]),
        ];
        for (step, expected) in table {
            for (state, expected) in states.into_iter().zip(expected) {
                assert_eq!(state.after(step), expected, "{state:?} after {step:?}");
            }
        }
    }
}
