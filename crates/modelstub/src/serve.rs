//! One request: which service it is for, whether it may ask, which rule answers it.
//!
//! What comes of it is recorded in any case, also when it is refused.

mod door;
mod endpoint;
mod listing;

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, header};
use axum::response::Response;
use serde_json::{Value, json};

use endpoint::Endpoint;

use crate::ledger::{Ledger, Ticket, record};
use crate::player::{Chosen, Player};
use crate::reply::Answer;
use crate::scenario::{Failure, Fault, Manners, Scenario, Usage};
use crate::wire::error::Refusal;
use crate::wire::{self, Asked, Delivery, Wire};
use crate::{embed, play, strict};

/// The limit of Anthropic's service; the others are near it.
const MAX_BODY: usize = 32 * 1024 * 1024;
/// Of a user's text in an error message.
const QUOTED_CHARS: usize = 200;

/// What all connections of a stub share.
pub(crate) struct Shared {
    player: Mutex<Player>,
    pub(crate) ledger: Arc<Ledger>,
}

impl Shared {
    pub(crate) fn new(scenario: Scenario, ledger: Ledger) -> Self {
        Self { player: Mutex::new(Player::new(scenario)), ledger: Arc::new(ledger) }
    }

    pub(crate) fn set(&self, scenario: Scenario) {
        *self.player() = Player::new(scenario);
    }

    fn player(&self) -> MutexGuard<'_, Player> {
        self.player.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers, and records that it did.
pub(crate) async fn answer(
    shared: Arc<Shared>,
    request: Request<Body>,
) -> Result<Response, Infallible> {
    let (head, body) = request.into_parts();
    let endpoint = Endpoint::of(&head);
    let read = read_body(&head.headers, body).await;
    Ok(match read {
        Ok((bytes, body)) => respond(&shared, &head, endpoint, &bytes, body).await,
        Err(refusal) => {
            let recorded = record(&head.method, &head.uri, &head.headers);
            refuse(&refusal, endpoint.wire(), shared.ledger.add(recorded, 0))
        }
    })
}

async fn respond(
    shared: &Shared,
    head: &Parts,
    endpoint: Endpoint,
    bytes: &Bytes,
    body: Value,
) -> Response {
    let mut recorded = record(&head.method, &head.uri, &head.headers);
    recorded.body = body.clone();
    let query = head.uri.query().unwrap_or_default();
    let scenario = Setup::of(&shared.player());
    let admitted = door::admit(scenario.key.as_deref(), endpoint.wire(), &head.headers, query);

    let Endpoint::Ask(wire) = endpoint else {
        let ticket = shared.ledger.add(recorded, bytes.len());
        let answer = admitted.and_then(|()| aside(&endpoint, query, bytes, &scenario.models));
        return match answer {
            Ok(body) => play::json(200, &body, endpoint.wire(), ticket),
            Err(refusal) => refuse(&refusal, endpoint.wire(), ticket),
        };
    };

    let raw = String::from_utf8_lossy(bytes).into_owned();
    let asked = Asked::read(wire, head.uri.path(), query, body, raw);
    recorded.wire = Some(wire);
    recorded.model = Some(asked.model.clone());
    let sound = admitted.and_then(|()| match scenario.manners {
        Manners::Strict => strict::check(&asked, &head.headers),
        Manners::Lenient => Ok(()),
    });
    if let Err(refusal) = sound {
        return refuse(&refusal, wire, shared.ledger.add(recorded, bytes.len()));
    }
    // The record is made before the player is free again: tests compare the order of both.
    let (chosen, ticket) = {
        let mut player = shared.player();
        let chosen = player.choose(&asked);
        recorded.rule = chosen.as_ref().map(|chosen| chosen.rule.clone());
        (chosen, shared.ledger.add(recorded, bytes.len()))
    };
    match chosen {
        Some(chosen) => carry_out(&asked, &chosen, scenario.usage, ticket).await,
        None if wire == Wire::Embeddings => embeddings(&asked, ticket),
        None => no_rule(&asked, ticket),
    }
}

/// What of a scenario is needed besides its rules.
struct Setup {
    key: Option<String>,
    models: Vec<String>,
    manners: Manners,
    usage: Usage,
}

impl Setup {
    fn of(player: &Player) -> Self {
        let scenario = player.scenario();
        Self {
            key: scenario.key.clone(),
            models: scenario.models.clone(),
            manners: scenario.manners,
            usage: scenario.usage,
        }
    }
}

async fn carry_out(asked: &Asked, chosen: &Chosen, usage: Usage, ticket: Ticket) -> Response {
    let fault = chosen.step.fault.as_ref();
    match fault {
        Some(Fault::Hang {}) => {
            // Kept until the client goes away: then this future is dropped, and it with it.
            let _ticket = ticket;
            return std::future::pending().await;
        }
        Some(Fault::Slow { delay_ms }) => {
            tokio::time::sleep(Duration::from_millis(*delay_ms)).await;
        }
        Some(Fault::Status(failure)) => return fail(asked.wire, failure, ticket),
        Some(Fault::LateError { status, error, message, .. })
            if asked.delivery == Delivery::Whole =>
        {
            let (error, message) = (error.clone(), message.clone());
            let refusal = Refusal { status: *status, error, message, retry_after: None };
            return refuse(&refusal, asked.wire, ticket);
        }
        Some(
            Fault::Cut { .. }
            | Fault::Silent { .. }
            | Fault::Garbage { .. }
            | Fault::LateError { .. },
        )
        | None => {}
    }
    let answer = Answer::new(&chosen.step.reply, &chosen.values, asked, usage);
    match (asked.delivery, fault) {
        (Delivery::Whole, None | Some(Fault::Slow { .. })) => {
            play::json(200, &wire::whole(asked, &answer), asked.wire, ticket)
        }
        (Delivery::Whole, Some(fault)) => {
            play::broken_json(&wire::whole(asked, &answer), fault, asked.wire, ticket)
        }
        (Delivery::Events | Delivery::EventsWithUsage | Delivery::Array, fault) => {
            let frames = wire::stream(asked, &answer);
            play::frames(asked, &frames, answer.pace.delay, fault, ticket)
        }
    }
}

fn fail(wire: Wire, fault: &Failure, ticket: Ticket) -> Response {
    let seconds = |after: &Value| after.as_str().map_or_else(|| after.to_string(), str::to_owned);
    let retry_after = fault.retry_after.as_ref().map(seconds);
    let refusal = Refusal {
        status: fault.status,
        error: fault.error.clone(),
        message: fault.message.clone(),
        retry_after: retry_after.clone(),
    };
    let mut response = match &fault.body {
        Some(body) => play::json(fault.status, body, wire, ticket),
        None => refuse(&refusal, wire, ticket),
    };
    if let Some(Value::String(text)) = &fault.body {
        // A body given as text is sent as it is, not as a JSON string.
        *response.body_mut() = Body::from(text.clone());
        response.headers_mut().remove(header::CONTENT_TYPE);
    }
    if let Some(after) = retry_after {
        insert(response.headers_mut(), "retry-after", &after);
    }
    for (name, value) in &fault.headers {
        insert(response.headers_mut(), name, value);
    }
    response
}

fn insert(headers: &mut HeaderMap, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
        headers.insert(name, value);
    }
}

fn embeddings(asked: &Asked, ticket: Ticket) -> Response {
    match embed::answer(&asked.body) {
        Ok(body) => play::json(200, &body, asked.wire, ticket),
        Err(refusal) => refuse(&refusal, asked.wire, ticket),
    }
}

fn no_rule(asked: &Asked, ticket: Ticket) -> Response {
    let quoted: String = asked.last_user().chars().take(QUOTED_CHARS).collect();
    let message = format!(
        "no rule of the scenario matches: wire {:?}, model {:?}, {} turns, {} tools, \
         ends in a tool result: {}, last user text {quoted:?}",
        asked.wire,
        asked.model,
        asked.turns.len(),
        asked.tools.len(),
        asked.ends_in_tool_result(),
    );
    let mut response = refuse(&Refusal::new(500, message), asked.wire, ticket);
    // The clients of OpenAI and Anthropic heed it: a mistake in a test shows at once.
    insert(response.headers_mut(), "x-should-retry", "false");
    response
}

fn refuse(refusal: &Refusal, wire: Wire, ticket: Ticket) -> Response {
    play::json(refusal.status, &refusal.body(wire), wire, ticket)
}

/// What is answered without rules.
fn aside(
    endpoint: &Endpoint,
    query: &str,
    bytes: &[u8],
    models: &[String],
) -> Result<Value, Refusal> {
    match endpoint {
        Endpoint::CountTokens(wire) => {
            let tokens = wire::estimate(&String::from_utf8_lossy(bytes));
            Ok(match wire {
                Wire::Gemini => json!({
                    "totalTokens": tokens,
                    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}],
                }),
                Wire::Messages | Wire::Chat | Wire::Responses | Wire::Embeddings => {
                    json!({"input_tokens": tokens})
                }
            })
        }
        Endpoint::Models(wire) => Ok(listing::all(*wire, query, models)),
        Endpoint::Model(wire, name) => listing::one(*wire, name, models)
            .ok_or_else(|| Refusal::new(404, format!("there is no model {name:?}"))),
        Endpoint::Root => Ok(json!({})),
        Endpoint::Unknown(_) | Endpoint::Ask(_) => {
            Err(Refusal::new(404, "the stub knows no such method and path"))
        }
    }
}

/// The body as it came and as JSON; without one, `Null`.
async fn read_body(headers: &HeaderMap, body: Body) -> Result<(Bytes, Value), Refusal> {
    let encoding = headers.get(header::CONTENT_ENCODING);
    if let Some(encoding) = encoding.filter(|encoding| *encoding != "identity") {
        let message = format!("the stub reads no compressed bodies: {encoding:?}");
        return Err(Refusal::new(415, message));
    }
    let bytes = to_bytes(body, MAX_BODY)
        .await
        .map_err(|_| Refusal::new(413, format!("the body is larger than {MAX_BODY} bytes")))?;
    if bytes.is_empty() {
        return Ok((bytes, Value::Null));
    }
    let body = serde_json::from_slice(&bytes)
        .map_err(|error| Refusal::new(400, format!("the body is not JSON: {error}")))?;
    Ok((bytes, body))
}
