//! Searching text.

use std::fs::File;

use artel_tools::request::{Outcome, Request, SearchFiles};
use serde_json::json;

use crate::yard::{OUTSIDE, Yard, error, fields, paths, search};

/// A search with one thing other than usual.
fn search_with(yard: &Yard, pattern: &str, change: impl FnOnce(&mut SearchFiles)) -> Outcome {
    let Request::SearchFiles(mut asked) = search(".", pattern) else {
        unreachable!("it was just made")
    };
    change(&mut asked);
    yard.run(&Request::SearchFiles(asked))
}

/// TL-4.2: lines that match, with their files and numbers, in order.
#[test]
fn text_is_found() {
    let yard = Yard::new();
    yard.put("b.txt", "one\ntwo\r\nTwo three\n");
    yard.put("a/deep.rs", "fn two() {}");
    yard.put("c.txt", "nothing");
    let outcome = yard.run(&search(".", "two"));
    let expected = json!({
        "matches": [
            {"path": "a/deep.rs", "line": 1, "text": "fn two() {}"},
            {"path": "b.txt", "line": 2, "text": "two"},
        ],
        "truncated": false,
    });
    assert_eq!(json!(fields(&outcome)), expected);
    assert_eq!(paths(&yard.run(&search("a", "two")), "matches"), ["a/deep.rs"]);
    assert_eq!(paths(&yard.run(&search("b.txt", "^two")), "matches"), ["b.txt"]);
    assert_eq!(
        paths(&search_with(&yard, "two", |asked| asked.case_sensitive = false), "matches").len(),
        3
    );
    assert_eq!(
        paths(&search_with(&yard, "two", |asked| asked.glob = Some("*.rs".to_owned())), "matches")
            .len(),
        1
    );
    assert_eq!(
        paths(&search_with(&yard, "o() {", |asked| asked.literal = true), "matches"),
        ["a/deep.rs"]
    );
    assert_eq!(paths(&search_with(&yard, "t.o$", |_| {}), "matches"), Vec::<&str>::new());
    assert_eq!(error(&yard.run(&search("no", "x"))), "Path no does not exist");
    assert_eq!(error(&yard.run(&search("..", "x"))), OUTSIDE);
}

/// TL-4.2: a bad expression is an error with its reason, and a huge one does not get far.
#[test]
fn a_bad_expression_is_said() {
    let yard = Yard::new();
    yard.put("a", "(");
    for pattern in [
        "(",
        "a{1000}{1000}{1000}",
        "\\p{Nonsense}",
        "a\\nb",
        &"(".repeat(5_000),
        &"x".repeat(20_000),
    ] {
        assert!(
            error(&yard.run(&search(".", pattern)))
                .starts_with("The regular expression cannot be read: ")
        );
    }
    assert_eq!(paths(&search_with(&yard, "(", |asked| asked.literal = true), "matches"), ["a"]);
    assert!(
        error(&search_with(&yard, "x", |asked| asked.glob = Some("[".to_owned())))
            .starts_with("The glob")
    );
}

/// TL-6.4: results are bounded in number and width, and marked when they were cut.
#[test]
fn results_are_bounded() {
    let yard = Yard::new();
    yard.put("many", "x\n".repeat(3_000));
    yard.put("wide", "ä".repeat(10_000));
    for (asked, found) in [(5, 5), (0, 1), (u32::MAX, 1_000)] {
        let outcome = search_with(&yard, "x", |search| search.max_results = asked);
        assert_eq!(fields(&outcome)["matches"].as_array().unwrap().len(), found);
        assert_eq!(fields(&outcome)["truncated"], true);
    }
    let outcome = search_with(&yard, "x", |search| {
        search.path = "many".to_owned();
        search.max_results = 1_000;
    });
    assert_eq!(fields(&outcome)["truncated"], true);
    let outcome = yard.run(&search(".", "ä+$"));
    assert_eq!(fields(&outcome)["matches"][0]["text"], "ä".repeat(500) + "…");
    assert_eq!(fields(&outcome)["truncated"], false);
}

/// TL-6.4: what is binary, huge or ignored, and what belongs to git, is passed over.
#[test]
fn only_text_of_the_project_is_searched() {
    let yard = Yard::new();
    yard.put("text", "needle");
    yard.put("binary", b"needle\0needle");
    yard.put(".git/config", "needle");
    yard.put("target/out", "needle");
    yard.put(".gitignore", "target/\n");
    yard.put(".hidden", "needle");
    yard.put("latin", b"caf\xe9 needle");
    File::create(yard.root.join("huge")).unwrap().set_len(11 * 1024 * 1024).unwrap();
    let outcome = yard.run(&search(".", "needle"));
    assert_eq!(paths(&outcome, "matches"), [".hidden", "latin", "text"]);
    assert_eq!(fields(&outcome)["matches"][1]["text"], "caf\u{fffd} needle");
    assert_eq!(fields(&outcome)["truncated"], false);
    // One that is asked for by name is missed.
    assert_eq!(fields(&yard.run(&search("huge", "needle")))["truncated"], true);
}

/// TL-4.2: a search can be given up.
#[test]
fn a_search_can_be_stopped() {
    let yard = Yard::new();
    yard.put("a/b", "x");
    let outcome = yard.workspace.run_until(&search(".", "x"), None, &|| true);
    assert_eq!(error(&outcome), "It was stopped before it was done");
}
