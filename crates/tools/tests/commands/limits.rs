//! What a command may use up, and that nothing outlives it.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

use super::*;

/// A number that no other process has in its command line.
fn unlikely(salt: u32) -> String {
    format!("{}{salt:02}", 900_000 + std::process::id() % 100_000)
}

/// TL-5.1: after its time a command is gone, and with it everything that it started, however hidden.
#[tokio::test]
async fn the_whole_tree_ends_with_the_time() {
    for (salt, den) in [(1, Den::new().await), (2, Den::bare())] {
        let nap = unlikely(salt);
        let daemon = format!(
            "setsid sh -c '(sleep {nap} &) ; sleep {nap}' & (trap '' TERM HUP; sleep {nap}) & echo on; sleep {nap}"
        );
        let outcome = den
            .shell
            .run(&ExecuteCommand { timeout: 1, ..command(&["sh", "-c", &daemon]) }, Reach::Write)
            .await;
        assert_eq!(
            outcome.error.as_deref(),
            Some("Command was stopped: it took more than 1 seconds")
        );
        assert_eq!(outcome.fields["exit_code"], serde_json::Value::Null);
        assert_eq!(stdout(&outcome), "on\n");
        assert_eq!(running_with(&nap), 0);
        assert!(den.listing().is_empty());
    }
}

/// What a command leaves behind does not keep running when it ends by itself.
#[tokio::test]
async fn daemons_end_with_their_command() {
    for (salt, den) in [(3, Den::new().await), (4, Den::bare())] {
        let nap = unlikely(salt);
        let outcome =
            den.script(Reach::Write, &format!("(setsid sleep {nap} &) ; echo done")).await;
        assert_eq!((outcome.success, stdout(&outcome)), (true, "done\n"));
        assert_eq!(running_with(&nap), 0);
    }
}

/// A command that nobody waits for any more is ended, and the workspace is as before.
#[tokio::test]
async fn who_stops_waiting_stops_the_command() {
    for (salt, den) in [(5, Den::new().await), (6, Den::bare())] {
        let nap = unlikely(salt);
        let script = format!("touch started; sleep {nap}");
        {
            let running = den.script(Reach::Write, &script);
            tokio::pin!(running);
            while !den.path("started").exists() {
                assert!(timeout(Duration::from_millis(20), &mut running).await.is_err());
            }
        }
        den.shell.close().await;
        assert_eq!(running_with(&nap), 0);
        assert_eq!(den.listing(), [den.path("started")]);
    }
}

/// TL-5.1: a flood is cut at the limit of each stream and read on, so that the command comes to its end.
#[tokio::test]
async fn output_is_cut() {
    let den = Den::new().await;
    let outcome =
        den.script(Reach::Read, "yes | head -c 5000000; yes é | head -c 3000000 >&2; exit 0").await;
    assert!(outcome.success, "{:?}", outcome.error);
    assert_eq!(outcome.fields["truncated"], true);
    assert_eq!(stdout(&outcome).len(), 1024 * 1024);
    assert!(stderr(&outcome).len() > 1024 * 1024 - 4 && !stderr(&outcome).contains('\u{fffd}'));
    let outcome =
        den.shell.run(&ExecuteCommand { timeout: 1, ..command(&["yes"]) }, Reach::Read).await;
    assert!(outcome.error.is_some_and(|error| error.contains("1 seconds")));
    assert_eq!(stdout_len(&outcome.fields), 1024 * 1024);
}

fn stdout_len(fields: &serde_json::Map<String, serde_json::Value>) -> usize {
    fields["stdout"].as_str().unwrap().len()
}

/// A command that takes too much memory is stopped, and it says why.
#[tokio::test]
async fn memory_is_limited() {
    let den = Den::limited(Limits { memory: 64 * 1024 * 1024, ..Limits::default() }).await;
    let hog = "my @x; for (1..8) { push @x, 'x' x 40_000_000; } sleep 600";
    let outcome = den.run(Reach::Read, &["perl", "-e", hog]).await;
    assert_eq!(
        outcome.error.as_deref(),
        Some("Command was stopped: it used more than 64 MiB of memory")
    );
    // Split over many it is the same.
    let split = "for (1..8) { last unless fork } my $x = 'x' x 10_000_000; sleep 600";
    let outcome = den.run(Reach::Read, &["perl", "-e", split]).await;
    assert_eq!(
        outcome.error.as_deref(),
        Some("Command was stopped: it used more than 64 MiB of memory")
    );
}

/// So is one that starts too many processes.
#[tokio::test]
async fn processes_are_limited() {
    let den = Den::limited(Limits { processes: 20, ..Limits::default() }).await;
    let nap = unlikely(7);
    let script =
        format!("i=0; while [ $i -lt 40 ]; do setsid sleep {nap} & i=$((i+1)); done; wait");
    let outcome = den.script(Reach::Read, &script).await;
    assert_eq!(
        outcome.error.as_deref(),
        Some("Command was stopped: it started more than 20 processes")
    );
    assert_eq!(running_with(&nap), 0);
}

/// What the kernel limits: no dumps, files in number and size, and memory that looks like files.
#[tokio::test]
async fn the_kernel_limits_the_rest() {
    for den in [Den::new().await, Den::bare()] {
        let outcome = den.script(Reach::Read, "ulimit -c; ulimit -n; ulimit -f").await;
        let limits: Vec<u64> = stdout(&outcome).lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(limits[0], 0);
        assert!(limits[1] <= 4096);
        assert_eq!(limits[2], 2 * 1024 * 1024 * 1024 / 512);
    }
    let den = Den::new().await;
    let script = "head -c 200000000 /dev/zero > /dev/shm/x; df -B1 --output=size /tmp | tail -1";
    let outcome = den.script(Reach::Write, script).await;
    assert!(stderr(&outcome).contains("No space left"), "{outcome:?}");
    assert_eq!(stdout(&outcome).trim(), (512 * 1024 * 1024).to_string());
}

/// Many commands at a time keep to themselves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_run_side_by_side() {
    let den = Den::new().await;
    let scripts: Vec<String> =
        (0..12).map(|at| format!("echo {at} > made-{at}; cat made-{at}")).collect();
    let outcomes = join_all(scripts.iter().map(|script| den.script(Reach::Write, script))).await;
    for (at, outcome) in outcomes.iter().enumerate() {
        assert_eq!(stdout(outcome), format!("{at}\n"), "{outcome:?}");
    }
    assert_eq!(den.listing().len(), 12, "{:?}", den.listing());
}
