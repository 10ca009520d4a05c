//! The three sandboxes: the same inside whichever it is, walls that hold, and nothing left behind. With real
//! processes, the real bubblewrap, and a real Docker where `ARTEL_TEST_DOCKER` names its socket
//! (`scripts/with-docker.sh`).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use artel_programs::codec::Signal;
use artel_programs::kind::{Launch, Place};
use artel_programs::sandbox::{
    Choice, Exit, IMAGE, Keeper, Limits, Means, Network, Room, Running, Sandbox, Started,
};
use secrecy::SecretString;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::time::timeout;

#[path = "rooms/ends.rs"]
mod ends;
#[path = "rooms/files.rs"]
mod files;
#[path = "rooms/image.rs"]
mod image;
#[path = "rooms/keeper.rs"]
mod keeper;
#[path = "rooms/same.rs"]
mod same;
#[path = "rooms/walls.rs"]
mod walls;

const ALL: [Choice; 3] = [Choice::Plain, Choice::Bubblewrap, Choice::Docker];
const WALLED: [Choice; 2] = [Choice::Bubblewrap, Choice::Docker];
const MEBIBYTE: u64 = 1024 * 1024;
const TOKEN: &str = "a-token-of-the-agent";
const UNTESTED: &[u8] = b"*** NOT TESTED IN DOCKER: run this by scripts/with-docker.sh\n";
/// Nothing here takes so long unless it hangs.
const LONG: Duration = Duration::from_mins(1);

/// The sandboxes of these kinds that this machine has. Bubblewrap is always expected.
async fn sandboxes(wanted: &[Choice]) -> Vec<Sandbox> {
    let mut found = Vec::new();
    for &choice in wanted {
        match means(choice) {
            Some(means) => found.push(Sandbox::find(choice, means).await.unwrap()),
            None => {
                // Not by a macro, whose words are only shown when a test fails.
                let _ = io::stderr().write_all(UNTESTED);
            }
        }
    }
    found
}

fn means(choice: Choice) -> Option<Means> {
    let docker = std::env::var_os("ARTEL_TEST_DOCKER").map(PathBuf::from);
    if choice == Choice::Docker && docker.is_none() {
        return None;
    }
    Some(Means {
        keeper: Keeper { program: env!("CARGO_BIN_EXE_keeper").into(), words: Vec::new() },
        dir: PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(std::process::id().to_string()),
        docker: docker.unwrap_or_default(),
        image: IMAGE.to_owned(),
        owner: format!("test-{}", std::process::id()),
    })
}

/// The folders of one agent, in a server's data folder.
struct Den {
    data: TempDir,
    room: Room,
}

impl Den {
    fn new(name: &str) -> Self {
        let data = TempDir::new().unwrap();
        let own = data.path().join("agents").join(name);
        let [home, workspace, tools, programs] =
            ["home", "workspace", "tools", "programs"].map(|folder| own.join(folder));
        for folder in [&home, &workspace, &tools, &programs] {
            fs::create_dir_all(folder).unwrap();
        }
        let unique = data.path().file_name().unwrap().to_string_lossy().replace('.', "");
        let room = Room {
            name: format!("{name}-{unique}"),
            home,
            workspace,
            tools,
            programs: vec![programs],
            shown: Vec::new(),
            network: Network::None,
            limits: Limits { memory: 512 * MEBIBYTE, processes: 64, cpu: 1000 },
        };
        Self { data, room }
    }

    fn place(&self, sandbox: &Sandbox) -> Place {
        sandbox.place(&self.room, SecretString::from(TOKEN), None)
    }

    async fn start(&self, sandbox: &Sandbox, argv: &[&str]) -> Agent {
        self.launch(sandbox, &launch(argv)).await
    }

    async fn launch(&self, sandbox: &Sandbox, launch: &Launch) -> Agent {
        let place = self.place(sandbox);
        let started = sandbox.start(&self.room, &place, launch).await.unwrap();
        let Started { stdin, stdout, stderr, running } = started;
        Agent { stdin: Some(stdin), stdout: BufReader::new(stdout), stderr, running }
    }

    /// Runs a shell script to its end.
    async fn script(&self, sandbox: &Sandbox, script: &str) -> (String, Exit) {
        let mut agent = self.start(sandbox, &["sh", "-c", script]).await;
        agent.last_words().await
    }

    /// A number that no other test has, as `sleep` takes it; by it processes are found.
    fn word(&self) -> String {
        let mut number = std::process::id();
        for byte in self.data.path().as_os_str().as_encoded_bytes() {
            number = number.wrapping_mul(31).wrapping_add(u32::from(*byte));
        }
        format!("87{number:010}")
    }
}

struct Agent {
    stdin: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    stdout: BufReader<Box<dyn tokio::io::AsyncRead + Send + Unpin>>,
    stderr: Box<dyn tokio::io::AsyncRead + Send + Unpin>,
    running: Box<dyn Running>,
}

impl Agent {
    async fn say(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        stdin.flush().await.unwrap();
    }

    async fn hear(&mut self) -> String {
        let mut line = String::new();
        timeout(LONG, self.stdout.read_line(&mut line)).await.unwrap().unwrap();
        line.trim_end().to_owned()
    }

    /// All that it still says on both streams, and how it ends.
    async fn last_words(&mut self) -> (String, Exit) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let reading = async {
            tokio::join!(self.stdout.read_to_end(&mut out), self.stderr.read_to_end(&mut err))
        };
        let _ = timeout(LONG, reading).await.unwrap();
        out.extend(err);
        let exit = timeout(LONG, self.running.wait()).await.unwrap().unwrap();
        (String::from_utf8_lossy(&out).into_owned(), exit)
    }
}

fn launch(argv: &[&str]) -> Launch {
    Launch {
        argv: argv.iter().map(|&word| word.to_owned()).collect(),
        environment: BTreeMap::new(),
        files: Vec::new(),
        ready_within: LONG,
        stop: Signal::Terminate,
    }
}

/// Processes of this machine that have this word in their command line.
fn with_word(word: &str) -> Vec<u32> {
    processes(|words| String::from_utf8_lossy(words).contains(word))
}

/// Processes of this machine that sleep for so long; nothing that is still on its way to that.
fn sleeping(word: &str) -> Vec<u32> {
    processes(|words| words == format!("sleep\0{word}\0").as_bytes())
}

fn processes(wanted: impl Fn(&[u8]) -> bool) -> Vec<u32> {
    let wanted =
        |pid: &u32| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| wanted(&words));
    let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(wanted).collect()
}

/// Those of them that are still there, be it as zombies.
fn left(pids: &[u32]) -> Vec<u32> {
    pids.iter().copied().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).collect()
}

/// Waits until nothing is left of these, nor of what has the word.
async fn gone(pids: &[u32], word: &str, within: Duration) {
    let looking = async {
        while !(left(pids).is_empty() && with_word(word).is_empty()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let looked = timeout(within, looking).await;
    assert!(looked.is_ok(), "left: {:?} {:?}", left(pids), with_word(word));
}
