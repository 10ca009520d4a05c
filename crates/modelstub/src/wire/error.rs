//! Errors in each provider's own shape.

use serde_json::{Value, json};

use super::{Wire, id};

/// Why a request is not answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    /// The provider's own code; without it, what the status usually comes with.
    pub(crate) error: Option<String>,
    pub(crate) message: Option<String>,
    /// As in the header; Gemini repeats it in the body.
    pub(crate) retry_after: Option<String>,
}

impl Refusal {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: Some(message.into()), ..Self::default() }
    }

    pub(crate) fn body(&self, wire: Wire) -> Value {
        match wire {
            Wire::Chat | Wire::Responses | Wire::Embeddings => self.openai(),
            Wire::Messages => self.anthropic(),
            Wire::Gemini => self.gemini(),
        }
    }

    fn openai(&self) -> Value {
        let (kind, code, message) = match (self.status, self.error.as_deref()) {
            (_, Some("insufficient_quota")) => (
                "insufficient_quota",
                Some("insufficient_quota"),
                "You exceeded your current quota, please check your plan and billing details.",
            ),
            (status, Some(code)) if status < 500 => {
                ("invalid_request_error", Some(code), "The request was refused.")
            }
            (_, Some(code)) => ("server_error", Some(code), "The server had an error."),
            (401, None) => {
                ("invalid_request_error", Some("invalid_api_key"), "Incorrect API key provided.")
            }
            (404, None) => (
                "invalid_request_error",
                Some("model_not_found"),
                "The model does not exist or you do not have access to it.",
            ),
            (429, None) => ("requests", Some("rate_limit_exceeded"), "Rate limit reached."),
            (status, None) if status < 500 => {
                ("invalid_request_error", None, "The request was refused.")
            }
            (503, None) => {
                ("server_error", None, "The engine is currently overloaded, try again later.")
            }
            (_, None) => ("server_error", None, "The server had an error."),
        };
        json!({"error": {
            "message": self.message.as_deref().unwrap_or(message),
            "type": kind, "param": null, "code": code,
        }})
    }

    fn anthropic(&self) -> Value {
        let (kind, message) = match self.status {
            401 => ("authentication_error", "invalid x-api-key"),
            402 => ("billing_error", "There is an issue with your billing."),
            403 => ("permission_error", "Your key may not use this resource."),
            404 => ("not_found_error", "The resource could not be found."),
            413 => ("request_too_large", "Request exceeds the maximum size"),
            429 => ("rate_limit_error", "This request would exceed your rate limit."),
            504 => ("timeout_error", "The request timed out."),
            529 => ("overloaded_error", "Overloaded"),
            status if status < 500 => ("invalid_request_error", "The request was refused."),
            _ => ("api_error", "Internal server error"),
        };
        json!({
            "type": "error",
            "error": {
                "type": self.error.as_deref().unwrap_or(kind),
                "message": self.message.as_deref().unwrap_or(message),
            },
            "request_id": id("req_01", 22),
        })
    }

    fn gemini(&self) -> Value {
        let (status, message) = match self.status {
            401 => ("UNAUTHENTICATED", "Request had invalid authentication credentials."),
            403 => ("PERMISSION_DENIED", "The caller does not have permission."),
            404 => ("NOT_FOUND", "The model is not found."),
            409 => ("ABORTED", "The operation was aborted."),
            429 => ("RESOURCE_EXHAUSTED", "You exceeded your current quota."),
            499 => ("CANCELLED", "The operation was cancelled."),
            501 => ("UNIMPLEMENTED", "The operation is not supported."),
            503 => ("UNAVAILABLE", "The model is overloaded. Please try again later."),
            504 => ("DEADLINE_EXCEEDED", "The deadline was exceeded."),
            status if status < 500 => ("INVALID_ARGUMENT", "The request was refused."),
            _ => ("INTERNAL", "An internal error has occurred."),
        };
        // Of a bad key the service says 400 and INVALID_ARGUMENT, and the reason in the details.
        let bad_key = self.error.as_deref() == Some(API_KEY_INVALID);
        let named = self.error.as_deref().filter(|_| !bad_key);
        let mut error = json!({
            "code": self.status,
            "message": self.message.as_deref().unwrap_or(message),
            "status": named.unwrap_or(status),
        });
        let mut details = Vec::new();
        if bad_key {
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": API_KEY_INVALID, "domain": "googleapis.com",
            }));
        }
        let seconds = self.retry_after.as_deref().and_then(|text| text.parse::<u64>().ok());
        if let Some(seconds) = seconds {
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": format!("{seconds}s"),
            }));
        }
        if !details.is_empty() {
            error["details"] = details.into();
        }
        json!({ "error": error })
    }
}

const API_KEY_INVALID: &str = "API_KEY_INVALID";
