//! The API's own description, and a page to read it.

use std::sync::LazyLock;

use artel_domain::event::{Event, Signal};
use axum::Router;
use axum::response::IntoResponse;
use http::header;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, InfoBuilder, License, OpenApi, OpenApiBuilder, SecurityRequirement,
};
use utoipa::{PartialSchema, ToSchema};
use utoipa_swagger_ui::{Config, SwaggerUi};

use super::Http;

const SCHEME: &str = "bearer";

/// What the description says before any route.
pub(super) fn description() -> OpenApi {
    let about = "Every project of every user has a team of AI agents. \
                 Lists take `limit` and `offset`; a trailing slash makes no difference; errors have `detail`, \
                 `error_code` and `timestamp`; what is not yours does not exist.";
    let info = InfoBuilder::new()
        .title("Artel")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(about))
        .license(Some(License::new("MIT OR Apache-2.0")))
        .build();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build();
    // No body refers to the events' payloads, as a stream has no schema of its own; they are part of the contract
    // all the same.
    let mut payloads = vec![
        (Event::name().into_owned(), Event::schema()),
        (Signal::name().into_owned(), Signal::schema()),
    ];
    Event::schemas(&mut payloads);
    Signal::schemas(&mut payloads);
    let components = ComponentsBuilder::new()
        .security_scheme(SCHEME, SecurityScheme::Http(bearer))
        .schemas_from_iter(payloads)
        .build();
    OpenApiBuilder::new()
        .info(info)
        .components(Some(components))
        .security(Some([SecurityRequirement::new(SCHEME, Vec::<String>::new())]))
        .build()
}

/// The page.
pub(super) fn page() -> Router<Http> {
    SwaggerUi::new("/docs").config(Config::new(["/openapi.json"])).into()
}

/// This description.
#[utoipa::path(
    get, path = "/openapi.json", tag = "system",
    responses((status = 200, description = "OpenAPI 3.1", content_type = "application/json", body = Object)),
    security(())
)]
pub(super) async fn openapi_json() -> impl IntoResponse {
    static TEXT: LazyLock<String> =
        LazyLock::new(|| super::openapi().to_json().unwrap_or_default());
    ([(header::CONTENT_TYPE, "application/json")], TEXT.as_str())
}
