//! What a command gets, and what it returns.

use super::*;

/// TL-5.1: the result has its fields; the command runs in the workspace.
#[tokio::test]
async fn a_command_runs_in_the_workspace() {
    let den = Den::new().await;
    den.write("hello.txt", "hello\n");
    let outcome = den.run(Reach::Read, &["cat", "hello.txt"]).await;
    assert!(outcome.success, "{outcome:?}");
    assert_eq!(
        (outcome.error.as_deref(), stdout(&outcome), stderr(&outcome)),
        (None, "hello\n", "")
    );
    assert_eq!(outcome.fields["exit_code"], 0);
    assert_eq!(outcome.fields["truncated"], false);
    assert_eq!(outcome.fields["sandbox"], "bubblewrap");
    assert!(outcome.fields["execution_time"].as_f64().unwrap() > 0.0);
    let outcome = den.run(Reach::Read, &["pwd"]).await;
    assert_eq!(stdout(&outcome).trim(), den.workspace.path().to_str().unwrap());
}

/// TL-5.1: arguments arrive as they are; there is no shell.
#[tokio::test]
async fn there_is_no_shell() {
    let den = Den::new().await;
    let words =
        ["printf", "%s|", "$HOME", "a b", "*", "`id`", "$(id)", ";", "&&", ">x", "\n", "'", "-"];
    let outcome = den.run(Reach::Write, &words).await;
    assert_eq!(stdout(&outcome), "$HOME|a b|*|`id`|$(id)|;|&&|>x|\n|'|-|");
    assert!(den.listing().is_empty());
}

/// TL-5.1: an exit code that is not 0 is told with its output.
#[tokio::test]
async fn a_failing_command_is_told() {
    let den = Den::new().await;
    let outcome = den.script(Reach::Read, "echo out; echo err >&2; exit 3").await;
    assert!(!outcome.success);
    assert_eq!(outcome.error.as_deref(), Some("Command exited with code 3"));
    assert_eq!((stdout(&outcome), stderr(&outcome)), ("out\n", "err\n"));
    assert_eq!(outcome.fields["exit_code"], 3);
    let outcome = den.script(Reach::Read, "kill -9 $$").await;
    assert!(outcome.error.unwrap().contains("signal 9"));
    let outcome = Den::bare().script(Reach::Read, "kill -9 $$").await;
    assert_eq!(outcome.error.as_deref(), Some("Command was killed by signal 9"));
    assert_eq!(outcome.fields["exit_code"], serde_json::Value::Null);
}

/// TL-5.1: a program that is not there is told in clear words.
#[tokio::test]
async fn a_missing_program_is_told() {
    let den = Den::new().await;
    den.write("local", "#!/bin/sh\necho local\n");
    runnable(&den.path("local"));
    den.write("broken", "#!/no/such/interpreter\n");
    runnable(&den.path("broken"));
    // The workspace stands first on the user's PATH, and is no place for programs.
    for program in ["no-such-program", "local", ".", "..", "no/such", "./broken"] {
        let outcome = den.run(Reach::Read, &[program]).await;
        let error = outcome.error.unwrap();
        assert!(error.starts_with("Command not found: "), "{program}: {error}");
    }
    let outcome = den.run(Reach::Read, &["./local"]).await;
    assert_eq!(stdout(&outcome), "local\n");
    let outcome = den.run(Reach::Read, &["./"]).await;
    assert!(outcome.error.is_some_and(|error| error.starts_with("Cannot run")));
}

/// TL-5.1: the environment is cleaned; nothing of the user's or of this process is seen.
#[tokio::test]
async fn the_environment_is_cleaned() {
    for den in [Den::new().await, Den::bare()] {
        let outcome = den.run(Reach::Write, &["env"]).await;
        let seen = stdout(&outcome);
        assert!(!seen.contains(SECRET), "{seen}");
        let mut names: Vec<&str> = seen.lines().filter_map(|line| line.split('=').next()).collect();
        names.retain(|name| !name.starts_with("GIT_") && !["PWD", "ARTEL_COMMAND"].contains(name));
        names.sort_unstable();
        assert_eq!(names, ["CARGO_HOME", "HOME", "LANG", "PATH", "TERM", "TMPDIR", "USER"]);
        let home = den.outside.path().join("home");
        assert!(!seen.lines().any(|line| line == format!("HOME={}", home.display())));
        assert!(!seen.contains(&format!("PATH={}", den.workspace.path().display())));
    }
    let den = Den::new().await;
    let outcome = den.script(Reach::Write, "cat /proc/*/environ; cat /proc/*/cmdline").await;
    assert!(!stdout(&outcome).contains("CARGO_MANIFEST_DIR") && !stdout(&outcome).contains(SECRET));
}

/// The standard input is empty, so that nothing waits for a person.
#[tokio::test]
async fn the_input_is_empty() {
    for den in [Den::new().await, Den::bare()] {
        let outcome = den.run(Reach::Read, &["cat"]).await;
        assert_eq!((outcome.success, stdout(&outcome)), (true, ""));
    }
}

/// What is no text comes as text all the same.
#[tokio::test]
async fn bytes_become_text() {
    let den = Den::new().await;
    let outcome = den.run(Reach::Read, &["printf", r"a\377b\000c"]).await;
    assert_eq!(stdout(&outcome), "a\u{fffd}b\0c");
}

/// Toolchains of the user run from his PATH; the keys beside them are not there.
#[tokio::test]
async fn toolchains_are_seen_without_their_keys() {
    let den = Den::new().await;
    let outcome = den.run(Reach::Read, &["tool"]).await;
    assert_eq!(stdout(&outcome), "tool\n", "{outcome:?}");
    let outcome =
        den.script(Reach::Write, "ls -a $CARGO_HOME; touch $CARGO_HOME/bin/x || echo shut").await;
    let seen: Vec<&str> = stdout(&outcome).lines().collect();
    assert_eq!(seen, [".", "..", "bin", "shut"]);
}

/// Without a sandbox nothing runs unattended, and it says what to do.
#[tokio::test]
async fn without_a_sandbox_somebody_must_look() {
    assert_eq!(Den::new().await.shell.may_run_unattended(), Ok(()));
    let den = Den::bare();
    assert!(den.shell.may_run_unattended().is_err_and(|why| why.contains("this test has none")));
    let outcome = den.run(Reach::Write, &["touch", "made"]).await;
    assert!(outcome.success, "{outcome:?}");
    assert_eq!(outcome.fields["sandbox"], "none");
    assert!(den.path("made").is_file());
}

/// S6: the root of the file system is no workspace.
#[tokio::test]
async fn the_root_is_no_workspace() {
    let shell = Shell::new(Path::new("/"), &BTreeMap::new(), working().await);
    let outcome = shell.run(&command(&["true"]), Reach::Write).await;
    assert!(outcome.error.is_some_and(|error| error.contains("whole file system")));
    let shell = Shell::new(Path::new("/no/such/folder"), &BTreeMap::new(), working().await);
    for reach in [Reach::Read, Reach::Write] {
        assert!(!shell.run(&command(&["true"]), reach).await.success);
    }
}
