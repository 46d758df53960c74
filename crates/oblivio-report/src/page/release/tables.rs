//! The tables of a release.

use maud::{Markup, html};
use oblivio_audit::FeatureFinding;
use oblivio_release::{ColumnReport, ReleaseReport, Utility};

use crate::number::{percent, short};
use crate::page::measures::{flag, interval};
use crate::page::name::{name, prose};
use crate::release::{release_certificate, score};

pub(super) fn columns(report: &ReleaseReport) -> Markup {
    html! {
        table.measures {
            caption { "What became of the columns, on the held-out rows" }
            thead { tr {
                th scope="col" { "Column" }
                th.number scope="col" { "Changed" }
                th.number scope="col" { "Moved" }
                th.number scope="col" { "Correla\u{ad}tion" }
                th.number scope="col" { "HSIC before" }
                th.number scope="col" { "After" }
                th.number scope="col" { "If inde\u{ad}pen\u{ad}dent" }
                th.number scope="col" { "Range" }
            } }
            tbody { @for column in &report.columns { (row(report, column)) } }
        }
    }
}

fn row(report: &ReleaseReport, column: &ColumnReport) -> Markup {
    let number = |value: Option<f64>| short(value.unwrap_or(f64::NAN));
    let (before, after) = dependence(report, &column.name);
    let range = interval(
        column.low.unwrap_or(f64::NAN),
        column.high.unwrap_or(f64::NAN),
    );
    html! {
        tr {
            th scope="row" { (name(&column.name)) span.detail { (name(&column.kind)) ", " (name(&column.treatment)) } }
            td.number data-label="Changed" { (prose(&percent(column.changed))) }
            td.number data-label="Moved" { (number(column.distance)) }
            td.number data-label="Correlation" { (number(column.correlation)) }
            td.number data-label="HSIC before" { (number(before.map(|found| found.hsic.value))) }
            td.number data-label="After" { strong { (number(after.map(|found| found.hsic.value))) } }
            td.number data-label="If independent" { (number(after.map(|found| found.hsic.expected))) }
            td.number data-label="Range" { (range) }
        }
    }
}

/// How much a column by itself depends on all sensitive columns, before and after.
fn dependence<'r>(
    report: &'r ReleaseReport,
    column: &str,
) -> (Option<&'r FeatureFinding>, Option<&'r FeatureFinding>) {
    let all = report.after.against.last().map(|against| &against.name);
    let find = |audit: &'r oblivio_audit::Audit| {
        let mut features = audit.features.iter();
        features.find(|found| found.feature == column && Some(&found.against) == all)
    };
    (find(&report.before), find(&report.after))
}

pub(super) fn utility(utility: &[Utility]) -> Markup {
    html! {
        table.measures {
            caption { "How well a learner tells each column" }
            thead { tr {
                th scope="col" { "Told" }
                th scope="col" { "Score" }
                th.number scope="col" { "From the original" }
                th.number scope="col" { "Interval" }
                th.number scope="col" { "From the released" }
                th.number scope="col" { "Interval" }
                th.number scope="col" { "By chance" }
            } }
            tbody { @for told in utility {
                tr {
                    th scope="row" { (name(&told.target)) span.detail { (if told.given { "the target" } else { "a feature, from the others" }) } }
                    td data-label="Score" { (score(told.score)) }
                    td.number data-label="Original" { (short(told.original.value)) }
                    td.number.wide data-label="Interval" { (interval(told.original.lower, told.original.upper)) }
                    td.number data-label="Released" { strong { (short(told.released.value)) } }
                    td.number.wide data-label="Interval" { (interval(told.released.lower, told.released.upper)) }
                    td.number data-label="By chance" { (short(told.released.expected)) }
                }
            } }
        }
    }
}

pub(super) fn path(report: &ReleaseReport) -> Markup {
    html! {
        table.measures {
            caption { "The bandwidths that were tried" }
            thead { tr {
                th scope="col" { "Kernel" }
                th.number scope="col" { "Factor of γ" }
                th.number scope="col" { "HSIC" }
                th.number scope="col" { "If inde\u{ad}pen\u{ad}dent" }
                th.number scope="col" { "Distance" }
                th scope="col" { "Chosen?" }
            } }
            tbody { @for point in &report.path {
                tr {
                    th scope="row" { (name(&point.kernel)) }
                    td.number data-label="Factor of γ" { (short(point.factor)) }
                    td.number data-label="HSIC" { strong { (short(point.hsic)) } }
                    td.number data-label="If independent" { (short(point.expected)) }
                    td.number data-label="Distance" { (short(point.distance)) }
                    td data-label="Chosen?" { (flag(point.chosen)) }
                }
            } }
        }
        @if let Some(certified) = &report.certified {
            p { (release_certificate(certified)) }
        }
    }
}
