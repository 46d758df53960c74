//! The page of an audit: one file, read by a browser without a network.

mod answer;
mod bounds;
mod cells;
mod compact;
mod data;
mod distributions;
mod document;
mod facts;
mod features;
mod frontier;
mod means;
mod measures;
mod name;
mod outcomes;
mod promises;
mod release;
mod spark;
mod tradeoff;
mod view;

use maud::{Markup, html};
use oblivio_audit::Audit;
use oblivio_release::Bounds;

use crate::text;
pub use bounds::BoundsPage;
use document::Document;
pub use release::ReleasePage;
pub use tradeoff::FrontierPage;
use view::{View, views};

/// The charts' script; empty if it was not there when this crate was built.
const CHARTS: &str = include_str!(concat!(env!("OUT_DIR"), "/charts.js"));

/// Whether pages have charts: if not, they have tables in their place.
pub const HAS_CHARTS: bool = !CHARTS.is_empty();

/// An audit to be shown, with what was done.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// What was found.
    pub audit: &'a Audit,
    /// What it is about, such as the name of a file.
    pub title: &'a str,
    /// What was done: names and values.
    pub facts: &'a [(String, String)],
    /// Error against dependence of the models that were tried; if there are none, the page has no such section.
    pub frontier: &'a [FrontierPoint],
    /// What theory and held-out rows bound; without it the page has no such section.
    pub bounds: Option<&'a Bounds>,
}

/// One of the models that were tried.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontierPoint {
    /// What it is called.
    pub name: String,
    /// Its error.
    pub error: f64,
    /// How much its scores depend on S.
    pub dependence: f64,
    /// Whether it is the one in use.
    pub chosen: bool,
}

impl Page<'_> {
    /// The whole page.
    pub fn html(&self) -> String {
        self.render(CHARTS)
    }

    /// The answer, three numbers and the measures as a piece of HTML for notebooks: no script, and styles of its own.
    pub fn compact(&self) -> String {
        compact::compact(self).into_string()
    }

    fn render(&self, charts: &str) -> String {
        let views = views(self.audit);
        let document = Document {
            title: &format!("Audit of {}", text::name(self.title)),
            skip: "Skip to the answer",
            header: self.header(),
            main: self.sections(&views, charts),
            data: &|| data::json(self.audit, &views, self.frontier),
        };
        document.html(charts)
    }

    fn header(&self) -> Markup {
        html! {
            header {
                p.brand { "oblivio audit" }
                h1 { (name::name(self.title)) }
                nav aria-label="Sections" { ul {
                    @for (id, label) in self.contents() { li { a href={ "#" (id) } { (label) } } }
                } }
            }
        }
    }

    /// The sections there are.
    fn contents(&self) -> Vec<(&'static str, &'static str)> {
        let profiles = || self.audit.profiles.iter();
        let any_cell = |has: fn(&oblivio_audit::CellProfile) -> bool| {
            profiles().any(|p| p.cells.iter().any(has))
        };
        let all = [
            ("answer", "Answer", true),
            (
                "distributions",
                "Distributions",
                profiles().next().is_some(),
            ),
            ("means", "Means", any_cell(|cell| cell.mean.is_some())),
            ("rates", "Decisions", any_cell(|cell| cell.rate.is_some())),
            ("errors", "Errors", any_cell(|cell| cell.error.is_some())),
            (
                "reliability",
                "Outcomes",
                any_cell(|cell| !cell.reliability.is_empty()),
            ),
            ("measures", "Measures", true),
            ("frontier", "Trade-off", !self.frontier.is_empty()),
            ("bounds", "Bounds", self.bounds.is_some()),
            ("features", "Features", !self.audit.features.is_empty()),
            ("cells", "Cells", true),
            ("facts", "What was done", true),
            ("promises", "Not promised", true),
        ];
        let there = all.into_iter().filter(|(_, _, is)| *is);
        there.map(|(id, label, _)| (id, label)).collect()
    }

    fn sections(&self, views: &[View], charts: &str) -> Markup {
        let audit = self.audit;
        html! {
            (answer::section(&crate::answer(audit)))
            @if charts.is_empty() {
                p.remark { "This program was built without its charts, so the page has tables in their place." }
            }
            @if !views.is_empty() { (distributions::section(views)) (means::section(views, audit.resampling.confidence)) (outcomes::section(views, audit.resampling.confidence)) }
            (measures::section(audit))
            (frontier::section(self.frontier))
            (bounds::section(self.bounds))
            (features::section(audit))
            (cells::section(audit))
            (facts::section(audit, self.facts))
            (promises::section(audit))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn page(audit: &Audit) -> Page<'_> {
        Page {
            audit,
            title: "scores.csv",
            facts: &[],
            frontier: &[],
            bounds: None,
        }
    }

    #[test]
    fn without_charts_the_page_is_complete_and_says_so() {
        let audit = sample::full();
        let html = page(&audit).render("");
        assert!(html.contains("built without its charts"));
        assert!(!html.contains("<script"));
        for (id, _) in page(&audit).contents() {
            assert!(html.contains(&format!("id=\"{id}\"")), "{id}");
        }
        // Every table of a chart is open.
        assert_eq!(html.matches("<details open").count(), 6);
    }

    #[test]
    fn with_charts_the_page_has_the_same_tables() {
        let audit = sample::full();
        let (with, without) = (page(&audit).render("draw()"), page(&audit).render(""));
        assert!(!with.contains("built without its charts"));
        assert_eq!(with.matches("<td").count(), without.matches("<td").count());
        assert_eq!(with.matches("<script").count(), 2);
    }

    #[test]
    fn the_bundle_stays_inside_its_element() {
        let lower = CHARTS.to_lowercase();
        assert!(!lower.contains("</script") && !lower.contains("<!--"));
    }
}
