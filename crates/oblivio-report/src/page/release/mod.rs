//! The page of a release.

mod tables;

use maud::{Markup, PreEscaped, html};
use oblivio_release::ReleaseReport;

use super::document::Document;
use super::name::{name, prose};
use super::promises::conventions;
use super::{answer, facts, measures};
use crate::number::count;
use crate::release::{NOT_ANONYMISED, release_answer, release_audit};
use crate::text::{self, list};

const COMPACT: &str = include_str!("../compact.css");

/// What a release was found to do, with what was done.
#[derive(Clone, Copy, Debug)]
pub struct ReleasePage<'a> {
    /// What was found.
    pub report: &'a ReleaseReport,
    /// What it is about, such as the name of a file.
    pub title: &'a str,
    /// What was done: names and values.
    pub facts: &'a [(String, String)],
}

impl ReleasePage<'_> {
    /// The whole page. It has tables only, and no script.
    pub fn html(&self) -> String {
        let document = Document {
            title: &format!("Release of {}", text::name(self.title)),
            skip: "Skip to the answer",
            header: self.header(),
            main: self.sections(),
            data: &String::new,
        };
        document.html("")
    }

    /// The answer and the tables of measures and columns as a piece of HTML for notebooks, with styles of its own.
    pub fn compact(&self) -> String {
        let answer = release_answer(self.report);
        let piece = html! {
            div.oblivio-audit {
                style { (PreEscaped(COMPACT)) }
                p.headline { strong { (prose(&answer.headline)) } }
                @for sentence in &answer.sentences { p { (prose(sentence)) } }
                div.scroll { (tables::columns(self.report)) }
                p { (NOT_ANONYMISED) }
            }
        };
        piece.into_string()
    }

    fn contents(&self) -> Vec<(&'static str, &'static str)> {
        let all = [
            ("answer", "Answer", true),
            ("measures", "Dependence", true),
            ("columns", "Columns", true),
            (
                "utility",
                "What is left to learn",
                !self.report.utility.is_empty(),
            ),
            ("path", "Bandwidths", !self.report.path.is_empty()),
            ("facts", "What was done", true),
            ("promises", "Not promised", true),
        ];
        let there = all.into_iter().filter(|(_, _, is)| *is);
        there.map(|(id, label, _)| (id, label)).collect()
    }

    fn header(&self) -> Markup {
        html! {
            header {
                p.brand { "oblivio release" }
                h1 { (name(self.title)) }
                nav aria-label="Sections" { ul {
                    @for (id, label) in self.contents() { li { a href={ "#" (id) } { (label) } } }
                } }
            }
        }
    }

    fn sections(&self) -> Markup {
        let report = self.report;
        let found = release_answer(report);
        html! {
            (answer::section(&found))
            p.remark { strong { "Not anonymised. " } (NOT_ANONYMISED) }
            (measures::section(&release_audit(report)))
            section #columns aria-labelledby="columns-title" {
                h2 #columns-title { "What became of the columns" }
                p.lead { "On the held-out rows: the share of values that changed, how far numbers moved (the root of the mean squared change, in standard "
                    "deviations of the column), and their correlation with the original. HSIC is the dependence of each column by itself on "
                    (list(&report.sensitive)) "." }
                (scrolled("What became of the columns", &tables::columns(report)))
            }
            @if !report.utility.is_empty() {
                section #utility aria-labelledby="utility-title" {
                    h2 #utility-title { "What is left to learn" }
                    p.lead { "How well a kernel learner tells a column on rows that it did not learn from: a target from the features, and each feature from the others." }
                    (scrolled("What is left to learn", &tables::utility(&report.utility)))
                }
            }
            @if !report.path.is_empty() {
                section #path aria-labelledby="path-title" {
                    h2 #path-title { "The bandwidths that were tried" }
                    p.lead { "A projection sees what its kernel sees. Of the bandwidths tried, the one that leaves the least dependence was chosen." }
                    (scrolled("The bandwidths that were tried", &tables::path(report)))
                }
            }
            (self.facts())
            (promises(report))
        }
    }

    fn facts(&self) -> Markup {
        let report = self.report;
        let mut known = vec![
            ("Method", report.method.clone()),
            (
                "Rows",
                format!(
                    "{} in the table; of the study, {} fitted the release and {} judged it",
                    count(report.rows),
                    count(report.training_rows),
                    count(report.held_out_rows)
                ),
            ),
        ];
        let audit = facts::known(&report.after).into_iter();
        known.extend(audit.filter(|(label, _)| *label != "Rows"));
        facts::shown(self.facts, &known, &report.notes)
    }
}

fn scrolled(label: &str, table: &Markup) -> Markup {
    html! { div.scroll tabindex="0" role="region" aria-label=(label) { (table) } }
}

fn promises(report: &ReleaseReport) -> Markup {
    let columns = list(&report.sensitive);
    html! {
        section #promises aria-labelledby="promises-title" {
            h2 #promises-title { "What is not promised" }
            ul.promises {
                li { strong { "Not anonymity. " } (NOT_ANONYMISED) }
                li { strong { "Not a table without " (columns) ". " } "The sensitive columns, the target and columns that were kept are in the table as they were, unless they were left out of it. A reader of the table needs no adversary to read them there." }
                li { strong { "Not independence. " } "The quantile and residual methods treat each column by itself: what several columns say of " (columns) " together can be left. The measures above look at all columns together." }
                li { strong { "Not every adversary. " } "A kernel method on these rows found this much. Another one, with more rows or other tables beside this one, may find more." }
                li { strong { "Not the same rows. " } "Released values are not measurements of anybody: a decision about a person should not rest on them alone." }
                li { strong { "Not other columns. " } "Only dependence on " (columns) " was taken out and looked at." }
                li { strong { "Not a legal finding. " } "Whether a table may be passed on is not a question for a program." }
            }
            (conventions(&release_audit(report)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn page(report: &ReleaseReport) -> ReleasePage<'_> {
        ReleasePage {
            report,
            title: "people.csv",
            facts: &[],
        }
    }

    #[test]
    fn the_page_has_the_sections_it_lists() {
        let report = sample::release();
        let html = page(&report).html();
        for (id, _) in page(&report).contents() {
            assert!(html.contains(&format!("id=\"{id}\"")), "{id}");
        }
        assert!(html.contains("not anonymised") && !html.contains("<script"));
        let mut bare = report.clone();
        (bare.utility, bare.path) = (Vec::new(), Vec::new());
        let html = page(&bare).html();
        assert!(!html.contains("id=\"utility\"") && !html.contains("id=\"path\""));
    }

    #[test]
    fn names_are_text() {
        let mut report = sample::release();
        report.columns[0].name = "</script><img src=x>".into();
        report.columns[0].treatment = "<b>".into();
        report.notes.push("<u>".into());
        report.sensitive[0] = "<i>".into();
        let page = ReleasePage {
            report: &report,
            title: "<s>",
            facts: &[("<mark>".into(), "<p>".into())],
        };
        for html in [page.html(), page.compact()] {
            for tag in ["<img", "<b>", "<u>", "<i>", "<s>", "<mark>"] {
                assert!(!html.contains(tag), "{tag}");
            }
        }
    }
}
