//! What can be chosen on the page: a subject, held against sensitive columns.

use maud::{Markup, html};
use oblivio_audit::{Against, Audit, CellProfile, Profile};

use super::name::name;
use crate::number::count;
use crate::pair::{Pair, pairs};

/// Charts show no more cells than can be told apart.
pub(super) const CELLS_IN_CHARTS: usize = 24;

/// The numbers of cells that tables may show, the first that fits.
const CELLS_IN_TABLES: [usize; 7] = [1000, 500, 300, 200, 100, 50, CELLS_IN_CHARTS];

/// How many cells the tables of the views may show if all of them together have room for so many numbers.
pub(super) fn fitting(views: &[View], room: usize, numbers: impl Fn(&View) -> usize) -> usize {
    let fits = |most: &usize| {
        let needed = views
            .iter()
            .map(|view| view.against.cells.len().min(*most) * numbers(view));
        needed.sum::<usize>() <= room
    };
    CELLS_IN_TABLES
        .into_iter()
        .find(fits)
        .unwrap_or(CELLS_IN_CHARTS)
}

/// The distributions of one subject, before and now, in the cells of one entry of `against`.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub pair: Pair<'a>,
    /// The number of the pair among those with distributions.
    pub subject: usize,
    /// The number of the entry of `against`.
    pub columns: usize,
    pub against: &'a Against,
    pub before: Option<&'a Profile>,
    pub now: &'a Profile,
}

/// Every view there is; subjects without distributions have none.
pub(super) fn views(audit: &Audit) -> Vec<View<'_>> {
    let mut views: Vec<View> = Vec::new();
    let mut subject = 0;
    for pair in pairs(audit) {
        let known = views.len();
        for (columns, against) in audit.against.iter().enumerate() {
            if let (before, Some(now)) = pair.profiles(audit, against) {
                views.push(View {
                    pair,
                    subject,
                    columns,
                    against,
                    before,
                    now,
                });
            }
        }
        subject += usize::from(views.len() > known);
    }
    views
}

impl<'a> View<'a> {
    /// The profiles with their titles, before first.
    pub fn times(&self) -> Vec<(&'static str, &'a Profile)> {
        match self.before {
            Some(before) => vec![("before", before), ("after", self.now)],
            None => vec![("", self.now)],
        }
    }

    /// The caption of a table of this view with so many cells at most.
    pub fn caption(&self, what: &str, most: usize) -> Markup {
        html! { (what) " of " (name(&self.pair.subject.name)) " against " (name(&self.against.name))
        @if self.against.cells.len() > most { " (the " (count(most)) " largest cells)" } }
    }

    /// A table that is shown while this view is chosen.
    pub fn panel(&self, label: &str, table: &Markup) -> Markup {
        html! {
            div.scroll tabindex="0" role="region" data-subject=(self.subject) data-against=(self.columns)
                aria-label={ (label) " of " (crate::text::name(&self.pair.subject.name)) " against " (crate::text::name(&self.against.name)) } {
                (table)
            }
        }
    }
}

/// The cell of a profile; nothing is known of one that the profile lacks.
pub(super) fn cell(profile: &Profile, at: usize) -> CellProfile {
    profile.cells.get(at).cloned().unwrap_or_default()
}

/// The numbers of the cells with the most rows, in the order of the cells.
pub(super) fn largest(against: &Against, most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..against.cells.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(against.cells[at].rows));
    order.truncate(most);
    order.sort_unstable();
    order
}

/// A chart and the table of its numbers: open until the chart is drawn.
pub(super) fn figure(chart: &str, tables: &Markup) -> Markup {
    html! {
        figure data-chart=(chart) {
            figcaption {}
            div.plots hidden {}
            details open { summary { "The numbers" } (tables) }
        }
    }
}
