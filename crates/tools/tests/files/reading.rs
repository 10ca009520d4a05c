//! Reading files.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;

use artel_tools::files::LARGEST_FILE;
use artel_tools::request::{Outcome, ReadFile, Request};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use crate::yard::{Yard, as_somebody, error, fields, read, write};

fn part(yard: &Yard, path: &str, offset: u64, limit: u64) -> Outcome {
    yard.run(&Request::ReadFile(ReadFile { path: path.to_owned(), offset, limit: Some(limit) }))
}

/// TL-2.1: content and size, by a path from the workspace or the whole path of the same file.
#[test]
fn a_file_is_read() {
    let yard = Yard::new();
    yard.put("src/main.rs", "fn main() {}\n");
    let expected = json!({"success": true, "error": null, "content": "fn main() {}\n", "size": 13, "encoding": "utf-8",
        "truncated": false});
    let whole = yard.root.join("src/main.rs");
    for path in ["src/main.rs", "./src//main.rs", "src/../src/main.rs", whole.to_str().unwrap()] {
        assert_eq!(serde_json::to_value(yard.run(&read(path))).unwrap(), expected);
    }
    yard.put("empty", "");
    assert_eq!(fields(&yard.run(&read("empty")))["content"], "");
}

/// TL-2.1: what is not text comes as base64.
#[test]
fn bytes_are_read() {
    let yard = Yard::new();
    let bytes = [0xff, 0xfe, 0, 1, 2];
    yard.put("image", bytes);
    let outcome = yard.run(&read("image"));
    let result = fields(&outcome);
    assert_eq!(result["encoding"], "base64");
    assert_eq!(BASE64_STANDARD.decode(result["content"].as_str().unwrap()).unwrap(), bytes);
}

/// TL-6.4: a large file comes in parts that fit together, none of which cuts a character.
#[test]
fn a_large_file_is_read_in_parts() {
    let yard = Yard::new();
    let text = "añ漢🙂".repeat(300_000);
    yard.put("large", &text);
    let (mut together, mut offset, mut parts) = (String::new(), 0, 0);
    loop {
        let outcome = yard.run(&Request::ReadFile(ReadFile {
            path: "large".to_owned(),
            offset,
            limit: None,
        }));
        let result = fields(&outcome);
        assert_eq!(result["encoding"], "utf-8");
        assert_eq!(result["size"], text.len());
        let content = result["content"].as_str().unwrap();
        assert!(content.len() <= 1024 * 1024);
        together.push_str(content);
        parts += 1;
        if result["truncated"] == false {
            assert!(!result.contains_key("next_offset"));
            break;
        }
        offset = result["next_offset"].as_u64().unwrap();
    }
    assert_eq!(parts, 3);
    assert!(together == text);
}

/// TL-6.4: no offset and no limit leads astray.
#[test]
fn any_part_can_be_asked_for() {
    let yard = Yard::new();
    yard.put("word", "añb");
    for (offset, limit, content, next) in [
        (0, 2, "a", Some(1)),
        (1, 2, "ñ", Some(3)),
        (3, 100, "b", None),
        (0, 0, "a", Some(1)),
        (4, 1, "", None),
        (u64::MAX, u64::MAX, "", None),
        // Half a character is not text.
        (1, 1, "ww==", Some(2)),
        (2, 9, "sWI=", None),
    ] {
        let outcome = part(&yard, "word", offset, limit);
        let result = fields(&outcome);
        assert_eq!(result["content"], content);
        assert_eq!(result.get("next_offset").and_then(serde_json::Value::as_u64), next);
        assert_eq!(result["truncated"], next.is_some());
    }
}

/// TL-2.2, TL-6.3: what is not there, or may not be read, is said so.
#[test]
fn what_cannot_be_read_is_said() {
    let yard = Yard::new();
    yard.put("file", "x");
    yard.put("secret", "x");
    yard.put("closed/file", "x");
    fs::set_permissions(yard.root.join("secret"), fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(yard.root.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    assert_eq!(error(&yard.run(&read("no/such"))), "Path no/such does not exist");
    assert_eq!(error(&yard.run(&read("file/x"))), "Path file/x does not exist");
    assert_eq!(error(&yard.run(&read("no\x1b[2J"))), "Path no\\x1b[2J does not exist");
    assert_eq!(error(&yard.run(&read("."))), ". is a folder");
    as_somebody(|| {
        assert_eq!(error(&yard.run(&read("secret"))), "Permission denied to read secret");
        assert_eq!(error(&yard.run(&read("closed/file"))), "Permission denied to read closed/file");
        assert_eq!(
            error(&yard.run(&write("closed/file", ""))),
            "Permission denied to write to closed/file"
        );
    });
    fs::set_permissions(yard.root.join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
}

/// TL-6.4: a file of more than 100 MB is neither read nor written.
#[test]
fn a_file_that_is_too_large_is_refused() {
    let yard = Yard::new();
    let file = File::create(yard.root.join("huge")).unwrap();
    file.set_len(LARGEST_FILE + 1).unwrap();
    let refused =
        "huge has 104857601 bytes; files of more than 100 MB are neither read nor written";
    assert_eq!(error(&yard.run(&read("huge"))), refused);
    assert_eq!(error(&yard.run(&write("huge", "small"))), refused);
    file.set_len(LARGEST_FILE).unwrap();
    assert_eq!(fields(&yard.run(&read("huge")))["size"], LARGEST_FILE);
}
