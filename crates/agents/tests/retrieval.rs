//! How well the embedders find notes (CS-2.4, CS-3.1), by hit rate among the first five.
//!
//! `retrieval/notes.tsv` has what agents of several teams noted, in English and Russian; `retrieval/questions.tsv` asks
//! for them: in other words (`meaning`), in nearly the same words (`near`), by a code or a number (`exact`), and in the
//! other language with some name in common (`cross`). The weight of the model against the words in
//! `embed::local` was chosen by this table, and so were the weights of words in `embed::lexical`.

#![expect(clippy::unwrap_used, reason = "helpers are called by tests and fail as they do")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use artel_agents::embed::lexical;
use artel_agents::embed::local::{self, Local};

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

struct Ranked {
    table: Table,
    /// The mean of 1/rank, which moves when hit rates do not.
    reciprocal: f64,
}

impl Ranked {
    fn of([notes, questions]: &[Vec<Vec<f32>>; 2]) -> Self {
        let (all_notes, all_questions) = (self::notes(), self::questions());
        let mut table = Table::new();
        let mut reciprocal = 0.0;
        for (question, vector) in all_questions.iter().zip(questions) {
            let score = |note: &Vec<f32>| vector.iter().zip(note).map(|(a, b)| a * b).sum::<f32>();
            let mut ranked: Vec<(f32, &str)> = notes
                .iter()
                .zip(&all_notes)
                .map(|(vector, note)| (score(vector), note.id))
                .collect();
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
        Self { table, reciprocal: reciprocal / f64::from(u32::try_from(questions.len()).unwrap()) }
    }
}

fn share(table: &Table, group: &str) -> f64 {
    let (hits, count) = table[group];
    f64::from(hits) / f64::from(count)
}

#[expect(clippy::print_stdout, reason = "the table is for whoever runs it")]
fn show(columns: &[(&str, &Ranked)]) {
    let print = |label: &str, cell: &dyn Fn(&Ranked) -> String| {
        let cells: Vec<String> =
            columns.iter().map(|(_, ranked)| format!("{:>14}", cell(ranked))).collect();
        println!("{label:<12}{}", cells.concat());
    };
    let names: Vec<String> = columns.iter().map(|(name, _)| format!("{name:>14}")).collect();
    println!("{:<12}{}", "", names.concat());
    for group in columns[0].1.table.keys() {
        print(group, &|ranked| {
            let (hits, count) = ranked.table[group];
            format!("{:.2} {hits}/{count}", share(&ranked.table, group))
        });
    }
    print("mean 1/rank", &|ranked| format!("{:.3}", ranked.reciprocal));
}

/// CS-2.4, CS-3.1: both halves of the local embedder find more together than either alone.
#[tokio::test]
async fn notes_are_found_among_the_first_five() {
    let local = Local::open(&weights()).unwrap();
    let noted: Vec<String> = notes().into_iter().map(|note| note.text).collect();
    let asked: Vec<String> = questions().into_iter().map(|question| question.text).collect();
    // The first use reads the weights.
    local.meanings(&asked[..1]).await.unwrap();
    let start = Instant::now();
    for text in &asked[..20] {
        local.meanings(std::slice::from_ref(text)).await.unwrap();
    }
    println!("a question alone: {:?}", start.elapsed() / 20);
    let readable = noted.iter().filter(|text| local::is_readable(text));
    let some: Vec<String> = readable.take(32).cloned().collect();
    let start = Instant::now();
    local.meanings(&some).await.unwrap();
    println!("a note among 32: {:?}", start.elapsed() / 32);
    let start = Instant::now();
    let words = [&noted, &asked].map(|texts| texts.iter().map(|text| lexical::vector(text)));
    let words = words.map(Iterator::collect::<Vec<_>>);
    let count = u32::try_from(noted.len() + asked.len()).unwrap();
    println!("words of a text: {:?}", start.elapsed() / count);

    let start = Instant::now();
    let meanings = [local.meanings(&noted).await.unwrap(), local.meanings(&asked).await.unwrap()];
    println!("meaning of a text, all together: {:?}", start.elapsed() / count);
    // As the embedder does it, without computing everything once more.
    let texts = [&noted, &asked];
    let joined = [0, 1].map(|n| {
        let all = texts[n].iter().zip(&meanings[n]).zip(&words[n]);
        let join = |((text, meaning), words): ((&String, &Vec<f32>), &Vec<f32>)| {
            let meaning = local::is_readable(text).then_some(&**meaning);
            local::join(local::MEANING, meaning, words)
        };
        all.map(join).collect::<Vec<_>>()
    });
    let lexical = Ranked::of(&words);
    let model = Ranked::of(&meanings);
    let fused = Ranked::of(&joined);
    show(&[("lexical", &lexical), ("model", &model), ("fused", &fused)]);

    let all = |ranked: &Ranked| share(&ranked.table, "all");
    assert!(all(&fused) >= all(&lexical) && all(&fused) >= all(&model));
    for (ranked, group, floor) in [
        (&lexical, "all", 0.57),
        (&lexical, "near", 0.95),
        (&lexical, "exact", 1.0),
        (&lexical, "cross", 0.9),
        (&fused, "all", 0.75),
        (&fused, "en", 0.87),
        (&fused, "ru", 0.55),
        (&fused, "near", 0.95),
        (&fused, "exact", 1.0),
        (&fused, "cross", 0.85),
        (&fused, "en meaning", 0.7),
    ] {
        let found = share(&ranked.table, group);
        assert!(found >= floor, "{group}: {found:.2} is less than {floor}");
    }
}
