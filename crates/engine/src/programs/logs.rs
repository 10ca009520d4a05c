//! What programs wrote, whether they still run or not.

use std::sync::Arc;

use artel_domain::{Agent, AgentId};
use artel_programs::log::{Entry, Files, Follow, Followed, Log, Page, Redactor};
use tokio_util::sync::CancellationToken;

use super::runtime_of;
use crate::{App, Caller, Error, Result};

/// New lines of a program, until the server stops.
#[derive(Debug)]
pub struct Lines {
    follow: Follow,
    /// A program that is down has nobody else who holds its log.
    _log: Log,
    closing: CancellationToken,
}

impl Lines {
    /// The next line, or how many were missed because the reader was too slow.
    pub async fn next(&mut self) -> Option<std::result::Result<Entry, u64>> {
        let next = tokio::select! {
            () = self.closing.cancelled() => None,
            next = self.follow.next() => next,
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
        let log = self.log_of(&agent).await?;
        log.page(limit, offset).await.map_err(Error::internal)
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
        // Opened, so that what it writes when it is started later is heard.
        let log = match self.program(scope, &agent, runtime).await {
            Ok(member) => member.log().clone(),
            Err(_) => self.log_of(&agent).await?,
        };
        let follow = log.follow(after).await.map_err(Error::internal)?;
        Ok(Lines { follow, _log: log, closing: self.0.programs.closing.clone() })
    }

    async fn log_of(&self, agent: &Agent) -> Result<Log> {
        runtime_of(agent)?;
        if let Some(member) = self.0.programs.find(agent.id) {
            return Ok(member.log().clone());
        }
        // What is on disk was redacted when it was written.
        self.open_log(agent.id, Redactor::new([])).await
    }

    pub(super) async fn open_log(&self, id: AgentId, redactor: Redactor) -> Result<Log> {
        let folder = self.0.settings.programs.dir.join(id.to_string()).join("log");
        let sink = Arc::new(Files::new(folder));
        Log::open(sink, Arc::clone(&self.0.clock), redactor).await.map_err(Error::internal)
    }
}
