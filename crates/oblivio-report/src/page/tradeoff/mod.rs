//! The page of a frontier.

mod data;
mod table;

use maud::{Markup, PreEscaped, html};
use oblivio_audit::Frontier;

use super::CHARTS;
use super::document::Document;
use super::facts;
use super::name::{name, prose};
use super::view::figure;
use crate::frontier::frontier_answer;
use crate::number::{confidence, count, short};
use crate::text;
use crate::words::{error_words, words};

const COMPACT: &str = include_str!("../compact.css");

/// A frontier to be shown, with what was done.
#[derive(Clone, Copy, Debug)]
pub struct FrontierPage<'a> {
    /// What was found.
    pub frontier: &'a Frontier,
    /// What it is about, such as the name of a file.
    pub title: &'a str,
    /// What was done: names and values.
    pub facts: &'a [(String, String)],
}

impl FrontierPage<'_> {
    /// The whole page.
    pub fn html(&self) -> String {
        self.render(CHARTS)
    }

    /// The answer and the first table as a piece of HTML for notebooks: no script, and styles of its own.
    pub fn compact(&self) -> String {
        let answer = frontier_answer(self.frontier);
        let axes = self.frontier.axes();
        let piece = html! {
            div.oblivio-audit {
                style { (PreEscaped(COMPACT)) }
                p.headline { strong { (prose(&answer.headline)) } }
                @for sentence in &answer.sentences { p { (prose(sentence)) } }
                @if let Some(axis) = axes.first() { div.scroll { (table::table(self.frontier, *axis)) } }
            }
        };
        piece.into_string()
    }

    fn render(&self, charts: &str) -> String {
        let document = Document {
            title: &format!("Frontier of {}", text::name(self.title)),
            skip: "Skip to the answer",
            header: self.header(),
            main: self.sections(charts),
            data: &|| data::json(self.frontier),
        };
        document.html(charts)
    }

    fn header(&self) -> Markup {
        html! {
            header {
                p.brand { "oblivio frontier" }
                h1 { (name(self.title)) }
                nav aria-label="Sections" { ul {
                    @for (id, label) in [("answer", "Answer"), ("tradeoff", "Trade-off"), ("reading", "How to read it"), ("facts", "What was done"), ("promises", "Not promised")] {
                        li { a href={ "#" (id) } { (label) } }
                    }
                } }
            }
        }
    }

    fn sections(&self, charts: &str) -> Markup {
        let answer = frontier_answer(self.frontier);
        let axes = self.frontier.axes();
        let tables = html! {
            @for (number, axis) in axes.iter().enumerate() {
                div.scroll tabindex="0" role="region" data-axis=(number) aria-label={ "Candidates by " (words(axis.1).0) " against " (text::name(&axis.0.name)) } {
                    (table::table(self.frontier, *axis))
                }
            }
        };
        html! {
            section #answer aria-labelledby="answer-title" {
                h2 #answer-title.headline { (prose(&answer.headline)) }
                ul.sentences { @for sentence in &answer.sentences { li { (prose(sentence)) } } }
            }
            @if charts.is_empty() {
                p.remark { "This program was built without its charts, so the page has tables in their place." }
            }
            section #tradeoff aria-labelledby="tradeoff-title" {
                h2 #tradeoff-title { "Error against dependence" }
                p.lead { "Every candidate was fitted on " (count(self.frontier.training_rows)) " rows, and is judged on " (count(self.frontier.held_out_rows))
                    " others. Lower is more accurate, further left depends less. " strong { "On the frontier" } " are those that no other candidate beats in both." }
                div.controls.axes hidden {}
                (figure("tradeoff", &tables))
            }
            (self.reading())
            (self.facts())
            (promises())
        }
    }

    fn reading(&self) -> Markup {
        html! {
            section #reading aria-labelledby="reading-title" {
                h2 #reading-title { "How to read it" }
                p.lead { "Compare dependence with its level under independence, not with 0: no measure is quite 0 on a sample. Candidates whose intervals overlap may differ by chance; "
                    "the interval of a cost is from the same draws for both, and says whether an error really is larger than that of the start." }
                dl.meanings {
                    @for error in &self.frontier.errors {
                        div { dt { (error_words(error.measure).0) } dd { (error_words(error.measure).1) " A constant has " (short(error.constant)) "." } }
                    }
                    @for measure in &self.frontier.measures {
                        div { dt { (words(*measure).0) } dd { (words(*measure).1) } }
                    }
                }
            }
        }
    }

    fn facts(&self) -> Markup {
        let frontier = self.frontier;
        let resampling = &frontier.resampling;
        let known = [
            ("Target", text::name(&frontier.target)),
            ("Learner", frontier.learner.clone()),
            (
                "Rows",
                format!(
                    "{} training, {} held out{}",
                    count(frontier.training_rows),
                    count(frontier.held_out_rows),
                    if frontier.weighted { ", weighted" } else { "" }
                ),
            ),
            (
                "Positive decision",
                format!("a score of {} or more", short(frontier.threshold)),
            ),
            (
                "Level under independence",
                format!(
                    "sensitive values shuffled among the rows {} times",
                    count(resampling.permutations)
                ),
            ),
            (
                "Intervals",
                format!(
                    "{}, rows drawn again {} times, the same for all candidates",
                    confidence(resampling.confidence),
                    count(resampling.resamples)
                ),
            ),
            ("Seed", resampling.seed.to_string()),
            (
                "Program",
                concat!("oblivio ", env!("CARGO_PKG_VERSION")).into(),
            ),
        ];
        facts::shown(self.facts, &known, &frontier.notes)
    }
}

fn promises() -> Markup {
    html! {
        section #promises aria-labelledby="promises-title" {
            h2 #promises-title { "What is not promised" }
            ul.promises {
                li { strong { "Not the numbers of the one you choose. " } "Choosing the best of many by these rows makes its numbers here look better than they are. Measure the chosen one again, on rows that had no part in the choice." }
                li { strong { "Not a choice. " } "How much is to be taken out is a decision about people, not a parameter to be tuned: less error is always to be had by leaking S." }
                li { strong { "Not independence. " } "A measure at its level under independence shows no dependence that it can see on these rows." }
                li { strong { "Not other splits. " } "Intervals cover the held-out rows, not which rows trained." }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_page_has_the_same_tables_with_and_without_charts() {
        let frontier = sample::frontier();
        let page = FrontierPage {
            frontier: &frontier,
            title: "people.csv",
            facts: &[],
        };
        let (with, without) = (page.render("draw()"), page.render(""));
        assert_eq!(with.matches("<td").count(), without.matches("<td").count());
        assert!(without.contains("built without its charts") && !without.contains("<script"));
        assert_eq!(with.matches("<script").count(), 2);
        assert_eq!(with.matches("data-axis=").count(), frontier.axes().len());
        assert!(!page.compact().contains("<script"));
    }

    #[test]
    fn names_are_text() {
        let mut frontier = sample::frontier();
        frontier.candidates[0].name = "</script><img src=x>".into();
        frontier.target = "<b>".into();
        let page = FrontierPage {
            frontier: &frontier,
            title: "<i>",
            facts: &[],
        };
        for html in [page.render("draw()"), page.compact()] {
            assert!(!html.contains("<img") && !html.contains("<b>") && !html.contains("<i>"));
        }
    }
}
