//! Listing folders.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use artel_tools::request::{ListDirectory, Outcome, Request};
use serde_json::json;

use crate::yard::{OUTSIDE, Yard, as_somebody, error, fields, list, list_all, paths};

fn matching(yard: &Yard, path: &str, pattern: &str) -> Outcome {
    yard.run(&Request::ListDirectory(ListDirectory {
        path: path.to_owned(),
        recursive: true,
        pattern: Some(pattern.to_owned()),
        ignored: true,
    }))
}

fn without_ignored(yard: &Yard, path: &str) -> Outcome {
    yard.run(&Request::ListDirectory(ListDirectory {
        path: path.to_owned(),
        recursive: true,
        pattern: None,
        ignored: false,
    }))
}

/// TL-4.1: path, kind, size and time of what is there, in order.
#[test]
fn a_folder_is_listed() {
    let yard = Yard::new();
    yard.put("b.txt", "four");
    yard.put("a/deep/file", "");
    yard.put("a.txt", "");
    yard.link("link", "a");
    let time = SystemTime::UNIX_EPOCH + Duration::from_micros(1_700_000_000_123_456);
    File::options().write(true).open(yard.root.join("b.txt")).unwrap().set_modified(time).unwrap();
    let outcome = yard.run(&list("."));
    assert_eq!(paths(&outcome, "files"), ["a", "a.txt", "b.txt", "link"]);
    let result = fields(&outcome);
    assert_eq!(
        result["files"][2],
        json!({"path": "b.txt", "type": "file", "size": 4, "modified": "2023-11-14T22:13:20.123456Z"})
    );
    assert_eq!(result["files"][0]["type"], "directory");
    assert_eq!(result["files"][3]["type"], "symlink");
    assert_eq!(result["truncated"], false);

    assert_eq!(paths(&yard.run(&list("a")), "files"), ["a/deep"]);
    assert_eq!(paths(&yard.run(&list("link/deep")), "files"), ["a/deep/file"]);
    let all = ["a", "a/deep", "a/deep/file", "a.txt", "b.txt", "link"];
    assert_eq!(paths(&yard.run(&list_all(".")), "files"), all);
}

/// TL-4.2: a glob for names, or for paths when it holds a slash.
#[test]
fn a_pattern_is_applied() {
    let yard = Yard::new();
    for path in ["main.py", "src/app.py", "src/deep/x.py", "src/app.rs", "test/app.py"] {
        yard.put(path, "");
    }
    for (pattern, expected) in [
        ("*.py", &["main.py", "src/app.py", "src/deep/x.py", "test/app.py"][..]),
        ("app.*", &["src/app.py", "src/app.rs", "test/app.py"]),
        ("src/*.py", &["src/app.py"]),
        ("src/**/*.py", &["src/app.py", "src/deep/x.py"]),
        ("**/deep", &["src/deep"]),
        ("*.{rs,toml}", &["src/app.rs"]),
        ("no*", &[]),
        ("../*", &[]),
    ] {
        assert_eq!(paths(&matching(&yard, ".", pattern), "files"), expected, "{pattern}");
    }
    assert_eq!(paths(&matching(&yard, "src", "src/*.py"), "files"), ["src/app.py"]);
    assert!(error(&matching(&yard, ".", "[")).starts_with("The glob cannot be read: "));
    assert!(
        error(&matching(&yard, ".", &"{a,".repeat(1_000))).starts_with("The glob cannot be read: ")
    );
}

/// TL-4.2: what is not there, not a folder or not readable is said; subfolders that cannot be read are named.
#[test]
fn what_cannot_be_listed_is_said() {
    let yard = Yard::new();
    yard.put("closed/file", "");
    yard.put("open/closed/file", "");
    yard.put("open/file", "");
    for path in ["closed", "open/closed"] {
        fs::set_permissions(yard.root.join(path), fs::Permissions::from_mode(0o000)).unwrap();
    }
    assert_eq!(error(&yard.run(&list("no"))), "Path no does not exist");
    assert_eq!(error(&yard.run(&list("open/file"))), "open/file is not a folder");
    assert_eq!(error(&yard.run(&list(".."))), OUTSIDE);
    as_somebody(|| {
        assert_eq!(error(&yard.run(&list("closed"))), "Permission denied to read closed");
        let outcome = yard.run(&list_all("."));
        assert_eq!(paths(&outcome, "files"), ["closed", "open", "open/closed", "open/file"]);
        assert_eq!(fields(&outcome)["skipped"], json!(["closed", "open/closed"]));
    });
    for path in ["closed", "open/closed"] {
        fs::set_permissions(yard.root.join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// TL-6.4: a thousand entries, and a mark that there are more.
#[test]
fn a_long_listing_is_cut_and_marked() {
    let yard = Yard::new();
    for number in 0..1_005 {
        yard.put(&format!("{number:04}"), "");
    }
    let outcome = yard.run(&list("."));
    let result = fields(&outcome);
    assert_eq!(result["files"].as_array().unwrap().len(), 1_000);
    assert_eq!(result["files"][999]["path"], "0999");
    assert_eq!(result["truncated"], true);
    assert_eq!(result["total_seen"], 1_005);
    assert_eq!(
        paths(&matching(&yard, ".", "100?"), "files"),
        ["1000", "1001", "1002", "1003", "1004"]
    );
}

/// TL-6.4: of a tree too large only a part is looked at, and that is said.
#[test]
fn a_huge_tree_does_not_exhaust_the_walk() {
    let yard = Yard::new();
    yard.put("b/file", "");
    fs::create_dir(yard.root.join("a")).unwrap();
    for number in 0..100_000 {
        File::create(yard.root.join(format!("a/{number}"))).unwrap();
    }
    let outcome = matching(&yard, ".", "file");
    assert_eq!(fields(&outcome)["truncated"], true);
    let outcome = matching(&yard, "b", "file");
    assert_eq!(paths(&outcome, "files"), ["b/file"]);
    assert_eq!(fields(&outcome)["truncated"], false);
}

/// TL-6.4: a tree too deep is not gone down to its end, and that is said.
#[test]
fn a_deep_tree_does_not_exhaust_the_walk() {
    let yard = Yard::new();
    fs::create_dir_all(yard.root.join("d/".repeat(1_000))).unwrap();
    let outcome = yard.run(&list_all("."));
    let result = fields(&outcome);
    assert_eq!(result["files"].as_array().unwrap().len(), 128);
    assert_eq!(result["skipped"].as_array().unwrap().len(), 1);
}

/// TL-4.2: what `.gitignore` names is left out when asked: of this folder, those above and those beneath.
#[test]
fn ignored_files_can_be_left_out() {
    let yard = Yard::new();
    for path in [
        ".git/config",
        "keep.txt",
        "a.log",
        "target/out.bin",
        "sub/a.log",
        "sub/keep.log",
        "sub/target",
        "sub/only/here.tmp",
        "here.tmp",
    ] {
        yard.put(path, "");
    }
    yard.put(".gitignore", "*.log\ntarget/\n# a comment\n[broken\n");
    yard.put("sub/.gitignore", "!keep.log\n/only/*.tmp\n");
    let expected = [
        ".gitignore",
        "here.tmp",
        "keep.txt",
        "sub",
        "sub/.gitignore",
        "sub/keep.log",
        "sub/only",
        "sub/target",
    ];
    assert_eq!(paths(&without_ignored(&yard, "."), "files"), expected);
    assert_eq!(paths(&without_ignored(&yard, "sub"), "files"), expected[4..]);
    // Who asks for it by name gets it.
    assert_eq!(paths(&without_ignored(&yard, "target"), "files"), ["target/out.bin"]);
    assert_eq!(
        paths(&yard.run(&list(".")), "files"),
        [".git", ".gitignore", "a.log", "here.tmp", "keep.txt", "sub", "target"]
    );
}

/// TL-6.1: rules that are a link to outside are not read.
#[test]
fn rules_are_not_read_from_outside() {
    let yard = Yard::new();
    yard.put("canary", "");
    yard.link(".gitignore", yard.outside.join("file.txt"));
    assert_eq!(paths(&without_ignored(&yard, "."), "files"), [".gitignore", "canary"]);
}

/// TL-4.2: a listing can be given up.
#[test]
fn a_listing_can_be_stopped() {
    let yard = Yard::new();
    yard.put("a/b", "");
    let stopped = "It was stopped before it was done";
    assert_eq!(error(&yard.workspace.run_until(&list_all("."), None, &|| true)), stopped);
    let asked = std::cell::Cell::new(0);
    let later = || asked.replace(asked.get() + 1) > 3;
    assert_eq!(error(&yard.workspace.run_until(&list_all("."), None, &later)), stopped);
}
