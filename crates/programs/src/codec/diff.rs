//! What a tool would change, as a unified diff, made from what it was told.

use serde_json::Value;
use similar::TextDiff;

/// Comparing takes the product of the lines in the worst case; longer texts are shown as taken out and put in.
const LINES: usize = 2_000;

/// A change of one file from one text to another.
pub(super) fn unified(path: &str, old: &str, new: &str) -> String {
    let (from, to) = (
        format!("a/{}", path.trim_start_matches('/')),
        format!("b/{}", path.trim_start_matches('/')),
    );
    if old.lines().count() + new.lines().count() <= LINES {
        return TextDiff::from_lines(old, new).unified_diff().header(&from, &to).to_string();
    }
    let taken = old.lines().map(|line| format!("-{line}\n"));
    let put = new.lines().map(|line| format!("+{line}\n"));
    let (before, after) = (old.lines().count(), new.lines().count());
    let head = format!("--- {from}\n+++ {to}\n@@ -1,{before} +1,{after} @@\n");
    std::iter::once(head).chain(taken).chain(put).collect()
}

/// The diff of an edit whose input says what is replaced by what, whatever the program calls it.
pub(super) fn of_input(input: &Value) -> Option<String> {
    let text = |value: &Value, names: &[&str]| {
        names.iter().find_map(|name| value[*name].as_str().map(str::to_owned))
    };
    let path = text(input, &["file_path", "path", "notebook_path"])?;
    let change = |edit: &Value| {
        let new = text(edit, &["new_string", "new_str", "newText"])?;
        Some((text(edit, &["old_string", "old_str", "oldText"]).unwrap_or_default(), new))
    };
    if let Some(edits) = input["edits"].as_array().or_else(|| input["changes"].as_array()) {
        let diffs: String =
            edits.iter().filter_map(change).map(|(old, new)| unified(&path, &old, &new)).collect();
        return Some(diffs).filter(|diffs| !diffs.is_empty());
    }
    let (old, new) =
        change(input).or_else(|| Some((String::new(), text(input, &["content", "file_text"])?)))?;
    Some(unified(&path, &old, &new))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_edit_and_a_new_file_become_diffs() {
        let edit =
            json!({"file_path": "/w/a.txt", "old_string": "one\ntwo\n", "new_string": "one\n2\n"});
        let shown = of_input(&edit).unwrap();
        assert!(shown.starts_with("--- a/w/a.txt\n+++ b/w/a.txt\n"), "{shown}");
        assert!(shown.contains("-two\n+2\n"), "{shown}");
        let write = json!({"file_path": "a.txt", "content": "hi\n"});
        assert!(of_input(&write).unwrap().ends_with("+hi\n"));
        assert_eq!(of_input(&json!({"command": "ls"})), None);
    }

    #[test]
    fn a_long_text_is_not_compared() {
        let (old, new) = ("a\n".repeat(LINES), "b\n".repeat(3));
        let shown = unified("a.txt", &old, &new);
        assert_eq!(shown.lines().count(), 3 + LINES + 3);
    }
}
