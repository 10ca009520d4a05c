//! `artel worker`: a node that runs agents that are programs, for servers on the same Redis.

use std::sync::Arc;

use anyhow::{Context, bail};
use artel_domain::SystemClock;
use artel_nodes::wire::Line;
use artel_nodes::worker;
use artel_programs::host::Host;
use artel_storage::bus::redis::Redis;
use tokio_util::sync::CancellationToken;

use crate::config::Worker;
use crate::serve;

pub(super) async fn run(worker: Worker) -> anyhow::Result<()> {
    let _lock = serve::lock(&worker.data_dir)?;
    let bus = Redis::connect(&worker.redis).context("redis_url")?;
    let line = Line::new(Arc::new(bus), &worker.secret);
    let host = Arc::new(Host::new(worker.host));
    let settings = worker::Settings {
        name: worker.name,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        lost_after: worker.lost_after,
    };
    let stop = CancellationToken::new();
    let again = serve::signals(stop.clone())?;
    tracing::info!(
        name = settings.name,
        data = %worker.data_dir.display(),
        most = host.settings().most,
        "worker"
    );
    tokio::select! {
        worked = worker::run(host, line, Arc::new(SystemClock), settings, stop) => Ok(worked?),
        () = again => bail!("stopped at once by a second signal"),
    }
}
