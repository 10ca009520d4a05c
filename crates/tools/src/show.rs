//! Text from elsewhere, as a person may see it.
//!
//! What is approved must be what runs: a file name, a diff or a command can hold characters that a terminal or a
//! browser obeys rather than shows. They are shown here as escapes, such as `\x1b` and `\u{202e}`. A backslash stays
//! a backslash, so text can look like an escape that it is not; only [`argv`] tells the two apart.

/// The text on one line, with nothing in it that cannot be seen.
pub fn visible(text: &str) -> String {
    escaped(text, |_| false)
}

/// The same, but for line ends and tabs, which stay.
pub fn visible_lines(text: &str) -> String {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

/// Words so that one can see where each begins and ends and what is in it, as bash would write them.
pub fn argv<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else if word.chars().all(|c| seen(c) && c != '\'' && c != '\\') {
        format!("'{word}'")
    } else {
        let word = word.replace('\\', "\\\\").replace('\'', "\\'");
        format!("$'{}'", visible(&word))
    }
}

fn escaped(text: &str, kept: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if seen(c) || kept(c) {
            shown.push(c);
        } else if c.is_ascii() {
            shown.extend(format!("\\x{:02x}", u32::from(c)).chars());
        } else {
            shown.extend(c.escape_unicode());
        }
    }
    shown
}

/// Whether a character leaves a mark of its own, and none but that.
fn seen(c: char) -> bool {
    match c {
        '\'' | '"' | '\\' => true,
        // Drawn as nothing, though they count as letters and marks: joiners, fillers, variation selectors.
        '\u{034f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{ffa0}'
        | '\u{e0000}'..='\u{e0fff}' => false,
        c => {
            // The standard library knows what can be printed but tells it of strings only. The letter before it is
            // there for the accents of many scripts, which are shown when they stand on something.
            let mut text = [0; 5];
            text[0] = b'a';
            let end = 1 + c.encode_utf8(&mut text[1..]).len();
            str::from_utf8(&text[..end]).is_ok_and(|text| text.escape_debug().count() == 2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S17: what a terminal obeys, and what it does not draw, is shown.
    #[test]
    fn controls_are_shown() {
        for (text, shown) in [
            ("plain — ä 漢字 ไทย नमस्ते e\u{301}", "plain — ä 漢字 ไทย नमस्ते e\u{301}"),
            ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
            ("a\r\nb\tc\0\x7f", "a\\x0d\\x0ab\\x09c\\x00\\x7f"),
            ("\u{9b}31m\u{85}", "\\u{9b}31m\\u{85}"),
            (
                "zero\u{200b}width\u{200d}\u{feff}\u{2060}\u{ad}",
                "zero\\u{200b}width\\u{200d}\\u{feff}\\u{2060}\\u{ad}",
            ),
            ("line\u{2028}paragraph\u{2029}", "line\\u{2028}paragraph\\u{2029}"),
            ("tag\u{e0041}\u{e007f}", "tag\\u{e0041}\\u{e007f}"),
            ("selector\u{fe0f}\u{e0100}", "selector\\u{fe0f}\\u{e0100}"),
            ("filler\u{3164}\u{115f}", "filler\\u{3164}\\u{115f}"),
            ("private\u{e000} odd\u{a0}space\u{3000}", "private\\u{e000} odd\\u{a0}space\\u{3000}"),
            ("it's \"C:\\dir\"", "it's \"C:\\dir\""),
        ] {
            assert_eq!(visible(text), shown);
        }
        assert_eq!(visible_lines("+a\tb\r\n-\x08"), "+a\tb\\x0d\n-\\x08");
    }

    /// S17: the tricks of "Trojan Source", where code reads in another order than it runs.
    #[test]
    fn nothing_changes_the_order_of_what_is_read() {
        let early_return =
            "/*\u{202e} } \u{2066}if (isAdmin)\u{2069} \u{2066} begin admins only */";
        let shown = visible(early_return);
        assert_eq!(
            shown,
            "/*\\u{202e} } \\u{2066}if (isAdmin)\\u{2069} \\u{2066} begin admins only */"
        );
        let bidi = ('\u{202a}'..='\u{202e}')
            .chain('\u{2066}'..='\u{2069}')
            .chain(['\u{200e}', '\u{200f}', '\u{61c}']);
        for c in bidi {
            assert_eq!(visible(&c.to_string()), format!("\\u{{{:x}}}", u32::from(c)));
            assert_eq!(visible_lines(&c.to_string()), format!("\\u{{{:x}}}", u32::from(c)));
            assert!(argv([c.to_string().as_str()]).is_ascii());
        }
    }

    /// S17: no two lists of words read the same.
    #[test]
    fn words_are_told_apart() {
        let lists: &[(&[&str], &str)] = &[
            (&["ls", "-la", "src/main.rs"], "ls -la src/main.rs"),
            (&["echo", "a b"], "echo 'a b'"),
            (&["echo", "a", "b"], "echo a b"),
            (&["echo", ""], "echo ''"),
            (&["echo", "$(rm -rf /)", "; reboot"], "echo '$(rm -rf /)' '; reboot'"),
            (&["echo", "it's"], "echo $'it\\'s'"),
            (&["echo", "a\nb"], "echo $'a\\x0ab'"),
            (&["echo", "a\\x0ab"], "echo $'a\\\\x0ab'"),
            (&["echo", "\u{202e}x"], "echo $'\\u{202e}x'"),
            (&["echo", "раypal"], "echo 'раypal'"),
            (&["~", "*"], "'~' '*'"),
        ];
        for (words, shown) in lists {
            assert_eq!(argv(words.iter().copied()), *shown);
        }
    }
}
