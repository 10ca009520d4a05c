//! A write that is killed at any point.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use artel_tools::files::Workspace;

use crate::yard::{Yard, fields, list, paths, write};

const KILLS: u64 = 100;
const SIZE: usize = 256 * 1024;
/// Where the child writes.
const PLACE: &str = "ARTEL_TEST_WRITER";

/// TL-3.2: whenever the writer is killed, the file is the old one or the new one, and whole.
#[test]
fn a_killed_write_leaves_a_whole_file() {
    let yard = Yard::new();
    let ready = yard.outside.parent().unwrap().join("ready");
    for kill in 0..KILLS {
        yard.put("file.txt", "a".repeat(SIZE));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "killed::child_writer", "--nocapture"])
            .env(PLACE, &yard.root)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while !ready.exists() {
            assert_eq!(child.try_wait().unwrap(), None, "the writer has ended by itself");
            thread::sleep(Duration::from_micros(200));
        }
        // Some write is then at some point of its way.
        thread::sleep(Duration::from_micros(kill * 7_919 % 10_000));
        child.kill().unwrap();
        child.wait().unwrap();
        fs::remove_file(&ready).unwrap();

        let text = yard.text("file.txt");
        let letter = text.chars().next().unwrap();
        assert!(text.len() == SIZE && text.chars().all(|other| other == letter), "kill {kill}");
    }

    // What was not finished may lie there, under names that a listing leaves out and no write trips over.
    let left = yard.names().into_iter().filter(|name| name != "file.txt").collect::<Vec<_>>();
    assert!(left.iter().all(|name| name.starts_with(".artel-")), "{left:?}");
    assert_eq!(paths(&yard.run(&list(".")), "files"), ["file.txt"]);
    fields(&yard.run(&write("file.txt", "c")));
    assert_eq!(yard.text("file.txt"), "c");
}

/// Not a test of its own: what the one above starts and kills.
#[test]
#[ignore = "runs until it is killed"]
fn child_writer() {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else { return };
    let workspace = Workspace::open(&place).unwrap();
    fs::write(place.parent().map(|holder| holder.join("ready")).unwrap(), "").unwrap();
    // Ends by itself should nobody kill it.
    while Path::new(&place).exists() {
        for letter in ["b", "a"] {
            fields(&workspace.run(&write("file.txt", &letter.repeat(SIZE)), None));
        }
    }
}
