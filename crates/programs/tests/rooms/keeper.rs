//! The keeper by itself.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use super::*;

fn keeper(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keeper"));
    command.args(words).stdin(Stdio::null());
    command
}

/// CA-2.5: it ends as the program did, and says when it cannot start it.
#[test]
fn it_ends_as_the_program_did() {
    let code = |words: &[&str]| keeper(words).stderr(Stdio::null()).status().unwrap().code();
    assert_eq!(code(&["--", "sh", "-c", "exit 5"]), Some(5));
    assert_eq!(code(&["--", "sh", "-c", "kill -TERM $$"]), Some(143));
    assert_eq!(code(&["--", "/no/such/program"]), Some(127));
    assert_eq!(code(&["--", "/etc/passwd"]), Some(126));
    for nonsense in [&["--"][..], &[], &["--what", "--", "true"], &["--parent", "x", "--", "true"]]
    {
        assert_eq!(code(nonsense), Some(125), "{nonsense:?}");
    }
}

/// CA-3.2: only the named variables are passed on.
#[test]
fn it_passes_on_what_is_named() {
    let mut command = keeper(&["--only", "PATH,KEPT", "--", "env"]);
    let output = command.env("KEPT", "1").env("DROPPED", "1").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("KEPT=1") && !said.contains("DROPPED"), "{said}");
}

/// CA-2.5: orphans that left the session and ignore every signal end with the program.
#[test]
fn orphans_end_with_the_program() {
    let word = Den::new("orphan").word();
    let script = format!(
        "(setsid sh -c 'trap \"\" INT TERM HUP; setsid sleep {word} & sleep {word}' &) ; sleep 0.3"
    );
    let status = keeper(&["--", "sh", "-c", &script]).status().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(0), None));
    assert_eq!(with_word(&word), [0; 0]);
}

/// CA-2.5: it notices that who started it is not there any more.
#[tokio::test]
async fn it_does_not_outlive_who_started_it() {
    let word = Den::new("orphaned").word();
    // The input stays open, so that only the parent's end can be the reason.
    let mut command = keeper(&["--parent", "1", "--", "sleep", &word]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    gone(&[], &word, LONG).await;
    assert_eq!(child.wait().unwrap().code(), Some(137));
}
