//! The three sandboxes: the same inside whichever it is, walls that hold, and nothing left behind. With real
//! processes, the real bubblewrap, and a real Docker where `ARTEL_TEST_DOCKER` names its socket
//! (`scripts/with-docker.sh`).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::collections::BTreeMap;
use std::fs;
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
/// Nothing here takes so long unless it hangs.
const LONG: Duration = Duration::from_secs(60);

/// The sandboxes of these kinds that this machine has. Bubblewrap is always expected.
async fn sandboxes(wanted: &[Choice]) -> Vec<Sandbox> {
    let mut found = Vec::new();
    for &choice in wanted {
        match means(choice) {
            Some(means) => found.push(Sandbox::find(choice, means).await.unwrap()),
            None => println!("*** NOT TESTED IN DOCKER: run this by scripts/with-docker.sh"),
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
        agent.to_end().await
    }

    /// What in this machine carries this word in its command line.
    fn word(&self) -> String {
        format!("87{:010}", fastrand(self.data.path()))
    }
}

/// A number that no other test has, as `sleep` takes it.
fn fastrand(path: &Path) -> u32 {
    let mut number = std::process::id();
    for byte in path.as_os_str().as_encoded_bytes() {
        number = number.wrapping_mul(31).wrapping_add(u32::from(*byte));
    }
    number
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
    async fn to_end(&mut self) -> (String, Exit) {
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

/// Processes of this machine, dead ones too, that have this word in their command line.
fn with_word(word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        if words.contains(word) {
            found.push(words);
        }
    }
    found
}

/// Waits until nothing has the word any more.
async fn gone(word: &str, within: Duration) {
    let looking = async {
        while !with_word(word).is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let looked = timeout(within, looking).await;
    assert!(looked.is_ok(), "left: {:?}", with_word(word));
}
