//! PostgreSQL: connections with their prepared statements, and the lanes that commit changes.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::sync::mpsc;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Statement};

use super::commit::{self, Change};
use super::conn::Link as ConnLink;
use super::{Conn, QUEUE, Shared, Step, TOGETHER, Value};
use crate::{Error, Result};

const CONNECT: Duration = Duration::from_secs(5);

/// How to reach the server; holds the password, so it shows nothing of itself.
#[derive(Clone)]
pub(crate) struct Config {
    options: tokio_postgres::Config,
    tls: tokio_postgres_rustls::MakeRustlsConnect,
}

impl Config {
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let mut options: tokio_postgres::Config = url
            .parse()
            .map_err(|_| Error::Unavailable("the database URL is not valid".to_owned()))?;
        options.application_name("artel").connect_timeout(CONNECT);
        let mut roots = rustls::RootCertStore::empty();
        let system = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(system.certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(Error::internal)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { options, tls: tokio_postgres_rustls::MakeRustlsConnect::new(tls) })
    }

    pub(crate) async fn connect(&self) -> Result<Conn> {
        self.open("set statement_timeout = '30s'; set lock_timeout = '10s'").await
    }

    pub(super) async fn connect_reader(&self) -> Result<Conn> {
        self.open("set statement_timeout = '30s'; set default_transaction_read_only = on").await
    }

    async fn open(&self, session: &str) -> Result<Conn> {
        let attempt = tokio::time::timeout(CONNECT, self.options.connect(self.tls.clone()));
        let (client, connection) = attempt
            .await
            .map_err(|_| Error::Unavailable("connecting took too long".to_owned()))??;
        #[expect(clippy::disallowed_methods, reason = "ends by itself when its client is dropped")]
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::warn!(%error, "a connection to PostgreSQL ended");
            }
        });
        client.batch_execute(session).await?;
        Ok(Conn::new(ConnLink::Postgres(Link {
            client,
            statements: HashMap::new(),
            owed: String::new(),
        })))
    }
}

/// An open connection and what was prepared on it.
pub(super) struct Link {
    client: Client,
    /// Bounded by the number of statements in this crate: every key is a literal.
    statements: HashMap<&'static str, Statement>,
    /// Steps that go out with the next statement. On this side of a network every answer waited for is what costs.
    owed: String,
}

impl Link {
    pub(super) async fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64> {
        let statement = self.prepared(sql).await?;
        let owed = std::mem::take(&mut self.owed);
        let (steps, done) =
            tokio::join!(self.say(&owed), self.client.execute_raw(&statement, values));
        steps?;
        Ok(done?)
    }

    pub(super) async fn query(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<tokio_postgres::Row>> {
        let statement = self.prepared(sql).await?;
        let parameters: Vec<&(dyn ToSql + Sync)> =
            values.iter().map(|v| v as &(dyn ToSql + Sync)).collect();
        let owed = std::mem::take(&mut self.owed);
        // Both are sent before either is answered, in this order.
        let (steps, rows) =
            tokio::join!(self.say(&owed), self.client.query(&statement, &parameters));
        steps?;
        Ok(rows?)
    }

    pub(super) async fn step(&mut self, step: Step) -> Result<()> {
        if step.ends() {
            return self.batch(step.sql()).await;
        }
        self.owed.push_str(step.sql());
        self.owed.push(';');
        Ok(())
    }

    pub(super) async fn batch(&mut self, sql: &str) -> Result<()> {
        let mut all = std::mem::take(&mut self.owed);
        all.push_str(sql);
        self.say(&all).await
    }

    async fn say(&self, steps: &str) -> Result<()> {
        if steps.is_empty() {
            return Ok(());
        }
        Ok(self.client.batch_execute(steps).await?)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    async fn prepared(&mut self, sql: &'static str) -> Result<Statement> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        // Where a change has failed, nothing can be prepared before it is undone.
        self.batch("").await?;
        let statement = self.client.prepare(&sql.replace('?', "$")).await?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }
}

/// Starts a lane: a task with a connection of its own that commits what waits. It ends with the last
/// [`super::Db`], and connects again after the server was gone.
pub(super) fn spawn_lane(config: Config, shared: Arc<Shared>) -> mpsc::Sender<Box<dyn Change>> {
    let (sender, mut queue) = mpsc::channel::<Box<dyn Change>>(QUEUE);
    #[expect(clippy::disallowed_methods, reason = "ends by itself when its queue is dropped")]
    tokio::spawn(async move {
        let mut kept: Option<Conn> = None;
        while let Some(first) = queue.recv().await {
            let mut batch = Vec::with_capacity(TOGETHER.min(queue.len() + 1));
            batch.push(first);
            commit::gather(&mut batch, &mut queue);
            // Two nodes that lock the same projects' rows in the same order cannot lock each other out.
            batch.sort_by_key(|change| change.lane());
            let conn = match kept.take().filter(|conn| !conn.is_broken()) {
                Some(conn) => Ok(conn),
                None => config.connect().await,
            };
            match conn {
                Ok(mut conn) => {
                    commit::together(&mut conn, batch, &shared).await;
                    kept = Some(conn);
                }
                Err(error) => {
                    shared.failing.store(true, std::sync::atomic::Ordering::Relaxed);
                    for change in batch {
                        change.settle(Err(error.clone()));
                    }
                }
            }
        }
    });
    sender
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Self::Int(number) => number.to_sql(ty, out),
            Self::Real(number) => number.to_sql(ty, out),
            Self::Text(text) => text.as_deref().to_sql(ty, out),
        }
    }

    fn accepts(ty: &Type) -> bool {
        [Type::INT8, Type::FLOAT8, Type::TEXT].contains(ty)
    }

    to_sql_checked!();
}
