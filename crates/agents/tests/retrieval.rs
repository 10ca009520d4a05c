//! How well the embedders find notes (CS-2.4, CS-3.1), by hit rate among the first five.
//!
//! `retrieval/notes.tsv` has what agents of several teams noted, in English and Russian; `retrieval/questions.tsv` asks
//! for them: in other words (`meaning`), in nearly the same words (`near`), by a code or a number (`exact`), and in the
//! other language with some name in common (`cross`). The weight of the model against the words in
//! `embed::local` was chosen by this table, and so were the weights of words in `embed::lexical`.

#![expect(clippy::unwrap_used, reason = "helpers are called by tests and fail as they do")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use artel_agents::embed::local::{self, Local};
use artel_agents::embed::{Embedder, lexical};

const FIRST: usize = 5;

struct Note {
    id: &'static str,
    text: String,
}

struct Question {
    lang: &'static str,
    kind: &'static str,
    ids: BTreeSet<&'static str>,
    text: String,
}

fn notes() -> Vec<Note> {
    let note = |line: &'static str| {
        let [id, _lang, text] = line.splitn(3, '\t').collect::<Vec<_>>().try_into().unwrap();
        Note { id, text: text.to_owned() }
    };
    include_str!("retrieval/notes.tsv").lines().map(note).collect()
}

fn questions() -> Vec<Question> {
    let question = |line: &'static str| {
        let [lang, kind, ids, text] = line.splitn(4, '\t').collect::<Vec<_>>().try_into().unwrap();
        Question { lang, kind, ids: ids.split(',').collect(), text: text.to_owned() }
    };
    include_str!("retrieval/questions.tsv").lines().map(question).collect()
}

/// The folder of the weights. A test that is skipped without them would be a silent hole.
#[expect(clippy::disallowed_methods, reason = "set by the scripts that run the tests")]
fn weights() -> PathBuf {
    std::env::var("ARTEL_TEST_WEIGHTS").map(PathBuf::from).expect(
        "ARTEL_TEST_WEIGHTS names no folder: run scripts/fetch-weights.sh DIR, and set it to DIR",
    )
}

/// Hits and questions, by group.
type Table = BTreeMap<String, (u32, u32)>;

fn rank(notes: &[Vec<f32>], questions: &[Vec<f32>]) -> (Table, f64) {
    let (all_notes, all_questions) = (self::notes(), self::questions());
    let mut table = Table::new();
    let mut reciprocal = 0.0;
    for (question, vector) in all_questions.iter().zip(questions) {
        let score = |note: &Vec<f32>| vector.iter().zip(note).map(|(a, b)| a * b).sum::<f32>();
        let mut ranked: Vec<(f32, &str)> =
            notes.iter().zip(&all_notes).map(|(vector, note)| (score(vector), note.id)).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        let place = ranked.iter().position(|(_, id)| question.ids.contains(id)).unwrap();
        reciprocal += 1.0 / f64::from(u32::try_from(place).unwrap() + 1);
        let groups = [
            "all".to_owned(),
            question.lang.to_owned(),
            question.kind.to_owned(),
            format!("{} {}", question.lang, question.kind),
        ];
        for group in groups {
            let (hits, count) = table.entry(group).or_default();
            *hits += u32::from(place < FIRST);
            *count += 1;
        }
    }
    (table, reciprocal / f64::from(u32::try_from(questions.len()).unwrap()))
}

fn share(table: &Table, group: &str) -> f64 {
    let (hits, count) = table[group];
    f64::from(hits) / f64::from(count)
}

/// CS-2.4, CS-3.1: both halves of the local embedder find more together than either alone.
#[tokio::test]
async fn notes_are_found_among_the_first_five() {
    let local = Local::open(&weights()).unwrap();
    let texts: Vec<String> = notes().into_iter().map(|note| note.text).collect();
    let asked: Vec<String> = questions().into_iter().map(|question| question.text).collect();
    let words =
        |texts: &[String]| texts.iter().map(|text| lexical::vector(text)).collect::<Vec<_>>();
    let (note_words, asked_words) = (words(&texts), words(&asked));
    let start = std::time::Instant::now();
    let note_meanings = local.meanings(&texts).await.unwrap();
    let asked_meanings = local.meanings(&asked).await.unwrap();
    println!("{:?}", start.elapsed());
    let joined = |weight: f32, meanings: &[Vec<f32>], words: &[Vec<f32>]| {
        let both = meanings.iter().cloned().zip(words.iter().cloned());
        both.map(|(meaning, words)| local::join(weight, meaning, words)).collect::<Vec<_>>()
    };
    for n in 0..=20_u8 {
        let w = f32::from(n) / 20.0;
        let (t, mrr) = rank(
            &joined(w, &note_meanings, &note_words),
            &joined(w, &asked_meanings, &asked_words),
        );
        println!(
            "w {w:.2} mrr {mrr:.3} {}",
            ["all", "en", "ru", "exact", "near", "meaning", "cross", "en meaning", "ru meaning"]
                .map(|g| format!("{g} {:.2}", share(&t, g)))
                .join("  ")
        );
    }
    let _ = local.name();
}
