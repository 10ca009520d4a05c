//! The server is away, slow, forgetful or in a bad mood.

use std::time::Duration;

use artel_domain::memory::Filter;
use artel_storage::vectors::qdrant::Qdrant;
use artel_storage::vectors::{Error, Layout, Model, Server, VectorIndex};
use artel_testkit::qdrant::{Fault, StandIn};
use tokio::time::{Instant, sleep};

use super::Side;
use super::kit::{Changed, entry, fresh, leaning, texts};

const ALL: Filter = Filter { kind: None, success: None, from: None, to: None, task: None };
const KEY: &str = "hush-1234567890";

fn model() -> Model {
    Model { name: "test".to_owned(), dimensions: super::DIMENSIONS }
}

/// A node must be able to start while the server is down, and works when it comes.
#[tokio::test]
async fn the_server_is_away_at_the_start() {
    let mut stand_in = StandIn::start().unwrap();
    stand_in.stop().unwrap();
    let server = Server { url: stand_in.url(), api_key: None, layout: Layout::PerAgent };
    let (index, of) = (Qdrant::connect(&server, model()).unwrap(), fresh("agent"));
    let start = Instant::now();
    let away = index.ping().await.unwrap_err();
    assert!(matches!(away, Error::Unavailable(_)), "{away:?}");
    assert!(away.to_string().contains("refused"), "{away}");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    let away = index.put(&of, vec![entry("lost")]).await.unwrap_err();
    assert!(matches!(away, Error::Unavailable(_)), "{away:?}");
    let away = index.search(&of, &leaning(&index, 1.0), &ALL, 1).await.unwrap_err();
    assert!(matches!(away, Error::Unavailable(_)), "{away:?}");

    stand_in.restart().unwrap();
    index.ping().await.unwrap();
    index.put(&of, vec![entry("kept").with(leaning(&index, 0.5))]).await.unwrap();
    assert_eq!(texts(&index, &of, &ALL).await, ["kept"]);
}

/// Nothing was asked while it was away, so no failure has told of the old connection.
#[tokio::test]
async fn a_restart_in_a_quiet_moment_goes_unnoticed() {
    let mut side = Side::stand_in(Layout::PerAgent);
    let (index, of) = (side.node(), fresh("agent"));
    index.put(&of, vec![entry("kept").with(leaning(&index, 0.5))]).await.unwrap();
    side.stand_in.as_mut().unwrap().restart().unwrap();
    sleep(Duration::from_millis(100)).await;
    index.ping().await.unwrap();
    assert_eq!(texts(&index, &of, &ALL).await, ["kept"]);
}

/// A short outage is waited for.
#[tokio::test]
async fn a_call_outlasts_a_short_outage() {
    let mut side = Side::stand_in(Layout::Shared);
    let (index, of) = (side.node(), fresh("agent"));
    index.ensure(&of).await.unwrap();
    side.stand_in.as_mut().unwrap().stop().unwrap();
    let (put, ()) = tokio::join!(index.put(&of, vec![entry("kept")]), async {
        sleep(Duration::from_millis(250)).await;
        side.stand_in.as_mut().unwrap().restart().unwrap();
    });
    put.unwrap();
    assert_eq!(index.count(&of).await.unwrap(), 1);
}

#[tokio::test]
async fn a_fault_that_passes_is_asked_through() {
    let side = Side::stand_in(Layout::PerAgent);
    let stand_in = side.stand_in.as_ref().unwrap();
    let (index, of) = (side.node(), fresh("agent"));
    index.ensure(&of).await.unwrap();
    stand_in.fail([Fault::Unavailable, Fault::Unavailable, Fault::Unavailable]);
    index.put(&of, vec![entry("kept")]).await.unwrap();
    assert_eq!(stand_in.faults_left(), 0);
    stand_in.fail([const { Fault::Unavailable }; 4]);
    let away = index.count(&of).await.unwrap_err();
    assert!(matches!(away, Error::Unavailable(_)), "{away:?}");
    assert_eq!(index.count(&of).await.unwrap(), 1);
}

/// The server does all that it is asked, and the first answer to everything is lost.
#[tokio::test]
async fn lost_answers_do_no_harm() {
    for layout in [Layout::PerAgent, Layout::Shared] {
        let side = Side::stand_in(layout);
        let stand_in = side.stand_in.as_ref().unwrap();
        let (index, of) = (side.node(), fresh("agent"));
        let every_second = || (0..200).flat_map(|_| [Fault::Lost, Fault::Pass]);
        stand_in.fail(every_second());
        let put = entry("kept").with(leaning(&index, 0.5));
        index.put(&of, vec![put, entry("goes")]).await.unwrap();
        index.rename(&of, "another").await.unwrap();
        assert!(!side.node().ensure(&of).await.unwrap());
        assert_eq!(index.count(&of).await.unwrap(), 2);
        let waiting = index.waiting(&of, 10).await.unwrap();
        assert_eq!(waiting.len(), 1);
        // The count is taken before, so that a delete that is made twice counts once.
        assert_eq!(index.forget_ids(&of, &[waiting[0].id]).await.unwrap(), 1);
        assert_eq!(texts(&index, &of, &ALL).await, ["kept"]);
        index.remove(&of).await.unwrap();
        assert_eq!(index.count(&of).await.unwrap(), 0);
        assert!(stand_in.faults_left() > 0);
    }
}

/// It takes the call and never says a word.
#[tokio::test]
async fn a_silent_server_is_not_waited_for() {
    let side = Side::stand_in(Layout::PerAgent);
    let index = side.node();
    side.stand_in.as_ref().unwrap().fail([Fault::Hang]);
    let start = Instant::now();
    let away = index.ping().await.unwrap_err();
    assert!(matches!(away, Error::Unavailable(_)), "{away:?}");
    assert!(start.elapsed() < Duration::from_millis(3_500), "{:?}", start.elapsed());
    index.ping().await.unwrap();
}

#[tokio::test]
async fn the_key_is_used_and_never_shown() {
    let side = Side::stand_in(Layout::PerAgent);
    let stand_in = side.stand_in.as_ref().unwrap();
    stand_in.demand_key(KEY);
    let mut server =
        Server { url: side.url.clone(), api_key: Some(KEY.to_owned()), layout: Layout::PerAgent };
    let index = Qdrant::connect(&server, model()).unwrap();
    index.ping().await.unwrap();
    index.put(&fresh("agent"), vec![entry("text")]).await.unwrap();
    stand_in.fail([Fault::Refuse(format!("the key {KEY} may not do this"))]);
    let refused = index.count(&fresh("agent")).await.unwrap_err();
    assert_eq!(refused.to_string(), "the vector store refused: the key … may not do this");
    for shown in [format!("{index:?}"), format!("{server:?}"), format!("{refused:?}")] {
        assert!(!shown.contains(KEY), "{shown}");
    }

    for key in [None, Some("wrong"), Some("")] {
        server.api_key = key.map(str::to_owned);
        let refused = Qdrant::connect(&server, model()).unwrap().ping().await;
        assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    }
    server.api_key = Some("bad\nkey".to_owned());
    let invalid = Qdrant::connect(&server, model()).unwrap_err();
    assert!(matches!(invalid, Error::Invalid(_)));
    assert!(!invalid.to_string().contains("bad"));
}

#[test]
fn an_address_is_checked() {
    let connect = |url: &str| {
        let server = Server { url: url.to_owned(), api_key: None, layout: Layout::PerAgent };
        Qdrant::connect(&server, model())
    };
    for url in ["", "localhost", "/path", "ftp://localhost", "http://", "not a url"] {
        assert!(matches!(connect(url), Err(Error::Invalid(_))), "{url:?}");
    }
    let shown = format!("{:?}", connect("http://user:secret@localhost:6334").unwrap());
    assert!(shown.contains("localhost:6334") && !shown.contains("secret"), "{shown}");
    connect("https://example.com").unwrap();
}
