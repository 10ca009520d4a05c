//! Walls by Docker: a container of its own for each program, from one image.
//!
//! The keeper is its first process, and its standard input is our connection: when that is lost, by whatever, the
//! keeper sees a hang-up and ends everything.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::future::pending;
use std::io;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use bollard::container::{AttachContainerResults, LogOutput};
use bollard::errors::Error;
use bollard::models::{ContainerCreateBody, HostConfig, HostConfigLogConfig, Mount, MountType};
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, CreateContainerOptions, KillContainerOptionsBuilder,
    ListContainersOptionsBuilder, RemoveContainerOptionsBuilder, StatsOptionsBuilder,
    WaitContainerOptionsBuilder,
};
use bollard::{API_DEFAULT_VERSION, Docker as Client};
use futures_util::{StreamExt, TryStreamExt};
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::{
    Exit, HOME, KEEPER, Keeper, Mark, Means, Network, Room, Running, Started, TOOLS, Uses,
    WORKSPACE, invalid, plain, programs,
};
use crate::codec::Signal;
use crate::keeper::Wishes;
use crate::kind::Unusable;

mod image;

use image::Programs;

/// How long Docker may take to answer, in seconds.
const PATIENCE: u64 = 60;
/// Of each stream, in bytes; then the program waits.
const PIPE: usize = 64 * 1024;
const TMP: &str = "rw,nosuid,nodev,size=512m,mode=1777";
const SHARED_MEMORY: i64 = 128 * 1024 * 1024;

const REMOVALS: u32 = 200;
const BETWEEN_REMOVALS: Duration = Duration::from_millis(50);
const NOT_FOUND: u16 = 404;
const CONFLICT: u16 = 409;

const AGENT: &str = "artel.agent";
const OWNER: &str = "artel.owner";

#[derive(Debug)]
pub struct Docker {
    client: Client,
    image: String,
    owner: String,
    keeper: Keeper,
    /// Of its machine, in thousandths; it starts nothing that may use more.
    cores: Option<u32>,
    /// Programs that were found in the image.
    found: Programs,
    tasks: TaskTracker,
}

impl Docker {
    pub(super) async fn find(means: Means) -> Result<Self, Unusable> {
        let Means { keeper, docker, image, owner, .. } = means;
        plain::check(&keeper.program)?;
        let unreachable = |error: Error| {
            Unusable(format!(
                "Docker does not answer at {}: {error}. Start it, and let the server's user into the group of its \
                 socket.",
                docker.display()
            ))
        };
        let socket = docker.to_string_lossy();
        let client = Client::connect_with_unix(&socket, PATIENCE, API_DEFAULT_VERSION)
            .map_err(unreachable)?
            .negotiate_version()
            .await
            .map_err(unreachable)?;
        client.inspect_image(&image).await.map_err(|error| {
            Unusable(format!(
                "Docker has no image {image:?}: {error}. Build it: `docker build -t {image} -f \
                 docker/universal-worker.Dockerfile docker`, or without a registry `scripts/worker-image.sh`."
            ))
        })?;
        let cores = client.info().await.map_err(unreachable)?.ncpu;
        let cores = cores.and_then(|cores| u32::try_from(cores.saturating_mul(1000)).ok());
        let cores = cores.filter(|cores| *cores > 0);
        let (found, tasks) = (Programs::default(), TaskTracker::new());
        Ok(Self { client, image, owner, keeper, cores, found, tasks })
    }

    pub(super) fn describe(&self) -> String {
        format!(
            "Programs run in containers of the image {}: they see its files for reading, their own home, workspace \
             and tools, no other process, and the network only if it is open to them. The kernel limits memory, \
             processes and CPU.",
            self.image
        )
    }

    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    pub(super) async fn start(
        &self,
        room: &Room,
        argv: &[String],
        environment: BTreeMap<String, OsString>,
    ) -> io::Result<Started> {
        let body = self.body(room, argv, environment)?;
        let created = self.client.create_container(None::<CreateContainerOptions>, body).await;
        let id = created.map_err(failed)?.id;
        // From here on it is removed, whatever comes.
        let kill = CancellationToken::new();
        let container = Container { client: self.client.clone(), id: id.clone() };
        let (tell, ended) = watch::channel(None);
        let (attached, stop) = (CancellationToken::new(), kill.clone());
        let began = attached.clone();
        let follower = container.clone();
        self.tasks.spawn(async move {
            let exit = follower.follow(&began, &stop).await;
            tell.send_replace(Some(exit));
        });
        let running = Contained {
            container,
            ended,
            kill: kill.clone(),
            _kills_when_dropped: kill.clone().drop_guard(),
        };
        let options = AttachContainerOptionsBuilder::default();
        let options = options.stream(true).stdin(true).stdout(true).stderr(true).build();
        let pipes = self.client.attach_container(&id, Some(options)).await.map_err(failed)?;
        self.client.start_container(&id, None).await.map_err(failed)?;
        attached.cancel();
        let (stdin, stdout, stderr) = self.connect(pipes, kill);
        Ok(Started {
            stdin: Box::new(stdin),
            stdout: Box::new(stdout),
            stderr: Box::new(stderr),
            running: Box::new(running),
        })
    }

    fn body(
        &self,
        room: &Room,
        argv: &[String],
        environment: BTreeMap<String, OsString>,
    ) -> io::Result<ContainerCreateBody> {
        // An image, and Docker itself, add variables of their own.
        let only = Some(environment.keys().cloned().collect());
        let mut words = self.keeper.command(Path::new(KEEPER));
        words.extend(Wishes { only, ..Wishes::default() }.words());
        let words: Result<Vec<String>, _> = words.into_iter().map(OsString::into_string).collect();
        let mut words = words.map_err(|word| not_text(&word))?;
        words.extend(argv.iter().cloned());
        let mut variables = Vec::new();
        for (name, value) in environment {
            let value = value.into_string().map_err(|value| not_text(&value))?;
            variables.push(format!("{name}={value}"));
        }
        let user = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        Ok(ContainerCreateBody {
            image: Some(self.image.clone()),
            entrypoint: Some(words),
            cmd: Some(Vec::new()),
            env: Some(variables),
            // Files in its folders are the server's user's.
            user: Some(format!("{}:{}", user.0, user.1)),
            working_dir: Some(WORKSPACE.to_owned()),
            open_stdin: Some(true),
            stdin_once: Some(true),
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            labels: Some(HashMap::from([
                (AGENT.to_owned(), room.name.clone()),
                (OWNER.to_owned(), self.owner.clone()),
            ])),
            host_config: Some(self.host(room)?),
            ..ContainerCreateBody::default()
        })
    }

    fn host(&self, room: &Room) -> io::Result<HostConfig> {
        let mount = |outside: &Path, inside: &Path, read_only: bool| {
            let text = |path: &Path| {
                path.to_str().map(str::to_owned).ok_or_else(|| not_text(path.as_ref()))
            };
            Ok::<_, io::Error>(Mount {
                typ: Some(MountType::BIND),
                source: Some(text(outside)?),
                target: Some(text(inside)?),
                read_only: Some(read_only),
                ..Mount::default()
            })
        };
        let mut mounts = vec![
            mount(&room.home, Path::new(HOME), false)?,
            mount(&room.workspace, Path::new(WORKSPACE), false)?,
            mount(&room.tools, Path::new(TOOLS), false)?,
            mount(&self.keeper.program, Path::new(KEEPER), true)?,
        ];
        for path in programs::shown(room) {
            mounts.push(mount(&path, &path, true)?);
        }
        for (outside, inside) in &room.shown {
            mounts.push(mount(outside, inside, true)?);
        }
        let memory = i64::try_from(room.limits.memory).unwrap_or(i64::MAX);
        let cpu = room.limits.cpu.min(self.cores.unwrap_or(u32::MAX));
        let network = match room.network {
            Network::None => "none",
            Network::Open => "host",
        };
        Ok(HostConfig {
            mounts: Some(mounts),
            memory: Some(memory),
            // With as much for memory and swap together there is no swap.
            memory_swap: Some(memory),
            pids_limit: Some(i64::try_from(room.limits.processes).unwrap_or(i64::MAX)),
            nano_cpus: Some(i64::from(cpu) * 1_000_000),
            cap_drop: Some(vec!["ALL".to_owned()]),
            security_opt: Some(vec!["no-new-privileges".to_owned()]),
            readonly_rootfs: Some(true),
            tmpfs: Some(HashMap::from([("/tmp".to_owned(), TMP.to_owned())])),
            shm_size: Some(SHARED_MEMORY),
            network_mode: Some(network.to_owned()),
            ipc_mode: Some("private".to_owned()),
            // What it says is read here; Docker would keep it all on disk.
            log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
            ..HostConfig::default()
        })
    }

    /// Pipes of bounded size, as a process has them.
    fn connect(
        &self,
        pipes: AttachContainerResults,
        killed: CancellationToken,
    ) -> (DuplexStream, DuplexStream, DuplexStream) {
        let AttachContainerResults { mut output, mut input } = pipes;
        let (stdin, mut written) = duplex(PIPE);
        let (stdout, mut out) = duplex(PIPE);
        let (stderr, mut err) = duplex(PIPE);
        self.tasks.spawn(async move {
            let listening = async {
                let _ = tokio::io::copy(&mut written, &mut input).await;
                let _ = input.shutdown().await;
                pending::<()>().await;
            };
            let speaking = async {
                while let Some(Ok(said)) = output.next().await {
                    // What nobody reads is dropped, so that the other stream goes on.
                    let _ = match said {
                        LogOutput::StdErr { message } => err.write_all(&message).await,
                        LogOutput::StdOut { message }
                        | LogOutput::StdIn { message }
                        | LogOutput::Console { message } => out.write_all(&message).await,
                    };
                }
            };
            tokio::select! {
                () = listening => {}
                () = speaking => {}
                () = killed.cancelled() => {}
            }
        });
        (stdin, stdout, stderr)
    }

    pub(super) async fn end_left(&self, id: &str) -> io::Result<()> {
        Container { client: self.client.clone(), id: id.to_owned() }.remove().await
    }

    pub(super) async fn end_all_left(&self, owner: &str) -> io::Result<usize> {
        let wanted = HashMap::from([("label", vec![format!("{OWNER}={owner}")])]);
        let options = ListContainersOptionsBuilder::default().all(true).filters(&wanted).build();
        let found = self.client.list_containers(Some(options)).await.map_err(failed)?;
        let left: Vec<String> = found.into_iter().filter_map(|container| container.id).collect();
        for id in &left {
            self.end_left(id).await?;
        }
        Ok(left.len())
    }
}

#[derive(Debug, Clone)]
struct Container {
    client: Client,
    id: String,
}

impl Container {
    /// Waits for the end, or brings it about, and removes it.
    async fn follow(&self, began: &CancellationToken, stop: &CancellationToken) -> Exit {
        tokio::select! {
            () = began.cancelled() => {}
            () = stop.cancelled() => {}
        }
        let exit = tokio::select! {
            exit = self.exit(), if began.is_cancelled() => exit,
            () = stop.cancelled() => {
                let _ = self.kill("SIGKILL").await;
                self.exit().await
            }
        };
        let exit = exit.unwrap_or(Exit::Signal(9));
        // It is tried once more when the next server starts.
        let _ = self.remove().await;
        exit
    }

    async fn exit(&self) -> Option<Exit> {
        let options = WaitContainerOptionsBuilder::default().condition("not-running").build();
        let waited = Box::pin(self.client.wait_container(&self.id, Some(options))).try_next().await;
        let code = match waited {
            Ok(Some(ended)) => ended.status_code,
            Err(Error::DockerContainerWaitError { code, .. }) => code,
            Ok(None) | Err(_) => return None,
        };
        let exit = Exit::of_keeper(i32::try_from(code).unwrap_or(i32::MAX));
        let state = self.client.inspect_container(&self.id, None).await.ok()?.state?;
        let out_of_memory = state.oom_killed == Some(true) && exit == Exit::Signal(9);
        Some(if out_of_memory { Exit::Memory } else { exit })
    }

    async fn kill(&self, signal: &str) -> io::Result<()> {
        let options = KillContainerOptionsBuilder::default().signal(signal).build();
        match self.client.kill_container(&self.id, Some(options)).await {
            // It has ended already.
            Err(Error::DockerResponseServerError { status_code: NOT_FOUND | CONFLICT, .. }) => {
                Ok(())
            }
            done => done.map_err(failed),
        }
    }

    /// Kills it if it runs; when this returns well, it is gone.
    async fn remove(&self) -> io::Result<()> {
        for _ in 0..REMOVALS {
            let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
            match self.client.remove_container(&self.id, Some(options)).await {
                Err(Error::DockerResponseServerError { status_code: NOT_FOUND, .. }) => {
                    return Ok(());
                }
                // Somebody else is at it, and it is asked again until it is not found.
                Ok(()) | Err(Error::DockerResponseServerError { status_code: CONFLICT, .. }) => {}
                Err(error) => return Err(failed(error)),
            }
            sleep(BETWEEN_REMOVALS).await;
        }
        Err(io::Error::other(format!("container {} cannot be removed", self.id)))
    }
}

#[derive(Debug)]
struct Contained {
    container: Container,
    ended: watch::Receiver<Option<Exit>>,
    kill: CancellationToken,
    _kills_when_dropped: DropGuard,
}

#[async_trait]
impl Running for Contained {
    fn mark(&self) -> Mark {
        Mark::Container { id: self.container.id.clone() }
    }

    async fn wait(&mut self) -> io::Result<Exit> {
        let ended = self.ended.wait_for(Option::is_some).await;
        let exit = ended.ok().and_then(|exit| *exit);
        exit.ok_or_else(|| io::Error::other("nobody waits for it: the server is ending"))
    }

    async fn signal(&mut self, signal: Signal) -> io::Result<()> {
        self.container
            .kill(match signal {
                Signal::Interrupt => "SIGINT",
                Signal::Terminate => "SIGTERM",
            })
            .await
    }

    async fn kill(&mut self) -> io::Result<()> {
        self.kill.cancel();
        self.wait().await.map(|_| ())
    }

    async fn uses(&self) -> io::Result<Uses> {
        let options = StatsOptionsBuilder::default().stream(false).one_shot(true).build();
        let stats = self.container.client.stats(&self.container.id, Some(options));
        let stats = Box::pin(stats).try_next().await.map_err(failed)?.unwrap_or_default();
        let memory = stats.memory_stats.unwrap_or_default();
        let detail = memory.stats.unwrap_or_default();
        // What was read from files can be given back at any time. The old and the new control groups name it so.
        let cached = ["total_inactive_file", "inactive_file"];
        let cached = cached.into_iter().find_map(|name| detail.get(name).copied()).unwrap_or(0);
        let processes = stats.pids_stats.and_then(|pids| pids.current).unwrap_or(0);
        Ok(Uses { memory: memory.usage.unwrap_or(0).saturating_sub(cached), processes })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
fn failed(error: Error) -> io::Error {
    io::Error::other(format!("Docker: {error}"))
}

fn not_text(word: &OsStr) -> io::Error {
    invalid(format!("{} is not UTF-8, which Docker needs", word.display()))
}
