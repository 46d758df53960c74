//! What can be said of the bytes without a runtime; `tests/python/test_onnx.py` runs them.

use std::collections::HashSet;

use oblivio::Settings;
use oblivio::{Model, Roles};
use oblivio_base::{Column, Error, Scaling, Watch};
use oblivio_kernels::Kernel;
use prost::Message;

use super::proto::ModelProto;
use super::{OnnxForm, OnnxSettings, Precision, export};

const ROWS: usize = 60;

/// A model of numbers and text, whose columns have the names of everything in the graph.
fn model(kernel: &str, penalty: f64) -> Model {
    let numbers = |step: usize| (0..ROWS).map(|i| ((i * step) % 17) as f64 / 3.0).collect();
    let features = [
        Column::numbers("score", numbers(5)),
        Column::numbers("v1", numbers(7)),
        Column::texts("label", (0..ROWS).map(|i| Some(["a", "b"][i % 2]))),
    ];
    let sensitive = [
        Column::texts("s", (0..ROWS).map(|i| Some(["x", "y", ""][i % 3]))),
        Column::numbers("t", numbers(11)),
    ];
    let settings = Settings {
        kernel: kernel.parse::<Kernel<_>>().unwrap(),
        penalty,
        ..Settings::default()
    };
    let roles = Roles {
        features: &features,
        sensitive: &sensitive,
        target: &Column::numbers("y", numbers(3)),
        labels: None,
        weights: None,
    };
    let watch = Watch::default();
    Model::fit(roles, Scaling::Standard, &settings, &watch)
        .unwrap()
        .0
}

fn single() -> OnnxSettings {
    OnnxSettings {
        precision: Precision::Single,
        ..OnnxSettings::default()
    }
}

fn problem(model: &Model, settings: OnnxSettings) -> String {
    match export(model, settings) {
        Err(Error::NotExported { problem }) => problem,
        other => panic!("{other:?} where a refusal is due"),
    }
}

#[test]
fn the_same_model_gives_the_same_bytes() {
    let model = model("rbf", 1.0);
    let bytes = export(&model, OnnxSettings::default()).unwrap();
    let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(export(&again, OnnxSettings::default()).unwrap(), bytes);
}

#[test]
fn every_value_has_one_name_and_is_there_before_it_is_used() {
    let model = model("rbf + matern32", 1.0);
    let bytes = export(&model, OnnxSettings::default());
    let proto = ModelProto::decode(&bytes.unwrap()[..]).unwrap();
    let graph = proto.graph.unwrap();
    let mut names = HashSet::new();
    let given = graph.input.iter().map(|input| &input.name);
    for name in given.chain(graph.initializer.iter().map(|tensor| &tensor.name)) {
        assert!(!name.is_empty() && names.insert(name.clone()), "{name}");
    }
    for node in &graph.node {
        assert!(node.input.iter().all(|name| names.contains(name)));
        assert!(names.insert(node.output[0].clone()), "{}", node.output[0]);
    }
    let inputs: Vec<&str> = graph.input.iter().map(|input| &*input.name).collect();
    assert_eq!(inputs, ["score", "v1", "label", "s", "t"]);
    let outputs: Vec<&str> = graph.output.iter().map(|output| &*output.name).collect();
    assert_eq!(outputs, ["score_"]);
    assert!(outputs.iter().all(|name| names.contains(*name)));
}

#[test]
fn text_has_no_place_in_a_matrix() {
    let settings = OnnxSettings {
        form: OnnxForm::Matrix,
        ..OnnxSettings::default()
    };
    assert!(problem(&model("rbf", 1.0), settings).starts_with("column `label` is text"));
}

#[test]
fn single_precision_is_refused_where_coefficients_cancel() {
    let cancels = problem(&model("rbf", 1e-9), single());
    assert!(cancels.starts_with("in single precision a score could be off by "));
    assert!(problem(&model("poly", 1.0), single()).contains("has no bound"));
    assert!(problem(&model("rbf + linear", 1.0), single()).contains("has no bound"));
    assert!(export(&model("linear", 1.0), single()).is_ok());
    assert!(export(&model("rbf", 1e4), single()).is_ok());
}

#[test]
fn a_linear_model_holds_no_row() {
    let size = |kernel| {
        let bytes = export(&model(kernel, 1.0), OnnxSettings::default());
        bytes.unwrap().len()
    };
    assert!(size("linear") + ROWS * 8 < size("rbf"));
}
