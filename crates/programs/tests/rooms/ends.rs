//! Nothing is left behind, whoever ends what.

use std::process::Stdio;

use artel_programs::sandbox::Mark;
use tokio::process::Command;

use super::*;

/// Set for the run of this test binary that plays the server.
const SERVER: &str = "ARTEL_TEST_SERVER";
/// The keeper's grace, and some time for a busy machine.
const SOON: Duration = Duration::from_secs(30);

/// A program with children in sessions of their own, all of which ignore what can be ignored.
fn stubborn(word: &str) -> [String; 3] {
    let script = format!(
        "trap '' INT TERM HUP\n\
         setsid sh -c 'trap \"\" INT TERM HUP; setsid sleep {word} & while :; do sleep {word}; done' &\n\
         (setsid sleep {word} &)\n\
         echo ready\n\
         while :; do sleep {word}; done"
    );
    ["sh", "-c", &script].map(str::to_owned)
}

async fn start_stubborn(den: &Den, sandbox: &Sandbox, word: &str) -> Agent {
    let argv = stubborn(word);
    let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
    let mut agent = den.start(sandbox, &argv).await;
    assert_eq!(agent.hear().await, "ready");
    while sleeping(word).len() < 4 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    agent
}

/// CA-2.5: after a kill nothing is left, not even a zombie.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_takes_everything() {
    for sandbox in sandboxes(&ALL).await {
        let den = Den::new("killed");
        let word = den.word();
        let mut agent = start_stubborn(&den, &sandbox, &word).await;
        let all = with_word(&word);
        agent.running.signal(Signal::Terminate).await.unwrap();
        agent.running.kill().await.unwrap();
        assert_eq!((left(&all), with_word(&word)), (vec![], vec![]), "{}", sandbox.describe());
        assert_eq!(agent.running.wait().await.unwrap(), Exit::Signal(9));
    }
}

/// CA-2.5: dropping is killing.
#[tokio::test(flavor = "multi_thread")]
async fn a_drop_takes_everything() {
    for sandbox in sandboxes(&ALL).await {
        let den = Den::new("dropped");
        let word = den.word();
        let Agent { stdin, stdout, stderr, running } = start_stubborn(&den, &sandbox, &word).await;
        let all = with_word(&word);
        drop(running);
        gone(&all, &word, SOON).await;
        drop((stdin, stdout, stderr));
        sandbox.close().await;
    }
}

/// CA-2.5: after its input is closed a program has its grace, and then nothing is left.
#[tokio::test(flavor = "multi_thread")]
async fn a_closed_input_takes_everything() {
    for sandbox in sandboxes(&ALL).await {
        let den = Den::new("closed");
        let word = den.word();
        let mut agent = start_stubborn(&den, &sandbox, &word).await;
        agent.stdin = None;
        let (_, exit) = agent.last_words().await;
        assert_eq!(
            (exit, with_word(&word)),
            (Exit::Signal(9), Vec::new()),
            "{}",
            sandbox.describe()
        );
    }
}

/// CA-2.5: without walls an agent can kill its keeper, and gains nothing by it; nor by leaving its environment, where
/// there are control groups.
#[tokio::test(flavor = "multi_thread")]
async fn a_keeper_that_was_killed_is_swept_up_after() {
    let sandbox = sandboxes(&[Choice::Plain]).await.remove(0);
    let hide = if sandbox.describe().contains("no control groups") { "" } else { "env -i" };
    let den = Den::new("matricide");
    let word = den.word();
    let script = format!(
        "setsid sleep {word} & {hide} setsid sleep {word} & sleep 0.2; kill -KILL $PPID; sleep {word}"
    );
    let mut agent = den.start(&sandbox, &["sh", "-c", &script]).await;
    assert_eq!(agent.running.wait().await.unwrap(), Exit::Signal(9));
    assert_eq!(with_word(&word), [0; 0]);
}

/// CA-2.5: after the server itself was killed nothing is left, though nobody was there to clean up.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_leaves_nothing() {
    for sandbox in sandboxes(&ALL).await {
        let (word, mark) = kill_a_server(choice(&sandbox), Wait::ForTheEnd).await;
        assert_eq!(with_word(&word), [0; 0]);
        // What is left of a container is its name.
        sandbox.end_left(&mark).await.unwrap();
        sandbox.end_left(&mark).await.unwrap();
    }
}

/// CA-2.5: and the next server need not wait for that.
#[tokio::test(flavor = "multi_thread")]
async fn the_next_server_ends_what_was_left() {
    for sandbox in sandboxes(&ALL).await {
        let (word, mark) = kill_a_server(choice(&sandbox), Wait::No).await;
        sandbox.end_left(&mark).await.unwrap();
        assert_eq!(sleeping(&word), [0; 0], "{}", sandbox.describe());
        // What stood around it outside follows.
        gone(&[], &word, SOON).await;
    }
}

/// CA-2.5: containers are found by their owner, also when their ids were lost; those of others stay.
#[tokio::test(flavor = "multi_thread")]
async fn containers_are_found_by_their_owner() {
    for sandbox in sandboxes(&[Choice::Docker]).await {
        let owner = format!("server-{}", std::process::id());
        let mine = Means { owner: owner.clone(), ..means(Choice::Docker).unwrap() };
        let other = Sandbox::find(Choice::Docker, mine).await.unwrap();
        let (den, neighbour) = (Den::new("lost"), Den::new("neighbour"));
        let (word, near) = (den.word(), neighbour.word());
        let mut lost = start_stubborn(&den, &other, &word).await;
        let mut kept = start_stubborn(&neighbour, &sandbox, &near).await;
        assert_eq!(sandbox.end_all_left(&owner).await.unwrap(), 1);
        assert_eq!(lost.running.wait().await.unwrap(), Exit::Signal(9));
        assert_eq!((with_word(&word).len(), sandbox.end_all_left(&owner).await.unwrap()), (0, 0));
        assert!(!with_word(&near).is_empty());
        kept.running.kill().await.unwrap();
    }
}

/// CA-2.5: a number that is another's by now is left alone.
#[tokio::test(flavor = "multi_thread")]
async fn another_process_of_the_same_number_lives_on() {
    let sandbox = sandboxes(&[Choice::Plain]).await.remove(0);
    let mut bystander = Command::new("sleep").arg("1000").kill_on_drop(true).spawn().unwrap();
    let mark = Mark::Process { pid: bystander.id().unwrap(), started: 1 };
    sandbox.end_left(&mark).await.unwrap();
    assert!(bystander.try_wait().unwrap().is_none());
    bystander.kill().await.unwrap();
}

enum Wait {
    ForTheEnd,
    No,
}

fn choice(sandbox: &Sandbox) -> Choice {
    match sandbox {
        Sandbox::Plain(_) => Choice::Plain,
        Sandbox::Bubblewrap(_) => Choice::Bubblewrap,
        Sandbox::Docker(_) => Choice::Docker,
    }
}

/// Has a server of its own start an agent, kills that server, and says what marked the agent.
async fn kill_a_server(choice: Choice, wait: Wait) -> (String, Mark) {
    let den = Den::new("left");
    let word = den.word();
    let play = [serde_json::to_string(&choice).unwrap(), word.clone()].join(" ");
    let mut server = Command::new(std::env::current_exe().unwrap());
    server.args(["--exact", "ends::server", "--nocapture", "--ignored"]).env(SERVER, play);
    let mut server = server.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let mark = loop {
        let line = timeout(LONG, lines.next_line()).await.unwrap().unwrap().unwrap();
        if let Some(mark) = line.split("mark: ").nth(1) {
            break serde_json::from_str(mark).unwrap();
        }
    };
    let all = with_word(&word);
    assert_eq!(sleeping(&word).len(), 4);
    server.kill().await.unwrap();
    if matches!(wait, Wait::ForTheEnd) {
        gone(&all, &word, SOON).await;
    }
    (word, mark)
}

/// Plays the server that is killed.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a part that other tests start"]
async fn server() {
    let Some(play) = std::env::var_os(SERVER) else { return };
    let play = play.into_string().unwrap();
    let (choice, word) = play.split_once(' ').unwrap();
    let choice = serde_json::from_str(choice).unwrap();
    let sandbox = Sandbox::find(choice, means(choice).unwrap()).await.unwrap();
    let den = Den::new("left");
    let agent = start_stubborn(&den, &sandbox, word).await;
    println!("mark: {}", serde_json::to_string(&agent.running.mark()).unwrap());
    std::future::pending::<()>().await;
}
