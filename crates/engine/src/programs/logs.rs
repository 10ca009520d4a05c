//! What programs wrote, whether they still run or not: on the bus where there is one for several nodes, else on disk.

use std::sync::Arc;

use artel_domain::AgentId;
use artel_nodes::logs::{StreamLog, Tail};
use artel_programs::log::{Entry, Files, Follow, Followed, Log, LogSink, Page, Redactor};
use tokio_util::sync::CancellationToken;

use super::{Program, runtime_of};
use crate::{App, Caller, Error, Result};

/// New lines of a program, until the server stops.
#[derive(Debug)]
pub struct Lines {
    from: From,
    closing: CancellationToken,
}

#[derive(Debug)]
enum From {
    /// A program that is down has nobody else who holds its log.
    Here {
        follow: Follow,
        _held: Log,
    },
    Bus(Tail),
}

impl Lines {
    /// The next line, or how many were missed because the reader was too slow.
    pub async fn next(&mut self) -> Option<std::result::Result<Entry, u64>> {
        let next = async {
            match &mut self.from {
                From::Here { follow, .. } => follow.next().await,
                From::Bus(tail) => Some(tail.next().await),
            }
        };
        let next = tokio::select! {
            () = self.closing.cancelled() => None,
            next = next => next,
        };
        match next? {
            Followed::Line(entry) => Some(Ok(Arc::unwrap_or_clone(entry))),
            Followed::Missed(lines) => Some(Err(lines)),
        }
    }
}

impl App {
    /// The newest lines but for the last `offset`, oldest first.
    pub async fn logs(
        &self,
        caller: &Caller,
        id: AgentId,
        limit: usize,
        offset: usize,
    ) -> Result<Page> {
        let (_, agent) = self.find_agent(caller, id).await?;
        runtime_of(&agent)?;
        let page = match self.0.programs.find(id) {
            Some(Program::Here(member)) => member.log().page(limit, offset).await,
            Some(Program::There(_)) | None => {
                self.log_sink(id).read().await.map(|all| Page::of(all, limit, offset))
            }
        };
        page.map_err(Error::internal)
    }

    /// New lines as they come; given a number, first those after it that are kept.
    pub async fn follow_logs(
        &self,
        caller: &Caller,
        id: AgentId,
        after: Option<u64>,
    ) -> Result<Lines> {
        let (scope, agent) = self.find_agent(caller, id).await?;
        let runtime = runtime_of(&agent)?;
        let closing = self.0.programs.closing.clone();
        if let Some(log) = self.shared_log(id) {
            let tail = log.tail(after).await.map_err(Error::internal)?;
            return Ok(Lines { from: From::Bus(tail), closing });
        }
        // Opened, so that what it writes when it is started later is heard.
        let log = match self.program(scope, &agent, runtime).await {
            Ok(Program::Here(member)) => member.log().clone(),
            // What is on disk was redacted when it was written.
            Ok(Program::There(_)) | Err(_) => {
                let clock = Arc::clone(&self.0.clock);
                let opened = Log::open(self.log_sink(id), clock, Redactor::new([])).await;
                opened.map_err(Error::internal)?
            }
        };
        let follow = log.follow(after).await.map_err(Error::internal)?;
        Ok(Lines { from: From::Here { follow, _held: log }, closing })
    }

    /// Where the lines of an agent are kept.
    pub(super) fn log_sink(&self, id: AgentId) -> Arc<dyn LogSink> {
        match self.shared_log(id) {
            Some(log) => Arc::new(log),
            None => Arc::new(Files::new(self.0.programs.host.folder(id).join("log"))),
        }
    }

    /// Where several nodes share a bus, each can read what the others' programs wrote.
    fn shared_log(&self, id: AgentId) -> Option<StreamLog> {
        let bus = &self.0.storage.bus;
        bus.is_shared().then(|| StreamLog::new(Arc::clone(bus), id))
    }

    pub(super) async fn forget_log(&self, id: AgentId) {
        if let Some(log) = self.shared_log(id)
            && let Err(error) = log.forget().await
        {
            tracing::warn!(agent = %id, %error, "the log of a deleted agent stays on the bus");
        }
    }
}
