//! Noise: whatever comes, no codec panics, and all keep the law.

use std::collections::BTreeSet;

use artel_programs::codec::line::{self, Line};
use artel_programs::codec::{CallId, Command, Decision, RequestId};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::json;

use crate::replay::{self, Player, Protocol, Said};
use crate::watched::Watched;

/// CA-1.2: the law holds in every recorded conversation, wherever it breaks off.
#[test]
fn every_recording_keeps_the_law() {
    for name in replay::names() {
        let recorded = replay::read(&name);
        for upto in [recorded.len() / 3, recorded.len() / 2, recorded.len() * 4 / 5] {
            play(replay::protocol(&name), &recorded, &recorded[..upto]);
        }
    }
}

/// CA-1.6: from outside, the same conversation with four programs is the same.
#[test]
fn all_kinds_tell_the_same() {
    let told =
        ["claude-basic", "codex-approve-accept", "gemini-basic", "droid-basic"].map(|name| {
            let story = replay::play(name).story();
            story.split(' ').map(str::to_owned).collect::<BTreeSet<String>>()
        });
    assert!(told.iter().all(|story| *story == told[0]), "{told:?}");
    assert!(told[0].contains("may") && told[0].contains("did") && told[0].contains("completed"));
}

fn play(protocol: Protocol, whole: &[Said], part: &[Said]) {
    let mut player = Player::new(protocol, whole);
    player.codec.start();
    for said in part {
        match said {
            Said::ByUs(frame) => player.command(frame),
            Said::ByIt(line) => player.line(line),
        }
    }
    player.codec.ended();
}

/// Something that happens to a codec.
#[derive(Debug, Clone)]
enum Happening {
    /// A recorded line, as a whole or cut.
    Line(Index, Option<Index>),
    /// One of the last lines, which are the answers to a handshake.
    Handshake(usize),
    Bytes(Vec<u8>),
    Quiet,
    Say,
    Steer,
    Interrupt,
    /// An answer of this sort to something that is open.
    Answer(u8, Index),
    Close,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        3 => (0..5_usize).prop_map(Happening::Handshake),
        20 => (any::<Index>(), proptest::option::weighted(0.1, any::<Index>()))
            .prop_map(|(line, cut)| Happening::Line(line, cut)),
        1 => vec(any::<u8>(), 0..60).prop_map(Happening::Bytes),
        1 => Just(Happening::Quiet),
        3 => Just(Happening::Say),
        1 => Just(Happening::Steer),
        1 => Just(Happening::Interrupt),
        4 => (0..5_u8, any::<Index>()).prop_map(|(sort, which)| Happening::Answer(sort, which)),
        1 => Just(Happening::Close),
    ]
}

fn suffer(codec: &mut Watched, happenings: &[Happening], lines: &[String]) {
    codec.start();
    for happening in happenings {
        match happening {
            Happening::Line(line, cut) => {
                let line = line.get(lines).as_bytes();
                let end = cut.map_or(line.len(), |cut| cut.index(line.len() + 1));
                codec.line(&line[..end]);
            }
            Happening::Handshake(back) => {
                let line = lines.iter().rev().nth(*back);
                codec.line(line.map_or(b"", |line| line.as_bytes()));
            }
            Happening::Bytes(bytes) => codec.line(bytes),
            Happening::Quiet => codec.quiet(),
            Happening::Say => drop(codec.command(Command::Say { text: "hello".to_owned() })),
            Happening::Steer => drop(codec.command(Command::Steer { text: "quickly".to_owned() })),
            Happening::Interrupt => drop(codec.command(Command::Interrupt)),
            Happening::Close => drop(codec.command(Command::Close)),
            Happening::Answer(sort, which) => {
                let open: Vec<String> = codec.open.iter().cloned().collect();
                let id = if open.is_empty() { "0".to_owned() } else { which.get(&open).clone() };
                drop(codec.command(answer(*sort, id)));
            }
        }
    }
    codec.ended();
}

fn answer(sort: u8, id: String) -> Command {
    let decide = |id, decision| Command::Decide { request: RequestId(id), decision };
    match sort {
        0 => decide(id, Decision::Once),
        1 => decide(id, Decision::Always),
        2 => decide(id, Decision::Reject { why: "no".to_owned() }),
        3 => Command::Answer { request: RequestId(id), answers: vec!["blue".to_owned()] },
        _ => Command::Return { call: CallId(id), result: Ok("done".to_owned()) },
    }
}

/// The lines of a recording, and answers to what our codec asks first, without which it never gets anywhere.
fn lines(recorded: &[Said]) -> Vec<String> {
    let written = |said: &Said| if let Said::ByIt(line) = said { Some(line.clone()) } else { None };
    let mut lines: Vec<String> = recorded.iter().filter_map(written).collect();
    let named = |line: &String| {
        let (_, rest) =
            line.split_once("\"sessionId\":\"").or_else(|| line.split_once("\"threadId\":\""))?;
        rest.split('"').next().map(str::to_owned)
    };
    let session = lines.iter().find_map(named).unwrap_or_default();
    let hello = json!({"subtype": "success", "request_id": "artel-1"});
    lines.push(json!({"type": "control_response", "response": hello}).to_string());
    for id in 1..=4 {
        let result = json!({
            "sessionId": session, "thread": {"id": session}, "turn": {"id": "turn"}, "stopReason": "end_turn"
        });
        lines.push(json!({"id": id, "result": result}).to_string());
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Lines of a recording in any order, whole or cut, between noise and commands.
    #[test]
    fn a_mixed_up_conversation_keeps_the_law(
        name in select(replay::names()), happenings in vec(happening(), 0..120),
    ) {
        let recorded = replay::read(&name);
        let mut codec = replay::codec(replay::protocol(&name), &recorded);
        suffer(&mut codec, &happenings, &lines(&recorded));
    }

    /// A recording that is played in order, with one line lost and one told twice.
    #[test]
    fn a_line_lost_or_doubled_keeps_the_law(name in select(replay::names()), lost: Index, doubled: Index) {
        let recorded = replay::read(&name);
        prop_assume!(!recorded.is_empty());
        let mut part = recorded.clone();
        part.insert(doubled.index(part.len()), doubled.get(&recorded).clone());
        part.remove(lost.index(part.len()));
        play(replay::protocol(&name), &recorded, &part);
    }

    /// CA-4.5: a line program may write what it wants.
    #[test]
    fn any_lines_keep_the_law(
        written in vec("(__TOOL_CALL__:)?[{]?(\"tool\": ?\"answer\"[,}])?.{0,20}", 1..20),
        happenings in vec(happening(), 0..80),
    ) {
        let tool = artel_programs::toolbox::ToolSpec {
            name: "answer".to_owned(), description: String::new(), parameters: serde_json::Value::Null,
        };
        let setup = line::Setup { tools: vec![tool], ..line::Setup::default() };
        let mut codec = Watched::new(Line::new(setup).unwrap(), false);
        suffer(&mut codec, &happenings, &written);
    }
}
