//! Which features carry the dependence.

use maud::{Markup, html};
use oblivio_audit::{Audit, FeatureFinding};

use super::measures::{flag, interval};
use super::name::name;
use super::view::figure;
use crate::number::{p_value, percent, short};
use crate::text;

/// The chart shows the most dependent of them.
pub(super) const FEATURES_IN_CHART: usize = 20;

pub(super) fn section(audit: &Audit) -> Markup {
    let tables = html! {
        @for (at, against) in audit.against.iter().enumerate() {
            @let features = of(audit, &against.name);
            @if !features.is_empty() {
                div.scroll tabindex="0" role="region" data-against=(at) aria-label={ "Features against " (text::name(&against.name)) } {
                    (table(&against.name, &features))
                }
            }
        }
    };
    html! {
        @if !audit.features.is_empty() {
            section #features aria-labelledby="features-title" {
                h2 #features-title { "Which features carry the dependence" }
                p.lead { "Kernel dependence (HSIC) of each feature with the sensitive columns. Features that do not carry it alone may do so together." }
                (figure("features", &tables))
            }
        }
    }
}

/// The features held against these columns, in the audit's order.
pub(super) fn of<'a>(audit: &'a Audit, against: &str) -> Vec<&'a FeatureFinding> {
    audit
        .features
        .iter()
        .filter(|feature| feature.against == against)
        .collect()
}

fn table(against: &str, features: &[&FeatureFinding]) -> Markup {
    html! {
        table {
            caption { "Features against " (name(against)) }
            thead { tr {
                th scope="col" { "Feature" }
                th.number scope="col" { "HSIC" }
                th.number scope="col" { "If independent" }
                th.number scope="col" { "Interval" }
                th.number scope="col" { "p" }
                th scope="col" { "Detectable?" }
                th.number scope="col" { "Share of variance explained" }
            } }
            tbody { @for feature in features {
                tr {
                    th scope="row" { (name(&feature.feature)) }
                    td.number { strong { (short(feature.hsic.value)) } }
                    td.number { (short(feature.hsic.expected)) }
                    td.number { (interval(feature.hsic.lower, feature.hsic.upper)) }
                    td.number { (p_value(feature.hsic.p_value)) }
                    td { (flag(feature.hsic.is_detectable())) }
                    td.number { (feature.correlation_ratio.map_or_else(|| "–".into(), percent)) }
                }
            } }
        }
    }
}
