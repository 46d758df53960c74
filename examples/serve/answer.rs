//! Answers, and what is refused: always JSON.

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value as Json, json};

/// A request that is not granted: `{"error": …}`, with the number of the row in a batch.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    problem: String,
    row: Option<usize>,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, problem: impl Into<String>) -> Self {
        Self {
            status,
            problem: problem.into(),
            row: None,
        }
    }

    pub(crate) fn in_row(self, row: usize) -> Self {
        Self {
            row: Some(row),
            ..self
        }
    }
}

impl From<oblivio::Error> for Refusal {
    /// JSON that is well formed, and yet no row of this model.
    fn from(error: oblivio::Error) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
    }
}

impl From<Refusal> for Response {
    fn from(refusal: Refusal) -> Self {
        let mut answer = json!({ "error": refusal.problem });
        if let Some(row) = refusal.row {
            answer["row"] = json!(row);
        }
        json_response(refusal.status, &answer)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        self.into()
    }
}

pub(crate) fn json_response(status: StatusCode, answer: &Json) -> Response {
    response(status, answer.to_string())
}

/// An answer that is JSON already.
pub(crate) fn response(status: StatusCode, json: String) -> Response {
    let mut response = Response::new(Body::from(json));
    *response.status_mut() = status;
    let kind = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
