//! The page at the front door: the one that was built in, or the words that stand in its place.

use artel_testkit::client::{Answer, Client, answer};
use reqwest::Method;

use crate::Side;

/// Without an account: the page is there before anybody has logged in.
fn stranger(url: &str) -> Client {
    Client::new(url, "").unwrap()
}

fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    answer.headers.get(name).map_or("", |value| value.to_str().unwrap())
}

async fn get(client: &Client, path: &str, more: &[(&str, &str)]) -> Answer {
    let mut request = client.request(Method::GET, path);
    for (name, value) in more {
        request = request.header(*name, *value);
    }
    answer(request).await.unwrap()
}

/// The files that a page names, by their paths.
fn named(html: &str) -> Vec<String> {
    let parts = html.split('"').filter(|part| part.starts_with("/assets/"));
    parts.map(str::to_owned).collect()
}

/// PF-5.5: what a browser gets may load nothing from elsewhere, is put into no frame, and is what it says it is; what it
/// has already is not sent again.
#[tokio::test]
async fn the_front_door_is_a_page() {
    let world = Side::Embedded.start();
    let nobody = stranger(world.artel.url());
    let front = get(&nobody, "/", &[]).await;
    assert_eq!(front.status, 200);
    assert_eq!(header(&front, "content-type"), "text/html; charset=utf-8");
    assert_eq!(header(&front, "cache-control"), "no-cache");
    assert_eq!(header(&front, "x-content-type-options"), "nosniff");
    assert_eq!(header(&front, "referrer-policy"), "no-referrer");
    let policy = header(&front, "content-security-policy");
    for part in
        ["default-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"]
    {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("script-src") && !policy.contains("unsafe-eval"), "{policy}");
    let html = front.body.as_str().unwrap();
    assert!(html.contains("<title>"), "{html}");
    if html.contains("was not built") {
        for word in ["make page", "/docs", "/openapi.json"] {
            assert!(html.contains(word), "{word}");
        }
    }
    let tag = header(&front, "etag");
    let again = get(&nobody, "/", &[("if-none-match", tag)]).await;
    assert_eq!((again.status.as_u16(), again.body.is_null()), (304, true));
    assert_eq!(get(&nobody, "/", &[("if-none-match", "\"other\"")]).await.status, 200);
    let packed = get(&nobody, "/", &[("accept-encoding", "gzip")]).await;
    if header(&packed, "content-encoding") == "gzip" {
        assert_ne!(header(&packed, "etag"), tag, "another form of it has another mark");
    }
    let head = answer(nobody.request(Method::HEAD, "/")).await.unwrap();
    assert_eq!((head.status.as_u16(), head.body.is_null()), (200, true));
    assert_eq!(answer(nobody.request(Method::POST, "/")).await.unwrap().status, 405);
}

/// PF-5.5: every file that the page names is there, as what it is, and may be kept for ever; what is not part of it does
/// not exist, however it is asked for.
#[tokio::test]
async fn files_of_the_page_and_no_others() {
    let world = Side::Embedded.start();
    let nobody = stranger(world.artel.url());
    let front = get(&nobody, "/", &[]).await;
    for path in named(front.body.as_str().unwrap()) {
        let file = get(&nobody, &path, &[]).await;
        assert_eq!(file.status, 200, "{path}");
        assert!(header(&file, "cache-control").contains("immutable"), "{path}");
        let kind = header(&file, "content-type");
        assert!(
            kind != "application/octet-stream" && !kind.starts_with("text/html"),
            "{path}: {kind}"
        );
        let again = get(&nobody, &path, &[("if-none-match", header(&file, "etag"))]).await;
        assert_eq!(again.status, 304, "{path}");
        assert_eq!(answer(nobody.request(Method::DELETE, &path)).await.unwrap().status, 404);
    }
    for path in [
        "/assets",
        "/assets/nothing-1234.js",
        "/assets/..%2findex.html",
        "/assets/../Cargo.toml",
        "/.gitignore",
    ] {
        let nothing = get(&nobody, path, &[]).await;
        assert_eq!(nothing.status, 404, "{path}");
        assert_eq!(nothing.body["error_code"], "no_such_route", "{path}");
    }
}
