//! What a hostile caller tries: no path leads out, nothing outside is read or changed.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use artel_tools::request::Request;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use crate::yard::{
    CANARY, OUTSIDE, Yard, edit, error, everything, list_all, read, search, told, write,
};

/// Does everything with each path; `refused` says what must come of it, if it must be refused.
fn try_all<'a>(yard: &Yard, paths: impl IntoIterator<Item = &'a str>, refused: Option<&str>) {
    for path in paths {
        for request in everything(path) {
            let outcome = yard.run(&request);
            assert!(!told(&outcome).contains(CANARY), "{request:?}: {outcome:?}");
            if let Some(refused) = refused {
                assert_eq!(error(&outcome), refused, "{request:?}");
            }
            if let Ok(preview) = yard.prepare(&request) {
                assert!(!preview.diff.contains(CANARY), "{request:?}: {preview:?}");
                assert!(refused.is_none(), "{request:?}: {preview:?}");
            }
        }
    }
    yard.assert_outside_is_untouched();
}

/// TL-6.1: `..` in every position, whole paths of other places, and a home.
#[test]
fn no_path_leads_out() {
    let yard = Yard::new();
    yard.put("sub/deep/file.txt", "inside");
    let outside = yard.outside.to_str().unwrap();
    let root = yard.root.to_str().unwrap();
    let whole = [
        format!("{outside}/file.txt"),
        outside.to_owned(),
        format!("{root}/../outside/file.txt"),
        format!("{root}/sub/../../outside/file.txt"),
        format!("{root}-evil/file.txt"),
        format!("{root}/../ws-evil/file.txt"),
        format!("//{}", outside.trim_start_matches('/')),
    ];
    try_all(&yard, whole.iter().map(String::as_str), Some(OUTSIDE));
    let paths = [
        "..",
        "../",
        "../outside/file.txt",
        "../ws-evil/file.txt",
        "./../outside/file.txt",
        "sub/../../outside/file.txt",
        "sub/deep/../../../outside/file.txt",
        "sub/deep/file.txt/../../../../outside/file.txt",
        "missing/../../outside/file.txt",
        "sub/..//..//outside//file.txt",
        "sub/../..",
        "../ws/sub/deep/file.txt",
        "/",
        "/etc/passwd",
        "/proc/self/root/etc/passwd",
        "/dev/zero",
        "~",
        "~/.ssh/id_rsa",
        "~root/x",
    ];
    try_all(&yard, paths, Some(OUTSIDE));
    assert_eq!(yard.names(), ["sub", "sub/deep", "sub/deep/file.txt"]);
    assert_eq!(yard.text("sub/deep/file.txt"), "inside");
}

/// TL-6.1: a sibling whose name begins with the workspace's is another folder.
#[test]
fn a_sibling_is_outside() {
    let yard = Yard::new();
    let sibling = format!("{}-evil", yard.root.display());
    for path in
        [sibling.clone(), format!("{sibling}/file.txt"), format!("{sibling}/../ws-evil/file.txt")]
    {
        try_all(&yard, [path.as_str()], Some(OUTSIDE));
    }
}

/// TL-6.1: links of a file or any parent that lead out, by whole and relative paths, over chains and loops.
#[test]
fn no_link_leads_out() {
    let yard = Yard::new();
    yard.put("sub/file.txt", "inside");
    yard.link("folder", &yard.outside);
    yard.link("file", yard.outside.join("file.txt"));
    yard.link("relative", "../outside");
    yard.link("sub/relative", "../../outside");
    yard.link("relative-file", "../outside/file.txt");
    yard.link("new", "../outside/new.txt");
    yard.link("new-folder", yard.outside.join("no-such-folder"));
    yard.link("up", "..");
    yard.link("sub/up", "../..");
    yard.link("top", "/");
    yard.link("first", "second");
    yard.link("second", "sub/third");
    yard.link("sub/third", "../relative");
    yard.link("loop", "pool");
    yard.link("pool", "loop");
    yard.link("self", "self");
    let out = [
        "folder/file.txt",
        "relative/file.txt",
        "sub/relative/file.txt",
        "sub/../relative/file.txt",
        "up/outside/file.txt",
        "sub/up/outside/file.txt",
        "top/etc/passwd",
        "first/file.txt",
        "first/canary-folder/file.txt",
        "folder/../outside/file.txt",
        "loop/file.txt",
        "self/file.txt",
        "self/self/file.txt",
        "new-folder/file.txt",
        "file",
        "relative-file",
        "new",
        "folder",
        "relative",
        "up",
        "top",
        "first",
        "loop",
        "self",
    ];
    try_all(&yard, out, Some(OUTSIDE));
    for walk in [list_all("."), search(".", CANARY)] {
        let outcome = yard.run(&walk);
        assert!(!told(&outcome).contains(CANARY), "{outcome:?}");
    }
    assert_eq!(yard.text("sub/file.txt"), "inside");
    assert!(yard.root.join("file").is_symlink());
}

/// TL-6.1: a link that stays inside is read through; what is written is named itself.
#[test]
fn links_inside_can_be_read() {
    let yard = Yard::new();
    yard.put("sub/file.txt", "inside");
    yard.link("link", "sub/file.txt");
    yard.link("folder", "sub");
    yard.link("sub/back", "../sub/file.txt");
    for path in ["link", "folder/file.txt", "sub/back", "folder/back"] {
        assert_eq!(yard.run(&read(path)).fields["content"], "inside");
    }
    let refused = "link is a symbolic link; name the file that it leads to";
    assert_eq!(error(&yard.run(&write("link", "x"))), refused);
    assert_eq!(error(&yard.run(&edit("link", "inside", "x"))), refused);
    assert!(yard.run(&write("folder/file.txt", "changed")).success);
    assert_eq!(yard.text("sub/file.txt"), "changed");
    assert!(yard.root.join("link").is_symlink() && yard.root.join("folder").is_symlink());
}

/// TL-6.1: the magic links of /proc, which lead past every path.
#[test]
fn no_magic_link_leads_out() {
    let yard = Yard::new();
    yard.link("root", "/proc/self/root");
    yard.link("cwd", "/proc/self/cwd");
    yard.link("stdin", "/proc/self/fd/0");
    let outside = yard.outside.to_str().unwrap();
    let through = format!("root{outside}/file.txt");
    try_all(
        &yard,
        [through.as_str(), "root/etc/passwd", "cwd", "cwd/Cargo.toml", "stdin", "root"],
        Some(OUTSIDE),
    );

    // With /proc itself for a workspace the links are inside, and still lead nowhere.
    let proc = artel_tools::files::Workspace::open("/proc/self".as_ref()).unwrap();
    for path in [format!("root{outside}/file.txt"), "cwd/Cargo.toml".to_owned()] {
        assert_eq!(error(&proc.run(&read(&path), None)), OUTSIDE);
    }
}

/// TL-6.1: a second name of a file outside is not written to.
#[test]
fn hard_links_are_not_written() {
    let yard = Yard::new();
    yard.put("file", "inside");
    fs::hard_link(yard.outside.join("file.txt"), yard.root.join("hard")).unwrap();
    fs::hard_link(yard.root.join("file"), yard.root.join("other")).unwrap();
    for path in ["hard", "file", "other"] {
        let refused = format!(
            "{path} has other names (hard links), perhaps outside the workspace; it is not written to"
        );
        for request in [write(path, "x"), edit(path, "canary", "x")] {
            assert_eq!(error(&yard.run(&request)), refused);
            assert_eq!(yard.prepare(&request).unwrap_err().to_string(), refused);
        }
    }
    yard.assert_outside_is_untouched();
    assert_eq!(yard.text("file"), "inside");
}

/// TL-6.1: a FIFO does not hang, a device is not opened, a socket is not a file.
#[test]
fn only_regular_files_are_opened() {
    let yard = Yard::new();
    let node = |name: &str, kind, device| {
        mknodat(CWD, yard.root.join(name), kind, Mode::from(0o666), device)
    };
    node("fifo", FileType::Fifo, 0).unwrap();
    let _socket = UnixListener::bind(yard.root.join("socket")).unwrap();
    let mut special = vec!["fifo", "socket"];
    match node("zero", FileType::CharacterDevice, makedev(1, 5)) {
        Ok(()) => special.push("zero"),
        Err(error) => eprintln!(
            "NOT TESTED: a device in the workspace, since none can be made here ({error})"
        ),
    }
    for path in &special {
        for request in [read(path), write(path, "x"), edit(path, "a", "b"), search(path, "x")] {
            let outcome = yard.run(&request);
            let refused = error(&outcome);
            // A file system may forbid to open devices at all.
            let forbidden = *path == "zero" && refused.starts_with("Permission denied");
            assert!(
                refused == format!("{path} is not a regular file") || forbidden,
                "{request:?}: {refused}"
            );
        }
    }
    // In a walk they are passed by.
    assert!(yard.run(&search(".", "x")).success);
    let listing = yard.run(&list_all("."));
    assert_eq!(listing.fields["files"][0]["type"], "other");
    yard.link("device", "/dev/zero");
    try_all(&yard, ["device"], Some(OUTSIDE));
}

/// TL-6.1, TL-6.4: names that no file can have get a clear word.
#[test]
fn impossible_paths_are_refused() {
    let yard = Yard::new();
    let impossible = "The path is not one that a file can have:";
    for (path, why) in [
        ("a\0b".to_owned(), "it holds a NUL"),
        ("file.txt\0.jpg".to_owned(), "it holds a NUL"),
        ("a".repeat(256), "a name in it has more than 255 bytes"),
        (format!("sub/{}/x", "ä".repeat(128)), "a name in it has more than 255 bytes"),
        ("a/".repeat(2_049), "it has more than 4096 bytes"),
        ("../".repeat(100_000), "it has more than 4096 bytes"),
    ] {
        try_all(&yard, [path.as_str()], Some(&format!("{impossible} {why}")));
    }
    let longest = "n".repeat(255);
    assert!(yard.run(&write(&longest, "x")).success);
    assert_eq!(yard.names(), [longest]);
}

/// TL-6.1: spellings that other systems read as a way out are odd names here, and stay inside.
#[test]
fn odd_names_stay_inside() {
    let yard = Yard::new();
    let odd = [
        "%2e%2e%2foutside%2ffile.txt",
        "%2e%2e/outside/file.txt",
        "..%2foutside/file.txt",
        "..%252foutside/file.txt",
        "%c0%ae%c0%ae/outside/file.txt",
        "..%c0%af../outside/file.txt",
        "..\\outside\\file.txt",
        "..\\/outside/file.txt",
        "sub\\..\\..\\outside\\file.txt",
        "C:\\Windows\\win.ini",
        "C:/Windows/win.ini",
        "C:file.txt",
        "\\\\server\\share\\file.txt",
        "\\\\?\\C:\\file.txt",
        "file:///etc/passwd",
        "file.txt::$DATA",
        "CON",
        "nul.txt",
        "COM¹",
        "aux/x",
        "…/outside/file.txt",
        "‥/outside/file.txt",
        "․․/outside/file.txt",
        "。。/outside/file.txt",
        "．．/outside/file.txt",
        "..\u{200b}/outside/file.txt",
        "\u{202e}txt.elif",
        "..∕outside∕file.txt",
        "..⁄outside",
        "..\u{ff0f}outside/file.txt",
        ".../outside/file.txt",
        "..../outside/file.txt",
        "....//....//outside/file.txt",
        "..;/outside/file.txt",
        ".. /outside/file.txt",
        " ../outside/file.txt",
        " /etc/passwd",
        "file.txt.",
        "file.txt ",
        "file.txt\n",
        "..\n/outside/file.txt",
        "\t..",
        "-rf",
        "--help",
        "$HOME/x",
        "${HOME}",
        "`id`",
        "$(id)",
        "a;reboot",
        "a|b",
        "a>b",
        "*",
        "?",
        "[",
        "{a,b}",
        "!x",
        "#x",
        "'",
        "\"",
        "\x1b[2J",
        "\x07",
        "a/./././b",
        ".",
        "",
        "./",
        "...",
        "x/~",
        "./~/x",
    ];
    try_all(&yard, odd, None);
    // Nothing went where the spelling says; most of them are files now.
    assert!(yard.names().len() > odd.len() / 2);
    assert!(yard.root.is_dir());
}

/// TL-6.1: names that are not UTF-8 are shown, marked, and lead nowhere.
#[test]
fn names_that_are_not_text_are_marked() {
    let yard = Yard::new();
    let name = OsStr::from_bytes(b"caf\xe9.txt");
    fs::write(yard.root.join(name), "text to find").unwrap();
    symlink(&yard.outside, yard.root.join(OsStr::from_bytes(b"\xff\xfe"))).unwrap();
    yard.put("plain.txt", "text to find");
    let outcome = yard.run(&list_all("."));
    let files = outcome.fields["files"].as_array().unwrap();
    assert_eq!(files.len(), 3);
    assert_eq!(files[0]["path"], "caf\u{fffd}.txt");
    assert_eq!(files[0]["lossy"], true);
    assert_eq!(files[1].get("lossy"), None);
    assert_eq!(files[2]["type"], "symlink");
    let found = yard.run(&search(".", "to find"));
    assert_eq!(found.fields["matches"][0]["path"], "caf\u{fffd}.txt");
    assert_eq!(found.fields["matches"][0]["lossy"], true);
    assert_eq!(error(&yard.run(&read("caf\u{fffd}.txt"))), "Path caf\u{fffd}.txt does not exist");
    try_all(&yard, ["\u{fffd}\u{fffd}/file.txt"], None);
}

/// TL-6.1: everything that can be asked of the root leaves it and its neighbours where they are.
#[test]
fn every_request_is_held_inside() {
    let yard = Yard::new();
    let requests: Vec<Request> = everything("../outside/file.txt");
    for base in [None, Some("absent"), Some("")] {
        for request in &requests {
            assert_eq!(error(&yard.workspace.run(request, base)), OUTSIDE);
        }
    }
    yard.assert_outside_is_untouched();
}
