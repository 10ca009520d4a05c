//! The tree itself: what a reader may rely on in every file.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::fs;
use std::path::{Path, PathBuf};

/// Past this a file is two rooms.
const LONGEST: usize = 800;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rust_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root().join("crates"), root().join("bench")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                files.push(path);
            }
        }
    }
    files
}

#[test]
fn every_file_says_what_it_is_for_and_can_be_read_in_a_sitting() {
    let files = rust_files();
    assert!(files.len() > 50);
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let shown = path.display();
        assert!(text.starts_with("//!"), "{shown} does not open with what it is for");
        let lines = text.lines().count();
        assert!(lines <= LONGEST, "{shown} has {lines} lines");
        let name = path.file_stem().unwrap().to_str().unwrap();
        let nameless = ["mod", "utils", "helpers", "common", "imp", "types", "manager"];
        assert!(!nameless.contains(&name), "{shown}: if it has no name it has no purpose");
    }
}

/// Arrows point down: domain knows nobody, storage only domain, the engine no HTTP and no SQL, the testkit none of ours.
#[test]
fn crates_know_only_what_is_below_them() {
    let manifest = |name: &str| {
        fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap()
    };
    let forbidden = [
        ("domain", vec!["artel-storage", "artel-engine", "tokio", "rusqlite", "redis", "axum"]),
        ("storage", vec!["artel-engine", "axum", "hyper"]),
        ("engine", vec!["rusqlite", "tokio-postgres", "redis", "axum", "hyper"]),
        ("testkit", vec!["artel-domain", "artel-storage", "artel-engine"]),
    ];
    for (name, strangers) in forbidden {
        let text = manifest(name);
        let known = text.split("[dev-dependencies]").next().unwrap();
        for stranger in strangers {
            let depends = known.lines().any(|line| {
                line.starts_with(&format!("{stranger}."))
                    || line.starts_with(&format!("{stranger} "))
            });
            assert!(!depends, "{name} must not know {stranger}");
        }
    }
}

/// The manual's table of settings is that of the program.
#[test]
fn the_manual_lists_every_setting() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_artel"))
        .args(["config", "--json"])
        .env_clear()
        .output()
        .unwrap();
    let keys: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&output.stdout).unwrap();
    let manual = fs::read_to_string(root().join("docs/configuration.md")).unwrap();
    for key in keys.keys() {
        assert!(
            manual.contains(&format!("`{key}`")),
            "docs/configuration.md does not mention {key}"
        );
    }
}
