//! The plans of a project, as the server has them.

use anyhow::{Context, bail};
use artel_domain::PlanId;
use artel_domain::approval::Decision;
use artel_domain::plan::{Plan, Status};
use artel_engine::{Error, PlanView};
use reqwest::{Method, RequestBuilder};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cli::Ending;
use crate::cli::connection::{Connection, text};
use crate::client::stream::{Fault, Stream, checked};
use crate::config::Mistake;

/// Characters at the end of an id that tell plans apart. Ids of one time begin alike.
pub(super) const SHORT: usize = 8;
/// Fewer are no name.
const FEWEST: usize = 4;

const UNREADABLE: &str =
    "this program cannot read the server's plan; both have to be of one version";

pub(crate) struct Plans<'a> {
    connection: &'a Connection,
    /// Of the project.
    path: String,
}

/// Plans newest first, and how many there are in all.
#[derive(Debug, Deserialize)]
pub(super) struct Newest {
    pub(super) plans: Vec<Plan>,
    pub(super) total: usize,
}

impl<'a> Plans<'a> {
    pub(crate) fn of(connection: &'a Connection, project: &str) -> Self {
        Self { connection, path: format!("/my/projects/{project}") }
    }

    pub(super) async fn create(&self, request: &str) -> anyhow::Result<PlanView> {
        self.read(self.request(Method::POST, "").json(&json!({ "request": request }))).await
    }

    pub(crate) async fn get(&self, id: PlanId) -> anyhow::Result<PlanView> {
        self.read(self.request(Method::GET, &format!("/{id}"))).await
    }

    /// The same, for who tries again when the connection is cut.
    pub(super) async fn look(&self, id: PlanId) -> Result<PlanView, Fault> {
        let response = checked(self.request(Method::GET, &format!("/{id}"))).await?;
        let body = response.bytes().await.map_err(|error| Fault::Cut(error.to_string()))?;
        serde_json::from_slice(&body).context(UNREADABLE).map_err(Fault::Refused)
    }

    /// Its events, and those of everything else in the project.
    pub(super) async fn events(&self, after: Option<u64>) -> Result<Stream, Fault> {
        Stream::open(self.connection, &self.path, after).await
    }

    /// Lets it run, or asks whether it may.
    pub(super) async fn execute(&self, id: PlanId) -> anyhow::Result<PlanView> {
        self.read(self.request(Method::POST, &format!("/{id}/execute"))).await
    }

    pub(crate) async fn decide(
        &self,
        id: PlanId,
        decision: Decision,
        words: Option<String>,
    ) -> anyhow::Result<PlanView> {
        let (verb, body) = match decision {
            Decision::Approve => ("approve", json!({ "comment": words })),
            Decision::Reject => ("reject", json!({ "reason": words })),
        };
        let request = self.request(Method::POST, &format!("/{id}/{verb}"));
        self.read(request.header("x-artel-from", "terminal").json(&body)).await
    }

    pub(super) async fn cancel(&self, id: PlanId) -> anyhow::Result<PlanView> {
        self.read(self.request(Method::POST, &format!("/{id}/cancel"))).await
    }

    pub(super) async fn retry(&self, id: PlanId, what: &Value) -> anyhow::Result<PlanView> {
        self.read(self.request(Method::POST, &format!("/{id}/retry")).json(what)).await
    }

    pub(super) async fn edit(&self, id: PlanId, how: &Value) -> anyhow::Result<PlanView> {
        self.read(self.request(Method::PATCH, &format!("/{id}")).json(how)).await
    }

    pub(super) async fn newest(&self, status: Option<&str>) -> anyhow::Result<Newest> {
        let status = status.map(|status| format!("&status={status}")).unwrap_or_default();
        let path = format!("{}/plans?limit=100{status}", self.path);
        serde_json::from_value(self.connection.get(&path).await?).context(UNREADABLE)
    }

    /// The plan of this id, or the only one of the newest whose id ends so.
    pub(super) async fn find(&self, id: &str) -> anyhow::Result<PlanId> {
        if let Ok(id) = id.parse() {
            return Ok(id);
        }
        if id.len() < FEWEST {
            let remedy = "a plan is named by its id, or by the end of it";
            return Err(Mistake(format!("{id:?}: {remedy}")).into());
        }
        let end = id.to_lowercase();
        let plans = self.newest(None).await?.plans.into_iter().map(|plan| plan.id);
        let found: Vec<_> = plans.filter(|plan| plan.to_string().ends_with(&end)).collect();
        match found.as_slice() {
            [one] => Ok(*one),
            [] => Err(Error::not_found("plan").into()),
            _ => Err(Mistake(format!("the ids of {} plans end in {id:?}", found.len())).into()),
        }
    }

    /// What a plan that has ended came to, in the words of the conversation.
    pub(super) async fn answer(&self, plan: &Plan) -> anyhow::Result<Option<String>> {
        let Some(answer) = plan.answer_id else { return Ok(None) };
        let wanted = json!(answer);
        let mut after = plan.message_id.to_string();
        loop {
            let (path, session) = (&self.path, plan.session_id);
            let page = format!("{path}/chat/sessions/{session}/messages?limit=100&after={after}");
            let page = self.connection.get(&page).await?;
            let messages = page["messages"].as_array().cloned().unwrap_or_default();
            if let Some(message) = messages.iter().find(|message| message["id"] == wanted) {
                return Ok(Some(text(&message["content"]).to_owned()));
            }
            match messages.last() {
                Some(last) => text(&last["id"]).clone_into(&mut after),
                None => return Ok(None),
            }
        }
    }

    /// An error when it came to another end than was wanted.
    pub(crate) async fn judge(&self, plan: &Plan) -> anyhow::Result<()> {
        let why = || plan.note.clone().unwrap_or_else(|| format!("it is {}", plan.status.as_str()));
        match plan.status {
            Status::Completed => Ok(()),
            Status::Rejected => {
                let late = self.timed_out(plan).await?;
                let how = if late { Ending::TimedOut } else { Ending::Rejected };
                Err(how(why()).into())
            }
            Status::PartialSuccess | Status::Failed | Status::Cancelled => {
                bail!("the plan did not complete: {}", why())
            }
            Status::Pending | Status::WaitingApproval | Status::Executing => {
                bail!("the plan has not ended: {}", why())
            }
        }
    }

    /// Whether nobody decided in time.
    async fn timed_out(&self, plan: &Plan) -> anyhow::Result<bool> {
        let Some(approval) = plan.approval_id else { return Ok(false) };
        let approval = self.connection.get(&format!("/my/approvals/{approval}")).await?;
        Ok(approval["status"] == "timeout")
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.connection.request(method, &format!("{}/plans{path}", self.path))
    }

    async fn read(&self, request: RequestBuilder) -> anyhow::Result<PlanView> {
        serde_json::from_value(self.connection.read(request).await?).context(UNREADABLE)
    }
}
