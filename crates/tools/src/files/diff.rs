//! A change, as a person sees it before it is made.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::show::{visible, visible_lines};

/// Of a diff, in bytes.
const LONGEST: usize = 64 * 1024;
/// Kept free for the line that says what is not shown.
const ROOM: usize = 128;
/// Of one line in it, in characters; the rest is counted.
const WIDEST: usize = 2_000;
/// Of a file that is compared line by line.
const LARGEST: usize = 1024 * 1024;
/// After this the diff may be longer than it had to be.
const PATIENCE: Duration = Duration::from_secs(2);

/// The unified diff from what is there (`None`: nothing) to `new`; in one line where a diff would tell nothing.
///
/// Characters that a screen would obey are shown as escapes. Lines end with a line feed and nothing else, so that
/// no other character can hide where one ends.
pub(super) fn unified(path: &str, old: Option<&[u8]>, new: &str) -> String {
    let path = visible(path);
    let before = old.map_or(0, <[u8]>::len);
    if before > LARGEST || new.len() > LARGEST {
        return format!("{path}: {before} bytes become {} bytes, too many to compare\n", new.len());
    }
    let Ok(text) = str::from_utf8(old.unwrap_or_default()) else {
        return format!(
            "{path}: {before} bytes that are not UTF-8 text become {} bytes of text\n",
            new.len()
        );
    };
    if old.is_some() && text == new {
        return format!("{path}: stays as it is\n");
    }

    let from = if old.is_some() { format!("a/{path}") } else { "/dev/null".to_owned() };
    let mut page = Page { text: format!("--- {from}\n+++ b/{path}\n"), left_out: 0 };
    let (olds, news): (Vec<_>, Vec<_>) =
        (text.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let diff = TextDiff::configure().timeout(PATIENCE).diff_slices(&olds, &news);
    for hunk in diff.unified_diff().iter_hunks() {
        page.push(&hunk.header().to_string());
        for change in hunk.iter_changes() {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            let line = change.value();
            page.push(&format!("{sign}{}", line.strip_suffix('\n').unwrap_or(line)));
            if !line.ends_with('\n') {
                page.push("\\ No newline at end of file");
            }
        }
    }
    page.finished()
}

/// Takes whole lines until it is full.
struct Page {
    text: String,
    left_out: usize,
}

impl Page {
    fn push(&mut self, line: &str) {
        let line = match line.char_indices().nth(WIDEST) {
            Some((end, _)) => {
                format!(
                    "{} … {} more bytes in this line",
                    visible_lines(&line[..end]),
                    line.len() - end
                )
            }
            None => visible_lines(line),
        };
        if self.left_out > 0 || self.text.len() + line.len() + ROOM > LONGEST {
            self.left_out += 1;
        } else {
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    fn finished(mut self) -> String {
        if self.left_out > 0 {
            let mark = format!("… cut here: {} more lines are not shown\n", self.left_out);
            self.text.push_str(&mark);
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_says_what_changes() {
        assert_eq!(
            unified("a.txt", Some(b"one\ntwo\n"), "one\n2"),
            "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n\\ No newline at end of file\n"
        );
        assert_eq!(unified("n", None, "x\n"), "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n");
        assert_eq!(unified("n", None, ""), "--- /dev/null\n+++ b/n\n");
        assert_eq!(unified("n", Some(b"x"), "x"), "n: stays as it is\n");
    }

    #[test]
    fn nothing_hides_in_a_diff() {
        let shown = unified("a\x1b[2Jb", Some(b"ok\n"), "ok\n\u{202e}evil\r+fine\u{2028}+fine\n");
        assert!(shown.contains("+++ b/a\\x1b[2Jb\n"), "{shown}");
        assert!(shown.ends_with("+\\u{202e}evil\\x0d+fine\\u{2028}+fine\n"), "{shown}");
    }

    #[test]
    fn what_is_long_or_no_text_is_said_in_short() {
        let many = "line\n".repeat(100_000);
        let shown = unified("many", None, &many);
        assert!(shown.len() <= LONGEST);
        let mark = shown.lines().last().unwrap();
        assert!(
            mark.starts_with("… cut here: 8") && mark.ends_with(" more lines are not shown"),
            "{mark}"
        );

        let wide = unified("wide", None, &"x".repeat(500_000));
        assert!(wide.len() < 3_000 && wide.contains("… 498001 more bytes in this line"), "{wide}");

        assert_eq!(
            unified("b", Some(&[0xff, 0]), "x"),
            "b: 2 bytes that are not UTF-8 text become 1 bytes of text\n"
        );
        assert_eq!(
            unified("h", None, &"x".repeat(LARGEST + 1)),
            "h: 0 bytes become 1048577 bytes, too many to compare\n"
        );
    }
}
