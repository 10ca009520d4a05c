//! What many routes may answer, described once.

use std::collections::BTreeMap;

use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

use super::error::ErrorBody;

type Responses = BTreeMap<String, RefOr<Response>>;

/// Every route behind the guard.
pub(super) enum Guarded {}

impl IntoResponses for Guarded {
    fn responses() -> Responses {
        described([(401, "No token, or not a good one"), (429, "Too many requests")])
    }
}

/// Every route behind the guard that names an object.
pub(super) enum Lookup {}

impl IntoResponses for Lookup {
    fn responses() -> Responses {
        let mut all = Guarded::responses();
        all.extend(described([(404, "There is no such thing, or it is not yours")]));
        all
    }
}

/// Every route that takes a body.
pub(super) enum Intake {}

impl IntoResponses for Intake {
    fn responses() -> Responses {
        described([
            (408, "The body took too long to arrive"),
            (413, "Too large"),
            (415, "Not JSON"),
            (422, "Not valid; every fault is named"),
        ])
    }
}

fn described<const N: usize>(all: [(u16, &str); N]) -> Responses {
    let content = Content::new(Some(Ref::from_schema_name(ErrorBody::name())));
    let response = |about: &str| {
        let described = ResponseBuilder::new().description(about);
        RefOr::T(described.content("application/json", content.clone()).build())
    };
    all.into_iter().map(|(status, about)| (status.to_string(), response(about))).collect()
}
