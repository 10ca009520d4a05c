//! Writing and editing files, and what is shown before.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use artel_domain::Timestamp;
use artel_tools::files::Refused;
use artel_tools::request::Request;

use crate::yard::{
    Yard, as_somebody, edit, error, fields, list, read, search, write, write_with_folders,
};

fn mode(yard: &Yard, path: &str) -> u32 {
    fs::metadata(yard.root.join(path)).unwrap().permissions().mode() & 0o7777
}

/// TL-3.1: a file is made or replaced; size and time are told.
#[test]
fn a_file_is_written() {
    let yard = Yard::new();
    for content in ["first\n", "", "second, länger\n"] {
        let outcome = yard.run(&write("a.txt", content));
        let result = fields(&outcome);
        assert_eq!(result["size"], content.len());
        serde_json::from_value::<Timestamp>(result["timestamp"].clone()).unwrap();
        assert_eq!(yard.text("a.txt"), content);
    }
    assert_eq!(yard.names(), ["a.txt"]);
}

/// TL-3.2: a missing parent is an error, unless it may be made.
#[test]
fn folders_are_made_only_when_asked() {
    let yard = Yard::new();
    let refused = "The folder of a/b/c.txt does not exist; create_dirs makes it";
    assert_eq!(error(&yard.run(&write("a/b/c.txt", "x"))), refused);
    assert_eq!(yard.prepare(&write("a/b/c.txt", "x")).unwrap_err().to_string(), refused);
    assert!(yard.names().is_empty());

    let preview = yard.prepare(&write_with_folders("a/b/c.txt", "x\n")).unwrap();
    assert_eq!(preview.base, "absent");
    assert!(yard.names().is_empty());
    let outcome = yard.workspace.run(&write_with_folders("a/b/c.txt", "x\n"), Some("absent"));
    assert_eq!(fields(&outcome)["size"], 2);
    assert_eq!(yard.names(), ["a", "a/b", "a/b/c.txt"]);

    yard.put("file", "x");
    error(&yard.run(&write_with_folders("file/x", "y")));
    error(&yard.run(&write_with_folders("file/x/y", "y")));
    assert_eq!(yard.text("file"), "x");
}

/// TL-3.2: the mode of a file stays; no bit stays that would run new content as somebody else.
#[test]
fn modes_stay() {
    let yard = Yard::new();
    for (before, after) in [(0o640, 0o640), (0o755, 0o755), (0o600, 0o600), (0o4755, 0o755)] {
        yard.put("tool", "old");
        fs::set_permissions(yard.root.join("tool"), fs::Permissions::from_mode(before)).unwrap();
        fields(&yard.run(&write("tool", "new")));
        assert_eq!(mode(&yard, "tool"), after);
    }
    fields(&yard.run(&write("new", "")));
    assert_eq!(mode(&yard, "new") & 0o7133, 0);
}

/// TL-3.2, TL-6.3: without the right to write nothing is written, and nothing is left behind.
#[test]
fn what_may_not_be_written_stays() {
    let yard = Yard::new();
    yard.put("closed/file", "old");
    yard.put("open/read-only", "old");
    fs::set_permissions(yard.root.join("open"), fs::Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(yard.root.join("open/read-only"), fs::Permissions::from_mode(0o444))
        .unwrap();
    fs::set_permissions(yard.root.join("closed/file"), fs::Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(yard.root.join("closed"), fs::Permissions::from_mode(0o555)).unwrap();
    as_somebody(|| {
        for path in ["closed/file", "closed/new", "open/read-only"] {
            let refused = format!("Permission denied to write to {path}");
            assert_eq!(error(&yard.run(&write(path, "new"))), refused);
        }
        let refused = "Permission denied to write to closed/a/b";
        assert_eq!(error(&yard.run(&write_with_folders("closed/a/b", "new"))), refused);
        let refused = "Permission denied to write to open/read-only";
        assert_eq!(error(&yard.run(&edit("open/read-only", "old", "new"))), refused);
        assert_eq!(yard.prepare(&write("open/read-only", "new")).unwrap_err().to_string(), refused);
    });
    fs::set_permissions(yard.root.join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(yard.names(), ["closed", "closed/file", "open", "open/read-only"]);
    assert_eq!(yard.text("closed/file") + &yard.text("open/read-only"), "oldold");
}

/// TL-3.2: an edit replaces what stands there exactly once.
#[test]
fn an_edit_needs_one_place() {
    let yard = Yard::new();
    yard.put("a.txt", "one two one aaa ä\n");
    for (old, refused) in [
        ("three", "The text to replace does not stand in a.txt"),
        ("one", "The text to replace stands 2 times in a.txt; give more of what is around it"),
        ("aa", "The text to replace stands 2 times in a.txt; give more of what is around it"),
        ("", "The text to replace is empty"),
    ] {
        assert_eq!(error(&yard.run(&edit("a.txt", old, "x"))), refused);
        assert_eq!(yard.prepare(&edit("a.txt", old, "x")).unwrap_err().to_string(), refused);
    }
    assert_eq!(error(&yard.run(&edit("no.txt", "a", "b"))), "Path no.txt does not exist");
    yard.put("bytes", [0xff]);
    assert_eq!(
        error(&yard.run(&edit("bytes", "a", "b"))),
        "bytes is not UTF-8 text; it can only be written as a whole"
    );
    assert_eq!(yard.text("a.txt"), "one two one aaa ä\n");
    assert_eq!(fields(&yard.run(&edit("a.txt", "two one aaa ä", "zwei")))["size"], 9);
    assert_eq!(yard.text("a.txt"), "one zwei\n");
}

/// TL-7.5: a change is shown as it will be, and showing it changes nothing.
#[test]
fn a_change_is_shown_first() {
    let yard = Yard::new();
    yard.put("a.txt", "one\ntwo\n");
    let expected = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
    for request in [write("a.txt", "one\n2\n"), edit("a.txt", "two", "2")] {
        let preview = yard.prepare(&request).unwrap();
        assert_eq!(preview.diff, expected);
        assert_eq!(
            preview.base,
            "c3f9c8c283a2b1f2f1896f27a01cbe3cddc0c9d93f752e4639035a0f5b36f6e8"
        );
    }
    let preview = yard.prepare(&write("new.txt", "x")).unwrap();
    assert_eq!(
        preview.diff,
        "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
    );
    assert_eq!(yard.names(), ["a.txt"]);
    assert_eq!(yard.text("a.txt"), "one\ntwo\n");
    for request in [read("a.txt"), list("."), search(".", "x")] {
        assert!(matches!(yard.prepare(&request), Err(Refused::NothingToShow)));
    }
}

/// TL-7.5: the file that changes is named, not the way to it through links.
#[test]
fn a_change_is_shown_at_its_real_place() {
    let yard = Yard::new();
    yard.put(".git/hooks/pre-commit", "old\n");
    yard.link("docs", ".git/hooks");
    let preview = yard.prepare(&write("docs/pre-commit", "new\n")).unwrap();
    assert!(
        preview.diff.starts_with("--- a/.git/hooks/pre-commit\n+++ b/.git/hooks/pre-commit\n"),
        "{}",
        preview.diff
    );
}

/// TL-7.5: what was approved is done to the file that was shown, or not at all.
#[test]
fn a_file_that_changed_since_it_was_shown_stays() {
    let yard = Yard::new();
    yard.put("a.txt", "one\n");
    let changed = "a.txt has changed since it was shown; look again";
    for request in [write("a.txt", "two\n"), edit("a.txt", "one", "two")] {
        let preview = yard.prepare(&request).unwrap();
        yard.put("a.txt", "one, mine\n");
        assert_eq!(error(&yard.workspace.run(&request, Some(&preview.base))), changed);
        assert_eq!(error(&yard.workspace.run(&write("a.txt", "two\n"), Some("absent"))), changed);
        assert_eq!(yard.text("a.txt"), "one, mine\n");
        yard.put("a.txt", "one\n");
        fields(&yard.workspace.run(&request, Some(&preview.base)));
        assert_eq!(yard.text("a.txt"), "two\n");
        // The approval is used up.
        assert!(!yard.workspace.run(&request, Some(&preview.base)).success);
        yard.put("a.txt", "one\n");
    }
    let preview = yard.prepare(&write("a.txt", "two\n")).unwrap();
    fs::remove_file(yard.root.join("a.txt")).unwrap();
    assert_eq!(error(&yard.workspace.run(&write("a.txt", "two\n"), Some(&preview.base))), changed);
    let gone = "gone/a.txt has changed since it was shown; look again";
    let request = write_with_folders("gone/a.txt", "two\n");
    assert_eq!(error(&yard.workspace.run(&request, Some(&preview.base))), gone);
    assert!(yard.names().is_empty());
}

/// TL-3.2: what is stopped before it is in place leaves nothing.
#[test]
fn a_write_that_is_stopped_did_not_happen() {
    let yard = Yard::new();
    yard.put("a.txt", "old");
    for request in [write("a.txt", "new"), write("b.txt", "new"), edit("a.txt", "old", "new")] {
        let outcome = yard.workspace.run_until(&request, None, &|| true);
        assert_eq!(error(&outcome), "It was stopped before it was done");
    }
    assert_eq!(yard.names(), ["a.txt"]);
    assert_eq!(yard.text("a.txt"), "old");
}

/// TL-3.2: two that were shown the same file cannot both change it.
#[test]
fn one_of_two_changes_wins() {
    let yard = Yard::new();
    for turn in 0..50 {
        let path = format!("{turn}.txt");
        yard.put(&path, "old");
        let base = yard.prepare(&write(&path, "x")).unwrap().base;
        let won = std::thread::scope(|scope| {
            let tries = ["one", "two", "three", "four"].map(|content| {
                let request = write(&path, content);
                let (base, workspace) = (&base, &yard.workspace);
                scope.spawn(move || workspace.run(&request, Some(base)).success)
            });
            tries.into_iter().filter_map(|one| one.join().unwrap().then_some(())).count()
        });
        assert_eq!(won, 1);
    }
}

/// TL-3.2: names of unfinished writes cannot be taken, so nothing hides behind them.
#[test]
fn the_names_of_unfinished_writes_are_taken() {
    let yard = Yard::new();
    let name = format!(".artel-{}.tmp", "0a".repeat(16));
    let refused =
        "The path is not one that a file can have: names like this one are for unfinished writes";
    assert_eq!(error(&yard.run(&write(&name, "x"))), refused);
    fields(&yard.run(&write(".artel-notes.tmp", "x")));
    assert_eq!(yard.names(), [".artel-notes.tmp"]);
}

/// A command is not for the file tools.
#[test]
fn a_command_is_refused() {
    let yard = Yard::new();
    let command = serde_json::from_str(r#"{"command": "ls"}"#).unwrap();
    let request = Request::ExecuteCommand(command);
    assert_eq!(error(&yard.run(&request)), "A command is not for the file tools");
    assert!(yard.prepare(&request).is_err());
}
