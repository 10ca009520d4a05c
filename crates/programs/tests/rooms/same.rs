//! The same in all three.

use super::*;

/// CA-3.1: lines go in and come out, on both streams and in order, and the end is the program's.
#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_the_same_everywhere() {
    for sandbox in sandboxes(&ALL).await {
        let den = Den::new("talker");
        let script =
            "echo ready; while read -r line; do echo \"heard $line\"; echo aside >&2; done; exit 7";
        let mut agent = den.start(&sandbox, &["sh", "-c", script]).await;
        assert_eq!(agent.hear().await, "ready", "{}", sandbox.describe());
        for number in 0..100 {
            agent.say(&format!("message {number}")).await;
            assert_eq!(agent.hear().await, format!("heard message {number}"));
        }
        agent.stdin = None;
        let (rest, exit) = agent.last_words().await;
        assert_eq!(rest, "aside\n".repeat(100));
        assert_eq!(exit, Exit::Code(7));
        sandbox.close().await;
    }
}

/// CA-3.1: home, workspace and tools are where the place says, are kept, and are the only ones.
#[tokio::test(flavor = "multi_thread")]
async fn folders_are_where_the_place_says() {
    for sandbox in sandboxes(&ALL).await {
        let den = Den::new("dweller");
        let place = den.place(&sandbox);
        let script = format!(
            "test \"$PWD\" = {workspace} && test \"$HOME\" = {home} && echo a > here && echo b > \"$HOME/there\" \
             && echo c > {tools}/spot && echo d > \"$TMPDIR/temporary\" && hello",
            workspace = place.workspace.display(),
            home = place.home.display(),
            tools = place.socket.parent().unwrap().display(),
        );
        let hello = den.room.programs[0].join("hello");
        fs::write(&hello, "#!/bin/sh\necho hello\n").unwrap();
        fs::set_permissions(&hello, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let (said, exit) = den.script(&sandbox, &script).await;
        assert_eq!((said.as_str(), exit), ("hello\n", Exit::Code(0)), "{}", sandbox.describe());
        let kept = [
            den.room.workspace.join("here"),
            den.room.home.join("there"),
            den.room.tools.join("spot"),
        ];
        assert_eq!(kept.map(|path| fs::read_to_string(path).unwrap()), ["a\n", "b\n", "c\n"]);
        assert!(!Path::new("/tmp/temporary").exists());
    }
}

/// CA-3.1: on a machine of few cores a program that may use more of them runs on those there are.
#[tokio::test(flavor = "multi_thread")]
async fn a_limit_above_the_machine_stops_nobody() {
    for sandbox in sandboxes(&ALL).await {
        let mut den = Den::new("ambitious");
        den.room.limits.cpu = 1_000_000;
        let (said, exit) = den.script(&sandbox, "echo hello").await;
        assert_eq!((said.as_str(), exit), ("hello\n", Exit::Code(0)), "{}", sandbox.describe());
    }
}

/// CA-3.1, CA-2.5: a signal reaches the program and nobody beside it.
#[tokio::test(flavor = "multi_thread")]
async fn signals_go_to_the_program_alone() {
    for sandbox in sandboxes(&ALL).await {
        let den = Den::new("listener");
        let script = "sh -c 'trap \"echo wrong\" INT TERM; while :; do sleep 0.1; done' & \
                      trap 'echo interrupted' INT; trap 'echo terminated; exit 3' TERM; \
                      echo ready; while :; do sleep 0.05; done";
        let mut agent = den.start(&sandbox, &["sh", "-c", script]).await;
        assert_eq!(agent.hear().await, "ready");
        agent.running.signal(Signal::Interrupt).await.unwrap();
        assert_eq!(agent.hear().await, "interrupted", "{}", sandbox.describe());
        agent.running.signal(Signal::Terminate).await.unwrap();
        let (rest, exit) = agent.last_words().await;
        assert_eq!((rest.as_str(), exit), ("terminated\n", Exit::Code(3)));
    }
}

/// CA-3.1: a program that is not there, and one that is killed, are told apart the same way.
#[tokio::test(flavor = "multi_thread")]
async fn ends_look_the_same() {
    for sandbox in sandboxes(&ALL).await {
        let den = Den::new("ender");
        let (said, exit) = den.start(&sandbox, &["no-such-program"]).await.last_words().await;
        assert!(said.contains("no-such-program"), "{said}");
        assert_eq!(exit, Exit::Code(127), "{}", sandbox.describe());
        assert_eq!(den.script(&sandbox, "kill -SEGV $$").await.1, Exit::Signal(11));
        assert_eq!(den.script(&sandbox, "exit 0").await.1, Exit::Code(0));
    }
}

/// CA-3.1, CA-8.3: gigabytes would stop at a pipe: who does not read holds up the program, and loses nothing.
#[tokio::test(flavor = "multi_thread")]
async fn output_is_neither_lost_nor_kept_without_bound() {
    for sandbox in sandboxes(&ALL).await {
        let den = Den::new("writer");
        let script = "head -c 5000000 /dev/zero | tr '\\0' 'x'; echo; echo end >&2";
        let (said, exit) = den.script(&sandbox, script).await;
        assert_eq!((said.len(), exit), (5_000_001 + 4, Exit::Code(0)), "{}", sandbox.describe());
    }
}

/// CA-2.6: what it uses is seen, with what it started.
#[tokio::test(flavor = "multi_thread")]
async fn uses_counts_everything_below() {
    for sandbox in sandboxes(&ALL).await {
        let den = Den::new("eater");
        let script = "import subprocess, sys\n\
                      held = bytearray(100 << 20)\n\
                      subprocess.Popen(['sleep', '1000'], start_new_session=True)\n\
                      print('ready', flush=True); sys.stdin.read()";
        let mut agent = den.start(&sandbox, &["python3", "-c", script]).await;
        assert_eq!(agent.hear().await, "ready");
        let uses = agent.running.uses().await.unwrap();
        assert!(uses.memory > 100 * MEBIBYTE, "{uses:?} in {}", sandbox.describe());
        assert!(uses.memory < 300 * MEBIBYTE && (2..10).contains(&uses.processes), "{uses:?}");
        agent.running.kill().await.unwrap();
    }
}
