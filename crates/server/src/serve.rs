//! `artel serve`: builds the world, top to bottom, and takes it down in the right order.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use artel_agents::embed::{self, Embedder};
use artel_domain::SystemClock;
use artel_engine::{App, Page};
use artel_storage::Storage;
use artel_storage::vectors::{Model, Place};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::http::{Hosts, Http, Service, Settings};
use crate::listener;

pub(crate) async fn run(config: Config) -> anyhow::Result<()> {
    let server = Server::open(&config).await?;
    server.greet(&config.data_dir).await?;
    let stop = CancellationToken::new();
    let stopping = signals(stop.clone())?;
    tokio::select! {
        served = server.serve(stop) => served,
        () = stopping => bail!("stopped at once by a second signal"),
    }
}

/// The world, built and not yet open to anyone.
pub(crate) struct Server {
    app: App,
    url: String,
    http: Http,
    service: Service,
    listener: TcpListener,
    limits: listener::Settings,
    /// Held as long as the server is there.
    lock: File,
}

impl Server {
    pub(crate) async fn open(config: &Config) -> anyhow::Result<Self> {
        let lock = lock(&config.data_dir)?;
        let metrics = install_metrics()?;
        let listener = TcpListener::bind(config.listen).await.with_context(|| {
            format!(
                "cannot listen on {}; another program may have it (choose another with --listen)",
                config.listen
            )
        })?;
        let address = listener.local_addr()?;
        let embedder = embed::open(&config.embeddings).context("embeddings")?;
        let storage = Storage::open(&config.places, model_of(embedder.as_ref()))
            .await
            .context("opening the storage")?;
        if config.places.redis.is_some() && matches!(config.places.vectors, Place::Embedded(_)) {
            tracing::warn!(
                "memories are in this node's data folder; several nodes need one Qdrant server (qdrant_url)"
            );
        }
        let app = App::start(storage, embedder, Arc::new(SystemClock), config.engine.clone())?;
        let settings = Settings {
            hosts: Hosts::new(address, &config.allowed_hosts, &config.cors_origins),
            cors_origins: config.cors_origins.clone(),
            body_limit: config.body_limit,
            heartbeat: config.heartbeat,
        };
        let http = Http::new(app.clone(), metrics, &settings);
        let service = http.clone().service(&settings);
        let limits = listener::Settings {
            max_connections: config.max_connections,
            stall_timeout: config.stall_timeout,
            shutdown_timeout: config.shutdown_timeout,
        };
        let url = format!("http://{address}");
        Ok(Self { app, url, http, service, listener, limits, lock })
    }

    pub(crate) fn app(&self) -> &App {
        &self.app
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Serves until it is stopped, and takes the world down in the right order.
    pub(crate) async fn serve(self, stop: CancellationToken) -> anyhow::Result<()> {
        let Self { app, url, http, service, listener, limits, lock } = self;
        tracing::info!(url, "listening");
        let closing = CancellationToken::new();
        let drain = async {
            stop.cancelled().await;
            // Streams first: a connection that streams would never count as done.
            http.drain();
            closing.cancel();
        };
        tokio::join!(listener::serve(listener, service, &limits, closing.clone()), drain);
        app.stop().await;
        drop(lock);
        tracing::info!("stopped");
        Ok(())
    }

    async fn greet(&self, data: &Path) -> anyhow::Result<()> {
        let (url, data) = (&self.url, data.display());
        let mut words =
            format!("artel is listening on {url}\n  API    {url}/docs\n  data   {data}\n");
        if self.app.accounts().list(Page { limit: 1, offset: 0 }).await?.total == 0 {
            words += "  There is no account yet. Make one, and a token for it:\n";
            words += "    artel user add NAME --admin\n    artel token NAME\n";
        }
        let mut out = std::io::stdout().lock();
        // Nobody need be there to read it.
        if let Err(error) = out.write_all(words.as_bytes()).and_then(|()| out.flush()) {
            tracing::debug!(%error, "nobody reads the greeting");
        }
        Ok(())
    }
}

/// What the store of vectors must know of whatever makes them.
pub(crate) fn model_of(embedder: &dyn Embedder) -> Model {
    Model { name: embedder.name().to_owned(), dimensions: embedder.dimensions() }
}

/// Waits for a signal to stop, passes it on, and returns only on a second one.
pub(crate) fn signals(stop: CancellationToken) -> anyhow::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::info!("stopping; a second signal stops at once");
        stop.cancel();
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
    })
}

/// One server per data folder: two would each believe to be the only writer, and the only one of its name.
pub(crate) fn lock(data_dir: &Path) -> anyhow::Result<File> {
    let path = data_dir.join("artel.lock");
    let mut file = File::options().create(true).truncate(false).write(true).open(&path)?;
    match file.try_lock() {
        Ok(()) => {
            file.set_len(0)?;
            writeln!(file, "{}", std::process::id())?;
            Ok(file)
        }
        Err(TryLockError::WouldBlock) => bail!(
            "another artel serves the data folder {} already; stop it, or choose another with --data-dir",
            data_dir.display()
        ),
        Err(TryLockError::Error(error)) => Err(error).context(path.display().to_string()),
    }
}

fn install_metrics() -> anyhow::Result<PrometheusHandle> {
    let buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];
    Ok(PrometheusBuilder::new().set_buckets(&buckets)?.install_recorder()?)
}
