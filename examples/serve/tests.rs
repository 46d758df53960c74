//! The routes, in process; and the whole server on loopback, since limits and stopping are the connection's business.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{Read, Write};

use axum::body::{Body, to_bytes};
use axum::http::Method;
use oblivio::{Column, Watch};
use oblivio_kernels::learn::Learner;
use serde_json::Value as Json;
use tower::ServiceExt;

use super::*;
use crate::fixture::{ROWS, model, table};

/// The rows of the table as JSON.
fn rows() -> Vec<Json> {
    let Values { hours, school, sex } = Values::of(&table());
    (0..ROWS)
        .map(|i| json!({ "hours": hours[i], "school": school[i], "sex": sex[i] }))
        .collect()
}

struct Values {
    hours: Vec<f64>,
    school: Vec<String>,
    sex: Vec<String>,
}

impl Values {
    fn of(table: &[Column]) -> Self {
        let texts = |column: &Column| {
            let (levels, codes) = column.to_categories();
            codes.iter().map(|c| levels[*c as usize].clone()).collect()
        };
        Self {
            hours: table[0].to_numbers().unwrap(),
            school: texts(&table[1]),
            sex: texts(&table[2]),
        }
    }
}

async fn ask(router: &Router, method: Method, path: &str, body: String) -> (StatusCode, Json) {
    let request = Request::builder().method(method).uri(path);
    let request = request.body(Body::from(body)).unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap())
}

async fn post_to(router: &Router, path: &str, body: &Json) -> (StatusCode, Json) {
    ask(router, Method::POST, path, body.to_string()).await
}

#[tokio::test]
async fn scores_are_those_of_the_model() {
    let model = model(Learner::Ridge);
    let expected = model.predict(&table()[..3], &Watch::default()).unwrap();
    let router = router(model, LIMITS);
    let (status, batch) = post_to(&router, "/batch", &Json::Array(rows())).await;
    assert_eq!(status, StatusCode::OK);
    for (i, row) in rows().iter().enumerate() {
        let (status, found) = post_to(&router, "/predict", row).await;
        assert_eq!(status, StatusCode::OK, "{found}");
        assert_eq!(found, batch[i]);
        let score = found["score"].as_f64().unwrap();
        assert!((score - expected[0].scores[i]).abs() < 1e-12);
    }
}

#[tokio::test]
async fn classes_come_with_their_probabilities() {
    let model = model(Learner::Logistic);
    let expected = model.predict(&table()[..3], &Watch::default()).unwrap();
    let classes = model.classes.clone().unwrap();
    let router = router(model, LIMITS);
    for (i, row) in rows().iter().enumerate() {
        let (_, found) = post_to(&router, "/predict", row).await;
        let score = [expected[0].scores[i]];
        assert_eq!(found["label"], classes.labels[classes.decide(&score)]);
        let chance = found["probabilities"]["yes"].as_f64().unwrap();
        assert!((chance - classes.probabilities(&score).unwrap()[1]).abs() < 1e-12);
    }
}

#[tokio::test]
async fn health_and_schema() {
    let router = router(model(Learner::Ridge), LIMITS);
    let get = |path| ask(&router, Method::GET, path, String::new());
    assert_eq!(get("/health").await.1, json!({ "status": "ok" }));
    let (_, schema) = get("/schema").await;
    assert_eq!(schema["target"], "y");
    assert_eq!(schema["columns"][1]["levels"], json!(["home", "public"]));
    assert_eq!(schema["columns"][2]["sensitive"], true);
    let (status, refused) = get("/nowhere").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(refused["error"].is_string());
}

#[tokio::test]
async fn what_is_no_row_is_refused_with_the_reason() {
    let limits = Limits {
        bytes: 4000,
        rows: 3,
        ..LIMITS
    };
    let router = router(model(Learner::Ridge), limits);
    let row = |key: &str, value: &str| {
        let fields = [("hours", "0.1"), ("school", "\"home\""), ("sex", "\"F\"")];
        let field = |(name, own): &(&str, &str)| {
            let value = if *name == key { value } else { own };
            format!("\"{name}\": {value}")
        };
        let known: Vec<String> = fields.iter().map(field).collect();
        format!("{{{}}}", known.join(", "))
    };
    let cases = [
        ("/predict", "{".to_owned(), 400, "not an object"),
        ("/predict", "[1]".to_owned(), 400, "not an object"),
        ("/predict", row("hours", "NaN"), 400, "not an object"),
        ("/predict", row("hours", "1e999"), 400, "out of range"),
        ("/predict", row("hours", "true"), 422, "give a number"),
        ("/predict", row("hours", "\"much\""), 422, "`much`"),
        ("/predict", row("sex", "\"X\""), 422, "known: F, M"),
        (
            "/predict",
            row("sex", "0").replace("sex", "sez"),
            422,
            "did you mean `sex`?",
        ),
        (
            "/predict",
            "{\"hours\": 1}".to_owned(),
            422,
            "`school` is not in the table",
        ),
        (
            "/predict",
            row("hours", &format!("\"{}\"", "x".repeat(5000))),
            413,
            "",
        ),
        ("/batch", "{}".to_owned(), 400, "not an array"),
        (
            "/batch",
            format!("[{}]", ["{}"; 4].join(",")),
            413,
            "more than 3 rows",
        ),
        ("/batch", "[[1]]".to_owned(), 400, "not an object"),
        ("/batch", "[{}, ".to_owned(), 400, "not an array"),
        ("/predict", row("hours", "[[], {}]"), 422, "is an array"),
        ("/predict", row("hours", "{\"a\": 1}"), 422, "is an object"),
    ];
    for (path, body, status, part) in cases {
        let (found, answer) = ask(&router, Method::POST, path, body.clone()).await;
        let sentence = answer["error"].as_str().unwrap_or_default();
        assert_eq!(found.as_u16(), status, "{body}: {answer}");
        assert!(sentence.contains(part), "{body}: {answer}");
    }
    let second = format!("[{}, {}]", row("", ""), row("sex", "\"X\""));
    let (status, answer) = ask(&router, Method::POST, "/batch", second).await;
    assert_eq!((status.as_u16(), &answer["row"]), (422, &json!(1)));
    // Missing and unknown values of features have an answer, and are counted.
    for (field, value, count) in [
        ("hours", "null", "missing-feature"),
        ("school", "\"none\"", "unseen-level"),
    ] {
        let (status, answer) = ask(&router, Method::POST, "/predict", row(field, value)).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        assert_eq!(answer["policies"][count], json!(1), "{answer}");
    }
    // Large numbers are far from all the model knows: nothing is left of a Gaussian kernel there.
    let (status, answer) = ask(&router, Method::POST, "/predict", row("hours", "1e300")).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
}

#[tokio::test]
async fn a_batch_is_read_no_further_than_to_its_last_row() {
    let limits = Limits { rows: 3, ..LIMITS };
    let router = router(model(Learner::Ridge), limits);
    // What follows would be refused with 400 if it were read.
    let batch = "[{}, {}, {}, {}, and so on".to_owned();
    let (status, answer) = ask(&router, Method::POST, "/batch", batch).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{answer}");
}

#[tokio::test]
async fn of_a_name_that_comes_twice_the_last_value_counts() {
    let router = router(model(Learner::Ridge), LIMITS);
    let row = rows()[0].to_string();
    let twice = row.replacen('{', "{\"hours\": 1e6, ", 1);
    let (_, expected) = ask(&router, Method::POST, "/predict", row).await;
    let (_, found) = ask(&router, Method::POST, "/predict", twice).await;
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_request_that_waits_too_long_is_told_so() {
    let limits = Limits {
        requests: 0,
        time: Duration::from_millis(20),
        ..LIMITS
    };
    let router = router(model(Learner::Ridge), limits);
    let (status, answer) = post_to(&router, "/predict", &rows()[0]).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{answer}");
    let (status, _) = ask(&router, Method::GET, "/health", String::new()).await;
    assert_eq!(status, StatusCode::OK);
}

/// The body of an answer to a request on a connection of its own.
fn over_tcp(address: std::net::SocketAddr, row: &Json) -> String {
    let body = row.to_string();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!(
        "POST /predict HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_clients_at_once_get_their_own_scores_and_a_stop_ends_the_server() {
    let router = router(model(Learner::Ridge), LIMITS);
    let expected = post_to(&router, "/batch", &Json::Array(rows())).await.1;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async {
        stopped.await.ok();
    };
    let server = tokio::spawn(serve(listener, model(Learner::Ridge), LIMITS, stopped));
    let clients: Vec<_> = (0..8)
        .map(|client| {
            let expected = expected.clone();
            tokio::task::spawn_blocking(move || {
                for (i, row) in rows().iter().enumerate().skip(client) {
                    let answer: Json = serde_json::from_str(&over_tcp(address, row)).unwrap();
                    assert_eq!(answer, expected[i]);
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
    assert!(std::net::TcpStream::connect(address).is_err());
}

/// A server that is asked to stop while a client is in the midst of its request; what the client got, and how long the stop took.
async fn stopped_in_the_midst(
    sent: String,
    rest: Option<String>,
    drain: Duration,
) -> (String, Duration) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async {
        stopped.await.ok();
    };
    let limits = Limits { drain, ..LIMITS };
    let server = tokio::spawn(serve(listener, model(Learner::Ridge), limits, stopped));
    let client = tokio::task::spawn_blocking(move || {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.write_all(sent.as_bytes()).unwrap();
        if rest.is_some() {
            // The server has begun with the request once it asks for the body.
            let mut asked = [0; 25];
            stream.read_exact(&mut asked).unwrap();
            assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        stop.send(()).unwrap();
        // Connections are closed with the runtime, which here outlives the server.
        let patience = rest.is_none().then_some(Duration::from_secs(1));
        stream.set_read_timeout(patience).unwrap();
        if let Some(rest) = rest {
            stream.write_all(rest.as_bytes()).unwrap();
        }
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok();
        answer
    });
    let begun = Instant::now();
    server.await.unwrap().unwrap();
    (client.await.unwrap(), begun.elapsed())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_under_way_is_answered_before_the_server_stops() {
    let body = rows()[0].to_string();
    let length = body.len();
    let sent = format!(
        "POST /predict HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
    );
    let (answer, _) = stopped_in_the_midst(sent, Some(body), Duration::from_secs(60)).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("score"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_falls_silent_does_not_hold_the_stop_up() {
    let sent = "POST /predict HTTP/1.1\r\nHost".to_owned();
    let drain = Duration::from_millis(400);
    let (answer, took) = stopped_in_the_midst(sent, None, drain).await;
    assert_eq!(answer, "");
    // Not for ever. A busy machine takes its time.
    assert!(took < Duration::from_secs(60), "{took:?}");
}

#[tokio::test]
async fn work_on_a_batch_ends_with_its_time() {
    let service = Service::new(model(Learner::Ridge));
    let batch = Json::Array(rows()).to_string();
    let over = Instant::now();
    std::thread::sleep(Duration::from_millis(2));
    let refused = service.batch(batch.as_bytes(), 100, over).unwrap_err();
    let refused: Response = refused.into();
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    let later = Instant::now() + Duration::from_secs(60);
    assert!(service.batch(batch.as_bytes(), 100, later).is_ok());
}
