//! Names that other programs execute, which commands can neither change nor make.

use std::os::unix::fs::{DirBuilderExt, symlink};
use std::time::Duration;

use tokio::time::timeout;

use super::*;

/// Those that are sealed, with something in each of them.
const NAMES: &[&str] = &[
    ".git/hooks/pre-commit",
    ".git/config",
    ".claude/settings.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".factory/settings.json",
    ".mcp.json",
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".envrc",
    ".artel/policy.toml",
];

/// Every way to get something under a name.
fn assault() -> String {
    let each = NAMES.iter().map(|name| {
        let top = name.split('/').next().unwrap();
        format!(
            "mkdir -p $(dirname {name}); echo evil > {name}; echo evil >> {name}; rm -rf {name} {top}; rmdir {top}
             mv {top} gone; mkdir new; echo evil > new/x; mv new {top}; mv -T new {top}; cp -r new {top}; ln -s new {top}
             ln -sfn new {top}; chmod 777 {top}; rm -rf new\n"
        )
    });
    each.chain(["echo done\n".to_owned()]).collect()
}

/// S4: sealed names that do not exist cannot be made, and the workspace is left as it was.
#[tokio::test]
async fn missing_names_cannot_be_made() {
    let den = Den::new().await;
    den.write("a", "one\n");
    let before = walk(den.workspace.path());
    let outcome = den.script(Reach::Write, &assault()).await;
    assert_eq!(stdout(&outcome), "done\n", "{outcome:?}");
    assert!(!stderr(&outcome).is_empty());
    assert_eq!(walk(den.workspace.path()), before);
}

/// S4: sealed names that exist cannot be changed, moved or replaced.
#[tokio::test]
async fn existing_names_cannot_be_changed() {
    let den = Den::new().await;
    for name in NAMES {
        den.write(name, "good\n");
    }
    den.write(".git/HEAD", "ref: refs/heads/main\n");
    let before = walk(den.workspace.path());
    let outcome = den.script(Reach::Write, &assault()).await;
    assert_eq!(stdout(&outcome), "done\n", "{outcome:?}");
    assert_eq!(walk(den.workspace.path()), before);
    let outcome = den
        .script(Reach::Write, "cat .mcp.json; echo evil > .git/commondir; echo evil > .git/index")
        .await;
    assert_eq!(stdout(&outcome), "good\n");
    assert_eq!(walk(den.workspace.path()), before);
}

/// Git works in a repository, but for what it would execute or obey.
#[tokio::test]
async fn git_may_write_to_its_repository() {
    let den = Den::new().await;
    den.write("a", "one\n");
    for argv in [
        &["git", "init", "-q", "-b", "main", "."][..],
        &["git", "add", "a"],
        &["git", "commit", "-q", "-m", "One"],
        &["git", "switch", "-q", "-c", "next"],
    ] {
        let outcome = den.run(Reach::Write, argv).await;
        assert!(outcome.success, "{argv:?}: {outcome:?}");
    }
    let outcome = den.run(Reach::Read, &["git", "log", "--format=%an %s"]).await;
    assert_eq!(stdout(&outcome), "Ada One\n");
    let outcome = den.run(Reach::Read, &["git", "status", "--short"]).await;
    assert_eq!((outcome.success, stdout(&outcome)), (true, ""));
    fs::remove_dir_all(den.path(".git/hooks")).unwrap();
    let before = walk(&den.path(".git"));
    let attacks: &[&[&str]] = &[
        &["git", "config", "core.fsmonitor", "./x"],
        &[
            "git",
            "-c",
            "alias.x=!echo evil > .git/hooks/pre-commit; echo evil > .git/config; mv .git gone; mkdir .git/hooks",
            "x",
        ],
        &["git", "clone", "-q", ".", ".git/hooks"],
    ];
    for attack in attacks {
        let outcome = den.run(Reach::Write, attack).await;
        assert!(!outcome.success, "{attack:?}");
        assert_eq!(walk(&den.path(".git")), before, "{attack:?}");
    }
}

/// A link could be replaced, and cannot be held; nothing runs then.
#[tokio::test]
async fn a_sealed_link_is_refused() {
    let den = Den::new().await;
    den.write("settings/x", "good\n");
    symlink("settings", den.path(".claude")).unwrap();
    let before = den.listing();
    let outcome = den.run(Reach::Write, &["touch", "made"]).await;
    assert!(outcome.error.is_some_and(|error| error.contains(".claude is a symbolic link")));
    assert_eq!(den.listing(), before);
    assert!(den.run(Reach::Read, &["cat", ".claude/x"]).await.success);
}

/// Strange things under a sealed name do not hold a command up.
#[tokio::test]
async fn strange_files_do_not_hang() {
    let den = Den::new().await;
    for name in [".mcp.json", ".claude", "pipe"] {
        assert!(
            std::process::Command::new("mkfifo").arg(den.path(name)).status().unwrap().success()
        );
    }
    let outcome = den.script(Reach::Write, "echo fine; cd pipe || echo no folder").await;
    assert_eq!(stdout(&outcome), "fine\nno folder\n", "{outcome:?}");
}

/// The end of one command does not break the seals of another.
#[tokio::test]
async fn commands_share_their_seals() {
    let den = Den::new().await;
    let script = "touch started; while [ ! -e go ]; do sleep 0.02; done; mkdir -p .claude/hooks; echo evil > .mcp.json; rm started go; echo done";
    let long = den.script(Reach::Write, script);
    tokio::pin!(long);
    while !den.path("started").exists() {
        assert!(timeout(Duration::from_millis(20), &mut long).await.is_err());
    }
    assert!(den.run(Reach::Write, &["true"]).await.success);
    assert!(den.run(Reach::Write, &["git", "init", "-q", "elsewhere"]).await.success);
    den.write("go", "");
    let outcome = long.await;
    assert_eq!(stdout(&outcome), "done\n");
    assert!(stderr(&outcome).contains("Read-only file system"), "{outcome:?}");
    let left: Vec<_> = fs::read_dir(den.workspace.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["elsewhere"]);
}

/// What a killed process left is cleaned up by the next; what somebody put there is not.
#[tokio::test]
async fn only_empty_leftovers_are_removed() {
    let den = Den::new().await;
    let mut left = fs::DirBuilder::new();
    left.mode(0o1700);
    left.create(den.path(".claude")).unwrap();
    left.create(den.path(".vscode")).unwrap();
    den.write(".vscode/settings.json", "{}");
    fs::create_dir(den.path(".idea")).unwrap();
    assert!(den.run(Reach::Write, &["true"]).await.success);
    assert_eq!(
        den.listing(),
        [den.path(".idea"), den.path(".vscode"), den.path(".vscode/settings.json")]
    );
}
