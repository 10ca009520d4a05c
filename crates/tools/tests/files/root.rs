//! The workspace's own folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::SystemTime;

use artel_tools::files::{Refused, Workspace};

use crate::yard::{
    Yard, edit, error, everything, fields, list, read, told, write, write_with_folders,
};

/// TL-7.3: the root cannot be written over, made or taken away, however it is spelled.
#[test]
fn the_root_stays() {
    let yard = Yard::new();
    yard.put("sub/file", "x");
    yard.link("here", ".");
    let whole = yard.root.to_str().unwrap().to_owned();
    for path in [
        "",
        ".",
        "./",
        "./.",
        "sub/..",
        "sub/../.",
        "here/.",
        "sub/../sub/..",
        &whole,
        &format!("{whole}/"),
    ] {
        for request in [write(path, "x"), write_with_folders(path, "x"), edit(path, "a", "b")] {
            assert!(
                error(&yard.run(&request)).ends_with(" is a folder") || path == "here/.",
                "{request:?}"
            );
            assert!(matches!(
                yard.prepare(&request),
                Err(Refused::IsFolder { .. } | Refused::IsLink { .. })
            ));
        }
        fields(&yard.run(&list(path)));
    }
    assert!(error(&yard.run(&write("here", "x"))).contains("is a symbolic link"));
    assert_eq!(error(&yard.run(&write("sub", "x"))), "sub is a folder");
    assert_eq!(error(&yard.run(&write("new/", "x"))), "new/ is a folder");
    assert_eq!(yard.names(), ["here", "sub", "sub/file"]);
    yard.assert_outside_is_untouched();
}

/// TL-6.1: a root that was taken away is missed, and not made again.
#[test]
fn a_root_that_is_gone_is_missed() {
    let yard = Yard::new();
    yard.put("file.txt", "x");
    fs::remove_dir_all(&yard.root).unwrap();
    let gone = format!(
        "The workspace folder {} was moved or replaced; start the client again",
        yard.root.display()
    );
    for request in everything("file.txt").into_iter().chain(everything("new/file.txt")) {
        assert_eq!(error(&yard.run(&request)), gone);
        assert!(yard.prepare(&request).is_err());
    }
    assert!(!yard.root.exists());

    // A folder of the same name is another one.
    fs::create_dir(&yard.root).unwrap();
    for request in everything("file.txt") {
        assert_eq!(error(&yard.run(&request)), gone);
    }
    assert!(yard.names().is_empty());
    fields(&Workspace::open(&yard.root).unwrap().run(&write("file.txt", "x"), None));
}

/// TL-6.1: a root that was moved is missed, and so is one with a link to elsewhere in its place.
#[test]
fn a_root_that_was_replaced_is_missed() {
    let yard = Yard::new();
    yard.put("file.txt", "x");
    let moved = yard.outside.parent().unwrap().join("moved");
    fs::rename(&yard.root, &moved).unwrap();
    assert!(error(&yard.run(&read("file.txt"))).contains("was moved or replaced"));
    symlink(&yard.outside, &yard.root).unwrap();
    for request in everything("file.txt") {
        let outcome = yard.run(&request);
        assert!(error(&outcome).contains("was moved or replaced"), "{}", told(&outcome));
        assert!(matches!(yard.prepare(&request), Err(Refused::Gone { .. })));
    }
    assert_eq!(fs::read_to_string(moved.join("file.txt")).unwrap(), "x");

    // Back in its place it is the same folder again.
    fs::remove_file(&yard.root).unwrap();
    fs::rename(&moved, &yard.root).unwrap();
    fields(&yard.run(&read("file.txt")));
    yard.assert_outside_is_untouched();
}

/// TL-6.1: a workspace is a folder, known by its path without links.
#[test]
fn a_workspace_is_a_folder() {
    let yard = Yard::new();
    yard.put("file.txt", "x");
    yard.link("link", ".");
    assert_eq!(Workspace::open(&yard.root.join("link")).unwrap().path(), yard.root);
    assert!(matches!(Workspace::open(&yard.root.join("file.txt")), Err(Refused::NotFolder { .. })));
    assert!(matches!(Workspace::open(&yard.root.join("no")), Err(Refused::Missing { .. })));
}

/// TL-2.2: looking changes nothing, not even times.
#[test]
fn looking_leaves_no_trace() {
    let yard = Yard::new();
    yard.put("file.txt", "x");
    let times = || -> (SystemTime, SystemTime) {
        let modified = |path| fs::metadata(path).unwrap().modified().unwrap();
        (modified(yard.root.clone()), modified(yard.root.join("file.txt")))
    };
    let before = times();
    yard.prepare(&write("file.txt", "y")).unwrap();
    yard.prepare(&edit("file.txt", "x", "y")).unwrap();
    yard.prepare(&write_with_folders("a/b/c", "y")).unwrap();
    fields(&yard.run(&read("file.txt")));
    fields(&yard.run(&list(".")));
    assert_eq!(times(), before);
}
