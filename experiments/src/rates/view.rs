//! The numbers and the figure of the rates.

use super::super::figure::{Axis, Bar, Colour, Figure, Legend, Mark, Panel, Series, Shape};
use super::super::statistics::Sample;
use super::super::{Run, numbers, words};
use super::Course;

pub(super) fn table(courses: &[Course]) -> Vec<oblivio::Column> {
    let rows: Vec<(&Course, usize)> = courses
        .iter()
        .flat_map(|course| (0..course.errors.len()).map(move |i| (course, i)))
        .collect();
    let root =
        |(course, i): &(&Course, usize)| Sample::of(course.errors[*i].iter().copied()).mean.sqrt();
    vec![
        words("rule", &rows, |(course, _)| course.rule.name),
        numbers("rows", &rows, |(course, i)| course.rule.sizes[*i].0 as f64),
        numbers("cells", &rows, |(course, i)| {
            course.rule.sizes[*i].1.count() as f64
        }),
        numbers("repetitions", &rows, |(course, i)| {
            course.errors[*i].len() as f64
        }),
        numbers("root_mean_square_error", &rows, root),
        numbers("expected", &rows, |(course, i)| {
            course.expectation(*i).sqrt()
        }),
        numbers("bias", &rows, |(course, i)| {
            course.rule.sizes[*i].1.squared_bias().sqrt()
        }),
        numbers("slope", &rows, |(course, _)| course.slope().0),
        numbers("slope_standard_error", &rows, |(course, _)| {
            course.slope().1
        }),
        numbers("expected_slope", &rows, |(course, _)| {
            course.expected_slope()
        }),
        numbers("theory_slope", &rows, |(course, _)| course.rule.exponent),
    ]
}

pub(super) fn figure(run: &Run, courses: &[Course]) -> Figure {
    const LOOK: [(Colour, Shape); 5] = [
        (Colour::Black, Shape::Circle),
        (Colour::Vermilion, Shape::Square),
        (Colour::Blue, Shape::Triangle),
        (Colour::Vermilion, Shape::Square),
        (Colour::Blue, Shape::Triangle),
    ];
    let panel = |title: &str, chosen: &[usize]| {
        let mut series = Vec::new();
        for &number in chosen {
            let (course, (colour, shape)) = (&courses[number], LOOK[number]);
            let rows = |i: usize| course.rule.sizes[i].0 as f64;
            let sizes = 0..course.errors.len();
            let bar = |i: usize| {
                let sample = Sample::of(course.errors[i].iter().copied());
                let error = if sample.count > 1 {
                    sample.standard_error()
                } else {
                    0.0
                };
                let ends = [-1.0, 1.0]
                    .map(|side| (sample.mean + side * error).max(0.1 * sample.mean).sqrt());
                Bar {
                    x: rows(i),
                    y: sample.mean.sqrt(),
                    low: ends[0],
                    high: ends[1],
                }
            };
            let label =
                format!("{}: slope {:.3}", course.rule.said, course.slope().0).replace('-', "−");
            series.push(Series::new(
                &label,
                colour,
                Mark::Bars(shape, sizes.clone().map(bar).collect()),
            ));
            let expected = sizes
                .clone()
                .map(|i| (rows(i), course.expectation(i).sqrt()));
            series.push(Series::new("", colour, Mark::Line(expected.collect())));
            // The power of theory through the last expected point.
            let last = course.errors.len() - 1;
            let power = |i: usize| {
                let scale = (rows(i) / rows(last)).powf(course.rule.exponent);
                (rows(i), course.expectation(last).sqrt() * scale)
            };
            series.push(Series::new(
                "",
                colour,
                Mark::Dashed(vec![power(0), power(last)]),
            ));
        }
        series.push(Series::new(
            "exact expectation",
            Colour::Grey,
            Mark::Line(Vec::new()),
        ));
        series.push(Series::new(
            "power of theory",
            Colour::Grey,
            Mark::Dashed(Vec::new()),
        ));
        Panel {
            title: title.to_owned(),
            x: Axis::log("rows n"),
            y: Axis::log("error of the conditional mean").between(0.012, 0.42),
            series,
            legend: Legend::LowerLeft,
        }
    };
    Figure {
        title: "How fast the conditional mean is found".into(),
        caption: format!(
            "root mean squared distance of the estimated and the true mean in the kernel's space, ± standard error; {} repetitions",
            run.repetitions
        ),
        panels: vec![
            panel("finite S", &[0]),
            panel("one continuous column", &[1, 2]),
            panel("two continuous columns", &[3, 4]),
        ],
    }
}
