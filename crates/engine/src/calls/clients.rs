//! Clients: the programs on users' machines that carry calls out. At most one of a project is active.

use std::time::Duration;

use artel_domain::event::ClientChanged;
use artel_domain::tool::Client;
use artel_domain::{ClientId, ProjectId, Timestamp};
use artel_storage::{Conn, Lane, Scope, clients, events, projects};

use super::draft::NO_CLIENT;
use super::{AnnounceClient, flow};
use crate::input::Checked;
use crate::{App, Caller, Error, Kind, Result};

/// How long an announcement holds.
const PRESENT: Duration = Duration::from_secs(15);

impl App {
    /// A client is there, or still is; 409 while another one is.
    pub async fn announce_client(
        &self,
        caller: &Caller,
        project: ProjectId,
        input: Checked<AnnounceClient>,
    ) -> Result<Client> {
        let scope = Scope { user: caller.user, project };
        let AnnounceClient { client_id, workspace, host, version, sandbox } = input.into_inner();
        let client = Client {
            client_id,
            user_id: caller.user,
            workspace,
            host,
            version,
            sandbox,
            expires_at: Timestamp::from_micros(0),
        };
        let announced = self.0.storage.db.write(Lane::Project(project), move |conn| {
            Box::pin(async move {
                projects::lock(conn, scope).await?;
                let last = clients::last(conn, scope).await?;
                let now = conn.now().await?;
                let Some(client) = clients::announce(conn, scope, &client, PRESENT).await? else {
                    return Ok(Err(last));
                };
                let known = last.is_some_and(|last| {
                    last.client_id == client.client_id && last.expires_at > now
                });
                let dropped = if known {
                    Vec::new()
                } else {
                    tell(conn, scope, &client, true).await?;
                    flow::drop_of_others(conn, scope, Some(client.client_id)).await?
                };
                Ok(Ok((client, dropped)))
            })
        });
        match announced.await? {
            Ok((client, dropped)) => {
                for call in dropped {
                    self.call_moved(scope, call).await;
                }
                Ok(client)
            }
            Err(other) => {
                let who = other.map_or_else(String::new, |other| {
                    format!(" on {} in {}", other.host, other.workspace)
                });
                let message = format!(
                    "Another client{who} is active for this project; this one takes over when it is gone"
                );
                Err(Error::new(Kind::Conflict, "another_client", message))
            }
        }
    }

    /// The project's client; 404 when there is none.
    pub async fn client(&self, caller: &Caller, project: ProjectId) -> Result<Client> {
        let found = self.find_client(caller, project).await?;
        found.ok_or_else(|| Error::new(Kind::NotFound, "no_client", NO_CLIENT))
    }

    /// The project's client, if there is one.
    pub async fn find_client(&self, caller: &Caller, project: ProjectId) -> Result<Option<Client>> {
        let scope = Scope { user: caller.user, project };
        let found = self.0.storage.db.read(move |conn| {
            Box::pin(async move {
                projects::get(conn, scope).await?;
                clients::active(conn, scope).await
            })
        });
        Ok(found.await?)
    }

    /// A client goes; what it had under way ends.
    pub async fn client_leaves(
        &self,
        caller: &Caller,
        project: ProjectId,
        client: ClientId,
    ) -> Result<()> {
        let scope = Scope { user: caller.user, project };
        let left = self.0.storage.db.write(Lane::Project(project), move |conn| {
            Box::pin(async move {
                projects::lock(conn, scope).await?;
                let last = clients::last(conn, scope).await?;
                if !clients::leave(conn, scope, client).await? {
                    return Ok(Vec::new());
                }
                if let Some(last) = last {
                    tell(conn, scope, &last, false).await?;
                }
                flow::drop_of_others(conn, scope, None).await
            })
        });
        for call in left.await? {
            self.call_moved(scope, call).await;
        }
        Ok(())
    }
}

async fn tell(
    conn: &mut Conn,
    scope: Scope,
    client: &Client,
    connected: bool,
) -> artel_storage::Result<()> {
    let event = ClientChanged {
        client_id: client.client_id,
        connected,
        workspace: client.workspace.clone(),
        host: client.host.clone(),
        sandbox: client.sandbox,
    };
    let now = conn.now().await?;
    events::append(conn, scope.project, None, now, &event.into()).await?;
    Ok(())
}
