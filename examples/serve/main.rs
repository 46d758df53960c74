//! Scores over HTTP: `serve MODEL [ADDRESS]`, on 127.0.0.1:8080 unless told otherwise.
//!
//! | request | answer |
//! |---|---|
//! | `GET /health` | that the server is up |
//! | `GET /schema` | the columns of a row |
//! | `POST /predict` | the score of a row, an object by column name |
//! | `POST /batch` | the scores of an array of rows |
//!
//! A server for a trusted network: it knows nothing of users or encryption, which belong into a proxy in front of it.

mod answer;
mod row;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use oblivio::Model;
use serde_json::{Map, Value as Json, json};
use tokio::sync::Semaphore;

use crate::answer::{Refusal, body, json_response};
use crate::row::Service;

/// What a client may ask for.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Bytes of a request.
    bytes: usize,
    /// Rows of a batch.
    rows: usize,
    /// Requests that are worked on at a time; others wait.
    requests: usize,
    /// How long a request may wait and be worked on.
    time: Duration,
}

const LIMITS: Limits = Limits {
    bytes: 4 << 20,
    rows: 10_000,
    requests: 64,
    time: Duration::from_secs(10),
};

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().context("usage: serve MODEL [ADDRESS]")?;
    let address = arguments.next();
    let address = address.as_deref().unwrap_or("127.0.0.1:8080");
    let bytes = std::fs::read(&path).with_context(|| format!("cannot read {path}"))?;
    let model = Model::from_bytes(&bytes).with_context(|| path.clone())?;
    let listener = tokio::net::TcpListener::bind(address).await;
    let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
    eprintln!("{path} is served on http://{}", listener.local_addr()?);
    axum::serve(listener, router(model, LIMITS))
        .with_graceful_shutdown(asked_to_stop())
        .await?;
    Ok(())
}

/// Ctrl-C, or the signal that service managers send. Requests under way are answered first.
async fn asked_to_stop() {
    let interrupted = async { tokio::signal::ctrl_c().await.ok() };
    #[cfg(unix)]
    let terminated = async {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => signal.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<Option<()>>();
    tokio::select! {
        _ = interrupted => {}
        _ = terminated => {}
    }
}

fn router(model: Model, limits: Limits) -> Router {
    let service = Arc::new(Service::new(model));
    let gate = Arc::new(Semaphore::new(limits.requests));
    Router::new()
        .route("/predict", post(predict))
        .route(
            "/batch",
            post(move |state, body| batch(state, limits.rows, body)),
        )
        .layer(DefaultBodyLimit::max(limits.bytes))
        .layer(middleware::from_fn(move |request, next| {
            within(limits.time, gate.clone(), request, next)
        }))
        // Outside the gate: these answer when all else is busy.
        .route(
            "/health",
            get(async || json_response(StatusCode::OK, &json!({ "status": "ok" }))),
        )
        .route("/schema", get(schema))
        .fallback(async || {
            let known = "ask for /health, /schema, /predict or /batch";
            Refusal::new(StatusCode::NOT_FOUND, known)
        })
        .with_state(service)
}

/// One request of those that are worked on at a time, for no longer than is allowed.
async fn within(time: Duration, gate: Arc<Semaphore>, request: Request, next: Next) -> Response {
    let work = async {
        let _place = gate.acquire().await;
        next.run(request).await
    };
    tokio::time::timeout(time, work).await.unwrap_or_else(|_| {
        let problem = format!("the request took longer than {} s", time.as_secs_f64());
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, problem).into()
    })
}

async fn schema(State(service): State<Arc<Service>>) -> Response {
    json_response(StatusCode::OK, service.schema())
}

async fn predict(
    State(service): State<Arc<Service>>,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let row: Map<String, Json> = body(bytes, "an object of values by column name")?;
    let answer = service.with_rows(|rows| service.predict(rows, &row))?;
    Ok(json_response(StatusCode::OK, &answer))
}

async fn batch(
    State(service): State<Arc<Service>>,
    most: usize,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    // Thousands of rows take milliseconds: not on a thread that others wait for.
    let work = tokio::task::spawn_blocking(move || {
        let batch: Vec<Map<String, Json>> = body(bytes, "an array of objects by column name")?;
        if batch.len() > most {
            let problem = format!(
                "{} rows are more than {most}; send several batches",
                batch.len()
            );
            return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, problem));
        }
        let answers = service.with_rows(|rows| {
            let each = batch.iter().enumerate();
            each.map(|(number, row)| service.predict(rows, row).map_err(|r| r.in_row(number)))
                .collect::<Result<Vec<Json>, Refusal>>()
        })?;
        Ok(json_response(StatusCode::OK, &Json::Array(answers)))
    });
    work.await.unwrap_or_else(|_| {
        Err(Refusal::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the batch could not be scored",
        ))
    })
}

#[cfg(test)]
mod tests;
