//! The HTTP face: maps requests to the engine's verbs, and its errors to answers.
//!
//! A request passes, from outside in: panics caught, logged with its id, its `Host` and `Origin` checked, a last
//! slash dropped, its token checked and counted; then its route.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use artel_engine::App;
use axum::Router;
use axum::extract::Request;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Response;
use metrics_exporter_prometheus::PrometheusHandle;
use tower::util::BoxCloneSyncService;
use tower::{Layer, ServiceExt};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

mod admin;
mod agents;
mod approvals;
mod auth;
mod chat;
mod docs;
mod error;
mod events;
mod extract;
mod memory;
mod models;
mod observe;
mod origin;
mod page;
mod plans;
mod programs;
mod projects;
mod responses;
mod spaces;
mod system;
mod tools;

pub(crate) use events::{EventStream, Tap};
pub(crate) use origin::Hosts;
pub(crate) use page::is_built as has_page;

/// What every handler can reach.
#[derive(Clone)]
pub(crate) struct Http(Arc<Inner>);

struct Inner {
    app: App,
    metrics: PrometheusHandle,
    hosts: Hosts,
    body_limit: usize,
    heartbeat: Duration,
    started: Instant,
    draining: AtomicBool,
}

/// What the HTTP side needs to know of the configuration.
pub(crate) struct Settings {
    pub hosts: Hosts,
    pub cors_origins: Vec<String>,
    pub body_limit: usize,
    pub heartbeat: Duration,
}

/// The whole of it, as one service.
pub(crate) type Service = BoxCloneSyncService<Request, Response, std::convert::Infallible>;

impl Http {
    pub(crate) fn new(app: App, metrics: PrometheusHandle, settings: &Settings) -> Self {
        Self(Arc::new(Inner {
            app,
            metrics,
            hosts: settings.hosts.clone(),
            body_limit: settings.body_limit,
            heartbeat: settings.heartbeat,
            started: Instant::now(),
            draining: AtomicBool::new(false),
        }))
    }

    fn app(&self) -> &App {
        &self.0.app
    }

    /// Says so in `/ready`, and ends the streams.
    pub(crate) fn drain(&self) {
        self.0.draining.store(true, Ordering::Relaxed);
        self.0.app.close_streams();
    }

    /// Builds the service.
    pub(crate) fn service(self, settings: &Settings) -> Service {
        let (router, _) = routes().split_for_parts();
        let router: Router = router
            .merge(docs::page())
            .route_layer(from_fn(observe::note_route))
            .fallback(page::file_or_nothing)
            .method_not_allowed_fallback(error::no_such_method)
            .with_state(self.clone());
        let guarded = from_fn_with_state(self.clone(), auth::guard).layer(router);
        let trimmed = tower::util::MapRequestLayer::new(trim_last_slash).layer(guarded);
        let shared = origin::cors(&settings.cors_origins).layer(trimmed);
        let checked = from_fn_with_state(self, origin::check).layer(shared);
        let caught = CatchPanicLayer::custom(error::panicked).layer(checked);
        let observed = from_fn(observe::request).layer(caught);
        BoxCloneSyncService::new(observed.map_response(axum::response::IntoResponse::into_response))
    }
}

/// The description of every route.
pub(crate) fn openapi() -> OpenApi {
    routes().split_for_parts().1
}

fn routes() -> OpenApiRouter<Http> {
    OpenApiRouter::with_openapi(docs::description())
        .routes(routes!(page::front))
        .routes(routes!(system::health))
        .routes(routes!(system::ready))
        .routes(routes!(system::metrics))
        .routes(routes!(docs::openapi_json))
        .routes(routes!(auth::log_in))
        .routes(routes!(auth::redeem))
        .routes(routes!(auth::me))
        .routes(routes!(auth::set_preferences))
        .routes(routes!(projects::create, projects::list))
        .routes(routes!(projects::get, projects::update, projects::delete))
        .routes(routes!(agents::create, agents::list))
        .routes(routes!(agents::get, agents::replace, agents::patch, agents::delete))
        .routes(routes!(memory::list, memory::add, memory::clear))
        .routes(routes!(memory::forget))
        .routes(routes!(memory::search))
        .routes(routes!(memory::prune))
        .routes(routes!(memory::stats))
        .routes(routes!(memory::export))
        .routes(routes!(memory::import))
        .routes(routes!(spaces::agent_status))
        .routes(routes!(spaces::agent_metrics))
        .routes(routes!(spaces::statuses))
        .routes(routes!(spaces::spending))
        .routes(routes!(spaces::alerts))
        .routes(routes!(spaces::register))
        .routes(routes!(spaces::deregister))
        .routes(routes!(spaces::invalidate))
        .routes(routes!(spaces::space))
        .routes(routes!(spaces::health))
        .routes(routes!(spaces::clean_up))
        .routes(routes!(spaces::reset))
        .routes(routes!(spaces::clear_cache))
        .routes(routes!(chat::create, chat::list))
        .routes(routes!(chat::get, chat::change, chat::delete))
        .routes(routes!(chat::messages))
        .routes(routes!(chat::send))
        .routes(routes!(chat::task))
        .routes(routes!(chat::cancel))
        .routes(routes!(plans::create, plans::list))
        .routes(routes!(plans::get, plans::edit))
        .routes(routes!(plans::tasks))
        .routes(routes!(plans::execute))
        .routes(routes!(plans::approve))
        .routes(routes!(plans::reject))
        .routes(routes!(plans::cancel))
        .routes(routes!(plans::retry))
        .routes(routes!(models::list))
        .routes(routes!(programs::runtimes))
        .routes(routes!(programs::process))
        .routes(routes!(programs::start))
        .routes(routes!(programs::stop))
        .routes(routes!(programs::logs))
        .routes(routes!(programs::follow))
        .routes(routes!(programs::message))
        .routes(routes!(programs::answer))
        .routes(routes!(
            programs::credentials,
            programs::set_credentials,
            programs::clear_credentials
        ))
        .routes(routes!(tools::available))
        .routes(routes!(tools::execute))
        .routes(routes!(tools::list))
        .routes(routes!(tools::preferences, tools::allow))
        .routes(routes!(tools::disallow))
        .routes(routes!(tools::get))
        .routes(routes!(tools::approve))
        .routes(routes!(tools::reject))
        .routes(routes!(tools::prepared))
        .routes(routes!(tools::result))
        .routes(routes!(tools::announce, tools::client, tools::leave))
        .routes(routes!(tools::clients))
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::confirm_many))
        .routes(routes!(approvals::follow))
        .routes(routes!(approvals::get))
        .routes(routes!(approvals::approve))
        .routes(routes!(approvals::reject))
        .routes(routes!(approvals::confirm))
        .routes(routes!(events::stream))
        .routes(routes!(events::of_session))
        .routes(routes!(admin::users))
        .routes(routes!(admin::spaces))
        .routes(routes!(admin::reset_space))
        .routes(routes!(admin::nodes))
}

/// `/my/projects/` and `/my/projects` are one. The documentation's pages have their own idea of it.
fn trim_last_slash(mut request: Request) -> Request {
    let path = request.uri().path();
    if path.len() > 1 && path.ends_with('/') && !path.starts_with("/docs") {
        let trimmed = path.trim_end_matches('/');
        let trimmed = if trimmed.is_empty() { "/" } else { trimmed };
        let target = match request.uri().query() {
            Some(query) => format!("{trimmed}?{query}"),
            None => trimmed.to_owned(),
        };
        // What was a valid path stays one without its end.
        if let Ok(uri) = target.parse() {
            *request.uri_mut() = uri;
        }
    }
    request
}
