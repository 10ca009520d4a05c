//! Where one agent's programs reach its tools: a Unix socket, a port of the loopback interface, and a folder of files.
//!
//! The three take the same calls from whoever shows the agent's token. The socket is what a program in a sandbox
//! reaches; the port is for MCP clients, which know nothing else; the folder is left where a sandbox forbids to
//! connect at all. All of it lives and ends with the [`Endpoint`].

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::net::{Ipv4Addr, TcpListener as Port};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::serve::{Listener, ListenerExt};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinSet;
use tower::ServiceExt;

use super::spool::Spool;
use super::{Checked, Limits, Toolbox, http};
use crate::sockets;

/// How many connections one agent may hold open on each listener; further ones wait.
const CONNECTIONS: usize = 64;
/// How long a request's head may take to arrive, and how long a connection may be idle between requests.
const HEAD: Duration = Duration::from_secs(30);
/// A request's head must fit into it.
const BUFFER: usize = 16 * 1024;
/// For the owner alone.
const FOLDER: u32 = 0o700;
const FILE: u32 = 0o600;
/// A folder that many share has this bit, such as `/tmp`.
const SHARED: u32 = 0o1000;

/// What an endpoint is made of.
#[derive(Debug)]
pub struct Setup {
    /// The socket to be; its folder is the agent's own and made so.
    pub socket: PathBuf,
    /// The folder for calls to be. What it holds from an earlier life is removed.
    pub spool: PathBuf,
    /// Whether it is also wanted on the loopback interface.
    pub loopback: bool,
    pub token: SecretString,
    pub toolbox: Arc<dyn Toolbox>,
    pub limits: Limits,
}

/// The endpoint of one agent. Dropping it gives up the calls that run and removes the socket and the folder.
#[derive(Debug)]
pub struct Endpoint {
    url: Option<String>,
    toolbox: Arc<Checked>,
    /// The listeners, with their connections, and whoever watches the folder. They end before their places go.
    tasks: JoinSet<()>,
    _socket: Socket,
    _folder: Folder,
}

/// What all ways in share.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) toolbox: Arc<Checked>,
    pub(super) limits: Limits,
    token: SecretString,
}

/// A socket of ours, which is removed with this.
#[derive(Debug)]
struct Socket(PathBuf);

/// A folder of ours, which is removed with this.
#[derive(Debug)]
struct Folder(PathBuf);

impl Endpoint {
    /// Opens it, within a runtime. Fails when a place cannot be made or a tool's schema is none.
    pub fn open(setup: Setup) -> io::Result<Self> {
        let Setup { socket, spool, loopback, token, toolbox, limits } = setup;
        let toolbox = Arc::new(Checked::new(toolbox, limits)?);
        let desk = Arc::new(Desk { toolbox: Arc::clone(&toolbox), limits, token });
        let listener = at(&socket, listen(&socket))?;
        let socket = Socket(socket);
        let calls = at(&spool, Spool::make(&spool, Arc::clone(&desk)))?;
        let folder = Folder(spool);
        let router = http::router(desk);
        let mut tasks = JoinSet::new();
        let url = if loopback {
            let port = Port::bind((Ipv4Addr::LOCALHOST, 0))?;
            port.set_nonblocking(true)?;
            let url = format!("http://{}", port.local_addr()?);
            // Small answers go out at once.
            let port = TcpListener::from_std(port)?.tap_io(|stream| {
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "setting TCP_NODELAY failed");
                }
            });
            tasks.spawn(serve(port, router.clone()));
            Some(url)
        } else {
            None
        };
        tasks.spawn(serve(listener, router));
        tasks.spawn(calls.watch());
        Ok(Self { url, toolbox, tasks, _socket: socket, _folder: folder })
    }

    /// Where it is on the loopback interface, such as `http://127.0.0.1:41234`; its MCP server is at `/mcp`.
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// Its tools, for calls that come in the conversation itself: these count among the others.
    pub fn toolbox(&self) -> Arc<Checked> {
        Arc::clone(&self.toolbox)
    }

    /// Ends it; when this returns no call runs any more.
    pub async fn close(mut self) {
        self.tasks.shutdown().await;
    }
}

impl Desk {
    /// Takes as long for a wrong token as for the right one.
    pub(super) fn admits(&self, token: &[u8]) -> bool {
        self.token.expose_secret().as_bytes().ct_eq(token).into()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        removed(&self.0, fs::remove_file(&self.0));
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        removed(&self.0, clear(&self.0));
    }
}

/// Makes a folder for the owner alone.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(folder)?;
    let mode = fs::metadata(folder)?.permissions().mode();
    if mode & SHARED != 0 {
        let why = "others use this folder too: the tools of an agent need one of their own";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    fs::set_permissions(folder, Permissions::from_mode(FOLDER))
}

/// Removes a folder, into which somebody may still write.
pub(super) fn clear(folder: &Path) -> io::Result<()> {
    const ATTEMPTS: usize = 3;
    let mut cleared = fs::remove_dir_all(folder);
    for _ in 1..ATTEMPTS {
        if !cleared.as_ref().is_err_and(|it| it.kind() == io::ErrorKind::DirectoryNotEmpty) {
            break;
        }
        cleared = fs::remove_dir_all(folder);
    }
    cleared
}

fn removed(path: &Path, outcome: io::Result<()>) {
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(path = %path.display(), %error, "removing failed");
        }
        Ok(()) | Err(_) => {}
    }
}

fn listen(socket: &Path) -> io::Result<UnixListener> {
    if let Some(folder) = socket.parent() {
        make(folder)?;
    }
    // One that was killed left its socket behind; whatever else is there is not ours to remove.
    if fs::symlink_metadata(socket).is_ok_and(|it| it.file_type().is_socket()) {
        fs::remove_file(socket)?;
    }
    let listener = sockets::at(socket, |short| UnixListener::bind(short))?;
    fs::set_permissions(socket, Permissions::from_mode(FILE))?;
    Ok(listener)
}

/// Says where it failed.
fn at<T>(path: &Path, outcome: io::Result<T>) -> io::Result<T> {
    outcome.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// Serves for ever. Dropping it cuts every connection, and with it gives up the calls on it.
async fn serve<L: Listener>(mut listener: L, router: Router) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        // Without a free place nobody is accepted: the kernel's queue holds them until one leaves.
        while connections.len() >= CONNECTIONS {
            connections.join_next().await;
        }
        let (stream, _) = listener.accept().await;
        let router = router.clone();
        let service = hyper::service::service_fn(move |request: hyper::Request<_>| {
            router.clone().oneshot(request.map(Body::new))
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(BUFFER)
            .serve_connection(TokioIo::new(stream), service);
        connections.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended");
            }
        });
    }
}
