//! What an agent cannot do.

use std::net::TcpListener;

use super::*;

const CANARY: &str = "the-canary-sings";

/// CA-3.2: the environment is the list and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn the_environment_is_the_list() {
    for sandbox in sandboxes(&ALL).await {
        let den = Den::new("reader");
        let place =
            sandbox.place(&den.room, SecretString::from(TOKEN), Some("http://here".to_owned()));
        let mut wanted = launch(&["env"]);
        wanted.environment.insert("MODEL_KEY".to_owned(), "two\nlines = 'x'".to_owned());
        wanted.environment.insert("PATH".to_owned(), "/nowhere".to_owned());
        let Started { stdin: _stdin, mut stdout, stderr: _stderr, mut running } =
            sandbox.start(&den.room, &place, &wanted).await.unwrap();
        let mut said = String::new();
        stdout.read_to_string(&mut said).await.unwrap();
        assert_eq!(running.wait().await.unwrap(), Exit::Code(0));
        let mut names: Vec<&str> =
            said.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "HOME",
                "LANG",
                "MODEL_KEY",
                "ORCH_AUTH",
                "ORCH_SOCK",
                "ORCH_SPOOL",
                "ORCH_URL",
                "PATH",
                "SHELL",
                "TERM",
                "TMPDIR",
                "lines ",
            ],
            "{}",
            sandbox.describe()
        );
        assert!(
            said.contains(&format!("ORCH_AUTH={TOKEN}\n")) && !said.contains("/nowhere"),
            "{said}"
        );
    }
}

/// CA-3.2: the server's data folder, another agent's home, the server's environment and its processes cannot be read.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_the_servers_stays_the_servers() {
    for sandbox in sandboxes(&WALLED).await {
        let den = Den::new("spy");
        let other = den.data.path().join("agents/other/home");
        fs::create_dir_all(&other).unwrap();
        let secrets =
            [den.data.path().join("database"), other.join("key"), den.room.home.join("../key")];
        for secret in &secrets {
            fs::write(secret, CANARY).unwrap();
            let (said, _) = den.script(&sandbox, &format!("cat '{}'", secret.display())).await;
            assert!(!said.contains(CANARY), "{said} in {}", sandbox.describe());
        }
        let root = std::process::id();
        let (said, _) = den
            .script(
                &sandbox,
                &format!("cat /proc/{root}/environ; for it in /proc/[0-9]*; do echo $it; done"),
            )
            .await;
        // The keeper, the shell, and at most one child of it.
        assert!(said.matches("/proc/").count() <= 4, "{said}");
        let (said, exit) = den
            .script(&sandbox, "echo x > /usr/planted; echo x > /etc/planted; ls /root/.ssh")
            .await;
        assert!(exit != Exit::Code(0) && !Path::new("/usr/planted").exists(), "{said}");
        let (said, _) = den
            .script(
                &sandbox,
                "ls /var/run/docker.sock /sys/fs/cgroup 2>/dev/null; grep CapEff /proc/self/status",
            )
            .await;
        assert_eq!(said.lines().last(), Some("CapEff:\t0000000000000000"), "{said}");
        assert!(!said.contains("docker.sock"), "{said}");
    }
}

/// CA-3.2: without the network only the tools' socket is reached; with it, the machine's.
#[tokio::test(flavor = "multi_thread")]
async fn the_network_is_as_the_room_says() {
    for sandbox in sandboxes(&WALLED).await {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut den = Den::new("caller");
        let _socket =
            std::os::unix::net::UnixListener::bind(den.room.tools.join("socket")).unwrap();
        let script = format!(
            "import os, socket\n\
             socket.socket(socket.AF_UNIX).connect(os.environ['ORCH_SOCK']); print('tools')\n\
             try:\n    socket.create_connection(('127.0.0.1', {port}), 5); print('out')\n\
             except OSError: print('shut')"
        );
        for (network, expected) in
            [(Network::None, "tools\nshut\n"), (Network::Open, "tools\nout\n")]
        {
            den.room.network = network;
            let (said, _) =
                den.start(&sandbox, &["python3", "-c", &script]).await.last_words().await;
            assert_eq!(said, expected, "{}", sandbox.describe());
        }
    }
}

/// CA-3.2: one that takes all the memory is ended, and it is said why.
#[tokio::test(flavor = "multi_thread")]
async fn a_memory_hog_is_ended() {
    for sandbox in sandboxes(&ALL).await {
        let mut den = Den::new("hog");
        den.room.limits.memory = 100 * MEBIBYTE;
        let script = "import time\nheld = []\nwhile True: held.append(bytearray(4 << 20)); time.sleep(0.002)";
        let (_, exit) = den.start(&sandbox, &["python3", "-c", script]).await.last_words().await;
        assert_eq!(exit, Exit::Memory, "{}", sandbox.describe());
    }
}

/// CA-3.2: one that takes all of a core gets its share of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_one_gets_its_share() {
    for sandbox in sandboxes(&ALL).await {
        if sandbox.describe().contains("CPU is not limited") {
            continue;
        }
        let mut den = Den::new("busy");
        den.room.limits.cpu = 200;
        // A busy machine only makes the share smaller.
        let script = "import time\nbegin = time.monotonic()\nwhile time.monotonic() < begin + 2: pass\n\
                      print(time.process_time() / (time.monotonic() - begin))";
        let (said, _) = den.start(&sandbox, &["python3", "-c", script]).await.last_words().await;
        let share: f64 = said.trim().parse().unwrap();
        assert!(share < 0.4, "{share} in {}", sandbox.describe());
    }
}

/// CA-3.2: a fork bomb gets no further than the limit, ends when it is killed, and nothing of it is left.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_is_contained() {
    for sandbox in sandboxes(&ALL).await {
        if matches!(sandbox, Sandbox::Plain(_)) && sandbox.describe().contains("no control groups")
        {
            // What forks is then killed one by one, and that may be too slow. It is said so, and not tried here.
            continue;
        }
        let den = Den::new("bomb");
        let word = den.word();
        let script = "import os, time\n\
                      print('ready', flush=True)\n\
                      while True:\n    try: os.fork()\n    except OSError: time.sleep(0.01)";
        let mut agent = den.start(&sandbox, &["python3", "-c", script, &word]).await;
        assert_eq!(agent.hear().await, "ready");
        let limited = !sandbox.describe().contains("processes are watched");
        if !limited && rustix::process::getuid().is_root() {
            // It is noticed and ended. Of other users than root the kernel itself refuses more.
            assert_eq!(agent.running.wait().await.unwrap(), Exit::Signal(9));
        } else if limited || !matches!(sandbox, Sandbox::Plain(_)) {
            while with_word(&word).len() < 60 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            for _ in 0..20 {
                let count = with_word(&word).len();
                assert!(count <= 64 + 2, "{count} in {}", sandbox.describe());
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        agent.running.kill().await.unwrap();
        assert_eq!(with_word(&word), [0; 0], "{}", sandbox.describe());
    }
}
