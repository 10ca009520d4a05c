//! Searching text in files, with ripgrep's parts.

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use serde::Serialize;

use super::list::Shown;
use super::walk::{Glob, Unseen, Walk};
use super::{Doing, Fields, Refused, Stop, Workspace, cautiously, fields, open_regular};
use crate::request::SearchFiles;

const MOST_MATCHES: u32 = 1_000;
/// A file larger than this is not searched.
const LARGEST: u64 = 10 * 1024 * 1024;
/// Of all files together.
const MOST_BYTES: u64 = 500 * 1024 * 1024;
/// Of a line, in characters.
const WIDEST: usize = 500;
/// Of a compiled expression, in bytes.
const LARGEST_PATTERN: usize = 8 * 1024 * 1024;
/// Of the expression itself, in bytes.
const LONGEST_PATTERN: usize = 10_000;

#[derive(Serialize)]
struct Hits {
    matches: Vec<Matched>,
    truncated: bool,
    #[serde(flatten)]
    unseen: Unseen,
}

#[derive(Serialize)]
struct Matched {
    #[serde(flatten)]
    path: Shown,
    line: u64,
    text: String,
}

impl Workspace {
    pub(super) fn search(&self, asked: &SearchFiles, stop: Stop<'_>) -> Result<Fields, Refused> {
        let glob = asked.glob.as_deref().map(Glob::new).transpose()?;
        let mut search = Search::new(asked)?;
        let (start, about) = self.resolve(&asked.path)?;
        if !about.is_dir() {
            let (file, about) =
                open_regular(&self.root, &start, &cautiously(), Doing::Reading, &asked.path)?;
            search.cut = about.len() > LARGEST;
            search.file(&file, about.len(), &start);
            return Ok(search.done(Unseen::default()));
        }
        let mut options = cautiously();
        options.follow(FollowSymlinks::No);
        let walk = Walk { root: &self.root, recursive: true, ignored: false, stop };
        let unseen = walk.through(&start, &mut |entry| {
            if !entry.kind.is_file() || glob.as_ref().is_some_and(|glob| !glob.fits(entry)) {
                return ControlFlow::Continue(());
            }
            // What cannot be opened is passed over, as ripgrep does.
            let name = Path::new(entry.name);
            if let Ok((file, about)) =
                open_regular(entry.dir, name, &options, Doing::Reading, &asked.path)
            {
                search.file(&file, about.len(), entry.path);
            }
            if search.cut { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(search.done(unseen))
    }
}

struct Search {
    matcher: RegexMatcher,
    searcher: Searcher,
    most: usize,
    found: Vec<Matched>,
    bytes_left: u64,
    /// True when something was not searched, or not told.
    cut: bool,
}

impl Search {
    fn new(asked: &SearchFiles) -> Result<Self, Refused> {
        if asked.pattern.len() > LONGEST_PATTERN {
            return Err(Refused::BadPattern(format!("it has more than {LONGEST_PATTERN} bytes")));
        }
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(!asked.case_sensitive)
            .fixed_strings(asked.literal)
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .size_limit(LARGEST_PATTERN)
            .dfa_size_limit(LARGEST_PATTERN)
            .build(&asked.pattern)
            .map_err(|error| Refused::BadPattern(error.to_string()))?;
        let searcher = SearcherBuilder::new()
            .line_number(true)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(usize::try_from(2 * LARGEST).ok())
            .build();
        let most = asked.max_results.clamp(1, MOST_MATCHES) as usize;
        Ok(Self { matcher, searcher, most, found: Vec::new(), bytes_left: MOST_BYTES, cut: false })
    }

    fn file(&mut self, file: &File, size: u64, path: &Path) {
        if size > LARGEST {
            return;
        }
        let Some(left) = self.bytes_left.checked_sub(size) else {
            self.cut = true;
            return;
        };
        self.bytes_left = left;
        let (found, cut, most) = (&mut self.found, &mut self.cut, self.most);
        let sink = Lossy(|line, text| {
            if found.len() == most {
                *cut = true;
                return Ok(false);
            }
            found.push(Matched { path: Shown::of(path), line, text: narrow(text) });
            Ok(true)
        });
        // What cannot be read to its end is passed over from there on.
        let _ = self.searcher.search_reader(&self.matcher, file.take(LARGEST), sink);
    }

    fn done(self, unseen: Unseen) -> Fields {
        fields(&Hits { matches: self.found, truncated: self.cut || unseen.cut, unseen })
    }
}

fn narrow(line: &str) -> String {
    let line = line.trim_end_matches(['\r', '\n']);
    match line.char_indices().nth(WIDEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
