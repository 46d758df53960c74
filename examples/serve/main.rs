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
mod body;
mod row;

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Router};
use oblivio::Model;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::answer::{Refusal, json_response, response};
use crate::body::received;
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
    /// How long connections may stay open once the server is asked to stop.
    drain: Duration,
}

const LIMITS: Limits = Limits {
    bytes: 4 << 20,
    rows: 10_000,
    requests: 64,
    time: Duration::from_secs(10),
    drain: Duration::from_secs(15),
};

/// A request's place among those that are worked on, for as long as anybody works on it.
#[derive(Clone)]
struct Place {
    _permit: Arc<OwnedSemaphorePermit>,
    /// When nobody waits for the answer any more.
    until: Instant,
}

fn main() -> Result<()> {
    // Batches keep a core busy: more threads than cores would only hold more memory.
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.enable_all().max_blocking_threads(cores);
    runtime.build()?.block_on(run())
}

async fn run() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().context("usage: serve MODEL [ADDRESS]")?;
    let address = arguments.next();
    let address = address.as_deref().unwrap_or("127.0.0.1:8080");
    let bytes = std::fs::read(&path).with_context(|| format!("cannot read {path}"))?;
    let model = Model::from_bytes(&bytes).with_context(|| path.clone())?;
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
    let stop = asked_to_stop()?;
    eprintln!("{path} is served on http://{}", listener.local_addr()?);
    serve(listener, model, LIMITS, stop).await
}

/// Serves until it is asked to stop. Requests under way are answered first; a client that is silent does not hold it up for longer than
/// `drain`.
async fn serve(
    listener: TcpListener,
    model: Model,
    limits: Limits,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    let (tell, told) = oneshot::channel();
    let stop = async {
        stop.await;
        tell.send(()).ok();
    };
    let server = axum::serve(listener, router(model, limits)).with_graceful_shutdown(stop);
    let drained = async {
        told.await.ok();
        tokio::time::sleep(limits.drain).await;
    };
    tokio::select! {
        served = server => Ok(served?),
        () = drained => {
            eprintln!("connections that are still open are closed");
            Ok(())
        }
    }
}

/// Ctrl-C, or the signal that service managers send. It is listened for from now on, before anybody is told that the server is up.
#[cfg(unix)]
fn asked_to_stop() -> Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn asked_to_stop() -> Result<impl Future<Output = ()>> {
    Ok(async { tokio::signal::ctrl_c().await.unwrap_or_default() })
}

fn router(model: Model, limits: Limits) -> Router {
    let service = Arc::new(Service::new(model));
    let gate = Arc::new(Semaphore::new(limits.requests));
    Router::new()
        .route("/predict", post(predict))
        .route(
            "/batch",
            post(move |state, place, body| batch(state, place, limits.rows, body)),
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
async fn within(
    time: Duration,
    gate: Arc<Semaphore>,
    mut request: Request,
    next: Next,
) -> Response {
    let until = Instant::now() + time;
    let work = async {
        if let Ok(permit) = gate.acquire_owned().await {
            let place = Place {
                _permit: Arc::new(permit),
                until,
            };
            request.extensions_mut().insert(place);
        }
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
    let row = received(bytes)?;
    let answer = service.with_rows(|rows| service.predict(rows, &row))?;
    Ok(json_response(StatusCode::OK, &answer))
}

async fn batch(
    State(service): State<Arc<Service>>,
    Extension(place): Extension<Place>,
    most: usize,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    // Thousands of rows take milliseconds: not on a thread that others wait for. The place goes along, since work that was begun goes on
    // when its request is given up.
    let work = tokio::task::spawn_blocking(move || {
        let answers = service.batch(&received(bytes)?, most, place.until)?;
        Ok(response(StatusCode::OK, answers))
    });
    work.await.unwrap_or_else(|_| {
        Err(Refusal::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the batch could not be scored",
        ))
    })
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
