//! What was found once, by fuzzing or by reading the readers, as a test each.

use std::sync::Arc;

use oblivio::{
    Batch, CellCount, Checkpoint, Column, Estimator, KernelModel, Model, Moments, Offsets,
    Sensitive, Settings, Survey, Training,
};
use oblivio_fuzz::File;
use serde_json::{Value, json};

use crate::seeds::{self, ROWS, watch};

/// The file, which says something else in one place.
fn saying(bytes: &[u8], place: &str, value: Value) -> Vec<u8> {
    let file = File::of(bytes);
    let mut document = file.document();
    let there = document.pointer_mut(place);
    *there.unwrap_or_else(|| panic!("{place} is in no header")) = value;
    file.with_text(&document.to_string())
}

/// Found by fuzzing: rows that were counted in the plan and in the sums, whose number overflowed before it was looked at.
#[test]
fn counts_that_no_table_has_are_refused() {
    let seeds = seeds::moments();
    let file = File::of(&seeds[0]);
    let text = file.document().to_string();
    let (count, most) = ("\"outside\":0", format!("\"outside\":{}", u64::MAX));
    let parts: Vec<&str> = text.split(count).collect();
    assert_eq!(parts.len(), 3, "the plan and the sums count such rows");
    for (plan, sums) in [("\"outside\":1", &most[..]), (&most, "\"outside\":1")] {
        let damaged = [parts[0], plan, parts[1], sums, parts[2]].concat();
        assert!(Moments::from_bytes(&file.with_text(&damaged)).is_err());
    }
}

/// Room for the square of that number was made before the sums were looked at.
#[test]
fn features_of_s_without_sums_are_refused() {
    let bytes = &seeds::moments()[2];
    let place = "/header/plan/sensitive/features/count";
    assert!(Moments::from_bytes(&saying(bytes, place, json!(2))).is_ok());
    for count in [1, 3, 1 << 20, 1 << 32, 1 << 60, u64::MAX] {
        assert!(Moments::from_bytes(&saying(bytes, place, json!(count))).is_err());
    }
}

/// A flag was made for every row that a checkpoint announces, even where none is needed.
#[test]
fn a_checkpoint_may_announce_many_rows() {
    let settings = seeds::on_landmarks(Estimator::Cells);
    let place = "/header/gather/table_rows";
    for bytes in &seeds::checkpoints()[..2] {
        let many = Checkpoint::from_bytes(&saying(bytes, place, json!(1u64 << 50))).unwrap();
        assert!(many.into_fit(&settings).is_ok());
        for rows in [(1u64 << 52) + 1, 1 << 60, u64::MAX] {
            assert!(Checkpoint::from_bytes(&saying(bytes, place, json!(rows))).is_err());
        }
    }
}

/// Sums of such counts overflowed when parts were merged.
#[test]
fn parts_of_more_rows_than_a_table_has_are_refused() {
    let too_many = [(1u64 << 52) + 1, 1 << 60, u64::MAX].map(|rows| json!(rows));
    let (plan, shares) = seeds::shares();
    for rows in too_many {
        for place in ["/header/sums/rows", "/header/sums/placed/0/0"] {
            let moments = saying(&seeds::moments()[1], place, rows.clone());
            assert!(Moments::from_bytes(&moments).is_err());
        }
        for place in ["/header/extent/1", "/header/extent/2"] {
            let survey = saying(&seeds::surveys()[0], place, rows.clone());
            assert!(Survey::from_bytes(&survey).is_err());
        }
        for place in ["/header/start", "/header/rows"] {
            assert!(plan.read(&saying(&shares[0], place, rows.clone())).is_err());
        }
        let model = &seeds::models()[0];
        let file = File::of(model);
        let text = file.document().to_string();
        let (before, after) = text.split_once("\"counts\":[").unwrap();
        let (_, after) = after.split_once(',').unwrap();
        let damaged = format!("{before}\"counts\":[{rows},{after}");
        assert!(Model::from_bytes(&file.with_text(&damaged)).is_err());
    }
}

/// Weights that stand for more rows than can be counted overflowed where cells were joined.
#[test]
fn weights_may_stand_for_any_number_of_rows() {
    let (_, _, sensitive) = seeds::encoded();
    let mut rule = Settings::default().partition;
    rule.cells = CellCount::Given(4);
    rule.min_rows = Some(usize::MAX);
    rule.estimator = Estimator::Cells;
    for weight in [1e19, 1e100] {
        let weights = [weight; ROWS];
        let offsets = Offsets::of_scores(&[0.5; ROWS], &sensitive, &weights, &rule, 1.0);
        assert!(offsets.unwrap().0.by_cell.iter().all(|b| *b == 0.0));
    }
}

/// The sums of a category that only rows of no weight have were shorter than the cells, and a merge read past them.
#[test]
fn rows_of_no_weight_and_a_new_category_can_be_merged() {
    let (_, points, sensitive) = seeds::encoded();
    let data = Training {
        points: &points,
        sensitive: &sensitive,
        targets: &[0.0; ROWS],
        weights: None,
    };
    let settings = seeds::on_landmarks(Estimator::Cells);
    let plan = Arc::new(settings.plan(data, ROWS, &watch()).unwrap().0);
    let mut sound = Moments::new(Arc::clone(&plan));
    sound
        .update(seeds::batch(&points, &sensitive), &watch())
        .unwrap();
    // None of the rows before is pending when those of no weight come.
    let mut added = sound.clone();
    added.merge(&sound, &watch()).unwrap();
    let sexes = Column::texts("sex", [Some("X"); ROWS]);
    let other = Sensitive::new(vec![sexes, seeds::table()[3].clone()], ROWS).unwrap();
    let batch = Batch {
        weights: Some(&[0.0; ROWS]),
        ..seeds::batch(&points, &other)
    };
    added.update(batch, &watch()).unwrap();
    let read = Moments::from_bytes(&added.to_bytes().unwrap()).unwrap();
    for added in [added, read] {
        let (mut one, mut two) = (sound.clone(), added.clone());
        one.merge(&added, &watch()).unwrap();
        two.merge(&sound, &watch()).unwrap();
        for moments in [&one, &two] {
            let fit = settings.fit_moments(moments, &watch()).unwrap();
            let scores = fit.predictor.predict(&points, Some(&sensitive), &watch());
            assert!(scores.unwrap().scores.iter().all(|score| score.is_finite()));
        }
    }
}

/// Points and cells were read again for every class, however many a file announced.
#[test]
fn more_classes_than_a_fit_allows_are_refused() {
    let three = Model::from_bytes(&seeds::models()[11]).unwrap();
    for (classes, read) in [(100, true), (101, false)] {
        let mut model = three.clone();
        model.scorers = vec![three.predictor().clone(); classes];
        let known = model.classes.as_mut().unwrap();
        known.labels = (0..classes).map(|k| k.to_string()).collect();
        known.thresholds = vec![0.0; classes];
        let bytes = model.to_bytes().unwrap();
        assert_eq!(Model::from_bytes(&bytes).is_ok(), read);
    }
}

/// The cells' means have inner products with each other: a square that no row accounted for.
#[test]
fn cells_of_a_kernel_that_no_row_is_in_are_refused() {
    let bytes = &seeds::kernels()[0];
    assert!(KernelModel::from_bytes(bytes, &watch()).is_ok());
    let empty = saying(bytes, "/header/cells", json!(vec![0; ROWS]));
    assert!(KernelModel::from_bytes(&empty, &watch()).is_err());
}

/// Every prediction failed.
#[test]
fn an_alignment_by_another_s_than_the_offsets_is_refused() {
    let seeds = seeds::models();
    let [by_cells, smoothly] = [9, 10].map(|k| File::of(&seeds[k]).document());
    let place = "/header/alignment";
    let of = |document: &Value| document.pointer(place).unwrap().clone();
    assert!(Model::from_bytes(&saying(&seeds[9], place, of(&by_cells))).is_ok());
    assert!(Model::from_bytes(&saying(&seeds[10], place, of(&by_cells))).is_err());
    assert!(Model::from_bytes(&saying(&seeds[9], place, of(&smoothly))).is_err());
}

/// Intervals were given to no score, or to one of several.
#[test]
fn intervals_of_what_has_none_are_refused() {
    let seeds = seeds::models();
    let (classifier, regression, fallback) = (&seeds[12], &seeds[13], &seeds[14]);
    let refusal = |bytes: &[u8]| Model::from_bytes(bytes).unwrap_err().to_string();
    let own = File::of(regression).document()["header"]["intervals"].clone();
    assert!(own.is_object());
    let file = File::of(classifier);
    let mut document = file.document();
    document["header"]["intervals"] = own;
    let refused = refusal(&file.with_text(&document.to_string()));
    assert!(refused.contains("the number of its intervals"), "{refused}");
    let refused = refusal(&saying(fallback, "/header/fallback", Value::Null));
    assert!(
        refused.contains("the intervals of its fallback"),
        "{refused}"
    );
}

/// Such a kernel was read, and the first use of it read past the end of its means.
#[test]
fn a_regression_on_nothing_is_refused() {
    let place = "/header/partition/smooth/blocks/0";
    let [kernel, model] = [&seeds::kernels()[2], &seeds::models()[2]];
    assert!(KernelModel::from_bytes(kernel, &watch()).is_ok());
    let (columns, centre) = (format!("{place}/source/columns"), format!("{place}/centre"));
    let empty = saying(&saying(kernel, &columns, json!([])), &centre, json!([]));
    assert!(KernelModel::from_bytes(&empty, &watch()).is_err());
    let place = "/header/cells/partition/smooth/blocks";
    let block = File::of(model).document().pointer(place).unwrap()[0].clone();
    for (blocks, read) in [(0, false), (1, true), (3, false), (1000, false)] {
        let blocks = json!(vec![block.clone(); blocks]);
        let read_one = Model::from_bytes(&saying(model, place, blocks));
        assert_eq!(read_one.is_ok(), read);
    }
}

/// A refresh made room for the square of their number.
#[test]
fn regressions_on_more_features_than_a_fit_allows_are_refused() {
    let many = (0..5000).map(|i| i.to_string());
    let names: Vec<String> = many.collect();
    let zip = Column::texts("zip", names.iter().map(|name| Some(name.as_str())));
    let sensitive = Sensitive::new(vec![zip], 5000).unwrap();
    let mut rule = Settings::default().partition;
    rule.estimator = Estimator::Linear;
    let scores: Vec<f64> = (0..5000).map(|i| f64::from(i % 7)).collect();
    let offsets = Offsets::of_scores(&scores, &sensitive, &[1.0; 5000], &rule, 1.0);
    let refused = offsets.unwrap_err().to_string();
    assert!(refused.contains("at most 4096"), "{refused}");
    let model = &seeds::models()[2];
    let place = "/header/cells/partition/smooth/blocks/0";
    let mut block = File::of(model).document().pointer(place).unwrap().clone();
    let levels = block.pointer_mut("/source/columns/0/categories/levels");
    *levels.expect("sex comes first") = json!(names);
    block["centre"] = json!(vec![0.0; 5001]);
    let refused = Model::from_bytes(&saying(model, place, block)).unwrap_err();
    assert!(refused.to_string().contains("its partition"), "{refused}");
}
