//! Following a plan to its end: its events as they come, and the plan itself wherever they leave a gap.

use std::time::Duration;

use anyhow::bail;
use artel_domain::event::Resync;
use artel_domain::plan::Status;
use artel_domain::{ApprovalId, Envelope, PlanId};
use artel_engine::PlanView;
use tokio::signal::unix::{SignalKind, signal};

use super::draw::Sheet;
use super::live::Live;
use super::remote::Plans;
use super::screen::{Screen, Typed};
use crate::client::stream::{Fault, Stream};
use crate::client::terminal::verdict;

/// How long after a cut it is tried again, at first and at last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));
/// How often the seconds are counted on.
const REDRAW: Duration = Duration::from_secs(1);

pub(crate) const QUESTION: &str = "Run it? [y]es, [n]o, or why not: ";

/// For a person who cannot be asked here.
pub(crate) fn how_to_decide(id: PlanId) -> String {
    format!(
        "It waits for your approval: `artel plan approve {id}`, or `artel plan reject {id} --reason WHY`"
    )
}

pub(super) struct Watch<'a> {
    plans: &'a Plans<'a>,
    stream: Stream,
    /// The last event that was seen.
    after: Option<u64>,
    screen: &'a mut Screen,
    typed: Typed,
    /// What the person was asked about last.
    asked: Option<ApprovalId>,
}

impl<'a> Watch<'a> {
    /// Begins to listen, before anything happens that must not be missed.
    pub(super) async fn open(plans: &'a Plans<'a>, screen: &'a mut Screen) -> anyhow::Result<Self> {
        let stream = plans.events(None).await.map_err(Fault::into_error)?;
        Ok(Self { plans, stream, after: None, screen, typed: Typed::default(), asked: None })
    }

    /// Shows how a plan goes until it has ended, and asks whether it may run if it must.
    pub(super) async fn follow(mut self, view: PlanView) -> anyhow::Result<PlanView> {
        let (id, mut interrupt) = (view.plan.id, signal(SignalKind::interrupt())?);
        tokio::select! {
            ended = self.until_ended(view) => ended,
            _ = interrupt.recv() => bail!(
                "the plan goes on; follow it with `artel plan watch {id}`, stop it with `artel plan cancel {id}`"
            ),
        }
    }

    async fn until_ended(&mut self, mut view: PlanView) -> anyhow::Result<PlanView> {
        let (id, mut live) = (view.plan.id, Live::from(&view));
        for step in live.so_far() {
            self.screen.step(&step);
        }
        let mut tick = tokio::time::interval(REDRAW);
        loop {
            self.ask(&view);
            self.screen.draw(&live);
            if view.plan.status.is_final() {
                return Ok(view);
            }
            let newer = tokio::select! {
                event = self.stream.next() => match event {
                    Ok(event) if self.attend(&mut live, &event) => Some(self.look(id, None).await?),
                    Ok(_) => None,
                    Err(fault) => Some(self.look(id, Some(fault)).await?),
                },
                line = self.typed.next() => self.answer(&view, &line).await?,
                _ = tick.tick(), if self.screen.redraws() => None,
            };
            if let Some(newer) = newer {
                self.moved(&view, &newer);
                for step in live.refresh(&newer) {
                    self.screen.step(&step);
                }
                view = newer;
            }
        }
    }

    /// Takes in an event; says whether the plan has to be read anew.
    fn attend(&mut self, live: &mut Live, event: &Envelope) -> bool {
        self.after = event.id.or(self.after);
        if event.event_type == "resync"
            && let Ok(resync) = serde_json::from_value::<Resync>(event.payload.clone())
        {
            self.after = Some(resync.resumed_after);
        }
        let told = live.attend(event);
        if let Some(step) = told.change {
            self.screen.step(&step);
        }
        if let Some(asked) = told.asked {
            self.screen.say(&format!("({asked})"));
        }
        told.look
    }

    /// Says that a plan which waited waits no longer.
    fn moved(&mut self, before: &PlanView, now: &PlanView) {
        let (before, now) = (before.plan.status, now.plan.status);
        if before == Status::WaitingApproval && now != before {
            self.screen.say(&format!("The plan is {}.", now.as_str()));
        }
    }

    /// Asks whether it may run, once for each time that somebody is to be asked.
    fn ask(&mut self, PlanView { plan, .. }: &PlanView) {
        if plan.status != Status::WaitingApproval || plan.approval_id == self.asked {
            return;
        }
        self.asked = plan.approval_id;
        if self.typed.listen() {
            self.screen.ask(QUESTION);
        } else {
            self.screen.say(&how_to_decide(plan.id));
        }
    }

    /// Decides as the person says; gives the plan as it is then.
    async fn answer(&mut self, view: &PlanView, line: &str) -> anyhow::Result<Option<PlanView>> {
        let id = view.plan.id;
        if view.plan.status != Status::WaitingApproval {
            return Ok(None);
        }
        self.screen.answered();
        let Some((decision, words)) = verdict(line) else {
            self.screen.ask(QUESTION);
            return Ok(None);
        };
        match self.plans.decide(id, decision, words).await {
            Ok(view) => Ok(Some(view)),
            Err(error) => {
                // Somebody was quicker, or the plan was changed meanwhile; it tells, and asks again if it must.
                self.screen.say(&format!("{error:#}"));
                self.asked = None;
                let newer = self.look(id, None).await?;
                let picture = Sheet::from(&newer).draw(self.screen.pen(), false);
                self.screen.say(&picture);
                Ok(Some(newer))
            }
        }
    }

    /// The plan as it is now. After a cut it is listened to again before it is read, so that nothing falls in between.
    async fn look(&mut self, id: PlanId, cut: Option<Fault>) -> anyhow::Result<PlanView> {
        let (mut fault, mut pause, mut told) = (cut, PAUSES.0, false);
        loop {
            match fault {
                None => {}
                Some(Fault::Refused(error)) => return Err(error),
                Some(cut @ (Fault::Cut(_) | Fault::Another(_))) => {
                    if !std::mem::replace(&mut told, true) {
                        self.screen.say(&cut.to_string());
                    }
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
                    match self.plans.events(self.after).await {
                        Ok(stream) => self.stream = stream,
                        Err(again) => {
                            fault = Some(again);
                            continue;
                        }
                    }
                }
            }
            match self.plans.look(id).await {
                Ok(view) => return Ok(view),
                Err(again) => fault = Some(again),
            }
        }
    }
}
