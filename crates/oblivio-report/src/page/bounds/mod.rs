//! Bounds: the section of an audit's page, and a page of their own.

mod tables;

use maud::{Markup, PreEscaped, html};
use oblivio_release::Bounds;

use super::document::Document;
use super::name::{name, prose};
use crate::bounds::bounds_answer;
use crate::number::{confidence, count, short};
use crate::text;

const COMPACT: &str = include_str!("../compact.css");

/// Longer facts and notes are cut.
const LONGEST: usize = 2000;

/// Bounds to be shown, with what was done.
#[derive(Clone, Copy, Debug)]
pub struct BoundsPage<'a> {
    /// What was found.
    pub bounds: &'a Bounds,
    /// What it is about, such as the name of a file.
    pub title: &'a str,
    /// What was done: names and values.
    pub facts: &'a [(String, String)],
}

/// The section of an audit's page, if there are bounds.
pub(super) fn section(bounds: Option<&Bounds>) -> Markup {
    html! {
        @if let Some(bounds) = bounds {
            section #bounds aria-labelledby="bounds-title" {
                h2 #bounds-title { "Bounds" }
                p.lead { (prose(&bounds_answer(bounds).headline)) ". Bounds on " (rows(bounds)) "." }
                (tables::all(bounds))
                (notes(bounds))
            }
        }
    }
}

impl BoundsPage<'_> {
    /// The whole page. It has no charts.
    pub fn html(&self) -> String {
        let document = Document {
            title: &format!("Bounds of {}", text::name(self.title)),
            skip: "Skip to the answer",
            header: self.header(),
            main: self.sections(),
            data: &String::new,
        };
        document.html("")
    }

    /// The answer and the certificates as a piece of HTML for notebooks: no script, and styles of its own.
    pub fn compact(&self) -> String {
        let answer = bounds_answer(self.bounds);
        let piece = html! {
            div.oblivio-audit {
                style { (PreEscaped(COMPACT)) }
                p.headline { strong { (prose(&answer.headline)) } }
                @for sentence in &answer.sentences { p { (prose(sentence)) } }
                (tables::certificates(self.bounds))
            }
        };
        piece.into_string()
    }

    fn header(&self) -> Markup {
        html! {
            header {
                p.brand { "oblivio bounds" }
                h1 { (name(self.title)) }
                nav aria-label="Sections" { ul {
                    @for (id, label) in [("answer", "Answer"), ("bounds", "Bounds"), ("facts", "What was done"), ("promises", "Not promised")] {
                        li { a href={ "#" (id) } { (label) } }
                    }
                } }
            }
        }
    }

    fn sections(&self) -> Markup {
        let answer = bounds_answer(self.bounds);
        html! {
            section #answer aria-labelledby="answer-title" {
                h2 #answer-title.headline { (prose(&answer.headline)) }
                ul.sentences { @for sentence in &answer.sentences { li { (prose(sentence)) } } }
            }
            section #bounds aria-labelledby="bounds-title" {
                h2 #bounds-title { "Bounds" }
                (tables::all(self.bounds))
            }
            (self.facts())
            section #promises aria-labelledby="promises-title" {
                h2 #promises-title { "What is not promised" }
                ul.promises {
                    li { strong { "Nothing by a vacuous bound. " } "It is no less than what holds of anything." }
                    li { strong { "Not independence. " } "A certificate is of one event, or of bins of the scores, and of the cells named here; finer ones can depend more." }
                    li { strong { "Not all at once. " } "Each interval and certificate has its confidence by itself." }
                }
            }
        }
    }

    fn facts(&self) -> Markup {
        let bounds = self.bounds;
        let known = [
            ("Target", text::name(&bounds.target)),
            ("Kernel", bounds.kernel.clone()),
            ("Strength", short(bounds.strength)),
            ("Rows", rows(bounds)),
            ("Confidence", confidence(bounds.confidence)),
            ("Seed", bounds.seed.to_string()),
            (
                "Program",
                concat!("oblivio ", env!("CARGO_PKG_VERSION")).into(),
            ),
        ];
        html! {
            section #facts aria-labelledby="facts-title" {
                h2 #facts-title { "What was done" }
                dl.facts {
                    @for (label, value) in self.facts {
                        div { dt { (name(label)) } dd { bdi { (text::cut(value, LONGEST)) } } }
                    }
                    @for (label, value) in &known { div { dt { (label) } dd { bdi { (prose(value)) } } } }
                }
                (notes(bounds))
            }
        }
    }
}

fn rows(bounds: &Bounds) -> String {
    format!(
        "{} held-out rows, {} of them projected, with {} others as the reference",
        count(bounds.evaluation_rows),
        count(bounds.projected_rows),
        count(bounds.reference_rows)
    )
}

fn notes(bounds: &Bounds) -> Markup {
    html! {
        @if !bounds.notes.is_empty() {
            h3 { "Notes" }
            ul { @for note in &bounds.notes { li { bdi { (text::cut(note, LONGEST)) } } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::{BoundLine, bound_lines, bound_words, bounds_csv};
    use crate::page::Page;
    use crate::sample;

    #[test]
    fn every_bound_is_there_and_names_are_text() {
        let mut bounds = sample::bounds();
        bounds.dependence[0].event = "</script><img src=x>".into();
        bounds.cells[0].label = "<b>".into();
        let page = BoundsPage {
            bounds: &bounds,
            title: "<i>",
            facts: &[],
        };
        let audit = sample::score();
        let whole = Page {
            audit: &audit,
            title: "scores.csv",
            facts: &[],
            frontier: &[],
            bounds: Some(&bounds),
        };
        for html in [page.html(), page.compact(), whole.html()] {
            assert!(!html.contains("<img") && !html.contains("<b>") && !html.contains("<i>"));
        }
        assert!(!page.html().contains("<script"));
        assert!(whole.html().contains("id=\"bounds\""));
        // All that say something have a row, cells and intervals in tables of their own; the others are one line.
        let rows = page.html().matches("<th scope=\"row\"").count();
        let lines = bound_lines(&bounds);
        let said = |line: &&BoundLine| {
            let own = line.bound == "change" || line.cell.is_none();
            !line.vacuous && own && !["distance", "moved"].contains(&line.bound)
        };
        let said = lines.iter().filter(said).count();
        // The parts of bounds by the distance are there if any of these says something.
        let by_distance = |line: &BoundLine| {
            line.bound.starts_with("dependence") && !line.vacuous && line.cell.is_none()
        };
        let parts = if lines.iter().any(by_distance) {
            bounds.dependence.len()
        } else {
            0
        };
        assert_eq!(rows, said + parts + 2);
        let vacuous = lines.iter().filter(|line| line.vacuous).count();
        let counted = format!("{vacuous} of {} bounds are vacuous", lines.len());
        assert!(vacuous > 0 && page.html().contains(&counted));
    }

    /// The first certificate is of a decision; where it says nothing, another bound comes first, and none if there is none.
    #[test]
    fn a_bound_that_says_something_comes_first() {
        let mut bounds = sample::bounds();
        for certificate in &mut bounds.certificates {
            certificate.vacuous = false;
        }
        let first = bounds.certificates[0].event.clone();
        assert!(bounds_answer(&bounds).headline.contains(&first));
        for certificate in &mut bounds.certificates {
            certificate.vacuous = true;
        }
        let event = &mut bounds.feature_events[0];
        event.value = 0.01;
        let headline = bounds_answer(&bounds).headline;
        assert!(headline.starts_with("On these rows score of the oblivious feature >= "));
        bounds.feature_events.clear();
        for bound in &mut bounds.dependence {
            bound.vacuous = true;
        }
        let headline = bounds_answer(&bounds).headline;
        assert!(headline.starts_with("No bound on dependence says anything"));
    }

    /// Symbols of the theory are words for people.
    #[test]
    fn people_read_words() {
        let bounds = sample::bounds();
        let page = BoundsPage {
            bounds: &bounds,
            title: "new.csv",
            facts: &[],
        };
        for symbol in ["‖", "h(W)", "of W ", "|f|", "A-f-c", "P(A"] {
            assert!(!page.html().contains(symbol), "{symbol}");
            let answer = bounds_answer(&bounds);
            assert!(!answer.sentences.iter().any(|text| text.contains(symbol)));
        }
        for line in bound_lines(&bounds) {
            assert_ne!(bound_words(line.bound), "bound", "{}", line.bound);
        }
    }

    /// As of a regression on S.
    #[test]
    fn intervals_that_are_left_out_are_question_marks() {
        let mut bounds = sample::bounds();
        for estimate in [
            &mut bounds.distance.mean,
            &mut bounds.distance.root_mean_square,
        ] {
            (estimate.bernstein, estimate.hoeffding, estimate.paper) = (None, None, None);
        }
        let page = BoundsPage {
            bounds: &bounds,
            title: "new.csv",
            facts: &[],
        };
        // Two distances without either end.
        assert_eq!(page.html().matches(">?</td>").count(), 4);
        let csv = bounds_csv(&bounds);
        let lines: Vec<&str> = csv.lines().filter(|l| l.starts_with("distance,")).collect();
        assert_eq!(lines.len(), 4);
        assert!(lines.iter().all(|line| line.contains(",,,true,")), "{csv}");
    }

    #[test]
    fn lines_say_vacuous_and_are_those_of_the_csv() {
        let bounds = sample::bounds();
        let lines = bound_lines(&bounds);
        assert!(lines.iter().any(|line| line.vacuous));
        let csv = bounds_csv(&bounds);
        assert_eq!(csv.lines().count(), lines.len() + 1);
        assert!(csv.starts_with("bound,of,cell,found,lower,value,vacuous,rows"));
    }
}
